package sensitivity

import (
	"fmt"
	"math"

	gonum "gonum.org/v1/gonum/stat"

	"orrery/scheduler/model/draw"
	"orrery/sim/stat"
)

var trajectoryStream = draw.StreamOf("sensitivity.trajectory")

// margin keeps the coordinates of weights from 0 and 1, at which there is no weight or
// no other.
const margin = 1.0 / 16

// Morris is a screening design: trajectories through a grid of the unit cube
// on which one coordinate moves at a time (Morris 1991). It costs
// trajectories·(dimensions+1) runs.
type Morris struct {
	space  Space
	levels int
	moved  [][]int     // by trajectory and step: the coordinate that moved
	grid   [][]float64 // the points, in parts of the range of each coordinate
}

// NewMorris draws a design. The grid has levels places per coordinate, from one end
// of its range to the other, and a step is p/(2(p-1)) of the range for p levels: 2/3
// for 4, by which each place is as likely as any other. A step of half the range would
// not see what repeats twice in it. levels is even, 4 or 8 as a rule; 10 to 50
// trajectories are usual. A design with more trajectories begins with those of a
// smaller one.
//
// What repeats with the step is not seen all the same: ask SecondLook before a
// parameter is left aside.
func NewMorris(space Space, trajectories, levels int, seed uint64) (*Morris, error) {
	if err := space.Validate(); err != nil {
		return nil, err
	}
	if trajectories < 2 || levels < 2 || levels%2 != 0 {
		return nil, fmt.Errorf("sensitivity: %d trajectories on %d levels; give at least 2, and an even number of levels", trajectories, levels)
	}
	m := &Morris{space: space, levels: levels}
	place := func(level int) float64 { return float64(level) / float64(levels-1) }
	for t := range trajectories {
		source := draw.New(seed, trajectoryStream, uint64(t), 0)
		level := make([]int, space.Dimensions())
		at := make([]float64, space.Dimensions())
		for i := range at {
			level[i] = int(source.IntN(int64(levels)))
			at[i] = place(level[i])
		}
		order := shuffled(space.Dimensions(), &source)
		m.moved = append(m.moved, order)
		m.grid = append(m.grid, append([]float64{}, at...))
		for _, i := range order {
			at[i] = place((level[i] + levels/2) % levels) // up, or down where up is beyond the end
			m.grid = append(m.grid, append([]float64{}, at...))
		}
	}
	return m, nil
}

// point is that at parts of the ranges.
func (m *Morris) point(grid []float64) []float64 {
	u := make([]float64, len(grid))
	for i, g := range grid {
		u[i] = g
		if i < m.space.Weights {
			u[i] = margin + g*m.span(i)
		}
	}
	return m.space.Point(u)
}

// span is the range of a coordinate.
func (m *Morris) span(i int) float64 {
	if i < m.space.Weights {
		return 1 - 2*margin
	}
	return 1
}

// step is how far a coordinate moves at a time.
func (m *Morris) step(i int) float64 {
	return m.span(i) * float64(m.levels/2) / float64(m.levels-1)
}

func shuffled(n int, source *draw.Source) []int {
	out := make([]int, n)
	for i := range out {
		j := source.IntN(int64(i + 1))
		out[i] = out[j]
		out[j] = i
	}
	return out
}

// Points are the points to run, trajectory by trajectory.
func (m *Morris) Points() [][]float64 {
	out := make([][]float64, len(m.grid))
	for i, g := range m.grid {
		out[i] = m.point(g)
	}
	return out
}

// again are the strides of a second look, as parts of the range, around its end; and
// how many trajectories it begins at.
var again = [...]float64{0.25, 0.4}

const lookedAt = 2

// Look is a point of the design with one part elsewhere.
type Look struct {
	From  int // among Points
	Part  int
	Point []float64
}

// SecondLook moves parts that seem to do nothing by two strides that the design has
// not, from the beginnings of its first two trajectories: four runs for each part. What
// changes nothing there either may be left aside.
func (m *Morris) SecondLook(parts []int) []Look {
	var out []Look
	for _, i := range parts {
		for t := range lookedAt {
			from := t * (m.space.Dimensions() + 1)
			for _, stride := range again {
				_, place := math.Modf(m.grid[from][i] + stride)
				out = append(out, Look{from, i, m.point(with(m.grid[from], i, place))})
			}
		}
	}
	return out
}

// Effect is what moving one part does. An elementary effect is the change of
// the objective, divided by how far the coordinate moved: it is in the unit of
// the objective, per whole range of the coordinate.
type Effect struct {
	// Mu is the mean of the elementary effects. Effects of both signs cancel
	// in it.
	Mu float64
	// MuStar is the mean of their absolute values (Campolongo, Cariboni and
	// Saltelli 2007), with its interval over trajectories by Student's t, cut at 0.
	MuStar stat.Interval
	// Sigma is their standard deviation: large beside MuStar when the effect
	// depends on where the others are, or is curved.
	Sigma float64
	// Change is MuStar per step rather than per range: the mean absolute change
	// of the objective when the part moves by a step, two thirds of its range on four
	// levels. It compares with a noise floor.
	Change stat.Interval
	// Count is the number of elementary effects; those with an undefined end
	// are left out.
	Count int
}

// Analyse turns the values of the objective at Points into effects, by part.
func (m *Morris) Analyse(values []float64, s stat.Settings) ([]Effect, error) {
	if err := same(len(values), len(m.grid)); err != nil {
		return nil, err
	}
	d := m.space.Dimensions()
	elementary := make([][]float64, d)
	for t, order := range m.moved {
		for k, i := range order {
			at := t*(d+1) + k
			change := values[at+1] - values[at]
			if stat.Finite(change) {
				elementary[i] = append(elementary[i], change/(m.span(i)*(m.grid[at+1][i]-m.grid[at][i])))
			}
		}
	}
	out := make([]Effect, d)
	for i, effects := range elementary {
		size := make([]float64, len(effects))
		for k, e := range effects {
			size[k] = math.Abs(e)
		}
		interval, err := s.Independent(size)
		if err != nil {
			return nil, err
		}
		interval.Low = max(interval.Low, 0) // sizes are never below it
		out[i] = Effect{Mu: stat.Mean(effects), MuStar: interval, Sigma: math.NaN(), Change: interval.Times(m.step(i)), Count: len(effects)}
		if len(effects) > 1 {
			out[i].Sigma = gonum.StdDev(effects, nil)
		}
	}
	return out, nil
}
