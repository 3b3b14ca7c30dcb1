package tune

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"orrery/scheduler/model"
	"orrery/sim/advice"
	"orrery/sim/losers"
	"orrery/sim/metric"
	"orrery/sim/search"
)

// note is what the whole traces say of a candidate beside its gain.
type note struct {
	out    string  // why it is none to recommend, whatever it gains
	beyond float64 // how far it is beyond the worst bound that it breaks, +Inf for what is no bound
	worst  losers.Loser
	harmed bool // worst is set
}

// power is the probability with which a gain is to be found of which is said that it would
// have been.
const power = 0.8

// weigh holds all candidates against the current policy, by one joint test of those that
// keep their bounds: nothing of the traces is set aside, and all that was tried counts. The
// most promising are replayed with jittered arrivals, and the test is repeated with their
// means, in which single replays count for less (advice.WeighInRounds).
func (t *tuner) weigh() error {
	t.stage("one joint test of %d candidates over %d windows", len(t.candidates)-1, len(t.counting))
	t.noted = make([]note, len(t.candidates))
	for i, c := range t.candidates[1:] {
		t.noted[i+1] = t.noteOf(c)
	}
	o := t.goal.Objectives[0]
	list, err := t.sides(o)
	if err != nil {
		return err
	}
	e, finalists, err := advice.WeighInRounds(list, t.opt.Replicas, t.settings(o), func(i, replicas int) (advice.Candidate, error) {
		c := t.candidates[i+1]
		t.stage("%s with jittered arrivals (%d)", c.name, replicas)
		err := errors.Join(t.wholly(t.base(), replicas), t.wholly(c, replicas))
		if err != nil {
			return advice.Candidate{}, err
		}
		return t.side(i+1, o.Metric, replicas), nil
	})
	if err != nil {
		return err
	}
	t.evidence = e
	for _, i := range finalists {
		t.replicated = append(t.replicated, i+1)
	}
	return t.besides()
}

// besides has replicas of one more candidate where none passes, which the report is to tell of:
// the one with the largest gain that would be worth a change, or else the one that breaks a
// bound by least.
func (t *tuner) besides() error {
	if len(t.evidence.Passing()) > 0 {
		return nil
	}
	more := 0
	if list := t.evidence.Ranked(func(i int) bool { return t.noted[i+1].out == "" && t.evidence.Findings[i].Gain >= t.opt.Margin }); len(list) > 0 {
		more = list[0] + 1
	} else if len(t.replicated) == 0 {
		more = t.nearest()
	}
	if more == 0 || slices.Contains(t.replicated, more) {
		return nil
	}
	t.replicated = append(t.replicated, more)
	return errors.Join(t.wholly(t.base(), t.opt.Replicas), t.wholly(t.candidates[more], t.opt.Replicas))
}

// noteOf is what stands against a candidate.
func (t *tuner) noteOf(c *candidate) (n note) {
	n.out, n.beyond = t.brokenBy(c)
	n.worst, n.harmed = t.worstLoser(c)
	if limit := t.opt.NoGroupWorse; limit > 0 && n.harmed && losers.Growth(n.worst) > limit {
		if n.out != "" {
			n.out += "; "
		}
		n.out += fmt.Sprintf("jobs of %s %s wait %s longer, and no group may wait more than %s longer", n.worst.By, n.worst.Name, portion(metric.Number(losers.Growth(n.worst))), portion(metric.Number(limit)))
		n.beyond = max(n.beyond, losers.Growth(n.worst)-limit)
	}
	return n
}

// sides are all candidates beside the current policy in an objective, over the traces as they
// are.
func (t *tuner) sides(o search.Objective) ([]advice.Candidate, error) {
	var out []advice.Candidate
	for i, c := range t.candidates[1:] {
		one := t.side(i+1, o.Metric, 0)
		switch {
		case one.Out:
		case slices.ContainsFunc(one.Then.Windows, math.IsNaN):
			one.Out, t.noted[i+1].out, t.noted[i+1].beyond = true, "it has no value of "+o.Metric+" in a window", math.Inf(1)
		case slices.ContainsFunc(one.Then.Windows, func(x float64) bool { return x < 0 }):
			return nil, usagef("%s is below 0 in a window under %s, and candidates are compared by ratios: name another objective", o.Metric, c.name)
		}
		out = append(out, one)
	}
	return out, nil
}

// side is a candidate, by its place, beside the current policy: over the traces as they are and
// so many replicas.
func (t *tuner) side(i int, name string, replicas int) advice.Candidate {
	return advice.Candidate{Now: t.series(t.base(), name, replicas), Then: t.series(t.candidates[i], name, replicas), Out: t.noted[i].out != ""}
}

func (t *tuner) settings(o search.Objective) advice.Settings {
	return advice.Settings{Stat: t.opt.Stat, Margin: t.opt.Margin, Maximise: o.Direction == search.Maximise, Power: power}
}

