package gate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	gonum "gonum.org/v1/gonum/stat"

	"orrery/profiles"
	"orrery/sim/metric"
	"orrery/sim/stat"
	"orrery/sim/task"
)

// side is what a paired check knows of one window of one replay of one side.
type side struct {
	key pairKey
	run stat.Run
}

// pairKey says which jobs a run met, and in which place: runs that share it are a
// pair.
type pairKey struct {
	jobs   string
	window int
	seed   uint64
}

// sidesOf are the replays of both sides that a paired check is about; nothing of the
// other side when it was not stored. Where the gate chose seeds they are the replicas.
func (e *Evidence) sidesOf(c *profiles.GatePaired, base *Baseline) (other, candidate []met, err error) {
	name := nameOf(&c.Of)
	of := func(run string) ([]met, error) {
		list := e.replicas(run)
		if len(list) == 0 {
			list = e.of(run)
		}
		var out []met
		for _, x := range list {
			if err := x.wrong[name]; err != nil {
				return nil, err
			}
			out = append(out, met{x.Jobs + " " + x.Parts, x.Window, x.Seed, x.Fingerprint, x.Verdict, x.windows[name]})
		}
		return out, nil
	}
	if candidate, err = of(c.Run); err != nil {
		return nil, nil, err
	}
	if c.Against != "baseline" {
		other, err = of(c.Against)
		return other, candidate, err
	}
	return storedMet(base.find(c.Run), name, e.choosesSeeds(c.Run)), candidate, nil
}

// met is a replay as a paired check has it.
type met struct {
	jobs     string
	window   int // the first
	seed     uint64
	schedule string
	queue    string
	values   []float64 // by window
}

// storedMet is what the baseline has of a run.
func storedMet(b *BaselineRun, name string, replicas bool) (out []met) {
	if b == nil {
		return nil
	}
	for i := range b.Replays {
		r := &b.Replays[i]
		if values, there := r.Values[name]; there && r.Replica == replicas {
			x := met{r.Jobs + " " + r.Parts, r.Window, r.Seed, r.Fingerprint, r.Queue, nil}
			for _, v := range values {
				x.values = append(x.values, orNaN(v))
			}
			out = append(out, x)
		}
	}
	return out
}

// choosesSeeds says whether the gate chooses the seeds of a run.
func (e *Evidence) choosesSeeds(run string) bool {
	i := slices.IndexFunc(e.gate.Runs, func(r profiles.GateRun) bool { return r.Name == run })
	return i >= 0 && e.chosen[i]
}

// onOneTrace says whether all replays of both sides are of the same jobs, so that
// seeds are replicas. Streams of jobs have other jobs for each seed.
func (e *Evidence) onOneTrace(c *profiles.GatePaired) bool {
	for i := range e.gate.Runs {
		if r := &e.gate.Runs[i]; (r.Name == c.Run || r.Name == c.Against) && r.Trace == "" {
			return false
		}
	}
	return true
}

// RuleOf is how a paired check of a gate decides on replicas of one trace.
func RuleOf(g *profiles.Gate, c *profiles.GatePaired) (Rule, error) {
	return ruleOf(g, c, leastReplicas)
}

func ruleOf(g *profiles.Gate, c *profiles.GatePaired, replicas int) (Rule, error) {
	better, err := direction(c)
	r := Rule{
		Better: better, Margin: marginOf(c), Confidence: g.Confidence, Queues: metric.Lengthens(c.Of.Metric), Most: int(g.Replicas),
	}
	if c.Detect != nil {
		r.Detect = bare.of(*c.Detect)
	}
	if c.Reading == "fixed" || c.Reading == "usual" && replicas > 1 {
		r.Reading = stat.FixedWindows
	}
	return r, err
}

func marginOf(c *profiles.GatePaired) stat.Margin {
	return stat.Margin{Relative: bare.of(c.Part()), Absolute: scaleOf(&c.Of).of(c.OnTop())}
}

