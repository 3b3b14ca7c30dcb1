package stat

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPair(t *testing.T) {
	for _, c := range []struct {
		name                string
		baseline, candidate []Observation
		windows, runs       []int
		from, to            []float64
		unmatched, broken   int
	}{
		{name: "nothing"},
		{
			"replicas are averaged, whatever their order",
			[]Observation{{1, 7, 30}, {0, 7, 10}, {0, 3, 20}, {1, 3, 50}},
			[]Observation{{0, 3, 22}, {0, 7, 14}, {1, 3, 48}, {1, 7, 30}},
			[]int{0, 1}, []int{2, 2}, []float64{15, 40}, []float64{18, 39}, 0, 0,
		},
		{
			"the two sides need not have the same seeds",
			[]Observation{{0, 0, 1}, {0, 1, 5}, {2, 0, 9}},
			[]Observation{{0, 8, 6}, {1, 0, 7}},
			[]int{0}, []int{2}, []float64{3}, []float64{6}, 2, 0,
		},
		{
			"a run without a number takes that of its seed with it",
			[]Observation{{0, 0, 1}, {0, 1, 9}, {1, 0, nan}, {2, 0, 3}},
			[]Observation{{0, 0, math.Inf(1)}, {0, 1, 4}, {1, 0, 2}, {2, 0, 5}},
			[]int{0, 2}, []int{1, 1}, []float64{9, 3}, []float64{4, 5}, 0, 4,
		},
		{
			"a window of which one side has no number is none",
			[]Observation{{0, 0, nan}, {0, 1, nan}},
			[]Observation{{0, 5, 1}, {0, 6, 2}},
			nil, nil, nil, nil, 0, 4,
		},
	} {
		got, err := Pair(c.baseline, c.candidate)
		require.NoError(t, err, c.name)
		require.Equal(t, c.windows, got.Window, c.name)
		require.Equal(t, c.runs, got.BaselineRuns, c.name)
		require.Equal(t, c.from, got.Baseline, c.name)
		require.Equal(t, c.to, got.Candidate, c.name)
		require.Equal(t, c.unmatched, got.Unmatched, c.name)
		require.Equal(t, c.broken, got.Undefined, c.name)
		require.Equal(t, len(c.baseline)+len(c.candidate), got.Runs+got.Unmatched+got.Undefined, "%s: each run is somewhere", c.name)
	}
	_, err := Pair(oneSeed(1, 2), []Observation{{1, 4, 1}, {1, 4, 2}})
	require.EqualError(t, err, "stat: the candidate has two values for window 1, seed 4; give one per run")
}

// TestReplicaNoise by hand. Two windows, of which each side has two replicas 2 apart: a
// variance of 2 within either window of either side.
func TestReplicaNoise(t *testing.T) {
	runs := func(shift float64, seeds ...int) []Observation {
		return []Observation{{0, seeds[0], 10 + shift}, {0, seeds[1], 12 + shift}, {1, seeds[0], 30 + shift}, {1, seeds[1], 32 + shift}}
	}
	noiseOf := func(baseline, candidate []Observation, factor float64) (replicaNoise, Measured) {
		p, err := Pair(baseline, candidate)
		require.NoError(t, err)
		l, ok := p.replicaNoise(factor)
		require.Equal(t, p.measured() != NoNoise, ok)
		return l, p.measured()
	}
	// Each mean has 2/2, each difference 2, their mean (2+2)/4; one run each: (4+4)/4.
	l, measured := noiseOf(runs(0, 0, 1), runs(5, 2, 3), 1)
	require.Equal(t, NoiseOfBoth, measured)
	require.InDelta(t, 1, l.variance, 1e-12)
	require.InDelta(t, 2, l.single, 1e-12)
	require.InDelta(t, 16/(4*1.0/3)-2, l.freedom, 1e-12, "four variances of 1 with one degree each: Welch")
	l, _ = noiseOf(runs(0, 0, 1), runs(5, 2, 3), 3)
	require.InDelta(t, (9+1)*2.0/4, l.variance, 1e-12, "three times the baseline has nine times the variance")

	l, measured = noiseOf(runs(0, 0, 1), runs(5, 0, 1), 1)
	require.Equal(t, NoiseOfBoth, measured)
	require.Zero(t, l.variance, "pairs of one seed moved alike")

	single := []Observation{{0, 0, 15}, {1, 0, 35}}
	l, measured = noiseOf(runs(0, 0, 1), single, 1)
	require.Equal(t, NoiseOfBaseline, measured)
	require.InDelta(t, (1+2+1+2)/4.0, l.variance, 1e-12, "the candidate is taken as equal: a variance of 2, of one run")
	l, measured = noiseOf(single, runs(0, 0, 1), 2)
	require.Equal(t, NoiseOfCandidate, measured)
	require.InDelta(t, (2+1+2+1)/4.0, l.variance, 1e-12)
	_, measured = noiseOf(single, single, 1)
	require.Equal(t, NoNoise, measured)

	// A window of one replica has the mean variance of the others.
	l, _ = noiseOf(append(runs(0, 0, 1), Observation{2, 0, 50}), append(runs(5, 2, 3), Observation{2, 2, 50}), 1)
	require.InDelta(t, (2+2+2+2)/9.0, l.variance, 1e-12)
}

// TestReplicaNoiseOfOneRun: two seeds of which one is 2 above the other in both windows have
// means 2 apart, and a variance of 2 as one window has; taken as independent, the two
// windows would halve it.
func TestReplicaNoiseOfOneRun(t *testing.T) {
	side := func(shift float64, seeds ...int) []Observation {
		return []Observation{{0, seeds[0], 10 + shift}, {0, seeds[1], 12 + shift}, {1, seeds[0], 30 + shift}, {1, seeds[1], 32 + shift}}
	}
	p, err := Pair(side(0, 0, 1), side(5, 2, 3))
	require.NoError(t, err)
	p.Continuous = true
	l, ok := p.replicaNoise(3)
	require.True(t, ok)
	require.InDelta(t, (9+1)*2.0/2, l.variance, 1e-12)
	require.InDelta(t, (9+1)*2.0, l.single, 1e-12)
	require.InDelta(t, 100/(81.0/3+1.0/3)-2, l.freedom, 1e-12)

	p, err = Pair(side(0, 0, 1), side(5, 0, 1))
	require.NoError(t, err)
	p.Continuous = true
	l, ok = p.replicaNoise(3)
	require.True(t, ok)
	require.InDelta(t, (1-3)*(1-3)*2.0/2, l.variance, 1e-12, "pairs of one seed")
	require.Equal(t, 1.0, l.freedom)

	p, err = Pair(side(0, 0, 1), []Observation{{0, 0, 15}, {1, 0, 35}})
	require.NoError(t, err)
	p.Continuous = true
	l, ok = p.replicaNoise(1)
	require.True(t, ok)
	require.InDelta(t, 2.0/2+2, l.variance, 1e-12, "the candidate is as noisy, and has one run")

	p, err = Pair([]Observation{{0, 0, 10}, {0, 1, 12}, {1, 0, 30}}, side(0, 0, 1)[:3])
	require.NoError(t, err)
	p.Continuous = true
	_, ok = p.replicaNoise(1)
	require.False(t, ok, "no seed but one has all windows")
}
