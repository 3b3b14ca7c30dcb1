package main

import (
	"context"
	"fmt"

	"orrery/reports"
	"orrery/sim/metric"
	"orrery/sim/paired"
	"orrery/sim/record"
	"orrery/sim/stat"
)

// sideOf is a run directory as one side of a comparison by windows.
func sideOf(dir string) (paired.Side, error) {
	f, err := record.Open(dir)
	if err != nil {
		return paired.Side{}, readError(err)
	}
	defer f.Close()
	jobs, err := paired.Read(f)
	if err != nil {
		return paired.Side{}, readError(err)
	}
	return paired.Side{Name: dir, Runs: []paired.Run{{Jobs: jobs}}}, nil
}

// byWindows compares runs of one trace with the first of them, by windows of
// submission, with the noise where it is to be measured.
func (v *compareVerb) byWindows(ctx context.Context, list []*reports.Comparison) (*paired.Result, error) {
	var sides []paired.Side
	for i, c := range list {
		if i == 0 {
			first, err := sideOf(c.A.Dir)
			if err != nil {
				return nil, err
			}
			sides = append(sides, first)
		}
		side, err := sideOf(c.B.Dir)
		if err != nil {
			return nil, err
		}
		sides = append(sides, side)
	}
	if v.noise.log != "" {
		if err := v.replicas(ctx, sides); err != nil {
			return nil, err
		}
	}
	r, err := paired.Compare(sides[0], sides[1:], paired.Options{Windows: v.windows, Stat: stat.Defaults()})
	if err != nil {
		return nil, err
	}
	// An overloaded run is still as good as one that scheduled alike.
	unranked := map[string]bool{}
	for _, c := range list {
		overloaded := c.A.Verdict == metric.Overloaded || c.B.Verdict == metric.Overloaded
		unranked[c.B.Dir] = overloaded && !c.Alike()
	}
	r.Unrank(func(run string) bool { return unranked[run] })
	return r, nil
}

// several compares any number of runs with the first.
func (v *compareVerb) several(ctx context.Context, dirs []string) error {
	var list []*reports.Comparison
	for _, dir := range dirs[1:] {
		c, err := reports.Compare(dirs[0], dir) // also refuses runs of different traces
		if err != nil {
			return readError(err)
		}
		list = append(list, c)
	}
	r, err := v.byWindows(ctx, list)
	if err != nil {
		return err
	}
	said := map[string]bool{}
	for _, c := range list {
		for _, side := range []reports.Side{c.A, c.B} {
			if side.Verdict == metric.Overloaded && !said[side.Dir] {
				said[side.Dir] = true
				v.m.say("orrery: %s is overloaded: its waits say how long the log is, and it has no rank", side.Dir)
			}
		}
	}
	if v.print.json() {
		return v.print.document(r)
	}
	return v.windowTable(r)
}

// windowTable prints a comparison by windows with what it rests on.
func (v *compareVerb) windowTable(r *paired.Result) error {
	if err := v.print.table(reports.WindowTable(r)); err != nil {
		return err
	}
	if v.print.forPrograms() {
		return nil
	}
	_, err := fmt.Fprintf(v.m.Stdout, "\n%s\n", v.about(r))
	return err
}

// about says what the intervals hold for.
func (v *compareVerb) about(r *paired.Result) string {
	says := reports.AboutWindows(r)
	if r.Measured() {
		return fmt.Sprintf("%s Arrivals were jittered by up to %s, with %s.", says, v.noise.by, v.noise.luck())
	}
	return says + " To measure it, give --noise LOG, the log that was replayed."
}