// replicasOf are replays as a Rule has them, those that met what the other side met;
// lone counts the rest.
func replicasOf(list, partners []met) (out []Replica, lone int) {
	for i := range list {
		x := &list[i]
		if !slices.ContainsFunc(partners, func(y met) bool { return x.jobs == y.jobs && x.seed == y.seed }) {
			lone++
			continue
		}
		out = append(out, Replica{int(x.seed), x.schedule, x.queue == string(metric.Overloaded), x.values})
	}
	return out, lone
}

// wanted is how many replicas of the runs of a paired check are to be made. A run
// that is held against the baseline has the seeds that were stored, unless the first
// of them show that it schedules as it did.
func (e *Evidence) wanted(c *profiles.GatePaired, base *Baseline) int {
	if c.Against != "baseline" && !(e.choosesSeeds(c.Run) && e.choosesSeeds(c.Against)) {
		return 0
	}
	rule, err := ruleOf(e.gate, c, 2)
	if err != nil {
		return 0
	}
	if len(e.replicas(c.Run)) == 0 {
		return rule.Wanted(nil, nil)
	}
	before, now, err := e.sidesOf(c, base)
	if err != nil {
		return 0
	}
	candidate, _ := replicasOf(now, now)
	if c.Against != "baseline" {
		other, _ := replicasOf(before, before)
		return rule.Wanted(other, candidate)
	}
	stored, _ := replicasOf(before, before)
	switch {
	case len(stored) == 0:
		wanted, _, err := rule.Sight(candidate)
		if err != nil {
			return 0
		}
		return wanted
	case alike(stored, candidate):
		return len(candidate)
	}
	if same, _ := replicasOf(now, before); len(same) == 0 { // it met other jobs: nothing can be said
		return len(candidate)
	}
	return len(stored)
}

// paired checks that a run is not worse than the other side by more than a
// margin, over windows.
func (e *Evidence) paired(c *profiles.GatePaired, base *Baseline, f Finding) (Finding, error) {
	f.name(c.Name, c.Run, label(&c.Of)+" against "+c.Against)
	f.Metric, f.Want = nameOf(&c.Of), "not worse"
	other, candidate, err := e.sidesOf(c, base)
	if err != nil {
		return f, err
	}
	if c.Against == "baseline" {
		before := base.find(c.Run)
		if before == nil {
			return f.noBaseline("run " + c.Run), nil
		}
		f.Baseline = &before.Provenance
	}
	if e.onOneTrace(c) {
		return f.replicated(e, c, other, candidate)
	}
	return f.windowed(e, c, other, candidate)
}

// replicated decides on replays of one trace.
func (f Finding) replicated(e *Evidence, c *profiles.GatePaired, before, now []met) (Finding, error) {
	other, lone := replicasOf(before, now)
	candidate, more := replicasOf(now, before)
	rule, err := ruleOf(e.gate, c, len(candidate))
	if err != nil {
		return f, err
	}
	found, err := rule.Judge(other, candidate)
	if err != nil {
		return f, err
	}
	if found.Windows == 0 {
		f.Verdict, f.Found = Undecided, "no pair of windows"
		f.Why = fmt.Sprintf("%d replays met jobs that the other side did not, %d windows have no value", lone+more, found.LeftOut) + e.reserves(c.Run)
		return f, nil
	}
	f.bounds(c, &found.NonInferiority)
	f.Why = fmt.Sprintf("%s (%d windows, %d seeds, %s, mean %s, other side %s)",
		found.Reason, found.Windows, found.Replicas, rule.Better, scaleOf(&c.Of).say(found.Candidate), scaleOf(&c.Of).say(found.NonInferiority.Baseline))
	if found.Replicas > 1 {
		f.Replicas = found.Replicas
	}
	if found.Alike {
		f.Why += "; scheduled alike on both sides"
	}
	f.detectable(found.Detectable)
	f.Why += e.reserves(c.Run)
	if few := e.of(c.Run); found.LeftOut > 0 && len(few) > 0 && few[0].fewJobs() == 0 {
		f.Why += fmt.Sprintf("; %d values without a partner are left out", found.LeftOut)
	}
	return f, nil
}

