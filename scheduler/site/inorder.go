package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// inOrder is the pass that gives each job its turn in the order of the queue.
type inOrder struct{ *pass }

func (p *pass) inOrder() inOrder { return inOrder{p} }

// passQueue is the pass under none, first-fit and easy, and under conservative between two plans.
func (p inOrder) passQueue(scalingUp []model.Ref) {
	if len(scalingUp) > 0 && !p.qs.policy.plans() {
		p.passServing(scalingUp)
		return
	}
	p.core.work.Examined += uint64(len(p.qs.waiting.Jobs))
	anyFits := p.room().anyFits()
	if !anyFits && p.waking().orderless() && !(p.qs.policy.Preempts && len(p.preemption().hunters()) > 0) {
		p.qs.standing = p.gate().anyUnheld()
		p.qs.blocked = p.qs.standing >= 0
		p.waking().noteFull()
		return
	}
	p.core.freeze(p.qs)
	p.core.work.Passes++
	first := len(p.core.plan.Proposals)
	if p.leaders().onFastPath() {
		p.fast = p.leaders().passFast(anyFits)
	}
	if !p.fast {
		p.passAll(nil)
	}
	if len(p.core.plan.Proposals) > first {
		return // there is another pass soon
	}
	if !anyFits && !p.triesLeft && p.waking().orderless() {
		p.waking().noteFull()
		return
	}
	p.lookahead().boundNextChange(anyFits)
	switch {
	case !p.qs.blocked:
		p.waking().noteHeld()
	case p.fast && p.rule.reserves() && p.qs.reservation.ByCount() && p.qs.look.Until > p.now:
		p.qs.judged = byTurn
	}
}

// passServing is the pass in which services may get nodes.
func (p inOrder) passServing(scalingUp []model.Ref) {
	p.core.freeze(p.qs)
	p.core.work.Passes++
	p.core.work.Examined += uint64(len(p.qs.waiting.Jobs) + len(scalingUp))
	p.passAll(scalingUp)
	if len(p.qs.waiting.Jobs) > 0 || p.core.nextBoundary(p.now) < model.Never {
		p.qs.look.Until = p.now // what overtakes a service, or opens nodes to it, is not foreseen
	}
}

// sorted is the candidates of a pass in two heaps, not in order yet: those that may have
// room, the services that may get nodes among them, and those that have none.
func (p inOrder) sorted(scalingUp []model.Ref) (room, tight order.Heap) {
	with, without := p.core.buf.room[:0], p.core.buf.tight[:0]
	for i := range p.qs.waiting.Jobs {
		q := &p.qs.waiting.Jobs[i]
		if q.Gated {
			continue
		}
		c := order.Candidate{Tier: q.Tier, Ref: q.Ref, At: int32(i)}
		if p.room().mayFit(q) {
			with = append(with, c)
		} else {
			without = append(without, c)
		}
	}
	p.ranking().keys(with)
	p.ranking().keys(without)
	with = p.services().addScalingUp(with, scalingUp)
	p.core.buf.room, p.core.buf.tight = with, without
	return p.ranking().heap(with), p.ranking().heap(without)
}

// passAll examines each job in the queue, in order.
func (p inOrder) passAll(scalingUp []model.Ref) {
	room, tight := p.sorted(scalingUp)
	room.Lead()
	tight.Lead()
	trimmed, thorough := false, p.qs.policy.MinScore > 0 // which asks when the others are released
	for len(room.List) > 0 || len(tight.List) > 0 {
		if len(room.List) == 0 || (len(tight.List) > 0 && room.Before(&tight.List[0], &room.List[0])) {
			p.turns().tryTight(tight.List[0])
			tight.Pop()
		} else {
			p.turns().tryStart(room.List[0])
			room.Pop()
		}
		if !p.qs.blocked {
			continue
		}
		p.orderHolds = p.orderHolds || !p.rule.looksBehind() && len(room.List) > 0
		if thorough {
			continue
		}
		if !p.rule.looksBehind() || !p.room().anyRoom() {
			break
		}
		if !trimmed {
			tight.List, trimmed = tight.List[:0], true
			p.easy().prune(&room)
		}
	}
}
