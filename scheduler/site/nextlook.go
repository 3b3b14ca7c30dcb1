package site

import (
	"math"

	"orrery/scheduler/model"
	"orrery/scheduler/score"
	"orrery/scheduler/site/internal/caps"
	"orrery/scheduler/site/internal/waiting"
)

// When a vCluster looks at its queue, and how long nothing can change there.

// awaitsTick says whether the vCluster makes no pass now because no tick of its cycle is.
func (qs *queueState) awaitsTick(now model.Time) bool {
	return qs.policy.Cycle > 0 && !qs.again && (now == qs.lastPass || qs.tickFrom(now) != now)
}

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
	p.qs.lastPass = p.now // also where nothing can change at this tick: there is one in an instant
	if p.qs.elsewhere && !p.qs.dirty {
		p.qs.elsewhere, p.qs.dirty = false, !unaffected(p)
	}
	return p.qs.dirty || p.qs.quietUntil <= p.now || p.core.cfg.EveryCycle || p.unsettled() || p.callFreshJobs()
}

// unsettled says whether the accounting ticks since the last pass have changed
// what the scores of the vCluster are made of; if not, it notes which one may be the next to do so.
func (p *pass) unsettled() bool {
	if p.qs.accountsAt > p.now || p.qs.fair.Refresh() {
		return p.qs.accountsAt <= p.now
	}
	p.qs.accountsAt = nextUnsettled(p)
	return false
}

// nextUnsettled is the next accounting tick that may change what the scores of the vCluster are made of, if nothing is observed. It
// looks no further ahead than a pass does, for model.Never would say that the accounts do not matter.
func nextUnsettled(p *pass) model.Time {
	until := min(p.qs.fair.Until(), p.now.Add(foresight))
	return p.core.ledger.NextTick(max(until, p.now+1) - 1)
}

