package site

import (
	"cmp"
	"math"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/preempt"
)

// Services that a policy scales (Allocation.Scaled) preempt others for what they lack, as
// blocked jobs do for all that they ask for.

// preemptForServices looks for victims for the scaled services that lack nodes when the
// candidates of a pass are through: those of higher classes first, then by id. What is free
// for one is not enough by then, or may not be had. Under Conservative a service has no turn
// between two plans, in which it could take what was left for it.
func (p preemption) preemptForServices() {
	if !p.qs.policy.Preempts || p.qs.policy.plans() {
		return
	}
	first, tries := len(p.core.plan.Proposals), int32(0)
	for _, ref := range p.seekers() {
		if tries == p.qs.policy.Preemption.MaxTries {
			p.qs.look.Until = p.now // it is tried for in another pass
			break
		}
		tries++
		if !p.preemptMore(ref) {
			p.noteFailed(ref)
		}
	}
	if len(p.core.plan.Proposals) > first {
		p.qs.look.Until = p.now
	}
}

// seekers are the services that victims are to be sought for, in order, valid until the next
// call of findScalingUp.
func (p preemption) seekers() []model.Ref {
	list := p.core.buf.scalingUp[:0]
	for _, ref := range p.qs.services {
		j := &p.core.jobs[ref]
		if !j.Scaled || j.leaving || j.resizing || p.failed(j) || p.core.holds.Has(ref) {
			continue
		}
		if size := j.usage.Nodes; size < j.wants() && p.services().atLimit(j, size) == model.ReasonNone {
			list = append(list, ref)
		}
	}
	p.core.buf.scalingUp = list
	slices.SortStableFunc(list, func(a, b model.Ref) int {
		return cmp.Compare(rankClass(&p.core.jobs[b]), rankClass(&p.core.jobs[a]))
	})
	return list
}

// preemptMore proposes that others make room for as many nodes as can be of those that the
// service under ref lacks; it says whether anything is proposed.
func (p preemption) preemptMore(ref model.Ref) bool {
	s, j := p.core, &p.core.jobs[ref]
	have, lent := j.usage.Nodes, p.core.lent[p.qs.id] > 0
	most := j.wants() - have
	if !lent {
		most = min(most, p.qs.room(j)+j.kind.largestBelow(belowOf(s.site, j), p.qs.policy.Preemption.MaxVictims, math.MaxInt32, s.active, s.jobs))
	}
	for j.more = most; j.more > 0; j.more-- {
		if s.ledger.CheckResize(&j.usage, have+j.more) != model.ReasonNone || s.overPool(j, j.more) {
			continue
		}
		if lent && (p.services().reclaim(ref, false) || p.proposePreemption(ref, preempt.Reclaim)) || p.proposePreemption(ref, triggerOf(j)) {
			return true
		}
	}
	j.more = 1
	return false
}
