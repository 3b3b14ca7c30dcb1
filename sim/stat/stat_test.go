package stat

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var nan = math.NaN()

// oneSeed are observations of windows 0, 1, 2 ... with seed 0.
func oneSeed(values ...float64) []Observation {
	var out []Observation
	for w, v := range values {
		out = append(out, Observation{Window: w, Value: v})
	}
	return out
}

func pairsOf(t require.TestingT, baseline, candidate []float64) Pairs {
	p, err := Pair(oneSeed(baseline...), oneSeed(candidate...))
	require.NoError(t, err)
	return p
}

func TestPair(t *testing.T) {
	for _, c := range []struct {
		name                string
		baseline, candidate []Observation
		want                Pairs
	}{
		{"nothing", nil, nil, Pairs{}},
		{
			"two seeds per window are averaged, whatever their order",
			[]Observation{{1, 7, 30}, {0, 7, 10}, {0, 3, 20}, {1, 3, 50}},
			[]Observation{{0, 3, 22}, {0, 7, 14}, {1, 3, 48}, {1, 7, 30}},
			Pairs{Window: []int{0, 1}, Baseline: []float64{15, 40}, Candidate: []float64{18, 39}, Runs: 4},
		},
		{
			"a run without a partner is counted and left out",
			[]Observation{{0, 0, 1}, {0, 1, 5}, {2, 0, 9}},
			[]Observation{{0, 1, 6}, {1, 0, 7}},
			Pairs{Window: []int{0}, Baseline: []float64{5}, Candidate: []float64{6}, Runs: 1, Unmatched: 3},
		},
		{
			"a value that is undefined on one side takes its pair with it",
			[]Observation{{0, 0, 1}, {1, 0, nan}, {2, 0, 3}},
			[]Observation{{0, 0, 2}, {1, 0, 2}, {2, 0, math.Inf(1)}},
			Pairs{Window: []int{0}, Baseline: []float64{1}, Candidate: []float64{2}, Runs: 1, Undefined: 2},
		},
	} {
		got, err := Pair(c.baseline, c.candidate)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got, c.name)
	}
	_, err := Pair(oneSeed(1, 2), []Observation{{1, 4, 1}, {1, 4, 2}})
	require.EqualError(t, err, "stat: the candidate has two values for window 1, seed 4; give one per run")
}

func TestCentre(t *testing.T) {
	require.Equal(t, 2.5, Mean.Of([]float64{4, 1, 2, 3}))
	require.Equal(t, 2.5, Median.Of([]float64{4, 1, 2, 3}))
	require.Equal(t, 3.0, Median.Of([]float64{9, 1, 3}))
	require.True(t, math.IsNaN(Mean.Of(nil)))
	require.True(t, math.IsNaN(Median.Of(nil)))
}

func TestMinimumBlocks(t *testing.T) {
	for alpha, want := range map[float64]int{0.05: 6, 0.01: 8, 0.1: 5, 0.5: 2, 0.03125: 6, 0.03124: 7, 0.001: 11} {
		require.Equal(t, want, MinimumBlocks(alpha), "%v", alpha)
	}
}

func TestSettingsSayWhatIsWrong(t *testing.T) {
	require.NoError(t, Defaults().Validate())
	require.EqualError(t, Settings{Confidence: 1.2, Draws: 5, Block: -1}.Validate(),
		"stat: confidence 1.2: give a number between 0 and 1, such as 0.95\n"+
			"stat: 5 draws: give at least 99\n"+
			"stat: blocks of -1 windows: give a length, or 0 to have it chosen")
	require.EqualError(t, Settings{Confidence: 0.99, Draws: 99, MinBlocks: 6}.Validate(),
		"stat: a minimum of 6 blocks: a confidence of 0.99 needs at least 8")
}

// TestSignFlip: p is the share of the 2^n patterns of signs whose sum is as
// far from zero, counted by hand.
func TestSignFlip(t *testing.T) {
	for _, c := range []struct {
		differences []float64
		block       int
		want        float64
	}{
		{[]float64{0, 0, 0}, 1, 1},
		{[]float64{5}, 1, 1},
		{[]float64{1, 2}, 1, 0.5},                         // ±3 of ±3, ±1
		{[]float64{1, 2, 3}, 1, 2.0 / 8},                  // ±6
		{[]float64{-1, 2, 3}, 1, 4.0 / 8},                 // |4|: ±6 and ±4
		{[]float64{1, 1, 1, 1, 1, 1}, 1, 2.0 / 64},        // all one way
		{[]float64{1, 1, 1, 1, 1, -1}, 1, 14.0 / 64},      // |4|: no sign or one other, times two
		{[]float64{1, 1, 1, 1, 1, 1}, 2, 2.0 / 8},         // three blocks
		{[]float64{1, 1, 1, 1, 1, 1, 1}, 2, 2.0 / 16},     // the last block is short
		{[]float64{0.1, 0.2, 0.3, 0, 0, 0}, 1, 16.0 / 64}, // zeros have either sign
		{[]float64{0.3, 0.1, -0.2, 0.2}, 1, 8.0 / 16},     // |0.4|: all one way, 0.1 or either 0.2 turned, times two
	} {
		require.InDelta(t, c.want, Defaults().SignFlip(c.differences, c.block), 1e-15, "%v, blocks of %d", c.differences, c.block)
	}
	require.True(t, math.IsNaN(Defaults().SignFlip(nil, 1)))
}

