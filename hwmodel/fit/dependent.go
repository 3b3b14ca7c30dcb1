package fit

import (
	"cmp"
	"math"

	"orrery/internal/libm"
)

// widened is an estimate from units in the order of time that depend on the ones before them.
func widened(e Estimate, inOrder []float64) Estimate {
	by := Widening(inOrder, Median(inOrder))
	e.Low, e.High = e.Value-by*(e.Value-e.Low), e.Value+by*(e.High-e.Value)
	return e
}

// MedianInOrder is the median of units in the order of time, which may depend on the ones before
// them; there are six of them at least.
func MedianInOrder(units []float64, name string) Estimate {
	return widened(middle(units, name), units)
}

const (
	certainAgreement = 0.75 // standard errors, up to which chance may make a correlation
	lostCorrelation  = 1.5  // by how many n-ths a correlation that was read from n units is too small
	mostCorrelation  = 0.95
	leastUnits       = 2 // that any are worth: of fewer no correlation is told
)

// Widening is by how much wider an interval is for units that depend on the ones before them than
// for as many independent ones: n such units are worth m = n·(1 - r) ÷ (1 + r), with the law of
// Student for m instead of n. The correlation r is that of normal values whose sides of a level
// agree as often, so that wild values do not hide it. That of few units comes out too small (for
// the mean is theirs as well), which is mended. One that chance may make is none.
func Widening(inOrder []float64, level float64) float64 {
	n := float64(len(inOrder))
	if n < 3 {
		return 1
	}
	agree := 0.0
	for i := 1; i < len(inOrder); i++ {
		agree += float64(cmp.Compare(inOrder[i], level) * cmp.Compare(inOrder[i-1], level))
	}
	agree /= n - 1
	if agree+1/n < certainAgreement/math.Sqrt(n) {
		return 1
	}
	r := (math.Sin(math.Pi/2*agree) + lostCorrelation/n) / (1 - 1.5*lostCorrelation/n)
	r = min(mostCorrelation, max(0, r))
	worth := max(leastUnits, n*(1-r)/(1+r))
	return math.Sqrt(n/worth) * libm.StudentQuantile((1+Confidence)/2, max(2, worth-1)) / libm.StudentQuantile((1+Confidence)/2, n-1)
}
