package fit

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
)

func TestQuantiles(t *testing.T) {
	for _, c := range []struct {
		values []float64
		median float64
	}{{[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 5}, 5}, {[]float64{8, 2, 4, 6}, 5}} {
		require.InDelta(t, c.median, Median(c.values), 1e-12, "%v", c.values)
	}
	require.True(t, math.IsNaN(Median(nil)))
	require.True(t, math.IsNaN(Quantile(0.9, nil)))
	values := []float64{5, 1, 4, 2, 3}
	require.InDelta(t, 5, Quantile(1, values), 1e-12)
	require.Equal(t, []float64{5, 1, 4, 2, 3}, values, "the caller's values stay in their order")
}

// TestSlope: no other slope comes nearer in the sum of distances, and wild values do not move it.
func TestSlope(t *testing.T) {
	s, known := slope([]float64{1, 2, 3, 4, 0}, []float64{2, 4, 6, 800, 77})
	require.True(t, known)
	require.InDelta(t, 2, s, 1e-12)
	s, known = slope([]float64{4, 3, -2, 1}, []float64{-800, 6, -4, 2})
	require.True(t, known)
	require.InDelta(t, 2, s, 1e-12, "the order of the pairs does not matter, nor a sign of x")
	for _, x := range [][]float64{nil, {0, 0}} {
		_, known = slope(x, x)
		require.False(t, known)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		number := rapid.Float64Range(-10, 10)
		x, y := rapid.SliceOfN(number, n, n).Draw(t, "x"), rapid.SliceOfN(number, n, n).Draw(t, "y")
		s, known := slope(x, y)
		if !known {
			return
		}
		at := func(s float64) float64 { return absolute(x, y, func(x float64) float64 { return s * x }) }
		for _, other := range []float64{0, number.Draw(t, "other"), s + 0.01, s - 0.01} {
			require.LessOrEqual(t, at(s), at(other)+1e-9)
		}
	})
}
