package main

import (
	"cmp"
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
type started struct{ submit, wait, turn, run int64 }

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
			if c.Start[i] != record.Absent && c.End[i] != record.Absent {
				w.jobs[job] = started{c.Submit[i], c.Wait[i], c.End[i] - c.Submit[i], c.Runtime[i]}
			}
		}
		return nil
	})
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

// pairRuns gives the figures of both runs by windows of submission, of equal
// length, each with the jobs that started in both.
func pairRuns(a, b *windowed, windows int, of func(started) float64) stat.Pairs {
	rows := make([]int32, 0, len(a.jobs))
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, row := range slices.Sorted(maps.Keys(a.jobs)) { // sums of floats depend on their order
		if _, both := b.jobs[row]; both {
			rows = append(rows, row)
			first, last = min(first, a.jobs[row].submit), max(last, a.jobs[row].submit)
		}
	}
	sums, counts := make([][2]float64, windows), make([]int, windows)
	length := (last-first)/int64(windows) + 1
	for _, row := range rows {
		k := (a.jobs[row].submit - first) / length
		sums[k][0] += of(a.jobs[row])
		sums[k][1] += of(b.jobs[row])
		counts[k]++
	}
	p := stat.Pairs{Runs: windows}
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
func (v *compareVerb) byWindows(dirs []string) error {
	if v.windows < 1 {
		return usagef("--windows %d: want 1 or more, 20 as a rule", v.windows)
	}
	overloaded := map[string]bool{}
	for _, dir := range dirs[1:] {
		c, err := reports.Compare(dirs[0], dir) // also refuses runs of different traces
		if err != nil {
			return readError(err)
		}
		for _, side := range []reports.Side{c.A, c.B} {
			overloaded[side.Dir] = side.Verdict == metric.Overloaded
		}
	}
	base, err := readStarted(dirs[0])
	if err != nil {
		return err
	}
	var subjects []stat.Subject
	var units []string
	for _, dir := range dirs[1:] {
		other, err := readStarted(dir)
		if err != nil {
			return err
		}
		for _, f := range windowFigures {
			subjects = append(subjects, stat.Subject{Candidate: dir, Metric: f.name, Pairs: pairRuns(&base, &other, v.windows, f.of)})
			units = append(units, f.unit)
		}
	}
	rows, err := stat.Compare(subjects, stat.Defaults())
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if overloaded[dir] {
			v.m.say("orrery: %s is overloaded: its waits say how long the log is, and it has no rank", dir)
		}
	}
	return v.print.table(windowTable(rows, units, func(dir string) bool { return overloaded[dirs[0]] || overloaded[dir] }))
}

// windowTable is in the manner of benchstat: both values, the difference with its
// interval, p and what may be said.
func windowTable(rows []stat.Row, units []string, unranked func(dir string) bool) *table.Table {
	t := table.New("run", "metric", "unit", "first", "this", "difference", "interval", "p", "windows", "blocks", "verdict", "reason")
	for i, r := range rows {
		verdict, reason := r.Verdict.String(), r.Reason
		if unranked(r.Candidate) {
			verdict, reason = reports.NotRanked, "a run is overloaded"
		}
		t.Row(r.Candidate, r.Metric, cmp.Or(units[i], "1"), shortNumber(r.Baseline.Estimate), shortNumber(r.CandidateValue.Estimate),
			partOf(r.Relative.Estimate), partOf(r.Relative.Low)+" to "+partOf(r.Relative.High), shortNumber(r.Corrected),
			r.Windows, r.Windows/max(r.Block, 1), verdict, reason)
	}
	return t
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
