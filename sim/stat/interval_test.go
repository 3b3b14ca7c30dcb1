package stat

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCoverage: how often 95 % intervals hold the true mean of dependent series.
// docs/STATISTICS.md has 20,000 series of many more kinds, by tools/coverage; the
// bands here are four standard deviations of 2,000. The same with the law of
// independent windows is shown to be too short.
func TestCoverage(t *testing.T) {
	for _, c := range []struct {
		n        int
		phi      float64
		from, to float64
	}{
		{8, 0, 0.93, 0.97}, {8, 0.5, 0.91, 0.96}, {20, 0, 0.93, 0.97}, {20, 0.5, 0.93, 0.97},
		{20, 0.8, 0.905, 0.955}, {40, 0.3, 0.93, 0.97}, {40, 0.8, 0.925, 0.97}, {64, 0.5, 0.93, 0.97},
	} {
		const runs = 2000
		judge, err := NewJudge(Defaults())
		require.NoError(t, err)
		cosines := NewCosines(c.n)
		independent := cosines.At(0).Quantile(0.05)
		hits, blind := 0, 0
		for k := range uint64(runs) {
			x := series(c.n, c.phi, k)
			if i := judge.Interval(x); i.Low <= 0 && 0 <= i.High {
				hits++
			}
			if math.Abs(Mean(x)) <= independent*cosines.StandardError(x) {
				blind++
			}
		}
		share, without := float64(hits)/runs, float64(blind)/runs
		require.True(t, c.from <= share && share <= c.to, "%d windows, φ %v: covered %.3f, stated %v to %v", c.n, c.phi, share, c.from, c.to)
		if c.phi == 0.8 {
			require.Less(t, without, 0.87, "%d windows: the law of independent windows", c.n)
		}
	}
}

// TestOneIntervalIsThatOfAJudge: a judge that keeps laws gives the same as one that
// makes them anew.
func TestOneIntervalIsThatOfAJudge(t *testing.T) {
	judge, err := NewJudge(Defaults())
	require.NoError(t, err)
	for k := range uint64(50) {
		x := series(12, 0.3, k)
		once, err := Defaults().Interval(x)
		require.NoError(t, err)
		require.Equal(t, once, judge.Interval(x))
	}
}

func TestIntervalEdges(t *testing.T) {
	s := Defaults()
	for _, of := range []func([]float64) (Interval, error){s.Interval, s.Independent} {
		i, err := of(nil)
		require.NoError(t, err)
		require.True(t, math.IsNaN(i.Estimate))
		i, err = of([]float64{7})
		require.NoError(t, err)
		require.Equal(t, 7.0, i.Estimate)
		require.False(t, i.Known(), "one value says nothing of its error")
		i, err = of([]float64{1, nan, 2})
		require.NoError(t, err)
		require.False(t, i.Known())
		i, err = of([]float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1})
		require.NoError(t, err)
		require.InDelta(t, 0, i.High-i.Low, 1e-12)
		i, err = of([]float64{1e200, -1e200, 1e200, 2e200})
		require.NoError(t, err)
		require.False(t, i.Known(), "squares beyond the largest number")
	}
}

// TestIndependentByHand: of 1, 2, 3 the mean is 2, the error 1/√3, and t at 0.975
// with 2 degrees of freedom 4.302653.
func TestIndependentByHand(t *testing.T) {
	i, err := Defaults().Independent([]float64{3, 1, 2})
	require.NoError(t, err)
	require.InDelta(t, 2+4.302653/math.Sqrt(3), i.High, 1e-5)
	require.InDelta(t, 2-4.302653/math.Sqrt(3), i.Low, 1e-5)
}

// TestLogRatioIsTheJackknife: the standard error is that of the mean of n·θ -
// (n-1)·θ(i), where θ(i) leaves window i out.
func TestLogRatioIsTheJackknife(t *testing.T) {
	p := pairsOf(t, []float64{4, 5, 90, 3, 6, 70, 5, 4}, []float64{3, 4, 30, 3, 5, 20, 4, 4})
	c := NewCosines(8)
	scratch := make([]float64, 8)
	got, standardError, ok := c.LogRatio(&p, scratch)
	require.True(t, ok)
	require.InDelta(t, math.Log(73.0/187), got, 1e-12)
	pseudo := make([]float64, 8)
	for i := range pseudo {
		left := math.Log((73 - p.Candidate[i]) / (187 - p.Baseline[i]))
		pseudo[i] = 8*got - 7*left
	}
	require.InDelta(t, c.StandardError(pseudo), standardError, 1e-12)

	p.Baseline, p.Candidate = p.Candidate, p.Baseline
	back, same, ok := c.LogRatio(&p, scratch)
	require.True(t, ok)
	require.InDelta(t, -got, back, 1e-12)
	require.InDelta(t, standardError, same, 1e-12)
}
