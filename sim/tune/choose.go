package tune

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"orrery/sim/metric"
	"orrery/sim/search"
)

// finalists is how many candidates are held against the current policy on the
// acceptance windows: each one makes the proof of the others harder. mostWhole is
// how many are replayed on the whole traces in search of them.
const (
	finalists = 3
	mostWhole = 24
)

// choose replays the candidates that are ahead on the tuning windows on the whole
// traces, the best first, until there are enough that keep all bounds there.
func (t *tuner) choose() error {
	ahead := t.ahead()
	if len(ahead) == 0 {
		t.out.Decision, t.out.Why = Keep, "nothing that was tried is better on the tuning windows"
		if why := t.barred(); why != "" {
			t.out.Why = why
		}
		return nil
	}
	t.stage("replaying %s under the best candidates, from end to end", t.traceWords())
	kept := 0
	for _, i := range ahead[:min(len(ahead), mostWhole)] {
		c := t.candidates[i]
		if err := t.run(t.on(c, wholeScope)); err != nil {
			return err
		}
		f := Finalist{Name: c.name, Role: c.role, at: i, Whole: t.endToEnd(c)}
		f.Constraints = t.keptOn(c)
		f.Broken = t.broken(c, &f, wholeScope)
		t.out.Finalists = append(t.out.Finalists, f)
		if f.Broken == "" {
			if kept++; kept == finalists {
				break
			}
		}
	}
	if kept == 0 {
		t.out.Decision = Keep
		t.out.Why = fmt.Sprintf("no candidate that is better on the tuning windows keeps its bounds on the whole trace; of %d, the nearest is %s", len(t.out.Finalists), t.nearest())
	}
	return nil
}

// ahead are the candidates that are better than the current policy on the tuning
// windows and keep the bounds there: those that are left in the race as it ranks them,
// then those that it has eliminated, by what they have gained on the windows that they
// have run.
func (t *tuner) ahead() []int {
	out := t.raced
	if i := slices.Index(out, 0); i >= 0 {
		out = out[:i]
	}
	out = slices.Clone(out)
	type shown struct {
		at   int
		cost float64
	}
	cost := func(c *candidate, s scope, windows []int) (float64, bool) {
		metrics, failed := t.read(c, s, windows)
		score, err := t.goal.Score(search.Result{Metrics: metrics, Failed: failed})
		return score.Costs[0], err == nil && score.Feasible()
	}
	var rest []shown
	for i, c := range t.candidates {
		s, windows := tuningScope, t.tuning // by all that is known of it
		if t.result(c, s, 0, 0) == nil {
			s, windows = screeningScope, t.screening
		}
		if i == 0 || slices.Contains(t.raced, i) || t.result(c, s, 0, 0) == nil {
			continue
		}
		now, _ := cost(t.base(), s, windows)
		if x, ok := cost(c, s, windows); ok && x < now {
			rest = append(rest, shown{i, (x - now) / math.Abs(now)})
		}
	}
	slices.SortStableFunc(rest, func(a, b shown) int { return cmp.Compare(a.cost, b.cost) })
	for _, r := range rest {
		out = append(out, r.at)
	}
	return out
}

// barred says which bound keeps candidates with a better first objective out of the
// race, "" where there are none.
func (t *tuner) barred() string {
	o := t.goal.Objectives[0]
	type contender struct {
		c      *candidate
		excess float64
		worst  map[string]float64
	}
	var best *contender
	n := 0
	now, _ := t.read(t.base(), screeningScope, t.screening)
	for _, c := range t.candidates[1:] {
		if t.result(c, screeningScope, 0, 0) == nil {
			continue
		}
		metrics, failed := t.read(c, screeningScope, t.screening)
		score, err := t.goal.Score(search.Result{Metrics: metrics, Failed: failed})
		if gain := better(o.Direction).Gain(metrics[o.Metric] - now[o.Metric]); err != nil || failed || score.Feasible() || !(gain > 0) {
			continue
		}
		if n++; best == nil || score.Excess < best.excess {
			best = &contender{c, score.Excess, metrics}
		}
	}
	if best == nil {
		return ""
	}
	var why []string
	for i, k := range t.goal.Constraints {
		if x := best.worst[k.Metric]; k.Beyond(x) > 0 {
			asked := t.goal.written[i]
			text := fmt.Sprintf("%s comes to %s, and %s %s is to hold", asked.Metric, said(metric.Number(x), asked.Metric), k.Relation, said(metric.Number(k.Value), asked.Metric))
			if asked.Value != k.Value {
				text += fmt.Sprintf(", for the current policy itself breaks %s %s", asked.Relation, said(metric.Number(asked.Value), asked.Metric))
			}
			why = append(why, text)
		}
	}
	return fmt.Sprintf("no candidate with a better %s keeps the bounds on the tuning windows: %d break them, and of the nearest, %s, %s", o.Metric, n, best.c.name, strings.Join(why, " and "))
}

// Kept is a constraint on the acceptance windows and on the whole traces.
type Kept struct {
	Metric   string          `json:"metric"`
	Relation search.Relation `json:"relation"`
	Asked    float64         `json:"asked"`
	// Windows is about the worst acceptance window, Whole about the whole trace, or
	// the worst of them.
	Windows KeptOn `json:"windows"`
	Whole   KeptOn `json:"whole"`
}

