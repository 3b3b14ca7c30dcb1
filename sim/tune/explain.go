package tune

import (
	"slices"

	"orrery/sim/search"
	"orrery/sim/stat"
)

// secondaryMetrics are those that people ask for, whatever the objective.
var secondaryMetrics = []string{
	"bounded_slowdown_mean", "wait_mean", "wait_p50", "wait_p95", "wait_max", "utilisation",
	"share_deviation_max", "within_target_wait", "preemptions", "useful_fraction",
}

// explain says what else the chosen candidate, or the one that came closest,
// would change, who pays for it, and what it costs.
func (t *tuner) explain() error {
	c := t.about()
	if c == nil {
		return nil
	}
	t.out.About = c.name
	var readings []stat.Subject
	for _, name := range secondaryMetrics {
		if slices.ContainsFunc(t.goal.Objectives, func(o search.Objective) bool { return o.Metric == name }) {
			continue
		}
		s, err := t.subject(c, name, better(DirectionOf(name)))
		if err != nil {
			return err
		}
		if len(s.Pairs.Window) > 0 { // the cluster has such a metric
			readings = append(readings, s)
		}
	}
	rows, err := stat.Compare(readings, t.opt.Stat)
	if err != nil {
		return err
	}
	for _, r := range rows {
		t.out.Secondary = append(t.out.Secondary, lineOf(r))
	}
	t.out.Losers, t.out.Gainers = t.out.about().Losers, t.gainersOf(c) // it is a finalist
	if err := t.holdings(c); err != nil {
		return err
	}
	for k := range t.problem.Traces {
		for i, side := range []*candidate{t.base(), c} {
			w, r := &t.out.Work[i], t.result(side, wholeScope, k, 0)
			w.Instants += r.Work.Instants
			w.Passes += r.Work.Passes
			w.Examined += r.Work.Examined
		}
	}
	return nil
}
