package fit

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"orrery/internal/libm"
	"orrery/scheduler/model/draw"
)

// TestOrderStatistics: the bounds of a quantile hold it in 95 % of samples whatever the law.
func TestOrderStatistics(t *testing.T) {
	for _, c := range []struct {
		n int
		p float64
	}{{6, 0.5}, {7, 0.5}, {11, 0.5}, {40, 0.5}, {60, 0.1}, {60, 0.9}, {100, 0.95}, {9, 0.5}, {37, 0.1}, {400, 0.99}} {
		held := covered{}
		for name, law := range map[string]func(u float64) float64{
			"exponential": func(u float64) float64 { return -math.Log(1 - u) },
			"log-normal":  func(u float64) float64 { return libm.Exp(distuv.UnitNormal.Quantile(u)) },
		} {
			for seed := range records {
				src := draw.New(seed, draw.StreamOf("quantiles"), uint64(c.n), 0)
				x := make([]float64, c.n)
				for i := range x {
					x[i] = law(src.Open())
				}
				low, known := quantileBound(slices.Sorted(slices.Values(x)), c.p, 0.025)
				require.True(t, known)
				high, known := quantileBound(slices.Sorted(slices.Values(x)), c.p, 0.975)
				require.True(t, known)
				held.add(name, low <= law(c.p) && law(c.p) <= high)
			}
		}
		t.Logf("%d units, quantile %v", c.n, c.p)
		held.about(t, 93, 97)
	}
}

func TestUnitsOfQuantiles(t *testing.T) {
	for _, c := range []struct {
		p float64
		n int
	}{{0.5, 6}, {0.9, 36}, {0.1, 36}, {0.95, 72}, {0.99, 368}} {
		require.Equal(t, c.n, unitsFor(c.p))
		for _, beta := range []float64{0.025, 0.975} {
			_, known := boundRank(c.n, c.p, beta)
			require.True(t, known, "%v at %v", c.p, beta)
		}
		_, low := boundRank(c.n-1, c.p, 0.025)
		_, high := boundRank(c.n-1, c.p, 0.975)
		require.False(t, low && high, "%v: one fewer does not reach it", c.p)
	}
	require.Equal(t, leastMedian, unitsFor(0.5))
	_, known := quantileBound(nil, 0.5, 0.5)
	require.False(t, known)
	below := binomialBelow(50, 0.3)
	for r := range below {
		require.InDelta(t, distuv.Binomial{N: 50, P: 0.3}.CDF(float64(r)-1), below[r], 1e-12)
	}
	many := binomialBelow(100_000, 0.5)
	require.InDelta(t, 0.5, many[50_000], 0.002, "no underflow")
	require.InDelta(t, 1, many[100_000], 1e-12)
}
