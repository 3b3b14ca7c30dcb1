package stat

import (
	"math"
	"slices"
)

// mostDependence is the largest φ that Dependence gives: beyond it a series of
// windows is one long wave, of which no law is known.
const mostDependence = 0.9

// Dependence is how far values depend on the ones before them, as φ of an
// autoregressive series, read on the safe side: the median over the series of
// the correlation r of neighbours, corrected for its bias, plus one standard
// error,
//
//	φ = r + (1 + 3·max(r, 0))/n + √((1 - r²)/n),   from 0 to 0.9
//
// The bias is that of Kendall (1954) and of Marriott and Pope (1954), and never
// taken to raise a negative r to a positive one by more than 1/n. Series are of
// equal length, in the order of time. Those that are constant say nothing, and
// where all are it is 0.
func Dependence(series ...[]float64) float64 {
	var all []float64
	for _, x := range series {
		if r, ok := neighbours(x); ok {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	r := (all[(len(all)-1)/2] + all[len(all)/2]) / 2
	n := float64(len(series[0]))
	return min(max(r+(1+3*max(r, 0))/n+math.Sqrt((1-r*r)/n), 0), mostDependence)
}

// neighbours is the correlation of the values of a series with the ones before
// them, from -1 to 1; false of a constant series, and of one whose squares are not
// numbers.
func neighbours(x []float64) (float64, bool) {
	mean := Mean(x)
	products, squares := 0.0, 0.0
	for t, v := range x {
		squares += (v - mean) * (v - mean)
		if t > 0 {
			products += (v - mean) * (x[t-1] - mean)
		}
	}
	if !(squares > 0) || !Finite(squares) {
		return 0, false
	}
	return products / squares, true
}

// hundredths is the φ of the law of a series: Dependence of its values or of their
// roots, whichever is more, rounded up to hundredths. Values in which a last digit
// differs have the same law, and a table of laws is small.
func hundredths(values []float64) int {
	const lastDigits = 1e-9 // of a φ that is a hundredth but for rounding
	return int(math.Ceil(100*max(Dependence(values), Dependence(roots(values))) - lastDigits))
}

// roots are the square roots of the distances of values, at least one, from their
// median, with the sign of the distance. A few large values decide the correlation of
// neighbours and hide the dependence of the others. Their roots are less far apart.
func roots(values []float64) []float64 {
	out := slices.Clone(values)
	slices.Sort(out)
	median := (out[(len(out)-1)/2] + out[len(out)/2]) / 2
	for i, x := range values {
		out[i] = math.Copysign(math.Sqrt(math.Abs(x-median)), x-median)
	}
	return out
}

// lawOf is the law of a series by the dependence that it shows itself.
func (c *Cosines) lawOf(values []float64) *Law { return c.At(float64(hundredths(values)) / 100) }
