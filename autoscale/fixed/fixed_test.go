package fixed

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

func TestFixed(t *testing.T) {
	_, err := New(-1)
	require.Error(t, err)
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
	p.Observe(1, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Rejected}})
	require.EqualValues(t, 2, p.Plan(2).Proposals[0].Seq)
	p.Observe(2, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 2, Outcome: autoscale.Accepted, N: 3}})
	require.Empty(t, p.Plan(3).Proposals)
	require.Zero(t, testing.AllocsPerRun(10, func() { p.Plan(4) }))
}
