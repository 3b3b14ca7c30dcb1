package stat_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/stat"
)

func TestSpare(t *testing.T) {
	for _, row := range []struct{ windows, want int }{{0, 0}, {1, 0}, {2, 1}, {10, 1}, {19, 1}, {20, 2}, {40, 4}} {
		require.Equal(t, row.want, stat.Spare(row.windows), "%d windows", row.windows)
	}
	require.Equal(t, 5, stat.Spare(20, 0, 5, 3))
	require.Equal(t, 19, stat.Spare(20, 20), "in all windows is no chance")
}

// runs are one a window: S for a stable one, O for an overloaded one, and what
// was scheduled.
func runs(verdicts string, schedule string, value float64) []stat.Run {
	var out []stat.Run
	for i, v := range verdicts {
		out = append(out, stat.Run{Observation: stat.Observation{Window: i, Value: value}, Overloaded: v == 'O', Schedule: schedule})
	}
	return out
}

func TestPairRuns(t *testing.T) {
	for _, row := range []struct {
		name                string
		baseline, candidate string
		alike               bool
		want                stat.Overload
		unranked            bool
	}{
		{"none", "SSSSSS", "SSSSSS", false, stat.Overload{Windows: 6, Spare: 1}, false},
		{"both, and the same schedule", "OOOOOO", "OOOOOO", true, stat.Overload{Windows: 6, Alike: 6, Spare: 1}, false},
		{"both, and another schedule", "OOOOOO", "OOOOOO", false, stat.Overload{Aside: 6}, false},
		{"the baseline in some", "OOSSSS", "SOSSSS", false, stat.Overload{Windows: 4, Aside: 2, Spare: 1}, false},
		{"one more", "SSSSSS", "OSSSSS", false, stat.Overload{Windows: 6, Over: 1, Spare: 1}, false},
		{"two more", "SSSSSS", "OOSSSS", false, stat.Overload{Windows: 6, Over: 2, Spare: 1}, true},
		{"two more of twenty", "SSSSSSSSSSSSSSSSSSSS", "OOSSSSSSSSSSSSSSSSSS", false, stat.Overload{Windows: 20, Over: 2, Spare: 2}, false},
		{"the only one", "S", "O", false, stat.Overload{Windows: 1, Over: 1}, true},
	} {
		a, b := runs(row.baseline, "a", 100), runs(row.candidate, "b", 1)
		if row.alike {
			b = runs(row.candidate, "a", 100)
		}
		pairs, got, err := stat.PairRuns(a, b, stat.Lower)
		require.NoError(t, err)
		require.Equal(t, row.want, got, row.name)
		require.Equal(t, row.unranked, got.Unranked(), row.name)
		require.Len(t, pairs.Window, got.Windows, row.name)
	}
}

// TestAnOverloadedRunIsNoGain: a value that looks better counts as that of the
// baseline, one that is worse as it was measured.
func TestAnOverloadedRunIsNoGain(t *testing.T) {
	a, b := runs("SSS", "a", 100), runs("OSO", "b", 1)
	b[2].Value = 500
	pairs, _, err := stat.PairRuns(a, b, stat.Lower)
	require.NoError(t, err)
	require.Equal(t, []float64{100, 1, 500}, pairs.Candidate)
	require.Equal(t, 7.0, stat.AtLeast(7, 9, stat.Higher))
	require.True(t, math.IsNaN(stat.AtLeast(7, math.NaN(), stat.Lower)))
}

// TestSeedsOfAWindow: a window is overloaded when half of its seeds are, and
// counts while one of its pairs does.
func TestSeedsOfAWindow(t *testing.T) {
	seeds := func(of [][]string) (a, b []stat.Run) {
		for w, list := range of {
			for s, v := range list {
				o := stat.Observation{Window: w, Seed: s, Value: 1}
				a = append(a, stat.Run{Observation: o, Overloaded: v[0] == 'O'})
				b = append(b, stat.Run{Observation: o, Overloaded: v[1] == 'O'})
			}
		}
		return a, append(b, stat.Run{Observation: stat.Observation{Window: 99}})
	}
	a, b := seeds([][]string{{"SO", "SS", "SS"}, {"SO", "SO", "SS"}, {"OO", "OS", "SS"}, {"OO", "OS", "OS"}})
	pairs, o, err := stat.PairRuns(a, b, stat.Lower)
	require.NoError(t, err)
	require.Equal(t, stat.Overload{Windows: 3, Aside: 1, Over: 1, Spare: 1}, o)
	require.Equal(t, []int{0, 1, 2}, pairs.Window)
	require.Equal(t, 1, pairs.Unmatched)
}

func queues(before, now, runsBefore, runsNow int) stat.Queues {
	return stat.Queues{Baseline: before, Candidate: now, BaselineRuns: runsBefore, CandidateRuns: runsNow}
}

func TestQueues(t *testing.T) {
	// Fisher's tea: 3 of 4 right on one side, 1 of 4 on the other.
	require.InDelta(t, 17.0/70, queues(1, 3, 4, 4).P(), 1e-12)
	require.InDelta(t, 1.0/252, queues(0, 5, 5, 5).P(), 1e-12)
	require.InDelta(t, 1, queues(3, 0, 5, 5).P(), 1e-12)
	require.InDelta(t, 1, queues(0, 0, 5, 5).P(), 1e-12)
	require.True(t, queues(0, 5, 5, 5).Unranked())
	require.False(t, queues(0, 4, 5, 5).Unranked(), "p is 1 in 42")
	require.False(t, queues(0, 9, 60, 20).Unranked(), "in less than half")
	require.True(t, queues(10, 20, 20, 20).Aside())
	require.False(t, queues(9, 20, 20, 20).Aside())
}
