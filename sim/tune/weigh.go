package tune

import (
	"fmt"
	"math"
	"slices"

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
	e, finalists, err := advice.WeighInRounds(list, t.opt.Replicas, t.settings(o), func(places []int, replicas int) (out []advice.Candidate, err error) {
		list := []*candidate{t.base()}
		for _, i := range places {
			list = append(list, t.candidates[i+1])
		}
		t.stage("the current policy and the most promising candidates (%d) with jittered arrivals (%d)", len(places), replicas)
		if err := t.wholly(replicas, list...); err != nil {
			return nil, err
		}
		for _, i := range places {
			out = append(out, t.side(i+1, o.Metric, replicas))
		}
		return out, nil
	})
	if err != nil {
		return err
	}
	t.evidence = e
	for _, i := range finalists {
		t.replicated = append(t.replicated, i+1)
	}
	return t.oneMore()
}

// oneMore has replicas of one more candidate where none passes, which the report is to tell of:
// the one with the largest gain that would be worth a change, or else the one that breaks a
// bound by least.
func (t *tuner) oneMore() error {
	if len(t.evidence.Passing()) > 0 {
		return nil
	}
	more := 0
	if list := t.evidence.Ranked(func(i int) bool { return t.noted[i+1].out == "" && t.worth(i+1) }); len(list) > 0 {
		more = list[0] + 1
	} else if len(t.replicated) == 0 {
		more = t.nearest()
	}
	if more == 0 || slices.Contains(t.replicated, more) {
		return nil
	}
	return t.replicate(more)
}

// noteOf is what stands against a candidate.
func (t *tuner) noteOf(c *candidate) (n note) {
	n.out, n.beyond = t.brokenBy(c)
	for _, o := range t.goal.Objectives {
		if n.out == "" && slices.ContainsFunc(t.values(c, wholeScope, o.Metric, t.counting, 0), math.IsNaN) {
			n.out, n.beyond = "it has no value of "+o.Metric+" in a window", math.Inf(1)
		}
	}
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
		if slices.ContainsFunc(one.Then.Windows, func(x float64) bool { return x < 0 }) {
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
	var list []advice.Series
	for r := range replicas + 1 {
		list = append(list, advice.Series{Windows: t.values(c, wholeScope, name, t.counting, r), Whole: t.whole(c, name, r)})
	}
	return advice.Over(list...)
}
