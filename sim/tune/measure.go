package tune

import (
	"math"
	"slices"

	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/stat"
	"orrery/sim/task"
)

// ask is one run: a candidate on a window. Replica counts the shaken ones from 1,
// 0 is the log as it is; sequential takes the events of an instant one by one.
type ask struct {
	of         *candidate
	window     int
	replica    int
	sequential bool
}

// key names a run: candidates of one spec share theirs.
type key struct {
	spec       string
	window     int
	replica    int
	sequential bool
}

func (a ask) key() key { return key{a.of.id, a.window, a.replica, a.sequential} }

// task is the run for somebody to compute.
func (t *tuner) task(a ask) task.Task {
	w := &t.windows[a.window]
	out := task.Task{Spec: a.of.spec, Window: &task.Window{Begin: w.Begin, End: w.End, Warm: true}}
	if a.replica > 0 {
		out.Shake = &task.Shake{By: t.opt.ShakeBy, Seed: t.opt.Seed*1000 + uint64(a.replica)}
	}
	if a.sequential {
		out.Spec.EventOrder = "sequential"
	}
	return out
}

// run gives the results of what is asked, of which those that are known are not
// computed again.
func (t *tuner) run(asked []ask) ([]*task.Result, error) {
	var fresh []task.Task
	var keys []key
	due := map[key]bool{}
	for _, a := range asked {
		if k := a.key(); t.known[k] == nil && !due[k] {
			due[k] = true
			fresh, keys = append(fresh, t.task(a)), append(keys, k)
		}
	}
	if len(fresh) > 0 {
		results, err := t.opt.Evaluate(t.ctx, fresh)
		if err != nil {
			return nil, err
		}
		for i := range results {
			t.known[keys[i]] = &results[i]
		}
		t.runs += len(fresh)
	}
	out := make([]*task.Result, len(asked))
	for i, a := range asked {
		out[i] = t.known[a.key()]
	}
	return out, nil
}

// on are the runs of a candidate on windows.
func on(c *candidate, windows []int) []ask {
	out := make([]ask, len(windows))
	for k, w := range windows {
		out[k] = ask{of: c, window: w}
	}
	return out
}

// worstOf marks the value of a metric that a constraint looks at: the worst of
// the windows, while an objective is their mean.
const worstOf = " in the worst window"

// goal is what is asked of a point over several windows.
type goal struct {
	search.Goal                     // with constraints on the worst window
	written     []search.Constraint // as people name them
	spare       int                 // windows in which one may be overloaded, see stat.Spare
}

func newGoal(objectives []search.Objective, constraints []search.Constraint) goal {
	g := goal{Goal: search.Goal{Objectives: objectives}, written: constraints}
	for _, c := range constraints {
		c.Metric += worstOf
		g.Constraints = append(g.Constraints, c)
	}
	return g
}

// read turns the results of a point over windows, beside those of what runs now,
// into what a search is told. One that is overloaded has no rank where an objective
// is a wait.
func (g *goal) read(now, results []*task.Result) (metrics map[string]float64, failed bool) {
	metrics = map[string]float64{}
	for _, o := range g.Objectives {
		metrics[o.Metric] = stat.Mean(read(o.Metric).beside(now, results))
		failed = failed || metric.Lengthens(o.Metric) && count(results, overloaded) > g.spare
	}
	for _, c := range g.written {
		metrics[c.Metric+worstOf] = c.Value // kept where nothing is said of it
		if x := worstBeside(now, results, c); !silent(x) {
			metrics[c.Metric+worstOf] = x
		}
	}
	for _, x := range metrics { //detlint:ordered any that is no number will do
		failed = failed || math.IsNaN(x)
	}
	return metrics, failed
}

func overloaded(r *task.Result) bool { return r.Verdict == metric.Overloaded }

