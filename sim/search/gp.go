package search

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"

	"orrery/internal/libm"
)

// kernel is the covariance of a quadratic trend and of deviations from it, with
// independent noise on top. The deviations are Matérn 5/2 with a length scale for each feature,
//
//	k(x, y) = s² (1 + √5 r + 5/3 r²) exp(-√5 r),  r² = Σ ((x_j - y_j)/l_j)²
//
// (Rasmussen and Williams: Gaussian Processes for Machine Learning, 2006, ch. 4.)
// The trend is a sum over the features of t (P₁(x_j) P₁(y_j) + P₂(x_j) P₂(y_j)), with the
// Legendre polynomials of [0, 1] that have a mean square of 1: a prior on the
// coefficients of a quadratic without products (the same book, section 2.7). What a
// parameter does by itself is seen through noise from a few points for each, where
// distances between points say nothing yet.
type kernel struct {
	inverse []float64 // 1/l of each feature
	signal  float64   // s²
	trend   float64   // t, the variance of each coefficient
	noise   float64   // variance of the noise
}

// Places of the logarithms of s², of the noise and of the variance of the trend
// behind those of the length scales, and how many they are.
const (
	signalAt = iota
	noiseAt
	trendAt
	beside
)

// kernelOf reads logarithms. A little noise is always there, so that a point told
// twice does no harm.
func kernelOf(theta []float64) kernel {
	d := len(theta) - beside
	k := kernel{
		inverse: make([]float64, d), signal: libm.Exp(theta[d+signalAt]),
		trend: libm.Exp(theta[d+trendAt]) / float64(2*d), noise: leastNoise + libm.Exp(theta[d+noiseAt]),
	}
	for j := range d {
		k.inverse[j] = libm.Exp(-theta[j])
	}
	return k
}

const leastNoise = 1e-6

// at returns the covariance of two points and the slope of the part by which it grows
// with the length scales: dk/d(ln l_j) = slope ((x_j - y_j)/l_j)².
func (k *kernel) at(x, y []float64) (value, slope float64) {
	r2 := 0.0
	for j, s := range k.inverse {
		d := (x[j] - y[j]) * s
		r2 += d * d
	}
	value, slope = k.matern(r2)
	return value + k.trend*trend(x, y), slope
}

// matern is the Matérn part of at, for a squared distance r².
func (k *kernel) matern(r2 float64) (value, slope float64) {
	r := math.Sqrt(5 * r2)
	e := k.signal * libm.Exp(-r)
	return e * (1 + r + r*r/3), e * (1 + r) * 5 / 3
}

// variance of the function at a point, before anything is told.
func (k *kernel) variance(x []float64) float64 { return k.signal + k.trend*trend(x, x) }

// legendre are P₁ and P₂ of [0, 1], and their slopes.
func legendre(x float64) (p1, p2, slope1, slope2 float64) {
	const root3, root5 = 1.7320508075688772, 2.23606797749979
	z := 2*x - 1
	return root3 * z, root5 * (1.5*z*z - 0.5), 2 * root3, 6 * root5 * z
}

// trend is the sum over the features of P₁P₁ + P₂P₂ at two points.
func trend(x, y []float64) float64 {
	sum := 0.0
	for j := range x {
		a1, a2, _, _ := legendre(x[j])
		b1, b2, _, _ := legendre(y[j])
		sum += a1*b1 + a2*b2
	}
	return sum
}

// matrix is the covariance of the points with noise, in the upper triangle.
func (k *kernel) matrix(x [][]float64) blas64.Symmetric {
	n := len(x)
	m := square(n)
	for j := range x {
		row := m.Data[j*n : (j+1)*n]
		row[j] = k.variance(x[j]) + k.noise
		for i := j + 1; i < n; i++ {
			row[i], _ = k.at(x[i], x[j])
		}
	}
	return m
}

// square is a symmetric matrix of zeros, of which the upper triangle counts.
func square(n int) blas64.Symmetric {
	return blas64.Symmetric{N: n, Stride: n, Data: make([]float64, n*n), Uplo: blas.Upper}
}

// factorized is the upper Cholesky factor of a covariance, which is left as it is;
// false where it is not positive definite to the precision of the machine. The
// condition number, which mat.Cholesky estimates, is not needed: the noise bounds it.
func factorized(m blas64.Symmetric) (blas64.Triangular, bool) {
	m.Data = slices.Clone(m.Data)
	return lapack64.Potrf(m)
}

// vector is a slice for blas64.
func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Data: x, Inc: 1} }

// solved is the solution of K x = y by the factor of K.
func solved(u blas64.Triangular, y []float64) []float64 {
	x := slices.Clone(y)
	blas64.Trsv(blas.Trans, u, vector(x))
	blas64.Trsv(blas.NoTrans, u, vector(x))
	return x
}

