package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Direction says which way an objective is better.
type Direction string

// The directions of objectives.
const (
	Minimise Direction = "minimise"
	Maximise Direction = "maximise"
)

// Objective is a metric that a search makes small or large.
type Objective struct {
	Metric    string    `json:"metric"`
	Direction Direction `json:"direction"`
}

// Relation compares a metric with the value of a constraint.
type Relation string

// The relations of constraints.
const (
	AtMost  Relation = "<="
	AtLeast Relation = ">="
)

// Constraint is a bound that a metric must keep.
type Constraint struct {
	Metric   string   `json:"metric"`
	Relation Relation `json:"relation"`
	Value    float64  `json:"value"` // in the unit of the metric
}

// String is the constraint as people write it.
func (c Constraint) String() string {
	return fmt.Sprintf("%s %s %s", c.Metric, c.Relation, strconv.FormatFloat(c.Value, 'g', -1, 64))
}

// Goal is what a search is for. A point that keeps all constraints is better
// than any that does not; among those that do not, the smaller sum of excesses
// is better, each excess as a fraction of its bound (of 1 where the bound is
// 0); among those that do, the objectives decide. (Deb: An efficient constraint
// handling method for genetic algorithms, 2000.)
type Goal struct {
	Objectives  []Objective  `json:"objectives"`
	Constraints []Constraint `json:"constraints,omitempty"`
}

// Validate says what is wrong with the goal, naming the metric.
func (g *Goal) Validate() error {
	if len(g.Objectives) == 0 {
		return fmt.Errorf("search: the goal has no objective: name a metric to minimise or maximise")
	}
	for i, o := range g.Objectives {
		if o.Metric == "" {
			return fmt.Errorf("search: objective %d names no metric", i+1)
		}
		if o.Direction != Minimise && o.Direction != Maximise {
			return fmt.Errorf("search: objective %q has direction %q: use minimise or maximise", o.Metric, o.Direction)
		}
		if slices.ContainsFunc(g.Objectives[:i], func(e Objective) bool { return e.Metric == o.Metric }) {
			return fmt.Errorf("search: objective %q is there twice", o.Metric)
		}
	}
	for i, c := range g.Constraints {
		if c.Metric == "" {
			return fmt.Errorf("search: constraint %d names no metric", i+1)
		}
		if c.Relation != AtMost && c.Relation != AtLeast {
			return fmt.Errorf("search: constraint on %q has relation %q: use <= or >=", c.Metric, c.Relation)
		}
		if math.IsNaN(c.Value) || math.IsInf(c.Value, 0) {
			return fmt.Errorf("search: constraint on %q has value %v: give a finite number", c.Metric, c.Value)
		}
	}
	return nil
}

// Metrics names the metrics that a result must hold, objectives first, each
// once.
func (g *Goal) Metrics() []string {
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, o := range g.Objectives {
		add(o.Metric)
	}
	for _, c := range g.Constraints {
		add(c.Metric)
	}
	return names
}

// Score is a result as the goal sees it.
type Score struct {
	// Costs are the objectives, all to be minimised: a maximised metric has its
	// sign changed. All are +Inf for a failed trial.
	Costs []float64
	// Gaps are the constraints: how far the metric is beyond its bound, as a
	// fraction of the bound; 0 or less is kept.
	Gaps []float64
	// Excess is the sum of the gaps above 0, 0 for a feasible point, +Inf for a
	// failed trial.
	Excess float64
}

// Feasible says whether the point keeps all constraints and did not fail.
func (s *Score) Feasible() bool { return s.Excess == 0 }

// failed says that there is nothing but the failure to learn from.
func (s *Score) failed() bool { return math.IsInf(s.Excess, 1) }

// Score judges metrics. A failed trial and one of whose metrics is not a finite
// number are worse than any other. A metric that is missing is an error: it
// has another name, or was not asked for.
func (g *Goal) Score(r Result) (Score, error) {
	s := Score{Costs: make([]float64, len(g.Objectives)), Gaps: make([]float64, len(g.Constraints))}
	ok := !r.Failed
	metric := func(name string) (float64, error) {
		x, there := r.Metrics[name]
		if !there && !r.Failed {
			return 0, fmt.Errorf("search: the result of trial %d lacks metric %q", r.ID, name)
		}
		ok = ok && !math.IsNaN(x) && !math.IsInf(x, 0)
		return x, nil
	}
	for i, o := range g.Objectives {
		x, err := metric(o.Metric)
		if err != nil {
			return Score{}, err
		}
		if o.Direction == Maximise {
			x = -x
		}
		s.Costs[i] = x
	}
	for i, c := range g.Constraints {
		x, err := metric(c.Metric)
		if err != nil {
			return Score{}, err
		}
		s.Gaps[i] = c.Beyond(x)
		s.Excess += max(0, s.Gaps[i])
	}
	if !ok {
		s.Excess = math.Inf(1)
		for i := range s.Costs {
			s.Costs[i] = math.Inf(1)
		}
		for i := range s.Gaps {
			s.Gaps[i] = math.Inf(1)
		}
	}
	return s, nil
}

// Beyond is how far x is beyond the bound, as a fraction of it (of 1 where it is
// 0); 0 or less is kept.
func (c *Constraint) Beyond(x float64) float64 {
	scale := math.Abs(c.Value)
	if scale == 0 {
		scale = 1
	}
	if c.Relation == AtLeast {
		return (c.Value - x) / scale
	}
	return (x - c.Value) / scale
}

// Beyond says in words how far a constraint is broken, in percent of its bound.
func Beyond(x float64) string {
	digits := 0
	for y := 100 * x; y < 10 && digits < 3; y *= 10 {
		digits++
	}
	return strconv.FormatFloat(100*x, 'f', digits, 64) + " %"
}

// better orders two scores of one objective; 0 when neither is better.
func better(a, b *Score) int {
	return cmp.Or(cmp.Compare(a.Excess, b.Excess), cmp.Compare(a.Costs[0], b.Costs[0]))
}

// dominates says whether a is better than b for several objectives: closer to
// feasible, or as close, no worse in any objective and better in one.
func dominates(a, b *Score) bool {
	if a.Excess != b.Excess {
		return a.Excess < b.Excess
	}
	less := false
	for i := range a.Costs {
		if a.Costs[i] > b.Costs[i] {
			return false
		}
		less = less || a.Costs[i] < b.Costs[i]
	}
	return less
}
