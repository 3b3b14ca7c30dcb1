package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/score"
	"orrery/scheduler/site/internal/waiting"
)

// lookahead is how long nothing can change by time alone.
type lookahead struct{ *pass }

func (p *pass) lookahead() lookahead { return lookahead{p} }

// bound is until when nothing can change by time alone after a pass, which has proposed something or not.
func (p lookahead) bound(proposed bool) {
	if proposed {
		p.qs.look.Until = p.now // what is free has changed, and f9 with it
		if p.waking().fillsUp() {
			p.qs.look.Until = model.Never // there are no promises
		}
	} else if ((!p.orderHolds && !p.heeding && !p.triesLeft) || p.beyondIdleCutoff()) && p.core.still() && p.core.nextBoundary(p.now) == model.Never {
		// Nothing runs and no job started, so no reservation holds a job
		// back: time alone changes nothing but what min_score does.
		p.qs.look.Until, p.qs.accountsAt = p.qs.minScoreAt, model.Never
		p.found, p.fast = unclear, false // anything that happens on the site has it look again
	} else if p.triesLeft || (p.heeding && p.qs.policy.Preempts) {
		p.qs.look.Until = p.now // a job may lose its room by time alone, and then preempt others
	} else {
		p.qs.look.Bring(max(p.promising().quietUntil(), p.now))
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

// awaitAccounts has the vCluster look again when the accounts may lift a job to min_score.
func (p lookahead) awaitAccounts() {
	if !p.minScored {
		return
	}
	if at, may := p.core.ledger.NextChange(p.now); may {
		p.qs.minScoreAt = min(p.qs.minScoreAt, at)
		p.qs.look.Bring(max(at, p.now))
	}
}

// boundNextChange bounds from below the instant at which the next pass could decide
// anything else, when all that keeps jobs from starting is the reservation, and how far what their scores have in common may
// move until then.
func (p lookahead) boundNextChange(anyFits bool) {
	policy := p.qs.policy
	firstStays := !p.qs.promises() || (policy.Ranking == ByOrder && policy.Order.Static()) // the first blocked job stays the first, or none asks
	if policy.MinScore == 0 && (!p.qs.blocked || (!anyFits && !p.triesLeft && firstStays)) {
		p.qs.tolerance = anyTolerance
		return
	}
	if policy.Ranking != ByScore || policy.Expected || policy.MinScore > 0 || len(p.core.site.Reservations) > 0 || keepsFor(p.core, p.qs) {
		p.qs.look.Until = p.now
		return
	}
	p.qs.accountsAt = p.nextUnsettled()
	p.qs.look.Until = min(max(p.firstEnd(), p.now), p.now.Add(foresight))
	p.untilPassed()
}

// firstEnd is no later than the earliest predicted end that a reservation of the vCluster may count on: jobs that do not concern it
// give back nothing but what is capped.
func (p lookahead) firstEnd() model.Time {
	if j := &p.core.jobs[p.qs.reservation.Ref]; p.core.unhomed || p.core.caps.Met || !p.core.caps.Cap.Allows(j.needs, p.core.caps.Used) {
		return p.qs.ends.First()
	}
	return p.qs.ends.FirstOf(func(ref model.Ref) bool { return concerns(&p.core.nodeState, p.qs, &p.core.jobs[ref]) })
}

// untilPassed brings Until down to a bound on the instant at which another job
// comes before the blocked one. In a time d no wait factor grows by more than that of a
// job submitted at its beginning, so that most need no more than their scores. Jobs that cannot
// come first within the foresight do not count, so that it makes no difference which the
// pass has examined beside those that may.
func (p lookahead) untilPassed() {
	hq := p.qs.waiting.Row(p.qs.reservation.Ref)
	margin := p.margins().marginOf()
	w2, top, penalty := p.qs.policy.Weights[score.Wait], hq.Key, p.qs.terms.Penalty
	growth := score.Term(w2, p.qs.waiting.Factor(p.qs.look.Until.Sub(p.now))) + 2 + margin
	horizon := p.now.Add(foresight)
	p.qs.commonAt, p.qs.tolerance = p.qs.terms.Common, p.margins().mostTolerance()
	look := func(q *waiting.QueueEntry) {
		gap := top - q.Key
		if q.Ref == hq.Ref || q.Tier != hq.Tier || gap < 0 || gap == 0 && q.Job < hq.Job || gap > growth { // it is before h already and held by a limit, or far behind
			return
		}
		later := p.qs.score(q, p.qs.waiting.Term(q.Submit, horizon))
		if apart := penalty[q.Tenant] - penalty[hq.Tenant]; apart != 0 { // the wait may close one half of the gap, and what they have in common the other
			gap /= 2
			p.qs.tolerance = min(p.qs.tolerance, model.Ratio(int64(max(gap-roundingMargin, 0)), int64(max(apart, -apart)))-1)
		}
		if later >= q.Key+gap {
			p.qs.look.Bring(p.overtaking(q, hq, gap))
		}
	}
	if !p.fast { // all were looked at
		for i := range p.qs.waiting.Jobs {
			look(&p.qs.waiting.Jobs[i])
		}
		return
	}
	for _, ref := range p.leaders().contenders(margin) {
		q := p.qs.waiting.Row(ref)
		p.ranking().weigh(q)
		look(q)
	}
}

// overtaking is a bound on the instant at which the wait has brought q nearer to h, which is before it, by so much.
func (p lookahead) overtaking(q, h *waiting.QueueEntry, gap model.Fixed) model.Time {
	return p.now.Add(score.Overtake(gap, p.qs.policy.Weights[score.Wait], p.qs.terms.Penalty[q.Tenant], p.qs.terms.Penalty[h.Tenant], p.now.Sub(q.Submit), p.now.Sub(h.Submit), p.qs.policy.Reference))
}

// idleCutoff is for how long a vCluster on a cycle looks whether another job comes
// first, while nothing runs and nothing is observed. Without it, a replay in which the
// first job never starts would have no end.
const idleCutoff = model.Day

// beyondIdleCutoff says whether the next tick at which the vCluster would look again is beyond its
// idleCutoff. It would at every accounting tick, if accounts matter, whatever is foreseen of them: when a replay ends does not depend on that.
func (p lookahead) beyondIdleCutoff() bool {
	policy, at := p.qs.policy, p.qs.look.Until
	if p.qs.accountsAt != model.Never {
		at = min(at, p.core.ledger.NextTick(p.now))
	}
	return policy.Cycle > 0 && max(at, p.now+1).Grid(policy.Cycle, policy.Phase) > p.core.lastFact.Add(idleCutoff)
}

// nextUnsettled is the next accounting tick that may change what the scores of the vCluster are made of, if nothing is observed. It
// looks no further ahead than a pass does, for model.Never would say that the accounts do not matter.
func (p lookahead) nextUnsettled() model.Time {
	until := min(p.qs.fair.Until(), p.now.Add(foresight))
	return p.core.ledger.NextTick(max(until, p.now+1) - 1)
}
