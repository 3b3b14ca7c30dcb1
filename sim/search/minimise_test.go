package search

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/optimize/functions"
)

// TestMinimise: the minima of gonum's functions are found from their usual starts
// when the box is wide, and the best point of a face where it is not.
func TestMinimise(t *testing.T) {
	type smooth interface {
		Func(x []float64) float64
		Grad(g, x []float64)
	}
	for _, c := range []struct {
		f     smooth
		start []float64
		least float64
	}{
		{functions.ExtendedRosenbrock{}, []float64{-1.2, 1, -1.2, 1}, 0},
		{functions.Wood{}, []float64{-3, -1, -3, -1}, 0},
		{functions.HelicalValley{}, []float64{-1, 0, 0}, 0},
		{functions.Beale{}, []float64{1, 1}, 0},
	} {
		calls := 0
		f := func(x, g []float64) float64 { calls++; c.f.Grad(g, x); return c.f.Func(x) }
		n := len(c.start)
		low, high := slices.Repeat([]float64{-1e3}, n), slices.Repeat([]float64{1e3}, n)
		x, value := minimise(f, c.start, low, high, 500)
		require.InDelta(t, c.least, value, 1e-4, "%T at %v", c.f, x)
		require.Less(t, calls, 1000)
	}
	bowl := func(x, g []float64) float64 {
		sum := 0.0
		for i := range x {
			d := x[i] - 2*float64(i) + 1 // at -1, 1, 3
			sum += d * d
			g[i] = 2 * d
		}
		return sum
	}
	x, value := minimise(bowl, []float64{0.5, 0.2, 0}, slices.Repeat([]float64{0}, 3), slices.Repeat([]float64{2}, 3), 50)
	require.InDeltaSlice(t, []float64{0, 1, 2}, x, 1e-6)
	require.InDelta(t, 2, value, 1e-9)
	nowhere := func(x, g []float64) float64 { return math.NaN() }
	_, value = minimise(nowhere, []float64{1}, slices.Repeat([]float64{0}, 1), slices.Repeat([]float64{2}, 1), 50)
	require.True(t, math.IsInf(value, 1))
}
