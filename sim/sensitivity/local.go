package sensitivity

import (
	"fmt"
	"math"

	"orrery/sim/stat"
)

// clearance is how many noise floors a difference must exceed before a slope is
// read from it.
const clearance = 2

// Local is a design around one point: each part moves down and up by steps of
// a ladder, one part at a time. It costs 1 + 2·dimensions·steps runs at most;
// moves out of [0, 1] are left out.
type Local struct {
	space  Space
	at     []float64
	points [][]float64
	moves  [][]move // by part, then step, smallest first
}

// move are the two points of a step: their indices, 0 (the chosen point)
// where the move would leave the range, and how far they are apart.
type move struct {
	step, width float64
	down, up    int
}

// NewLocal makes a design around a point. steps are in parts of the range
// (0.05 moves a weight of 0.20 to 0.15 and 0.25), positive and rising.
func NewLocal(space Space, at, steps []float64) (*Local, error) {
	if err := space.Validate(); err != nil {
		return nil, err
	}
	if err := space.check(at); err != nil {
		return nil, err
	}
	last := 0.0
	for _, h := range steps {
		if !(h > last && h <= 0.5) {
			return nil, fmt.Errorf("sensitivity: steps %v; give rising numbers above 0 and up to 0.5", steps)
		}
		last = h
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("sensitivity: no steps; give some, such as 0.01, 0.02, 0.05 and 0.1")
	}
	l := &Local{space: space, at: at, points: [][]float64{at}, moves: make([][]move, len(at))}
	for i, x := range at {
		for _, h := range steps {
			m := move{step: h}
			if x-h >= 0 {
				m.down, m.width = l.add(space.Move(at, i, x-h)), h
			}
			if x+h <= 1 {
				m.up, m.width = l.add(space.Move(at, i, x+h)), m.width+h
			}
			l.moves[i] = append(l.moves[i], m)
		}
	}
	return l, nil
}

func (l *Local) add(point []float64) int {
	l.points = append(l.points, point)
	return len(l.points) - 1
}

// Points are the points to run; the first is the chosen one.
func (l *Local) Points() [][]float64 { return l.points }

// Slope is how the objective changes with one part at the chosen point.
type Slope struct {
	// Slope is in the unit of the objective per whole range of the part: with
	// 40, raising a weight by 0.05 adds about 2.
	Slope float64
	// Noise is how far the slope may be off for no reason but noise: the floor
	// divided by the distance of the two points.
	Noise float64
	// Curvature is the second derivative, in the unit of the objective per
	// range squared; NaN at an edge, where one side is missing.
	Curvature float64
	// Step is the one the figures are of; 0 when no run had a value.
	Step float64
	// Clear says that the difference exceeds twice the noise floor. A slope
	// that is not clear is none.
	Clear bool
}

// Analyse turns the values of the objective at Points into slopes, by part.
// The step is scaled to the noise: each slope is read at the smallest step
// whose two ends differ by more than twice floor, the noise floor of the
// objective in its unit, and at the largest when none do. Small steps are true
// to the point, large ones stand out of the noise.
func (l *Local) Analyse(values []float64, floor float64) ([]Slope, error) {
	if err := same(len(values), len(l.points)); err != nil {
		return nil, err
	}
	out := make([]Slope, len(l.moves))
	for i, ladder := range l.moves {
		out[i] = Slope{Slope: math.NaN(), Noise: math.NaN(), Curvature: math.NaN()}
		for _, m := range ladder {
			change := values[m.up] - values[m.down]
			if !stat.Finite(change) {
				continue
			}
			out[i] = m.read(values, floor)
			if out[i].Clear {
				break
			}
		}
	}
	return out, nil
}

// read is the slope at one step.
func (m move) read(values []float64, floor float64) Slope {
	change := values[m.up] - values[m.down]
	least := max(clearance*floor, rounding*math.Abs(values[m.up]))
	s := Slope{Slope: change / m.width, Noise: floor / m.width, Curvature: math.NaN(), Step: m.step, Clear: math.Abs(change) > least}
	if m.up != 0 && m.down != 0 && stat.Finite(values[0]) {
		s.Curvature = (values[m.up] - 2*values[0] + values[m.down]) / (m.step * m.step)
	}
	return s
}
