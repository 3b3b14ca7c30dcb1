package stat

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"orrery/scheduler/model/draw"
)

var testStream = draw.StreamOf("stat test series")

// series are values of mean 0 in which each leans on the one before by phi.
func series(n int, phi float64, key uint64, shock func(*draw.Source) float64) []float64 {
	source := draw.New(1, testStream, key, 0)
	out := make([]float64, n)
	value := 0.0
	for i := -50; i < n; i++ {
		value = phi*value + shock(&source)
		if i >= 0 {
			out[i] = value
		}
	}
	return out
}

func normal(s *draw.Source) float64 { return s.Normal() }
func skewed(s *draw.Source) float64 { return s.Exponential() - 1 }

// TestCoverage: how often intervals of the given confidence hold the true
// mean, 0, over simulated series. The bands are three standard deviations of
// the simulation around what docs/STATISTICS.md states. Independent windows
// are covered as promised from 6 on; dependent ones fall short by what a block
// bootstrap must, less so with more windows.
func TestCoverage(t *testing.T) {
	for _, c := range []struct {
		name     string
		n        int
		phi      float64
		shock    func(*draw.Source) float64
		method   Method
		scheme   Scheme
		from, to float64
	}{
		{"independent, fewest", 6, 0, normal, BCa, Moving, 0.88, 0.98},
		{"independent", 12, 0, normal, Percentile, Moving, 0.92, 0.98},
		{"independent", 24, 0, normal, BCa, Moving, 0.92, 0.98},
		{"independent, skewed", 40, 0, skewed, BCa, Moving, 0.92, 0.98},
		{"a little dependent", 40, 0.3, normal, BCa, Moving, 0.88, 0.98},
		{"dependent", 80, 0.5, normal, BCa, Moving, 0.87, 0.98},
		{"dependent", 80, 0.5, normal, Percentile, Stationary, 0.87, 0.98},
		{"dependent and skewed", 80, 0.5, skewed, BCa, Moving, 0.86, 0.98},
		{"neighbours pull apart", 40, -0.3, normal, BCa, Moving, 0.95, 1},
	} {
		s := Defaults()
		s.Method, s.Scheme, s.Draws = c.method, c.scheme, 399
		const runs = 400
		hits := 0
		for k := range uint64(runs) {
			s.Seed = k
			i, err := s.Interval(series(c.n, c.phi, k, c.shock))
			require.NoError(t, err)
			if i.Low <= 0 && 0 <= i.High {
				hits++
			}
		}
		share := float64(hits) / runs
		t.Logf("%s, %d windows, phi %v, method %d, scheme %d: %.3f", c.name, c.n, c.phi, c.method, c.scheme, share)
		require.True(t, c.from <= share && share <= c.to, "%s, %d windows: covered %.3f, stated %.2f to %.2f", c.name, c.n, share, c.from, c.to)
	}
}

// TestBlocksMatter: taking dependent windows for independent ones gives
// intervals that fail far more often.
func TestBlocksMatter(t *testing.T) {
	s := Defaults()
	s.Method, s.Draws = Percentile, 199
	width := func(block int) float64 {
		s.Block = block
		sum := 0.0
		for k := range uint64(50) {
			i, err := s.Interval(series(80, 0.5, k, normal))
			require.NoError(t, err)
			sum += i.High - i.Low
		}
		return sum
	}
	require.Greater(t, width(0), 1.3*width(1), "the true ratio is √3")
}

// TestBlockLength: the limit of the rule is known for an autoregressive
// series: (2·G²/D)^⅓·n^⅓ with G/g = 2φ/(1-φ²) and D = 4/3 g², times 1.5.
func TestBlockLength(t *testing.T) {
	const n, phi = 20000, 0.5
	ratio := 2 * phi / (1 - phi*phi)
	want := forCoverage * math.Cbrt(2*ratio*ratio*3/4*n)
	require.InEpsilon(t, want, BlockLength(series(n, phi, 1, normal), Moving), 0.15)
	require.InEpsilon(t, want*math.Cbrt(2.0/3), BlockLength(series(n, phi, 1, normal), Stationary), 0.15)

	require.Equal(t, 1, BlockLength(nil, Moving))
	require.Equal(t, 1, BlockLength([]float64{1, 2, 3}, Moving), "too few to say anything")
	require.Equal(t, 1, BlockLength(make([]float64, 50), Moving), "all equal")
	require.Equal(t, 1, BlockLength([]float64{1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1}, Moving), "neighbours pull apart")
	trend := make([]float64, 40)
	for i := range trend {
		trend[i] = float64(i)
	}
	require.Equal(t, 14, BlockLength(trend, Moving), "a trend: as long as allowed, n/3 rounded up")

	x := series(60, 0.6, 2, normal)
	y := make([]float64, len(x))
	for i := range x {
		y[i] = -1000*x[i] + 5
	}
	require.Equal(t, BlockLength(x, Moving), BlockLength(y, Moving), "neither sign, unit nor level matter")
}

// TestFill: both schemes draw each row equally often and keep neighbours
// together; blocks of the stationary scheme have the mean length asked for.
func TestFill(t *testing.T) {
	const n, block, draws = 30, 5, 4000
	for _, scheme := range []Scheme{Moving, Stationary} {
		var seen [n]int
		starts := 0
		rows := make([]int, n)
		for b := range uint64(draws) {
			source := draw.New(3, testStream, b, 0)
			scheme.fill(rows, block, &source)
			for i, r := range rows {
				seen[r]++
				if i > 0 && r != (rows[i-1]+1)%n {
					starts++
				}
			}
		}
		for r, k := range seen {
			require.InDelta(t, draws, k, 5*math.Sqrt(block*draws), "scheme %d, row %d", scheme, r)
		}
		inside := 24.0 / 29 // boundaries of whole blocks at 5, 10, ... 25: 5 of 29 places
		if scheme == Stationary {
			inside = 1 - 1.0/block
		}
		require.InDelta(t, (1-inside)*(1-1.0/n), float64(starts)/(draws*(n-1)), 0.01, "scheme %d", scheme)
	}
}

