package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/score"
	"orrery/scheduler/site/internal/waiting"
)

// When a vCluster looks at its queue, and how long nothing can change there.

// turn says whether the vCluster makes a pass now.
func (p *pass) turn() bool {
	policy := p.qs.policy
	switch {
	case p.qs.stuckAt == p.now:
		return false
	case p.qs.again:
		p.qs.againAt = p.now
		return true
	}
	if policy.Cycle == 0 {
		return p.qs.dirty || p.qs.minScoreAt <= p.now || p.core.boundary(p.now) || (p.qs.policy.plans() && p.qs.plan.Due <= p.now) || p.callFreshJobs()
	}
	if p.now == p.qs.lastPass || p.qs.tickFrom(p.now) != p.now {
		return false
	}
	p.qs.lastPass = p.now // also where nothing can change at this tick: there is one in an instant
	return p.qs.dirty || p.qs.quietUntil <= p.now || p.core.cfg.EveryCycle || p.unsettled() || p.callFreshJobs()
}

// unsettled says whether the accounting ticks since the last pass have changed
// what the scores of the vCluster are made of; if not, the next one may.
func (p *pass) unsettled() bool {
	if p.qs.accountsAt > p.now || p.qs.fair.Refresh() {
		return p.qs.accountsAt <= p.now
	}
	p.qs.accountsAt = p.core.ledger.NextTick(p.now)
	return false
}

// due is the next instant at which the vCluster must look at its queue.
func (s *Core) due(qs *queueState, now model.Time) model.Time {
	if len(qs.waiting.Jobs) == 0 && len(qs.services) == 0 && !qs.keepsNodes() { // one that kept its nodes lends from the next pass on
		return model.Never
	}
	policy := qs.policy
	if policy.Cycle == 0 {
		if (qs.dirty || len(qs.fresh) > 0) && qs.stuckAt != now {
			return now
		}
		at := min(qs.minScoreAt, s.nextBoundary(now))
		if qs.policy.plans() {
			at = min(at, qs.plan.Due)
		}
		return at
	}
	from := min(qs.quietUntil, qs.accountsAt)
	if qs.dirty || len(qs.fresh) > 0 || s.cfg.EveryCycle {
		from = now
	}
	if from == model.Never {
		return model.Never
	}
	from = max(from, now)
	if qs.lastPass == from {
		from++
	}
	return qs.tickFrom(from)
}

// tickFrom is the first tick of the cycle at or after an instant. It is asked for the same again and again.
func (qs *queueState) tickFrom(t model.Time) model.Time {
	cycle := qs.policy.Cycle
	if t > qs.tick || t <= qs.tick.Add(-cycle) {
		qs.tick = t.Grid(cycle, qs.policy.Phase)
	}
	return qs.tick
}

// boundNextChange bounds from below the instant at which the next pass could decide
// anything else, when all that keeps jobs from starting is the reservation. Only those of
// contenders may come before the blocked job, or any job if all is set.
func (p *pass) boundNextChange(anyFits bool, contenders []model.Ref, all bool) {
	policy := p.qs.policy
	firstStays := !p.qs.promises() || (policy.Ranking == ByOrder && policy.Order.Static()) // the first blocked job stays the first, or none asks
	if policy.MinScore == 0 && (!p.qs.blocked || (!anyFits && !policy.Preempts && firstStays)) {
		return
	}
	if policy.Ranking != ByScore || policy.Expected || policy.MinScore > 0 || len(p.core.site.Reservations) > 0 || len(p.core.holds) > 0 {
		p.qs.quietUntil = p.now
		return
	}
	p.qs.accountsAt = p.core.ledger.NextTick(p.now)
	p.qs.quietUntil = min(max(p.qs.ends.First(), p.now), p.now.Add(foresight))
	p.untilPassed(contenders, all)
}

// foresight bounds for how long a pass looks ahead for jobs that overtake: the
// further, the more of them have to be examined.
const foresight = 10 * model.Minute

// untilPassed brings quietUntil down to a bound on the instant at which another job
// comes before the blocked one. In a time d no wait factor grows by more than that of a
// job submitted at its beginning, so that most are not examined closely. Jobs that cannot
// come first within the foresight do not count, so that it makes no difference which the
// pass has examined beside those that may.
func (p *pass) untilPassed(contenders []model.Ref, all bool) {
	hq := p.qs.waiting.Row(p.qs.reservation.Ref)
	w2, top := p.qs.policy.Weights[score.Wait], hq.Key
	growth := score.Term(w2, p.qs.waiting.Factor(p.qs.quietUntil.Sub(p.now))) + 2
	horizon := p.now.Add(foresight)
	look := func(q *waiting.Job) {
		gap := top - q.Key
		if q.Ref == hq.Ref || q.Tier < hq.Tier || gap < 0 || gap > growth { // it is before h already and held by a limit, or far behind
			return
		}
		if p.qs.score(q, p.qs.waiting.Term(q.Submit, horizon)) >= top {
			p.qs.quietUntil = min(p.qs.quietUntil, p.overtaking(q, hq))
		}
	}
	for _, ref := range contenders {
		look(p.qs.waiting.Row(ref))
	}
	for i := 0; all && i < len(p.qs.waiting.Jobs); i++ {
		look(&p.qs.waiting.Jobs[i])
	}
}

// overtaking is a bound on the instant at which q, which is behind h by their keys,
// comes before it.
func (p *pass) overtaking(q, h *waiting.Job) model.Time {
	return p.now.Add(score.Overtake(h.Key-q.Key, p.qs.policy.Weights[score.Wait], p.qs.terms.Penalty[q.Tenant], p.qs.terms.Penalty[h.Tenant], p.now.Sub(q.Submit), p.now.Sub(h.Submit), p.qs.policy.Reference))
}

// patience is for how long a vCluster on a cycle looks whether another job comes
// first, while nothing runs and nothing is observed. Without it, a replay in which the
// first job never starts would have no end.
const patience = model.Day

// beyondPatience says whether the next tick at which the vCluster would look again is beyond its
// patience.
func (p *pass) beyondPatience() bool {
	policy := p.qs.policy
	return policy.Cycle > 0 && max(min(p.qs.quietUntil, p.qs.accountsAt), p.now+1).Grid(policy.Cycle, policy.Phase) > p.core.lastFact.Add(patience)
}

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
