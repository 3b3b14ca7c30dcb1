package stat

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model/draw"
)

func TestNotWorseOverRandomWindows(t *testing.T) {
	base := []float64{10, 12, 9, 11, 10, 12, 9, 11, 10, 12}
	plus := func(d ...float64) []float64 {
		out := make([]float64, len(base))
		for i := range out {
			out[i] = base[i] + d[i%len(d)]
		}
		return out
	}
	within, beyond := "the lower bound of the gain is within the margin", "the upper bound of the gain is beyond the margin"
	for _, c := range []struct {
		name      string
		candidate []float64
		better    Direction
		margin    Margin
		want      Bound
		reason    string
	}{
		{"unchanged, no margin", base, Lower, Margin{}, Holds, within},
		{"10 % longer, 15 % allowed", plus(1), Lower, Margin{Relative: 0.15}, Holds, within},
		{"1 longer, 1.5 allowed", plus(1), Lower, Margin{Absolute: 1.5}, Holds, within},
		{"1 longer, 0.2 and 5 % allowed", plus(1), Lower, Margin{0.05, 0.2}, Violated, beyond},
		{"1 more of what is good", plus(1), Higher, Margin{}, Holds, within},
		{"-2 to 4 longer, 1 allowed", plus(-2, 4, 1, 1, 4), Lower, Margin{Absolute: 1.6}, Undecided, "the margin lies between the bounds of the gain"},
		{"too few windows", base[:7], Lower, Margin{Absolute: 1}, Undecided, "7 windows, 8 needed"},
		{"none", nil, Lower, Margin{Absolute: 1}, Undecided, "0 windows, 8 needed"},
		{"no ratio", plus(-11), Lower, Margin{Absolute: 1}, Holds, within},
	} {
		got, err := NotWorse(pairsOf(t, base[:len(c.candidate)], c.candidate), c.better, c.margin, RandomWindows, Defaults())
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got.Outcome, "%s: %+v", c.name, got)
		require.Equal(t, c.reason, got.Reason, c.name)
	}
	for _, m := range []Margin{{Relative: -1}, {Absolute: nan}} {
		_, err := NotWorse(Pairs{}, Lower, m, RandomWindows, Defaults())
		require.ErrorContains(t, err, "of a non-inferiority check; give 0 or a positive number")
	}
	s := Defaults()
	s.Confidence = 0.5
	_, err := NotWorse(Pairs{}, Lower, Margin{}, RandomWindows, s)
	require.EqualError(t, err, "stat: confidence 0.5 of a one-sided bound; give more than 0.5")
}

// TestNotWorseOnFixedWindows by hand: two windows with the sums 200 and 220 of
// the means, and a variance of 2 between two replicas of each. The logarithm of
// the ratio is ln 1.1, its variance (2/2·1.1² + 2/2)·2/220².
func TestNotWorseOnFixedWindows(t *testing.T) {
	side := func(shift float64, seed int) []Observation {
		return []Observation{{0, seed, 89 + shift}, {0, seed + 1, 91 + shift}, {1, seed, 109 + shift}, {1, seed + 1, 111 + shift}}
	}
	p, err := Pair(side(0, 0), side(10, 5))
	require.NoError(t, err)
	got, err := NotWorse(p, Lower, Margin{Relative: 0.05}, FixedWindows, Defaults())
	require.NoError(t, err)
	l, _ := p.replicaNoise(1.1)
	require.InDelta(t, (1.21+1)*2/4, l.variance, 1e-12)
	reach := student(l.freedom).Quantile(0.1) * math.Sqrt((1.21+1)*2) / 220
	require.InDelta(t, -10, got.Gain, 1e-9)
	require.InDelta(t, -(math.Exp(math.Log(1.1)+reach)-1)*100, got.AtLeast, 1e-9)
	require.InDelta(t, -(math.Exp(math.Log(1.1)-reach)-1)*100, got.AtMost, 1e-9)
	require.InDelta(t, 5, got.Margin, 1e-12)
	require.Equal(t, 100.0, got.Baseline)
	require.Equal(t, Violated, got.Outcome, "two windows are enough: they are the whole question")

	random, err := NotWorse(p, Lower, Margin{Relative: 0.05}, RandomWindows, Defaults())
	require.NoError(t, err)
	require.Equal(t, Undecided, random.Outcome)

	bare, err := NotWorse(pairsOf(t, p.Baseline, p.Candidate), Lower, Margin{Relative: 0.05}, FixedWindows, Defaults())
	require.NoError(t, err)
	require.Equal(t, Undecided, bare.Outcome)
	require.Equal(t, "no noise was measured: give each side 2 replicas or more of each window", bare.Reason)
	require.InDelta(t, -10, bare.Gain, 1e-9)

	alike, err := Pair(side(0, 0), side(0, 0))
	require.NoError(t, err)
	got, err = NotWorse(alike, Lower, Margin{}, FixedWindows, Defaults())
	require.NoError(t, err)
	require.Equal(t, Holds, got.Outcome, "pairs of one seed that are equal leave no doubt")
}

