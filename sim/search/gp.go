package search

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/optimize"
)

// kernel is the Matérn 5/2 covariance with a length scale for each feature and
// independent noise on top:
//
//	k(x, y) = s² (1 + √5 r + 5/3 r²) exp(-√5 r),  r² = Σ ((x_j - y_j)/l_j)²
//
// (Rasmussen and Williams: Gaussian Processes for Machine Learning, 2006, ch. 4.)
type kernel struct {
	inverse []float64 // 1/l of each feature
	signal  float64   // s²
	noise   float64   // variance of the noise
}

// kernelOf reads the logarithms of the length scales, of s² and of the noise.
// A little noise is always there, so that a point told twice does no harm.
func kernelOf(theta []float64) kernel {
	d := len(theta) - 2
	k := kernel{inverse: make([]float64, d), signal: math.Exp(theta[d]), noise: leastNoise + math.Exp(theta[d+1])}
	for j := range d {
		k.inverse[j] = math.Exp(-theta[j])
	}
	return k
}

const leastNoise = 1e-6

// at returns the covariance of two points and the slope by which it grows with
// the length scales: dk/d(ln l_j) = slope ((x_j - y_j)/l_j)².
func (k *kernel) at(x, y []float64) (value, slope float64) {
	r2 := 0.0
	for j, s := range k.inverse {
		d := (x[j] - y[j]) * s
		r2 += d * d
	}
	r := math.Sqrt(5 * r2)
	e := k.signal * math.Exp(-r)
	return e * (1 + r + r*r/3), e * (1 + r) * 5 / 3
}

// matrix is the covariance of the points with noise, in the upper triangle. The
// slopes of at are put into the same places of slopes, unless that is nil.
func (k *kernel) matrix(x [][]float64, slopes []float64) blas64.Symmetric {
	n := len(x)
	m := blas64.Symmetric{N: n, Stride: n, Data: make([]float64, n*n), Uplo: blas.Upper}
	for j := range x {
		row := m.Data[j*n : (j+1)*n]
		row[j] = k.signal + k.noise
		for i := j + 1; i < n; i++ {
			v, slope := k.at(x[i], x[j])
			row[i] = v
			if slopes != nil {
				slopes[j*n+i] = slope
			}
		}
	}
	return m
}

// factorized is the upper Cholesky factor of a covariance, which is left as it is;
// false where it is not positive definite to the precision of the machine. The
// condition number, which mat.Cholesky estimates, is not needed: the noise bounds it.
func factorized(m blas64.Symmetric) (blas64.Triangular, bool) {
	m.Data = slices.Clone(m.Data)
	return lapack64.Potrf(m)
}

// solved is the solution of K x = y by the factor of K.
func solved(u blas64.Triangular, y []float64) []float64 {
	x := slices.Clone(y)
	lapack64.Potrs(u, blas64.General{Rows: len(x), Cols: 1, Stride: 1, Data: x})
	return x
}

// The weak priors on the logarithms of the parameters, for targets of mean 0
// and variance 1: normal with these means and deviations. Length scales are
// centred on a half times the root of the number of features, about the
// distance of two random points of the cube.
const (
	signalMean, signalDeviation = 0, 1
	noiseMean, noiseDeviation   = -7, 2
	lengthDeviation             = 1
)

func lengthMean(features int) float64 { return math.Log(0.5 * math.Sqrt(float64(features))) }

// fit returns the parameters of the greatest posterior density for targets of
// mean 0 and variance 1: maximum likelihood with the weak priors above, by
// L-BFGS from the middle of the priors. (Rasmussen and Williams, section 5.4.1.)
// It costs n³ for each of at most 40 steps, and a few more in line searches.
func fit(x [][]float64, y []float64) kernel {
	d := len(x[0])
	start := make([]float64, d+2)
	for j := range d {
		start[j] = lengthMean(d)
	}
	start[d], start[d+1] = signalMean, noiseMean
	l := &likelihood{x: x, y: y, gradient: make([]float64, d+2)}
	problem := optimize.Problem{
		Func: l.value,
		Grad: func(gradient, theta []float64) {
			l.value(theta)
			copy(gradient, l.gradient)
		},
	}
	settings := optimize.Settings{MajorIterations: 40, FuncEvaluations: 80, GradientThreshold: 1e-3}
	best := start
	// An error is a line search that found nothing better: the best so far stands.
	result, _ := optimize.Minimize(problem, start, &settings, &optimize.LBFGS{})
	if result != nil && result.X != nil && !math.IsInf(result.F, 0) && !math.IsNaN(result.F) {
		best = result.X
	}
	return kernelOf(best)
}

// likelihood is the negative logarithm of the posterior density of parameters
// but for a constant, and its gradient at the last parameters.
type likelihood struct {
	x        [][]float64
	y        []float64
	last     []float64
	cost     float64
	gradient []float64
	slopes   []float64 // scratch
}

func (l *likelihood) value(theta []float64) float64 {
	if same := l.last != nil; same {
		for j := range theta {
			same = same && theta[j] == l.last[j]
		}
		if same {
			return l.cost
		}
	}
	l.last = append(l.last[:0], theta...)
	l.cost = l.compute(theta)
	return l.cost
}

