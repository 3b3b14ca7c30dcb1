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
// means, in which single replays count for less.
func (t *tuner) weigh() error {
	t.stage("one joint test of %d candidates over %d windows", len(t.candidates)-1, len(t.counting))
	t.noted = make([]note, len(t.candidates))
	for i, c := range t.candidates[1:] {
		t.noted[i+1] = t.noteOf(c)
	}
	first, err := t.weighed(0)
	if err != nil {
		return err
	}
	promising := first.Promising(finalists)
	if len(promising) == 0 {
		if i := t.nearest(first); i > 0 { // to say what it would cost
			promising = append(promising, i-1)
		}
	}
	for _, i := range promising {
		c := t.candidates[i+1]
		t.stage("%s: %d replicas with jittered arrivals", c.name, t.opt.Replicas)
		if err := errors.Join(t.wholly(t.base()), t.wholly(c)); err != nil {
			return err
		}
		t.replicated = append(t.replicated, i+1)
	}
	t.evidence, err = t.weighed(0)
	return err
}

// finalists is how many candidates are replayed with jittered arrivals.
const finalists = 3

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

// weighed is the test for an objective.
func (t *tuner) weighed(objective int) (*advice.Evidence, error) {
	o := t.goal.Objectives[objective]
	var list []advice.Candidate
	for i, c := range t.candidates[1:] {
		replicas := []int{0}
		if slices.Contains(t.replicated, i+1) {
			replicas = seeds(0, t.opt.Replicas)
		}
		one := advice.Candidate{Now: t.series(t.base(), o.Metric, replicas), Then: t.series(c, o.Metric, replicas), Out: t.noted[i+1].out != ""}
		switch {
		case one.Out:
		case slices.ContainsFunc(one.Then.Windows, math.IsNaN):
			one.Out, t.noted[i+1].out, t.noted[i+1].beyond = true, "it has no value of "+o.Metric+" in a window", math.Inf(1)
		case slices.ContainsFunc(one.Then.Windows, func(x float64) bool { return x < 0 }):
			return nil, usagef("%s is below 0 in a window under %s, and candidates are compared by ratios: name another objective", o.Metric, c.name)
		}
		list = append(list, one)
	}
	return advice.Weigh(list, t.settings(o))
}

func (t *tuner) settings(o search.Objective) advice.Settings {
	return advice.Settings{Stat: t.opt.Stat, Margin: t.opt.Margin, Maximise: o.Direction == search.Maximise, Power: power}
}

// series is an objective under a candidate: by window the mean over some replicas.
func (t *tuner) series(c *candidate, name string, replicas []int) advice.Series {
	of := t.reading(name, t.counting)
	out := advice.Series{Windows: make([]float64, len(t.counting)), Whole: t.whole(c, name, 0)}
	for k, w := range t.counting {
		for _, r := range replicas {
			out.Windows[k] += of.of(t.figures(c, wholeScope, w, r)) * of.factor[k] / float64(len(replicas))
		}
	}
	return out
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
	var kept []int
	for _, i := range passing {
		k := slices.Index(t.replicated, i)
		if k < 0 {
			continue // the best of them have replicas
		}
		f := &t.out.Finalists[k]
		if f.Replicas.Mean >= metric.Number(t.opt.Margin) {
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
	if len(t.replicated) > 0 { // what came closest
		t.out.at = t.replicated[0]
	}
	t.out.Verdict, t.out.Why = t.keeping(against)
	return nil
}

// passing are the candidates that pass the test, the best first, and why one of them
// is left out all the same.
func (t *tuner) passing() (list []int, against string, err error) {
	var others []*advice.Evidence
	for k := range t.goal.Objectives[1:] {
		e, err := t.weighed(k + 1)
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
func (t *tuner) nearest(e *advice.Evidence) int {
	best := 0
	for i := 1; i < len(t.candidates); i++ {
		if n := &t.noted[i]; n.out != "" && e.Findings[i-1].Gain >= t.opt.Margin && (best == 0 || n.beyond < t.noted[best].beyond) {
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
	if k := t.nearest(t.evidence); k > 0 {
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
