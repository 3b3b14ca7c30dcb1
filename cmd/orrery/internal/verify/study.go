package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/formats"
	"orrery/internal/disk"
	"orrery/internal/doc"
	"orrery/reports/study"
	"orrery/sim/gate"
	"orrery/sim/record"
	"orrery/sim/sweep"
	"orrery/sim/task"
)

// checkedStudy is what verify STUDY -o json prints.
type checkedStudy struct {
	Study   string        `json:"study"`
	Checked []checkedKind `json:"checked"`
	Altered []string      `json:"altered,omitempty"` // what is not as it was written, by file
	Differ  []string      `json:"differ,omitempty"`  // what came out in two ways
}

// checkedKind counts the files of a kind.
type checkedKind struct {
	Kind   string `json:"kind"`
	Number int    `json:"number"`
	By     string `json:"by"` // what they were held to
}

// studyIn is the study that a directory is, or that a tune keeps in it; "" for none.
func studyIn(dir string) string {
	for _, at := range []string{dir, filepath.Join(dir, "study")} {
		if st := cli.There(filepath.Join(at, "study.json")); st != nil {
			return at
		}
	}
	return ""
}

// isSealedFile says whether a path is that of a baseline or of the report of a study.
func isSealedFile(path string) bool {
	st := cli.There(path)
	if st == nil || !st.Mode().IsRegular() || !strings.HasSuffix(path, ".json") {
		return false
	}
	_, known := formats.SchemaOf(path)
	return known
}

// study checks everything in the directory of a study, or of a tune, and names each file
// that is not what was written.
func (v *verifyVerb) study(ctx context.Context, dir, at string) error {
	if v.against != "" || v.keep != "" || len(v.Given()) > 0 {
		return cli.Usagef("%s is a study, which is checked as it is: leave the flags of a replay out", dir)
	}
	s, err := formats.OpenStudy(v.app, at, "")
	if err != nil {
		return err
	}
	found := &checkedStudy{Study: dir}
	for _, check := range []func(context.Context, *sweep.Study, *checkedStudy) error{v.specs, v.outcomes, v.planned, v.tracesOf, v.runsOf} {
		if err := check(ctx, s, found); err != nil {
			return err
		}
	}
	for _, path := range slices.Compact([]string{filepath.Join(at, "report.json"), filepath.Join(dir, "report.json")}) {
		if cli.There(path) == nil {
			continue
		}
		_, err := study.Read(path)
		found.count("report", 1, "its SHA-256, from report 2 on", err)
	}
	return v.showStudy(found)
}

// count enters n files of a kind, and what is wrong with one of them.
func (c *checkedStudy) count(kind string, n int, by string, err error) {
	i := slices.IndexFunc(c.Checked, func(k checkedKind) bool { return k.Kind == kind })
	if i < 0 {
		i = len(c.Checked)
		c.Checked = append(c.Checked, checkedKind{Kind: kind, By: by})
	}
	c.Checked[i].Number += n
	if err != nil {
		c.Altered = append(c.Altered, err.Error())
	}
}

