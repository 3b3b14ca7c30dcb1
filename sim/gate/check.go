package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	gonum "gonum.org/v1/gonum/stat"

	"orrery/profiles"
	"orrery/sim"
	"orrery/sim/metric"
	"orrery/sim/stat"
)

// checks makes all checks, kind by kind in the order of the file.
func (e *Evidence) checks(base *Baseline) ([]Finding, error) {
	g := e.gate
	var out []Finding
	steps := []struct {
		kind string
		n    int
		do   func(i int, f Finding) (Finding, error)
	}{
		{Exact, len(g.Exact), func(i int, f Finding) (Finding, error) { return e.exact(&g.Exact[i], base, f), nil }},
		{Banded, len(g.Banded), func(i int, f Finding) (Finding, error) { return e.banded(&g.Banded[i], base, f) }},
		{Paired, len(g.Paired), func(i int, f Finding) (Finding, error) { return e.paired(&g.Paired[i], base, f) }},
		{Counted, len(g.Counted), func(i int, f Finding) (Finding, error) { return e.counted(&g.Counted[i], base, f), nil }},
		{Bound, len(g.Bound), func(i int, f Finding) (Finding, error) { return e.bound(&g.Bound[i], f) }},
		{Balance, len(g.Balance), func(i int, f Finding) (Finding, error) { return e.balance(&g.Balance[i], f) }},
		{Steady, len(g.Steady), func(i int, f Finding) (Finding, error) { return e.steady(&g.Steady[i], f), nil }},
		{Thrash, len(g.Thrash), func(i int, f Finding) (Finding, error) { return e.thrash(&g.Thrash[i], f) }},
	}
	for _, s := range steps {
		for i := range s.n {
			f, err := s.do(i, Finding{Kind: s.kind, Verdict: Holds})
			if err != nil {
				return nil, g.Wrong(fmt.Sprintf("%s[%d]", s.kind, i), "%v", err)
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// name sets what a finding is called.
func (f *Finding) name(given, run, made string) {
	f.Run, f.Check = run, given
	if given == "" {
		f.Check = run + ": " + made
	}
}

// noBaseline ends a check against something that was not stored.
func (f *Finding) noBaseline(what string) Finding {
	f.Verdict, f.Found, f.Why = Undecided, "nothing stored", "the baseline has no "+what+": make it with --update-baseline"
	return *f
}

// exact holds fingerprints against the baseline.
func (e *Evidence) exact(c *profiles.GateExact, base *Baseline, f Finding) Finding {
	f.name(c.Name, c.Run, "same schedule")
	stored, all := base.find(c.Run), e.of(c.Run)
	if stored == nil {
		f.Want = "the fingerprint of the baseline"
		return f.noBaseline("run " + c.Run)
	}
	f.Baseline = &stored.Provenance
	same, replays := 0, stored.replays()
	var differ *outcome
	var was *BaselineReplay
	for _, x := range all {
		b := replays[x.spot()]
		switch {
		case b != nil && b.Fingerprint == x.Fingerprint:
			same++
		case differ == nil:
			differ, was = x, b
		}
	}
	f.Found, f.Want = fmt.Sprintf("%d of %d fingerprints", same, len(all)), fmt.Sprintf("%d of %d", len(all), len(all))
	switch {
	case differ == nil:
	case was == nil:
		f.Verdict, f.Why = Undecided, fmt.Sprintf("the baseline has no %s: make it with --update-baseline", place(differ))
	case was.Jobs != differ.Jobs:
		f.Verdict, f.Why = Undecided, otherJobs(differ)
	default:
		f.Verdict, f.Why = Regression, fmt.Sprintf("%s: the schedule differs: fingerprint %s, was %s%s", place(differ), short(differ.Fingerprint), short(was.Fingerprint), settings(was, differ))
	}
	return f
}

// settings says whether the settings are others too.
func settings(was *BaselineReplay, x *outcome) string {
	if was.Task == x.Task {
		return " under the same settings"
	}
	return fmt.Sprintf("; so do the settings: spec %s, was %s", short(x.Spec), short(was.Spec))
}

// otherJobs says that what was stored met other jobs.
func otherJobs(x *outcome) string {
	return place(x) + ": the baseline met other jobs (trace, window or shaking): make it anew with --update-baseline"
}

func place(x *outcome) string { return placeOf(&x.Replay) }

func placeOf(r *Replay) string { return fmt.Sprintf("window %d, seed %d", r.Window, r.Seed) }

func short(hash string) string { return hash[:min(len(hash), 12)] }

// banded holds the mean of a metric over all replays against the baseline.
func (e *Evidence) banded(c *profiles.GateBanded, base *Baseline, f Finding) (Finding, error) {
	f.name(c.Name, c.Run, label(&c.Of))
	f.Metric, f.Want = nameOf(&c.Of), "near the baseline"
	s := scaleOf(&c.Of)
	stored := base.find(c.Run)
	if stored != nil {
		f.Baseline = &stored.Provenance
	}
	var now, before []float64
	replays := stored.replays()
	for _, x := range e.of(c.Run) {
		n, err := x.numberOf(&c.Of)
		if err != nil {
			return f, err
		}
		b := replays[x.spot()]
		old, there := (*float64)(nil), false
		if b != nil {
			old, there = b.Metrics[f.Metric]
		}
		switch {
		case !there:
			return f.noBaseline(f.Metric + " for " + place(x)), nil
		case b.Jobs != x.Jobs:
			f.Verdict, f.Why = Undecided, otherJobs(x)
			return f, nil
		case n.v == nil && old == nil:
			f.Verdict, f.Found, f.Why = Undecided, "undefined", place(x)+": "+n.note
			return f, nil
		case n.v == nil, old == nil:
			f.Verdict, f.Found, f.Want = Regression, s.text(n.v), s.text(old)
			f.Why = place(x) + ": it is undefined on one side only"
			return f, nil
		}
		now, before = append(now, *n.v), append(before, *old)
	}
	growing, err := e.growing(c, stored)
	if err != nil || growing != "" {
		f.Verdict, f.Found, f.Why = Regression, "OVERLOADED", growing
		return f, err
	}
	value, want := gonum.Mean(now, nil), gonum.Mean(before, nil)
	b := band{s, want, s.of(c.Absolute) + bare.of(c.Relative)*math.Abs(want), c.Side}
	f.Found, f.Want, f.Verdict = s.say(value), b.text(), b.verdict(value)
	f.Numbers = []Quantity{b.quantity(c.Of.Metric, value)}
	if f.Verdict != Holds || value != want {
		f.Why = b.change(value)
	}
	return f, nil
}

// growing says that the queue of a run grows without end more often than chance
// explains, and did not; "" where it does not, or where the metric does not mind. Of
// one trace a few replays do not tell that from chance, and then the band decides.
func (e *Evidence) growing(c *profiles.GateBanded, stored *BaselineRun) (string, error) {
	candidate, err := e.side(c.Run, &c.Of)
	if err != nil || !metric.Lengthens(c.Of.Metric) {
		return "", err
	}
	before := storedSide(stored, nameOf(&c.Of))
	_, load, _, err := match(before, candidate, stat.Lower, true)
	if err != nil || !load.Unranked() {
		return "", err
	}
	if i := slices.IndexFunc(e.gate.Runs, func(r profiles.GateRun) bool { return r.Name == c.Run }); e.gate.Runs[i].Trace != "" {
		q := queuesOf(before, candidate)
		if !q.Unranked() {
			return "", nil
		}
		return q.String(), nil
	}
	return load.String() + ": the queue grows without end in them, and did not", nil
}

// queuesOf counts the replays of both sides whose queue grows without end.
func queuesOf(before, now []side) stat.Queues {
	q := stat.Queues{BaselineRuns: len(before), CandidateRuns: len(now)}
	for i := range before {
		if before[i].run.Overloaded {
			q.Baseline++
		}
	}
	for i := range now {
		if now[i].run.Overloaded {
			q.Candidate++
		}
	}
	return q
}

// band is where a value should lie: no further from what was stored than a width,
// on the side that counts.
type band struct {
	scale
	was, width float64
	side       string // both, above or below
}

func (b *band) verdict(value float64) Verdict {
	above, below := value > b.was+b.width, value < b.was-b.width
	if above && b.side != "below" || below && b.side != "above" {
		return Regression
	}
	return Holds
}

func (b *band) text() string {
	low, high := b.say(b.was-b.width), b.say(b.was+b.width)
	switch {
	case b.side == "above":
		return "at most " + high
	case b.side == "below":
		return "at least " + low
	case b.width == 0:
		return b.say(b.was)
	}
	return low + " to " + high
}

func (b *band) quantity(name string, value float64) Quantity {
	q := Quantity{Name: name, Unit: b.unit, Value: &value}
	if low := b.was - b.width; b.side != "above" {
		q.AtLeast = &low
	}
	if high := b.was + b.width; b.side != "below" {
		q.AtMost = &high
	}
	return q
}

// change is a difference in words.
func (b *band) change(value float64) string {
	switch {
	case value == b.was:
		return "unchanged"
	case b.was == 0:
		return fmt.Sprintf("%s, was %s", b.say(value), b.say(0))
	}
	return fmt.Sprintf("%+.2f %% of the baseline, %s", 100*(value-b.was)/math.Abs(b.was), b.say(b.was))
}

// counted holds counts of work, summed over all replays, against the baseline.
func (e *Evidence) counted(c *profiles.GateCounted, base *Baseline, f Finding) Finding {
	of := c.Of
	if len(of) == 0 {
		of = []string{"instants", "passes", "examined", "words"}
	}
	f.name(c.Name, c.Run, "work")
	stored := base.find(c.Run)
	f.Want = "the work of the baseline"
	if stored == nil {
		return f.noBaseline("run " + c.Run)
	}
	f.Baseline = &stored.Provenance
	replays := stored.replays()
	var found, want, why []string
	for _, count := range of {
		sum, was := uint64(0), uint64(0)
		for _, x := range e.of(c.Run) {
			b := replays[x.spot()]
			if b == nil {
				return f.noBaseline(place(x))
			}
			if b.Jobs != x.Jobs {
				f.Verdict, f.Why = Undecided, otherJobs(x)
				return f
			}
			sum, was = sum+workOf(&x.Work, count), was+workOf(&b.Work, count)
		}
		v := float64(sum)
		b := band{bare, float64(was), bare.of(c.Relative) * float64(was), c.Side}
		found, want = append(found, fmt.Sprintf("%s %d", count, sum)), append(want, count+" "+b.text())
		if b.verdict(v) != Holds {
			f.Verdict, why = Regression, append(why, count+": "+b.change(v))
		}
		f.Numbers = append(f.Numbers, b.quantity(count, v))
	}
	f.Found, f.Want, f.Why = strings.Join(found, ", "), strings.Join(want, ", "), strings.Join(why, "; ")
	return f
}

func workOf(w *sim.Work, count string) uint64 {
	switch count {
	case "instants":
		return w.Instants
	case "cycles":
		return w.Cycles
	case "passes":
		return w.Passes
	case "examined":
		return w.Examined
	}
	return w.Words
}
