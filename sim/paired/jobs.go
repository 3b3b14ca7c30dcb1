package paired

import (
	"cmp"
	"slices"

	"orrery/scheduler/model"
	"orrery/sim/record"
	"orrery/sim/stat"
)

// Jobs are the jobs of a run that started and ended, in the order of their ids;
// those of one id in the order of submission. 40 bytes a job.
type Jobs []job

// job is one of them. Times are in µs.
type job struct{ id, submit, wait, turn, run int64 }

// Read takes the jobs of a run directory or of a run in memory.
func Read(from record.Scanner) (Jobs, error) {
	var out Jobs
	err := from.Scan(func(c *record.Columns) error {
		for i, id := range c.ID {
			if c.Start[i] != record.Absent && c.End[i] != record.Absent {
				out = append(out, job{id, c.Submit[i], c.Wait[i], c.End[i] - c.Submit[i], c.Runtime[i]})
			}
		}
		return nil
	})
	slices.SortStableFunc(out, func(a, b job) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.submit, b.submit))
	})
	return out, err
}

// figures are what is compared, as means over the jobs of a window. Less is better.
var figures = []struct {
	name, unit string
	of         func(*job) float64
}{
	{"wait_mean", "s", func(j *job) float64 { return float64(j.wait) / 1e6 }},
	{"turnaround_mean", "s", func(j *job) float64 { return float64(j.turn) / 1e6 }},
	{"bounded_slowdown_mean", "1", func(j *job) float64 {
		return max(1, float64(j.turn)/float64(max(j.run, int64(10*model.Second))))
	}},
}

// division is how the jobs that started in all runs of two sides are divided into
// windows of submission, of equal length.
type division struct {
	ids     []key // of these jobs, in order: sums of floats depend on it
	window  []int // of each
	windows int
	length  model.Duration
}

// key names a job: ids may repeat in a bad log, and then the place among those of
// that id does.
type key struct {
	id    int64
	place int
}

// each calls do with the key of each job, in order.
func (jobs Jobs) each(do func(k key, j *job)) {
	place := 0
	for i := range jobs {
		if i > 0 && jobs[i].id == jobs[i-1].id {
			place++
		} else {
			place = 0
		}
		do(key{jobs[i].id, place}, &jobs[i])
	}
}

func (k key) compare(other key) int {
	return cmp.Or(cmp.Compare(k.id, other.id), cmp.Compare(k.place, other.place))
}

// divide divides the jobs of the first run of the first side that are in all other
// runs too. windows is how many; 0 is what suits them.
func divide(first, other []Run, windows int) *division {
	d := &division{}
	var submits []int64
	first[0].Jobs.each(func(k key, j *job) { d.ids, submits = append(d.ids, k), append(submits, j.submit) })
	for _, r := range slices.Concat(first[1:], other) {
		d.ids, submits = common(d.ids, submits, r.Jobs)
	}
	if len(submits) == 0 {
		d.windows = max(windows, 1)
		return d
	}
	begin, end := slices.Min(submits), slices.Max(submits)+1
	d.windows = windows
	if windows == 0 {
		days := int(model.Duration(end-begin) / leastLength)
		d.windows = max(min(UsualWindows, days, len(submits)/leastJobsAmean), 1)
	}
	length := (end - begin + int64(d.windows) - 1) / int64(d.windows)
	d.length = model.Duration(length)
	d.window = make([]int, len(submits))
	for i, s := range submits {
		d.window[i] = int((s - begin) / length)
	}
	return d
}

// common are the jobs that a run has too.
func common(ids []key, submits []int64, jobs Jobs) ([]key, []int64) {
	n, at := 0, 0
	jobs.each(func(k key, _ *job) {
		for at < len(ids) && ids[at].compare(k) < 0 {
			at++
		}
		if at < len(ids) && ids[at] == k {
			ids[n], submits[n] = ids[at], submits[at]
			n, at = n+1, at+1
		}
	})
	return ids[:n], submits[:n]
}

// observe is a figure of the runs of a side by windows.
func (d *division) observe(runs []Run, figure int) []stat.Observation {
	var out []stat.Observation
	for _, r := range runs {
		sums, counts := make([]float64, d.windows), make([]float64, d.windows)
		at := 0
		r.Jobs.each(func(k key, j *job) {
			for at < len(d.ids) && d.ids[at].compare(k) < 0 {
				at++
			}
			if at < len(d.ids) && d.ids[at] == k {
				w := d.window[at]
				sums[w] += figures[figure].of(j)
				counts[w]++
			}
		})
		for w, n := range counts {
			if n > 0 {
				out = append(out, stat.Observation{Window: w, Seed: r.Seed, Value: sums[w] / n})
			}
		}
	}
	return out
}
