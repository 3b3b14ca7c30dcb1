package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/place"
)

// nodeQuery is what the nodes selected for a job that is not sensitive depend on.
type nodeQuery struct {
	kind     *nodeChoice
	share    place.Share
	nodes    int32
	topology model.Topology
	borrows  bool
}

// alikes numbers what is asked for, in the order in which it is asked for first.
type alikes struct {
	numbers map[nodeQuery]int32
	recent  [256]numbered // what was asked for last, by the topology and the lowest bits of the nodes
}

type numbered struct {
	nodeQuery
	number int32
}

// of is the number of what the waiting job asks for.
func (a *alikes) of(s *Core, j *job) int32 {
	q := nodeQuery{j.kind, place.ShareOf(j.Allocation), j.NodesMin, j.Topology, s.cfg.borrows(j.Allocation, j.kind)}
	last := &a.recent[(uint32(q.nodes)<<2|uint32(q.topology))%uint32(len(a.recent))]
	if last.nodeQuery == q {
		return last.number
	}
	n, ok := a.numbers[q]
	if !ok {
		n = int32(len(a.numbers))
		a.numbers[q] = n
	}
	*last = numbered{q, n}
	return n
}
