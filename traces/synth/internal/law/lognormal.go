package law

import (
	"math"

	"orrery/internal/libm"
)

// LogNormal is, for X log-normal and a bound, the probability of X <= bound
// and the expectation of X where X <= bound and 0 elsewhere.
func LogNormal(mu, sigma, bound float64) (probability, expectation float64) {
	if sigma == 0 {
		if x := libm.Exp(mu); x <= bound {
			return 1, x
		}
		return 0, 0
	}
	below := func(x float64) float64 { return libm.Erfc(-x/math.Sqrt2) / 2 }
	z := (math.Log(bound) - mu) / sigma
	return below(z), libm.Exp(mu+sigma*sigma/2) * below(z-sigma)
}
