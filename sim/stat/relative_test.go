package stat

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model/draw"
)

func relativeOf(t require.TestingT, p Pairs, s Settings) Row {
	rows, err := Compare([]Subject{{Pairs: p}}, s)
	require.NoError(t, err)
	return rows[0]
}

// A slowdown of some hundreds in one window and little in the others: the mean
// difference spreads over more than the mean itself, the ratio does not.
func TestARelativeIntervalStaysWithinWhatIsPossible(t *testing.T) {
	s := Defaults()
	s.Draws = 999
	baseline := []float64{4, 5, 900, 3, 6, 700, 5, 4, 3, 1200, 6, 5}
	candidate := []float64{3, 4, 30, 3, 5, 20, 4, 4, 2, 45, 5, 4}
	r := relativeOf(t, pairsOf(t, baseline, candidate), s)
	require.InDelta(t, 129./2841-1, r.Relative.Estimate, 1e-12)
	require.Less(t, r.Difference.Low/r.Baseline.Estimate, -1., "as parts of the mean it would be more than all")
	require.Greater(t, r.Relative.Low, -1.)
	require.Less(t, r.Relative.High, 0.)

	same := relativeOf(t, pairsOf(t, baseline, baseline), s)
	require.Equal(t, Interval{Confidence: 0.95}, same.Relative)
	for name, p := range map[string]Pairs{
		"nothing":             pairsOf(t, nil, nil),
		"a baseline of 0":     pairsOf(t, make([]float64, 12), candidate),
		"mostly 0":            pairsOf(t, []float64{0, 0, 0, 0, 0, 0, 0, 1}, []float64{1, 1, 1, 1, 1, 1, 1, 1}),
		"less than 0":         pairsOf(t, []float64{1, 2, 3, 4, 5, 6, -1, 8}, []float64{1, 2, 3, 4, 5, 6, 7, 8}),
		"a candidate like it": pairsOf(t, []float64{1, 2, 3, 4, 5, 6, 7, 8}, []float64{1, 2, 3, 4, -5, 6, 7, 8}),
	} {
		require.False(t, relativeOf(t, p, s).Relative.Known(), name)
	}
	s.Centre = Median
	r = relativeOf(t, pairsOf(t, baseline, candidate), s)
	require.InDelta(t, -0.2, r.Relative.Estimate, 0.05, "the median of the ratios of the windows")
	require.Greater(t, r.Relative.Low, -1.)
}

func TestARelativeIntervalAgreesWithThatOfTheDifferences(t *testing.T) {
	s := Defaults()
	s.Draws = 199
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 30).Draw(t, "windows")
		value := rapid.Custom(func(t *rapid.T) float64 {
			return math.Ldexp(float64(rapid.IntRange(1, 64).Draw(t, "m")), rapid.IntRange(0, 6).Draw(t, "e"))
		})
		p := pairsOf(t, rapid.SliceOfN(value, n, n).Draw(t, "baseline"), rapid.SliceOfN(value, n, n).Draw(t, "candidate"))
		s.Block = rapid.IntRange(0, 3).Draw(t, "block")
		r := relativeOf(t, p, s)
		require.GreaterOrEqual(t, r.Relative.Low, -1.)
		require.LessOrEqual(t, r.Relative.Low, r.Relative.Estimate)
		require.GreaterOrEqual(t, r.Relative.High, r.Relative.Estimate)
		require.Equal(t, sign(r.Difference.Low), sign(r.Relative.Low))
		require.Equal(t, sign(r.Difference.High), sign(r.Relative.High))
	})
}

func sign(x float64) int {
	switch {
	case x < -1e-12:
		return -1
	case x > 1e-12:
		return 1
	}
	return 0
}

// Waits are skewed: both sides share a lognormal level, and the candidate has 0.7
// of the baseline but for luck of its own.
func TestRelativeIntervalsHoldTheTruth(t *testing.T) {
	s := Defaults()
	s.Draws, s.Block = 499, 1
	const series = 400
	for _, n := range []int{12, 20, 40} {
		held := 0
		for k := range series {
			source := draw.New(uint64(k+1), draw.StreamOf("relative test"), uint64(n), 0)
			p := pairsOf(t, make([]float64, n), make([]float64, n))
			for i := range n {
				level := math.Exp(0.8 * normal(&source))
				p.Baseline[i] = 100 * level
				p.Candidate[i] = 70 * level * math.Exp(0.3*normal(&source)-0.045)
			}
			if r := relativeOf(t, p, s).Relative; r.Low <= -0.3 && -0.3 <= r.High {
				held++
			}
		}
		t.Logf("%d windows: %.1f %% of the intervals hold the truth", n, 100*float64(held)/series)
		require.Greater(t, float64(held)/series, 0.89)
		require.Less(t, float64(held)/series, 0.99)
	}
}
