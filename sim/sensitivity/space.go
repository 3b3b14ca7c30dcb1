// Package sensitivity says which parameters of a configuration move an
// objective, by how much and together with which others, and names those that
// do not: Morris screening, Sobol indices, slopes at a chosen point, and the
// interaction of a pair. The formulas and their sources are in
// docs/STATISTICS.md.
//
// Each method is a design, a list of points that the caller runs in any order
// and anywhere, and an analysis of the values that came back. The package must
// not know what is run or what the parameters mean: a point is some weights
// that add up to 1, followed by numbers of the unit interval.
package sensitivity

import (
	"fmt"
	"math"
)

// Space is where points live: the first Weights parts of a point are positive
// or zero and add up to 1, the Boxes after them lie in [0, 1] each.
//
// Weights are compositional: one cannot move without the others. Here a weight
// moves along its own direction, on which the ratios of all other weights stay
// as they are: it is set, and the others are scaled to fill the rest. In
// Aitchison's geometry that is the perturbation by that part alone, the line
// towards its corner of the simplex (Aitchison 1986). The effect of a weight
// is the effect of that move, so weights that act through ratios do not borrow
// the effects of others.
//
// Designs need independent coordinates in the unit cube. The weights are made
// of as many coordinates u by w_i = e_i/Σe, e_i = -ln(1-u_i): uniform
// coordinates give weights spread evenly over the simplex, and moving one
// coordinate moves its weight along its direction.
type Space struct{ Weights, Boxes int }

// Dimensions is the number of coordinates, and of the parts of a point.
func (s Space) Dimensions() int { return s.Weights + s.Boxes }

// Validate refuses a space without coordinates or with a single weight, which
// is always 1.
func (s Space) Validate() error {
	if s.Weights < 0 || s.Boxes < 0 || s.Weights == 1 || s.Dimensions() == 0 {
		return fmt.Errorf("sensitivity: a space of %d weights and %d other parameters; give no weights or at least two, and one parameter at least", s.Weights, s.Boxes)
	}
	return nil
}

// Point is the point at coordinates of [0, 1), one per part. Coordinates that
// are all 0 give equal weights.
func (s Space) Point(coordinates []float64) []float64 {
	out := make([]float64, len(coordinates))
	copy(out, coordinates)
	weights := out[:s.Weights]
	sum := 0.0
	for i, u := range weights {
		weights[i] = -math.Log1p(-u)
		sum += weights[i]
	}
	for i := range weights {
		if sum == 0 {
			weights[i] = 1 / float64(s.Weights)
		} else {
			weights[i] /= sum
		}
	}
	return out
}

// Coordinates are those of a point: of the many that give the same weights,
// the ones whose e_i are 1 on average.
func (s Space) Coordinates(point []float64) []float64 {
	out := make([]float64, len(point))
	copy(out, point)
	for i, w := range out[:s.Weights] {
		out[i] = -math.Expm1(-w * float64(s.Weights))
	}
	return out
}

// Move is the point with part i set to a value of [0, 1]. Other weights keep
// their ratios; from a corner, where the others are all 0, they share the rest
// equally.
func (s Space) Move(point []float64, i int, to float64) []float64 {
	out := make([]float64, len(point))
	copy(out, point)
	if i < s.Weights {
		others := 0.0
		for j, w := range point[:s.Weights] {
			if j != i {
				others += w
			}
		}
		for j := range out[:s.Weights] {
			if others > 0 {
				out[j] = point[j] * (1 - to) / others
			} else {
				out[j] = (1 - to) / float64(s.Weights-1)
			}
		}
	}
	out[i] = to
	return out
}

// check refuses a point that does not lie in the space.
func (s Space) check(point []float64) error {
	if len(point) != s.Dimensions() {
		return fmt.Errorf("sensitivity: a point of %d parts in a space of %d", len(point), s.Dimensions())
	}
	sum := 0.0
	for i, x := range point {
		if !(x >= 0 && x <= 1) {
			return fmt.Errorf("sensitivity: part %d of the point is %v; parts lie in [0, 1]", i, x)
		}
		if i < s.Weights {
			sum += x
		}
	}
	if s.Weights > 0 && math.Abs(sum-1) > 1e-9 {
		return fmt.Errorf("sensitivity: the weights of the point add up to %v; scale them to 1", sum)
	}
	return nil
}

// same refuses values that are not one per point.
func same(values, points int) error {
	if values != points {
		return fmt.Errorf("sensitivity: %d values for a design of %d points; give one per point, in order, NaN for a run without a value", values, points)
	}
	return nil
}
