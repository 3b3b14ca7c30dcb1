package fidelity

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/workerpool"
)

// Schema is the version of the JSON of a Report.
const Schema = 1

// Interval is a measure over the draws: its mean, and what 2.5 % of the draws are below and above. With fewer
// than 40 draws these are the least and the largest.
type Interval struct{ Value, Low, High metric.Number }

// Row is what is said of some jobs.
type Row struct {
	Name string // of the group, "" of all jobs
	Jobs int
	// As recorded, in seconds.
	MeanWait, MedianWait, P95Wait metric.Number
	Measures                      [Measures]Interval
	Notes                         []string // why a measure has no value

	whole bool
}

// PerJob is a job that was compared; spans in seconds.
type PerJob struct {
	Recorded, Replayed float64 // wait, the replayed one in the mean over the draws
}

// Report is a replay beside its record.
type Report struct {
	Trace, Hash, Spec string
	Rows              int // of the trace
	LeftOut           []LeftOut
	Unheeded          []string // what more of the work asked for than a replay may leave unmet
	Draws             int
	Seed              uint64
	Resolution        model.Duration
	Unit              string // of the utilisation
	All               Row
	Partitions        []Row
	Sizes             []Row
	QOS               []Row
	Users             []Row
	Spread            *Spread // nil of one recorded run
	Conclusions       []Conclusion
	PerJob            []PerJob
}

// LeftOut are rows of the trace that are not compared.
type LeftOut struct {
	Why  string `json:"why"`
	Jobs int    `json:"jobs"`
}

// Compare lays draws of a replay beside the records of one workload: the first is that of the trace that was
// replayed, further ones are other runs of the same jobs. Draws are measured by so many workers, which change
// nothing.
func Compare(ctx context.Context, records []*Record, draws []Draw, workers int) (*Report, error) {
	if len(draws) == 0 {
		return nil, errNoDraw
	}
	first := records[0]
	r := &Report{Trace: first.Name, Hash: first.Hash, Rows: len(first.Jobs), Draws: len(draws), Unheeded: draws[0].Unheeded, Resolution: first.Resolution}
	rows := r.compared(first, draws)
	if len(rows) == 0 {
		return nil, &NothingRecordedError{first.Name}
	}
	c := &comparison{first: first, rows: rows}
	for _, row := range rows {
		c.jobs = append(c.jobs, first.Jobs[row])
	}
	_, r.Unit = held(c.jobs)
	for _, d := range draws {
		c.draws = append(c.draws, c.read(d.Times))
	}
	c.whole = workloadOf(c.jobs)
	groups := groupsOf(c.jobs, c.whole.units)
	measured := make([][]values, len(draws)) // by draw: of all, then of each group
	_, err := workerpool.Each(ctx, len(draws), workers, nil, func() func(context.Context, int) error {
		return func(_ context.Context, d int) error {
			measured[d] = make([]values, 1+len(groups))
			c.whole.measureWhole(&measured[d][0], c.draws[d])
			for g := range groups {
				waits, starts := groups[g].replayed(c.jobs, c.draws[d])
				groups[g].measure(&measured[d][1+g], waits, starts)
			}
			return nil
		}
	})
	if err != nil {
		return nil, err
	}
	r.All = rowOf("", c.whole.sample, true, measured, 0)
	for g := range groups {
		row := rowOf(groups[g].name, groups[g].sample, false, measured, 1+g)
		into := [kinds]*[]Row{byPartition: &r.Partitions, bySize: &r.Sizes, byQOS: &r.QOS, byUser: &r.Users}[groups[g].kind]
		*into = append(*into, row)
	}
	r.PerJob = c.perJob()
	if len(records) > 1 {
		if r.Spread, err = c.spread(records); err != nil {
			return nil, err
		}
	}
	r.Conclusions = r.conclude()
	return r, nil
}

// comparison holds the jobs that are compared, and their times in the draws as the clock of the record has them.
type comparison struct {
	first *Record
	rows  []int // of the record
	jobs  []Job
	draws [][]Times
	whole *workload
}

