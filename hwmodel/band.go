// Package hwmodel has the forms of hardware models: how fast a job runs under a power cap, at
// a clock and on a placement, what a restart takes, and how long a part works or is repaired.
// Each is a small value with pure methods. An answer has the range in which it is expected to
// lie, and what is not known is refused. It must not know where parameters come from, what a
// file looks like, or what a scheduler does with an answer.
package hwmodel

import (
	"fmt"
	"math"
)

// Band is a figure with the range in which it is expected to lie, all in one unit.
type Band struct{ Value, Low, High float64 }

// exactly is a figure without doubt.
func exactly(v float64) Band { return Band{v, v, v} }

// within is a figure that may be off by the part half of itself.
func within(v, half float64) Band {
	reach := float64(v * half)
	return Band{v, max(0, v-reach), v + reach}
}

// around is a share of 1 that may be off by half, which is a share of 1 as well.
func around(v, half float64) Band {
	v = min(1, max(0, v))
	return Band{v, max(0, v-half), min(1, v+half)}
}

// Validate says what is wrong with a band of that name.
func (b Band) Validate(name string) error {
	if !finite(b.Value) || !finite(b.Low) || !finite(b.High) || b.Low > b.Value || b.Value > b.High {
		return fmt.Errorf("%s: found %v to %v around %v, want finite numbers with low <= value <= high", name, b.Low, b.High, b.Value)
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// number says what is wrong with a parameter that must lie from low to high.
func number(name string, x, low, high float64) error {
	if !finite(x) || x < low || x > high {
		return fmt.Errorf("%s: found %v, want a number from %v to %v", name, x, low, high)
	}
	return nil
}

// between is the value at x on the line from (x0, y0) to (x1, y1).
func between(x, x0, y0, x1, y1 float64) float64 {
	return y0 + float64((y1-y0)*(x-x0))/(x1-x0)
}
