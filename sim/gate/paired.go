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
		f.Baseline, other = &before.Provenance, storedSide(before, f.Metric)
	} else if other, err = e.side(c.Against, &c.Of); err != nil {
		return f, err
	}
	pairs, load, lone, err := match(other, candidate, better, metric.Lengthens(c.Of.Metric))
	if err != nil {
		return f, err
	}
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
	u := scaleOf(&c.Of)
	margin := u.of(c.Absolute) + bare.of(c.Relative)*math.Abs(gonum.Mean(pairs.Baseline, nil))
	f.Want = "worse by at most " + u.say(margin)
	err = f.notWorse(e.gate.Confidence, c, pairs, lone, better)
	f.loaded(load)
	return f, err
}

// notWorse makes the statistics.
func (f *Finding) notWorse(confidence float64, c *profiles.GatePaired, pairs stat.Pairs, lone int, better stat.Direction) error {
	s := stat.Defaults()
	s.Confidence = confidence
	n, err := stat.NotWorse(pairs, better, stat.Margin{Relative: bare.of(c.Relative), Absolute: scaleOf(&c.Of).of(c.Absolute)}, stat.RandomWindows, s)
	if err != nil {
		return err
	}
	f.Verdict = map[stat.Bound]Verdict{stat.Holds: Holds, stat.Violated: Regression}[n.Outcome]
	if f.Verdict == "" {
		f.Verdict = Undecided
	}
	u, least := scaleOf(&c.Of), -n.Margin
	f.Found = fmt.Sprintf("gain %s, at least %s, at most %s", u.say(n.Gain), u.say(n.AtLeast), u.say(n.AtMost))
	f.Numbers = []Quantity{{Name: "gain", Unit: u.unit, Value: finite(n.Gain), Low: finite(n.AtLeast), High: finite(n.AtMost), AtLeast: &least}}
	f.Why = fmt.Sprintf("%s (%d windows, %s, mean %s, other side %s)",
		n.Reason, n.Windows, better, u.say(gonum.Mean(pairs.Candidate, nil)), u.say(gonum.Mean(pairs.Baseline, nil)))
	if out := lone + pairs.Unmatched + pairs.Undefined; out > 0 {
		f.Why += fmt.Sprintf("; %d runs without a partner or a value are left out", out)
	}
	return nil
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

// side is a run of the gate.
func (e *Evidence) side(run string, m *profiles.Measure) ([]side, error) {
	var out []side
	for _, x := range e.of(run) {
		n, err := x.numberOf(m)
		if err != nil {
			return nil, err
		}
		out = append(out, side{pairKey{x.Jobs, x.Window, x.Seed}, stat.Run{Observation: observe(x.Window, x.Seed, n.v), Overloaded: x.Verdict == string(metric.Overloaded), Schedule: x.Fingerprint}})
	}
	return out, nil
}

// storedSide is what the baseline has of a run.
func storedSide(b *BaselineRun, name string) []side {
	var out []side
	for i := range b.Replays {
		r := &b.Replays[i]
		out = append(out, side{pairKey{r.Jobs, r.Window, r.Seed}, stat.Run{Observation: observe(r.Window, r.Seed, r.Metrics[name]), Overloaded: r.Queue == string(metric.Overloaded), Schedule: r.Fingerprint}})
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
