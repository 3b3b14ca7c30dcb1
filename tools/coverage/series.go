package main

import (
	"math"

	"orrery/internal/libm"
	"orrery/scheduler/model/draw"
)

// windows are the columns of most tables.
var windows = []int{8, 12, 20, 40, 64}

// maker fills x with a series of mean 0 in which values lean on those before by phi.
type maker func(x []float64, phi float64, source *draw.Source)

// burnIn is how many values an autoregressive series makes before those that count.
const burnIn = 40

// innovations is an autoregressive series with shocks of a shape.
func innovations(shock func(*draw.Source) float64) maker {
	return func(x []float64, phi float64, source *draw.Source) {
		value := 0.0
		for i := -burnIn; i < len(x); i++ {
			value = phi*value + shock(source)
			if i >= 0 {
				x[i] = value
			}
		}
	}
}

// marginal is a series whose values have a shape, and whose order comes from a
// normal autoregressive series (a Gaussian copula).
func marginal(of func(z float64) float64) maker {
	return func(x []float64, phi float64, source *draw.Source) {
		lean(x, phi, source)
		for i, z := range x {
			x[i] = of(z)
		}
	}
}

// lean is a normal autoregressive series of variance 1.
func lean(x []float64, phi float64, source *draw.Source) {
	z, step := source.Normal(), math.Sqrt(1-phi*phi)
	for i := range x {
		x[i] = z
		z = phi*z + step*source.Normal()
	}
}

// lognormal has the deviation sigma of its logarithm, less its mean.
func lognormal(sigma float64) func(z float64) float64 {
	mean := libm.Exp(sigma * sigma / 2)
	return func(z float64) float64 { return libm.Exp(sigma*z) - mean }
}

// pareto is that of shape 1.5 and mean 3, whose variance is infinite, by the
// probability of a larger value.
func pareto(u float64) float64 { return math.Cbrt(1/(u*u)) - 3 }

// upper is the probability of a larger normal value.
func upper(z float64) float64 { return libm.Erfc(z/math.Sqrt2) / 2 }

// difference of two independent series.
func difference(of maker) maker {
	return func(x []float64, phi float64, source *draw.Source) {
		of(x, phi, source)
		other := make([]float64, len(x))
		of(other, phi, source)
		for i := range x {
			x[i] -= other[i]
		}
	}
}

// kinds of series, with the two ways in which values that are not normal may lean
// on each other.
var kinds = []struct {
	name                  string
	innovations, marginal maker
}{
	{"normal", innovations((*draw.Source).Normal), nil},
	{"lognormal, σ 0.5", innovations(func(s *draw.Source) float64 { return lognormal(0.5)(s.Normal()) }), marginal(lognormal(0.5))},
	{"lognormal, σ 0.8", innovations(func(s *draw.Source) float64 { return lognormal(0.8)(s.Normal()) }), marginal(lognormal(0.8))},
	{"difference of two Pareto(1.5)", innovations(func(s *draw.Source) float64 { return pareto(s.Open()) - pareto(s.Open()) }), difference(marginal(func(z float64) float64 { return pareto(upper(z)) }))},
	{"Pareto(1.5)", innovations(func(s *draw.Source) float64 { return pareto(s.Open()) }), marginal(func(z float64) float64 { return pareto(upper(z)) })},
}
