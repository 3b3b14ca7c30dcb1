package stat

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOverfit(t *testing.T) {
	window := func(first int, values ...float64) []Observation {
		out := oneSeed(values...)
		for i := range out {
			out[i].Window += first
		}
		return out
	}
	pair := func(first int, base, other []float64) Pairs {
		p, err := Pair(window(first, base...), window(first, other...))
		require.NoError(t, err)
		return p
	}
	tuning := pair(0, []float64{100, 104, 98, 101, 99, 98, 100, 102}, []float64{80, 83, 79, 81, 79, 78, 80, 81.6}) // 20 % less
	accept := pair(8, []float64{200, 204, 198, 201, 199, 198, 200, 202}, []float64{190, 195, 187, 191, 190, 187, 190, 191.9})
	got, err := Overfit(tuning, accept, Lower, Defaults())
	require.NoError(t, err)
	require.InDelta(t, 0.2, got.Tuning.Estimate, 1e-12)
	require.InDelta(t, 0.05, got.Acceptance.Estimate, 1e-12)
	require.InDelta(t, 0.15, got.Gap.Estimate, 1e-12)
	require.InDelta(t, 0.25, got.Kept, 1e-12)
	require.True(t, got.Shown)
	require.InDelta(t, 0.15-math.Hypot(0.2-got.Tuning.Low, got.Acceptance.High-0.05), got.Gap.Low, 1e-12)

	few := Defaults()
	few.MinWindows = 9
	got, err = Overfit(tuning, accept, Lower, few)
	require.NoError(t, err)
	require.False(t, got.Shown, "8 windows")

	got, err = Overfit(tuning, pair(8, []float64{100, 104, 98, 101, 99, 98, 100, 102}, []float64{82, 81, 80, 80, 80, 76, 81, 80}), Lower, Defaults())
	require.NoError(t, err)
	require.False(t, got.Shown, "the gap holds 0: %+v", got.Gap)

	got, err = Overfit(tuning, pair(8, make([]float64, 8), []float64{1, 1, 1, 1, 1, 1, 1, 1}), Lower, Defaults())
	require.NoError(t, err)
	require.False(t, got.Shown)
	require.False(t, got.Gap.Known(), "a part of nothing")

	_, err = Overfit(tuning, pair(5, []float64{1}, []float64{1}), Lower, Defaults())
	require.EqualError(t, err, "stat: window 5 is both for tuning and for acceptance; a gain must be confirmed on windows that had no part in finding it")
}
