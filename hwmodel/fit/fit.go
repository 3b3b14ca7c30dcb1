// Package fit finds the parameters of hardware models from measurements, and how far the models
// are off. It takes values and gives values: it must not read files, and knows no name of a
// cluster, a GPU or a job.
package fit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// ErrTooFew is that of a fit that has too few measurements to tell its parameters.
var ErrTooFew = errors.New("too few measurements")

func tooFew(what string, found, want int) error {
	return fmt.Errorf("%s: found %d, want at least %d: %w", what, found, want, ErrTooFew)
}

// Quantile is the empirical quantile of values that need not be in order, between its
// neighbours by rank; NaN of none.
func Quantile(p float64, values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return stat.Quantile(p, stat.LinInterp, sorted, nil)
}

// Median is the middle of the values, NaN of none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// slope is the s that makes the sum of |y - s·x| least, which few wild values do not move: a
// median of y/x weighted by |x|. Pairs with x = 0 say nothing; false where there are no others.
func slope(x, y []float64) (float64, bool) {
	type ratio struct{ value, weight float64 }
	var all []ratio
	sum := 0.0
	for i := range x {
		if w := math.Abs(x[i]); w > 0 {
			all = append(all, ratio{y[i] / x[i], w})
			sum += w
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	slices.SortStableFunc(all, func(a, b ratio) int { return cmp.Compare(a.value, b.value) })
	upTo := 0.0
	for _, r := range all {
		if upTo += r.weight; upTo >= sum/2 {
			return r.value, true
		}
	}
	return all[len(all)-1].value, true
}

// absolute is the sum of |y - f(x)| over the pairs.
func absolute(x, y []float64, f func(float64) float64) float64 {
	sum := 0.0
	for i := range x {
		sum += math.Abs(y[i] - f(x[i]))
	}
	return sum
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
