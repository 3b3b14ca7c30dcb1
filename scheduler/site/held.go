package site

import (
	"slices"

	"orrery/scheduler/model"
)

// held is the running jobs that may be preempted and hold nodes of a kind, by class. No job
// of SensitiveClass may be.
type held struct {
	byClass [model.SensitiveClass][]holder
	nodes   [model.SensitiveClass]int32 // a node that several share counts for each
	at      []int32                     // by ref, where in its class it is; -1 for none
}

// holder is a running job and how many nodes of the kind it holds.
type holder struct {
	ref   model.Ref
	nodes int32
}

func (h *held) add(ref model.Ref, class, nodes int32) {
	if at := len(h.at); int(ref) >= at { // room for twice as many, for refs come one by one
		h.at = slices.Grow(h.at, max(int(ref)+1-at, at))
	}
	for int(ref) >= len(h.at) {
		h.at = append(h.at, -1)
	}
	h.at[ref] = int32(len(h.byClass[class]))
	h.byClass[class] = append(h.byClass[class], holder{ref, nodes})
	h.nodes[class] += nodes
}

func (h *held) remove(ref model.Ref, of int32) {
	if int(ref) >= len(h.at) || h.at[ref] < 0 {
		return
	}
	class, i := h.byClass[of], h.at[ref]
	last := class[len(class)-1]
	h.nodes[of] -= class[i].nodes
	class[i] = last
	h.at[last.ref], h.at[ref] = i, -1
	h.byClass[of] = class[:len(class)-1]
}

// swap exchanges two jobs of a class.
func (h *held) swap(class []holder, i, k int) {
	class[i], class[k] = class[k], class[i]
	h.at[class[i].ref], h.at[class[k].ref] = int32(i), int32(k)
}
