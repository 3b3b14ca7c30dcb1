package hwmodel

import (
	"errors"
	"fmt"

	"orrery/internal/libm"
)

// ClockPoint is a measurement at a clock, relative to the top clock.
type ClockPoint struct{ Clock, Time, Power float64 }

// ClockResponse is the time and the power of a job at a clock, relative to the top clock:
//
//	time(z)  = 1 + Slowdown · max(0, Knee ÷ z - 1)
//	power(z) = Static + (1 - Static) · z^Exponent
//
// z is clock ÷ top clock, from Least to 1. A card that its power limit holds back at the top
// clock loses no time in the first steps down: Knee is below 1 then. A Table stands in place
// of the formulas where it is there, and is linear between its points.
//
// The parameters belong to one card and one kind of work; they are never carried to another
// card. Source of the form: the stage profiles of Perseus (SOSP 2024) on A100.
type ClockResponse struct {
	Slowdown   float64 // 0 to 10
	Knee       float64 // z, 0.1 to 1
	Static     float64 // share of the power that does not depend on the clock, 0 to 1
	Exponent   float64 // 0 to 10
	Table      []ClockPoint
	TimeError  float64 // half-width of the band of the time, part of it
	PowerError float64 // half-width of the band of the power, part of it
	Least      float64 // least z with an answer
}

// Validate says which parameter is outside its range.
func (c ClockResponse) Validate() error {
	err := errors.Join(number("error of the time by clock", c.TimeError, 0, 1), number("error of the power by clock", c.PowerError, 0, 1),
		number("least clock ÷ top clock", c.Least, 0.01, 1))
	if len(c.Table) == 0 {
		return errors.Join(err, number("slowdown by clock", c.Slowdown, 0, 10), number("knee by clock", c.Knee, 0.1, 1),
			number("static share of the power", c.Static, 0, 1), number("exponent of the power by clock", c.Exponent, 0, 10))
	}
	if c.Slowdown != 0 || c.Knee != 0 || c.Static != 0 || c.Exponent != 0 {
		err = errors.Join(err, errors.New("clock response: found a table beside parameters of the formulas, want one of both"))
	}
	for i, p := range c.Table {
		if i > 0 && p.Clock <= c.Table[i-1].Clock {
			err = errors.Join(err, fmt.Errorf("clock response: found clock %v after %v in the table, want ascending values", p.Clock, c.Table[i-1].Clock))
		}
		err = errors.Join(err, number("clock in the table", p.Clock, 0.01, 1), number("time in the table", p.Time, 0, 1000), number("power in the table", p.Power, 0, 10))
	}
	if first, last := c.Table[0].Clock, c.Table[len(c.Table)-1].Clock; c.Least < first || last != 1 {
		err = errors.Join(err, fmt.Errorf("clock response: found a table from %v to %v, want one from the least clock ÷ top clock, %v, to 1", first, last, c.Least))
	}
	return err
}

// Time is the time of the same work at z, relative to the top clock; false outside Least to 1.
func (c ClockResponse) Time(z float64) (Band, bool) {
	if !(z >= c.Least && z > 0 && z <= 1) {
		return Band{}, false
	}
	if len(c.Table) > 0 {
		return within(c.fromTable(z, func(p ClockPoint) float64 { return p.Time }), c.TimeError), true
	}
	return within(1+float64(c.Slowdown*max(0, c.Knee/z-1)), c.TimeError), true
}

// Power is the power at z, relative to the top clock; false outside Least to 1.
func (c ClockResponse) Power(z float64) (Band, bool) {
	if !(z >= c.Least && z > 0 && z <= 1) {
		return Band{}, false
	}
	if len(c.Table) > 0 {
		return within(c.fromTable(z, func(p ClockPoint) float64 { return p.Power }), c.PowerError), true
	}
	raised := libm.Pow(z, c.Exponent) //detlint:inexact its last bit is that of the architecture, as that of draws is
	return within(c.Static+float64((1-c.Static)*raised), c.PowerError), true
}

// fromTable is a column of the table at z, which lies in it.
func (c ClockResponse) fromTable(z float64, column func(ClockPoint) float64) float64 {
	for i, p := range c.Table {
		if z > p.Clock {
			continue
		}
		if z == p.Clock || i == 0 {
			return column(p)
		}
		before := c.Table[i-1]
		return between(z, before.Clock, column(before), p.Clock, column(p))
	}
	return column(c.Table[len(c.Table)-1])
}