// accountsMove has the vClusters to whose scores the accounts matter look at the next accounting tick: what was foreseen of them
// may hold no more. It is called where an attempt begins or ends and does not have every vCluster make a pass, and for the first job of a
// tenant. Inlined there it would keep other functions from being so.
//
//go:noinline
func accountsMove(s *Core) {
	next := s.ledger.NextTick(s.now)
	for i := range s.vclusters {
		if qs := &s.vclusters[i]; qs.accountsAt != model.Never {
			qs.accountsAt = min(qs.accountsAt, next)
		}
	}
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
	if qs.dirty || qs.elsewhere || len(qs.fresh) > 0 || s.cfg.EveryCycle {
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
	if t > qs.tick || t <= qs.tickBefore {
		seekTick(qs, t)
	}
	return qs.tick
}

func seekTick(qs *queueState, t model.Time) {
	cycle := qs.policy.Cycle
	qs.tick = t.Grid(cycle, qs.policy.Phase)
	qs.tickBefore = qs.tick.Add(-cycle)
}

// boundNextChange bounds from below the instant at which the next pass could decide
// anything else, when all that keeps jobs from starting is the reservation, and how far what their scores have in common may
// move until then.
func (p *pass) boundNextChange(anyFits bool) {
	policy := p.qs.policy
	firstStays := !p.qs.promises() || (policy.Ranking == ByOrder && policy.Order.Static()) // the first blocked job stays the first, or none asks
	if policy.MinScore == 0 && (!p.qs.blocked || (!anyFits && !policy.Preempts && firstStays)) {
		p.qs.tolerance = anyTolerance(p.core)
		return
	}
	if policy.Ranking != ByScore || policy.Expected || policy.MinScore > 0 || len(p.core.site.Reservations) > 0 || p.core.holds.concern(p.core, p.qs) {
		p.qs.quietUntil = p.now
		return
	}
	p.qs.accountsAt = nextUnsettled(p)
	p.qs.quietUntil = min(max(firstEnd(p), p.now), p.now.Add(foresight))
	p.untilPassed()
}

// firstEnd is no later than the earliest predicted end that a reservation of the vCluster may count on: jobs that do not concern it
// give back nothing but what is capped.
func firstEnd(p *pass) model.Time {
	if j := &p.core.jobs[p.qs.reservation.Ref]; p.core.unhomed || p.core.caps.Met || !p.core.caps.Cap.Allows(j.needs, p.core.caps.Used) {
		return p.qs.ends.First()
	}
	return p.qs.ends.FirstOf(func(ref model.Ref) bool { return concerns(&p.core.nodeState, p.qs, &p.core.jobs[ref]) })
}

// heldBack says that no job behind the blocked one, by, starts before an instant if nothing is observed: those that have room
// would delay it, and do so as long as no predicted end passes. by is -1 where that is not known.
type heldBack struct {
	by    model.Ref
	until model.Time
}

// noteHeldBack notes what a pass that started no job has found out behind the blocked one, if the numbers of nodes decided it. With
// other vClusters jobs may borrow, and a cap may have room again.
func noteHeldBack(p *pass, byCount bool) {
	p.qs.heldBack.by = -1
	if byCount && len(p.core.vclusters) == 1 && p.core.caps.Cap == (caps.Usage{}) && !p.core.cfg.EveryCycle {
		p.qs.heldBack = heldBack{p.qs.reservation.Ref, firstEnd(p)}
	}
}

// holds says whether what an earlier pass has found out behind a job holds now, if that is the blocked one.
func (h *heldBack) holds(ref model.Ref, now model.Time) bool {
	return ref >= 0 && h.by == ref && now < h.until
}

// foresight bounds for how long a pass looks ahead for jobs that overtake: the
// further, the more of them have to be examined.
const foresight = 10 * model.Minute

// mostTolerance is how far a pass foresees that what all scores have in common moves: a sixteenth of what the
// backlog can bring about. The further, the more jobs have to be examined. Where penalties are the same it adds the same to each.
func mostTolerance(p *pass) model.Fixed {
	if p.qs.fair.Spread() == 0 {
		return anyTolerance(p.core)
	}
	return min(p.qs.policy.Weights[score.Backlog]/16, anyTolerance(p.core))
}

// anyTolerance is that where the order of the jobs does not matter; explanations tell the scores.
func anyTolerance(s *Core) model.Fixed {
	if s.cfg.Explain != nil {
		return 0
	}
	return math.MaxInt64
}

// marginOf is more than what that brings jobs of tenants with different penalties nearer to each other.
func marginOf(p *pass) model.Fixed {
	if spread := p.qs.fair.Spread(); spread > 0 {
		return mostTolerance(p).Mul(spread) + blur
	}
	return 0
}

// blur is more than what is lost in rounding two scores.
const blur = 8

// untilPassed brings quietUntil down to a bound on the instant at which another job
// comes before the blocked one. In a time d no wait factor grows by more than that of a
// job submitted at its beginning, so that most need no more than their scores. Jobs that cannot
// come first within the foresight do not count, so that it makes no difference which the
// pass has examined beside those that may.
func (p *pass) untilPassed() {
	hq := p.qs.waiting.Row(p.qs.reservation.Ref)
	margin := marginOf(p)
	w2, top, penalty := p.qs.policy.Weights[score.Wait], hq.Key, p.qs.terms.Penalty
	growth := score.Term(w2, p.qs.waiting.Factor(p.qs.quietUntil.Sub(p.now))) + 2 + margin
	horizon := p.now.Add(foresight)
	p.qs.commonAt, p.qs.tolerance = p.qs.terms.Common, mostTolerance(p)
	look := func(q *waiting.Job) {
		gap := top - q.Key
		if q.Ref == hq.Ref || q.Tier != hq.Tier || gap < 0 || gap == 0 && q.Job < hq.Job || gap > growth { // it is before h already and held by a limit, or far behind
			return
		}
		later := p.qs.score(q, p.qs.waiting.Term(q.Submit, horizon))
		if apart := penalty[q.Tenant] - penalty[hq.Tenant]; apart != 0 { // the wait may close one half of the gap, and what they have in common the other
			gap /= 2
			p.qs.tolerance = min(p.qs.tolerance, model.Ratio(int64(max(gap-blur, 0)), int64(max(apart, -apart)))-1)
		}
		if later >= q.Key+gap {
			p.qs.quietUntil = min(p.qs.quietUntil, p.overtaking(q, hq, gap))
		}
	}
	if !p.fast { // all were looked at
		for i := range p.qs.waiting.Jobs {
			look(&p.qs.waiting.Jobs[i])
		}
		return
	}
	for _, ref := range contenders(p, margin) {
		q := p.qs.waiting.Row(ref)
		weigh(p, q)
		look(q)
	}
}

// overtaking is a bound on the instant at which the wait has brought q nearer to h, which is before it, by so much.
func (p *pass) overtaking(q, h *waiting.Job, gap model.Fixed) model.Time {
	return p.now.Add(score.Overtake(gap, p.qs.policy.Weights[score.Wait], p.qs.terms.Penalty[q.Tenant], p.qs.terms.Penalty[h.Tenant], p.now.Sub(q.Submit), p.now.Sub(h.Submit), p.qs.policy.Reference))
}

// patience is for how long a vCluster on a cycle looks whether another job comes
// first, while nothing runs and nothing is observed. Without it, a replay in which the
// first job never starts would have no end.
const patience = model.Day

// beyondPatience says whether the next tick at which the vCluster would look again is beyond its
// patience. It would at every accounting tick, if accounts matter, whatever is foreseen of them: when a replay ends does not depend on that.
func (p *pass) beyondPatience() bool {
	policy, at := p.qs.policy, p.qs.quietUntil
	if p.qs.accountsAt != model.Never {
		at = min(at, p.core.ledger.NextTick(p.now))
	}
	return policy.Cycle > 0 && max(at, p.now+1).Grid(policy.Cycle, policy.Phase) > p.core.lastFact.Add(patience)
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
