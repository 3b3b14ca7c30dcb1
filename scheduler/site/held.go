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

func (h *held) add(ref model.Ref, j *job, mask model.NodeSet) {
	if n := j.placement.Within(mask); n > 0 && j.Preemptible() {
		if at := len(h.at); int(ref) >= at { // room for twice as many, for refs come one by one
			h.at = slices.Grow(h.at, max(int(ref)+1-at, at))
		}
		for int(ref) >= len(h.at) {
			h.at = append(h.at, -1)
		}
		h.at[ref] = int32(len(h.byClass[j.Class]))
		h.byClass[j.Class] = append(h.byClass[j.Class], holder{ref, n})
		h.nodes[j.Class] += n
	}
}

func (h *held) remove(ref model.Ref, j *job) {
	if int(ref) >= len(h.at) || h.at[ref] < 0 {
		return
	}
	class, i := h.byClass[j.Class], h.at[ref]
	last := class[len(class)-1]
	h.nodes[j.Class] -= class[i].nodes
	class[i] = last
	h.at[last.ref], h.at[ref] = i, -1
	h.byClass[j.Class] = class[:len(class)-1]
}

// swap exchanges two jobs of a class.
func (h *held) swap(class []holder, i, k int) {
	class[i], class[k] = class[k], class[i]
	h.at[class[i].ref], h.at[class[k].ref] = int32(i), int32(k)
}

// holdNodes counts a running job at the nodes of which it holds shares, and at the kinds that were
// asked who holds theirs.
func holdNodes(s *nodeState, ref model.Ref, j *job) {
	for i := range j.placement.Shares {
		s.sharers[j.placement.Shares[i].Node]++
	}
	for _, k := range s.kinds {
		if k.held != nil && mayMeet(s, k, j) {
			k.held.add(ref, j, k.mask)
		}
	}
}

// mayMeet says whether j may hold nodes of a kind: jobs do of other vClusters where they borrow, or nodes have no home.
func mayMeet(s *nodeState, k *nodeChoice, j *job) bool {
	return k.vcluster == j.VCluster || j.borrowed || s.unhomed
}

// releaseNodes undoes holdNodes, before the nodes of the job change.
func releaseNodes(s *nodeState, ref model.Ref, j *job) {
	for i := range j.placement.Shares {
		s.sharers[j.placement.Shares[i].Node]--
	}
	for _, k := range s.kinds {
		if k.held != nil && mayMeet(s, k, j) {
			k.held.remove(ref, j)
		}
	}
}

// heldByClass is who holds nodes of a kind. Cost: the running jobs at first.
func (k *nodeChoice) heldByClass(running []model.Ref, jobs []job) *held {
	if k.held == nil {
		k.held = &held{}
		for _, ref := range running {
			k.held.add(ref, &jobs[ref], k.mask)
		}
	}
	return k.held
}

// heldBelow counts the nodes of a kind that running jobs of lower classes hold which may be
// preempted. Cost: the classes.
func (k *nodeChoice) heldBelow(class int32, running []model.Ref, jobs []job) (n int32) {
	for _, h := range k.heldByClass(running, jobs).nodes[:min(class, model.SensitiveClass)] {
		n += h
	}
	return n
}

// largestBelow is heldBelow for the so many jobs of these that hold most, or less where some of them hold enough already. It errs
// on the side of many where they are more than four. Cost: these jobs.
func (k *nodeChoice) largestBelow(class, most, enough int32, running []model.Ref, jobs []job) (n int32) {
	var largest [4]int32 // descending
	if int(most) > len(largest) {
		return k.heldBelow(class, running, jobs)
	}
	last := most - 1
	for _, list := range k.heldByClass(running, jobs).byClass[:min(class, model.SensitiveClass)] {
		for _, h := range list {
			if h.nodes <= largest[last] {
				continue
			}
			if n += h.nodes - largest[last]; n >= enough {
				return n
			}
			at := last
			for ; at > 0 && largest[at-1] < h.nodes; at-- {
				largest[at] = largest[at-1]
			}
			largest[at] = h.nodes
		}
	}
	return n
}
