package gate

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"orrery/profiles"
	"orrery/sim/metric"
)

// limits asserts that a number lies within limits in every replay; nil is none.
type limits struct {
	of              profiles.Measure
	number          func(x *outcome) (number, error) // instead of of
	word            string                           // what the number is called, the metric where it is ""
	scale           scale
	atLeast, atMost *float64
	jobs            int64
}

func (l *limits) want() string {
	var parts []string
	if l.atLeast != nil {
		parts = append(parts, "at least "+l.scale.say(*l.atLeast))
	}
	if l.atMost != nil {
		parts = append(parts, "at most "+l.scale.say(*l.atMost))
	}
	return strings.Join(parts, ", ")
}

// assert holds all replays against limits, and tells of the one that is nearest
// to them or furthest beyond.
func (e *Evidence) assert(run string, l limits) (f Finding, err error) {
	f.Verdict, f.Want = Holds, l.want()
	q := Quantity{Name: cmp.Or(l.word, l.of.Metric), Unit: l.scale.unit, AtLeast: l.atLeast, AtMost: l.atMost}
	margin := math.Inf(1)
	for _, x := range e.of(run) {
		n, err := l.numberOf(x)
		if err != nil {
			return f, err
		}
		if n.v == nil || n.jobs < l.jobs {
			f.Verdict = worst(f.Verdict, Undecided)
			if f.Why == "" {
				f.Why = place(x) + ": " + lacking(n, l.jobs)
			}
			if f.Found == "" {
				f.Found = l.scale.text(n.v)
			}
			continue
		}
		headroom := l.headroom(*n.v)
		if headroom < 0 && f.Verdict != Regression {
			f.Verdict, f.Why, margin = Regression, "", math.Inf(1)
		}
		if headroom < margin {
			margin, q.Value, f.Found = headroom, n.v, l.scale.say(*n.v)
			if f.Verdict == Regression {
				f.Why = place(x)
			}
		}
	}
	f.Numbers = []Quantity{q}
	return f, nil
}

func (l *limits) numberOf(x *outcome) (number, error) {
	if l.number != nil {
		return l.number(x)
	}
	return x.numberOf(&l.of)
}

// headroom is how far a value is from the nearer limit; below 0 it is beyond.
func (l *limits) headroom(v float64) float64 {
	headroom := math.Inf(1)
	if l.atLeast != nil {
		headroom = min(headroom, v-*l.atLeast)
	}
	if l.atMost != nil {
		headroom = min(headroom, *l.atMost-v)
	}
	return headroom
}

// lacking says what a number lacks to be judged.
func lacking(n number, jobs int64) string {
	if n.v != nil {
		return strconv.FormatInt(n.jobs, 10) + " jobs, want " + strconv.FormatInt(jobs, 10)
	}
	if n.note == "" {
		return "it is undefined"
	}
	return n.note
}

func (e *Evidence) bound(c *profiles.GateBound, f Finding) (Finding, error) {
	s := scaleOf(&c.Of)
	found, err := e.assert(c.Run, limits{of: c.Of, scale: s, atLeast: s.limit(c.AtLeast), atMost: s.limit(c.AtMost), jobs: c.Jobs})
	found.Kind, found.Metric = f.Kind, nameOf(&c.Of)
	found.name(c.Name, c.Run, label(&c.Of))
	return found, err
}

// several makes one finding of assertions that belong together.
func (e *Evidence) several(f Finding, parts []limits) (Finding, error) {
	var found, want, why []string
	for i := range parts {
		p := &parts[i]
		one, err := e.assert(f.Run, *p)
		if err != nil {
			return f, err
		}
		f.Verdict = worst(f.Verdict, one.Verdict)
		found, want = append(found, p.word+" "+one.Found), append(want, p.word+" "+one.Want)
		if one.Verdict != Holds {
			why = append(why, p.word+": "+string(one.Verdict)+", "+one.Why)
		}
		f.Numbers = append(f.Numbers, one.Numbers...)
	}
	f.Found, f.Want, f.Why = strings.Join(found, ", "), strings.Join(want, ", "), strings.Join(why, "; ")
	return f, nil
}

func (e *Evidence) balance(c *profiles.GateBalance, f Finding) (Finding, error) {
	f.name(c.Name, c.Run, "balance of tenants")
	var parts []limits
	of := func(metric string) profiles.Measure { return profiles.Measure{Metric: metric, Over: c.Over, By: "run"} }
	if c.Within != nil {
		s := scale{unit: "1", share: true}
		parts = append(parts, limits{word: "deviation", of: of("share_deviation_max"), scale: s, atMost: s.limit(c.Within), jobs: 1})
	}
	if c.Jain != nil {
		parts = append(parts, limits{word: "Jain index", of: of("jain_share"), scale: bare, atLeast: bare.limit(c.Jain), jobs: 1})
	}
	return e.several(f, parts)
}

func (e *Evidence) thrash(c *profiles.GateThrash, f Finding) (Finding, error) {
	f.name(c.Name, c.Run, "no thrash")
	var parts []limits
	of := func(metric string) profiles.Measure { return profiles.Measure{Metric: metric, Over: "all", By: "run"} }
	if c.PerJob != nil {
		parts = append(parts, limits{word: "preemptions per job", of: of("preemptions_per_job"), scale: bare, atMost: bare.limit(c.PerJob)})
	}
	if c.OfOne != nil {
		parts = append(parts, limits{word: "preemptions of one job", of: of("preemptions_of_one"), scale: bare, atMost: bare.limit(c.OfOne)})
	}
	if c.Flaps != nil {
		s := scale{unit: "1", share: true}
		flaps := func(x *outcome) (number, error) { return x.own.flapping(c.Soon), nil }
		parts = append(parts, limits{word: "flaps", number: flaps, scale: s, atMost: s.limit(c.Flaps)})
	}
	return e.several(f, parts)
}

// steady asserts the verdict on the queue.
func (e *Evidence) steady(c *profiles.GateSteady, f Finding) Finding {
	f.name(c.Name, c.Run, "steady queue")
	f.Found, f.Want = string(metric.Stable), string(metric.Stable)
	if c.Backlog {
		f.Want += " or " + string(metric.Backlogged)
	}
	for _, x := range e.of(c.Run) {
		v := Regression
		switch queue := metric.Verdict(x.Verdict); {
		case queue == metric.Stable:
			continue
		case queue == metric.Backlogged && c.Backlog:
			if f.Verdict == Holds {
				f.Found = x.Verdict
			}
			continue
		case queue == metric.Unknown:
			v = Undecided
		}
		if both := worst(f.Verdict, v); both != f.Verdict {
			f.Verdict, f.Found, f.Why = both, x.Verdict, place(x)
		}
	}
	return f
}
