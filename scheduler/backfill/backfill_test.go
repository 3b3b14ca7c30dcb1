package backfill

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// list is Ends as a plain slice.
type list []end

// at is the predicted end of e at now.
func (e end) predicted(now model.Time) model.Time {
	if e.at <= now {
		return now.Add(model.Second)
	}
	return e.at
}

func (l list) shadow(now model.Time, need, free int32) (model.Time, int32) {
	var instants []model.Time
	for _, e := range l {
		instants = append(instants, e.predicted(now))
	}
	slices.Sort(instants)
	for _, at := range slices.Compact(instants) {
		got := free
		for _, e := range l {
			if e.predicted(now) <= at {
				got += e.need
			}
		}
		if got >= need {
			return at, got - need
		}
	}
	return model.Never, 0
}

// TestEndsAgainstAList inserts, removes and asks at random, with so many entries
// that blocks split and vanish, and instants so few that they coincide.
func TestEndsAgainstAList(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var s Ends
		var l list
		size, span := 1+rng.IntN(1200), 1+rng.IntN(3000)
		for ref := range model.Ref(3000) {
			if len(l) > size || len(l) > 0 && rng.IntN(3) == 0 {
				i := rng.IntN(len(l))
				s.Remove(l[i].at, l[i].ref)
				l = slices.Delete(l, i, i+1)
			} else {
				e := end{model.Time(rng.IntN(span)) * 1000, ref, 1 + rng.Int32N(9)}
				if rng.IntN(50) == 0 {
					e.at = model.Never
				}
				s.Insert(e.at, e.ref, e.need)
				l = append(l, e)
			}
			if ref%31 == 0 {
				compareEnds(t, &s, l, model.Time(rng.IntN(span+10))*1000, rng)
			}
		}
	}
}

func compareEnds(t *testing.T, s *Ends, l list, now model.Time, rng *rand.Rand) {
	free := rng.Int32N(20)
	need := free + 1 + rng.Int32N(200) // more than is free, as the callers ask
	at, extra := s.Shadow(now, need, free)
	wantAt, wantExtra := l.shadow(now, need, free)
	require.Equal(t, wantAt, at)
	require.Equal(t, wantExtra, extra)
	require.Equal(t, len(l), s.Len())
	first := model.Never
	var late []model.Ref
	for _, e := range l {
		first = min(first, e.at)
		if e.at <= now {
			late = append(late, e.ref)
		}
	}
	require.Equal(t, first, s.First())
	got := s.Overdue(now, nil)
	slices.Sort(got)
	slices.Sort(late)
	require.Equal(t, late, got)
	byRef := map[model.Ref]end{}
	for _, e := range l {
		byRef[e.ref] = e
	}
	seen, last := 0, model.Time(0)
	s.Ascend(now, func(at model.Time, ref model.Ref, _ int32) bool {
		if at < last || at != byRef[ref].predicted(now) {
			t.Fatalf("job %d comes at %v after %v, predicted %v", ref, at, last, byRef[ref].predicted(now))
		}
		seen, last = seen+1, at
		return true
	})
	require.Equal(t, len(l), seen)
}

func TestEndsRefuseWhatIsNotThere(t *testing.T) {
	var s Ends
	s.Insert(5, 1, 1)
	require.Panics(t, func() { s.Remove(6, 1) })
	require.Panics(t, func() { s.Remove(5, 2) })
}

// TestProfileAgainstInstants keeps the free capacity of each instant and asks
// both for the earliest slot.
func TestProfileAgainstInstants(t *testing.T) {
	const span, total = 60, 20
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var p Profile
		p.Reset(0, total)
		free := slices.Repeat([]int32{total}, span) // the last instant lasts for ever
		now := 0
		for range 60 {
			from, until := now+rng.IntN(span-now), now+rng.IntN(span-now)
			delta := rng.Int32N(9) - 4
			end := model.Time(until)
			if rng.IntN(5) == 0 {
				until, end = span, model.Never
			}
			p.Add(model.Time(from), end, delta)
			for i := from; i < until; i++ {
				free[i] += delta
			}
			if rng.IntN(8) == 0 && now < span/2 {
				now += rng.IntN(5)
				p.Forget(model.Time(now))
			}
			need, d := rng.Int32N(total), model.Duration(1+rng.IntN(span))
			if rng.IntN(6) == 0 {
				d = model.Forever
			}
			require.Equal(t, slot(free, now, need, d), p.Earliest(model.Time(now), need, d), "seed %d need %d for %d", seed, need, d)
			requireSteps(t, &p)
		}
	}
}

func slot(free []int32, now int, need int32, d model.Duration) model.Time {
	for start := now; start < len(free); start++ {
		fits := true
		for i := start; i < len(free) && model.Duration(i-start) < d; i++ {
			fits = fits && free[i] >= need
		}
		if fits {
			return model.Time(start)
		}
	}
	return model.Never
}

// requireSteps checks that steps ascend and that neighbours differ.
func requireSteps(t *testing.T, p *Profile) {
	for i := 1; i < len(p.at); i++ {
		if p.at[i-1] >= p.at[i] || p.free[i-1] == p.free[i] {
			t.Fatalf("steps %v %v", p.at, p.free)
		}
	}
}

func TestProfileRefusesThePast(t *testing.T) {
	var p Profile
	p.Reset(10, 4)
	require.Panics(t, func() { p.Add(5, 20, -1) })
	p.Add(12, 12, -1) // nothing
	require.Len(t, p.at, 1)
}

// TestSteadyStateAllocatesNothing: once grown, neither type allocates.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	var s Ends
	var p Profile
	p.Reset(0, 1000)
	now := model.Time(0)
	churn := func() {
		for i := range model.Ref(500) {
			now++
			s.Insert(now+500, i, 1)
			p.Add(now, now+500, -1)
		}
		for i := range model.Ref(500) {
			s.Remove(now+1+model.Time(i), i)
		}
		p.Forget(now)
	}
	churn()
	churn()
	require.Zero(t, testing.AllocsPerRun(20, churn))
}
