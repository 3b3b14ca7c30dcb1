package hwmodel

import (
	"errors"
	"fmt"
)

// DeepCap is the cap, as a part of the draw, below which GPUs answer a cap each in their own
// way: at 0.4 to 0.5 of its draw a V100 keeps 0.53 of its speed and an A40 0.35
// (ml-energy/zeus, trace of NSDI 2023).
const DeepCap = 0.6

// CapPoint is a measured speed under a cap.
type CapPoint struct {
	X     float64 // cap ÷ draw of the job without a cap
	Speed float64 // relative to the speed without a cap
}

// CapResponse is the speed of a job under a power cap, relative to its speed without one:
//
//	speed(x) = 1                               for x >= Knee
//	speed(x) = 1 - Steepness · (Knee - x)²     for Floor <= x < Knee
//
// x is the cap ÷ the job's own draw without a cap, both in W; speed is from 0 to 1. A cap acts
// where the draw exceeds it, so x has the draw of the job and not the limit of the card. A
// Table stands in place of the formula where it is there: speed is linear between its points
// and 1 beyond the last one.
//
// The form holds inside one type of GPU. Below DeepCap the band has the half-width DeepError,
// and below Floor, which no measurement reaches, there is no answer. Source of the form: the
// power traces of Zeus (NSDI 2023) on V100 and A40.
type CapResponse struct {
	Knee      float64 // x, 0.5 to 2
	Steepness float64 // per x², 0 to 20
	Table     []CapPoint
	Error     float64 // half-width of the band from DeepCap to the knee, share of the speed without a cap
	DeepError float64 // half-width below DeepCap, never below Error
	Floor     float64 // least x with an answer
}

// Validate says which parameter is outside its range.
func (c CapResponse) Validate() error {
	err := errors.Join(number("error of a cap response", c.Error, 0, 1), number("error of a cap response below 0.6", c.DeepError, c.Error, 1),
		number("least cap ÷ draw", c.Floor, 0, 2))
	if len(c.Table) == 0 {
		return errors.Join(err, number("knee of a cap response", c.Knee, 0.5, 2), number("steepness of a cap response", c.Steepness, 0, 20))
	}
	if c.Knee != 0 || c.Steepness != 0 {
		err = errors.Join(err, errors.New("cap response: found a table beside a knee or a steepness, want one of both"))
	}
	for i, p := range c.Table {
		if i > 0 && p.X <= c.Table[i-1].X {
			err = errors.Join(err, fmt.Errorf("cap response: found cap ÷ draw %v after %v in the table, want ascending values", p.X, c.Table[i-1].X))
		}
		err = errors.Join(err, number("cap ÷ draw in the table", p.X, 0, 10), number("speed in the table", p.Speed, 0, 1))
	}
	if c.Floor < c.Table[0].X {
		err = errors.Join(err, fmt.Errorf("cap response: found the least cap ÷ draw %v below the first of the table, %v", c.Floor, c.Table[0].X))
	}
	return err
}

// Speed is the speed at x = cap ÷ draw; false where x is below Floor or no number.
func (c CapResponse) Speed(x float64) (Band, bool) {
	if !(x > 0) || x < c.Floor {
		return Band{}, false
	}
	v, bound := c.bound(x)
	switch {
	case !bound:
		return exactly(1), true
	case x < DeepCap:
		return around(v, c.DeepError), true
	default:
		return around(v, c.Error), true
	}
}

// bound is the speed at x, and whether the cap acts there.
func (c CapResponse) bound(x float64) (float64, bool) {
	if len(c.Table) == 0 {
		d := c.Knee - x
		return 1 - float64(c.Steepness*float64(d*d)), d > 0
	}
	for i, p := range c.Table {
		switch {
		case x > p.X:
		case x == p.X || i == 0:
			return p.Speed, true
		default:
			before := c.Table[i-1]
			return between(x, before.X, before.Speed, p.X, p.Speed), true
		}
	}
	return 1, false
}
