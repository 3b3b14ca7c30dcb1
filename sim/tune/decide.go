package tune

import (
	"fmt"
	"math"
	"slices"

	"orrery/scheduler/model"
	"orrery/sim/advice"
	"orrery/sim/metric"
	"orrery/sim/search"
)

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
	others, err := t.inOthers()
	if err != nil {
		return err
	}
	var kept []int
	refused := refusal{}
	for _, k := range t.evidence.Passing() {
		i := k + 1
		if !slices.Contains(t.replicated, i) {
			if len(kept) > 0 { // the best of them have replicas
				continue
			}
			if err := t.replicate(i); err != nil {
				return err
			}
			t.out.Finalists = append(t.out.Finalists, *t.finalist(i))
		}
		why := t.against(i, others)
		if why.verdict == "" {
			kept = append(kept, i)
			continue
		}
		if refused.verdict == "" {
			refused = refusal{why.verdict, t.candidates[i].name + " passes the test, and " + why.text}
		}
		t.out.Finalists[slices.Index(t.replicated, i)].Out = why.text
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
	t.out.Verdict, t.out.Why = t.keeping(refused)
	return nil
}

// refusal is why a candidate that passes the test is not recommended, and what that makes of
// the verdict; without one nothing stands against it.
type refusal struct{ verdict, text string }

// replicate replays a candidate with jittered arrivals, and the current policy beside it.
func (t *tuner) replicate(i int) error {
	t.replicated = append(t.replicated, i)
	return t.wholly(t.opt.Replicas, t.base(), t.candidates[i])
}

// inOthers is the test of the other objectives.
func (t *tuner) inOthers() (out []*advice.Evidence, err error) {
	for _, o := range t.goal.Objectives[1:] {
		list, err := t.sides(o)
		if err != nil {
			return nil, err
		}
		for _, i := range t.replicated {
			list[i-1] = t.side(i, o.Metric, t.opt.Replicas)
		}
		e, err := advice.Weigh(list, t.settings(o))
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// against is what stands against a candidate that passes the test and has replicas. In another
// objective it may be worse neither beyond chance nor by the margin.
func (t *tuner) against(i int, others []*advice.Evidence) refusal {
	for k, e := range others {
		o := t.goal.Objectives[k+1]
		set, name := t.settings(o), o.Metric
		loss := -set.Gain(t.whole(t.base(), name, 0), t.whole(t.candidates[i], name, 0))
		if now, then := t.whole(t.base(), name, 0), t.whole(t.candidates[i], name, 0); now == 0 && set.Worse(now, then) {
			return refusal{Keep, fmt.Sprintf("%s was 0 and is %s", name, said(metric.Number(then), name))}
		}
		if e.Findings[i-1].Worse || loss > 0 && loss >= t.opt.Margin {
			return refusal{Keep, fmt.Sprintf("%s is worse by %s", name, portion(metric.Number(loss)))}
		}
	}
	if trace := t.withoutGain(t.candidates[i]); trace != "" {
		return refusal{Keep, "it gains nothing on " + trace}
	}
	set := t.settings(t.goal.Objectives[0])
	if r := t.replication(i); !set.Holds(r) {
		return refusal{Unsure, fmt.Sprintf("over %d replicas with jittered arrivals it gains %s on average", r.Replicas, percent(metric.Number(r.Mean)))}
	}
	return refusal{}
}

// withoutGain names a trace on which a candidate is not better in the first objective; "" for
// none.
func (t *tuner) withoutGain(c *candidate) string {
	o := t.goal.Objectives[0]
	m := measureOf(o.Metric)
	for k := range t.problem.Traces {
		now, then := wholeValue(t.result(t.base(), wholeScope, k, 0), m), wholeValue(t.result(c, wholeScope, k, 0), m)
		if !(better(o.Direction).Gain(then-now) > 0) {
			return t.problem.Traces[k].Set.Name
		}
	}
	return ""
}

// worth says whether the gain of a candidate would be worth a change.
func (t *tuner) worth(i int) bool { return t.finding(i).Gain > 0 && t.finding(i).Gain >= t.opt.Margin }

// closest is what the report tells of where nothing is recommended: of the candidates with
// replicas the one that gains with the smallest p, before all of those whose gain would be worth
// a change; 0 for none.
func (t *tuner) closest() (best int) {
	for _, i := range t.replicated {
		if !(t.finding(i).Gain > 0) {
			continue
		}
		if best == 0 || t.worth(i) && !t.worth(best) || t.worth(i) == t.worth(best) && t.finding(i).P < t.finding(best).P {
			best = i
		}
	}
	return best
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

// nearest is the candidate that comes nearest to keeping its bounds, of those that break
// one and whose gain would be worth a change; 0 for none.
func (t *tuner) nearest() int {
	best := 0
	for i := 1; i < len(t.candidates); i++ {
		if n := &t.noted[i]; n.out != "" && t.worth(i) && (best == 0 || n.beyond < t.noted[best].beyond) {
			best = i
		}
	}
	return best
}

// keeping says why the current policy is kept, and whether for lack of evidence.
func (t *tuner) keeping(refused refusal) (verdict, why string) {
	i := t.out.at
	one, all := "no candidate", len(t.out.NotReplayed) == 0
	if !all {
		one = fmt.Sprintf("none of the %d candidates that the budget pays for", len(t.candidates)-1)
	}
	switch {
	case refused.verdict != "":
		verdict, why = refused.verdict, refused.text
	case i > 0 && t.noted[i].out == "" && t.worth(i):
		verdict, why = Unsure, t.unproved(i)
	case len(t.candidates) == 1:
		verdict, why = Unsure, "the budget pays for no candidate"
	case t.evidence.Tested == 0:
		verdict, why = Keep, one+" stays within its bounds"
	default:
		verdict, why = Keep, one+" that stays within its bounds gains "+portion(metric.Number(t.opt.Margin))+" or more"
		if i > 0 && t.finding(i).Better {
			why += fmt.Sprintf("; %s is better by %s, beyond chance", t.candidates[i].name, portion(metric.Number(t.finding(i).Gain)))
		}
	}
	if !all {
		verdict = Unsure
	}
	n := 0
	for k := 1; k < len(t.candidates); k++ {
		if t.noted[k].out != "" && t.worth(k) {
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
		text += ", and stays within its bounds"
	}
	return text
}

// chances fills in what the test could have found, and how much more log would settle the
// gain that was seen.
func (t *tuner) chances() {
	r := &t.out
	r.DetectableGain, r.WeeksNeeded, r.Dependence = metric.Undefined, metric.Undefined, metric.Undefined
	if t.evidence == nil { // it ended before anything was compared
		return
	}
	r.Tested, r.Dependence = t.evidence.Tested, metric.Number(t.evidence.Dependence)
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
func (t *tuner) refuse(why string) { t.end(Unsure, why) }

// end ends before candidates are compared.
func (t *tuner) end(verdict, why string) {
	t.stop = true
	t.out.Verdict, t.out.Why = verdict, why
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
