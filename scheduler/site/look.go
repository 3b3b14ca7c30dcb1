package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site/internal/waiting"
	"orrery/scheduler/site/internal/wake"
)

// When a vCluster looks at its queue: at a tick of its cycle, or in event mode at any time, if
// something that its last pass depended on has changed or an instant has come that it waits for.

// turn says whether the vCluster makes a pass now.
func (p waking) turn() bool {
	qs := p.qs
	switch {
	case qs.stuckAt == p.now:
		return false
	case qs.again:
		qs.againAt = p.now
		return true
	case qs.policy.Cycle == 0:
		changed := p.core.sinceLook(qs)
		return changed == wake.Go || qs.minScoreAt <= p.now || p.core.boundary(p.now) || qs.policy.plans() && qs.plan.Due <= p.now || p.newcomersMatter(changed == wake.Rest)
	}
	qs.lastPass = p.now // also where nothing can change at this tick: there is one in an instant
	return p.changeMatters() || qs.look.Until <= p.now || p.unsettled() || p.newcomersMatter(true)
}

// beginLook forgets what the last pass found out and depended on.
func (p waking) beginLook() {
	qs := p.qs
	qs.look.Begin(&p.core.board, qs.id)
	qs.again, qs.newcomers, qs.judged = false, qs.newcomers[:0], oneByOne
	qs.accountsAt, qs.minScoreAt, qs.tolerance = model.Never, model.Never, 0
	qs.confinable.reset()
	qs.byNodes = false
}

// sinceLook says what has become of what the last pass of a vCluster depended on.
func (s *Core) sinceLook(qs *queueState) wake.Answer {
	answer := qs.look.Changed(&s.board, qs.id)
	if answer == wake.Rest && qs.waiting.Gated() > 0 && qs.reopened != s.graph.Reopened() {
		return wake.Check
	}
	return answer
}

// changeMatters says whether something has changed by which a pass would find out something else than the last one did. Where it
// has to be asked, the pass goes through what that depended on.
func (p waking) changeMatters() bool {
	switch p.core.sinceLook(p.qs) {
	case wake.Rest:
		return false
	case wake.Go:
		return true
	}
	if !p.stands() {
		return true
	}
	p.qs.look.Settle(&p.core.board, p.qs.id)
	p.qs.reopened = p.core.graph.Reopened()
	return false
}

// due is the next instant at which the vCluster must look at its queue.
func (s *Core) due(qs *queueState, now model.Time) model.Time {
	if len(qs.waiting.Jobs) == 0 && len(qs.services) == 0 && !qs.keepsNodes() { // one that kept its nodes lends from the next pass on
		return model.Never
	}
	if qs.policy.Cycle == 0 {
		if (len(qs.newcomers) > 0 || s.sinceLook(qs) == wake.Go) && qs.stuckAt != now {
			return now
		}
		at := min(qs.minScoreAt, s.nextBoundary(now))
		if qs.policy.plans() {
			at = min(at, qs.plan.Due)
		}
		return at
	}
	from := min(qs.look.Until, qs.accountsAt)
	if len(qs.newcomers) > 0 || s.sinceLook(qs) != wake.Rest {
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

// passAgain lets a vCluster whose proposal was refused make one more pass at this instant,
// whatever its cycle: others have taken what it wanted. If that is refused as well, its
// next pass waits for another instant. Where there are no others, a refusal is a change like
// any other.
func (s *Core) passAgain(qs *queueState) {
	switch {
	case len(s.vclusters) == 1:
	case qs.againAt == s.now:
		qs.stuckAt = s.now
	default:
		qs.again = true
	}
}

// unsettled says whether the accounting ticks since the last pass have changed
// what the scores of the vCluster are made of; if not, it notes which one may be the next to do so.
func (p waking) unsettled() bool {
	if p.qs.accountsAt > p.now || p.qs.fair.Refresh() {
		return p.qs.accountsAt <= p.now
	}
	p.qs.accountsAt = p.lookahead().nextUnsettled()
	return false
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

// newcomersMatter says whether the jobs that joined the queue since the last pass call for another. They do not where all that
// the pass found out holds, and each of them changes nothing of that.
func (p waking) newcomersMatter(holds bool) bool {
	qs := p.qs
	if len(qs.newcomers) == 0 {
		return false
	}
	if !holds || qs.judged == oneByOne || qs.look.Until <= p.now {
		return true
	}
	if qs.judged == byTurn {
		if qs.fair.Refresh() || qs.fair.Spread() > 0 {
			return true
		}
		p.core.freeze(qs)
	}
	for _, ref := range qs.newcomers {
		if !qs.waiting.Has(ref) {
			continue
		}
		// A gated one starts, and blocks others, after a fact that lets it.
		if q := qs.waiting.Row(ref); !q.Gated && p.newcomerMatters(q) {
			return true
		}
	}
	qs.newcomers = qs.newcomers[:0]
	qs.look.Settle(&p.core.board, qs.id) // limits that hold them matter from now on
	return false
}

func (p waking) newcomerMatters(q *waiting.QueueEntry) bool {
	if p.qs.judged == byLimits {
		return p.gate().held(order.Candidate{Ref: q.Ref}) == model.ReasonNone
	}
	if !q.Plain || p.preemption().mayPreempt(q) {
		return true
	}
	if p.qs.judged == byRoom {
		return p.qs.waiting.Free(q.Size) >= q.Need
	}
	return p.comesFirst(q)
}

// comesFirst says whether a newcomer may start, or come before the blocked job; if not,
// the next look is brought forward to when it may do the latter.
func (p waking) comesFirst(q *waiting.QueueEntry) bool {
	h := p.qs.waiting.Row(p.qs.reservation.Ref)
	for _, x := range [...]*waiting.QueueEntry{q, h} {
		p.ranking().weigh(x)
	}
	if q.Tier > h.Tier || (q.Tier == h.Tier && q.Key >= h.Key) || (p.qs.waiting.Free(q.Size) >= q.Need && !p.easy().wouldDelay(q)) {
		return true
	}
	if q.Tier == h.Tier {
		p.qs.look.Bring(p.lookahead().overtaking(q, h, h.Key-q.Key))
	}
	return p.qs.look.Until <= p.now
}

// awaitsTick says whether the vCluster makes no pass now because no tick of its cycle is.
func (qs *queueState) awaitsTick(now model.Time) bool {
	return qs.policy.Cycle > 0 && !qs.again && (now == qs.lastPass || qs.tickFrom(now) != now)
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
