package clairvoyant

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/autoscale"
	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

// What is ordered when the policy wakes is ready exactly when it is needed, never later,
// and no more is held than is needed until then.
func TestMeetsTheDemand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lead := model.Duration(rapid.IntRange(0, 20).Draw(t, "lead"))
		var needs []Need
		at := model.Time(20)
		for range rapid.IntRange(1, 10).Draw(t, "needs") {
			at = at.Add(model.Duration(rapid.IntRange(1, 15).Draw(t, "gap")))
			needs = append(needs, Need{at, rapid.Int64Range(0, 5).Draw(t, "n")})
		}
		need := func(at model.Time) (n int64) {
			for _, x := range needs {
				if x.At <= at {
					n = x.N
				}
			}
			return n
		}
		p, err := New(needs, lead)
		require.NoError(t, err)
		size, wake := int64(0), model.Time(0)
		ordered := make([]int64, at+1) // the size ordered by an instant
		for now := model.Time(0); now <= at; now++ {
			if now >= wake {
				p.Observe(now, []autoscale.Fact{{Kind: autoscale.FactSize, N: size}})
				plan := p.Plan(now)
				require.Greater(t, plan.Wake, now)
				wake = plan.Wake
				for _, x := range plan.Proposals {
					size = x.N
					p.Observe(now, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: x.Seq, Outcome: autoscale.Accepted, N: x.N}})
				}
			}
			ordered[now] = size
			most := int64(0)
			for ahead := now; ahead <= now.Add(lead); ahead++ {
				most = max(most, need(ahead))
			}
			require.Equal(t, most, size, "at %d", now)
		}
		for now := model.Time(lead); now <= at; now++ { // ready is what has been ordered all along the lead
			ready := ordered[now]
			for back := now.Add(-lead); back <= now; back++ {
				ready = min(ready, ordered[back])
			}
			require.GreaterOrEqual(t, ready, need(now))
		}
	})
}

func TestNeeds(t *testing.T) {
	for _, needs := range [][]Need{{{0, -1}}, {{5, 1}, {5, 2}}} {
		_, err := New(needs, 0)
		require.Error(t, err)
	}
	_, err := New(nil, -1)
	require.Error(t, err)
	p, err := New([]Need{{10, 2}}, 3)
	require.NoError(t, err)
	require.Equal(t, model.Time(7), p.Plan(0).Wake)
	require.Len(t, p.Plan(7).Proposals, 1)
	require.Equal(t, autoscale.GuardInFlight, p.Plan(8).Decisions[0].Guard)
	p.Observe(8, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Rejected}})
	require.Len(t, p.Plan(9).Proposals, 1)
	require.Zero(t, testing.AllocsPerRun(10, func() { p.Plan(10) }))
}

// The result of another proposal than the one in flight is none of its own.
func TestForeignResults(t *testing.T) {
	p, err := New([]Need{{0, 2}}, 0)
	require.NoError(t, err)
	require.Len(t, p.Plan(0).Proposals, 1)
	p.Observe(1, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 7, Outcome: autoscale.Accepted, N: 2}})
	require.Equal(t, autoscale.GuardInFlight, p.Plan(1).Decisions[0].Guard)
	p.Observe(2, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Accepted, N: 2}})
	plan := p.Plan(2)
	require.Equal(t, autoscale.GuardNone, plan.Decisions[0].Guard)
	require.Empty(t, plan.Proposals, "it has what it wants")
	p.Observe(3, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Accepted, N: 9}})
	require.Empty(t, p.Plan(3).Proposals, "it was answered before")
	p, err = New([]Need{{0, 2}}, 0)
	require.NoError(t, err)
	require.Len(t, p.Plan(0).Proposals, 1)
	p.Observe(1, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Rejected, N: 2}})
	require.Len(t, p.Plan(1).Proposals, 1, "it was refused")
}