// series is an objective under a candidate, over the traces as they are and so many replicas.
func (t *tuner) series(c *candidate, name string, replicas int) advice.Series {
	of := t.reading(name, t.counting)
	var list []advice.Series
	for r := range replicas + 1 {
		one := advice.Series{Windows: make([]float64, len(t.counting)), Whole: t.whole(c, name, r)}
		for k, w := range t.counting {
			one.Windows[k] = of.of(t.figures(c, wholeScope, w, r)) * of.factor[k]
		}
		list = append(list, one)
	}
	return advice.Over(list...)
}

// finding is what the test says of a candidate by its place.
func (t *tuner) finding(i int) *advice.Finding { return &t.evidence.Findings[i-1] }

// decide takes the best candidate of those that are better beyond chance and by the margin,
// worse in no other objective, better on each trace, and better by the margin when arrivals
// are jittered.
func (t *tuner) decide() error {
	for _, i := range t.replicated {
		f := t.finalist(i)
		f.Out = t.noted[i].out
		t.out.Finalists = append(t.out.Finalists, *f)
	}
	passing, against, err := t.passing()
	if err != nil {
		return err
	}
	set := t.settings(t.goal.Objectives[0])
	var kept []int
	for _, i := range passing {
		k := slices.Index(t.replicated, i)
		if k < 0 {
			continue // the best of them have replicas
		}
		f := &t.out.Finalists[k]
		if set.Holds(t.replication(i)) {
			kept = append(kept, i)
			continue
		}
		f.Out = fmt.Sprintf("over %d replicas with jittered arrivals it gains %s on average", f.Replicas.Count, percent(f.Replicas.Mean))
		against = f.Name + " passes the test, and " + f.Out
	}
	if len(kept) > 0 {
		t.out.at = kept[0]
		t.out.Verdict, t.out.Why = Change, t.reason(kept[0])
		for _, i := range kept[1:] {
			if t.alike(kept[0], i) {
				t.out.Equal = append(t.out.Equal, t.candidates[i].name)
			}
		}
		return nil
	}
	t.out.at = t.closest()
	t.out.Verdict, t.out.Why = t.keeping(against)
	return nil
}

// closest is what the report tells of where nothing is recommended: of the candidates with
// replicas the one that gains with the smallest p, before all of those whose gain would be worth
// a change; 0 for none.
func (t *tuner) closest() (best int) {
	worth := func(i int) bool { return t.finding(i).Gain >= t.opt.Margin }
	for _, i := range t.replicated {
		if !(t.finding(i).Gain > 0) {
			continue
		}
		if best == 0 || worth(i) && !worth(best) || worth(i) == worth(best) && t.finding(i).P < t.finding(best).P {
			best = i
		}
	}
	return best
}

// passing are the candidates that pass the test, the best first, and why one of them
// is left out all the same.
func (t *tuner) passing() (list []int, against string, err error) {
	var others []*advice.Evidence
	for k := range t.goal.Objectives[1:] {
		o := t.goal.Objectives[k+1]
		list, err := t.sides(o)
		if err != nil {
			return nil, "", err
		}
		for _, i := range t.replicated {
			list[i-1] = t.side(i, o.Metric, t.opt.Replicas)
		}
		e, err := advice.Weigh(list, t.settings(o))
		if err != nil {
			return nil, "", err
		}
		others = append(others, e)
	}
	for _, i := range t.evidence.Passing() {
		c := t.candidates[i+1]
		worse := slices.IndexFunc(others, func(e *advice.Evidence) bool { return e.Findings[i].Worse })
		switch {
		case worse >= 0:
			against = fmt.Sprintf("%s is better, and worse in %s", c.name, t.goal.Objectives[worse+1].Metric)
		case !t.gains(c):
			against = c.name + " is better over all traces, and gains nothing on one of them"
		default:
			list = append(list, i+1)
		}
	}
	return list, against, nil
}

// gains says whether a candidate is better in the first objective on each whole trace.
func (t *tuner) gains(c *candidate) bool {
	o := t.goal.Objectives[0]
	m := measureOf(o.Metric)
	for k := range t.problem.Traces {
		now, then := wholeValue(t.result(t.base(), wholeScope, k, 0), m), wholeValue(t.result(c, wholeScope, k, 0), m)
		if !(better(o.Direction).Gain(then-now) > 0) {
			return false
		}
	}
	return true
}

// replication is the gain of a candidate over the replicas.
func (t *tuner) replication(i int) advice.Replication {
	o := t.goal.Objectives[0]
	set := t.settings(o)
	return set.Replicate(t.overReplicas(t.base(), o.Metric), t.overReplicas(t.candidates[i], o.Metric))
}

// overReplicas are an objective on the whole traces by replica.
func (t *tuner) overReplicas(c *candidate, name string) []float64 {
	out := make([]float64, t.opt.Replicas)
	for r := range out {
		out[r] = t.whole(c, name, r+1)
	}
	return out
}

// alike says that jittered arrivals do not tell which of two candidates is better.
func (t *tuner) alike(i, j int) bool {
	o := t.goal.Objectives[0]
	set := t.settings(o)
	r := set.Replicate(t.overReplicas(t.candidates[i], o.Metric), t.overReplicas(t.candidates[j], o.Metric))
	return r.Low <= 0 && r.High >= 0
}

