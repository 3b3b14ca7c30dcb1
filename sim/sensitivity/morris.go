package sensitivity

import (
	"fmt"
	"math"

	gonum "gonum.org/v1/gonum/stat"

	"orrery/scheduler/model/draw"
	"orrery/sim/stat"
)

var trajectoryStream = draw.StreamOf("sensitivity.trajectory")

// stride is how far a coordinate moves in one step of a trajectory.
const stride = 0.5

// Morris is a screening design: trajectories through a grid of the unit cube
// on which one coordinate moves at a time (Morris 1991). It costs
// trajectories·(dimensions+1) runs.
type Morris struct {
	space Space
	moved [][]int     // by trajectory and step: the coordinate that moved
	cube  [][]float64 // the points, in coordinates
}

// NewMorris draws a design. The grid has levels places per coordinate, at
// (k+½)/levels so that no weight is exactly 0 or 1, and a step is half the
// range. levels is even, 4 or 8 as a rule; 10 to 50 trajectories are usual. A
// design with more trajectories begins with those of a smaller one.
func NewMorris(space Space, trajectories, levels int, seed uint64) (*Morris, error) {
	if err := space.Validate(); err != nil {
		return nil, err
	}
	if trajectories < 2 || levels < 2 || levels%2 != 0 {
		return nil, fmt.Errorf("sensitivity: %d trajectories on %d levels; give at least 2, and an even number of levels", trajectories, levels)
	}
	m := &Morris{space: space}
	for t := range trajectories {
		source := draw.New(seed, trajectoryStream, uint64(t), 0)
		at := make([]float64, space.Dimensions())
		for i := range at {
			at[i] = (float64(source.IntN(int64(levels))) + 0.5) / float64(levels)
		}
		order := shuffled(space.Dimensions(), &source)
		m.moved = append(m.moved, order)
		m.cube = append(m.cube, append([]float64{}, at...))
		for _, i := range order {
			if at[i] < 0.5 {
				at[i] += stride
			} else {
				at[i] -= stride
			}
			m.cube = append(m.cube, append([]float64{}, at...))
		}
	}
	return m, nil
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
	out := make([][]float64, len(m.cube))
	for i, u := range m.cube {
		out[i] = m.space.Point(u)
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
	// of the objective when the part moves by half its range. It compares with
	// a noise floor.
	Change stat.Interval
	// Count is the number of elementary effects; those with an undefined end
	// are left out.
	Count int
}

// Analyse turns the values of the objective at Points into effects, by part.
func (m *Morris) Analyse(values []float64, s stat.Settings) ([]Effect, error) {
	if err := same(len(values), len(m.cube)); err != nil {
		return nil, err
	}
	d := m.space.Dimensions()
	elementary := make([][]float64, d)
	for t, order := range m.moved {
		for k, i := range order {
			at := t*(d+1) + k
			change := values[at+1] - values[at]
			if stat.Finite(change) {
				elementary[i] = append(elementary[i], change/(m.cube[at+1][i]-m.cube[at][i]))
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
		out[i] = Effect{Mu: stat.Mean(effects), MuStar: interval, Sigma: math.NaN(), Change: interval.Times(stride), Count: len(effects)}
		if len(effects) > 1 {
			out[i].Sigma = gonum.StdDev(effects, nil)
		}
	}
	return out, nil
}
