package stat

import (
	"fmt"
	"math"
	"slices"

	gonum "gonum.org/v1/gonum/stat"

	"orrery/internal/libm"
)

// Floor is how far apart two runs of the same configuration come to lie for no
// reason that matters: another order of the events of one instant, arrivals
// moved by seconds. It is in the unit of the metric. It serves designs in which
// each point is run once, such as a screening: what moves the objective by no more
// is not told from noise. Comparisons of two configurations have the noise in their
// intervals instead (Row.Noise), and no floor. The zero Floor is that of a world
// without noise, or of one whose noise was not measured.
type Floor struct {
	Value      float64 // this quantile of the absolute difference of two equal configurations
	Low, High  float64 // its interval
	Quantile   float64
	Confidence float64
	Replicas   int
}

// ReplicaFloor is the noise floor from replicas that are a sample: runs of one
// configuration over arrivals jittered with different seeds. values holds the
// metric by replica, then window; the windows, and the number of seeds
// averaged per value, are those of the comparison that is to be judged.
// Windows in which any replica has no number are left out.
//
// Value is the quantile (nearest rank) of |mean of the differences over the
// windows| over all pairs of replicas. Its interval is that of the scale of a
// normal distribution from R replicas: Value·√((R-1)/χ²) with the quantiles of
// chi-square at R-1 degrees of freedom. With 8 replicas High is 2.0·Value,
// with 30 it is 1.3·Value. Cost: R²·windows.
//
// It is an error when there are fewer than two replicas, when they differ in
// their number of windows, when no window is left, or when quantile or
// confidence lie outside (0, 1).
func ReplicaFloor(values [][]float64, quantile, confidence float64) (Floor, error) {
	if !(quantile > 0 && quantile < 1 && confidence > 0 && confidence < 1) {
		return Floor{}, fmt.Errorf("stat: quantile %v and confidence %v of a noise floor: both lie between 0 and 1", quantile, confidence)
	}
	apart, err := distances(values)
	if err != nil {
		return Floor{}, err
	}
	slices.Sort(apart)
	value := gonum.Quantile(quantile, gonum.Empirical, apart, nil)
	nu := float64(len(values) - 1)
	return Floor{
		Value:    value,
		Low:      value * math.Sqrt(nu/libm.ChiSquaredQuantile((1+confidence)/2, nu)),
		High:     value * math.Sqrt(nu/libm.ChiSquaredQuantile((1-confidence)/2, nu)),
		Quantile: quantile, Confidence: confidence, Replicas: len(values),
	}, nil
}

// distances are |mean of the differences| of all pairs of replicas.
func distances(values [][]float64) ([]float64, error) {
	if len(values) < 2 {
		return nil, fmt.Errorf("stat: a noise floor from %d replicas; give at least 2 runs of the same configuration", len(values))
	}
	for r := range values {
		if len(values[r]) != len(values[0]) {
			return nil, fmt.Errorf("stat: replica %d of a noise floor has %d windows, the first has %d", r, len(values[r]), len(values[0]))
		}
	}
	windows := complete(values)
	if len(windows) == 0 {
		return nil, fmt.Errorf("stat: no window of the noise floor has a value in all %d replicas", len(values))
	}
	var out []float64
	differences := make([]float64, len(windows))
	for r := range values {
		for s := range r {
			for i, w := range windows {
				differences[i] = values[r][w] - values[s][w]
			}
			out = append(out, math.Abs(Mean(differences)))
		}
	}
	return out, nil
}

// complete lists the windows in which all replicas have a number.
func complete(values [][]float64) []int {
	var out []int
	for w := range values[0] {
		if !slices.ContainsFunc(values, func(replica []float64) bool { return !Finite(replica[w]) }) {
			out = append(out, w)
		}
	}
	return out
}
