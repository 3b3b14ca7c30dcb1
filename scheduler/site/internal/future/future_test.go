package future

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/backfill"
	"orrery/scheduler/model"
	"orrery/scheduler/site/internal/caps"
)

// TestCapLine holds the line against a table of every instant.
func TestCapLine(t *testing.T) {
	const instants = 40
	rapid.Check(t, func(t *rapid.T) {
		s := caps.State{Cap: caps.Usage{Power: rapid.Int64Range(1, 20).Draw(t, "cap")}, Used: caps.Usage{Power: rapid.Int64Range(0, 20).Draw(t, "used")}}
		var line capLine
		line.reset(0, &s)
		var naive [instants]int64
		for i := range naive {
			naive[i] = s.Used.Power
		}
		for range rapid.IntRange(0, 20).Draw(t, "changes") {
			from := rapid.IntRange(0, instants-1).Draw(t, "from")
			until := rapid.IntRange(from+1, instants).Draw(t, "until")
			more := rapid.Int64Range(-5, 5).Draw(t, "more")
			end := model.Time(until)
			if until == instants {
				end = model.Never
			}
			line.add(model.Time(from), end, caps.Usage{Power: more})
			for i := from; i < until; i++ {
				naive[i] += more
			}
		}
		from := rapid.IntRange(0, instants-1).Draw(t, "from")
		until := rapid.IntRange(from+1, instants).Draw(t, "until")
		asked := rapid.Int64Range(1, 10).Draw(t, "asked")
		want := true
		for i := from; i < until; i++ {
			want = want && naive[i]+asked <= s.Cap.Power
		}
		require.Equal(t, want, line.fits(model.Time(from), model.Time(until), caps.Usage{Power: asked}))
	})
}

// all is a set of the first n nodes.
func all(n int) model.NodeSet {
	s := model.NewNodeSet(n)
	for i := range n {
		s.Add(model.NodeID(i))
	}
	return s
}

// TestReservationsStand: a job that does not start gets the earliest instant that the
// predicted ends and the reservations before it leave; set again, it keeps its instant;
// and once it is gone, the next one finds room there.
func TestReservationsStand(t *testing.T) {
	const nodes = 4
	p := NewPlan(backfill.Window{}, model.Ticks{}, nodes)
	none := caps.Usage{}
	begin := func(now model.Time) {
		p.Begin(now, model.NewNodeSet(nodes), &caps.State{})
		p.Release(100, all(nodes), none) // one running job holds all
		p.Restore(now, func(model.Ref) (model.Duration, caps.Usage) { return 50, none })
	}
	earliest := func() model.Time {
		return p.Earliest(0, model.Never, 50, all(nodes), nodes, func(model.Time, model.Time, model.NodeSet) bool { return true })
	}
	begin(0)
	require.Equal(t, model.Time(100), earliest())
	require.True(t, p.Set(-1, 7, 100, 50, all(nodes), none))
	require.Equal(t, model.Time(150), earliest(), "behind the first")
	require.True(t, p.Set(-1, 8, 150, 50, all(nodes), none))
	require.Equal(t, model.Time(100), p.First(0))

	begin(10)
	require.Equal(t, model.Time(200), earliest(), "both stand")
	i := p.Lift(7, 50, none)
	require.Equal(t, model.Time(100), earliest(), "where the lifted one was")
	require.False(t, p.Set(i, 7, 100, 50, all(nodes), none), "it has not moved")

	p.Forget(7)
	require.Equal(t, model.AbsentTime, p.At(7))
	begin(20)
	require.Equal(t, model.Time(100), earliest())
	require.Equal(t, model.Time(150), p.At(8))

	begin(151) // its instant is past
	require.Equal(t, model.AbsentTime, p.At(8))
}

// TestUserBound: a user's jobs are planned for up to the bound, in every round.
func TestUserBound(t *testing.T) {
	p := NewPlan(backfill.Window{}, model.Ticks{}, 1)
	for range 2 {
		p.NextRound()
		require.True(t, p.MayTest(3, 2))
		require.True(t, p.MayTest(3, 2))
		require.False(t, p.MayTest(3, 2))
		require.True(t, p.MayTest(4, 2))
		require.True(t, p.MayTest(3, 0), "no bound")
	}
}
