package synth

import (
	"math"

	"orrery/scheduler/model"
	"orrery/traces/synth/internal/law"
)

// arrivals is one stream of submissions.
type arrivals struct {
	cycle *law.Cycle
	begin int64                      // µs since midnight at which the workload starts
	clock int64                      // of the cycle, at the last arrival, µs
	n     uint64                     // arrivals so far
	gap   func(n uint64) (s float64) // seconds on the clock of the cycle before arrival n
}

// next is the instant of the next arrival, in whole seconds rounded down.
func (a *arrivals) next() model.Time {
	a.clock += int64(math.Round(a.gap(a.n) * 1e6))
	a.n++
	t := model.Time(max(a.cycle.At(a.clock)-a.begin, 0))
	return t - t%model.Time(model.Second)
}

func newArrivals(c *law.Cycle, startHour int, gap func(n uint64) float64) arrivals {
	clock := c.Start(startHour)
	return arrivals{cycle: c, begin: c.At(clock), clock: clock, gap: gap}
}
