package site

import (
	"math"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site/internal/wake"
)

// waking is when the vCluster looks at its queue, and on what that depends.
type waking struct{ *pass }

func (p *pass) waking() waking { return waking{p} }

// What a pass depended on. Most of what happens on a site makes no difference to a given vCluster: a
// job of another starts or ends on nodes that its own jobs may not use, or its own jobs are all held by limits that
// nothing is given back of.

// depend notes what the pass, which is over, depended on.
func (p waking) depend() {
	qs, b := p.qs, &p.core.board
	if qs.policy.Cycle == 0 { // time counts, so that a pass may find out something else at any change
		event := wake.Of(wake.Queue, wake.Site, wake.CapacityFreed, wake.Victim, wake.LendingChanged, wake.Promises)
		qs.look.Depend(b, event, wake.All&^event)
		return
	}
	must, check := p.sources()
	if qs.policy.Preempts && (p.failing || p.triesLeft || len(qs.inFlight) > 0) {
		must |= wake.Of(wake.Victim, wake.Running) // a search that failed is made again
	}
	qs.look.Depend(b, must, check)
}

// sources are those that the pass depended on but for what jobs could be preempted.
func (p waking) sources() (must, check wake.Sources) {
	const always = 1<<wake.Queue | 1<<wake.Site
	all := wake.All &^ wake.Of(wake.Victim, wake.Running)
	found := p.found
	if found == unclear && p.fast && p.qs.look.Until > p.now {
		found = inTheirWay
	}
	switch {
	case found == allHeld && !p.qs.underProvisioned && len(p.core.site.Reservations) == 0 && !keepsFor(p.core, p.qs):
		return always, 0
	case found == allHeld || found == unclear || !p.conclusive():
		return all, 0
	}
	if must, check = always|1<<wake.CapacityFreed, wake.Of(wake.OtherVCluster, wake.LendingChanged); found == inTheirWay {
		must |= 1 << wake.CapacityTaken
	}
	return must, check
}

// conclusive says whether the pass has found out all that matters until something happens that
// concerns the vCluster, or is to be asked about, see stands. Not so where a cap had no room, or where it matters what others
// are promised or keep.
func (p waking) conclusive() bool {
	qs, s := p.qs, p.core
	switch {
	case s.caps.Met || p.heeding || len(s.promises.List) > 0 || qs.needLent > 0 || len(s.site.Reservations) > 0 || keepsFor(s, qs):
		return false
	case qs.blocked && (qs.standing < 0 || !s.caps.Cap.Allows(s.jobs[qs.standing].needs, s.caps.Used)):
		return false // when it has room depends on what others draw
	case slices.ContainsFunc(qs.services, func(ref model.Ref) bool {
		j := &s.jobs[ref]
		return j.Scaled && j.usage.Nodes < j.wants()
	}):
		return false // it may borrow
	}
	if qs.lacking = qs.waiting.LeastLacking(); s.site.Amounts || qs.mode.conformanceFirst {
		qs.lacking = 1 // it matters which nodes are free, and not their number alone
	}
	return qs.lacking > p.borrowable
}

// stands says whether the last pass would find out the same now, although something happened that concerns
// other vClusters. What was given back of limits that it met has been looked at by then.
func (p waking) stands() bool {
	qs, s := p.qs, p.core
	switch {
	case qs.lacking < math.MaxInt32 && qs.lacking <= p.room().lendable():
		return false
	case qs.waiting.Gated() > 0 && qs.reopened != s.graph.Reopened() && p.gate().anyGateOpen():
		return false
	case len(qs.services) > 0 && qs.underProvisioned != p.services().lacksNodes():
		return false
	case qs.confinable.anyConfined(s.ledger):
		return false
	}
	// Where a limit, a cap, a task group or a mutex holds the first blocked job now, another is.
	return !qs.blocked || s.limited(&s.jobs[qs.standing], &s.jobs[qs.standing].usage) == model.ReasonNone && isOpen(s, qs.standing)
}

// isOpen says whether neither a cap nor a task group nor a mutex would keep a job from starting now.
func isOpen(s *Core, ref model.Ref) bool {
	return s.caps.Cap.Allows(s.jobs[ref].needs, s.caps.Used) && s.graph.Gate(ref) == model.ReasonNone
}

// Where no job has room it makes no difference which comes first: nothing changes until something is given back, or a
// job comes that has room or may preempt others.

// orderless says whether the order of the jobs makes no difference where none has room and none preempts: the first
// blocked one gets no promise, none is held by min_score.
func (p waking) orderless() bool {
	return !p.qs.promises() && p.qs.policy.MinScore == 0 && !(p.qs.policy.Preempts && keepsFor(p.core, p.qs))
}

// noteFull takes in that no job has room, where their order makes no difference.
func (p waking) noteFull() {
	p.qs.tolerance = anyTolerance
	if !p.qs.blocked {
		p.noteHeld()
		return
	}
	p.found, p.qs.judged = noRoom, byRoom
}

// noteHeld takes in that a limit, a task group or a mutex holds each job. Where it is min_score, or the nodes that a job
// would get decide, there is more to it.
func (p waking) noteHeld() {
	if p.qs.policy.MinScore == 0 && !p.qs.byNodes {
		p.found, p.qs.judged = allHeld, byLimits
	}
}

// fillsUp says whether the jobs that the pass has proposed to start leave no room for any other, so that the pass at the
// next tick would find out no more.
func (p waking) fillsUp() bool {
	if !p.fast || !p.orderless() || p.room().anyFits() || p.qs.policy.Preempts && len(p.preemption().hunters()) > 0 {
		return false
	}
	if p.qs.blocked {
		// Where a limit holds the first blocked job by now, that pass says whether another keeps nodes from being lent.
		if p.qs.standing < 0 || p.gate().held(order.Candidate{Ref: p.qs.standing}) != model.ReasonNone {
			return false
		}
	} else if p.gate().anyUnheld() >= 0 {
		return false
	}
	p.noteFull()
	return true
}