// KeptOn says whether a constraint is kept somewhere.
type KeptOn struct {
	// Bound is what was to hold: what was asked, or how far the current policy
	// breaks it.
	Bound metric.Number `json:"bound"`
	// Now and Then are the values of the current policy and of the candidate,
	// undefined where there is none.
	Now  metric.Number `json:"now"`
	Then metric.Number `json:"then"`
	// Beyond is how far Then is beyond Bound, as a fraction of it; below 0 it is
	// kept by so much.
	Beyond metric.Number `json:"beyond"`
	Holds  bool          `json:"holds"`
}

// Broken says that the whole trace, or a window, breaks what was asked for, be it
// by no more than the current policy does.
func (k *Kept) Broken() bool {
	c := search.Constraint{Metric: k.Metric, Relation: k.Relation, Value: k.Asked}
	for _, on := range []KeptOn{k.Windows, k.Whole} {
		if !on.Holds || on.Then.Defined() && c.Beyond(float64(on.Then)) > 0 {
			return true
		}
	}
	return false
}

// keptOn holds the constraints against the acceptance windows and the whole traces.
func (t *tuner) keptOn(c *candidate) []Kept {
	var out []Kept
	before, after := t.beside(c, wholeScope).figures(t.acceptance)
	for i, k := range t.goal.written {
		b := &t.out.Bounds[i]
		out = append(out, Kept{
			Metric: k.Metric, Relation: k.Relation, Asked: k.Value,
			Windows: keeps(k, float64(b.Windows), worstBeside(before, before, k), worstBeside(before, after, k)),
			Whole:   keeps(k, float64(b.Whole), worst(t.wholeValues(t.base(), k.Metric), k.Relation), worst(t.wholeValues(c, k.Metric), k.Relation)),
		})
	}
	return out
}

// keeps says whether then keeps a bound. What has no value on either side says
// nothing; the candidate alone without one breaks it.
func keeps(k search.Constraint, bound, now, then float64) KeptOn {
	out := KeptOn{Bound: metric.Number(bound), Now: metric.Number(known(now)), Then: metric.Number(known(then)), Beyond: metric.Undefined}
	if silent(then) || then != then && now != now {
		out.Then, out.Holds = metric.Undefined, true
		return out
	}
	k.Value = bound
	if out.Holds = k.Beyond(then) <= 0; then == then {
		out.Beyond = metric.Number(k.Beyond(then))
	}
	return out
}

// broken says why a candidate is out whatever its gain, "" when it is not: on the
// whole traces, or on the acceptance windows.
func (t *tuner) broken(c *candidate, f *Finalist, s scope) string {
	var why []string
	if t.aboutWaits() && t.beside(c, wholeScope).piling() {
		why = append(why, "it is overloaded on the whole trace, and the current policy is not")
	}
	for i := range f.Constraints {
		k := &f.Constraints[i]
		where, on := "on the whole trace", &k.Whole
		if s != wholeScope {
			where, on = "in the worst acceptance window", &k.Windows
		}
		if on.Holds {
			continue
		}
		text := fmt.Sprintf("%s is %s %s, and %s %s was to hold", k.Metric, said(on.Then, k.Metric), where, k.Relation, said(on.Bound, k.Metric))
		if on.Beyond.Defined() {
			text += " (beyond it by " + search.Beyond(float64(on.Beyond)) + ")"
		}
		why = append(why, text)
	}
	return strings.Join(why, "; ")
}

// nearest names the finalist that comes closest to keeping its bounds, among those that
// do not, with what it would have gained and the bound that it breaks.
func (t *tuner) nearest() string {
	var best *Finalist
	least := math.Inf(1)
	gains := func(f *Finalist) bool { return f.Broken != "" && t.gains(f) }
	whatever := !slices.ContainsFunc(t.out.Finalists, func(f Finalist) bool { return gains(&f) }) // a finalist without a gain has nothing to offer
	for i := range t.out.Finalists {
		f := &t.out.Finalists[i]
		if f.Broken == "" || !whatever && !gains(f) {
			continue
		}
		excess := 0.0
		if t.beside(t.candidates[f.at], wholeScope).piling() {
			excess = math.MaxFloat64
		}
		for j := range f.Constraints {
			for _, on := range []*KeptOn{&f.Constraints[j].Whole, &f.Constraints[j].Windows} {
				switch {
				case on.Holds:
				case on.Beyond.Defined():
					excess = max(excess, float64(on.Beyond))
				default: // a value is missing
					excess = math.MaxFloat64
				}
			}
		}
		if best == nil || excess < least {
			best, least = f, excess
		}
	}
	name := t.goal.Objectives[0].Metric
	gain := ""
	if i := slices.IndexFunc(best.Whole, func(l WholeLine) bool { return l.Metric == name }); i >= 0 && len(t.problem.Traces) == 1 {
		gain = fmt.Sprintf(" (%s %s from end to end)", name, percent(best.Whole[i].Relative))
	}
	return best.Name + gain + ": " + best.Broken
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
