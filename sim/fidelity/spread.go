package fidelity

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"orrery/scheduler/model"
	"orrery/sim/metric"
)

// Spread is how far recorded runs of one workload are apart, which no replay can be expected to be below.
type Spread struct {
	MatchedBy string    `json:"matched_by"` // name, or position in the order of submission
	Runs      []RunWait `json:"runs"`
	// MeanWait and its standard deviation are over the runs.
	MeanWait         metric.Number `json:"mean_wait_s"`
	MeanWaitSD       metric.Number `json:"mean_wait_sd_s"`
	MeanWaitSDOfMean metric.Number `json:"mean_wait_sd_over_mean"`
	// Of the pairs of runs, in the mean.
	RankCorrelationWaits  metric.Number `json:"rank_correlation_waits"`
	RankCorrelationStarts metric.Number `json:"rank_correlation_starts"`
	// SubmissionDifference is the largest between two runs, of a job after the first submission.
	SubmissionDifference float64   `json:"largest_submission_difference_s"`
	Pairs                []Between `json:"pairs"`
	Replay               []Against `json:"replay"`
}

// RunWait is a run with its mean wait.
type RunWait struct {
	Run      string        `json:"run"`
	Jobs     int           `json:"jobs"`
	MeanWait metric.Number `json:"mean_wait_s"`
}

// DifferentError says that two traces are not of one workload.
type DifferentError struct{ First, Other, Found string }

// Error is the text for people.
func (e *DifferentError) Error() string {
	return fmt.Sprintf("%s and %s are not runs of one workload: %s; name traces of the same jobs, or compare each by itself", e.First, e.Other, e.Found)
}

// The ways in which jobs are matched.
const (
	byName     = "name"
	byPosition = "position"
)

// SameWorkload is an error that says in what records are not of the same jobs.
func SameWorkload(records []*Record) error {
	_, _, err := match(records)
	return err
}

// match gives, for each further run, its jobs in the order of the first.
func match(records []*Record) (by string, jobs [][]Job, err error) {
	by = byPosition
	if !slices.ContainsFunc(records, func(r *Record) bool { return !named(r.Jobs) }) {
		by = byName
	}
	first := records[0]
	jobs = append(jobs, first.Jobs)
	for _, r := range records[1:] {
		if len(r.Jobs) != len(first.Jobs) {
			return "", nil, &DifferentError{first.Name, r.Name, fmt.Sprintf("one has %d jobs, the other %d", len(first.Jobs), len(r.Jobs))}
		}
		theirs := r.Jobs
		if by == byName {
			if theirs, err = inOrderOf(first, r); err != nil {
				return "", nil, err
			}
		}
		for i := range theirs {
			if found := differ(&first.Jobs[i], &theirs[i]); found != "" {
				return "", nil, &DifferentError{first.Name, r.Name, fmt.Sprintf("job %d by %s %s", i+1, by, found)}
			}
		}
		jobs = append(jobs, theirs)
	}
	return by, jobs, nil
}

// named says whether every job has a name of its own.
func named(jobs []Job) bool {
	names := map[string]bool{}
	for i := range jobs {
		names[jobs[i].Name] = true
	}
	return len(names) == len(jobs) && !names[""]
}

func inOrderOf(first, r *Record) ([]Job, error) {
	at := map[string]int{}
	for i := range r.Jobs {
		at[r.Jobs[i].Name] = i
	}
	out := make([]Job, len(first.Jobs))
	for i := range first.Jobs {
		k, there := at[first.Jobs[i].Name]
		if !there {
			return nil, &DifferentError{first.Name, r.Name, fmt.Sprintf("the job %q is in the first alone", first.Jobs[i].Name)}
		}
		out[i] = r.Jobs[k]
	}
	return out, nil
}

// differ says in what two jobs ask for different things, "" where they do not. Nodes may differ: a site that
// shares nodes has spread the same CPUs otherwise.
func differ(a, b *Job) string {
	switch {
	case a.User != b.User:
		return fmt.Sprintf("is of %q in one and of %q in the other", a.User, b.User)
	case a.CPUs != b.CPUs:
		return fmt.Sprintf("has %d CPUs in one and %d in the other", a.CPUs, b.CPUs)
	case a.Walltime != b.Walltime:
		return fmt.Sprintf("asks for %s in one and for %s in the other", spanOf(a.Walltime), spanOf(b.Walltime))
	}
	return ""
}

