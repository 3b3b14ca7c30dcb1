package site_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

func service(a *model.Allocation) {
	a.Kind, a.NodesMin, a.NodesMax, a.Walltime = model.Reactive, 1, 4, model.Forever
}

func (s *stand) demand(at int64, id model.JobID, nodes int64) {
	s.fact(at, model.Fact{Kind: model.FactDemand, Job: id, Ref: model.Ref(id), Value: nodes})
}

// Each service hears of its own proposal, in whatever order the quorum refuses them, and is proposed anew.
func TestServicesRefusedInAnyOrder(t *testing.T) {
	for _, first := range []int{0, 1} {
		s := newStand(t, alike(8, fcfs(order.Easy)))
		s.submit(0, service)
		s.submit(0, service)
		require.Equal(t, ids(0, 1), s.pass(0))
		s.demand(1, 0, 3)
		s.demand(1, 1, 2)
		proposed := append([]model.Proposal(nil), s.core.Plan(seconds(1)).Proposals...)
		require.Len(t, proposed, 2)
		for _, i := range []int{first, 1 - first} {
			p := &proposed[i]
			s.fact(2, model.Fact{Kind: model.FactRefused, Job: p.Job, Ref: p.Ref, Seq: p.Seq, Reason: model.ReasonNodesTaken})
		}
		again := s.core.Plan(seconds(2)).Proposals
		require.Len(t, again, 2)
		for i := range again {
			require.Equal(t, model.ProposeResize, again[i].Kind)
			require.Equal(t, proposed[i].Ref, again[i].Ref)
			require.EqualValues(t, 3-i, again[i].Placement.Nodes())
		}
	}
}

// A service that ran before the scheduler began is to have what is demanded, and what it has when
// nothing is.
func TestRestoredServiceKeepsItsDemand(t *testing.T) {
	for demand, want := range map[int64]int{0: 0, 1: 0, 3: 1} {
		s := newStand(t, alike(8, fcfs(order.Easy)))
		s.submit(0, service)
		if demand > 0 {
			s.demand(0, 0, demand)
		}
		had := model.Placement{Words: []model.NodeWord{{Mask: 1}}}
		s.fact(0, model.Fact{Kind: model.FactRestored, Job: 0, Ref: 0, Seq: 1, Placement: &had})
		require.Len(t, s.core.Plan(seconds(0)).Proposals, want, "demand %d", demand)
	}
}