// process is a Gaussian process given observations.
type process struct {
	kernel
	warp    warp // what was done to the targets
	x       [][]float64
	y       []float64
	factor  blas64.Triangular
	alpha   []float64
	already []float64 // expected targets at x
}

// condition returns the process given targets y at x. It costs n³/3.
func condition(k kernel, x [][]float64, y []float64) *process {
	p := &process{kernel: k, x: x, y: y, already: make([]float64, len(x))}
	covariance := p.matrix(x)
	var ok bool
	for p.factor, ok = factorized(covariance); !ok; p.factor, ok = factorized(covariance) {
		p.noise *= 10 // points too close for the precision of the machine
		covariance = p.matrix(x)
	}
	p.alpha = solved(p.factor, y)
	for i := range x { // without the noise
		covariance.Data[i*len(x)+i] -= p.noise
	}
	blas64.Symv(1, covariance, vector(p.alpha), 0, vector(p.already))
	return p
}

// covariances are those of a point with the points told, and their slopes.
func (p *process) covariances(at []float64) (values, slopes []float64) {
	values, slopes = make([]float64, len(p.x)), make([]float64, len(p.x))
	for i, x := range p.x {
		values[i], slopes[i] = p.at(x, at)
	}
	return values, slopes
}

// believing is the process after a point has turned out as expected: no
// expectation changes, and variances shrink around it. (The kriging believer of
// Ginsbourger, Le Riche, Carraro: Kriging is well-suited to parallelize
// optimization, 2010.) It costs n².
func (p *process) believing(at []float64) *process {
	n := len(p.x)
	q := *p
	column, _ := p.covariances(at)
	expected := floats.Dot(column, p.alpha)
	blas64.Trsv(blas.Trans, p.factor, vector(column))
	q.factor = blas64.Triangular{N: n + 1, Stride: n + 1, Data: make([]float64, (n+1)*(n+1)), Uplo: blas.Upper, Diag: blas.NonUnit}
	for i := range n {
		copy(q.factor.Data[i*(n+1):], p.factor.Data[i*p.factor.Stride:i*p.factor.Stride+n])
		q.factor.Data[i*(n+1)+n] = column[i]
	}
	q.factor.Data[n*(n+1)+n] = math.Sqrt(max(p.variance(at)+p.noise-floats.Dot(column, column), leastNoise))
	q.x = append(slices.Clip(p.x), at)
	q.y = append(slices.Clip(p.y), expected)
	q.alpha = append(slices.Clip(p.alpha), 0)
	q.already = append(slices.Clip(p.already), expected)
	return &q
}

// belief is what a process expects at a point: mean and standard deviation of the
// function, without noise, and how they change with the features of the point.
type belief struct {
	mean, deviation        float64
	meanSlope, spreadSlope []float64
}

// leastDeviation keeps divisions by a deviation finite.
const leastDeviation = 1e-9

// expect is the belief at a point, for n² steps.
func (p *process) expect(at []float64) belief {
	values, slopes := p.covariances(at)
	solution := solved(p.factor, values)
	b := belief{mean: floats.Dot(values, p.alpha), meanSlope: make([]float64, len(at)), spreadSlope: make([]float64, len(at))}
	b.deviation = math.Sqrt(max(p.variance(at)-floats.Dot(values, solution), leastDeviation*leastDeviation))
	for i, x := range p.x {
		for f, s := range p.inverse {
			_, _, steep1, steep2 := legendre(at[f])
			p1, p2, _, _ := legendre(x[f])
			change := p.trend*(steep1*p1+steep2*p2) - slopes[i]*(at[f]-x[f])*s*s
			b.meanSlope[f] += p.alpha[i] * change
			b.spreadSlope[f] -= solution[i] * change / b.deviation
		}
	}
	for f, x := range at {
		p1, p2, steep1, steep2 := legendre(x)
		b.spreadSlope[f] += p.trend * (steep1*p1 + steep2*p2) / b.deviation
	}
	return b
}

// expectAll are the beliefs at many points, without their slopes, for n² steps each.
func (p *process) expectAll(at [][]float64) []belief {
	n, m := len(p.x), len(at)
	out := make([]belief, m)
	flat := blas64.General{Rows: n, Cols: m, Stride: m, Data: make([]float64, n*m)}
	for i, x := range p.x {
		row := flat.Data[i*m : (i+1)*m]
		for j := range at {
			row[j], _ = p.at(x, at[j])
			out[j].mean += row[j] * p.alpha[i]
		}
	}
	blas64.Trsm(blas.Left, blas.Trans, 1, p.factor, flat)
	variance := make([]float64, m)
	for j := range variance {
		variance[j] = p.variance(at[j])
	}
	for i := range n {
		for j, v := range flat.Data[i*m : (i+1)*m] {
			variance[j] -= v * v
		}
	}
	for j := range out {
		out[j].deviation = math.Sqrt(max(variance[j], leastDeviation*leastDeviation))
	}
	return out
}