// TestSignFlipAtRandom: beyond 14 blocks the p-value is that of a sample of
// patterns. Of 20 equal differences, 2·C(20,k) patterns have k or 20-k signs
// turned: for a sum of 10 of ±1 that is k <= 5, 43400/2^20.
func TestSignFlipAtRandom(t *testing.T) {
	d := make([]float64, 20)
	for i := range d {
		d[i] = 1
	}
	s := Defaults()
	require.Equal(t, 1.0/10000, s.SignFlip(d, 1), "never zero")
	for i := range 5 {
		d[i] = -1
	}
	require.InDelta(t, 43400.0/(1<<20), s.SignFlip(d, 1), 5*math.Sqrt(0.0414*0.9586/9999))
}

// TestCorrections: worked by hand. Five p-values 0.01 0.02 0.03 0.04 0.05:
// Holm 5·0.01, 4·0.02, 3·0.03, then 2·0.04 and 0.05 raised to what came before;
// Benjamini–Hochberg 5·p/rank is 0.05 for each.
func TestCorrections(t *testing.T) {
	for _, c := range []struct{ p, holm, bh []float64 }{
		{nil, nil, nil},
		{[]float64{0.04}, []float64{0.04}, []float64{0.04}},
		{
			[]float64{0.01, 0.02, 0.03, 0.04, 0.05},
			[]float64{0.05, 0.08, 0.09, 0.09, 0.09},
			[]float64{0.05, 0.05, 0.05, 0.05, 0.05},
		},
		{
			[]float64{0.9, 0.001, 0.04, 0.01},
			[]float64{0.9, 0.004, 0.08, 0.03},
			[]float64{0.9, 0.004, 0.04 * 4 / 3, 0.02},
		},
		{
			[]float64{0.03, nan, 0.03, 0.5}, // three tests; equal ones stay equal
			[]float64{0.09, nan, 0.09, 0.5},
			[]float64{0.045, nan, 0.045, 0.5},
		},
		{[]float64{0.6, 0.7, 1}, []float64{1, 1, 1}, []float64{1, 1, 1}},
	} {
		close(t, c.holm, Holm(c.p), "Holm of %v", c.p)
		close(t, c.bh, BenjaminiHochberg(c.p), "Benjamini–Hochberg of %v", c.p)
	}
	require.PanicsWithValue(t, "stat: p-value 1.5 lies outside [0, 1]", func() { Holm([]float64{1.5}) })
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
// order, does not depend on it, and Holm is the stricter one.
func TestCorrectionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 12).Draw(t, "p")
		holm, bh := Holm(p), BenjaminiHochberg(p)
		for i := range p {
			require.LessOrEqual(t, p[i], bh[i]+1e-15)
			require.LessOrEqual(t, bh[i], holm[i]+1e-15)
			for j := range p {
				if p[i] <= p[j] {
					require.LessOrEqual(t, holm[i], holm[j])
					require.LessOrEqual(t, bh[i], bh[j])
				}
			}
		}
		at := rapid.IntRange(0, len(p)).Draw(t, "turn")
		turned := append(append([]float64{}, p[at:]...), p[:at]...)
		for i, x := range Holm(turned) {
			require.Equal(t, holm[(i+at)%len(p)], x)
		}
	})
}

// TestReplicaFloor: three replicas over two windows with means 10, 12 and 16:
// distances 2, 4 and 6. Quantiles of chi-square with 2 degrees of freedom are
// -2·ln(1-q).
func TestReplicaFloor(t *testing.T) {
	values := [][]float64{{9, 11}, {13, 11}, {12, 20}}
	f, err := ReplicaFloor(values, Mean, 0.5, 0.9)
	require.NoError(t, err)
	require.Equal(t, 4.0, f.Value)
	require.InDelta(t, 4*math.Sqrt(2/(-2*math.Log(0.05))), f.Low, 1e-9)
	require.InDelta(t, 4*math.Sqrt(2/(-2*math.Log(0.95))), f.High, 1e-9)
	require.Equal(t, 3, f.Replicas)

	all, err := VariantFloor(values, Mean)
	require.NoError(t, err)
	require.Equal(t, Floor{Value: 6, Low: 6, High: 6, Quantile: 1, Confidence: 1, Replicas: 3}, all)
	require.Equal(t, 6.0, Larger(f, all).Value, "the wider of the two by its upper end, the value of the larger")
	require.Equal(t, f.High, Larger(all, f).High)

	values[1][0] = nan
	f, err = ReplicaFloor(values, Mean, 0.95, 0.95)
	require.NoError(t, err)
	require.Equal(t, 9.0, f.Value, "only the second window is whole: 11, 11, 20")

	for want, broken := range map[string][][]float64{
		"stat: a noise floor from 1 replicas; give at least 2 runs of the same configuration": {{1}},
		"stat: replica 1 of a noise floor has 2 windows, the first has 1":                     {{1}, {1, 2}},
		"stat: no window of the noise floor has a value in all 2 replicas":                    {{1, nan}, {nan, 2}},
	} {
		_, err := VariantFloor(broken, Mean)
		require.EqualError(t, err, want)
	}
	_, err = ReplicaFloor(values, Mean, 1, 0.95)
	require.EqualError(t, err, "stat: quantile 1 and confidence 0.95 of a noise floor: both lie between 0 and 1")
}
