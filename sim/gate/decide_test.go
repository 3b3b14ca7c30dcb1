package gate

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model/draw"
	"orrery/sim/stat"
)

// noisy makes replicas with 20 windows of very different level, whose common noise has
// that deviation, times factor.
func noisy(n, from int, noise, factor float64) []Replica {
	var out []Replica
	for i := range n {
		source := draw.New(1, draw.StreamOf("gate decide test"), uint64(from+i), 0)
		jitter := math.Exp(noise * source.Normal())
		r := Replica{Seed: from + i}
		for w := range 20 {
			r.Values = append(r.Values, factor*jitter*float64(10+w*w))
		}
		out = append(out, r)
	}
	return out
}

func usual() Rule {
	return Rule{Better: stat.Lower, Margin: stat.Margin{Relative: 0.03}, Reading: stat.FixedWindows, Confidence: 0.95, Queues: true, Most: 200}
}

// decided takes as many of the replicas as the rule wants.
func decided(t *testing.T, r Rule, a, b []Replica) Ruling {
	t.Helper()
	n := 0
	for want := r.Wanted(nil, nil); want > n; want = r.Wanted(a[:n], b[:n]) {
		n = want
	}
	found, err := r.Judge(a[:n], b[:n])
	require.NoError(t, err)
	return found
}

// TestNoiseChoosesTheSeeds: more noise takes more replicas, up to the most; then the
// check does not know, and says how small a regression it would find.
func TestNoiseChoosesTheSeeds(t *testing.T) {
	r := usual()
	quiet := decided(t, r, noisy(200, 0, 0.003, 1), noisy(200, 1000, 0.003, 1))
	require.Equal(t, leastReplicas, quiet.Replicas)
	require.Equal(t, stat.Holds, quiet.Outcome)
	require.Less(t, quiet.Detectable, 0.05)
	loud := decided(t, r, noisy(200, 0, 0.03, 1), noisy(200, 1000, 0.03, 1))
	require.Greater(t, loud.Replicas, 25)
	require.Less(t, loud.Replicas, 100)
	require.InDelta(t, 0.045, loud.Detectable, 0.005)
	louder := decided(t, r, noisy(200, 0, 0.5, 1), noisy(200, 1000, 0.5, 1.02))
	require.Equal(t, 200, louder.Replicas)
	require.Equal(t, stat.Undecided, louder.Outcome)
	require.Greater(t, louder.Detectable, 0.1)

	r.Detect = 0.10
	require.Less(t, decided(t, r, noisy(200, 0, 0.03, 1), noisy(200, 1000, 0.03, 1)).Replicas, loud.Replicas)
	r.Reading, r.Detect = stat.RandomWindows, 0
	require.Equal(t, leastReplicas, decided(t, r, noisy(200, 0, 0.003, 1), noisy(200, 1000, 0.003, 1)).Replicas)

	wanted, sight, err := usualSight(noisy(60, 0, 0.03, 1))
	require.NoError(t, err)
	require.LessOrEqual(t, wanted, 60)
	require.InDelta(t, 0.042, sight.Detectable, 0.006)
}

func usualSight(side []Replica) (int, Ruling, error) { r := usual(); return r.Sight(side) }

// TestVerdictsAreAsOftenRightAsTheyAreMeantToBe: unchanged sides hold always, others
// with noise of their own nearly so, and a planted 5 % is found.
func TestVerdictsAreAsOftenRightAsTheyAreMeantToBe(t *testing.T) {
	const times = 200
	hold, five, ten := 0, 0, 0
	for k := range times {
		r := usual()
		from := 10000 * (k + 1)
		a := noisy(200, from, 0.03, 1)
		same := noisy(200, from, 0.03, 1)
		for i := range same {
			a[i].Schedule, same[i].Schedule = "x", "x"
		}
		u := decided(t, r, a, same)
		require.True(t, u.Alike && u.Outcome == stat.Holds && u.Replicas == firstReplicas && u.Gain == 0)
		if decided(t, r, a, noisy(200, from+5000, 0.03, 1)).Outcome == stat.Holds {
			hold++
		}
		if decided(t, r, a, noisy(200, from+5000, 0.03, 1.05)).Outcome == stat.Violated {
			five++
		}
		if decided(t, r, a, noisy(200, from+5000, 0.03, 1.10)).Outcome == stat.Violated {
			ten++
		}
	}
	require.GreaterOrEqual(t, hold, times*95/100)
	require.GreaterOrEqual(t, five, times*80/100)
	require.Equal(t, times, ten)
}

// TestQueues: a queue that grows in as many replicas of either side has no say, one
// that grows on one side is a regression, and one that grows anyway says nothing.
func TestQueues(t *testing.T) {
	grow := func(side []Replica, n int) []Replica {
		for i := range n {
			side[i].Overloaded = true
		}
		return side
	}
	r := usual()
	judged := func(before, now int) Ruling {
		found, err := r.Judge(grow(noisy(20, 0, 0.003, 1), before), grow(noisy(20, 100, 0.003, 1), now))
		require.NoError(t, err)
		return found
	}
	require.Equal(t, stat.Holds, judged(4, 9).Outcome)
	require.Equal(t, stat.Holds, judged(9, 11).Outcome, "chance")
	require.Equal(t, stat.Violated, judged(2, 15).Outcome)
	require.Contains(t, judged(2, 15).Reason, "grows without end in 15 of 20 replicas, and in 2 of 20 of the other side")
	require.Equal(t, stat.Undecided, judged(10, 20).Outcome)
	r.Queues = false
	require.Equal(t, stat.Holds, judged(10, 20).Outcome)
}

// TestSharedSeeds: of two sides with other numbers of replicas those of the same seed
// count, and without one all do.
func TestSharedSeeds(t *testing.T) {
	r := usual()
	found, err := r.Judge(noisy(30, 0, 0.03, 1), noisy(12, 0, 0.03, 1))
	require.NoError(t, err)
	require.Equal(t, 12, found.Replicas)
	require.InDelta(t, 0, found.Gain, 1e-9)
	found, err = r.Judge(noisy(30, 0, 0.03, 1), noisy(12, 500, 0.03, 1))
	require.NoError(t, err)
	require.Equal(t, 42*20, found.Runs)
}
