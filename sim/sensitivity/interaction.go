package sensitivity

import (
	"fmt"
	"math"

	"orrery/sim/stat"
)

// Grid is a design for one pair of parts: all combinations of their
// coordinates, everything else as at a chosen point. It costs rows·columns runs.
type Grid struct {
	rows, columns int
	points        [][]float64
}

// NewGrid makes a design in which part i has one place per row and part j one
// per column, at (k+½)/rows and (k+½)/columns of the range of its coordinate: a
// choice of two is a part with two places. Coordinates of weights are those of
// Space: both weights can be large together.
func NewGrid(space Space, at []float64, i, j, rows, columns int) (*Grid, error) {
	if err := space.Validate(); err != nil {
		return nil, err
	}
	if err := space.check(at); err != nil {
		return nil, err
	}
	if i < 0 || j < 0 || i >= len(at) || j >= len(at) || i == j || min(rows, columns) < 2 {
		return nil, fmt.Errorf("sensitivity: a grid of %d by %d over parts %d and %d of %d; give two different parts and sides of 2 or more", rows, columns, i, j, len(at))
	}
	g := &Grid{rows: rows, columns: columns}
	for r := range rows {
		for c := range columns {
			u := space.Coordinates(at)
			u[i], u[j] = Place(r, rows), Place(c, columns)
			g.points = append(g.points, space.Point(u))
		}
	}
	return g, nil
}

// Place is the coordinate of the place k of n, from 0.
func Place(k, n int) float64 { return (float64(k) + 0.5) / float64(n) }

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
	rows, columns := g.rows, g.columns
	s := Surface{First: make([]float64, rows), Second: make([]float64, columns), Joint: make([][]float64, rows)}
	for k, y := range values {
		r, c := k/columns, k%columns
		if !stat.Finite(y) {
			return Surface{}, fmt.Errorf("sensitivity: the grid has no value at row %d, column %d", r, c)
		}
		s.Mean += y / float64(rows*columns)
		s.First[r] += y / float64(columns)
		s.Second[c] += y / float64(rows)
	}
	first, second, joint := 0.0, 0.0, 0.0
	for r := range rows {
		s.First[r] -= s.Mean
		first += float64(columns) * s.First[r] * s.First[r]
	}
	for c := range columns {
		s.Second[c] -= s.Mean
		second += float64(rows) * s.Second[c] * s.Second[c]
	}
	for r := range rows {
		s.Joint[r] = make([]float64, columns)
		for c := range columns {
			rest := values[r*columns+c] - s.Mean - s.First[r] - s.Second[c]
			s.Joint[r][c] = rest
			joint += rest * rest
			s.LargestJoint = max(s.LargestJoint, math.Abs(rest))
		}
	}
	all := first + second + joint
	s.FirstShare, s.SecondShare, s.JointShare = first/all, second/all, joint/all
	return s, nil
}
