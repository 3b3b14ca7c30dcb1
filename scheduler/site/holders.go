package site

import "orrery/scheduler/model"

// holdNodes counts a running job at the nodes of which it holds shares, and at the kinds that were
// asked who holds theirs.
func holdNodes(s *nodeState, ref model.Ref, j *job) {
	for i := range j.placement.Shares {
		s.sharers[j.placement.Shares[i].Node]++
	}
	for _, k := range s.kinds {
		if k.held != nil && mayMeet(s, k, j) {
			k.hold(ref, j)
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
			k.held.remove(ref, j.Class)
		}
	}
}

// hold counts a running job among those that hold nodes of the kind, if it may be preempted.
func (k *nodeChoice) hold(ref model.Ref, j *job) {
	if n := j.placement.Within(k.mask); n > 0 && j.Preemptible() {
		k.held.add(ref, j.Class, n)
	}
}

// heldByClass is who holds nodes of a kind. Cost: the running jobs at first.
func (k *nodeChoice) heldByClass(running []model.Ref, jobs []job) *held {
	if k.held == nil {
		k.held = &held{}
		for _, ref := range running {
			k.hold(ref, &jobs[ref])
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
