package tune

import (
	"cmp"
	"slices"

	"orrery/sim/losers"
	"orrery/sim/metric"
)

// LoserLine is a group of jobs that waits longer, or with less waiting a gainer.
type LoserLine struct {
	Trace int `json:"trace,omitempty"`
	losers.Loser
}

// leastOfWork is the least part of the work of a group of which something is asked.
const leastOfWork = 0.01

// losersOf are the groups of jobs that wait longer under then than under now, on each whole
// trace, those that lose most hours first.
func (t *tuner) losersOf(now, then *candidate) []LoserLine {
	out := []LoserLine{}
	for k := range t.problem.Traces {
		for _, l := range losers.Rank(t.result(now, wholeScope, k, 0).Cells, t.result(then, wholeScope, k, 0).Cells) {
			out = append(out, LoserLine{k, l})
		}
	}
	slices.SortStableFunc(out, func(a, b LoserLine) int { return cmp.Compare(b.Hours, a.Hours) })
	return out
}

// gainersOf are the groups of jobs that wait less under a candidate: those that would lose by
// the way back.
func (t *tuner) gainersOf(c *candidate) []LoserLine {
	out := t.losersOf(c, t.base())
	for i := range out {
		l := &out[i]
		l.WaitNow, l.WaitThen, l.Hours = l.WaitThen, l.WaitNow, -l.Hours
	}
	return out
}

// worstLoser is the group with leastOfWork of the work or more of which the mean wait grows by
// the largest factor, on any of the traces; false where none waits longer.
func (t *tuner) worstLoser(c *candidate) (out losers.Loser, found bool) {
	for k := range t.problem.Traces {
		l, ok := losers.Worst(t.result(t.base(), wholeScope, k, 0).Cells, t.result(c, wholeScope, k, 0).Cells, leastOfWork)
		if ok && (!found || losers.Growth(l) > losers.Growth(out)) {
			out, found = l, true
		}
	}
	return out, found
}

// growth is how much longer the worst loser waits, as a part; 0 where none does.
func (n *note) growth() metric.Number {
	if !n.harmed {
		return 0
	}
	return metric.Number(losers.Growth(n.worst))
}
