package gate

import (
	"fmt"
	"math"

	gonum "gonum.org/v1/gonum/stat"

	"orrery/profiles"
	"orrery/sim/metric"
	"orrery/sim/stat"
)

// side is what a paired check knows of one run of one side.
type side struct {
	key         pairKey
	observation stat.Observation
	overloaded  bool
}

// pairKey says which jobs a run met, and in which place: runs that share it are a
// pair.
type pairKey struct {
	jobs   string
	window int
	seed   uint64
}

// paired checks that a run is not worse than the other side by more than a
// margin, over windows.
func (e *Evidence) paired(c *profiles.GatePaired, base *Baseline, f Finding) (Finding, error) {
	f.name(c.Name, c.Run, label(&c.Of)+" against "+c.Against)
	f.Metric, f.Want = nameOf(&c.Of), "not worse"
	better, err := direction(c)
	if err != nil {
		return f, err
	}
	candidate, err := e.side(c.Run, &c.Of)
	if err != nil {
		return f, err
	}
	var other []side
	if c.Against == "baseline" {
		before := base.find(c.Run)
		if before == nil {
			return f.noBaseline("run " + c.Run), nil
		}
		f.Baseline, other = &before.Provenance, stored(before, f.Metric)
	} else if other, err = e.side(c.Against, &c.Of); err != nil {
		return f, err
	}
	pairs, lone, err := match(other, candidate)
	if err != nil {
		return f, err
	}
	if len(pairs.Window) == 0 {
		f.Verdict, f.Found = Undecided, "no pair of windows"
		f.Why = fmt.Sprintf("%d runs met jobs that the other side did not, %d pairs are undefined", lone+pairs.Unmatched, pairs.Undefined)
		return f, nil
	}
	margin := c.Absolute + c.Relative*math.Abs(gonum.Mean(pairs.Baseline, nil))
	f.Want = fmt.Sprintf("worse by at most %s", figure(margin))
	if waits(c.Of.Metric) {
		if done := f.overload(other, candidate); done {
			return f, nil
		}
	}
	return f, f.notWorse(e.gate.Confidence, c, pairs, lone, better, margin)
}

// notWorse makes the statistics.
func (f *Finding) notWorse(confidence float64, c *profiles.GatePaired, pairs stat.Pairs, lone int, better stat.Direction, margin float64) error {
	s := stat.Defaults()
	s.Confidence, s.Block = confidence, int(c.Block)
	s.MinBlocks = max(s.MinBlocks, stat.MinimumBlocks(1-confidence))
	n, err := stat.NotWorse(pairs, better, margin, s)
	if err != nil {
		return err
	}
	f.Verdict = map[stat.Bound]Verdict{stat.Holds: Holds, stat.Violated: Regression}[n.Outcome]
	if f.Verdict == "" {
		f.Verdict = Undecided
	}
	f.Found = fmt.Sprintf("gain %s, at least %s, at most %s", figure(n.Gain), figure(n.AtLeast), figure(n.AtMost))
	f.Why = fmt.Sprintf("%s (%d windows in blocks of %d, %s, mean %s, other side %s)",
		n.Reason, n.Windows, n.Block, better, figure(gonum.Mean(pairs.Candidate, nil)), figure(gonum.Mean(pairs.Baseline, nil)))
	if out := lone + pairs.Unmatched + pairs.Undefined; out > 0 {
		f.Why += fmt.Sprintf("; %d runs without a partner or a value are left out", out)
	}
	f.number(n.Gain, -margin)
	return nil
}

// overload says that nothing can be said of waits, for queues that grow without
// end; a candidate whose queue does where the other side's does not is worse.
func (f *Finding) overload(other, candidate []side) bool {
	was := map[pairKey]bool{}
	for _, s := range other {
		was[s.key] = s.overloaded
	}
	for _, s := range candidate {
		before, there := was[s.key]
		switch {
		case !there || !s.overloaded:
		case before:
			f.Verdict, f.Found, f.Why = Undecided, "OVERLOADED on both sides", fmt.Sprintf("window %d: waits say nothing of a queue that grows without end", s.key.window)
			return true
		default:
			f.Verdict, f.Found, f.Why = Regression, "OVERLOADED", fmt.Sprintf("window %d: the queue grows without end, and does not on the other side", s.key.window)
			return true
		}
	}
	return false
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
	return stat.Lower, fmt.Errorf("nobody knows which way %s is better: add better: lower or higher", c.Of.Metric)
}

// side is a run of the gate.
func (e *Evidence) side(run string, m *profiles.Measure) ([]side, error) {
	var out []side
	for _, x := range e.of(run) {
		n, err := x.numberOf(m)
		if err != nil {
			return nil, err
		}
		out = append(out, side{pairKey{x.Jobs, x.Window, x.Seed}, observe(x.Window, x.Seed, n.v), x.Verdict == string(metric.Overloaded)})
	}
	return out, nil
}

// stored is what the baseline has of a run.
func stored(b *BaselineRun, name string) []side {
	var out []side
	for i := range b.Replays {
		r := &b.Replays[i]
		out = append(out, side{pairKey{r.Jobs, r.Window, r.Seed}, observe(r.Window, r.Seed, r.Metrics[name]), r.Queue == string(metric.Overloaded)})
	}
	return out
}

func observe(window int, seed uint64, v *float64) stat.Observation {
	o := stat.Observation{Window: window, Seed: int(seed), Value: math.NaN()}
	if v != nil {
		o.Value = *v
	}
	return o
}

// match pairs the runs of two sides that met the same jobs. lone counts those of
// which the other side has none.
func match(other, candidate []side) (pairs stat.Pairs, lone int, err error) {
	has := func(list []side, k pairKey) bool {
		for _, s := range list {
			if s.key == k {
				return true
			}
		}
		return false
	}
	var a, b []stat.Observation
	for _, s := range other {
		if has(candidate, s.key) {
			a = append(a, s.observation)
		} else {
			lone++
		}
	}
	for _, s := range candidate {
		if has(other, s.key) {
			b = append(b, s.observation)
		} else {
			lone++
		}
	}
	pairs, err = stat.Pair(a, b)
	return pairs, lone, err
}