// fixed are windows of given levels with noise of 5 % of the level in each run.
func fixed(t require.TestingT, windows, replicas int, factor float64, key uint64) Pairs {
	source := draw.New(21, testStream, key, 0)
	var sides [2][]Observation
	for w := range windows {
		level := float64(100 * (1 + w%5))
		for r := range replicas {
			for side, f := range []float64{1, factor} {
				sides[side] = append(sides[side], Observation{w, 2*r + side, level * f * (1 + 0.05*source.Normal())})
			}
		}
	}
	p, err := Pair(sides[0], sides[1])
	require.NoError(t, err)
	return p
}

// TestFixedWindowsHoldTheirLevel: at the margin itself a check is called violated,
// and holds, in 5 % of cases each, with 1 window or 12 and 2 replicas or 5.
func TestFixedWindowsHoldTheirLevel(t *testing.T) {
	for _, c := range []struct{ windows, replicas int }{{1, 5}, {4, 2}, {12, 2}, {12, 5}} {
		const runs = 1000
		count := map[Bound]int{}
		for k := range uint64(runs) {
			got, err := NotWorse(fixed(t, c.windows, c.replicas, 1.03, k), Lower, Margin{Relative: 0.03}, FixedWindows, Defaults())
			require.NoError(t, err)
			count[got.Outcome]++
		}
		require.InDelta(t, 50, count[Holds], 28, "%d windows, %d replicas: %v", c.windows, c.replicas, count)
		require.InDelta(t, 50, count[Violated], 28, "%d windows, %d replicas: %v", c.windows, c.replicas, count)
	}
}

// TestPlanKeepsItsWord: with as many replicas as the plan asks for, a regression
// of that size is found in about 80 % of cases, under either reading.
func TestPlanKeepsItsWord(t *testing.T) {
	const windows, margin = 10, 0.01
	for _, reading := range []Reading{FixedWindows, RandomWindows} {
		plan, err := PlanOf(fixed(t, windows, 40, 1, 7), reading, Defaults())
		require.NoError(t, err)
		require.InDelta(t, 2*0.05*0.05*110/900, plan.Noise, 0.00009, "of one run: 2·(5 %)²·Σlevel²/(Σlevel)²")
		regression := 0.05
		need, ok := plan.ReplicasFor(regression, margin, 0.8)
		require.True(t, ok, "%v", reading)
		if reading == RandomWindows && plan.Spread > 0 {
			plan.Spread = 0 // the windows of this test differ by noise alone
			need, _ = plan.ReplicasFor(regression, margin, 0.8)
		}
		require.Less(t, need, 40)
		plan.Replicas = need
		require.LessOrEqual(t, plan.Detectable(margin, 0.8), regression)
		found := 0
		const runs = 600
		for k := range uint64(runs) {
			got, err := NotWorse(fixed(t, windows, need, 1+regression, 1000+k), Lower, Margin{Relative: margin}, reading, Defaults())
			require.NoError(t, err)
			if got.Outcome == Violated {
				found++
			}
		}
		share := float64(found) / runs
		t.Logf("%v: %d replicas find it in %.3f", reading, need, share)
		require.True(t, 0.74 < share && share < 0.93, "%v: %d replicas find it in %.3f", reading, need, share)
	}
}

func TestPlanEdges(t *testing.T) {
	p := fixed(t, 10, 3, 1, 1)
	plan, err := PlanOf(p, FixedWindows, Defaults())
	require.NoError(t, err)
	require.Equal(t, 3, plan.Replicas)
	require.Zero(t, plan.Spread)
	require.Greater(t, plan.resolution(2, 0.8), plan.resolution(3, 0.8))
	require.Greater(t, plan.resolution(3, 0.9), plan.resolution(3, 0.8))
	_, ok := plan.ReplicasFor(0.03, 0.03, 0.8)
	require.False(t, ok, "no number of replicas tells a regression from a margin of its size")
	n, ok := plan.ReplicasFor(0, 0.03, 0.8)
	require.True(t, ok)
	require.Greater(t, n, 2)

	// Windows that differ a lot: replicas are of little use.
	source := draw.New(3, testStream, 3, 0)
	for i := range p.Candidate {
		p.Candidate[i] *= math.Exp(0.5 * source.Normal())
	}
	plan, err = PlanOf(p, RandomWindows, Defaults())
	require.NoError(t, err)
	require.Greater(t, plan.Spread, plan.Noise)
	_, ok = plan.ReplicasFor(0.05, 0.01, 0.8)
	require.False(t, ok)

	_, err = PlanOf(pairsOf(t, []float64{1, 2}, []float64{1, 2}), FixedWindows, Defaults())
	require.EqualError(t, err, "stat: no noise was measured: give one side at least 2 replicas of a window")
}