// worstBeside is the value of a candidate that is furthest from keeping a constraint,
// on the windows that say something of it: a window in which neither the candidate
// nor what runs now has a value, such as one without a job of the group, does not.
// It is NaN when the candidate alone lacks a value, and infinitely far on the good
// side when no window says anything.
func worstBeside(now, results []*task.Result, c search.Constraint) float64 {
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

// valuesOf are the steady values of a measure; NaN where there is none.
func valuesOf(results []*task.Result, name string) []float64 {
	m := measureOf(name)
	out := make([]float64, len(results))
	for i, r := range results {
		v, ok := r.Of(m, metric.Steady)
		if !ok {
			v = math.NaN()
		}
		out[i] = v
	}
	return out
}

// measureOf is the measure of a name that has been found good, see measured.
func measureOf(name string) metric.Measure {
	m, err := metric.ParseMeasure(name)
	if err != nil {
		return metric.Measure{Metric: name}
	}
	return m
}

// reading is a number that is read from a result: NaN where it has none.
type reading struct {
	name  string
	grows bool // with the length of the log, when a machine is overloaded
	sense stat.Direction
	of    func(*task.Result) float64
}

// read is the steady value of a measure.
func read(name string) reading {
	m := measureOf(name)
	return reading{name, metric.Lengthens(name), better(DirectionOf(name)), func(r *task.Result) float64 {
		if v, ok := r.Of(m, metric.Steady); ok {
			return v
		}
		return math.NaN()
	}}
}

// beside are the values of a candidate, to be compared with those of what runs now
// on the same windows, in which that is not overloaded: see stat.AtLeast.
func (r reading) beside(now, results []*task.Result) []float64 {
	out := r.all(results)
	for i := range out {
		if r.grows && overloaded(results[i]) {
			out[i] = stat.AtLeast(r.of(now[i]), out[i], r.sense)
		}
	}
	return out
}

func (r reading) all(results []*task.Result) []float64 {
	out := make([]float64, len(results))
	for i := range results {
		out[i] = r.of(results[i])
	}
	return out
}

// floorKey names a noise floor.
type floorKey struct{ reading, windows string }

// floor is the noise of a number over windows that the replicas have run.
func (t *tuner) floor(of reading, set string, windows []int) (stat.Floor, error) {
	key := floorKey{of.name, set}
	if f, ok := t.floors[key]; ok {
		return f, nil
	}
	var values [][]float64
	for r := range t.opt.Replicas {
		results, err := t.run(t.shaken(windows, r))
		if err != nil {
			return stat.Floor{}, err
		}
		values = append(values, of.all(results))
	}
	f, err := stat.ReplicaFloor(values, t.opt.Stat.Confidence, t.opt.Stat.Confidence)
	if err != nil {
		return f, err
	}
	if other := t.otherOrder(windows); other != nil {
		both := make([][]float64, 2)
		for i, asked := range [][]ask{on(t.candidates[0], windows), other} {
			results, err := t.run(asked)
			if err != nil {
				return f, err
			}
			both[i] = of.all(results)
		}
		orders, err := stat.VariantFloor(both)
		if err != nil {
			return f, err
		}
		f = stat.Larger(f, orders)
	}
	t.floors[key] = f
	return f, nil
}

// pairs holds a candidate against what runs now, which has so many jittered
// replicas of each window.
func (t *tuner) pairs(c *candidate, of reading, windows []int, replicas int) (stat.Pairs, error) {
	now, err := t.run(on(t.candidates[0], windows))
	if err != nil {
		return stat.Pairs{}, err
	}
	results, err := t.run(on(c, windows))
	if err != nil {
		return stat.Pairs{}, err
	}
	var sides [2][]stat.Observation
	for i, values := range [][]float64{of.all(now), of.beside(now, results)} {
		for k, v := range values {
			sides[i] = append(sides[i], stat.Observation{Window: windows[k], Value: v})
		}
	}
	for r := range replicas {
		results, err := t.run(t.shaken(windows, r))
		if err != nil {
			return stat.Pairs{}, err
		}
		for k, v := range of.all(results) {
			if !of.grows || !overloaded(results[k]) { // it says nothing of the noise
				sides[0] = append(sides[0], stat.Observation{Window: windows[k], Seed: r + 1, Value: v})
			}
		}
	}
	return stat.Pair(sides[0], sides[1])
}

// subject is a number of a candidate on the acceptance windows, to be judged.
func (t *tuner) subject(c *candidate, of reading, better stat.Direction) (stat.Subject, error) {
	s := stat.Subject{Candidate: c.name, Metric: of.name, Better: better}
	var err error
	if _, err = t.floor(of, ForAcceptance, t.acceptance); err != nil {
		return s, err
	}
	s.Pairs, err = t.pairs(c, of, t.acceptance, t.opt.Replicas)
	return s, err
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
	if more, _ := metric.Better(name); more > 0 {
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
	for _, d := range slices.Concat(metric.Definitions(), metric.SiteDefinitions()) {
		if m.By == "" && d.Name == name && !slices.Contains(d.Windows, metric.Steady) {
			return usagef("the metric %s is measured over whole runs only, and a run here is a window: choose another", name)
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