// placeOf is the place of a candidate by its name.
func (t *tuner) placeOf(name string) int {
	return slices.IndexFunc(t.candidates, func(c *candidate) bool { return c.name == name })
}

// nearest is the candidate that comes nearest to keeping its bounds, of those that break
// one and whose gain would be worth a change; 0 for none.
func (t *tuner) nearest() int {
	best := 0
	for i := 1; i < len(t.candidates); i++ {
		if n := &t.noted[i]; n.out != "" && t.finding(i).Gain >= t.opt.Margin && (best == 0 || n.beyond < t.noted[best].beyond) {
			best = i
		}
	}
	return best
}

// keeping says why the current policy is kept, and whether for lack of evidence.
func (t *tuner) keeping(against string) (verdict, why string) {
	margin := portion(metric.Number(t.opt.Margin))
	i := t.out.at
	switch {
	case against != "":
		verdict, why = Unsure, against
	case i > 0 && t.noted[i].out == "" && t.finding(i).Gain >= t.opt.Margin:
		verdict, why = Unsure, t.unproved(i)
	case t.evidence.Tested == 0:
		verdict, why = Keep, "no candidate keeps its bounds"
	default:
		verdict, why = Keep, "no candidate that keeps its bounds gains "+margin+" or more"
		if i > 0 && t.finding(i).Better {
			why += fmt.Sprintf("; %s is better by %s, beyond chance", t.candidates[i].name, portion(metric.Number(t.finding(i).Gain)))
		}
	}
	n := 0
	for k := 1; k < len(t.candidates); k++ {
		if t.noted[k].out != "" && t.finding(k).Gain >= t.opt.Margin {
			n++
		}
	}
	if k := t.nearest(); k > 0 {
		why += fmt.Sprintf(". Of %d that gain as much and break a bound, %s comes nearest (%s %s): %s", n, t.candidates[k].name, t.goal.Objectives[0].Metric, t.change(k), t.noted[k].out)
	}
	return verdict, why
}

// change is how the first objective changes on the whole traces, with its sign.
func (t *tuner) change(i int) string {
	gain := t.finding(i).Gain
	if t.goal.Objectives[0].Direction == search.Minimise {
		gain = -gain
	}
	return percent(metric.Number(gain))
}

// unproved says what the test lacks to recommend a candidate.
func (t *tuner) unproved(i int) string {
	f := t.finding(i)
	text := fmt.Sprintf("on this log %s gains %s, and chance may do as much (p %s, corrected for %d candidates)", t.candidates[i].name, portion(metric.Number(f.Gain)), chance(metric.Number(f.P)), t.evidence.Tested)
	if f.P <= 1-t.opt.Stat.Confidence {
		text = fmt.Sprintf("on this log %s gains %s, and its two statistics contradict each other: windows alike %s, sums %s",
			t.candidates[i].name, portion(metric.Number(f.Gain)), percent(ratio(f.Windows.Estimate)), percent(ratio(f.Sums.Estimate)))
	}
	return text
}

// reason says why a candidate is recommended.
func (t *tuner) reason(i int) string {
	f := t.finding(i)
	text := fmt.Sprintf("it is better on the whole log than chance allows (p %s, corrected for %d candidates)", chance(metric.Number(f.P)), t.evidence.Tested)
	if len(t.out.Bounds) > 0 {
		text += ", and keeps its bounds"
	}
	return text
}

// chances fills in what the test could have found, and how much more log would settle the
// gain that was seen.
func (t *tuner) chances() {
	r := &t.out
	r.Tested, r.Dependence = t.evidence.Tested, metric.Number(t.evidence.Dependence)
	r.DetectableGain, r.WeeksNeeded = metric.Undefined, metric.Undefined
	i := r.at
	if i == 0 || t.noted[i].out != "" {
		list := t.evidence.Ranked(func(k int) bool { return t.noted[k+1].out == "" })
		if len(list) == 0 {
			return
		}
		i = list[0] + 1
	}
	if t.finding(i).Gain == 0 { // no candidate that may be recommended does anything
		return
	}
	r.DetectableGain = metric.Number(t.evidence.Detectable(i - 1))
	if n := t.evidence.WindowsFor(i - 1); !math.IsInf(n, 1) && t.finding(i).Gain > 0 && !t.finding(i).Better {
		length := 0.0
		for _, w := range t.counting {
			length += float64(t.windows[w].End.Sub(t.windows[w].Begin)) / float64(len(t.counting))
		}
		r.WeeksNeeded = metric.Number(n * length / float64(7*model.Day))
	}
}

// refuse ends with too little to say anything.
func (t *tuner) refuse(why string) {
	t.stop = true
	t.out.Verdict, t.out.Why = Unsure, why
}

// chosen is what is recommended, nil when nothing is.
func (t *tuner) chosen() *candidate {
	if t.out.Verdict != Change {
		return nil
	}
	return t.candidates[t.out.at]
}

// about is the candidate that the report tells of: what is recommended, or what came
// closest; nil for none.
func (t *tuner) about() *candidate {
	if t.out.at == 0 {
		return nil
	}
	return t.candidates[t.out.at]
}
