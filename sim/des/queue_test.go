package des

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// TestQueueAgainstASortedList pushes and takes at random, near and far, and
// compares with a list that is sorted whenever it is asked.
func TestQueueAgainstASortedList(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var q Queue
		var l []Event
		now := model.Time(rng.Int64N(1 << 40))
		_ = q.Take(now, RankRecord, nil)
		for i := range model.JobID(3000) {
			if rng.IntN(5) < 3 {
				at := now + model.Time(rng.Int64N(1<<uint(1+rng.IntN(40))))
				if rng.IntN(100) == 0 {
					at = model.Never
				}
				e := NewEvent(at, Rank(rng.IntN(7)), i, model.Ref(rng.IntN(1000)))
				q.Push(e)
				l = append(l, e)
				continue
			}
			slices.SortFunc(l, func(a, b Event) int {
				if a.At != b.At {
					return int(min(1, max(-1, a.At-b.At)))
				}
				if a.Word < b.Word {
					return -1
				}
				return 1
			})
			next := model.Never
			if len(l) > 0 {
				next = l[0].At
			}
			require.Equal(t, next, q.Next())
			require.Equal(t, len(l), q.Len())
			if next == model.Never {
				continue
			}
			// Sometimes stop short of the next event, as a cycle does.
			if rng.IntN(4) == 0 {
				now += (next - now) / 2
			} else {
				now = next
			}
			got := q.Take(now, RankRecord, nil)
			n := 0
			for n < len(l) && l[n].At == now {
				n++
			}
			require.Equal(t, l[:n], append([]Event{}, got...))
			l = slices.Delete(l, 0, n)
		}
	}
}

// TestEventsOfOneInstantAscend: ranks in the order of their declaration, and
// within a rank by job.
func TestEventsOfOneInstantAscend(t *testing.T) {
	var q Queue
	want := []Event{
		NewEvent(7, RankNodeUp, 8, 0), NewEvent(7, RankEnd, 3, 9), NewEvent(7, RankEnd, 4, 1), NewEvent(7, RankExpiry, 1, 5),
		NewEvent(7, RankCheckpoint, 0, 0), NewEvent(7, RankNodeDown, 0, 0), NewEvent(7, RankQuorum, 2, 2), NewEvent(7, RankCancel, 0, 3), NewEvent(7, RankCancel, math.MaxInt32, maxRefs-1),
	}
	for _, i := range []int{4, 8, 2, 7, 5, 0, 3, 6, 1} {
		q.Push(want[i])
	}
	require.Equal(t, want, q.Take(7, RankRecord, nil))
	e := want[8]
	require.Equal(t, RankCancel, e.Rank())
	require.Equal(t, model.JobID(math.MaxInt32), e.Job())
	require.Equal(t, model.Ref(maxRefs-1), e.Ref())
}

// TestClear: what was cleared never comes, and the queue goes on from where it
// was.
func TestClear(t *testing.T) {
	var q Queue
	for _, at := range []model.Time{5, 10, 10, 1 << 40} {
		q.Push(NewEvent(at, RankEnd, 0, 0))
	}
	_ = q.Take(5, RankRecord, nil)
	q.Clear()
	require.Zero(t, q.Len())
	require.Equal(t, model.Never, q.Next())
	q.Push(NewEvent(20, RankEnd, 1, 0))
	require.Equal(t, model.Time(20), q.Next())
	require.Len(t, q.Take(20, RankRecord, nil), 1)
	require.Panics(t, func() { q.Push(NewEvent(19, RankEnd, 0, 0)) })
}

func TestPastEventsPanic(t *testing.T) {
	var q Queue
	_ = q.Take(10, RankRecord, nil)
	require.Panics(t, func() { q.Push(NewEvent(9, RankEnd, 0, 0)) })
}

// TestFingerprintSeesEveryChange: order, value, length and trailing zeros.
func TestFingerprintSeesEveryChange(t *testing.T) {
	of := func(words ...uint64) string {
		var f Fingerprint
		for i := 0; i+1 < len(words); i += 2 {
			f = f.Pair(words[i], words[i+1])
		}
		return f.String()
	}
	seen := map[string][]uint64{}
	for _, words := range [][]uint64{{}, {0, 0}, {0, 0, 0, 0}, {1, 0}, {0, 1}, {1, 2}, {2, 1}, {1 << 63, 0}, {0, 1 << 62}, {1, 2, 3, 4}, {3, 4, 1, 2}, {2, 1, 4, 3}, {1, 3, 2, 4}} {
		s := of(words...)
		require.Len(t, s, 32)
		require.Equal(t, s, of(words...))
		require.NotContains(t, seen, s)
		seen[s] = words
	}
	// One bit anywhere in a long sequence.
	base := make([]uint64, 100)
	for bit := range 64 {
		for i := 0; i < len(base); i += 9 {
			base[i] ^= 1 << bit
			s := of(base...)
			require.NotContains(t, seen, s)
			seen[s] = nil
			base[i] ^= 1 << bit
		}
	}
}

func TestQueueSteadyStateAllocatesNothing(t *testing.T) {
	var q Queue
	var buf []Event
	now := model.Time(0)
	churn := func() {
		for i := range model.JobID(200) {
			q.Push(NewEvent(now+model.Time(i*37%101), RankEnd, i, 0))
		}
		for q.Len() > 0 {
			now = q.Next()
			buf = q.Take(now, RankRecord, buf[:0])
		}
	}
	for range 1000 {
		churn()
	}
	require.Less(t, testing.AllocsPerRun(100, churn), 1.0)
}

// TestOrderOfOneInstant: whatever the order in which they were set, events of one instant
// come by rank. Those behind the submissions wait until these are in.
func TestOrderOfOneInstant(t *testing.T) {
	ranks := func(events []Event) (out []Rank) {
		for _, e := range events {
			out = append(out, e.Rank())
		}
		return out
	}
	for seed := range uint64(20) {
		var q Queue
		rng := rand.New(rand.NewPCG(seed, 5))
		for _, r := range rng.Perm(int(RankRecord) + 1) {
			q.Push(NewEvent(9, Rank(r), model.JobID(rng.IntN(100)), 0))
		}
		q.Push(NewEvent(11, RankNodeUp, 0, 0))
		early := q.Take(9, RankChange, nil)
		require.Equal(t, []Rank{RankNodeUp, RankEnd, RankExpiry, RankCheckpoint, RankNodeDown, RankQuorum, RankCancel, RankChange}, ranks(early))
		require.Equal(t, model.Time(9), q.Next(), "the others are still of this instant")
		require.Equal(t, 7, q.Len())
		require.Empty(t, q.Take(9, RankChange, nil))
		q.Push(NewEvent(9, RankEnd, 7, 0)) // caused by a submission: of the next round
		require.Equal(t, []Rank{RankEnd}, ranks(q.Take(9, RankChange, nil)))
		late := q.Take(9, RankRecord, early)
		require.Equal(t, []Rank{RankSubmission, RankRelease, RankScrape, RankScaling, RankPass, RankRecord}, ranks(late[len(early):]))
		require.Equal(t, model.Time(11), q.Next())
		require.Equal(t, 1, q.Len())
	}
}
