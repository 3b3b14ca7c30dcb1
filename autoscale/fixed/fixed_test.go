package fixed

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

func TestFixed(t *testing.T) {
	p, err := New(3)
	require.NoError(t, err)
	require.Equal(t, autoscale.GuardNoMetric, p.Plan(0).Decisions[0].Guard) // the size is not known
	p.Observe(0, []autoscale.Fact{{Kind: autoscale.FactSize, N: 5}})
	plan := p.Plan(0)
	require.Equal(t, []autoscale.Proposal{{Verb: autoscale.SetReplicas, Seq: 1, N: 3, Entity: autoscale.Whole}}, plan.Proposals)
	require.Equal(t, model.Never, plan.Wake)
	require.Equal(t, autoscale.GuardInFlight, p.Plan(1).Decisions[0].Guard)
	p.Observe(1, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 9, Outcome: autoscale.Accepted, N: 9}})
	require.Equal(t, autoscale.GuardInFlight, p.Plan(1).Decisions[0].Guard)
	p.Observe(1, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Rejected, N: 3}})
	require.EqualValues(t, 2, p.Plan(2).Proposals[0].Seq, "a rejection grants nothing")
	p.Observe(2, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 2, Outcome: autoscale.Accepted, N: 3}})
	require.Empty(t, p.Plan(3).Proposals)
	require.Zero(t, testing.AllocsPerRun(10, func() { p.Plan(4) }))
}

// A service may be kept at none.
func TestSizes(t *testing.T) {
	for size, ok := range map[int64]bool{-1: false, 0: true, 1: true} {
		_, err := New(size)
		require.Equal(t, ok, err == nil, "%d", size)
	}
}
