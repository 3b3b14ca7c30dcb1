package main

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize/functions"

	"orrery/internal/libm"
	"orrery/scheduler/model/draw"
	"orrery/sim/search"
)

// function is something to be made small: its space, its true value at a point of
// it, the least value there is, and the standard deviation of the normal noise on
// what a search is told.
type function struct {
	name  string
	space search.Space
	value func(v []float64) float64
	least float64
	noise float64
}

// box is d coordinates from low to high.
func box(d int, low, high float64) search.Space {
	var s search.Space
	for i := range d {
		s = append(s, search.Parameter{Name: string(rune('a' + i)), Kind: search.Real, Low: low, High: high})
	}
	return s
}

// noiseOf is the deviation of the noise on the noisy sphere.
const noiseOf = 5

// moved are the functions of the reference whose minimum can be moved: points u of
// the unit cube, z = 10 (u - shift), minimum 0 at z = 0.
var moved = []struct {
	name  string
	noise float64
	of    func(z []float64) float64
}{
	{"sphere", 0, functions.Sphere{}.Func},
	{"rosenbrock", 0, rosenbrock},
	{"ackley", 0, ackley},
	{"rastrigin", 0, rastrigin},
	{"noisysphere", noiseOf, functions.Sphere{}.Func},
}

// rosenbrock is Rosenbrock's valley with the minimum moved from (1, 1, …) to 0.
func rosenbrock(z []float64) float64 {
	x := make([]float64, len(z))
	for i := range z {
		x[i] = z[i] + 1
	}
	return functions.ExtendedRosenbrock{}.Func(x)
}

func ackley(z []float64) float64 {
	squares, waves, n := 0.0, 0.0, float64(len(z))
	for _, x := range z {
		squares += x * x / n
		waves += math.Cos(2*math.Pi*x) / n
	}
	return 20 + math.E - 20*libm.Exp(-0.2*math.Sqrt(squares)) - libm.Exp(waves)
}

func rastrigin(z []float64) float64 {
	sum := 0.0
	for _, x := range z {
		sum += x*x - 10*math.Cos(2*math.Pi*x) + 10
	}
	return sum
}

// at is one of the moved functions with its minimum at a point of the cube.
func at(shift []float64, of func(z []float64) float64) func(v []float64) float64 {
	return func(v []float64) float64 {
		z := make([]float64, len(v))
		for i := range z {
			z[i] = 10 * (v[i] - shift[i])
		}
		return of(z)
	}
}

// weighted is Σ scale (w - planted)² of weights w.
func weighted(planted, scale []float64) func(w []float64) float64 {
	return func(w []float64) float64 {
		sum := 0.0
		for i := range w {
			sum += scale[i] * (w[i] - planted[i]) * (w[i] - planted[i])
		}
		return sum
	}
}

// shares are the weights at a point of the unit cube: exponential variables, scaled
// to the sum 1.
func shares(u []float64) []float64 {
	w, sum := make([]float64, len(u)), 0.0
	for i, x := range u {
		w[i] = -math.Log1p(-min(x, 1-1e-9))
		sum += w[i]
	}
	if sum == 0 {
		return slices.Repeat([]float64{1 / float64(len(u))}, len(u))
	}
	floats.Scale(1/sum, w)
	return w
}

