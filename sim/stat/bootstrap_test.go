package stat

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

// TestExpandedTail: with k rows the replicates of a mean have a deviation of
// √((k-1)/k) of the usual standard error, so the tail must be that of Student's t
// after undoing it.
func TestExpandedTail(t *testing.T) {
	s := Defaults()
	z := distuv.UnitNormal.Quantile(s.tail(10))
	require.InDelta(t, -2.2621571628*math.Sqrt(10.0/9), z, 1e-6, "t at 0.025 with 9 degrees of freedom")
	require.InDelta(t, 0.025, s.tail(100000), 1e-5)
	require.Zero(t, s.tail(1), "one row says nothing: the whole range")
}

func TestBootstrap(t *testing.T) {
	s := Defaults()
	s.Draws = 499
	hits := 0
	for k := range uint64(300) {
		x := series(15, 0, k)
		s.Seed = k
		i, err := s.Bootstrap(len(x), func(rows []int) float64 {
			sum := 0.0
			for _, r := range rows {
				sum += x[r]
			}
			return sum / float64(len(rows))
		})
		require.NoError(t, err)
		require.InDelta(t, Mean(x), i.Estimate, 1e-12)
		if i.Low <= 0 && 0 <= i.High {
			hits++
		}
	}
	require.InDelta(t, 0.95, float64(hits)/300, 0.04)

	i, err := s.Bootstrap(0, nil)
	require.NoError(t, err)
	require.False(t, i.Known())
	i, err = s.Bootstrap(2, func([]int) float64 { return nan })
	require.NoError(t, err)
	require.False(t, i.Known())
	_, err = s.Bootstrap(4, func(rows []int) float64 {
		if slices.IsSorted(rows) {
			return 1
		}
		return nan
	})
	require.ErrorContains(t, err, "stat: the statistic is undefined in ")
}
