package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// turns are those of the candidates.
type turns struct{ *pass }

func (p *pass) turns() turns { return turns{p} }

// tryStart is the turn of a job that had room when the pass began. Its tests come in the order of docs/SCHEDULING.md: what keeps
// it from starting whatever is free, nodes and caps, limits that go by what the nodes are, and the job that is blocked before it.
// Before them come two that save them: a job which surely has no room, or would delay the blocked one, does not start either way.
func (p turns) tryStart(c order.Candidate) {
	j := &p.core.jobs[c.Ref]
	if j.phase == running {
		p.services().growService(c.Ref)
		return
	}
	if p.qs.blocked && p.qs.policy.MinScore == 0 && (p.easy().cannotStart(p.qs.waiting.Row(c.Ref)) || p.memo().refusedAlike(c.Ref)) {
		return
	}
	if p.hadTurn(j) {
		return
	}
	if p.screen(c) != model.ReasonNone {
		return
	}
	found := &p.core.buf.choice
	if r := p.room().choose(c.Ref, found); r != model.ReasonNone {
		p.memo().addNoRoom(c.Ref, r)
		p.block(c.Ref)
		return
	}
	if p.core.overLimits(j, &found.nodes, 0) != model.ReasonNone { // which are known now
		return
	}
	if p.qs.blocked && !p.rule.mayPass(&p.view, j, &found.nodes) {
		p.memo().addDelay(c.Ref, found)
		return
	}
	p.proposals().propose(c.Ref, found)
}

// tryTight is the turn of a job that had no room when the pass began.
func (p turns) tryTight(c order.Candidate) {
	if p.hadTurn(&p.core.jobs[c.Ref]) {
		return
	}
	if p.screen(c) == model.ReasonNone {
		p.block(c.Ref)
	}
}

// screen is held for a job whose turn it is: of one held by min_score, the next look is
// told when it may reach that.
func (p turns) screen(c order.Candidate) model.Reason {
	r, j := p.gate().held(c), &p.core.jobs[c.Ref]
	if r == model.ReasonMinScore {
		p.minScored = true
		p.qs.minScoreAt = min(p.qs.minScoreAt, p.ranking().reaches(j))
	}
	if r != model.ReasonNone {
		j.heldIn = p.core.work.Passes
	}
	return r
}

// hadTurn says whether a limit held j in this pass when it was its turn, which is not
// its turn again when a start has given that way: one of shares leaves more nodes to others that
// take shares.
func (p turns) hadTurn(j *job) bool { return j.usage.Divides && j.heldIn == p.core.work.Passes }

// block makes ref the first blocked job of the pass, when there is none yet.
func (p turns) block(ref model.Ref) {
	if p.qs.blocked {
		return
	}
	p.qs.blocked, p.qs.standing = true, ref
	p.qs.reservation.Ref, p.qs.reservation.Since = ref, p.core.seq
	if p.qs.policy.Preempts {
		p.preemption().preemptForBlocked()
	}
}

// tryReady gives the jobs their turn whose victims have all left: they go before all others.
func (p turns) tryReady() {
	line := p.core.buf.tight[:0]
	for i := range p.core.holds {
		x := &p.core.holds[i]
		if len(x.Victims) == 0 && p.qs.waiting.Has(x.Ref) {
			line = append(line, order.Candidate{Key: p.ranking().keyOf(&p.core.jobs[x.Ref]), Tier: p.ranking().rankTier(x.Ref), Ref: x.Ref})
		}
	}
	p.core.buf.tight = line
	h := p.ranking().heap(line)
	for h.Init(); len(h.List) > 0; h.Pop() {
		p.try(h.List[0])
	}
}

// try is the turn of a candidate.
func (p turns) try(c order.Candidate) {
	if p.room().mayFit(p.qs.waiting.Row(c.Ref)) {
		p.tryStart(c)
	} else {
		p.tryTight(c)
	}
}
