package site

import (
	"orrery/scheduler/backfill"
	"orrery/scheduler/fairshare"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
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
	by     planner

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
	scratch queueScratch
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

// queueScratch is memory that is used again. Nothing in it outlives a call.
type queueScratch struct {
	contenders []model.Ref
	bounds     waiting.Bounds // of the last look for the best job
	behind     behind
	gated      []model.Ref
	limited    []model.Ref // jobs of shares that a limit held when the last leader was looked for
	refused    refused
	ties       ties
	pass       pass
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

// plans says whether p plans reservations for several jobs.
func (p *Policy) plans() bool { return p.Backfill == order.Conservative }

// ticks are those at which a vCluster on a cycle plans.
func (p *Policy) ticks() model.Ticks {
	if p.Cycle == 0 {
		return model.Ticks{}
	}
	return model.Ticks{Every: max((p.Window.Interval+p.Cycle-1)/p.Cycle, 1) * p.Cycle, Phase: p.Phase}
}

// keepsNodes says whether the vCluster lends nothing, for some of its own jobs want its
// nodes.
func (qs *queueState) keepsNodes() bool { return qs.blocked || qs.underProvisioned }
