// Package reserve keeps nodes for jobs that do not have them yet: those that other jobs are made to
// leave for them, and those promised to the first blocked job of a vCluster. It knows refs, nodes and
// instants, and neither jobs nor what a pass decides.
package reserve

import (
	"slices"

	"orrery/scheduler/model"
)

// Hold keeps nodes for a job that makes others leave them.
type Hold struct {
	Ref     model.Ref
	Nodes   model.NodeSet
	Victims []Victim // that have not left yet
}

// Victim is a job and the proposal to preempt it.
type Victim struct {
	Ref model.Ref
	Seq uint64
}

// Holds are all nodes kept. No two are for one job, and a hold whose victims have all
// left stands until its job starts.
type Holds []Hold

func (h Holds) of(ref model.Ref) int {
	return slices.IndexFunc(h, func(x Hold) bool { return x.Ref == ref })
}

// Find is the hold of ref, nil for none. It is valid until one is added or dropped.
func (h Holds) Find(ref model.Ref) *Hold {
	if i := h.of(ref); i >= 0 {
		return &h[i]
	}
	return nil
}

// Has says whether nodes are kept for ref.
func (h Holds) Has(ref model.Ref) bool { return h.of(ref) >= 0 }

// Ready says whether nodes are kept for ref and its victims have all left.
func (h Holds) Ready(ref model.Ref) bool {
	x := h.Find(ref)
	return x != nil && len(x.Victims) == 0
}

// Add keeps nodes for ref, of so many none yet and for no victims. The memory may be that of a
// hold that was dropped.
func (h *Holds) Add(ref model.Ref, nodes int) *Hold {
	s := *h
	if n := len(s); n < cap(s) && s[:n+1][n].Nodes != nil {
		s = s[:n+1]
		clear(s[n].Nodes)
		s[n].Ref, s[n].Victims = ref, s[n].Victims[:0]
	} else {
		s = append(s, Hold{Ref: ref, Nodes: model.NewNodeSet(nodes)})
	}
	*h = s
	return &s[len(s)-1]
}

// Drop stops keeping nodes for ref and says whether there were any.
func (h *Holds) Drop(ref model.Ref) bool {
	i := h.of(ref)
	if i >= 0 {
		s := *h
		dropped := s[i]
		copy(s[i:], s[i+1:])
		s[len(s)-1] = dropped
		*h = s[:len(s)-1]
	}
	return i >= 0
}

// Left takes a victim off: it has given its nodes back.
func (h Holds) Left(ref model.Ref) {
	for i := range h {
		v := h[i].Victims
		if k := slices.IndexFunc(v, func(x Victim) bool { return x.Ref == ref }); k >= 0 {
			h[i].Victims = slices.Delete(v, k, k+1)
		}
	}
}

// Refused takes the victim of a proposal off. idle says that the hold of ref, whose it
// was, has no others now; ref is -1 where there was no such victim.
func (h Holds) Refused(seq uint64) (ref model.Ref, idle bool) {
	for i := range h {
		v := h[i].Victims
		if k := slices.IndexFunc(v, func(x Victim) bool { return x.Seq == seq }); k >= 0 {
			h[i].Victims = slices.Delete(v, k, k+1)
			return h[i].Ref, len(h[i].Victims) == 0
		}
	}
	return -1, false
}

// NodesOf is the nodes kept for ref, nil for none.
func (h Holds) NodesOf(ref model.Ref) model.NodeSet {
	if x := h.Find(ref); x != nil {
		return x.Nodes
	}
	return nil
}

// AddOthers adds to set the nodes kept for other jobs than ref.
func (h Holds) AddOthers(ref model.Ref, set model.NodeSet) {
	for i := range h {
		if h[i].Ref != ref {
			set.Or(h[i].Nodes)
		}
	}
}