// specs reads the spec of every task.
func (v *verifyVerb) specs(ctx context.Context, s *sweep.Study, c *checkedStudy) error {
	c.count("study.json", 1, bySeal(s), nil)
	for n := range s.Len() {
		_, err := s.Spec(n)
		c.count("specs", 1, "the digest that names the task", err)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func bySeal(s *sweep.Study) string {
	if s.Format() < sweep.Format {
		return "nothing: studies of format 1 have no digests"
	}
	return "their SHA-256"
}

// outcomes reads the result or the failure of every task.
func (v *verifyVerb) outcomes(ctx context.Context, s *sweep.Study, c *checkedStudy) error {
	known := formats.TasksOf(s) > 0
	for n := range s.Len() {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, failed, err := s.Outcome(s.Digest(n))
		switch {
		case errors.Is(err, sweep.ErrNoOutcome):
			c.count("tasks to compute", 1, "nothing yet", nil)
		case failed != nil:
			c.count("failures", 1, bySeal(s), nil)
		default:
			if err == nil && known {
				if _, err = task.ResultOf(s.Digest(n).String(), text); err != nil {
					err = fmt.Errorf("%s, task %d: %w; %s", s.Dir(), n, err, s.Remedy(s.Digest(n)))
				}
			}
			c.count("results", 1, bySeal(s)+", and the task that they name", err)
		}
	}
	var fault *sweep.FaultError
	if err := s.Verdict(); errors.As(err, &fault) {
		c.Differ = append(c.Differ, err.Error())
	}
	return nil
}

// planned reads the plan of a sweep, whose tasks must be in the study.
func (v *verifyVerb) planned(_ context.Context, s *sweep.Study, c *checkedStudy) error {
	path := filepath.Join(s.Dir(), formats.PlanFile)
	if cli.There(path) == nil {
		return nil // the study of a tune
	}
	p, err := formats.ReadPlan(s.Dir())
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	} else {
		have := map[string]bool{}
		for n := range s.Len() {
			have[s.Digest(n).String()] = true
		}
		for i := range p.Points {
			for _, id := range p.Points[i].Tasks {
				if !have[id] && err == nil {
					err = fmt.Errorf("%s: the point %s has the task %s, which the study lacks; restore %s from a copy", path, p.Points[i].ID, id, s.Dir())
				}
			}
		}
	}
	c.count("plan", 1, "its SHA-256, from plan 3 on, and the tasks of the study", err)
	return nil
}

// tracesOf reads the traces of a study.
func (v *verifyVerb) tracesOf(ctx context.Context, s *sweep.Study, c *checkedStudy) error {
	for _, name := range namesIn(filepath.Join(s.Dir(), formats.TracesDir)) {
		hash, ok := strings.CutSuffix(name, ".trace")
		if !ok {
			continue
		}
		err := s.Plain(formats.TracesDir, name)
		if err == nil {
			err = formats.IsTrace(formats.TracePath(s.Dir(), hash), hash)
		}
		c.count("traces", 1, "the content hash that is their name, and the SHA-256 of each table", err)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// runsOf checks the runs that study materialize made, and holds them to the results.
func (v *verifyVerb) runsOf(ctx context.Context, s *sweep.Study, c *checkedStudy) error {
	for _, name := range namesIn(filepath.Join(s.Dir(), "runs")) {
		if err := ctx.Err(); err != nil {
			return err
		}
		dir := filepath.Join(s.Dir(), "runs", name)
		err := s.Plain("runs", name)
		if err == nil {
			_, err = record.Check(dir)
		}
		c.count("runs", 1, "the digests of run.json, and the fingerprint of the result", err)
		if r, ok := formats.Recorded(dir); ok && err == nil {
			if want := fingerprintOf(s, name); want != "" && want != r.Fingerprint {
				c.Differ = append(c.Differ, fmt.Sprintf("%s: the run has the fingerprint %s, the result of its task %s", dir, r.Fingerprint, want))
			}
		}
	}
	return nil
}

// fingerprintOf is that of the result of the task whose digest begins with the name of a run.
func fingerprintOf(s *sweep.Study, name string) string {
	for n := range s.Len() {
		id := s.Digest(n).String()
		if name == "" || !strings.HasPrefix(id, name) {
			continue
		}
		text, failed, err := s.Outcome(s.Digest(n))
		if err != nil || failed != nil {
			return ""
		}
		if r, err := task.ResultOf(id, text); err == nil {
			return r.Fingerprint
		}
	}
	return ""
}

// namesIn lists a folder in order, without hidden names; nothing where it is missing.
func namesIn(dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

// sealedFile checks a baseline, or the report of a study.
func (v *verifyVerb) sealedFile(path string) error {
	text, err := disk.ReadFile(path)
	if err != nil {
		return cli.BadInput(err)
	}
	found := &checkedStudy{Study: path}
	if b, err := gate.ParseBaseline(text); err == nil {
		found.count("baseline", 1, sealSince(b.Schema, gate.SealedBaseline), nil)
		return v.showStudy(found)
	} else if strings.Contains(string(text), `"runs"`) && strings.Contains(string(text), `"gate"`) {
		found.count("baseline", 1, "its SHA-256", fmt.Errorf("%s: %w", path, err))
		return v.showStudy(found)
	}
	r, err := study.Read(path)
	schema := 0
	if err == nil {
		schema = r.Schema
	}
	found.count("report", 1, sealSince(schema, study.SealedSchema), err)
	return v.showStudy(found)
}

func sealSince(schema, since int) string {
	if schema < since {
		return fmt.Sprintf("nothing: it has schema %d, and a digest from %d on", schema, since)
	}
	return "its SHA-256"
}

// showStudy prints what was checked; what was altered is the error.
func (v *verifyVerb) showStudy(c *checkedStudy) error {
	switch {
	case v.print.JSON():
		if err := v.print.Document(c); err != nil {
			return err
		}
	case !v.quiet || len(c.Altered)+len(c.Differ) > 0:
		list := doc.New("what", "number", "held to")
		for _, k := range c.Checked {
			list.Row(k.Kind, k.Number, k.By)
		}
		if err := v.print.Table(list); err != nil {
			return err
		}
	}
	for _, text := range append(slices.Clone(c.Altered), c.Differ...) {
		v.app.Say("orrery: %s", text)
	}
	switch {
	case len(c.Altered) > 0:
		return cli.BadInput(fmt.Errorf("%s: %s not what was written", c.Study, isOrAre(len(c.Altered))))
	case len(c.Differ) > 0:
		return cli.Coded(cli.ExitMismatch, fmt.Errorf("%s: %s out in two ways", c.Study, came(len(c.Differ))))
	case !v.print.JSON() && !v.quiet:
		fmt.Fprintf(cli.Escaped(v.app.Stdout), "\n%s is what was written\n", c.Study)
	}
	return nil
}

func isOrAre(n int) string {
	if n == 1 {
		return "1 file is"
	}
	return fmt.Sprintf("%d files are", n)
}

func came(n int) string {
	if n == 1 {
		return "1 task came"
	}
	return fmt.Sprintf("%d tasks came", n)
}
