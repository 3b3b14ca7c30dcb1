package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/place"
	"orrery/scheduler/preempt"
)

// nodeQuery is what the nodes selected for a job that is not sensitive depend on.
type nodeQuery struct {
	kind     *nodeChoice
	share    place.Share
	nodes    int32
	topology model.Topology
	borrows  bool
}

// equivalences numbers what is asked for, in the order in which it is asked for first.
type equivalences struct {
	numbers map[nodeQuery]int32
	recent  [256]numbered // what was asked for last, by the topology and the lowest bits of the nodes
}

type numbered struct {
	nodeQuery
	number int32
}

// of is the number of what is asked for.
func (a *equivalences) of(q nodeQuery) int32 {
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

// refusalCache is what a pass has refused.
type refusalCache struct {
	seq      uint64         // of the last proposal before
	since    uint32         // counts the times when nothing was refused yet
	noRoom   asked          // no nodes were found
	delays   asked          // the nodes found are those that the blocked job needs
	searches []victimSearch // that found none
}

// asked is when what has a number was refused, as since counts.
type asked []uint32

func (a *asked) add(number int32, since uint32) {
	for int(number) >= len(*a) {
		*a = append(*a, 0)
	}
	(*a)[number] = since
}

func (a asked) has(number int32, since uint32) bool {
	return int(number) < len(a) && a[number] == since
}

func (r *refusalCache) reset(seq uint64) {
	r.seq, r.searches = seq, r.searches[:0]
	if r.since++; r.since == 0 { // all stamps are of before
		clear(r.noRoom)
		clear(r.delays)
		r.since = 1
	}
}

// victimSearch is what it depends on whether victims are found for a job of whole nodes that no cap
// keeps from starting.
type victimSearch struct {
	kind         *nodeChoice
	trigger      preempt.Trigger
	class, below int32
	nodes        int32
}
