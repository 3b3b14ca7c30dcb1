package site

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site/internal/waiting"
)

// leaders is the pass that looks for the best jobs alone.
type leaders struct{ *pass }

func (p *pass) leaders() leaders { return leaders{p} }

// In most passes the best job of the queue is the one that was blocked in the last
// pass, and it still is. To know that takes an upper bound on the scores of the
// others, and the scores themselves of the few whose bound reaches the best.

// onFastPath says whether the pass may be of that kind: jobs go by their scores, and it
// matters only which of them start.
func (p leaders) onFastPath() bool {
	return p.qs.mode.bounded && !p.heeding
}

// passFast starts the best jobs as long as they have room, and then looks behind the
// one that is blocked. ok says whether that made the pass; if not, the rest of the queue
// has to be looked at in order. anyFits says whether jobs may have room.
func (p leaders) passFast(anyFits bool) (ok bool) {
	first := len(p.core.plan.Proposals)
	if len(p.core.holds) > 0 {
		if p.turns().tryReady(); p.qs.blocked {
			p.setBounds()
		}
	}
	for leads := 0; !p.qs.blocked; leads++ {
		if leads == mostLeads {
			return false
		}
		i := p.best(!anyFits)
		if i < 0 {
			return true
		}
		if q := &p.qs.waiting.Jobs[i]; p.room().mayFit(q) {
			p.turns().tryStart(order.Candidate{Key: int64(q.Key), Tier: q.Tier, Ref: q.Ref, At: i})
		} else {
			p.turns().block(q.Ref)
		}
	}
	if len(p.core.plan.Proposals) > first {
		anyFits = p.room().anyFits()
	}
	if !p.rule.looksBehind() {
		p.orderHolds = anyFits
		return true
	}
	if anyFits {
		p.easy().ensureReservation()
		p.passBehind()
	}
	return true
}

// mostLeads bounds how often a pass looks for the best job of all. To go on so takes no more than to bring the whole queue
// into order, but would have no end where a limit holds the best by what its nodes are, which is known when they are chosen.
const mostLeads = 16

// setBounds sets the upper bounds on the scores of the pass. They hold for all of it, for what scores have in common and the
// largest free groups are frozen.
func (p leaders) setBounds() *waiting.Bounds {
	b := &p.scratch.bounds
	if p.bounded {
		return b
	}
	p.bounded = true
	b.Set(&p.qs.waiting, p.now, p.now.Add(foresight), &p.qs.terms, p.qs.groupOf)
	return b
}

// best is the index of the best job of the queue that no limit holds, -1 for none. stays says that it is not about to start, as
// far as is known: then its contenders are found as well.
func (p leaders) best(stays bool) (at int32) {
	b := p.setBounds()
	p.scratch.limited = p.scratch.limited[:0]
	lead, known := waiting.NoLeader, p.scratch.contenders[:0]
	examine := func(at int32) (held bool) { return p.examine(&lead, at) }
	if ref := p.qs.best; ref >= 0 && p.qs.waiting.Has(ref) {
		known = append(known, ref)
		examine(p.qs.waiting.At(ref))
	}
	if lead.At < 0 {
		if ref := b.Promising(); ref >= 0 && !slices.Contains(known, ref) {
			known = append(known, ref)
			examine(p.qs.waiting.At(ref))
		}
	}
	if p.contended = stays; stays {
		known = b.ExamineWithContenders(&lead, known, p.margins().marginOf(), examine)
	} else {
		b.Examine(&lead, known, examine)
	}
	p.scratch.contenders = known
	p.turnsBefore(&lead)
	p.gate().takeOutGated()
	if p.qs.best = -1; lead.At >= 0 {
		p.qs.best = p.qs.waiting.Jobs[lead.At].Ref
	}
	return lead.At
}

// examine makes the job at an index of the queue, of the tier of the leader or a higher
// one, the leader if it is better and no limit holds it. It says whether one holds it.
func (p leaders) examine(lead *waiting.Leader, at int32) (held bool) {
	q := &p.qs.waiting.Jobs[at]
	p.ranking().weigh(q)
	if !p.comesBefore(q, lead) {
		return false
	}
	j := &p.core.jobs[q.Ref]
	if p.turns().hadTurn(j) {
		return true
	}
	if p.gate().held(order.Candidate{Ref: q.Ref}) != model.ReasonNone {
		if j.usage.Divides {
			p.scratch.limited = append(p.scratch.limited, q.Ref)
		}
		return true
	}
	*lead = waiting.Leader{At: at, Tier: q.Tier, Key: q.Key}
	return false
}

// turnsBefore takes in that those jobs have had their turn which take shares, are held by a limit and
// come before the leader.
func (p leaders) turnsBefore(lead *waiting.Leader) {
	for _, ref := range p.scratch.limited {
		if p.comesBefore(p.qs.waiting.Row(ref), lead) {
			p.core.jobs[ref].heldIn = p.core.work.Passes
		}
	}
}

// comesBefore says whether a job that was examined comes before the leader, as any does before none.
func (p leaders) comesBefore(q *waiting.QueueEntry, lead *waiting.Leader) bool {
	return q.Tier > lead.Tier || q.Tier == lead.Tier &&
		(q.Key > lead.Key || q.Key == lead.Key && q.Job < p.qs.waiting.Jobs[lead.At].Job)
}

// contenders are the jobs that may come before the blocked one within the foresight, or within the margin behind it, when it is
// the best that no limit holds. Some that come before it now may be among them. They are valid until the next call, and that of best.
func (p leaders) contenders(margin model.Fixed) []model.Ref {
	if p.contended {
		return p.scratch.contenders
	}
	q := p.qs.waiting.Row(p.qs.reservation.Ref)
	lead := waiting.Leader{At: p.qs.waiting.At(q.Ref), Tier: q.Tier, Key: q.Key}
	p.scratch.contenders = p.setBounds().Contenders(p.scratch.contenders[:0], lead, margin, func(at int32) bool {
		q := &p.qs.waiting.Jobs[at]
		p.ranking().weigh(q)
		return p.comesBefore(q, &lead)
	})
	return p.scratch.contenders
}

// passBehind lets jobs start behind the blocked one, in order, as far as they do not delay
// it. Those are not looked at that surely have no room or would delay it, by the number of nodes and the time
// that they ask for.
func (p leaders) passBehind() {
	x := &p.scratch.behind
	x.p, x.leftOver = p.pass, x.leftOver[:0]
	x.seeker.Start(&p.scratch.bounds, x)
	for p.room().anyRoom() {
		c, ok := x.seeker.Next()
		if !ok {
			return
		}
		proposed := p.core.seq
		p.turns().tryStart(c)
		if p.core.seq != proposed {
			x.seeker.Release(c.Tier, model.Fixed(c.Key), p.core.jobs[c.Ref].Job)
		} else if len(p.core.holds) == 0 && !p.core.limitsQOS && p.memo().delaysAlike(c.Ref) {
			x.seeker.Park(c.Ref, p.qs.reservation.At.Sub(p.now)) // those of its tenant are refused as well until one more is proposed
		}
	}
}
