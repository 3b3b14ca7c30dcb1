package tune

import (
	"math"
	"slices"

	"orrery/internal/libm"
	"orrery/sim/advice"
	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/stat"
)

// Finalist is a candidate that passes the test, or that came closest, with what decides of it.
type Finalist struct {
	Name string `json:"name"`
	Role string `json:"role"`
	// Gain in the first objective on the whole traces, as a part of the current policy.
	Gain metric.Number `json:"gain"`
	// P of the joint test, corrected for all candidates; undefined where it was not tested.
	P metric.Number `json:"p"`
	// Windows and Sums are the two statistics of the test, as parts by which the objective
	// changes: each window alike, and each job alike.
	Windows metric.Number `json:"windows"`
	Sums    metric.Number `json:"sums"`
	// Replicas is the gain with jittered arrivals.
	Replicas Replicas `json:"replicas"`
	Lines    []Line   `json:"lines"` // by objective, with intervals
	// Whole are figures of the whole traces, end to end.
	Whole  []WholeLine `json:"whole"`
	Bounds []Bound     `json:"bounds,omitempty"`
	Losers []LoserLine `json:"losers"`
	Out    string      `json:"out,omitempty"` // why it is not recommended

	at int // among the candidates
}

// Replicas is a gain on the whole traces over replicas with jittered arrivals.
type Replicas struct {
	Count int           `json:"count"`
	Mean  metric.Number `json:"mean"`
	SD    metric.Number `json:"sd"` // of one replica: how far one replay may be trusted
	Low   metric.Number `json:"low"`
	High  metric.Number `json:"high"`
}

func replicated(r advice.Replication) Replicas {
	return Replicas{r.Replicas, metric.Number(r.Mean), metric.Number(r.SD), metric.Number(r.Low), metric.Number(r.High)}
}

// ratio is a logarithm as the part by which a number changes.
func ratio(logarithm float64) metric.Number { return metric.Number(libm.Exp(logarithm) - 1) }

// finalist is what the whole traces say of a candidate, by its place.
func (t *tuner) finalist(i int) *Finalist {
	c, found := t.candidates[i], t.finding(i)
	f := &Finalist{
		at: i, Name: c.name, Role: c.role, Gain: metric.Number(found.Gain), P: metric.Number(found.P), Windows: ratio(found.Windows.Estimate), Sums: ratio(found.Sums.Estimate), Whole: t.endToEnd(c), Losers: t.losersOf(t.base(), c),
	}
	for k := range t.out.Bounds {
		f.Bounds = append(f.Bounds, t.boundOn(c, k))
	}
	f.Replicas = replicated(t.replication(i))
	return f
}

// Line is one number of a candidate against the current policy.
type Line struct {
	Metric     string        `json:"metric"`
	Unit       string        `json:"unit,omitempty"`
	Now        Range         `json:"now"`
	Then       Range         `json:"then"`
	Difference Range         `json:"difference"`
	Relative   Range         `json:"relative"`
	P          metric.Number `json:"p"` // corrected
	// Noise is the part of the variance of the change that the jitter of arrivals makes.
	Noise   metric.Number `json:"noise"`
	Windows int           `json:"windows"`
	Runs    int           `json:"runs"` // of both sides
	Verdict stat.Verdict  `json:"verdict"`
	Reason  string        `json:"reason"`
}

// Range is an estimate with its interval.
type Range struct {
	Estimate metric.Number `json:"estimate"`
	Low      metric.Number `json:"low"`
	High     metric.Number `json:"high"`
}

// unknown is the Range of what has no value.
var unknown = Range{metric.Undefined, metric.Undefined, metric.Undefined}

func rangeOf(i stat.Interval) Range {
	return Range{metric.Number(i.Estimate), metric.Number(i.Low), metric.Number(i.High)}
}

func lineOf(r stat.Row) Line {
	return Line{
		Metric: r.Metric, Unit: unitOf(r.Metric), Now: rangeOf(r.Baseline), Then: rangeOf(r.CandidateValue),
		Difference: rangeOf(r.Difference), Relative: rangeOf(r.Relative), P: metric.Number(r.Corrected), Noise: metric.Number(r.Noise.Share),
		Windows: r.Windows, Runs: r.Runs, Verdict: r.Verdict, Reason: r.Reason,
	}
}

// measure gives the changes of the finalists their intervals, which decide nothing: over
// windows, and over replicas of both sides.
func (t *tuner) measure() error {
	for k := range t.out.Finalists {
		f := &t.out.Finalists[k]
		var subjects []stat.Subject
		for _, o := range t.goal.Objectives {
			s, err := t.subject(t.candidates[f.at], o.Metric, better(o.Direction))
			if err != nil {
				return err
			}
			subjects = append(subjects, s)
		}
		rows, err := stat.Compare(subjects, t.opt.Stat)
		if err != nil {
			return err
		}
		for _, r := range rows {
			f.Lines = append(f.Lines, lineOf(r))
		}
	}
	return nil
}

// WholeLine is a number over all jobs of a whole trace, as orrery replay has it.
type WholeLine struct {
	Trace    int           `json:"trace,omitempty"`
	Metric   string        `json:"metric"`
	Unit     string        `json:"unit,omitempty"`
	Now      metric.Number `json:"now"`
	Then     metric.Number `json:"then"`
	Relative metric.Number `json:"relative"` // Then as a part of Now, less 1
}

// endToEndOf are the numbers that are told of the whole traces, beside the objectives
// and the constraints.
var endToEndOf = []string{"bounded_slowdown_mean", "wait_mean", "wait_p95", "wait_max", "wait_mean of runtime " + metric.LongRuntime, "utilisation"}

// endToEnd are the numbers of a candidate on the whole traces beside those of the
// current policy.
func (t *tuner) endToEnd(c *candidate) []WholeLine {
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, o := range t.goal.Objectives {
		add(o.Metric)
	}
	for _, k := range t.goal.written {
		add(k.Metric)
	}
	for _, name := range endToEndOf {
		add(name)
	}
	var out []WholeLine
	for k := range t.problem.Traces {
		for _, name := range names {
			m := measureOf(name)
			now, then := wholeValue(t.result(t.base(), wholeScope, k, 0), m), wholeValue(t.result(c, wholeScope, k, 0), m)
			l := WholeLine{Trace: k, Metric: name, Unit: unitOf(name), Now: metric.Number(now), Then: metric.Number(then), Relative: metric.Undefined}
			if now > 0 && !math.IsNaN(then) {
				l.Relative = metric.Number(then/now - 1)
			}
			if !math.IsNaN(now) || !math.IsNaN(then) {
				out = append(out, l)
			}
		}
	}
	return out
}

// directionOf is the way in which a number is better, as the goal has it.
func (r *Report) directionOf(name string) search.Direction {
	for _, o := range r.Goal.Objectives {
		if o.Metric == name {
			return o.Direction
		}
	}
	return DirectionOf(name)
}
