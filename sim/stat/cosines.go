package stat

import "math"

// Cosines puts a standard error on the mean of a series whose values depend on
// the ones before (equal-weighted cosines, EWC: Müller 2007; Lazarus, Lewis, Stock
// and Watson 2018). It is prepared for series of one length and then costs n·B
// multiplications a series without allocating. At is its law: how probable a ratio
// of the mean to that error is.
//
// With x(0) to x(n-1) in the order of time and j from 1 to B,
//
//	Λ(j) = √(2/n) · Σ x(t)·cos(πj(t+½)/n)
//	SE²  = (Λ(1)² + ... + Λ(B)²) / (B·n)
//
// Each Λ sees only slow changes of the series. Their mean square is therefore
// near n times the variance of the mean, whatever the dependence of neighbours,
// while the usual variance of single values is not.
type Cosines struct {
	waves [][]float64 // by cosine, then place
}

// mostCosines bounds the work on long series: with 64 the law is all but normal.
const mostCosines = 64

// cosinesOf is B for n values: 0.55·n^⅔ rounded down, at least 2 and at most 64.
// More cosines make a shorter interval and see less of the dependence, so their part
// falls as series grow. The power of n is that of Lazarus and others, who take 0.4;
// with the law of At somewhat more keeps the coverage of docs/STATISTICS.md in its
// bounds at 8 to 64 windows.
func cosinesOf(n int) int {
	b := int(0.55 * math.Cbrt(float64(n)*float64(n)))
	return min(max(b, 2), mostCosines, n-1)
}

// NewCosines prepares for series of n values, at least 2. Cost: n·B.
func NewCosines(n int) *Cosines {
	if n < 2 {
		panic("stat: NewCosines needs series of at least 2 values")
	}
	b := cosinesOf(n)
	c := &Cosines{}
	for j := 1; j <= b; j++ {
		wave := make([]float64, n)
		for t := range wave {
			wave[t] = math.Sqrt(2/float64(n)) * math.Cos(math.Pi*float64(j)*(float64(t)+0.5)/float64(n))
		}
		c.waves = append(c.waves, wave)
	}
	return c
}

// variance of Σ a(t)·x(t) for an autoregressive series x of variance 1.
func variance(a []float64, phi float64) float64 {
	sum, before := 0.0, 0.0 // before is Σ φ^(t-s)·a(s) over s < t
	for _, x := range a {
		sum += x * (x + 2*before)
		before = phi * (before + x)
	}
	return sum
}

// StandardError is that of the mean of values, which are as many as NewCosines
// was told, in the order of time. A constant added to all changes nothing.
func (c *Cosines) StandardError(values []float64) float64 {
	sum := 0.0
	for _, wave := range c.waves {
		lambda := 0.0
		for t, x := range values[:len(wave)] {
			lambda += x * wave[t]
		}
		sum += lambda * lambda
	}
	return math.Sqrt(sum / float64(len(c.waves)*len(values)))
}

// Law says how probable a ratio of the mean of a series to its standard error by
// Cosines is, for series of one length and one dependence.
type Law struct {
	// ratio is by cosine: the variance of Λ(j), as a part of n times the variance
	// of the mean, divided by B.
	ratio []float64
}

// At is the law of normal autoregressive series of that φ, from 0 to 0.9. Cost: n·B
// multiplications.
func (c *Cosines) At(phi float64) *Law {
	n := len(c.waves[0])
	level := make([]float64, n) // the mean as a wave: Σ x/√n
	for t := range level {
		level[t] = 1 / math.Sqrt(float64(n))
	}
	of := variance(level, phi) * float64(len(c.waves))
	law := &Law{}
	for _, wave := range c.waves {
		law.ratio = append(law.ratio, variance(wave, phi)/of)
	}
	return law
}

// places of the midpoint rule. The integrand of P is smooth and periodic, so that
// few suffice.
const places = 64

// inverseSquares are 1/sin² at the places of the integral of P.
var inverseSquares = func() (out [places]float64) {
	for k := range out {
		sine := math.Sin((float64(k) + 0.5) / places * math.Pi / 2)
		out[k] = 1 / (sine * sine)
	}
	return out
}()

// P is how probable a ratio of the mean to its standard error at least as far
// from 0 as t is when the true mean is 0: its two-sided p-value. It is 1 at 0
// and falls with |t|.
//
// For a normal autoregressive series the ratio is that of independent normals,
// √v₀·Z₀ to √(Σ rⱼZⱼ²), and with Craig's integral for the normal tail (Craig 1991)
//
//	P = 2/π ∫ Π (1 + t²rⱼ/sin²θ)^-½ dθ   over 0 < θ < π/2
//
// where rⱼ is the variance of Λ(j), as a part of n times that of the mean, by B.
// Without dependence this is Student's t with B degrees of freedom.
func (l *Law) P(t float64) float64 {
	switch {
	case math.IsNaN(t):
		return math.NaN()
	case t == 0:
		return 1
	}
	var scaled [mostCosines]float64
	for j, r := range l.ratio {
		scaled[j] = t * t * r
	}
	sum := 0.0
	for _, inverse := range inverseSquares {
		product := 1.0
		for _, r := range scaled[:len(l.ratio)] {
			product *= 1 + r*inverse
		}
		sum += 1 / math.Sqrt(product)
	}
	return min(sum/places, 1)
}

// Quantile is the t whose P is p, in (0, 1): the number of standard errors on
// either side of a mean that make an interval of confidence 1-p.
func (l *Law) Quantile(p float64) float64 {
	low, high := 0.0, 1.0
	for l.P(high) > p {
		low, high = high, 2*high
	}
	for range 60 {
		if mid := low + (high-low)/2; l.P(mid) > p {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}
