package quorum

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// wantShare asks for so much of each node.
func wantShare(gpus int32, a model.Amounts) func(*model.Allocation) {
	return func(x *model.Allocation) { x.GPUs, x.Amounts = gpus, a }
}

// slice is a share of GPU g of a node by thousandths, and one CPU.
func slice(n model.NodeID, g int, milli int32) model.Placement {
	return model.Placement{Shares: []model.NodeShare{{Node: n, GPUs: 1 << g, Amounts: model.Amounts{CPUs: 1, GPUMilli: milli}}}}
}

// portion is whole GPUs, CPUs and memory of a node.
func portion(n model.NodeID, gpus uint64, units, cpus int32, memory int64) model.Placement {
	return model.Placement{Shares: []model.NodeShare{{Node: n, Units: units, GPUs: gpus, Amounts: model.Amounts{CPUs: cpus, Memory: memory}}}}
}

// sized gives the nodes of the site 8 CPUs and 100 bytes.
func sized(s *model.Site) {
	s.Amounts = true
	for i := range s.Nodes {
		s.Nodes[i].CPUs, s.Nodes[i].Memory = 8, 100
	}
}

// TestAmounts: no node gives more of anything than it has, and what ends gives it back.
func TestAmounts(t *testing.T) {
	d := newDesk(t, sized)
	milli := func(m int32) func(*model.Allocation) { return wantShare(0, model.Amounts{CPUs: 1, GPUMilli: m}) }
	d.submit(0, milli(500))
	d.submit(1, milli(500))
	d.submit(2, milli(1))
	d.submit(3, wantShare(1, model.Amounts{CPUs: 1}))
	d.submit(4, wantShare(0, model.Amounts{CPUs: 4, Memory: 60}))
	d.submit(5, wantShare(0, model.Amounts{CPUs: 3}))
	d.submit(6, wantShare(0, model.Amounts{CPUs: 1, Memory: 41}))
	d.submit(7)
	d.submit(8, wantShare(0, model.Amounts{CPUs: 9}))

	d.assign(0, slice(0, 2, 500), ok)
	d.assign(1, slice(0, 2, 500), ok)
	d.assign(2, slice(0, 2, 1), model.ReasonNodesTaken)
	d.assign(3, portion(0, 4, 1, 1, 0), model.ReasonNodesTaken)
	d.assign(4, portion(0, 0, 0, 4, 60), ok)
	d.assign(5, portion(0, 0, 0, 3, 0), model.ReasonNodesTaken)
	d.assign(6, portion(0, 0, 0, 1, 41), model.ReasonNodesTaken)
	d.assign(7, on(0), model.ReasonNodesTaken)
	d.assign(8, portion(1, 0, 0, 9, 0), model.ReasonNodesTaken)
	d.assign(3, portion(0, 8, 1, 1, 0), ok)
	d.assign(2, slice(0, 3, 1), model.ReasonNodesTaken)

	d.end(0)
	d.assign(2, slice(0, 2, 1), ok)
	d.end(1)
	d.end(2)
	d.end(3)
	d.assign(7, on(0), model.ReasonNodesTaken)
	d.end(4)
	d.assign(7, on(0), ok)
	d.assign(5, portion(0, 0, 0, 3, 0), model.ReasonNodesTaken)
}

// TestShapesOfAmounts: a job gets what it asks for, and nothing else.
func TestShapesOfAmounts(t *testing.T) {
	d := newDesk(t, sized)
	d.submit(0, wantShare(0, model.Amounts{CPUs: 1, GPUMilli: 500}))
	d.submit(1, wantShare(0, model.Amounts{CPUs: 2}))
	for _, p := range []model.Placement{
		slice(0, 0, 400), slice(0, 4, 500), on(0), portion(0, 1, 1, 1, 0), portion(0, 0, 0, 1, 0),
		{Shares: []model.NodeShare{{GPUs: 3, Amounts: model.Amounts{CPUs: 1, GPUMilli: 500}}}},
	} {
		d.assign(0, p, model.ReasonBadPlacement)
	}
	d.assign(1, portion(0, 1, 0, 2, 0), model.ReasonBadPlacement)
	d.assign(1, portion(0, 0, 0, 2, 1), model.ReasonBadPlacement)
	d.assign(1, portion(24, 0, 0, 2, 0), model.ReasonUnknownNode)
	d.assign(1, portion(0, 0, 0, 2, 0), ok)
}

// TestDistinctNodes: a limit in nodes counts a node once for all shares of a tenant, and a
// limit in GPUs counts thousandths.
func TestDistinctNodes(t *testing.T) {
	d := newDesk(t, sized)
	limit := func(nodes, gpus int32) {
		d.Apply(&model.Fact{Kind: model.FactLimits, Tenant: physics, Limits: &model.Limits{MaxNodes: nodes, MaxGPUs: gpus}})
	}
	for id := range model.JobID(8) {
		d.submit(id, wantShare(0, model.Amounts{CPUs: 1, GPUMilli: 600}))
	}
	d.submit(8)
	d.submit(9, wantShare(2, model.Amounts{CPUs: 1}))
	limit(1, 0)
	d.assign(0, slice(0, 0, 600), ok)
	d.assign(1, slice(0, 1, 600), ok)
	d.assign(2, slice(1, 0, 600), model.ReasonQuotaNodes)
	d.assign(8, on(1), model.ReasonQuotaNodes)
	limit(2, 2)
	d.assign(2, slice(1, 0, 600), ok)
	d.assign(3, slice(1, 1, 600), model.ReasonQuotaGPUs)
	d.assign(9, portion(1, 6, 2, 1, 0), model.ReasonQuotaGPUs)
	d.end(0)
	require.EqualValues(t, 2, first(d.TenantNodes(physics)), "another share holds the node")
	d.end(1)
	require.EqualValues(t, 1, first(d.TenantNodes(physics)))
	d.assign(3, slice(1, 1, 600), ok)
	limit(0, 6)
	d.assign(8, on(3), model.ReasonNone)
	limit(0, 5)
	d.assign(4, slice(1, 2, 600), model.ReasonQuotaGPUs)
}

func first(a, _ int32) int32 { return a }
