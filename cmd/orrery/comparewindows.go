package main

import (
	"context"
	"fmt"
	"slices"

	"orrery/reports/compare"
	"orrery/reports/table"
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
func (v *compareVerb) byWindows(ctx context.Context, list []*compare.Comparison) (*paired.Result, error) {
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
	var list []*compare.Comparison
	for _, dir := range dirs[1:] {
		c, err := compare.Runs(dirs[0], dir) // also refuses runs of different traces
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
		for _, side := range []compare.Side{c.A, c.B} {
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
	t := compare.WindowTable(r)
	if !slices.ContainsFunc(r.Rows, func(row paired.Row) bool { return row.Run != r.Rows[0].Run }) {
		t.Optional("run")
	}
	t.Optional("unit")
	if !r.Measured() {
		t.Optional("noise")
	}
	if err := v.print.table(t.Optional("reason").Optional("noise").Optional("p")); err != nil {
		return err
	}
	if !v.print.forPrograms() {
		fmt.Fprintln(v.m.Stdout)
		v.print.paragraph(v.about(r))
	}
	return nil
}

// about says what the intervals hold for.
func (v *compareVerb) about(r *paired.Result) string {
	says := compare.AboutWindows(r)
	if r.Measured() {
		return fmt.Sprintf("%s Arrivals were jittered by up to %s, with %s.", says, v.noise.by, v.noise.seeding())
	}
	return says + " To measure it, give --noise LOG, the log that was replayed."
}

// metricTable prints the metrics of two runs: to people those of the whole run that
// moved, unless all are asked for.
func (v *compareVerb) metricTable(c *compare.Comparison) error {
	shown := *c
	if v.print.format == string(table.Text) && !v.all {
		shown.Metrics = slices.DeleteFunc(slices.Clone(c.Metrics), func(d compare.MetricDiff) bool {
			return d.Window != metric.All || d.Diff == nil || *d.Diff == 0
		})
	}
	t := shown.MetricTable().Optional("window").Optional("better").Optional("change").Optional("difference").Optional("unit")
	if err := v.print.section("Metrics", t); err != nil || len(shown.Metrics) == len(c.Metrics) {
		return err
	}
	whole := 0
	for i := range c.Metrics {
		if c.Metrics[i].Window == metric.All {
			whole++
		}
	}
	fmt.Fprintln(v.m.Stdout)
	moved := fmt.Sprintf("%d of %s of the whole run moved.", len(shown.Metrics), table.Counted(whole, "metric"))
	if whole < len(c.Metrics) {
		moved += " Those of the other windows are left out."
	}
	v.print.paragraph(moved + " --all shows every one.")
	return nil
}
