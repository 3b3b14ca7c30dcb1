package gate

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/settings"
	"orrery/internal/disk"
	"orrery/profiles"
	"orrery/sim/gate"
	"orrery/traces/transform"
)

// ownFiles are those of the gate that is part of the program.
type ownFiles struct{}

// Trace implements gate.Files: that gate has no traces.
func (ownFiles) Trace(context.Context, string) (*transform.Set, error) {
	return nil, errors.New("the gate of the program names a trace, but has none")
}

// Cluster implements gate.Files.
func (ownFiles) Cluster(path string, use []string) (*profiles.Cluster, error) {
	text, err := fs.ReadFile(gate.Builtin(), path)
	if err != nil {
		return nil, err
	}
	c, err := profiles.ParseCluster(path, text)
	if err != nil {
		return nil, err
	}
	if err := c.Inline("."); err != nil {
		return nil, err
	}
	return c, settings.Override(c, use)
}

// Scenario implements gate.Files: that gate has no scenarios.
func (ownFiles) Scenario(string) (*profiles.Scenario, error) {
	return nil, errors.New("the gate of the program names a scenario, but has none")
}

// copyOut writes the files of the gate of the program, and overwrites none but with
// --force.
func (v *gateVerb) copyOut() error {
	entries, err := fs.ReadDir(gate.Builtin(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := cli.MayHold("--out", v.write, e.Name(), v.force); err != nil {
			return err
		}
	}
	if err := disk.Folder(v.write); err != nil {
		return err
	}
	for _, e := range entries {
		text, err := fs.ReadFile(gate.Builtin(), e.Name())
		if err != nil {
			return err
		}
		if err := v.app.Create(filepath.Join(v.write, e.Name()), cli.Writing(text)); err != nil {
			return err
		}
	}
	v.remark("wrote %d files\nNext: orrery gate %s", len(entries), cli.Quoted(filepath.Join(v.write, gate.BuiltinFile)))
	return nil
}

// provenance fills in what was not given: who, by git or by the system, the
// commit of the folder, now, and the version of the program.
func provenance(ctx context.Context, app *cli.App, p gate.Provenance, dir string) gate.Provenance {
	git := func(args ...string) string {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
		if err != nil { // no git, or no repository: then there is nothing to say
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	p.Reason = strings.TrimSpace(p.Reason)
	p.By = cmp.Or(p.By, cmp.Or(git("config", "user.name"), app.Getenv("USER")))
	p.At, p.Version, p.Commit = time.Now().UTC().Format(time.RFC3339), cli.Version(), git("rev-parse", "HEAD")
	return p
}

// gateResults are the checks of a gate that do not hold: regressions are errors, a lack
// of evidence is a warning. file is the gate file, and place where a check stands in it.
func gateResults(r *gate.Report, file string, place func(kind string, i int) (line, column int)) (out []cli.SARIFResult) {
	kind, n := "", 0
	for i := range r.Checks {
		f := &r.Checks[i]
		if f.Kind != kind {
			kind, n = f.Kind, 0
		}
		line, column := place(f.Kind, n)
		n++
		level := map[gate.Verdict]string{gate.Regression: "error", gate.Undecided: "warning"}[f.Verdict]
		if level == "" {
			continue
		}
		text := f.Check + ": " + string(f.Verdict) + ", " + f.Sentence()
		if f.Why != "" {
			text += ": " + f.Why
		}
		out = append(out, cli.NewSARIFResult("gate-"+f.Kind, level, text, file, line, column))
	}
	return out
}
