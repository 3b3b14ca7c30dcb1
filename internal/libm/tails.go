package libm

import "math"

// NormalCDF is the share of the standard normal distribution below x.
func NormalCDF(x float64) float64 { return float64(0.5 * Erfc(-x/math.Sqrt2)) }

// StudentSurvival is the share of Student's t distribution with nu > 0 degrees of freedom above t.
func StudentSurvival(t, nu float64) float64 {
	tail := float64(0.5 * incompleteBeta(nu/2, 0.5, nu/(float64(t*t)+nu)))
	if t < 0 {
		return 1 - tail
	}
	return tail
}

// StudentQuantile is the t below which the share p of Student's t distribution lies.
func StudentQuantile(p, nu float64) float64 {
	tail := min(p, 1-p)
	switch {
	case tail == 0.5:
		return 0
	case !(tail > 0):
		return math.Inf(int(math.Copysign(1, p-0.5)))
	}
	x := invert(0, 1, func(x float64) bool { return incompleteBeta(nu/2, 0.5, x) >= float64(2*tail) })
	return math.Copysign(math.Sqrt(float64(nu*(1-x))/x), p-0.5)
}

// FSurvival is the share of the F distribution with d1 and d2 degrees of freedom above x >= 0.
func FSurvival(x, d1, d2 float64) float64 {
	return incompleteBeta(d2/2, d1/2, d2/(float64(d1*x)+d2))
}

// ChiSquaredQuantile is the x below which the share p of the chi-squared distribution with k degrees of freedom lies.
func ChiSquaredQuantile(p, k float64) float64 {
	high := k + 1
	below := func(x float64) bool { return incompleteGamma(k/2, x/2) >= p }
	for !below(high) && high < 1e300 {
		high = float64(2 * high)
	}
	return invert(0, high, below)
}

// invert is the least x from low on at which an ascending condition holds, to the last bit.
func invert(low, high float64, holds func(float64) bool) float64 {
	a, b := math.Float64bits(low), math.Float64bits(high) // floats of one sign ascend as their bits do
	for a+1 < b {
		middle := a + (b-a)/2
		if holds(math.Float64frombits(middle)) {
			b = middle
		} else {
			a = middle
		}
	}
	return math.Float64frombits(b)
}

// Of continued fractions, by the method of Lentz and Thompson: no denominator is smaller, and no more terms are taken.
const (
	tiny      = 1e-300
	mostTerms = 100_000
	epsilon   = 0x1p-52
)

func away(x float64) float64 {
	if math.Abs(x) < tiny {
		return tiny
	}
	return x
}

// incompleteBeta is the regularised incomplete beta function, by its continued fraction (DLMF 8.17.22).
func incompleteBeta(a, b, x float64) float64 {
	switch {
	case math.IsNaN(a) || math.IsNaN(b) || math.IsNaN(x):
		return math.NaN()
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2):
		return 1 - betaFraction(b, a, 1-x)
	}
	return betaFraction(a, b, x)
}

func betaFraction(a, b, x float64) float64 {
	small, _ := math.Lgamma(min(a, b))
	front := Exp(gammaRatio(max(a, b), min(a, b)) - small + float64(a*math.Log(x)) + float64(b*math.Log1p(-x)))
	c, d := 1.0, 1/away(1-float64((a+b)*x)/(a+1))
	h := d
	for m := 1.0; m < mostTerms; m++ {
		step := float64(float64(m*(b-m))*x) / float64((a+2*m-1)*(a+2*m))
		d, c = 1/away(1+float64(step*d)), away(1+step/c)
		h = float64(h * float64(d*c))
		step = -float64(float64((a+m)*(a+b+m))*x) / float64((a+2*m)*(a+2*m+1))
		d, c = 1/away(1+float64(step*d)), away(1+step/c)
		h = float64(h * float64(d*c))
		if math.Abs(float64(d*c)-1) <= epsilon {
			break
		}
	}
	return float64(front*h) / a
}

// gammaRatio is the logarithm of the gamma function at a+b less that at a, by Stirling's series where both are large and
// their difference would lose digits.
func gammaRatio(a, b float64) float64 {
	if a < 50 {
		both, _ := math.Lgamma(a + b)
		one, _ := math.Lgamma(a)
		return both - one
	}
	rest := func(z float64) float64 { return (1 - (1-float64(2/(7*z*z)))/float64(30*z*z)) / float64(12*z) }
	return float64((a-0.5)*math.Log1p(b/a)) + float64(b*math.Log(a+b)) - b + rest(a+b) - rest(a)
}

// incompleteGamma is the regularised lower incomplete gamma function, by its series (DLMF 8.11.4) where x is small and by the
// continued fraction of its complement (DLMF 8.9.2) elsewhere.
func incompleteGamma(a, x float64) float64 {
	if x <= 0 {
		return 0
	}
	whole, _ := math.Lgamma(a)
	front := Exp(float64(a*math.Log(x)) - x - whole)
	if x < a+1 {
		term := 1 / a
		sum := term
		for n := a + 1; term > float64(sum*epsilon) && n < a+mostTerms; n++ {
			term = float64(term*x) / n
			sum += term
		}
		return float64(front * sum)
	}
	b := x + 1 - a
	c, d := 1/tiny, 1/b
	h := d
	for n := 1.0; n < mostTerms; n++ {
		step := -float64(n * (n - a))
		b += 2
		d, c = 1/away(b+float64(step*d)), away(b+step/c)
		h = float64(h * float64(d*c))
		if math.Abs(float64(d*c)-1) <= epsilon {
			break
		}
	}
	return 1 - float64(front*h)
}
