package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// Where no job has room it makes no difference which comes first: nothing changes until something is given back, or a
// job comes that has room.

// roomDecides says whether a pass in which no job has room does nothing: the first blocked job neither preempts others nor
// gets a promise, none is held by min_score, and it is not asked why jobs wait.
func roomDecides(p *pass) bool {
	policy := p.qs.policy
	return !policy.Preempts && !p.qs.promises() && p.core.cfg.Explain == nil && policy.MinScore == 0
}

// anyUnheld says whether there is a job that no limit holds. While it has no room, its vCluster lends nothing. What holds the
// others is noted.
func anyUnheld(p *pass) bool {
	for i := range p.qs.waiting.Jobs {
		if p.held(order.Candidate{Ref: p.qs.waiting.Jobs[i].Ref}) == model.ReasonNone {
			return true
		}
	}
	return false
}

// noteFull notes that no job has room, where room decides.
func noteFull(p *pass) {
	p.qs.full, p.qs.holdsGood, p.qs.tolerance = true, p.qs.blocked, anyTolerance(p.core)
}

// fillsUp says whether the jobs that the pass has proposed to start leave no room for any other, so that the pass at the
// next tick would find out no more. Where a limit holds the first blocked job by now, that pass says whether another keeps nodes
// from being lent.
func fillsUp(p *pass) bool {
	if !p.fast || !roomDecides(p) || p.anyFits() {
		return false
	}
	if p.qs.blocked {
		if p.held(order.Candidate{Ref: p.qs.reservation.Ref}) != model.ReasonNone {
			return false
		}
	} else if anyUnheld(p) {
		return false
	}
	noteFull(p)
	return true
}
