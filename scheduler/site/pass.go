package site

import (
	"orrery/scheduler/model"
)

// run looks through the queue of one vCluster, best job first. Jobs that have
// room now and jobs that have none wait in two heaps: of the latter only the
// best is of interest, for it is the one that holds a reservation.
func (p *pass) run() {
	p.core.plan.Passed = append(p.core.plan.Passed, p.qs.id)
	p.waking().beginLook()
	kept := p.qs.keepsNodes()
	p.qs.blocked, p.qs.standing = false, -1
	p.core.caps.Met = false
	p.scratch.refused.reset(p.core.seq)
	p.gate().bringBackGated()
	var scalingUp []model.Ref
	if len(p.qs.services) > 0 {
		p.services().shrink()
		scalingUp = p.services().findScalingUp()
	}
	if len(p.qs.waiting.Jobs) > 0 || len(scalingUp) > 0 {
		p.borrowable = p.room().lendable()
		p.passCandidates(scalingUp)
	} else {
		p.qs.plan.Due = model.Never // no job is planned for
		p.qs.tolerance = anyTolerance
		p.waking().noteHeld()
	}
	p.gate().takeOutGated()
	p.qs.underProvisioned = len(p.qs.services) > 0 && p.services().lacksNodes()
	if p.qs.promises() {
		p.promising().publish()
	}
	if len(p.qs.services) > 0 {
		p.preemption().preemptForServices()
	}
	if len(p.core.holds) > 0 {
		p.preemption().dropIdleHolds() // what is promised was found beside them
	}
	if len(p.qs.services) > 0 {
		p.services().tellUnmet()
	}
	if p.minScored {
		// The accounts may lift a job to min_score as well.
		if at, may := p.core.ledger.NextChange(p.now); may {
			p.qs.minScoreAt = min(p.qs.minScoreAt, at)
			p.qs.look.Bring(max(at, p.now))
		}
	}
	if keeps := p.qs.keepsNodes(); kept != keeps {
		lendsMore(p.core, p.qs, kept)
	}
	p.waking().depend()
}

// passCandidates is the pass of a vCluster in which a job waits.
func (p *pass) passCandidates(scalingUp []model.Ref) {
	p.qs.reservation.Reset()
	first := len(p.core.plan.Proposals)
	p.rule.pass(p, scalingUp)
	if len(p.core.plan.Proposals) > first {
		p.core.plan.Again = p.core.plan.Again || p.preemption().startsWanted(p.core.plan.Proposals[first:])
		p.qs.look.Until = p.now // what is free has changed, and f9 with it
		if p.waking().fillsUp() {
			p.qs.look.Until = model.Never // there are no promises
		}
	} else if ((!p.orderHolds && !p.heeding && !p.triesLeft) || p.lookahead().beyondPatience()) && p.core.still() && p.core.nextBoundary(p.now) == model.Never {
		// Nothing runs and no job started, so no reservation holds a job
		// back: time alone changes nothing but what min_score does.
		p.qs.look.Until, p.qs.accountsAt = p.qs.minScoreAt, model.Never
		p.found, p.fast = unclear, false // anything that happens on the site has it look again
	} else if p.triesLeft || (p.heeding && p.qs.policy.Preempts) {
		p.qs.look.Until = p.now // a job may lose its room by time alone, and then preempt others
	} else {
		p.qs.look.Bring(max(p.core.promises.quietUntil(p.qs), p.now))
	}
	if at := p.core.nextBoundary(p.now); at < model.Never && p.qs.blocked {
		p.qs.look.Until = p.now // it may come to be held, where it would run past the end of an advance reservation
	} else {
		p.qs.look.Bring(at) // jobs that name one may start
	}
	if p.qs.policy.plans() {
		p.qs.look.Bring(p.qs.plan.Due) // or the plan is made anew
	}
}