// reserves says what of the windows of a run is to be read beside a finding, if
// anything.
func (e *Evidence) reserves(run string) (out string) {
	list := e.of(run)
	if len(list) == 0 {
		return ""
	}
	if n := list[0].fewJobs(); n > 0 {
		out = fmt.Sprintf("; %d of %d windows have fewer than %d jobs", n, len(list[0].small), task.LeastJobs)
	}
	if idle := list[0].idle; idle > 0 {
		out += fmt.Sprintf("; the trace begins on an idle cluster %s before the first window: its waits may come out too short", idle)
	}
	return out
}

// fewJobs counts the windows with too few of them.
func (d *division) fewJobs() (n int) {
	for _, small := range d.small {
		if small {
			n++
		}
	}
	return n
}

// detectable says how small a regression the check finds.
func (f *Finding) detectable(part float64) {
	if !stat.Finite(part) {
		return
	}
	f.Numbers = append(f.Numbers, Quantity{Name: "detectable", Unit: "1", Value: &part})
	f.Why += fmt.Sprintf("; a regression of %.1f %% is found in 8 of 10 cases", 100*part)
}

// bounds enters what was found of the gain.
func (f *Finding) bounds(c *profiles.GatePaired, n *stat.NonInferiority) {
	f.Verdict = cmp.Or(map[stat.Bound]Verdict{stat.Holds: Holds, stat.Violated: Regression}[n.Outcome], Undecided)
	u, least := scaleOf(&c.Of), -n.Margin
	f.Want = "worse by at most " + u.say(n.Margin)
	f.Found = fmt.Sprintf("gain %s, at least %s, at most %s", u.say(n.Gain), u.say(n.AtLeast), u.say(n.AtMost))
	f.Numbers = []Quantity{{Name: "gain", Unit: u.unit, Value: finite(n.Gain), Low: finite(n.AtLeast), High: finite(n.AtMost), AtLeast: &least}}
}

// windowed decides on windows that stand for others: streams of jobs, whose seeds
// make other jobs.
func (f Finding) windowed(e *Evidence, c *profiles.GatePaired, before, now []met) (Finding, error) {
	better, err := direction(c)
	if err != nil {
		return f, err
	}
	pairs, load, lone, err := match(windowsOfMet(before), windowsOfMet(now), better, metric.Lengthens(c.Of.Metric))
	if err != nil {
		return f, err
	}
	pairs.Continuous = true
	switch {
	case load.Unranked():
		f.Verdict, f.Found = Regression, "OVERLOADED"
		f.Why = fmt.Sprintf("%s: the queue grows without end in them, and does not on the other side", load)
		return f, nil
	case len(pairs.Window) == 0 && load.Aside > 0:
		f.Verdict, f.Found = Undecided, "OVERLOADED on the other side"
		f.Why = fmt.Sprintf("%d of %d windows are set aside: waits say nothing of a queue that grows without end, unless both sides schedule alike", load.Aside, load.Aside)
		return f, nil
	case len(pairs.Window) == 0:
		f.Verdict, f.Found = Undecided, "no pair of windows"
		f.Why = fmt.Sprintf("%d runs met jobs that the other side did not, %d pairs are undefined", lone+pairs.Unmatched, pairs.Undefined)
		return f, nil
	}
	s := stat.Defaults()
	s.Confidence = e.gate.Confidence
	n, err := stat.NotWorse(pairs, better, marginOf(c), stat.RandomWindows, s)
	if err != nil {
		return f, err
	}
	f.bounds(c, &n)
	u := scaleOf(&c.Of)
	f.Why = fmt.Sprintf("%s (%d windows, %s, mean %s, other side %s)",
		n.Reason, n.Windows, better, u.say(gonum.Mean(pairs.Candidate, nil)), u.say(gonum.Mean(pairs.Baseline, nil)))
	if plan, err := stat.PlanOf(pairs, stat.RandomWindows, s); err == nil && n.Windows >= s.MinWindows && load.Alike < n.Windows {
		f.detectable(plan.Detectable(n.Margin/n.Baseline, statedPower))
	}
	if out := lone + pairs.Unmatched + pairs.Undefined; out > 0 {
		f.Why += fmt.Sprintf("; %d runs without a partner or a value are left out", out)
	}
	f.loaded(load)
	return f, nil
}

