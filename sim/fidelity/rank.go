package fidelity

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// spearman is the rank correlation of two series, NaN of fewer than leastRanked values and where one of
// them has a single value. Equal values have the mean of their ranks.
func spearman(x, y []float64) float64 {
	if len(x) < leastRanked {
		return math.NaN()
	}
	rho := stat.Correlation(ranks(x), ranks(y), nil)
	return max(-1, min(1, rho)) // NaN stays
}

// ranks from 1.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	//detlint:total equal values get one rank, whatever their order
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	out := make([]float64, len(values))
	for i := 0; i < len(order); {
		k := i
		for k < len(order) && values[order[k]] == values[order[i]] {
			k++
		}
		for _, at := range order[i:k] {
			out[at] = float64(i+k+1) / 2
		}
		i = k
	}
	return out
}

// noticed are the pairs of waits of which either is above noticedWait.
func noticed(recorded, replayed []float64) (x, y []float64) {
	for i, w := range recorded {
		if w > noticedWait || replayed[i] > noticedWait {
			x, y = append(x, w), append(y, replayed[i])
		}
	}
	return x, y
}

// wasserstein is the first Wasserstein distance of two samples: how far waits have to be moved in the mean
// to make one distribution the other.
func wasserstein(x, y []float64) float64 { return stat.WassersteinDistance(x, y, nil, nil) }

// quantile by nearest rank, of values in any order; NaN of none.
func quantile(p float64, values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return stat.Quantile(p, stat.Empirical, slices.Sorted(slices.Values(values)), nil)
}

// mean is NaN of no value.
func mean(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return stat.Mean(values, nil)
}

// relative is the change from one value to another as a part of the first, NaN where there is no such part.
func relative(from, to float64) float64 {
	if from == 0 {
		return math.NaN()
	}
	return (to - from) / from
}
