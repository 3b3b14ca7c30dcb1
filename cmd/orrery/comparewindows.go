package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"orrery/reports"
	"orrery/reports/table"
	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/record"
	"orrery/sim/stat"
)

// windowed is a run as the paired comparison takes it: what became of each job
// that started, by its row of the trace.
type windowed struct {
	dir  string
	jobs map[int32]started
}

// started is a job that started. Times are in µs.
type started struct{ id, submit, wait, turn, run int64 }

// readStarted reads the jobs of a run directory.
func readStarted(dir string) (windowed, error) {
	w := windowed{dir: dir, jobs: map[int32]started{}}
	f, err := record.Open(dir)
	if err != nil {
		return w, readError(err)
	}
	defer f.Close()
	return w, f.Scan(func(c *record.Columns) error {
		for i, job := range c.Job {
			if s, ok := startedAt(c, i); ok {
				w.jobs[job] = s
			}
		}
		return nil
	})
}

// startedAt is row i of a table of jobs; false when it never started.
func startedAt(c *record.Columns, i int) (s started, ok bool) {
	if c.Start[i] == record.Absent || c.End[i] == record.Absent {
		return s, false
	}
	return started{c.ID[i], c.Submit[i], c.Wait[i], c.End[i] - c.Submit[i], c.Runtime[i]}, true
}

// windowFigures are what is compared by windows, over the jobs that started in
// both runs.
var windowFigures = []struct {
	name, unit string
	of         func(started) float64
}{
	{"wait_mean", "s", func(j started) float64 { return float64(j.wait) / 1e6 }},
	{"turnaround_mean", "s", func(j started) float64 { return float64(j.turn) / 1e6 }},
	{"bounded_slowdown_mean", "", func(j started) float64 {
		return max(1, float64(j.turn)/float64(max(j.run, int64(10*model.Second))))
	}},
}

// division is how the jobs that started in two runs are divided into windows of
// submission, of equal length.
type division struct {
	rows    []int32       // of these jobs, ascending: sums of floats depend on their order
	window  map[int64]int // by id of the job
	windows int
	first   int64
	length  int64 // of a window, in µs
}

func divide(a, b *windowed, windows int) *division {
	d := &division{windows: windows, first: math.MaxInt64, window: map[int64]int{}}
	last := int64(math.MinInt64)
	for _, row := range slices.Sorted(maps.Keys(a.jobs)) {
		if _, both := b.jobs[row]; both {
			d.rows = append(d.rows, row)
			d.first, last = min(d.first, a.jobs[row].submit), max(last, a.jobs[row].submit)
		}
	}
	d.length = (last-d.first)/int64(windows) + 1
	for _, row := range d.rows {
		j := a.jobs[row]
		d.window[j.id] = d.of(j)
	}
	return d
}

// of is the window of a job.
func (d *division) of(j started) int { return int((j.submit - d.first) / d.length) }

// pair gives a figure of both runs by windows.
func (d *division) pair(a, b *windowed, of func(started) float64) stat.Pairs {
	sums, counts := make([][2]float64, d.windows), make([]int, d.windows)
	for _, row := range d.rows {
		k := d.of(a.jobs[row])
		sums[k][0] += of(a.jobs[row])
		sums[k][1] += of(b.jobs[row])
		counts[k]++
	}
	p := stat.Pairs{Runs: d.windows}
	for k, n := range counts {
		if n > 0 {
			p.Window = append(p.Window, k)
			p.Baseline, p.Candidate = append(p.Baseline, sums[k][0]/float64(n)), append(p.Candidate, sums[k][1]/float64(n))
		}
	}
	return p
}

// byWindows compares runs of one trace with the first of them, by windows of
// submission.
func (v *compareVerb) byWindows(ctx context.Context, dirs []string) error {
	if v.windows < 1 {
		return usagef("--windows %d: want 1 or more, 20 as a rule", v.windows)
	}
	overloaded, alike := map[string]bool{}, map[string]bool{}
	for _, dir := range dirs[1:] {
		c, err := reports.Compare(dirs[0], dir) // also refuses runs of different traces
		if err != nil {
			return readError(err)
		}
		for _, side := range []reports.Side{c.A, c.B} {
			overloaded[side.Dir] = side.Verdict == metric.Overloaded
		}
		alike[dir] = c.Jobs == reports.JobCounts{Same: c.Jobs.Same, NeverStarted: c.Jobs.NeverStarted}
	}
	t, err := v.pairs(ctx, dirs)
	if err != nil {
		return err
	}
	// The verdict of a run is that of all its windows.
	t.unranked = func(dir string) bool { return !alike[dir] && (overloaded[dirs[0]] || overloaded[dir]) }
	for _, dir := range dirs {
		if overloaded[dir] {
			v.m.say("orrery: %s is overloaded: its waits say how long the log is, and it has no rank", dir)
		}
	}
	if err := v.print.table(t.table()); err != nil {
		return err
	}
	if !v.print.forPrograms() {
		_, err = fmt.Fprintf(v.m.Stdout, "\n%s\n", t.about())
	}
	return err
}