// finite is a number that JSON has a word for, nil of others: a bound that is not
// there.
func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

// loaded says what became of overloaded windows.
func (f *Finding) loaded(o stat.Overload) {
	if o.Alike > 0 {
		f.Why += fmt.Sprintf("; scheduled alike on both sides: %d windows", o.Alike)
	}
	if o.Aside > 0 {
		f.Why += fmt.Sprintf("; set aside, OVERLOADED on the other side: %d windows", o.Aside)
	}
	if o.Over > 0 {
		f.Why += fmt.Sprintf("; %s: no gain there", o)
	}
}

// direction is which way a metric is better.
func direction(c *profiles.GatePaired) (stat.Direction, error) {
	more, known := senseOf(c.Of.Metric)
	switch {
	case c.Better == "higher", c.Better == "usual" && known && more:
		return stat.Higher, nil
	case c.Better == "lower", known:
		return stat.Lower, nil
	}
	return stat.Lower, fmt.Errorf("it is not known which way %s is better: add better: lower or higher", c.Of.Metric)
}

// windowsOfMet are the windows of replays.
func windowsOfMet(list []met) []side {
	var out []side
	for i := range list {
		for w, v := range list[i].values {
			x, at := &list[i], list[i].window+w
			out = append(out, side{pairKey{x.jobs, at, x.seed}, stat.Run{
				Observation: stat.Observation{Window: at, Seed: int(x.seed), Value: v}, Overloaded: x.queue == string(metric.Overloaded), Schedule: x.schedule,
			}})
		}
	}
	return out
}

// side is a run of the gate by one number of each of its own replays.
func (e *Evidence) side(run string, m *profiles.Measure) ([]side, error) {
	var out []side
	for _, x := range e.of(run) {
		n, err := x.numberOf(m)
		if err != nil {
			return nil, err
		}
		out = append(out, windowsOfMet([]met{{x.Jobs, x.Window, x.Seed, x.Fingerprint, x.Verdict, []float64{orNaN(n.v)}}})...)
	}
	return out, nil
}

// storedSide is what the baseline has of it.
func storedSide(b *BaselineRun, name string) []side {
	var out []side
	for i := range b.Replays {
		if r := &b.Replays[i]; !r.Replica {
			out = append(out, windowsOfMet([]met{{r.Jobs, r.Window, r.Seed, r.Fingerprint, r.Queue, []float64{orNaN(r.Metrics[name])}}})...)
		}
	}
	return out
}

// match pairs the runs of two sides that met the same jobs. lone counts those of
// which the other side has none. Of numbers that say nothing of a queue without
// end, those of overloaded runs are held apart.
func match(other, candidate []side, better stat.Direction, grows bool) (pairs stat.Pairs, load stat.Overload, lone int, err error) {
	keys := func(list []side) map[pairKey]bool {
		out := make(map[pairKey]bool, len(list))
		for i := range list {
			out[list[i].key] = true
		}
		return out
	}
	pick := func(from, partners []side) (out []stat.Run) {
		have := keys(partners)
		for _, s := range from {
			if !grows {
				s.run.Overloaded = false
			}
			if have[s.key] {
				out = append(out, s.run)
			} else {
				lone++
			}
		}
		return out
	}
	pairs, load, err = stat.PairRuns(pick(other, candidate), pick(candidate, other), better)
	return pairs, load, lone, err
}