func (l *likelihood) compute(theta []float64) float64 {
	n, d := len(l.x), len(theta)-2
	cost := l.prior(theta)
	k := kernelOf(theta)
	if l.slopes == nil {
		l.slopes = make([]float64, n*n)
	}
	covariance := k.matrix(l.x, l.slopes)
	u, ok := factorized(covariance)
	if !ok {
		return math.Inf(1)
	}
	a := solved(u, l.y)
	logs := 0.0 // of the determinant
	for i := range n {
		logs += 2 * math.Log(u.Data[i*n+i])
	}
	cost += 0.5*floats.Dot(a, l.y) + 0.5*logs
	inverse, ok := lapack64.Potri(u) // in the place of the factor
	if !ok {
		return math.Inf(1)
	}
	// dL/dθ = ½ Σ (K⁻¹ - ααᵀ) dK/dθ, pairs of different points counted twice.
	for i := range n {
		diagonal := 0.5 * (inverse.Data[i*n+i] - a[i]*a[i])
		l.gradient[d] += diagonal * k.signal
		l.gradient[d+1] += diagonal * (k.noise - leastNoise)
		for j := range i {
			w := inverse.Data[j*n+i] - a[i]*a[j]
			l.gradient[d] += w * covariance.Data[j*n+i]
			w *= l.slopes[j*n+i]
			for f, s := range k.inverse {
				step := (l.x[i][f] - l.x[j][f]) * s
				l.gradient[f] += w * step * step
			}
		}
	}
	return cost
}

// prior begins the gradient.
func (l *likelihood) prior(theta []float64) float64 {
	d := len(theta) - 2
	cost := 0.0
	for j := range theta {
		mean, deviation := lengthMean(d), float64(lengthDeviation)
		switch j {
		case d:
			mean, deviation = signalMean, signalDeviation
		case d + 1:
			mean, deviation = noiseMean, noiseDeviation
		}
		z := (theta[j] - mean) / deviation
		cost += 0.5 * z * z
		l.gradient[j] = z / deviation
	}
	return cost
}

// process is a Gaussian process given observations.
type process struct {
	kernel
	x       [][]float64
	y       []float64
	factor  blas64.Triangular
	alpha   []float64
	already []float64 // expected targets at x
}

// condition returns the process given targets y at x. It costs n³/3.
func condition(k kernel, x [][]float64, y []float64) *process {
	p := &process{kernel: k, x: x, y: y, already: make([]float64, len(x))}
	covariance := p.matrix(x, nil)
	var ok bool
	for p.factor, ok = factorized(covariance); !ok; p.factor, ok = factorized(covariance) {
		p.noise *= 10 // points too close for the precision of the machine
		covariance = p.matrix(x, nil)
	}
	p.alpha = solved(p.factor, y)
	for i := range x { // without the noise
		covariance.Data[i*len(x)+i] = p.signal
	}
	blas64.Symv(1, covariance, blas64.Vector{N: len(x), Data: p.alpha, Inc: 1}, 0, blas64.Vector{N: len(x), Data: p.already, Inc: 1})
	return p
}

// mean is the expected target at a point.
func (p *process) mean(at []float64) float64 {
	sum := 0.0
	for i, x := range p.x {
		v, _ := p.at(x, at)
		sum += v * p.alpha[i]
	}
	return sum
}

// belief is what a process expects at a set of points. Believing that one of
// them was observed at its expected value (the kriging believer of Ginsbourger,
// Le Riche, Carraro, 2010) changes no expectation, only variances.
type belief struct {
	process  *process
	at       [][]float64
	mean     []float64
	variance []float64   // of the function, without noise
	rows     [][]float64 // of the inverse root of the covariance times that with the points
}

// expect returns the belief at m points, for n²m steps. At most extra of them
// can be believed later, for nm steps each.
func (p *process) expect(at [][]float64) *belief {
	n, m := len(p.x), len(at)
	b := &belief{process: p, at: at, mean: make([]float64, m), variance: make([]float64, m), rows: make([][]float64, n)}
	flat := blas64.General{Rows: n, Cols: m, Stride: m, Data: make([]float64, n*m)}
	for i, x := range p.x {
		b.rows[i] = flat.Data[i*m : (i+1)*m]
		weight := p.alpha[i]
		for j := range at {
			v, _ := p.kernel.at(x, at[j])
			b.rows[i][j] = v
			b.mean[j] += v * weight
		}
	}
	blas64.Trsm(blas.Left, blas.Trans, 1, p.factor, flat)
	for j := range b.variance {
		b.variance[j] = p.signal
	}
	for _, row := range b.rows {
		for j, v := range row {
			b.variance[j] -= v * v
		}
	}
	return b
}

// believe takes point c as observed at its expected value.
func (b *belief) believe(c int) {
	deviation := math.Sqrt(max(b.variance[c], 0) + b.process.noise)
	row := make([]float64, len(b.at))
	for j := range row {
		v, _ := b.process.kernel.at(b.at[c], b.at[j])
		row[j] = v
	}
	for _, r := range b.rows {
		for j, v := range r {
			row[j] -= r[c] * v
		}
	}
	for j := range row {
		row[j] /= deviation
		b.variance[j] -= row[j] * row[j]
	}
	b.rows = append(b.rows, row)
}

// deviation of the function at point j.
func (b *belief) deviation(j int) float64 { return math.Sqrt(max(b.variance[j], 0)) }
