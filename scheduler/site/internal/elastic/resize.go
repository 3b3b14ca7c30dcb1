// Package elastic changes the size of running services: the changes that are in flight, how many nodes
// a service is to have, and which of its nodes it keeps when it shrinks. It knows placements, and
// neither what else is free nor what a pass decides.
package elastic

import (
	"iter"

	"orrery/scheduler/model"
	"orrery/scheduler/quota"
	"orrery/scheduler/site/internal/caps"
)

// Resize is a change of size in flight.
type Resize struct {
	Ref      model.Ref
	Seq      uint64 // of the proposal, 0 before that
	VCluster model.VClusterID
	Whole    model.Placement     // all nodes that the service is to have
	Gained   model.Placement     // those of them that it does not hold yet
	Usage    quota.ResourceUsage // the service's, as it was
	Nodes    int32               // gained, 0 for one that shrinks
	More     caps.Usage          // that it takes for them, less what they draw idle
	Reason   model.Reason        // for which it shrinks, where it is to be told
	Lent     bool                // some of Gained are of other vClusters
	Pooled   bool                // they count as nodes of sensitive work
}

// Resizes are those in flight. A service has one at most; their order means nothing.
type Resizes []Resize

// Add puts x in, which has no nodes yet, as the last. Its placements may be in the memory of one that
// was dropped.
func (s *Resizes) Add(x Resize) *Resize {
	list := *s
	n := len(list)
	if n < cap(list) {
		list = list[:n+1]
		x.Whole, x.Gained = emptied(list[n].Whole), emptied(list[n].Gained)
		list[n] = x
	} else {
		list = append(list, x)
	}
	*s = list
	return &list[n]
}

// emptied is the memory of p without nodes.
func emptied(p model.Placement) model.Placement {
	return model.Placement{Words: p.Words[:0], Shares: p.Shares[:0]}
}

// Drop takes out the one at i.
func (s *Resizes) Drop(i int) {
	list := *s
	last := len(list) - 1
	list[i], list[last] = list[last], list[i]
	*s = list[:last]
}

// Find is the index of that of ref by the proposal seq, 0 for any; -1 for none.
func (s Resizes) Find(ref model.Ref, seq uint64) int {
	for i := range s {
		if x := &s[i]; x.Ref == ref && (seq == 0 || x.Seq == seq) {
			return i
		}
	}
	return -1
}

// Of goes over those of a vCluster.
func (s Resizes) Of(v model.VClusterID) iter.Seq[*Resize] {
	return func(yield func(*Resize) bool) {
		for i := range s {
			if s[i].VCluster == v && !yield(&s[i]) {
				return
			}
		}
	}
}
