// Package energy is the one reader of energy in telemetry: the difference of the counter, where there is none, or one that the power
// cannot explain, power over the time that was measured, and else nothing. It says of each stretch of time what was consumed in it, so
// that what a GPU consumed and what jobs consumed on it agree. It must not know whose rows they are.
package energy

import (
	"orrery/scheduler/model"
	"orrery/traces"
)

// Part is a piece of time with what was consumed in it.
type Part[K any] struct {
	Of      K // the row that stands for the time; of a gap the row before it
	Then    K // of a gap the row behind it, else Of
	Gap     bool
	Seconds float64
	Joules  traces.Opt[float64] // null where neither the counter nor power says it
	Power   bool                // the joules are power over time
}

// Doubts counts differences of the counter that were not believed.
type Doubts struct {
	Back    int64 // it went back: it began anew, or was read wrong
	Jumped  int64 // by more than the power explains
	Stopped int64 // it stood still while power was drawn
}

// Sum is the number of all.
func (d Doubts) Sum() int64 { return d.Back + d.Jumped + d.Stopped }

// Meter reads one series. Rows ascend by time.
type Meter[K any] struct {
	Doubts  Doubts
	Settle  func(Part[K]) // is handed each part, ascending by time
	open    []stretch[K]  // not settled
	ref     traces.Opt[int64]
	refAt   model.Time
	done    model.Time // settled up to here
	began   bool
	prev    K       // the row that was settled last
	largest float64 // W, the most power so far
}

type stretch[K any] struct {
	from, to model.Time
	power    traces.Opt[float64]
	of       K
}

// How far the mean power by the counter may be from the power that was measured. Power is sampled, or a mean over a part of the time: a
// load that comes and goes may be missed by every sample near.
const (
	mostTimes  = 2.0  // the largest power of the series so far
	mostBeyond = 50.0 // W, added to it
	leastPart  = 1.0 / 50
)

const (
	// patience is for how long a counter may stand still: exporters renew it as seldom as each minute.
	patience = 2 * model.Minute
	// shortest is the time below which a counter that hardly moves, or moves at once, says nothing: drivers renew it each 100 ms.
	shortest = model.Second
	// mostOpen is how many rows wait at most for a counter that is not there.
	mostOpen = 16
)

// Row takes a row: the stretch of time that it stands for, and what it says. ofNode says that it is of a node as a whole.
func (m *Meter[K]) Row(s Stretch, of K, t *traces.Telemetry) {
	if !m.began {
		m.began, m.done = true, s.From
	}
	from := max(s.From, m.latest())
	m.open = append(m.open, stretch[K]{from, max(s.To, from), t.Power, of})
	if t.Power.OK {
		m.largest = max(m.largest, t.Power.V)
	}
	m.counter(s.Read, t, of)
}

// latest is the end of the last stretch.
func (m *Meter[K]) latest() model.Time {
	if n := len(m.open); n > 0 {
		return m.open[n-1].to
	}
	return m.done
}

func (m *Meter[K]) counter(at model.Time, t *traces.Telemetry, of K) {
	switch {
	case !t.Energy.OK && !m.ref.OK:
		m.byPower(model.Never, of)
	case !t.Energy.OK:
		if m.latest().Sub(m.refAt) > patience && len(m.open) >= mostOpen { // it is gone
			m.ref = traces.Opt[int64]{}
			m.byPower(model.Never, of)
		}
	case !m.ref.OK:
		m.byPower(at, of)
		m.ref, m.refAt = t.Energy, at
	case at <= m.refAt: // two rows of one instant
	case t.Energy.V == m.ref.V && at.Sub(m.refAt) < patience:
	default:
		joules := float64(t.Energy.V-m.ref.V) / 1000
		if m.believes(joules, at.Sub(m.refAt), t) {
			m.byCounter(joules, at, of)
		} else {
			m.byPower(at, of)
		}
		m.ref, m.refAt = t.Energy, at
	}
}

// believes says whether the power explains a difference, and counts it if not.
func (m *Meter[K]) believes(joules float64, long model.Duration, t *traces.Telemetry) bool {
	watts := joules / max(long, shortest).Seconds()
	most, known := m.most(t)
	least, drawn := m.least()
	switch {
	case joules < 0:
		m.Doubts.Back++
	case watts > most:
		m.Doubts.Jumped++
	case joules == 0 && (!known || drawn && least > 0), long >= shortest && drawn && watts < float64(least*leastPart):
		m.Doubts.Stopped++
	default:
		return true
	}
	return false
}

// most is the largest mean power that is believed, and whether power was measured at all.
func (m *Meter[K]) most(t *traces.Telemetry) (watts float64, known bool) {
	r, _ := traces.RangeOf("power")
	watts = r.Most
	if !t.GPU.OK {
		watts = r.MostOfNode
	}
	for i := range m.open {
		known = known || m.open[i].power.OK
	}
	if m.largest > 0 {
		watts = min(watts, float64(mostTimes*m.largest)+mostBeyond)
	}
	return watts, known
}

// least is the least power of the rows that are open.
func (m *Meter[K]) least() (watts float64, known bool) {
	for i := range m.open {
		if p := m.open[i].power; p.OK && (!known || p.V < watts) {
			watts, known = p.V, true
		}
	}
	return watts, known
}

// byCounter settles the time up to an instant with what the counter says of it, each piece in proportion to its length.
func (m *Meter[K]) byCounter(joules float64, until model.Time, of K) {
	all := until.Sub(m.refAt).Seconds()
	m.settle(until, of, func(_ *stretch[K], seconds float64, p *Part[K]) {
		p.Joules = traces.Some(float64(joules*seconds) / all)
	})
}

// byPower settles the time up to an instant with power over the time that rows stand for.
func (m *Meter[K]) byPower(until model.Time, of K) {
	m.settle(until, of, func(s *stretch[K], seconds float64, p *Part[K]) {
		if s != nil && s.power.OK {
			p.Joules, p.Power = traces.Some(float64(s.power.V*seconds)), true
		}
	})
}

// settle hands over the pieces of time up to an instant: those of rows, and what is between them, which fill is called for without one.
func (m *Meter[K]) settle(until model.Time, of K, fill func(*stretch[K], float64, *Part[K])) {
	hand := func(s *stretch[K], p Part[K], to model.Time) {
		if to <= m.done {
			return
		}
		p.Seconds = to.Sub(m.done).Seconds()
		fill(s, p.Seconds, &p)
		m.done = to
		m.Settle(p)
	}
	n := 0
	for ; n < len(m.open); n++ {
		s := &m.open[n]
		hand(nil, Part[K]{Of: m.prev, Then: s.of, Gap: true}, min(s.from, until))
		if s.from >= until {
			break
		}
		hand(s, Part[K]{Of: s.of, Then: s.of}, min(s.to, until))
		m.prev = s.of
		if s.to > until {
			s.from = until
			break
		}
	}
	m.open = append(m.open[:0], m.open[n:]...)
	if until != model.Never {
		hand(nil, Part[K]{Of: m.prev, Then: of, Gap: true}, until)
	}
}

// End settles what is open: no row follows.
func (m *Meter[K]) End() {
	var none K
	m.byPower(model.Never, none)
}
