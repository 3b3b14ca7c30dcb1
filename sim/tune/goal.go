package tune

import (
	"math"
	"slices"

	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/stat"
	"orrery/sim/task"
)

// asBound marks the value of a metric that a bound looks at: how far it is beyond what is to
// hold, on the trace where that is furthest.
const asBound = " beyond its bound"

// goal is what is asked of a candidate on the whole traces.
type goal struct {
	search.Goal                     // with constraints on how far bounds are broken
	written     []search.Constraint // as people name them, with what was asked for
}

func newGoal(objectives []search.Objective, asked []search.Constraint) goal {
	g := goal{Goal: search.Goal{Objectives: objectives}, written: asked}
	for _, c := range asked {
		g.Constraints = append(g.Constraints, search.Constraint{Metric: c.Metric + asBound, Relation: search.AtMost})
	}
	return g
}

// read is what a search is told of a candidate: the objectives and the constraints on the
// whole traces. A candidate that is overloaded where the current policy is not has failed,
// where an objective is a wait.
func (t *tuner) read(c *candidate) (metrics map[string]float64, failed bool) {
	metrics = map[string]float64{}
	failed = t.aboutWaits() && t.piling(c, wholeScope)
	for _, o := range t.goal.Objectives {
		metrics[o.Metric] = t.whole(c, o.Metric, 0)
	}
	for i, k := range t.goal.Constraints {
		metrics[k.Metric] = 0 // kept where nothing is said of it
		if b := t.boundOn(c, i); b.Then.Defined() || !b.Kept {
			metrics[k.Metric] = float64(b.Beyond)
		}
	}
	for _, x := range metrics { //detlint:ordered any that is no number will do
		failed = failed || math.IsNaN(x)
	}
	return metrics, failed
}

// whole is an objective on the whole traces: of several the mean of what it is on each as a
// part of what it is under the current policy.
func (t *tuner) whole(c *candidate, name string, replica int) float64 {
	m := measureOf(name)
	if len(t.problem.Traces) == 1 {
		return wholeValue(t.result(c, wholeScope, 0, replica), m)
	}
	sum := 0.0
	for k := range t.problem.Traces {
		sum += wholeValue(t.result(c, wholeScope, k, replica), m) / wholeValue(t.result(t.base(), wholeScope, k, replica), m)
	}
	return sum / float64(len(t.problem.Traces))
}

// values are those of a candidate in a replica by window, weighed: their mean is that of
// the number.
func (t *tuner) values(c *candidate, s scope, name string, windows []int, replica int) []float64 {
	of := t.reading(name, windows)
	out := make([]float64, len(windows))
	for k, w := range windows {
		out[k] = of.of(t.figures(c, s, w, replica)) * of.factor[k]
	}
	return out
}

// piling says whether the queue of a candidate grows without end where that of the
// current policy does not, on the same part of the traces, in which both were run.
func (t *tuner) piling(c *candidate, s scope) bool {
	for k := range t.problem.Traces {
		if t.overloaded(c, s, k) && !t.overloaded(t.base(), s, k) {
			return true
		}
	}
	return false
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

// reading weighs windows so that their mean is that of their jobs where the number is a
// mean over jobs: by the jobs behind it under the current policy, of which there are next
// to as many under any other. Numbers of other kinds count alike in each window. Of several
// traces the number is told as a part of what it is under the current policy, and each
// trace counts alike.
func (t *tuner) reading(name string, windows []int) reading {
	traces := make([]int, len(windows))
	for i, w := range windows {
		traces[i] = t.windows[w].Trace
	}
	now := t.all(t.base(), wholeScope, windows)
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

// subject is a number of a candidate on the windows, to be judged.
func (t *tuner) subject(c *candidate, name string, better stat.Direction) (stat.Subject, error) {
	s := stat.Subject{Candidate: c.name, Metric: name, Better: better}
	var err error
	s.Pairs, err = t.pairs(c, name, t.counting)
	return s, err
}

// floor is how far the mean of a number over windows moves by jittered arrivals
// alone, under the current policy.
func (t *tuner) floor(name string, windows []int) (stat.Floor, error) {
	values := make([][]float64, t.opt.Replicas)
	for r := range values {
		values[r] = t.values(t.base(), wholeScope, name, windows, r+1)
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
	if metric.SenseOf(name).Better() > 0 {
		return search.Maximise
	}
	return search.Minimise
}

// known refuses a name that is no measure.
func known(name string) error {
	m, err := metric.ParseMeasure(name)
	if err == nil {
		err = m.Validate()
	}
	if err != nil {
		return usagef("%v", err)
	}
	return nil
}

// onWindows refuses a measure that windows do not have, which objectives are compared on.
func onWindows(name string) error {
	for _, d := range metric.AllDefinitions() {
		if d.Name == name && !slices.Contains(d.Windows, metric.Steady) {
			return usagef("the metric %s is measured over whole runs only, and not on windows: choose another, or make it a bound", name)
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