func spanOf(d model.Duration) string {
	if d == model.AbsentDuration {
		return "no time limit"
	}
	return d.String()
}

// spread compares the runs with one another, and the draws with each of them.
func (c *comparison) spread(records []*Record) (*Spread, error) {
	by, runs, err := match(records)
	if err != nil {
		return nil, err
	}
	s := &Spread{MatchedBy: by, Pairs: []Between{}, Replay: []Against{}, SubmissionDifference: submissionDifference(runs)}
	var means, waits, starts []float64
	for i, r := range records {
		m, jobs := r.MeanWait()
		if jobs == 0 {
			return nil, &NothingRecordedError{r.Name}
		}
		means = append(means, m)
		s.Runs = append(s.Runs, RunWait{r.Name, jobs, metric.Number(m)})
		s.Replay = append(s.Replay, c.against(r.Name, runs[i]))
		for k := range i {
			b := between(runs[k], runs[i])
			b.A, b.B = records[k].Name, r.Name
			s.Pairs = append(s.Pairs, b)
			waits, starts = append(waits, float64(b.RankCorrelationWaits)), append(starts, float64(b.RankCorrelationStarts))
		}
	}
	s.MeanWait, s.MeanWaitSD = metric.Number(mean(means)), metric.Number(stat.StdDev(means, nil))
	s.MeanWaitSDOfMean = metric.Number(math.NaN())
	if s.MeanWait > 0 {
		s.MeanWaitSDOfMean = s.MeanWaitSD / s.MeanWait
	}
	s.RankCorrelationWaits, s.RankCorrelationStarts = metric.Number(mean(waits)), metric.Number(mean(starts))
	return s, nil
}

// submissionDifference is the largest difference between runs of a submission after the first.
func submissionDifference(runs [][]Job) float64 {
	least := model.Duration(0)
	for _, jobs := range runs[1:] {
		for i := range jobs {
			d := jobs[i].Submit.Sub(jobs[0].Submit) - runs[0][i].Submit.Sub(runs[0][0].Submit)
			least = max(least, d, -d)
		}
	}
	return seconds(least)
}

// between compares the jobs that started in both runs.
func between(a, b []Job) Between {
	var wa, wb, sa, sb, apart []float64
	for i := range a {
		if !a[i].started() || !b[i].started() {
			continue
		}
		x, y := seconds(a[i].Wait()), seconds(b[i].Wait())
		wa, wb, apart = append(wa, x), append(wb, y), append(apart, math.Abs(x-y))
		sa, sb = append(sa, seconds(model.Duration(a[i].Start))), append(sb, seconds(model.Duration(b[i].Start)))
	}
	return Between{
		Jobs: len(wa), MeanWaitDifference: metric.Number(mean(wb) - mean(wa)), RelativeDifference: metric.Number(relative(mean(wa), mean(wb))),
		RankCorrelationWaits: metric.Number(spearman(noticed(wa, wb))), RankCorrelationStarts: metric.Number(spearman(sa, sb)),
		PerJob: metric.Number(mean(apart)),
	}
}

// against compares the draws with a run, by the jobs that started in both.
func (c *comparison) against(name string, run []Job) Against {
	errs, waits, starts := make([]float64, len(c.draws)), make([]float64, len(c.draws)), make([]float64, len(c.draws))
	for d, draw := range c.draws {
		var w, replayed, s, begun []float64
		for i, row := range c.rows {
			if j := &run[row]; j.started() {
				w, replayed = append(w, seconds(j.Wait())), append(replayed, seconds(draw[i].Start.Sub(c.jobs[i].Submit)))
				s, begun = append(s, seconds(model.Duration(j.Start))), append(begun, seconds(model.Duration(draw[i].Start)))
			}
		}
		errs[d], waits[d], starts[d] = relative(mean(w), mean(replayed)), spearman(noticed(w, replayed)), spearman(s, begun)
	}
	return Against{name, intervalOf(errs), intervalOf(waits), intervalOf(starts)}
}
