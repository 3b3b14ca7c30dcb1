package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/formats"
	"orrery/cmd/orrery/internal/logfile"
	"orrery/internal/doc"
	"orrery/reports/plot"
	"orrery/sim"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/verify"
	"orrery/sim/watch"
)

// checkedRun is what verify RUN -o json prints.
type checkedRun struct {
	Run         string   `json:"run"`
	Files       []string `json:"files"` // that have the digest that run.json says
	SpecID      string   `json:"spec_id"`
	Fingerprint string   `json:"fingerprint"`
	Replayed    bool     `json:"replayed"` // with LOG: another replay came to the fingerprint
}

// stored checks a run directory against its own digests, and with the log that it is of
// against another replay.
func (v *verifyVerb) stored(ctx context.Context, args []string) error {
	dir := args[0]
	if v.against != "" || v.keep != "" {
		return cli.Usagef("%s is a run directory, which is checked as it is: leave out --against and --out", dir)
	}
	if given := v.Given(); len(given) > 0 {
		return cli.Usagef("%s: the run %s has its settings: leave the flag out", given[0], dir)
	}
	if err := formats.MayRead(v.app, v.quiet, dir); err != nil {
		return err
	}
	files, err := record.Check(dir)
	if err != nil {
		return formats.ReadError(err)
	}
	r, ok := formats.Recorded(dir)
	path := filepath.Join(dir, record.FileRun)
	if !ok {
		return cli.BadInput(fmt.Errorf("%s: found no settings of a run; %s", path, record.MendReplay))
	}
	if len(files) == 0 {
		return cli.BadInput(fmt.Errorf("%s: found run schema %d, whose files have no digests, so that nothing can be checked. To write it anew: %s", path, r.Schema, formats.ReplayAnew(dir, &r)))
	}
	found := &checkedRun{Run: dir, Files: files, SpecID: r.SpecID, Fingerprint: r.Fingerprint}
	if err := v.ofItsSpec(dir, &r); err != nil {
		return err
	}
	if len(args) > 1 {
		if err := v.again(ctx, &r, dir, args[1:]); err != nil {
			return err
		}
		found.Replayed = true
	}
	return v.showStored(found)
}

// ofItsSpec holds the id of the spec and the log of facts against what run.json says.
func (v *verifyVerb) ofItsSpec(dir string, r *formats.RecordedRun) error {
	path := filepath.Join(dir, record.FileRun)
	if r.Spec.Semantics == formats.SemanticsFormat.Now {
		if id := r.Spec.ID(); id != r.SpecID {
			return cli.BadInput(fmt.Errorf("%s: found the spec_id %s, and its spec has the SHA-256 %s; %s: %s", path, r.SpecID, id, record.MendReplay, formats.ReplayAnew(dir, r)))
		}
	}
	if cli.There(filepath.Join(dir, record.TableFacts+".parquet")) == nil {
		return nil
	}
	fingerprint, err := verify.Digest(record.ReadLog(dir))
	if err != nil {
		return formats.ReadError(err)
	}
	return isOfRun(dir, fingerprint)
}

// again replays the settings of the run and compares the digest of all decisions.
func (v *verifyVerb) again(ctx context.Context, r *formats.RecordedRun, dir string, args []string) error {
	if err := formats.SameSemantics(dir); err != nil {
		return err
	}
	t, err := logfile.OpenLog(ctx, v.app, args, v.quiet)
	if err != nil {
		return err
	}
	defer t.Close()
	spec, err := r.Spec.Bind(t)
	if err != nil {
		return err
	}
	res, err := v.replayed(ctx, spec, t, sim.Options{})
	if err != nil {
		return err
	}
	if res.Fingerprint != r.Fingerprint {
		return cli.Coded(cli.ExitMismatch, fmt.Errorf("%s: the run has the fingerprint %s, and another replay of %s came to %s", dir, r.Fingerprint, t.Label, res.Fingerprint))
	}
	return nil
}

