package sensitivity

import (
	"math"

	"orrery/sim/stat"
)

// rounding is the part of a value below which a difference is that of last
// bits: scaling weights to the sum 1 does not keep those.
const rounding = 1e-12

// Influence is what may be said about a parameter and an objective.
type Influence int

// The influences. The zero value claims nothing.
const (
	Unclear Influence = iota // more runs, or less noise, would tell
	Inert                    // it moves the objective by no more than the noise
	Active                   // it moves the objective by more than the noise
)

func (i Influence) String() string {
	switch i {
	case Inert:
		return "inert"
	case Active:
		return "active"
	default:
		return "unclear"
	}
}

// MarshalText writes the influence in a word.
func (i Influence) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// Influences names inert and active parts from both methods. floor is the
// noise floor of the objective, in its unit: how far apart two runs of equal
// configurations come to lie (stat.Floor). A part is
//
//   - inert when the whole interval of its total index lies within floor²/(2V),
//     V the variance of the objective, and that of its Change within floor;
//   - active when both lie wholly beyond;
//   - unclear otherwise.
//
// Changes of at most floor have a total index of at most floor²/(2V), so the
// first says that 0 is among the values that noise alone explains. Without
// noise the floor is that of rounding, 1e-12 of the mean. A part is
// inert in the space looked at: a weight that acts only in a corner which no
// point reached is called inert too. indices and effects are of one objective
// and one space; without effects (nil) the indices decide alone.
func Influences(indices Indices, effects []Effect, floor float64) []Influence {
	out := make([]Influence, len(indices.Total))
	floor = max(floor, rounding*max(math.Abs(indices.Mean), math.Sqrt(indices.Variance)))
	limit := floor * floor / 2
	for i, total := range indices.Total {
		if indices.Variance == 0 {
			total = stat.Interval{}
		}
		out[i] = InfluenceOf(total.Times(indices.Variance), limit)
		if effects != nil && InfluenceOf(effects[i].Change, floor) != out[i] {
			out[i] = Unclear
		}
	}
	return out
}

// InfluenceOf is the influence by one interval: inert within the limit, active beyond it.
func InfluenceOf(effect stat.Interval, limit float64) Influence {
	switch {
	case effect.High <= limit:
		return Inert
	case effect.Low > limit:
		return Active
	default: // of an unknown interval too
		return Unclear
	}
}
