package search

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Numbers of minimise: pairs of steps that it remembers, the decrease that a step
// must bring as a part of what the slope promises, trials of one step, and the
// relative decrease and the largest slope at which it stops.
const (
	remembered   = 8
	promised     = 1e-4
	halvings     = 20
	leastGain    = 1e-9
	leastIncline = 1e-6
)

// descent is a minimisation in a box by a limited-memory quasi-Newton method whose
// steps are projected onto the box: coordinates at a face that the slope holds
// there take no part in a step. (Nocedal and Wright: Numerical Optimization, 2006,
// algorithms 7.4 and 7.5; Bertsekas: Projected Newton methods for optimization
// problems with simple constraints, 1982.)
//
// gonum's optimize has no bounds, and passes each evaluation from goroutine to
// goroutine, which costs as much as a likelihood of fifty points.
type descent struct {
	f         func(x, gradient []float64) float64
	low, high []float64

	x, gradient []float64
	value       float64
	steps       [][]float64 // the last ones, and what they changed in the gradient
	changes     [][]float64
}

// minimise goes down from x, which must lie in the box, and returns the best point
// and its value. f writes its gradient into the second argument; a value that is
// no number is refused. At most iterations steps are made. It is deterministic.
func minimise(f func(x, gradient []float64) float64, x, low, high []float64, iterations int) ([]float64, float64) {
	d := &descent{f: f, low: low, high: high, x: slices.Clone(x), gradient: make([]float64, len(x))}
	d.value = f(d.x, d.gradient)
	if math.IsNaN(d.value) || math.IsInf(d.value, 0) {
		return d.x, math.Inf(1)
	}
	for range iterations {
		if !d.step() {
			break
		}
	}
	return d.x, d.value
}

// held says that the slope presses coordinate i against a face.
func (d *descent) held(i int) bool {
	return d.x[i] <= d.low[i] && d.gradient[i] > 0 || d.x[i] >= d.high[i] && d.gradient[i] < 0
}

// step makes one step; false says that there is none worth making.
func (d *descent) step() bool {
	free := slices.Clone(d.gradient)
	for i := range free {
		if d.held(i) {
			free[i] = 0
		}
	}
	if floats.Norm(free, math.Inf(1)) < leastIncline {
		return false
	}
	direction := d.direction(free)
	length := 1.0
	if len(d.steps) == 0 {
		length = min(1, 1/floats.Norm(free, 2))
	}
	x, gradient := make([]float64, len(free)), make([]float64, len(free))
	for range halvings {
		for i := range x {
			x[i] = min(max(d.x[i]+length*direction[i], d.low[i]), d.high[i])
		}
		expected := 0.0 // by the slope, within the box
		for i := range x {
			expected += d.gradient[i] * (x[i] - d.x[i])
		}
		value := d.f(x, gradient)
		if value <= d.value+promised*expected && !math.IsInf(value, 0) {
			enough := d.value-value > leastGain*(1+math.Abs(d.value))
			d.take(x, gradient, value)
			return enough
		}
		length *= shorter(value-d.value, expected)
	}
	return false
}

// shorter is by how much to shorten a step: to the lowest point of the parabola
// through what was seen.
func shorter(increase, expected float64) float64 {
	part := -expected / (2 * (increase - expected))
	if !(part > 0.1) { // of no number too
		return 0.1
	}
	return min(part, 0.5)
}

// direction is that of the quasi-Newton step in the free coordinates.
func (d *descent) direction(free []float64) []float64 {
	out := slices.Clone(free)
	weights := make([]float64, len(d.steps))
	for k := len(d.steps) - 1; k >= 0; k-- {
		weights[k] = floats.Dot(d.steps[k], out) / floats.Dot(d.steps[k], d.changes[k])
		floats.AddScaled(out, -weights[k], d.changes[k])
	}
	if k := len(d.steps) - 1; k >= 0 {
		floats.Scale(floats.Dot(d.steps[k], d.changes[k])/floats.Dot(d.changes[k], d.changes[k]), out)
	}
	for k := range d.steps {
		back := floats.Dot(d.changes[k], out) / floats.Dot(d.steps[k], d.changes[k])
		floats.AddScaled(out, weights[k]-back, d.steps[k])
	}
	for i := range out {
		if free[i] == 0 {
			out[i] = 0
		}
	}
	if !(floats.Dot(out, free) > 1e-12*floats.Dot(free, free)) { // no way down
		d.steps, d.changes = nil, nil
		copy(out, free)
	}
	floats.Scale(-1, out)
	return out
}

// take moves to a new point. Steps along which the slope did not grow say nothing
// of the curvature.
func (d *descent) take(x, gradient []float64, value float64) {
	step, change := slices.Clone(x), slices.Clone(gradient)
	floats.Sub(step, d.x)
	floats.Sub(change, d.gradient)
	if floats.Dot(step, change) > 1e-10*floats.Norm(step, 2)*floats.Norm(change, 2) {
		d.steps, d.changes = append(d.steps, step), append(d.changes, change)
		if len(d.steps) > remembered {
			d.steps, d.changes = d.steps[1:], d.changes[1:]
		}
	}
	copy(d.x, x)
	copy(d.gradient, gradient)
	d.value = value
}
