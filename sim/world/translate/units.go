package translate

import (
	"fmt"

	"orrery/scheduler/model"
	"orrery/traces"
)

// Units says how a node's parts turn into the units that are scheduled: unit i
// of a node is the same part of each of its resources. A job's share of a node
// is rounded up to units in the resource of which it asks most, so that no
// resource is ever oversubscribed. The zero value takes processors as units.
type Units struct {
	PerNode bool  // rows ask for nodes and shares of them
	CPUs    int32 // processors in one unit, at least 1 where PerNode is set
	GPUs    int32 // GPUs in one unit, 0 when nodes have none
	NoGPUs  bool  // nothing is known of GPUs: what rows ask for of them is ignored
}

// CPUsPerNode are the processors that row i asks for on each of its nodes: what it states, or else
// its part of those it asks for in all. 0 where it names no nodes, or no processors.
func CPUsPerNode(b *traces.Batch, i int) int32 {
	nodes, procs := b.NodesMin[i], b.ProcsRequested[i]
	switch c := b.CPUsPerNode[i]; {
	case c > 0:
		return c
	case nodes > 0 && procs > 0:
		return (procs-1)/nodes + 1
	}
	return 0
}

// request turns row i into a request. ok is false when the row asks for
// nothing.
func (u *Units) request(b *traces.Batch, i int) (r model.Request, met RuleSet, ok bool) {
	nodes := b.NodesMin[i]
	if !u.PerNode || nodes <= 0 {
		procs := b.ProcsRequested[i]
		switch per, held := b.CPUsPerNode[i], b.ProcsAllocated[i]; {
		case procs > 0:
		case nodes > 0 && per > 0:
			procs = saturate(int64(nodes) * int64(per))
		case held > 0:
			procs = held
			met.Add(RuleUsesAllocated)
		case nodes > 0:
			procs = nodes
		}
		if u.PerNode {
			procs = (procs + u.CPUs - 1) / u.CPUs
		}
		return model.Request{Layout: model.Anywhere, Units: procs}, met, procs > 0
	}
	per, exact := int32(1), true
	if c := CPUsPerNode(b, i); c > 0 {
		per = max(per, (c+u.CPUs-1)/u.CPUs)
		exact = c%u.CPUs == 0
	}
	if g := b.GPUsPerNode[i]; g > 0 && !u.NoGPUs {
		if u.GPUs == 0 {
			// Nodes have no GPUs: ask for more than any node has.
			return model.Request{Layout: model.PerNode, Nodes: nodes, PerNode: maxUnits, Units: maxUnits}, met, true
		}
		per = max(per, (g+u.GPUs-1)/u.GPUs)
	}
	if !exact {
		met = 1 << RuleRoundedUp // the processors do not matter here
	}
	return model.Request{Layout: model.PerNode, Nodes: nodes, PerNode: per, Units: saturate(int64(nodes) * int64(per))}, met, true
}

const maxUnits = 1<<31 - 1

func saturate(x int64) int32 { return int32(min(x, maxUnits)) }

// ClusterOf derives the nodes and the meaning of a unit from a nodes table:
// a unit is one GPU with its part of the processors where every node has GPUs,
// and one processor otherwise.
func ClusterOf(nodes []traces.Node) (units []int32, u Units, err error) {
	u = Units{PerNode: true, CPUs: 1}
	allGPU := true
	for _, n := range nodes {
		allGPU = allGPU && n.GPUs > 0
	}
	if allGPU {
		u.GPUs, u.CPUs = 1, 0
		for _, n := range nodes {
			if c := max(n.CPUs/n.GPUs, 1); u.CPUs == 0 || c < u.CPUs {
				u.CPUs = c
			}
		}
	}
	for i, n := range nodes {
		k := n.CPUs
		if allGPU {
			k = n.GPUs
		}
		if k < 1 {
			return nil, u, fmt.Errorf("node %d (%s) has no processors and no GPUs", i, n.Name)
		}
		units = append(units, k)
	}
	return units, u, nil
}
