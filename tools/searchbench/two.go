package main

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"orrery/sim/search"
)

// front has several objectives, to be made small; a run is judged by the part it
// misses of the volume that the true front dominates up to a reference point.
type front struct {
	name      string
	space     search.Space
	values    func(v []float64) []float64
	reference []float64
	truth     float64
}

// frontOf are the functions of the reference with two and three objectives. The
// volume of ZDT1 and ZDT2 is that above 1-√x and 1-x²; that of DTLZ2 lies outside
// of an eighth of the unit ball.
func frontOf(name string, dimensions int) (front, error) {
	f := front{name: name, space: box(dimensions, 0, 1)}
	for i := range f.space {
		f.space[i].Name = fmt.Sprint("x", i)
	}
	zdt := func(shape func(part float64) float64) func(v []float64) []float64 {
		return func(v []float64) []float64 {
			g := 1 + 9*floats.Sum(v[1:])/float64(len(v)-1)
			return []float64{v[0], g * shape(v[0]/g)}
		}
	}
	switch name {
	case "zdt1":
		f.values, f.reference, f.truth = zdt(func(x float64) float64 { return 1 - math.Sqrt(x) }), []float64{1.1, 7}, 1.1*7-1.0/3
	case "zdt2":
		f.values, f.reference, f.truth = zdt(func(x float64) float64 { return 1 - x*x }), []float64{1.1, 7}, 1.1*7-2.0/3
	case "dtlz2":
		f.values, f.reference, f.truth = dtlz2, []float64{2.5, 2.5, 2.5}, 2.5*2.5*2.5-math.Pi/6
	default:
		return f, fmt.Errorf("function %q of several objectives is not known", name)
	}
	return f, nil
}

// dtlz2 is DTLZ2 with three objectives.
func dtlz2(v []float64) []float64 {
	g := 1.0
	for _, x := range v[2:] {
		g += (x - 0.5) * (x - 0.5)
	}
	a, b := v[0]*math.Pi/2, v[1]*math.Pi/2
	return []float64{g * math.Cos(a) * math.Cos(b), g * math.Cos(a) * math.Sin(b), g * math.Sin(a)}
}

// missed runs a search and returns the part of the volume that it misses.
func (f *front) missed(c search.Config) (float64, error) {
	c.Space = f.space
	for i := range f.reference {
		c.Goal.Objectives = append(c.Goal.Objectives, search.Objective{Metric: fmt.Sprint("f", i), Direction: search.Minimise})
	}
	var costs [][]float64
	err := evaluated(c, func(t search.Trial) map[string]float64 {
		values := f.values(t.Values)
		metrics := map[string]float64{}
		for i, v := range values {
			metrics[c.Goal.Objectives[i].Metric] = v
		}
		costs = append(costs, values)
		return metrics
	})
	if err != nil {
		return 0, err
	}
	volume, err := search.Hypervolume(costs, f.reference)
	return 1 - volume/f.truth, err
}
