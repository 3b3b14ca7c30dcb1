package tune

import (
	"fmt"
	"math"
	"strings"

	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/task"
)

// Bound is a constraint on the whole traces, with what becomes of it under the candidate that
// the report is about. Each trace has a limit of its own; the figures are of the one on which
// the candidate is furthest beyond it, or nearest to it.
type Bound struct {
	Trace    int             `json:"trace,omitempty"`
	Metric   string          `json:"metric"`
	Relation search.Relation `json:"relation"`
	Asked    float64         `json:"asked"`
	Default  bool            `json:"default,omitempty"` // it was not asked for
	// Limit is what is to hold: what was asked for, or as far as the current policy breaks
	// it.
	Limit metric.Number `json:"limit"`
	// Now and Then are the values of the current policy and of the candidate, undefined
	// where there is none.
	Now  metric.Number `json:"now"`
	Then metric.Number `json:"then"`
	// Beyond is how far Then is beyond Limit, as a fraction of it; below 0 it is kept by so
	// much.
	Beyond metric.Number `json:"beyond"`
	Kept   bool          `json:"kept"`
}

// String is the bound with its unit.
func (b *Bound) String() string {
	return fmt.Sprintf("%s %s %s", b.Metric, b.Relation, said(metric.Number(b.Asked), b.Metric))
}

// guardSlack is how much worse than now the worst wait may be where the user set no
// bound: extremes of two runs differ, and a guard is not to forbid every change.
const guardSlack = 1.5

// defaultConstraints hold, or half as much again as it is now.
var defaultConstraints = []search.Constraint{
	{Metric: "wait_max", Relation: search.AtMost, Value: 3 * 24 * 3600},
	{Metric: "share_deviation_max", Relation: search.AtMost, Value: 0.05},
}

// DefaultConstraints says in words what holds when nothing else is asked for.
const DefaultConstraints = "wait_max <= 3d and share_deviation_max <= 0.05, or half as much again as it is now where that is more"

// bounds are the constraints: what was asked for, or the defaults. What the current
// policy breaks may be broken as far.
func (t *tuner) bounds() error {
	list, slack := t.opt.Constraints, 1.0
	if list == nil {
		slack = guardSlack
		for _, c := range defaultConstraints {
			if x := worst(t.wholeValues(t.base(), c.Metric), c.Relation); x == x && !silent(x) { // the site has such a metric
				list = append(list, c)
			}
		}
	}
	t.slack = slack
	for _, c := range list {
		b := Bound{Metric: c.Metric, Relation: c.Relation, Asked: c.Value, Default: t.opt.Constraints == nil}
		if silent(worst(t.wholeValues(t.base(), c.Metric), c.Relation)) {
			return usagef("the constraint %s says nothing: it has no value under the current policy; name another metric or group, or leave it out", &b)
		}
		t.out.Bounds = append(t.out.Bounds, b)
	}
	t.goal = newGoal(t.opt.Objectives, list)
	return t.goal.Validate()
}

// relaxed is a constraint that the current policy, at now, keeps: a broken one may be
// broken as far, and one that was not asked for by the slack beyond that.
func relaxed(c search.Constraint, now, slack float64) search.Constraint {
	if math.IsNaN(now) {
		return c
	}
	if slack *= now; c.Beyond(slack) > 0 {
		c.Value = slack
	}
	return c
}

// wholeValues are the values of a measure on the whole traces, as orrery replay has
// them: over all jobs. Traces on which the current policy has none say nothing of it, and
// are left out where the candidate has none either.
func (t *tuner) wholeValues(c *candidate, name string) []float64 {
	m := measureOf(name)
	var out []float64
	for k := range t.problem.Traces {
		now, then := wholeValue(t.result(t.base(), wholeScope, k, 0), m), wholeValue(t.result(c, wholeScope, k, 0), m)
		if !math.IsNaN(now) || !math.IsNaN(then) {
			out = append(out, then)
		}
	}
	return out
}

// wholeValue is a measure over all jobs of a run without a warm-up, whose steady window
// they are; groups are measured there alone.
func wholeValue(r *task.Result, m metric.Measure) float64 {
	window := metric.All
	if m.By != "" {
		window = metric.Steady
	}
	if v, ok := r.Of(m, window); ok {
		return v
	}
	return math.NaN()
}

