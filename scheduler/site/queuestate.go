package site

import (
	"orrery/scheduler/backfill"
	"orrery/scheduler/fairshare"
	"orrery/scheduler/model"
	"orrery/scheduler/place"
	"orrery/scheduler/site/internal/future"
	"orrery/scheduler/site/internal/waiting"
)

// queueState is what the core keeps of one vCluster: its queue, what it has in flight,
// and what its last pass found out.
type queueState struct {
	id     model.VClusterID
	policy *Policy
	mode   mode

	// free is what the committed log leaves, less what this vCluster has in flight: what
	// others have in flight is free here, so that proposals may conflict.
	free      *place.Free
	waiting   waiting.Queue // exactly the jobs in phase queued
	waitingOf byClass       // likewise, by the class that they preempt by
	inFlight  []model.Ref   // exactly its jobs in phases proposed and withdrawn
	services  []model.Ref   // the running ones that follow a demand, by id
	ends      backfill.Ends // predicted, of all running jobs of the site and of its own in flight

	promising        bool      // others are told of its reservations
	needLent         int32     // waiting jobs that can only start by borrowing, of which others are told
	blocked          bool      // a job lacked nodes in the last pass
	underProvisioned bool      // a service is smaller than it is to be, for want of nodes
	best             model.Ref // best of the last pass, -1 for none
	reopened         uint64    // of the graph, when the gated jobs were looked at last

	reservation future.Reservation // of the first blocked job, under Easy
	plan        future.Plan        // under Conservative
	requests    *place.MixSoFar    // what its jobs have asked for, nil where nodes are not selected by that

	lookout
	scores
}

// scores is what the scores of a pass have in common. The terms of tenants are those in
// the cache, as of the accounting tick of its last refresh.
type scores struct {
	terms  waiting.Terms
	common common          // of which terms.Common was made
	fair   fairshare.Cache // of the jobs in the queue and the running services
	groups groupSizes
}

// common is what every score of a site has in common, but for the weights.
type common struct {
	backlog, price model.Fixed
	known          bool
}

// newQueueState is the state of an idle vCluster on a site whose free nodes are those of
// free.
func newQueueState(id model.VClusterID, policy *Policy, fair fairshare.Cache, free *place.Free, space *place.Space) queueState {
	qs := queueState{
		id: id, policy: policy, free: space.NewFree(), best: -1, reservation: future.NewReservation(space.NewFree()),
		lookout:  newLookout(),
		scores:   scores{terms: waiting.Terms{FairShare: fair.Share, Penalty: fair.Penalty, Inverse: fair.Inverse}, fair: fair},
		mode:     policy.mode(),
		requests: newRequestMix(policy),
	}
	qs.free.CopyFrom(free)
	c := waiting.Config{Weights: &policy.Weights, Nodes: int32(space.Nodes()), Bounded: qs.mode.bounded}
	if policy.Ranking == ByScore {
		c.Reference = policy.Reference
	}
	nodes := 0
	if policy.plans() {
		nodes = space.Nodes()
	}
	qs.plan = future.NewPlan(policy.Window, policy.ticks(), nodes)
	qs.waiting = waiting.New(c, qs.free, space.Class(nil))
	return qs
}

// keepsNodes says whether the vCluster lends nothing, for some of its own jobs want its
// nodes.
func (qs *queueState) keepsNodes() bool { return qs.blocked || qs.underProvisioned }

// newRequestMix is the mix that a vCluster places shares by, nil under policies that do not
// go by one.
func newRequestMix(p *Policy) *place.MixSoFar {
	if !p.LeastFragmentation {
		return nil
	}
	return place.NewMixSoFar()
}

// groupSizes are the largest free conformance groups by class of nodes, as they were
// when they were first asked for in a pass; -1 is not yet.
type groupSizes []int32

// forget makes the sizes those of the next pass.
func (g groupSizes) forget() {
	for i := range g {
		g[i] = -1
	}
}

// promises says whether other vClusters are told of reservations.
func (qs *queueState) promises() bool { return qs.promising || qs.needLent > 0 }