// TestExpandedTail: with k independent rows the replicates of a mean have a
// deviation of √((k-1)/k) of the usual standard error, so the tail must be
// that of Student's t after undoing it.
func TestExpandedTail(t *testing.T) {
	s := Defaults()
	z := distuv.UnitNormal.Quantile(s.tail(10, 1))
	require.InDelta(t, -2.2621571628*math.Sqrt(10.0/9), z, 1e-6, "t at 0.025 with 9 degrees of freedom")
	require.InDelta(t, 0.025, s.tail(100000, 1), 1e-5)
	require.Zero(t, s.tail(3, 3), "one block says nothing: the whole range")
}

// TestBCaByHand: without bias and skewness BCa is the percentile interval;
// with the bias of a share of replicates it is Φ(2b+z) (Efron and Tibshirani
// 1993, equation 14.10 with a = 0).
func TestBCaByHand(t *testing.T) {
	require.InDelta(t, 0.025, adjusted(0, 0, -1.959963984540054), 1e-12)
	require.InDelta(t, distuv.UnitNormal.CDF(2*0.3-1.5), adjusted(0.3, 0, -1.5), 1e-12)
	require.InDelta(t, distuv.UnitNormal.CDF(0.1+(0.1-1.5)/(1-0.05*(0.1-1.5))), adjusted(0.1, 0.05, -1.5), 1e-12)
	require.InDelta(t, 0, biasOf([]float64{1, 2, 3, 4}, 2.5), 1e-12)
	require.InDelta(t, 0, biasOf([]float64{1, 2, 2, 4}, 2), 1e-12, "equal ones count half")
	require.InDelta(t, distuv.UnitNormal.Quantile(0.75), biasOf([]float64{1, 2, 3, 4}, 3.5), 1e-12)

	// Of the mean of 0, 0, 3 the jackknife means are 1.5, 1.5, 0 around 1:
	// deviations -0.5, -0.5, 1, so Σd³ = 0.75 and Σd² = 1.5.
	mean := func(values []float64) func([]int) float64 {
		return func(rows []int) float64 {
			var picked []float64
			for _, r := range rows {
				picked = append(picked, values[r])
			}
			return Mean.Of(picked)
		}
	}
	require.InDelta(t, 0.75/(6*math.Pow(1.5, 1.5)), acceleration(3, 1, mean([]float64{0, 0, 3})), 1e-12)
	require.Zero(t, acceleration(4, 1, mean([]float64{2, 2, 2, 2})))
}

// TestIntervalEdges: nothing, one number and equal numbers have intervals too.
func TestIntervalEdges(t *testing.T) {
	s := Defaults()
	i, err := s.Interval(nil)
	require.NoError(t, err)
	require.False(t, i.Known())
	i, err = s.Interval([]float64{7})
	require.NoError(t, err)
	require.Equal(t, Interval{7, 7, 7, 0.95}, i)
	i, err = s.Interval([]float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1})
	require.NoError(t, err)
	require.Equal(t, Interval{0.1, 0.1, 0.1, 0.95}, i)
	i, err = s.Interval([]float64{1, nan, 2})
	require.NoError(t, err)
	require.False(t, i.Known())
	require.Equal(t, Interval{-2, -6, -1, 0.9}, Interval{1, 0.5, 3, 0.9}.Times(-2))

	_, err = s.Bootstrap(4, 0, nil)
	require.EqualError(t, err, "stat: blocks of 0 rows; give at least 1")
	_, err = s.Bootstrap(4, 1, func(rows []int) float64 {
		if slices.IsSorted(rows) {
			return 1
		}
		return nan
	})
	require.ErrorContains(t, err, "stat: the statistic is undefined in ")
}

// TestSameNumbersSameAnswer: nothing is remembered between calls.
func TestSameNumbersSameAnswer(t *testing.T) {
	s, x := Defaults(), series(30, 0.2, 9, normal)
	first, err := s.Interval(x)
	require.NoError(t, err)
	_, err = s.Interval(series(10, 0, 10, normal))
	require.NoError(t, err)
	again, err := s.Interval(x)
	require.NoError(t, err)
	require.Equal(t, first, again)
	s.Seed++
	other, err := s.Interval(x)
	require.NoError(t, err)
	require.NotEqual(t, first, other)
	require.Equal(t, first.Estimate, other.Estimate)
}

// TestFloorCoverage: the interval of the floor holds the true quantile of
// |difference|, √2·1.96 for normal replicas of deviation 1.
func TestFloorCoverage(t *testing.T) {
	truth := math.Sqrt2 * distuv.UnitNormal.Quantile(0.975)
	for _, replicas := range []int{4, 8, 20} {
		const runs = 1000
		hits, above := 0, 0
		for k := range uint64(runs) {
			var values [][]float64
			for _, x := range series(replicas, 0, k, normal) {
				values = append(values, []float64{x})
			}
			f, err := ReplicaFloor(values, Mean, 0.95, 0.95)
			require.NoError(t, err)
			if f.Low <= truth && truth <= f.High {
				hits++
			}
			if f.High >= truth {
				above++
			}
		}
		t.Logf("%d replicas: interval holds the truth %.3f, upper end above it %.3f", replicas, float64(hits)/runs, float64(above)/runs)
		require.GreaterOrEqual(t, hits, 900, "%d replicas", replicas)
		require.GreaterOrEqual(t, above, 940, "%d replicas", replicas)
	}
}
