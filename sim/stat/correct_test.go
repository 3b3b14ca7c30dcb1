package stat

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestCorrections: worked by hand. Five p-values 0.01 0.02 0.03 0.04 0.05:
// Holm 5·0.01, 4·0.02, 3·0.03, then 2·0.04 and 0.05 raised to what came before.
func TestCorrections(t *testing.T) {
	for _, c := range []struct{ p, holm []float64 }{
		{nil, nil},
		{[]float64{0.04}, []float64{0.04}},
		{
			[]float64{0.01, 0.02, 0.03, 0.04, 0.05},
			[]float64{0.05, 0.08, 0.09, 0.09, 0.09},
		},
		{
			[]float64{0.9, 0.001, 0.04, 0.01},
			[]float64{0.9, 0.004, 0.08, 0.03},
		},
		{
			[]float64{0.03, nan, 0.03, 0.5}, // three tests; equal ones stay equal
			[]float64{0.09, nan, 0.09, 0.5},
		},
		{[]float64{0.6, 0.7, 1}, []float64{1, 1, 1}},
	} {
		close(t, c.holm, holm(c.p), "Holm of %v", c.p)
	}
	require.PanicsWithValue(t, "stat: p-value 1.5 lies outside [0, 1]", func() { holm([]float64{1.5}) })
}

func close(t *testing.T, want, got []float64, format string, args ...any) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		if math.IsNaN(want[i]) {
			require.True(t, math.IsNaN(got[i]), append([]any{format}, args...)...)
			continue
		}
		require.InDelta(t, want[i], got[i], 1e-12, append([]any{format}, args...)...)
	}
}

// TestCorrectionProperties: a correction never lowers a p-value, keeps the
// order, and does not depend on it.
func TestCorrectionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 12).Draw(t, "p")
		adjusted := holm(p)
		for i := range p {
			require.LessOrEqual(t, p[i], adjusted[i])
			for j := range p {
				if p[i] <= p[j] {
					require.LessOrEqual(t, adjusted[i], adjusted[j])
				}
			}
		}
		at := rapid.IntRange(0, len(p)).Draw(t, "turn")
		turned := append(append([]float64{}, p[at:]...), p[:at]...)
		for i, x := range holm(turned) {
			require.Equal(t, adjusted[(i+at)%len(p)], x)
		}
	})
}
