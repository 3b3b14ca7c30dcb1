package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/score"
	"orrery/scheduler/site/internal/caps"
)

// planned is the pass that plans reservations for several jobs.
type planned struct{ *pass }

func (p *pass) planned() planned { return planned{p} }

// passTimeline is the pass under Conservative: the best Depth blocked jobs hold
// reservations on definite nodes, and a job that does not touch them may start. All
// candidates are tried in order; reservations of before stand until their own
// job's turn, so that none is moved later by another.
func (p planned) passTimeline(scalingUp []model.Ref) {
	plan := &p.qs.plan
	plan.Due = model.Never
	if next := p.nextPlan(); next > p.now {
		first := len(p.core.plan.Proposals)
		p.inOrder().passQueue(scalingUp)
		for i := range p.core.plan.Proposals[first:] {
			if q := &p.core.plan.Proposals[first+i]; q.Kind == model.ProposeAssign {
				plan.Forget(q.Ref)
			}
		}
		plan.Due = min(next, plan.First(p.now))
		return
	}
	p.core.freeze(p.qs)
	if len(p.qs.waiting.Jobs) > 0 {
		plan.Planned = p.now // which says when the next may be, if a job waits
	}
	p.core.work.Passes++
	p.layTimeline()
	line, swap := p.ranked()
	for moved := true; moved; {
		moved = p.replan(line)
	}
	if p.qs.blocked && p.qs.policy.Preempts {
		p.preemption().preemptForBlocked()
	}
	p.services().growPlanned()
	plan.Due = min(plan.Due, plan.First(p.now))
	p.qs.look.Until = max(min(swap, plan.Due), p.now)
}

// nextPlan is the first instant from now on at which a pass may plan. On a cycle
// these are ticks that hang on nothing but their number, for ticks at which nothing
// can change are skipped.
func (p planned) nextPlan() model.Time {
	every := p.qs.policy.Window.Interval
	switch {
	case every == 0:
		return p.now
	case p.qs.policy.Cycle > 0:
		return p.qs.policy.ticks().Next(p.now)
	case p.qs.plan.Planned == model.AbsentTime:
		return p.now
	}
	return max(p.now, p.qs.plan.Planned.Add(every))
}

// ranked is the candidates in order, valid until the next call, and a lower bound on the
// instant at which the plan for them would be another.
func (p planned) ranked() (line []order.Candidate, until model.Time) {
	list := p.core.buf.room[:0]
	for i := range p.qs.waiting.Jobs {
		ref := p.qs.waiting.Jobs[i].Ref
		list = append(list, order.Candidate{Key: p.ranking().keyOf(&p.core.jobs[ref]), Tier: p.ranking().rankTier(ref), Ref: ref, At: int32(i)})
	}
	heap := p.ranking().heap(list)
	heap.Init()
	line, until = p.core.buf.tight[:0], p.planStableUntil()
	for len(heap.List) > 0 {
		c := heap.List[0]
		heap.Pop()
		line = append(line, c)
		if until > p.now && len(heap.List) > 0 {
			until = min(until, p.overtakes(c, heap.List[0]))
		}
	}
	p.core.buf.room, p.core.buf.tight = list, line
	return line, until
}

// replan goes once through the candidates. It says whether a job started or a
// reservation moved, so that another round may move more. Rounds end: which jobs are
// held, tested or among the first Depth hangs on the jobs started alone, so between
// two starts the same jobs hold reservations from the second round on; each finds the
// one it had when it is lifted, for nodes and caps are kept for it, and so
// moves to an earlier instant only. After a plan all reservations begin
// later than now, so that Plan.Due is never reached without time passing.
func (p planned) replan(line []order.Candidate) (moved bool) {
	p.qs.plan.NextRound()
	p.qs.blocked, p.qs.reservation.Ref = false, -1
	depth, tried := 0, 0
	for _, c := range line {
		if p.core.jobs[c.Ref].phase != queued {
			continue
		}
		p.core.work.Examined++
		if p.turns().screen(c) != model.ReasonNone {
			moved = p.cancelSlot(c.Ref) || moved
			continue
		}
		if most := p.qs.policy.Window.Tests; (most > 0 && tried >= most) || !p.qs.plan.MayTest(p.core.jobs[c.Ref].User, p.qs.policy.MaxUserTests) {
			p.orderHolds = true
			moved = p.cancelSlot(c.Ref) || moved
			continue
		}
		tried++
		started, changed := p.slotIn(c.Ref, depth < p.qs.policy.Depth)
		moved = moved || changed
		if started {
			continue
		}
		depth++
		if !p.qs.blocked {
			p.qs.blocked, p.qs.reservation.Ref = true, c.Ref
		}
	}
	return moved
}

// planStableUntil is until when a plan made now stays the same if nothing is observed
// and no job overtakes another; now when that cannot be told.
func (p planned) planStableUntil() model.Time {
	policy := p.qs.policy
	if policy.Expected || policy.MinScore > 0 || policy.Window.Length > 0 ||
		len(p.core.site.Reservations) > 0 || len(p.core.holds) > 0 || p.heeding {
		return p.now
	}
	if policy.Ranking == ByScore {
		return min(max(p.qs.ends.First(), p.now), p.core.ledger.NextTick(p.now))
	}
	if policy.Ranking == ByOrder && policy.Order.Static() {
		return max(p.qs.ends.First(), p.now)
	}
	return p.now
}