// others are functions of which the reference has no figures: none of them was
// looked at while the methods were worked on. The seed moves those that can be
// moved, to a minimum that is anywhere in the inner eight tenths of each side.
func others(seed uint64) []function {
	source := draw.New(seed, draw.StreamOf("searchbench.shift"), 0, 0)
	var out []function
	for _, m := range moved {
		shift := make([]float64, 6)
		for i := range shift {
			shift[i] = 0.1 + 0.8*source.Float64()
		}
		out = append(out, function{name: m.name, space: box(6, 0, 1), value: at(shift, m.of), noise: m.noise})
	}
	styblinski := func(x []float64) float64 {
		sum := 0.0
		for _, v := range x {
			sum += (v*v*v*v - 16*v*v + 5*v) / 2
		}
		return sum
	}
	return append(out,
		function{name: "hartmann", space: box(6, 0, 1), value: hartmann, least: -3.32236801141551},
		function{name: "noisyhartmann", space: box(6, 0, 1), value: hartmann, least: -3.32236801141551, noise: 0.2},
		function{name: "levy", space: box(8, -10, 10), value: levy},
		function{name: "styblinski", space: box(5, -5, 5), value: styblinski, least: -39.16616570377142 * 5},
		function{name: "griewank", space: box(6, -40, 60), value: griewank},
		function{name: "wood", space: box(4, -2, 3), value: functions.Wood{}.Func},
		function{name: "powell", space: box(4, -4, 5), value: powell},
		function{name: "helical", space: box(3, -3, 3), value: functions.HelicalValley{}.Func},
		function{name: "branin", space: search.Space{{Name: "a", Kind: search.Real, Low: -5, High: 10}, {Name: "b", Kind: search.Real, High: 15}},
			value: functions.BraninHoo{}.Func, least: 0.397887357729739},
		mixed(&source))
}

// hartmann is Hartmann's function of six variables.
func hartmann(x []float64) float64 {
	alpha := []float64{1, 1.2, 3, 3.2}
	a := [][]float64{{10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, 0.05, 10, 0.1, 14}}
	p := [][]float64{{1312, 1696, 5569, 124, 8283, 5886}, {2329, 4135, 8307, 3736, 1004, 9991}, {2348, 1451, 3522, 2883, 3047, 6650}, {4047, 8828, 8732, 5743, 1091, 381}}
	sum := 0.0
	for i := range alpha {
		inner := 0.0
		for j := range x {
			d := x[j] - p[i][j]*1e-4
			inner += a[i][j] * d * d
		}
		sum -= alpha[i] * libm.Exp(-inner)
	}
	return sum
}

// levy is Levy's function.
func levy(x []float64) float64 {
	w := func(i int) float64 { return 1 + (x[i]-1)/4 }
	sine := func(x float64) float64 { return libm.Pow(math.Sin(math.Pi*x), 2) }
	last := len(x) - 1
	sum := sine(w(0)) + (w(last)-1)*(w(last)-1)*(1+sine(2*w(last)))
	for i := range last {
		sum += (w(i) - 1) * (w(i) - 1) * (1 + 10*libm.Pow(math.Sin(math.Pi*w(i)+1), 2))
	}
	return sum
}

func griewank(x []float64) float64 {
	product := 1.0
	for i, v := range x {
		product *= math.Cos(v / math.Sqrt(float64(i+1)))
	}
	return floats.Dot(x, x)/4000 - product + 1
}

// powell is Powell's singular function of four variables.
func powell(x []float64) float64 {
	a, b, c, d := x[0]+10*x[1], x[2]-x[3], x[1]-2*x[2], x[0]-x[3]
	return a*a + 5*b*b + libm.Pow(c, 4) + 10*libm.Pow(d, 4)
}

// mixed has weights, numbers and a choice, as a profile has: the cost is 0 at a
// planted point.
func mixed(source *draw.Source) function {
	space := search.Space{
		{Name: "weights", Kind: search.Simplex, Parts: []string{"a", "b", "c", "d", "e"}},
		{Name: "depth", Kind: search.Integer, Low: 1, High: 1000, Log: true},
		{Name: "half-life", Kind: search.Real, Low: 3600, High: 30 * 86400, Log: true},
		{Name: "backfill", Kind: search.Choice, Choices: []string{"p", "q", "r"}},
	}
	u := make([]float64, space.Dim())
	for i := range u {
		u[i] = 0.1 + 0.8*source.Float64()
	}
	planted := space.FromUnit(u)
	weights := weighted(planted[:5], []float64{1, 3, 1, 2, 5})
	return function{name: "mixed", space: space, value: func(v []float64) float64 {
		sum := weights(v[:5]) + 0.05*math.Abs(math.Log(v[5]/planted[5])) + 0.1*libm.Pow(math.Log(v[6]/planted[6]), 2)
		if v[7] != planted[7] {
			sum += 0.5
		}
		return sum
	}}
}