// compared are the rows that started in the record and in every draw.
func (r *Report) compared(first *Record, draws []Draw) (rows []int) {
	unknown, unstarted := 0, 0
	for i := range first.Jobs {
		switch {
		case !first.Jobs[i].started():
			unknown++
		case slices.ContainsFunc(draws, func(d Draw) bool { return d.Times[i].Start == model.AbsentTime || d.Times[i].End == model.AbsentTime }):
			unstarted++
		default:
			rows = append(rows, i)
		}
	}
	for _, l := range []LeftOut{{"no recorded start and end", unknown}, {"did not start and end in every draw of the replay", unstarted}} {
		if l.Jobs > 0 {
			r.LeftOut = append(r.LeftOut, l)
		}
	}
	return rows
}

// read is a draw as the clock of the record shows it.
func (c *comparison) read(draw []Times) []Times {
	out := make([]Times, len(c.rows))
	for i, row := range c.rows {
		step := c.first.Resolution
		out[i] = Times{c.first.read(draw[row].Start, step), c.first.read(draw[row].End, step)}
	}
	return out
}

// rowOf takes the intervals of a sample out of what was measured.
func rowOf(name string, s *sample, whole bool, measured [][]values, at int) Row {
	r := Row{Name: name, Jobs: len(s.jobs), MeanWait: metric.Number(s.mean), MedianWait: metric.Number(s.median), P95Wait: metric.Number(s.p95), whole: whole}
	draws := make([]float64, len(measured))
	for _, m := range r.has() {
		for d := range measured {
			draws[d] = measured[d][at][m]
		}
		r.Measures[m] = intervalOf(draws)
		if !r.Measures[m].Value.Defined() {
			r.Notes = append(r.Notes, fmt.Sprintf("%s: %s", m.Key(), r.why(m, draws)))
		}
	}
	return r
}

// has are the measures of the row.
func (r *Row) has() (out []Measure) {
	for m := range Measures {
		if r.whole || m < groupMeasures {
			out = append(out, m)
		}
	}
	return out
}

// why a measure has no value.
func (r *Row) why(m Measure, draws []float64) string {
	missing := 0
	for _, v := range draws {
		if math.IsNaN(v) {
			missing++
		}
	}
	switch {
	case missing < len(draws):
		return fmt.Sprintf("not defined in %d of %d draws", missing, len(draws))
	case m == RankCorrelationWaits:
		return fmt.Sprintf("fewer than %d jobs waited more than %g s, or all alike", leastRanked, noticedWait)
	case m == RankCorrelationStarts:
		return fmt.Sprintf("fewer than %d jobs, or all started at one instant", leastRanked)
	case m == OvertakingsReproduced:
		return "no job overtook another in the record"
	case m == OvertakingsFalse:
		return "no job overtakes another in the replay"
	case m == MakespanError, m == UtilisationRMSE:
		return "no time goes by in the record, or nothing was held"
	}
	return "what the error would be a part of is 0 in the record"
}

// intervalOf summarises the draws of a measure; without a value where one of them has none.
func intervalOf(draws []float64) Interval {
	if slices.ContainsFunc(draws, math.IsNaN) {
		return Interval{metric.Undefined, metric.Undefined, metric.Undefined}
	}
	sorted := slices.Sorted(slices.Values(draws))
	n := len(sorted)
	outside := max(0, int(math.Ceil(float64(drawnOutside/2*float64(n))))-1) // on either side
	low, high := sorted[outside], sorted[n-1-outside]
	// A mean of equal numbers is that number, which the rounding of a sum may miss.
	return Interval{metric.Number(min(high, max(low, stat.Mean(sorted, nil)))), metric.Number(low), metric.Number(high)}
}

// perJob has the jobs in the order of submission.
func (c *comparison) perJob() []PerJob {
	out := make([]PerJob, len(c.jobs))
	for i := range c.jobs {
		sum := int64(0)
		for _, d := range c.draws {
			sum += int64(d[i].Start.Sub(c.jobs[i].Submit))
		}
		out[i] = PerJob{seconds(c.jobs[i].Wait()), seconds(model.Duration(sum)) / float64(len(c.draws))}
	}
	return out
}
