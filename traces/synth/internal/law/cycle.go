// Package law has the laws that several generators draw from: the daily cycle of
// submissions, and spans whose logarithm is normal.
package law

import (
	"slices"

	"orrery/scheduler/model"
)

// DaySlots is the number of half hours of a day.
const DaySlots = 48

const (
	slotMicros = int64(1800 * model.Second)
	dayMicros  = DaySlots * slotMicros
)

// Cycle is the daily cycle: arrivals run by a clock of their own, which is
// fast in rush hours and slow at night and makes one day in a day. upTo[i] is
// the time on that clock, in µs, when slot i begins.
type Cycle struct{ upTo [DaySlots + 1]float64 }

// NewCycle makes the cycle of weights by slot, of any positive sum.
func NewCycle(weights [DaySlots]float64) *Cycle {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	c := &Cycle{}
	for i, w := range weights {
		c.upTo[i+1] = c.upTo[i] + float64(w/sum*float64(dayMicros))
	}
	c.upTo[DaySlots] = float64(dayMicros)
	return c
}

// At is the time of day, in µs since midnight of day 0, at which the clock of
// the cycle shows t, and the way back for whole slots is Start.
func (c *Cycle) At(t int64) int64 {
	day, rest := t/dayMicros, float64(t%dayMicros)
	slot := 0
	for slot < DaySlots-1 && c.upTo[slot+1] <= rest {
		slot++
	}
	part := (rest - c.upTo[slot]) / (c.upTo[slot+1] - c.upTo[slot])
	return day*dayMicros + int64(slot)*slotMicros + int64(part*float64(slotMicros))
}

// Start is what the clock of the cycle shows, in µs, at an hour of day 0.
func (c *Cycle) Start(hour int) int64 { return int64(c.upTo[hour*DaySlots/24]) }

// Slots are the µs that pass on the clock of the cycle in each half hour.
func (c *Cycle) Slots() (spans [DaySlots]float64) {
	for i := range spans {
		spans[i] = c.upTo[i+1] - c.upTo[i]
	}
	return spans
}

// Busy is how busy the time of day at an instant, in µs since midnight of day 0, is
// against the busiest: 0 to 1.
func (c *Cycle) Busy(at int64) float64 {
	spans := c.Slots()
	return spans[at%dayMicros/slotMicros] / slices.Max(spans[:])
}
