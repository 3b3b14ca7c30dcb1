package sensitivity

import (
	"fmt"
	"math"
)

// Grid is a design for one pair of parts: all combinations of their
// coordinates, everything else as at a chosen point. It costs side² runs.
type Grid struct {
	side   int
	points [][]float64
}

// NewGrid makes a design of side places per part, at (k+½)/side of the range
// of its coordinate. Coordinates of weights are those of Space: both weights
// can be large together.
func NewGrid(space Space, at []float64, i, j, side int) (*Grid, error) {
	if err := space.Validate(); err != nil {
		return nil, err
	}
	if err := space.check(at); err != nil {
		return nil, err
	}
	if i < 0 || j < 0 || i >= len(at) || j >= len(at) || i == j || side < 2 {
		return nil, fmt.Errorf("sensitivity: a grid of %d by %d over parts %d and %d of %d; give two different parts and a side of 2 or more", side, side, i, j, len(at))
	}
	g := &Grid{side: side}
	for r := range side {
		for c := range side {
			u := space.Coordinates(at)
			u[i], u[j] = (float64(r)+0.5)/float64(side), (float64(c)+0.5)/float64(side)
			g.points = append(g.points, space.Point(u))
		}
	}
	return g, nil
}

// Points are the points to run, row by row: the first part changes from row to
// row, the second within a row.
func (g *Grid) Points() [][]float64 { return g.points }

// Surface is an objective over a grid, taken apart into the mean, what each
// part adds to it whatever the other is, and the rest.
type Surface struct {
	Mean          float64
	First, Second []float64 // added by the first part, by row; by the second, by column
	// Joint is what is left, by row and column: 0 throughout when the two parts
	// act independently.
	Joint [][]float64
	// FirstShare, SecondShare and JointShare are the parts of the variance over
	// the grid; NaN when the objective is the same everywhere.
	FirstShare, SecondShare, JointShare float64
	// LargestJoint is the largest absolute value in Joint, to be held against a
	// noise floor.
	LargestJoint float64
}

// Analyse takes the values of the objective at Points apart (analysis of
// variance of two factors). It is an error when a value is missing: rows and
// columns would no longer be balanced.
func (g *Grid) Analyse(values []float64) (Surface, error) {
	if err := same(len(values), len(g.points)); err != nil {
		return Surface{}, err
	}
	n := g.side
	s := Surface{First: make([]float64, n), Second: make([]float64, n), Joint: make([][]float64, n)}
	for k, y := range values {
		if !finite(y) {
			return Surface{}, fmt.Errorf("sensitivity: the grid has no value at row %d, column %d", k/n, k%n)
		}
		s.Mean += y / float64(n*n)
		s.First[k/n] += y / float64(n)
		s.Second[k%n] += y / float64(n)
	}
	first, second, joint := 0.0, 0.0, 0.0
	for r := range n {
		s.First[r] -= s.Mean
		s.Second[r] -= s.Mean
		first += float64(n) * s.First[r] * s.First[r]
		second += float64(n) * s.Second[r] * s.Second[r]
	}
	for r := range n {
		s.Joint[r] = make([]float64, n)
		for c := range n {
			rest := values[r*n+c] - s.Mean - s.First[r] - s.Second[c]
			s.Joint[r][c] = rest
			joint += rest * rest
			s.LargestJoint = max(s.LargestJoint, math.Abs(rest))
		}
	}
	all := first + second + joint
	s.FirstShare, s.SecondShare, s.JointShare = first/all, second/all, joint/all
	return s, nil
}