func (v *verifyVerb) showStored(found *checkedRun) error {
	if v.print.JSON() {
		return v.print.Document(found)
	}
	if v.quiet {
		return nil
	}
	list := doc.New("file", "bytes", "result")
	for _, name := range found.Files {
		bytes := int64(0)
		if st, err := os.Stat(filepath.Join(found.Run, name)); err == nil {
			bytes = st.Size()
		}
		list.Row(name, doc.Quantity(plot.Count(bytes), bytes), doc.Cell{Text: "as written", JSON: "as written", Tone: doc.Good})
	}
	if err := v.print.Table(list); err != nil {
		return err
	}
	said := []string{"every file has the digest of run.json"}
	if found.Replayed {
		said = append(said, "another replay came to the same decisions")
	}
	fmt.Fprintf(v.app.Stdout, "\n%s; fingerprint %s\n", strings.Join(said, ", and "), found.Fingerprint)
	return nil
}

// watched is what verify --invariants -o json prints.
type watched struct {
	Fingerprint string `json:"fingerprint"`
	*watch.Report
}

// invariants replays once under the eyes of a watcher.
func (v *verifyVerb) invariants(ctx context.Context, args []string) error {
	if v.against != "" || v.keep != "" {
		return cli.Usagef("--invariants replays once and writes nothing: leave out --against and --out")
	}
	var recorded *plan.Spec
	if len(args) > 0 && formats.IsRun(args[0]) {
		spec, err := v.specOf(args[0])
		if err != nil {
			return err
		}
		recorded, args = &spec, args[1:]
	}
	if len(args) > 1 {
		return cli.Usagef("%s is no run directory: give a RUN and the LOG that it is of, or a LOG alone", args[0])
	}
	t, err := logfile.OpenLog(ctx, v.app, args, v.quiet)
	if err != nil {
		return err
	}
	defer t.Close()
	var spec plan.Spec
	if recorded != nil {
		spec, err = recorded.Bind(t)
	} else {
		spec, err = v.Bound(t)
	}
	if err != nil {
		return err
	}
	logfile.Remark(v.app, t, v.quiet)
	res, err := v.replayed(ctx, spec, t, sim.Options{Watch: true})
	if err != nil {
		return err
	}
	return v.tell(watched{res.Fingerprint, res.Watch})
}

// replayed replays a trace in this process, and shows how far it has got.
func (v *verifyVerb) replayed(ctx context.Context, spec plan.Spec, t *logfile.Trace, o sim.Options) (*sim.Result, error) {
	bar := v.app.Progress("replaying", "jobs", v.quiet)
	if bar != nil {
		o.Progress = bar.Replay
	}
	defer bar.Done()
	return sim.Run(ctx, spec, t.Open, o)
}

// specOf reads the settings of a run, beside which no others go.
func (v *verifyVerb) specOf(dir string) (spec plan.Spec, err error) {
	if given := v.Given(); len(given) > 0 {
		return spec, cli.Usagef("%s: the run %s has its settings: leave the flag out", given[0], dir)
	}
	if err := formats.SameSemantics(dir); err != nil {
		return spec, err
	}
	return formats.ReadSpec(dir)
}

// tell prints which invariants are broken.
func (v *verifyVerb) tell(w watched) error {
	if v.print.JSON() {
		if err := v.print.Document(w); err != nil {
			return err
		}
	} else if err := v.breaches(w); err != nil {
		return err
	}
	if w.Count == 0 {
		return nil
	}
	return cli.Coded(cli.ExitMismatch, errors.New("invariants are broken "+plot.Count(w.Count)+" times, first "+w.Breaches[0].String()))
}

func (v *verifyVerb) breaches(w watched) error {
	if w.Count == 0 {
		if !v.quiet {
			fmt.Fprintf(v.app.Stdout, "no invariant is broken: %s facts, %s proposals and %s records; %s starts behind a blocked job held against its reservation; fingerprint %s\n",
				plot.Count(w.Facts), plot.Count(w.Proposals), plot.Count(w.Records), plot.Count(w.Slips), w.Fingerprint)
		}
		return nil
	}
	list := doc.New("no.", "time", "row", "job", "found", "expected")
	for _, b := range w.Breaches {
		row, id := "", ""
		if b.Job >= 0 {
			row = fmt.Sprint(b.Job)
		}
		if b.ID != 0 {
			id = fmt.Sprint(b.ID)
		}
		list.Row(fmt.Sprint(b.Invariant), b.At.String(), row, id, b.Found, b.Expected)
	}
	if err := v.print.Table(list); err != nil {
		return err
	}
	if more := w.Count - int64(len(w.Breaches)); more > 0 && v.print.Format == "table" {
		fmt.Fprintf(v.app.Stdout, "and %s more\n", plot.Count(more))
	}
	return nil
}