// worst is the value that is furthest from keeping a constraint: NaN when one is
// missing, and silent without any.
func worst(values []float64, relation search.Relation) float64 {
	out := math.Inf(-1)
	for _, v := range values {
		if relation == search.AtLeast {
			v = -v
		}
		if !(v <= out) { // NaN too, which then stays
			out = v
		}
		if math.IsNaN(out) {
			return out
		}
	}
	if relation == search.AtLeast {
		return -out
	}
	return out
}

// silent says that there was no value to be the worst.
func silent(worst float64) bool { return math.IsInf(worst, 0) }

// boundOn is bound i with what becomes of it under a candidate. A trace on which neither side
// has a value says nothing; a candidate that alone has none breaks the bound.
func (t *tuner) boundOn(c *candidate, i int) Bound {
	out := t.out.Bounds[i]
	out.Limit, out.Now, out.Then, out.Beyond, out.Kept = metric.Number(out.Asked), metric.Undefined, metric.Undefined, metric.Undefined, true
	m, furthest := measureOf(out.Metric), math.Inf(-1)
	for k := range t.problem.Traces {
		now, then := wholeValue(t.result(t.base(), wholeScope, k, 0), m), wholeValue(t.result(c, wholeScope, k, 0), m)
		if math.IsNaN(now) && math.IsNaN(then) {
			continue
		}
		limit := relaxed(search.Constraint{Metric: out.Metric, Relation: out.Relation, Value: out.Asked}, now, t.slack)
		beyond := limit.Beyond(then)
		if math.IsNaN(then) {
			beyond = math.Inf(1)
		}
		if beyond > furthest {
			furthest = beyond
			out.Trace, out.Limit, out.Now, out.Then, out.Beyond, out.Kept = k, metric.Number(limit.Value), metric.Number(now), metric.Number(then), metric.Number(beyond), beyond <= 0
		}
	}
	return out
}

// brokenBy says why a candidate is none to recommend whatever it gains, "" when nothing
// stands against it, and how far the worst of it is beyond what was to hold.
func (t *tuner) brokenBy(c *candidate) (why string, beyond float64) {
	var parts []string
	add := func(by float64, format string, args ...any) {
		parts, beyond = append(parts, fmt.Sprintf(format, args...)), max(beyond, by)
	}
	if t.aboutWaits() && t.piling(c, wholeScope) {
		add(math.Inf(1), "it is overloaded, and the current policy is not")
	}
	for i := range t.out.Bounds {
		b := t.boundOn(c, i)
		switch {
		case b.Kept:
		case b.Then.Defined():
			add(float64(b.Beyond), "%s is %s%s, and %s %s was to hold (beyond it by %s)", b.Metric, said(b.Then, b.Metric), t.onTrace(b.Trace), b.Relation, said(b.Limit, b.Metric), search.Beyond(float64(b.Beyond)))
		default:
			add(math.Inf(1), "%s has no value%s, and %s %s was to hold", b.Metric, t.onTrace(b.Trace), b.Relation, said(b.Limit, b.Metric))
		}
	}
	for _, o := range t.goal.Objectives {
		if math.IsNaN(t.whole(c, o.Metric, 0)) {
			add(math.Inf(1), "%s has no value", o.Metric)
		}
	}
	return strings.Join(parts, "; "), beyond
}

// onTrace names a trace where there are several.
func (t *tuner) onTrace(k int) string {
	if len(t.problem.Traces) == 1 {
		return ""
	}
	return " on " + t.problem.Traces[k].Set.Name
}

// word says whether what was asked for is kept. It is not where the current policy
// breaks it as well.
func (b *Bound) word() string {
	asked := search.Constraint{Metric: b.Metric, Relation: b.Relation, Value: b.Asked}
	switch {
	case !b.Then.Defined() && b.Kept:
		return "no value"
	case !b.Kept:
		return "broken"
	case asked.Beyond(float64(b.Then)) <= 0:
		return "kept"
	case b.Now.Defined() && asked.Beyond(float64(b.Now)) > 0 && asked.Beyond(float64(b.Then)) <= asked.Beyond(float64(b.Now)):
		return "broken no further than now"
	case b.Now.Defined() && asked.Beyond(float64(b.Now)) > 0:
		return "broken further than now, within its slack"
	}
	return "exceeded within its slack"
}
