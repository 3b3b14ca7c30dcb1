package tune

import (
	"fmt"
	"math"
	"slices"

	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/stat"
	"orrery/sim/task"
)

// worstOf marks the value of a metric that a constraint looks at: the worst of
// the windows, while an objective is their mean.
const worstOf = " in the worst window"

// goal is what is asked of a point over several windows.
type goal struct {
	search.Goal                     // with constraints on the worst window
	written     []search.Constraint // as people name them, with what was asked for
}

func newGoal(objectives []search.Objective, asked, bounds []search.Constraint) goal {
	g := goal{Goal: search.Goal{Objectives: objectives}, written: asked}
	for _, c := range bounds {
		c.Metric += worstOf
		g.Constraints = append(g.Constraints, c)
	}
	return g
}

// read is what a search is told of a candidate on windows that a scope holds: the
// mean of each objective and the worst of each constraint. A candidate that is
// overloaded where the current policy is not has failed, where an objective is a
// wait.
func (t *tuner) read(c *candidate, s scope, windows []int) (metrics map[string]float64, failed bool) {
	metrics = map[string]float64{}
	for _, o := range t.goal.Objectives {
		metrics[o.Metric] = stat.Mean(t.values(c, s, o.Metric, windows))
	}
	return metrics, t.constrain(metrics, c, s, windows)
}

// values are those of a candidate by window, weighed: their mean is that of the
// number.
func (t *tuner) values(c *candidate, s scope, name string, windows []int) []float64 {
	of := t.reading(name, windows)
	out := make([]float64, len(windows))
	for k, w := range windows {
		out[k] = of.of(t.figures(c, s, w, 0)) * of.factor[k]
	}
	return out
}

// constrain adds the worst of each constraint, and says whether the candidate has
// failed.
func (t *tuner) constrain(metrics map[string]float64, c *candidate, s scope, windows []int) (failed bool) {
	g := &t.goal
	failed = t.aboutWaits() && t.beside(c, s).piling()
	now, then := t.beside(c, s).figures(windows)
	for i, k := range g.Constraints {
		metrics[k.Metric] = k.Value // kept where nothing is said of it
		if x := worstBeside(now, then, g.written[i]); !silent(x) {
			metrics[k.Metric] = x
		}
	}
	for _, x := range metrics { //detlint:ordered any that is no number will do
		failed = failed || math.IsNaN(x)
	}
	return failed
}

// sides are a candidate and the current policy over one part of the traces: what is
// said of one beside the other is said of the same jobs.
type sides struct {
	t     *tuner
	c     *candidate
	scope scope
}

// beside are the sides of a candidate in a scope, in which the current policy was run
// as well.
func (t *tuner) beside(c *candidate, s scope) sides { return sides{t, c, s} }

// figures are those of both by window.
func (b sides) figures(windows []int) (now, then []*task.Figures) {
	return b.t.all(b.t.base(), b.scope, windows), b.t.all(b.c, b.scope, windows)
}

// piling says whether the queue of the candidate grows without end where that of the
// current policy does not.
func (b sides) piling() bool {
	for k := range b.t.problem.Traces {
		if b.t.overloaded(b.c, b.scope, k) && !b.t.overloaded(b.t.base(), b.scope, k) {
			return true
		}
	}
	return false
}

// worstBeside is the value of a candidate that is furthest from keeping a constraint,
// on the windows that say something of it: a window in which neither the candidate
// nor the current policy has a value, such as one without a job of the group, does
// not. It is NaN when the candidate alone lacks a value, and infinitely far on the
// good side when no window says anything.
func worstBeside(now, results []*task.Figures, c search.Constraint) float64 {
	before, values := valuesOf(now, c.Metric), valuesOf(results, c.Metric)
	var said []float64
	for i, v := range values {
		if !math.IsNaN(v) || !math.IsNaN(before[i]) {
			said = append(said, v)
		}
	}
	return worst(said, c.Relation)
}

// silent says that no window said anything of a constraint.
func silent(worst float64) bool { return math.IsInf(worst, 0) }

// worst is the value that is furthest from keeping a constraint; NaN when one is
// missing.
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

// valuesOf are the values of a measure; NaN where there is none.
func valuesOf(results []*task.Figures, name string) []float64 {
	m := measureOf(name)
	out := make([]float64, len(results))
	for i, r := range results {
		out[i] = valueOf(r, m)
	}
	return out
}

func valueOf(r *task.Figures, m metric.Measure) float64 {
	if v, ok := r.Of(m, metric.Steady); ok {
		return v
	}
	return math.NaN()
}

