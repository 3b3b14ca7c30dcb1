package stat

import (
	"fmt"
	"math"
	"slices"

	"orrery/internal/libm"
	"orrery/scheduler/model/draw"
)

var resampleStream = draw.StreamOf("stat.resample")

// Bootstrap is the interval of a statistic of n rows whose order means nothing, by
// percentiles of resamples. It is for statistics that are no means, such as
// indices of sensitivity. The statistic gets row numbers, some of them several
// times, and must not keep the slice. Replicates that are not numbers are left
// out; it is an error when that is half of them.
//
// Replicates of few rows spread too little. The tails are therefore those of
// Student's t with n-1 degrees of freedom, widened by √(n/(n-1)) (Hesterberg 2015,
// the expanded percentile interval). The replicates of n rows are the same for
// each statistic. Cost: Draws calls of the statistic.
func (s Settings) Bootstrap(n int, statistic func(rows []int) float64) (Interval, error) {
	if err := s.Validate(); err != nil {
		return Interval{}, err
	}
	out := unknown(s.Confidence)
	if n == 0 {
		return out, nil
	}
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	estimate := statistic(rows)
	if !Finite(estimate) {
		return out, nil
	}
	var replicates []float64
	for b := range s.Draws {
		source := draw.New(s.Seed, resampleStream, uint64(b), 0)
		for i := range rows {
			rows[i] = int(source.IntN(int64(n)))
		}
		if x := statistic(rows); Finite(x) {
			replicates = append(replicates, x)
		}
	}
	if 2*len(replicates) < s.Draws {
		return Interval{}, fmt.Errorf("stat: the statistic is undefined in %d of %d resamples; give more rows", s.Draws-len(replicates), s.Draws)
	}
	slices.Sort(replicates)
	k := rank(replicates, s.tail(n))
	low, high := replicates[k], replicates[len(replicates)-1-k]
	return Interval{estimate, min(low, estimate), max(high, estimate), s.Confidence}, nil
}

// tail is the share of replicates beyond each end.
func (s Settings) tail(n int) float64 {
	if n < 2 {
		return 0
	}
	k := float64(n)
	t := libm.StudentQuantile(s.alpha()/2, k-1)
	return libm.NormalCDF(t * math.Sqrt(k/(k-1)))
}

// rank is the place among sorted replicates below which a tail lies.
func rank(replicates []float64, tail float64) int {
	k := int(math.Floor(tail * float64(len(replicates)+1)))
	return max(0, min(k, len(replicates))-1)
}