// overtakes is a lower bound on the instant at which b, next behind a in the
// order, comes before it.
func (p planned) overtakes(a, b order.Candidate) model.Time {
	if p.qs.policy.Ranking != ByScore || a.Tier != b.Tier {
		return model.Never
	}
	i, j := &p.core.jobs[a.Ref], &p.core.jobs[b.Ref]
	return p.now.Add(score.Overtake(model.Fixed(a.Key-b.Key), p.qs.policy.Weights[score.Wait], p.qs.terms.Penalty[j.Tenant+1], p.qs.terms.Penalty[i.Tenant+1],
		p.now.Sub(j.Submit), p.now.Sub(i.Submit), p.qs.policy.Reference))
}

// layTimeline lays out the timeline anew: what is free now, what comes free at the
// predicted ends, and the reservations that stand.
func (p planned) layTimeline() {
	plan := &p.qs.plan
	plan.Begin(p.now, p.qs.free.Idle(), &p.core.caps)
	clashes := p.forecasts().clashes()
	p.core.walk++
	idle := p.core.buf.idleTrial(&p.core.caps.Idle)
	p.qs.ends.Ascend(p.now, func(at model.Time, ref model.Ref, _ int32) bool {
		if at == model.Never {
			return false
		}
		plan.Release(at, p.forecasts().comesFree(ref, clashes), idle.Leave(p.core.jobs[ref].needs, &p.core.jobs[ref].placement))
		return true
	})
	for i := range p.core.site.Reservations {
		plan.Split(p.core.site.Reservations[i].Start)
		plan.Split(p.core.site.Reservations[i].End)
	}
	p.core.promises.EachEnd(p.qs.id, p.now, plan.Split)
	plan.Restore(p.now, func(ref model.Ref) (model.Duration, caps.Usage) { return p.core.jobs[ref].left, p.core.jobs[ref].needs })
}

// slotIn plans for a job whose turn it is: it lifts its reservation, starts the
// job when it has room from now on, and else sets the reservation at the earliest
// instant; where that is the one it had, it keeps its nodes. keep says whether the
// job may hold a reservation.
func (p planned) slotIn(ref model.Ref, keep bool) (started, moved bool) {
	j, plan := &p.core.jobs[ref], &p.qs.plan
	had := plan.Lift(ref, j.left, j.needs)
	c := &p.core.buf.choice
	c.borrowed = false
	limit := model.Never
	if !keep {
		limit = p.now
	} else if w := p.qs.policy.Window.Length; w > 0 {
		limit = p.now.Add(w)
	}
	at := plan.Earliest(p.now, limit, j.left, j.kind.mask, j.NodesMin, func(at, until model.Time, nodes model.NodeSet) bool {
		if at > p.now {
			return plan.CapsFit(at, until, j.needs) && p.chooseIn(ref, at, nodes, &c.nodes)
		}
		return p.startsIn(ref, until, nodes, &c.nodes)
	})
	if at == p.now {
		plan.Drop(had)
		idle := p.core.caps.Idle.On(&c.nodes)
		p.proposals().propose(ref, c)
		needs := j.needs
		needs.Idle = idle
		plan.Take(at, plan.Until(at, j.left), p.core.buf.nodesOf(&c.nodes), needs)
		return true, true
	}
	if at == model.Never {
		plan.Drop(had)
		return false, had >= 0
	}
	return false, plan.Set(had, ref, at, j.left, p.core.buf.nodesOf(&c.nodes), j.needs)
}

// startsIn says whether ref may start now among the nodes given, which are free in the plan until an instant; into is where.
func (p planned) startsIn(ref model.Ref, until model.Time, nodes model.NodeSet, into *model.Placement) bool {
	j := &p.core.jobs[ref]
	return p.chooseIn(ref, p.now, nodes, into) && p.core.overLimits(j, into, 0) == model.ReasonNone &&
		p.qs.plan.CapsFit(p.now, until, caps.Usage{Power: p.core.nodeClasses.Draw(j.Allocation, into), Bandwidth: j.needs.Bandwidth, Idle: p.core.caps.Idle.On(into)})
}

// chooseIn selects nodes for ref among those given, for a run from at on.
func (p planned) chooseIn(ref model.Ref, at model.Time, nodes model.NodeSet, into *model.Placement) bool {
	j := &p.core.jobs[ref]
	avoid := p.core.avoids(ref, at, at.Add(j.left))
	if avoid == nil {
		avoid = p.core.buf.avoid
		clear(avoid)
	}
	for i := range avoid {
		avoid[i] |= ^nodes[i]
	}
	q := p.qs.query(j, j.NodesMin, avoid)
	return p.core.idle.Select(&q, into)
}

// cancelSlot gives up the reservation of ref and says whether it had one.
func (p planned) cancelSlot(ref model.Ref) bool {
	j := &p.core.jobs[ref]
	i := p.qs.plan.Lift(ref, j.left, j.needs)
	p.qs.plan.Drop(i)
	return i >= 0
}

// conservativeRule plans reservations for several jobs. Between two plans it is strict.
type conservativeRule struct{ strictRule }

func (conservativeRule) pass(p *pass, scalingUp []model.Ref) {
	first := len(p.core.plan.Proposals)
	p.planned().passTimeline(scalingUp)
	p.ranges().grow(first)
}
