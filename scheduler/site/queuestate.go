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
	factSeq          int64     // facts observed that concern it and may let a preemption succeed that failed before
	blocked          bool      // a job lacked nodes in the last pass
	underProvisioned bool      // a service is smaller than it is to be, for want of nodes
	best             model.Ref // best of the last pass, -1 for none
	reopened         uint64    // of the graph, when the gated jobs were looked at last

	reservation future.Reservation // of the first blocked job, under Easy
	plan        future.Plan        // under Conservative
	requests    *place.MixSoFar    // what its jobs have asked for, nil where nodes are not selected by that

	nextLook
	scores
	scratch queueScratch
}

// nextLook says when a vCluster has to look at its queue again. A pass sets it anew; what is
// observed until the next one may only bring it forward.
type nextLook struct {
	dirty      bool        // something changed since the last pass
	elsewhere  bool        // something changed since then that concerns other vClusters
	again      bool        // the quorum refused something since the last pass, so there is one more
	againAt    model.Time  // when there was one more last
	stuckAt    model.Time  // when the quorum refused something even so
	quietUntil model.Time  // nothing changes before, if nothing is observed and the accounts stay
	accountsAt model.Time  // the accounts may change, which matters
	commonAt   model.Fixed // Common of the terms in the last pass
	tolerance  model.Fixed // nothing changes by that before it has moved by more
	minScoreAt model.Time  // a job held by min_score may reach it; screen brings it forward
	tick       model.Time  // as tickFrom answered last
	tickBefore model.Time  // the tick before that
	lastPass   model.Time  // or the last tick of the cycle that needed none
	orderHolds bool        // a job that may have room is held back by the order alone

	holdsGood bool        // what the last pass found out holds until something is observed but submissions
	full      bool        // no job had room when the last pass was over, and nothing else matters
	fresh     []model.Ref // jobs submitted since the last pass
	heldBack  heldBack    // since a pass that started no job

	conclusive bool     // the last pass left nothing that what concerns other vClusters could change but by the limits that it met, caps, and what they lend
	met        limits   // that kept jobs from starting in the last pass
	delaying   delaying // in the last pass
	lacking    int32    // nodes that a job lacks at least in the last pass which may borrow them
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
// free; few is waiting.Config.Few.
func newQueueState(id model.VClusterID, policy *Policy, fair fairshare.Cache, free *place.Free, space *place.Space, few int32) queueState {
	qs := queueState{
		id: id, policy: policy, free: space.NewFree(), best: -1, reservation: future.NewReservation(space.NewFree()),
		nextLook: nextLook{heldBack: heldBack{by: -1}, quietUntil: model.Never, accountsAt: model.Never, minScoreAt: model.Never, lastPass: model.AbsentTime, againAt: model.AbsentTime, stuckAt: model.AbsentTime},
		scores:   scores{terms: waiting.Terms{FairShare: fair.Share, Penalty: fair.Penalty, Inverse: fair.Inverse}, fair: fair},
		mode:     policy.mode(),
		requests: newRequestMix(policy),
	}
	qs.free.CopyFrom(free)
	c := waiting.Config{Weights: &policy.Weights, Nodes: int32(space.Nodes()), Bounded: qs.mode.bounded, Few: few}
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

// queueStates are those of all vClusters, by id.
type queueStates []queueState

// markAllDirty makes every vCluster look at its queue again.
func (s queueStates) markAllDirty() {
	for i := range s {
		s[i].dirty = true
	}
}

// invalidateBounds ends what every vCluster knows of how long nothing can change.
func (s queueStates) invalidateBounds(now model.Time) {
	for i := range s {
		qs := &s[i]
		qs.quietUntil, qs.heldBack.by = min(qs.quietUntil, now), -1
	}
}

// passAgain lets a vCluster whose proposal was refused make one more pass at this instant,
// whatever its cycle: others have taken what it wanted. If that is refused as well, its
// next pass waits for another instant. Where there are no others, a refusal is a change like
// any other.
func (s queueStates) passAgain(qs *queueState, now model.Time) {
	switch {
	case len(s) == 1:
	case qs.againAt == now:
		qs.stuckAt = now
	default:
		qs.again = true
	}
}
