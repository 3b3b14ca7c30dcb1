package site

import "orrery/scheduler/model"

// run is a pass: services give back what they are not to have any more, each candidate has its turn, the other vClusters are
// told what is promised, and running jobs leave for what services lack.
func (p *pass) run() {
	p.core.plan.Passed = append(p.core.plan.Passed, p.qs.id)
	kept := p.forget()
	p.gate().bringBackGated()
	p.decide(p.services().settle())
	p.gate().takeOutGated()
	p.qs.underProvisioned = p.services().lacksNodes()
	p.promising().publish()
	p.preemption().preemptForServices()
	p.preemption().dropIdleHolds() // what is promised was found beside them
	p.services().tellUnmet()
	p.lookahead().awaitAccounts()
	if keeps := p.qs.keepsNodes(); kept != keeps {
		lendsMore(p.core, p.qs, kept)
	}
	p.waking().depend()
}

// forget has the pass go by nothing that the last one found out. It says whether the vCluster kept its nodes from others
// since then.
func (p *pass) forget() (kept bool) {
	kept = p.qs.keepsNodes()
	p.waking().beginLook()
	p.qs.blocked, p.qs.standing = false, -1
	p.core.caps.Met = false
	p.scratch.refused.reset(p.core.seq)
	return kept
}

// decide gives the jobs that wait and the services that may get nodes their turns, as the rule of the vCluster has it.
func (p *pass) decide(scalingUp []model.Ref) {
	if len(p.qs.waiting.Jobs) == 0 && len(scalingUp) == 0 {
		p.qs.plan.Due = model.Never // no job is planned for
		p.qs.tolerance = anyTolerance
		if !p.qs.policy.spacesPlans() {
			p.waking().noteHeld()
		} // else the next pass plans, or says when one may: it is made for a job that is held as well
		return
	}
	p.borrowable = p.room().lendable()
	p.qs.reservation.Reset()
	first := len(p.core.plan.Proposals)
	p.rule.pass(p, scalingUp)
	proposed := p.core.plan.Proposals[first:]
	p.core.plan.Again = p.core.plan.Again || p.preemption().startsWanted(proposed)
	p.lookahead().bound(len(proposed) > 0)
}