// measureOf is the measure of a name that has been found good, see measured.
func measureOf(name string) metric.Measure {
	m, err := metric.ParseMeasure(name)
	if err != nil {
		return metric.Measure{Metric: name}
	}
	return m
}

// reading is a number that is read from figures, NaN where they have none, with the
// weights of windows: the mean over windows of value × factor is that of the number.
type reading struct {
	name   string
	of     func(*task.Figures) float64
	factor []float64 // by window
}

// reading is that of windows.
func (t *tuner) reading(name string, windows []int) reading {
	traces := make([]int, len(windows))
	for i, w := range windows {
		traces[i] = t.windows[w].Trace
	}
	return t.weighed(name, traces, t.all(t.base(), wholeScope, windows))
}

// weighed weighs windows, of which the traces and the figures under the current
// policy are given, so that their mean is that of their jobs where the number is a mean over
// jobs: by the jobs behind it under the current policy, of which there are next to as
// many under any other. Numbers of other kinds count alike in each window. Of several
// traces the number is told as a part of what it is under the current policy, and each
// trace counts alike.
func (t *tuner) weighed(name string, traces []int, now []*task.Figures) reading {
	m := measureOf(name)
	out := reading{name, func(r *task.Figures) float64 { return valueOf(r, m) }, make([]float64, len(now))}
	several := len(t.problem.Traces) > 1
	for k := range t.problem.Traces {
		total, sum, n := 0.0, 0.0, 0
		for i, f := range now {
			if traces[i] != k {
				continue
			}
			n++
			out.factor[i] = jobsBehind(f, m)
			if v := out.of(f); stat.Finite(v) {
				total, sum = total+out.factor[i], sum+out.factor[i]*v
			}
		}
		for i := range now {
			switch {
			case traces[i] != k:
			case total == 0:
				out.factor[i] = 0
			case several:
				out.factor[i] *= float64(len(now)) / float64(len(t.problem.Traces)) / sum
			default:
				out.factor[i] *= float64(n) / total
			}
		}
	}
	return out
}

// jobsBehind is the weight of a window for a measure: the jobs that a mean is over,
// and 1 for numbers of other kinds.
func jobsBehind(f *task.Figures, m metric.Measure) float64 {
	if !metric.OverJobs(m.Metric) {
		return 1
	}
	if m.By == "" {
		return float64(f.Metrics[m.Metric].CountSteady)
	}
	n, _ := f.Groups[m.By][m.Group].Value("started")
	return n
}

// pairs holds a candidate against the current policy on windows of the whole replay,
// with all replicas where these tell of it: of groups they do where an objective is
// about one.
func (t *tuner) pairs(c *candidate, name string, windows []int) (stat.Pairs, error) {
	of := t.reading(name, windows)
	replicas := seeds(0, t.opt.Replicas)
	if measureOf(name).By != "" && !t.aboutGroups() {
		replicas = replicas[:1]
	}
	return pairUp([2]*candidate{t.base(), c}, windows, replicas, func(side *candidate, k, r int) float64 {
		return of.of(t.figures(side, wholeScope, windows[k], r)) * of.factor[k]
	})
}

// seeds are the replicas from one to another, both included.
func seeds(from, to int) []int {
	var out []int
	for r := from; r <= to; r++ {
		out = append(out, r)
	}
	return out
}

// pairUp makes the pairs of two sides over windows, which are named by their numbers,
// and replicas.
func pairUp(sides [2]*candidate, windows, replicas []int, value func(side *candidate, k, replica int) float64) (stat.Pairs, error) {
	var list [2][]stat.Observation
	for k, w := range windows {
		for _, r := range replicas {
			for i, side := range sides {
				list[i] = append(list[i], stat.Observation{Window: w, Seed: r, Value: value(side, k, r)})
			}
		}
	}
	p, err := stat.Pair(list[0], list[1])
	p.Continuous = true // the windows of a side are parts of one replay
	return p, err
}

// subject is a number of a candidate on the acceptance windows, to be judged.
func (t *tuner) subject(c *candidate, name string, better stat.Direction) (stat.Subject, error) {
	return t.subjectOn(c, name, better, t.acceptance)
}

func (t *tuner) subjectOn(c *candidate, name string, better stat.Direction, windows []int) (stat.Subject, error) {
	s := stat.Subject{Candidate: c.name, Metric: name, Better: better}
	var err error
	s.Pairs, err = t.pairs(c, name, windows)
	return s, err
}

