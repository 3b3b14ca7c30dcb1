package search

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"

	"orrery/internal/libm"
)

// The priors on the parameters, for targets of mean 0 and variance 1. Logarithms of
// the length scales, of s² and of the variance of the trend are normal with these means
// and deviations; length scales are centred on a half times the root of the number of
// features, about the distance of two random points of the cube, so that more features
// do not make a process more wiggly. (Hvarfner, Hellsten, Nardi: Vanilla Bayesian
// optimization performs great in high dimensions, 2024.) The density of the variance v
// of the noise goes as v^0.1 e^(-30v): about even up to a thirtieth of that of the
// targets, and falling off beyond.
const (
	lengthDeviation             = 1
	signalMean, signalDeviation = 0, 1
	trendMean, trendDeviation   = -1, 2
	noiseShape, noiseRate       = 0.1, 30
)

func lengthMean(features int) float64 { return math.Log(0.5 * math.Sqrt(float64(features))) }

// Where the search for parameters begins, with little noise and with much, and
// which bounds it keeps, all of logarithms; and the steps it makes.
const (
	quiet, loud           = -7, -1
	leastLog, greatestLog = -14, 7
	fitSteps              = 40
)

// likelihood is the negative logarithm of the posterior density of parameters given
// targets at points, but for a constant.
type likelihood struct {
	y        []float64
	features int
	squares  []float64 // (x_i - x_j)² by pair i < j, then feature
	trends   []float64 // of i and j, by row
	matern   []float64 // scratch, by row: what kernel.matern says
	slopes   []float64
}

func newLikelihood(x [][]float64) *likelihood {
	n, d := len(x), len(x[0])
	l := &likelihood{features: d, squares: make([]float64, 0, n*(n-1)/2*d), trends: make([]float64, n*n), matern: make([]float64, n*n), slopes: make([]float64, n*n)}
	for i := range n {
		l.trends[i*n+i] = trend(x[i], x[i])
		for j := i + 1; j < n; j++ {
			l.trends[i*n+j] = trend(x[i], x[j])
			for f := range d {
				step := x[i][f] - x[j][f]
				l.squares = append(l.squares, step*step)
			}
		}
	}
	return l
}

// start are parameters in the middle of the priors, with some noise.
func (l *likelihood) start(noise float64) []float64 {
	theta := slices.Repeat([]float64{lengthMean(l.features)}, l.features)
	return append(theta, signalMean, noise, trendMean)
}

// fit returns the logarithms of the parameters of the greatest posterior density
// for targets of mean 0 and variance 1, and the negative logarithm of that density,
// from some starts. (Rasmussen and Williams, section 5.4.1.) It costs n³ for each of at
// most 40 steps from each start.
func (l *likelihood) fit(y []float64, starts ...[]float64) (theta []float64, cost float64) {
	l.y = y
	n := l.features + beside
	low, high := slices.Repeat([]float64{leastLog}, n), slices.Repeat([]float64{greatestLog}, n)
	cost = math.Inf(1)
	for _, start := range starts {
		got, c := minimise(l.value, start, low, high, fitSteps)
		if theta == nil || c < cost {
			theta, cost = got, c
		}
	}
	return theta, cost
}

// value is the cost of parameters; its gradient is written.
func (l *likelihood) value(theta, gradient []float64) float64 {
	n := len(l.y)
	cost := l.prior(theta, gradient)
	k := kernelOf(theta)
	u, ok := lapack64.Potrf(l.covariance(&k))
	if !ok {
		return math.Inf(1)
	}
	a := solved(u, l.y)
	cost += 0.5 * floats.Dot(a, l.y)
	for i := range n {
		cost += math.Log(u.Data[i*n+i]) // half of the determinant's
	}
	inverse, ok := lapack64.Potri(u) // in the place of the factor
	if !ok {
		return math.Inf(1)
	}
	l.descend(&k, inverse.Data, a, gradient)
	return cost
}

// covariance of the points with noise.
func (l *likelihood) covariance(k *kernel) blas64.Symmetric {
	n, d := len(l.y), l.features
	weights := make([]float64, d)
	for f, s := range k.inverse {
		weights[f] = s * s
	}
	m := square(n)
	squares := l.squares
	for i := range n {
		m.Data[i*n+i] = k.signal + k.noise + k.trend*l.trends[i*n+i]
		for at := i*n + i + 1; at < (i+1)*n; at++ {
			l.matern[at], l.slopes[at] = k.matern(floats.Dot(weights, squares[:d]))
			m.Data[at] = l.matern[at] + k.trend*l.trends[at]
			squares = squares[d:]
		}
	}
	return m
}

// descend adds to the gradient what the data say, of the inverse of the covariance
// and a, its product with the targets: dL/dθ = ½ Σ (K⁻¹ - aaᵀ) dK/dθ, pairs of different
// points counted twice.
func (l *likelihood) descend(k *kernel, inverse, a, gradient []float64) {
	n, d := len(l.y), l.features
	byLength, squares := make([]float64, d), l.squares
	signal, byTrend, noise := 0.0, 0.0, 0.0
	for i := range n {
		diagonal := 0.5 * (inverse[i*n+i] - a[i]*a[i])
		signal += diagonal * k.signal
		noise += diagonal * (k.noise - leastNoise)
		byTrend += diagonal * l.trends[i*n+i]
		for j := i + 1; j < n; j++ {
			w := inverse[i*n+j] - a[i]*a[j]
			signal += w * l.matern[i*n+j]
			byTrend += w * l.trends[i*n+j]
			floats.AddScaled(byLength, w*l.slopes[i*n+j], squares[:d])
			squares = squares[d:]
		}
	}
	for f, s := range k.inverse {
		gradient[f] += s * s * byLength[f]
	}
	gradient[d+signalAt] += signal
	gradient[d+noiseAt] += noise
	gradient[d+trendAt] += byTrend * k.trend
}

// prior is the part of the cost that the priors have; it begins the gradient.
func (l *likelihood) prior(theta, gradient []float64) float64 {
	d := l.features
	cost := 0.0
	normal := func(j int, mean, deviation float64) {
		z := (theta[j] - mean) / deviation
		cost += 0.5 * z * z
		gradient[j] = z / deviation
	}
	for j := range d {
		normal(j, lengthMean(d), lengthDeviation)
	}
	normal(d+signalAt, signalMean, signalDeviation)
	normal(d+trendAt, trendMean, trendDeviation)
	noise := noiseRate * libm.Exp(theta[d+noiseAt])
	gradient[d+noiseAt] = noise - noiseShape
	return cost + noise - noiseShape*theta[d+noiseAt]
}
