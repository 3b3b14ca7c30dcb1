package synth

import (
	"math"

	"orrery/scheduler/model"
)

const (
	daySlots   = 48 // half hours
	slotMicros = int64(1800 * model.Second)
	dayMicros  = daySlots * slotMicros
)

// cycle is the daily cycle: arrivals run by a clock of their own, which is
// fast in rush hours and slow at night and makes one day in a day. upTo[i] is
// the time on that clock, in µs, when slot i begins.
type cycle struct{ upTo [daySlots + 1]float64 }

// newCycle makes the cycle of weights by slot, of any positive sum.
func newCycle(weights [daySlots]float64) *cycle {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	c := &cycle{}
	for i, w := range weights {
		c.upTo[i+1] = c.upTo[i] + float64(w/sum*float64(dayMicros))
	}
	c.upTo[daySlots] = float64(dayMicros)
	return c
}

// at is the time of day, in µs since midnight of day 0, at which the clock of
// the cycle shows t, and the way back for whole slots is start.
func (c *cycle) at(t int64) int64 {
	day, rest := t/dayMicros, float64(t%dayMicros)
	slot := 0
	for slot < daySlots-1 && c.upTo[slot+1] <= rest {
		slot++
	}
	part := (rest - c.upTo[slot]) / (c.upTo[slot+1] - c.upTo[slot])
	return day*dayMicros + int64(slot)*slotMicros + int64(part*float64(slotMicros))
}

// start is what the clock of the cycle shows at an hour of day 0.
func (c *cycle) start(hour int) int64 { return int64(c.upTo[hour*daySlots/24]) }

// arrivals is one stream of submissions.
type arrivals struct {
	cycle *cycle
	begin int64                      // µs since midnight at which the workload starts
	clock int64                      // of the cycle, at the last arrival, µs
	n     uint64                     // arrivals so far
	gap   func(n uint64) (s float64) // seconds on the clock of the cycle before arrival n
}

// next is the instant of the next arrival, in whole seconds rounded down.
func (a *arrivals) next() model.Time {
	a.clock += int64(math.Round(a.gap(a.n) * 1e6))
	a.n++
	t := model.Time(max(a.cycle.at(a.clock)-a.begin, 0))
	return t - t%model.Time(model.Second)
}

func newArrivals(c *cycle, startHour int, gap func(n uint64) float64) arrivals {
	clock := c.start(startHour)
	return arrivals{cycle: c, begin: c.at(clock), clock: clock, gap: gap}
}
