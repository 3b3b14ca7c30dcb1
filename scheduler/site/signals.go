package site

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/site/internal/reserve"
	"orrery/scheduler/site/internal/wake"
)

// What facts and proposals change for the vClusters. In event mode everything is a change.

// concerns says whether a job is of the vCluster, or may hold nodes that jobs of the vCluster may start on without borrowing.
func concerns(s *nodeState, qs *queueState, j *job) bool {
	return qs == j.queue || s.unhomed || j.borrowed && j.placement.Within(s.home[qs.id]) > 0
}

// touches is that for the changes which j brings about.
func touches(s *Core, qs *queueState, j *job) bool {
	return qs.policy.Cycle == 0 || concerns(&s.nodeState, qs, j)
}

// factConcerns says whether a fact concerns a vCluster: one about a job of another does where that holds, or is to hold,
// nodes of it, or where nodes have no home. A refusal may be about two jobs, and concerns all.
func factConcerns(s *Core, qs *queueState, f *model.Fact) bool {
	switch f.Kind {
	case model.FactCancelled, model.FactEnded, model.FactAssigned, model.FactRestored, model.FactPreempted, model.FactSuspended, model.FactRequeued, model.FactResized, model.FactDemand, model.FactReleased:
		return concerns(&s.nodeState, qs, &s.jobs[f.Ref]) || f.Placement != nil && f.Placement.Within(s.home[qs.id]) > 0
	}
	return true
}

// runsOtherwise takes in a fact that may let a preemption succeed that failed before.
// A try that failed is made again then, and time alone may let it succeed.
func runsOtherwise(s *Core, f *model.Fact) {
	s.factSeq++
	for i := range s.vclusters {
		qs := &s.vclusters[i]
		if factConcerns(s, qs, f) {
			s.board.Raise(qs.id, wake.Running)
		} else {
			s.board.Raise(qs.id, wake.OtherVCluster)
		}
	}
}

// gives takes in that j gives something back. A job that was on nodes has them still; nodes
// kept for one that waits are at home in its vCluster, or in none.
func gives(s *Core, j *job) {
	s.board.Given(j.Tenant, j.QOS)
	raise(s, j, wake.CapacityFreed)
}

// takes takes in that j takes something.
func takes(s *Core, j *job) { raise(s, j, wake.CapacityTaken) }

// raise counts a change of nodes by j for the vClusters that it concerns, and for the others that something happened.
func raise(s *Core, j *job, source wake.Source) {
	for i := range s.vclusters {
		if qs := &s.vclusters[i]; touches(s, qs, j) {
			s.board.Raise(qs.id, source)
		} else {
			s.board.Raise(qs.id, wake.OtherVCluster)
		}
	}
}

// lendsMore takes in that qs lends what it did not, or with false the other way round. Others may borrow what no job there waits
// for, or may be promised nothing of it any more.
func lendsMore(s *Core, qs *queueState, more bool) {
	source := wake.OtherVCluster
	if more {
		source = wake.LendingChanged
	}
	for i := range s.vclusters {
		if other := &s.vclusters[i]; other != qs {
			s.board.Raise(other.id, source)
		}
	}
}

// promiseChanged has the other vClusters look again that may have heeded a promise.
func (s *Core) promiseChanged(qs *queueState) {
	for i := range s.vclusters {
		if other := &s.vclusters[i]; other != qs && other.keepsNodes() {
			s.board.Raise(other.id, wake.Promises)
		}
	}
}

// promisesTaken makes those vClusters look again to which a job that starts takes what they were
// promised: they did not know of it.
func promisesTaken(s *Core, j *job) {
	for i := range s.promises.List {
		if x := &s.promises.List[i]; x.VCluster != j.VCluster && j.predicted > x.At && j.placement.Within(x.Nodes) > 0 {
			s.board.Raise(x.VCluster, wake.Promises)
		}
	}
}

// factsOf counts the facts that concern a vCluster and may let a preemption succeed that failed before.
func (s *Core) factsOf(qs *queueState) int64 { return int64(s.board.Count(qs.id, wake.Running)) }

// still says whether nothing runs and nothing is asked for.
func (s *Core) still() bool {
	if len(s.active) > 0 {
		return false
	}
	for i := range s.vclusters {
		if len(s.vclusters[i].inFlight) > 0 {
			return false
		}
	}
	return true
}

// dropHold stops keeping nodes for ref: it has started or left.
func (s *Core) dropHold(ref model.Ref) {
	if s.holds.Drop(ref) {
		gives(s, &s.jobs[ref])
	}
}

// keepsFor says whether nodes that a vCluster may use are kept for any job.
func keepsFor(s *Core, qs *queueState) bool {
	return slices.ContainsFunc(s.holds, func(x reserve.Hold) bool { return concerns(&s.nodeState, qs, &s.jobs[x.Ref]) })
}
