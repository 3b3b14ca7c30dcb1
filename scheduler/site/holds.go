package site

import (
	"slices"

	"orrery/scheduler/model"
)

// hold keeps nodes for a job that makes others leave them.
type hold struct {
	ref     model.Ref
	nodes   model.NodeSet
	victims []victim
}

// victim is a job and the proposal to preempt it.
type victim struct {
	ref model.Ref
	seq uint64
}

// holds are all nodes kept. No two are for one job, and a hold whose victims have all
// left stands until its job starts.
type holds []hold

func (h holds) of(ref model.Ref) int {
	return slices.IndexFunc(h, func(x hold) bool { return x.ref == ref })
}

// has says whether nodes are kept for ref.
func (h holds) has(ref model.Ref) bool { return h.of(ref) >= 0 }

// ready says whether nodes are kept for ref and its victims have all left.
func (h holds) ready(ref model.Ref) bool {
	i := h.of(ref)
	return i >= 0 && len(h[i].victims) == 0
}

// add keeps nodes for ref, none and for no victims yet. The memory may be that of a hold that
// was dropped.
func (h *holds) add(ref model.Ref, nodes int) *hold {
	s := *h
	if n := len(s); n < cap(s) && s[:n+1][n].nodes != nil {
		s = s[:n+1]
		clear(s[n].nodes)
		s[n].ref, s[n].victims = ref, s[n].victims[:0]
	} else {
		s = append(s, hold{ref: ref, nodes: model.NewNodeSet(nodes)})
	}
	*h = s
	return &s[len(s)-1]
}

// drop stops keeping nodes for ref and says whether there were any.
func (h *holds) drop(ref model.Ref) bool {
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

// left takes a victim off: it has given its nodes back.
func (h holds) left(ref model.Ref) {
	for i := range h {
		v := h[i].victims
		if k := slices.IndexFunc(v, func(x victim) bool { return x.ref == ref }); k >= 0 {
			h[i].victims = slices.Delete(v, k, k+1)
		}
	}
}

// refused takes the victim of a proposal off. idle says that the hold of ref, whose it
// was, has no others now.
func (h holds) refused(seq uint64) (ref model.Ref, idle bool) {
	for i := range h {
		v := h[i].victims
		if k := slices.IndexFunc(v, func(x victim) bool { return x.seq == seq }); k >= 0 {
			h[i].victims = slices.Delete(v, k, k+1)
			return h[i].ref, len(h[i].victims) == 0
		}
	}
	return -1, false
}

// nodesOf is the nodes kept for ref, nil for none.
func (h holds) nodesOf(ref model.Ref) model.NodeSet {
	if i := h.of(ref); i >= 0 {
		return h[i].nodes
	}
	return nil
}

// nodes adds to set the nodes kept for other jobs than ref.
func (h holds) nodes(ref model.Ref, set model.NodeSet) {
	for i := range h {
		if h[i].ref != ref {
			set.Or(h[i].nodes)
		}
	}
}
