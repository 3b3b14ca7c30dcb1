package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/fork"
	"orrery/cmd/orrery/internal/formats"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/internal/disk"
	"orrery/reports/plot"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/verify"
)

// parity feeds the log of a run to a fresh core.
func (v *verifyVerb) parity(ctx context.Context, args []string) error {
	switch {
	case v.against != "" || v.keep != "":
		return cli.Usagef("--facts replays nothing: leave out --against and --out")
	case len(args) == 0 || !formats.IsRun(args[0]):
		return cli.Usagef("--facts needs a run directory: give a RUN that was written with --facts, and the LOG that it is of")
	}
	dir := args[0]
	spec, err := v.specOf(dir)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, record.TableFacts+".parquet")
	switch info, err := os.Stat(path); {
	case err != nil:
		return cli.BadInput(fmt.Errorf("%w: replay once more with --facts to have the log", err))
	case !info.Mode().IsRegular():
		return cli.BadInput(fmt.Errorf("%s: found %s, want a file; replay once more with --facts", path, info.Mode().Type()))
	}
	if args, err = fork.LogFor(dir, spec.Trace, args[1:]); err != nil {
		return err
	}
	t, err := logfile.OpenLog(ctx, v.app, args, v.quiet)
	if err != nil {
		return err
	}
	defer t.Close()
	if spec, err = spec.Bind(t); err != nil {
		return err
	}
	prep, err := plan.Prepare(spec)
	if err != nil {
		return err
	}
	src, err := t.Open()
	if err != nil {
		return err
	}
	defer src.Close()
	p, err := prep.Resolve(src)
	if err != nil {
		return err
	}
	if err := p.Select(ctx, t.Open); err != nil {
		return err
	}
	found, err := verify.Facts(ctx, &p, src.Info().Rows, record.ReadLog(dir))
	if err != nil {
		return v.notFed(dir, err)
	}
	if found.Differs == nil {
		if err := isOfRun(dir, found.Fingerprint); err != nil {
			return err
		}
	}
	return v.showParity(dir, found)
}

// notFed says why a log could not be fed to its end. A core that fails is at fault where the
// log is that of the run; else the log is.
func (v *verifyVerb) notFed(dir string, err error) error {
	path := filepath.Join(dir, record.TableFacts+".parquet")
	if bad := (*verify.LogError)(nil); errors.As(err, &bad) {
		return cli.BadInput(fmt.Errorf("%s: %w; replay once more with --facts to write it anew", path, err))
	}
	if failed := (*verify.CoreError)(nil); !errors.As(err, &failed) {
		return err
	}
	whole, digestErr := verify.Digest(record.ReadLog(dir))
	if digestErr != nil {
		return digestErr
	}
	if wrong := isOfRun(dir, whole); wrong != nil {
		return wrong
	}
	return cli.Coded(cli.ExitMismatch, fmt.Errorf("%s: %w", path, err))
}

// isOfRun says whether a log with this fingerprint is that of the run in dir.
func isOfRun(dir, fingerprint string) error {
	path := filepath.Join(dir, record.FileRun)
	text, err := disk.ReadFile(path)
	if err != nil {
		return cli.BadInput(err)
	}
	var run struct{ Fingerprint string }
	if err := json.Unmarshal(text, &run); err != nil {
		return cli.BadInput(fmt.Errorf("%s: %w", path, err))
	}
	if run.Fingerprint != fingerprint {
		return cli.BadInput(fmt.Errorf("%s: the fingerprint of the log is %s, and that of the run is %s: the log was cut off or changed; replay once more with --facts to write it anew",
			filepath.Join(dir, record.TableFacts+".parquet"), fingerprint, run.Fingerprint))
	}
	return nil
}

// showParity prints what was compared and the first plan that differs.
func (v *verifyVerb) showParity(dir string, found *verify.Parity) error {
	if d := found.Differs; d != nil {
		path := filepath.Join(dir, record.FileRun)
		info, err := disk.ReadFile(path)
		if err != nil {
			return cli.BadInput(err)
		}
		names, err := record.ReadNodeNames(info, path)
		if err != nil {
			return cli.BadInput(err)
		}
		for _, e := range []*verify.Event{d.Log, d.Core} {
			if e != nil {
				e.Nodes = names.Of(e.Nodes)
			}
		}
	}
	if v.print.JSON() {
		if err := v.print.Document(found); err != nil {
			return err
		}
	}
	if found.Differs != nil {
		return cli.Coded(cli.ExitMismatch, errors.New(found.Differs.String()))
	}
	if !v.quiet && !v.print.JSON() {
		fmt.Fprintf(v.app.Stdout, "every plan is the same: %s facts, %s passes and %s proposals; fingerprint %s\n",
			plot.Count(found.Facts), plot.Count(found.Passes), plot.Count(found.Proposals), found.Fingerprint)
	}
	return nil
}
