package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"orrery/internal/doc"
	"orrery/reports/plot"
	"orrery/sim"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/watch"
)

// watched is what verify --invariants -o json prints.
type watched struct {
	Fingerprint string `json:"fingerprint"`
	*watch.Report
}

// invariants replays once under the eyes of a watcher.
func (v *verifyVerb) invariants(ctx context.Context, args []string) error {
	if v.against != "" || v.keep != "" {
		return usagef("--invariants replays once and writes nothing: leave out --against and --out")
	}
	var recorded *plan.Spec
	if len(args) > 0 && isRun(args[0]) {
		spec, err := v.specOf(args[0])
		if err != nil {
			return err
		}
		recorded, args = &spec, args[1:]
	}
	if len(args) > 1 {
		return usagef("%s is no run directory: give a RUN and the LOG that it is of, or a LOG alone", args[0])
	}
	t, err := v.m.openLog(ctx, args, v.quiet)
	if err != nil {
		return err
	}
	defer t.close()
	var spec plan.Spec
	if recorded != nil {
		spec, err = recorded.Bind(t)
	} else {
		spec, err = v.bound(t)
	}
	if err != nil {
		return err
	}
	v.m.remark(t, v.quiet)
	res, err := v.replayed(ctx, spec, t, sim.Options{Watch: true})
	if err != nil {
		return err
	}
	return v.tell(watched{res.Fingerprint, res.Watch})
}

// replayed replays a trace in this process, and shows how far it has got.
func (v *verifyVerb) replayed(ctx context.Context, spec plan.Spec, t *trace, o sim.Options) (*sim.Result, error) {
	bar := v.m.progress("replaying", "jobs", v.quiet)
	if bar != nil {
		o.Progress = bar.replay
	}
	defer bar.done()
	return sim.Run(ctx, spec, t.open, o)
}

func isRun(path string) bool {
	_, err := os.Stat(filepath.Join(path, record.FileRun))
	return err == nil
}

// specOf reads the settings of a run, beside which no others go.
func (v *verifyVerb) specOf(dir string) (spec plan.Spec, err error) {
	if given := v.given(); len(given) > 0 {
		return spec, usagef("%s: the run %s has its settings: leave the flag out", given[0], dir)
	}
	if err := sameSemantics(dir); err != nil {
		return spec, err
	}
	return readSpec(dir)
}

// readSpec reads the settings of a run.
func readSpec(dir string) (spec plan.Spec, err error) {
	path := filepath.Join(dir, record.FileRun)
	text, err := record.ReadInfo(dir)
	if err != nil {
		return spec, input(err)
	}
	var d struct{ Spec *plan.Spec }
	d.Spec = &spec
	if err := json.Unmarshal(text, &d); err != nil {
		return spec, input(fmt.Errorf("%s: %w; replay once more to write it anew", path, err))
	}
	return spec, nil
}

// tell prints which invariants are broken.
func (v *verifyVerb) tell(w watched) error {
	if v.print.json() {
		if err := v.print.document(w); err != nil {
			return err
		}
	} else if err := v.breaches(w); err != nil {
		return err
	}
	if w.Count == 0 {
		return nil
	}
	return coded(exitMismatch, errors.New("invariants are broken "+plot.Count(w.Count)+" times, first "+w.Breaches[0].String()))
}

func (v *verifyVerb) breaches(w watched) error {
	if w.Count == 0 {
		if !v.quiet {
			fmt.Fprintf(v.m.Stdout, "no invariant is broken: %s facts, %s proposals and %s records; %s starts behind a blocked job held against its reservation; fingerprint %s\n",
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
	if err := v.print.table(list); err != nil {
		return err
	}
	if more := w.Count - int64(len(w.Breaches)); more > 0 && v.print.format == "table" {
		fmt.Fprintf(v.m.Stdout, "and %s more\n", plot.Count(more))
	}
	return nil
}