// pairs judges all runs against the first.
func (v *compareVerb) pairs(ctx context.Context, dirs []string) (*windowTable, error) {
	base, err := readStarted(dirs[0])
	if err != nil {
		return nil, err
	}
	t := &windowTable{noise: &v.noise}
	var subjects []stat.Subject
	var divisions []*division
	for _, dir := range dirs[1:] {
		other, err := readStarted(dir)
		if err != nil {
			return nil, err
		}
		d := divide(&base, &other, v.windows)
		divisions = append(divisions, d)
		for _, f := range windowFigures {
			subjects = append(subjects, stat.Subject{Candidate: dir, Metric: f.name, Pairs: d.pair(&base, &other, f.of)})
			t.units = append(t.units, f.unit)
		}
	}
	if t.noise.log != "" {
		floors, err := v.floors(ctx, dirs[0], divisions)
		if err != nil {
			return nil, err
		}
		for i := range subjects {
			subjects[i].Floor = floors[i]
		}
	}
	t.rows, err = stat.Compare(subjects, stat.Defaults())
	return t, err
}

// windowTable is a comparison by windows.
type windowTable struct {
	rows     []stat.Row
	units    []string
	unranked func(dir string) bool
	noise    *noise
}

// table is in the manner of benchstat: both values, the difference with its
// interval, the noise, p and what may be said.
func (w *windowTable) table() *table.Table {
	t := table.New("run", "metric", "unit", "first", "this", "difference", "interval", "noise", "at most", "p", "windows", "blocks", "verdict", "reason")
	for i, r := range w.rows {
		verdict, reason := w.verdict(&r)
		t.Row(r.Candidate, r.Metric, cmp.Or(w.units[i], "1"), shortNumber(r.Baseline.Estimate), shortNumber(r.CandidateValue.Estimate),
			partOf(r.Relative.Estimate), partOf(r.Relative.Low)+" to "+partOf(r.Relative.High),
			w.floor(&r, r.Floor.Value), w.floor(&r, r.Floor.High), shortNumber(r.Corrected),
			r.Windows, r.Windows/max(r.Block, 1), verdict, reason)
	}
	return t
}

// verdict is what may be said of a row: nothing of runs that are overloaded, and
// nothing of gains while nobody knows the noise.
func (w *windowTable) verdict(r *stat.Row) (verdict, reason string) {
	switch claims := r.Verdict == stat.Better || r.Verdict == stat.Worse; {
	case w.unranked(r.Candidate):
		return reports.NotRanked, "a run is overloaded"
	case claims && w.noise.log == "":
		return stat.NotEnoughEvidence.String(), r.Verdict.String() + ", were there no noise: measure it with --noise LOG"
	}
	return r.Verdict.String(), r.Reason
}

// floor is a number of the noise floor as a part of the first run's value. Its
// upper end is what verdicts go by.
func (w *windowTable) floor(r *stat.Row, x float64) table.Cell {
	if w.noise.log == "" || r.Baseline.Estimate == 0 {
		return table.Cell{}
	}
	part := x / math.Abs(r.Baseline.Estimate)
	return table.Quantity(fmt.Sprintf("%.2f %%", 100*part), part)
}

// about says where the noise comes from.
func (w *windowTable) about() string {
	if w.noise.log == "" {
		return "The noise of the trace was not measured, so nothing is called better or worse: give --noise LOG, the log that was replayed."
	}
	return fmt.Sprintf("Noise: how far %d runs of the first settings lie apart whose arrivals were shaken by up to %s%s. Verdicts go by its upper end.",
		w.noise.replicas, w.noise.by, w.noise.orders)
}

func shortNumber(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf("%.4g", x)
}

func partOf(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf("%+.2f %%", 100*x)
}