// floor is how far the mean of a number over windows moves by jittered arrivals
// alone, under the current policy.
func (t *tuner) floor(name string, windows []int) (stat.Floor, error) {
	of := t.reading(name, windows)
	values := make([][]float64, t.opt.Replicas)
	for r := range values {
		for k, w := range windows {
			values[r] = append(values[r], of.of(t.figures(t.base(), wholeScope, w, r+1))*of.factor[k])
		}
	}
	return stat.ReplicaFloor(values, t.opt.Stat.Confidence, t.opt.Stat.Confidence)
}

// better is the direction of an objective in the words of the statistics.
func better(d search.Direction) stat.Direction {
	if d == search.Maximise {
		return stat.Higher
	}
	return stat.Lower
}

// DirectionOf is the way in which a metric is better; less of what is neither
// good nor bad.
func DirectionOf(name string) search.Direction {
	if more, _ := metric.Better(measureOf(name).Metric); more > 0 {
		return search.Maximise
	}
	return search.Minimise
}

// measured refuses a name that is no measure of the steady window.
func measured(name string) error {
	m, err := metric.ParseMeasure(name)
	if err == nil {
		err = m.Validate()
	}
	if err != nil {
		return usagef("%v", err)
	}
	for _, d := range slices.Concat(metric.Definitions(), metric.SiteDefinitions(), metric.ServiceDefinitions()) {
		if m.By == "" && d.Name == name && !slices.Contains(d.Windows, metric.Steady) {
			return usagef("the metric %s is measured over whole runs only, and not on windows: choose another", name)
		}
	}
	return nil
}

// unitOf is the unit of a measure, "" of one without.
func unitOf(name string) string {
	if unit := metric.UnitOf(name); unit != "1" {
		return unit
	}
	return ""
}

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
	every := slices.Concat(t.tuning, t.acceptance)
	now := t.all(t.base(), wholeScope, every)
	onWindows := slices.Clone(list)
	for i, c := range list {
		x := worstBeside(now, now, c)
		whole := worst(t.wholeValues(t.base(), c.Metric), c.Relation)
		if silent(x) && (silent(whole) || math.IsNaN(whole)) {
			b := Bound{Metric: c.Metric, Relation: c.Relation, Asked: c.Value}
			return usagef("the constraint %s says nothing: it has no value under the current policy, on the whole trace or in any window; name another metric or group, or leave it out", &b)
		}
		onWindows[i] = relaxed(c, x, slack)
		t.out.Bounds = append(t.out.Bounds, Bound{
			Metric: c.Metric, Relation: c.Relation, Asked: c.Value, Default: t.opt.Constraints == nil,
			Now: metric.Number(known(x)), NowWhole: metric.Number(known(whole)), Windows: metric.Number(onWindows[i].Value), Whole: metric.Number(relaxed(c, whole, slack).Value),
		})
	}
	t.goal = newGoal(t.opt.Objectives, list, onWindows)
	return t.goal.Validate()
}

// known is NaN for what is silent.
func known(x float64) float64 {
	if silent(x) {
		return math.NaN()
	}
	return x
}

// relaxed is a constraint that the current policy, at now, keeps: a broken one may be
// broken as far, and one that was not asked for by the slack beyond that.
func relaxed(c search.Constraint, now, slack float64) search.Constraint {
	if now != now || silent(now) {
		return c
	}
	if slack *= now; c.Beyond(slack) > 0 {
		c.Value = slack
	}
	return c
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

// wholeValues are the values of a measure on the whole traces, as orrery replay has
// them: over all jobs.
func (t *tuner) wholeValues(c *candidate, name string) []float64 {
	m := measureOf(name)
	var out []float64
	for k := range t.problem.Traces {
		out = append(out, wholeValue(t.result(c, wholeScope, k, 0), m))
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

// Bound is a constraint with what holds of it.
type Bound struct {
	Metric   string          `json:"metric"`
	Relation search.Relation `json:"relation"`
	Asked    float64         `json:"asked"`
	Default  bool            `json:"default,omitempty"` // it was not asked for
	// Now and NowWhole are the worst window and the whole trace under the current
	// policy, undefined where there is no value.
	Now      metric.Number `json:"now"`
	NowWhole metric.Number `json:"now_whole"`
	// Windows and Whole are what is to hold in each window and on the whole trace:
	// what was asked for, or as far as the current policy breaks it.
	Windows metric.Number `json:"windows"`
	Whole   metric.Number `json:"whole"`
}

// String is the bound with its unit.
func (b *Bound) String() string {
	return fmt.Sprintf("%s %s %s", b.Metric, b.Relation, said(metric.Number(b.Asked), b.Metric))
}
