package site

import (
	"sort"

	"orrery/scheduler/model"
)

// ranges gives jobs that take a range of nodes more than their least.
type ranges struct{ *view }

func (v *view) ranges() ranges { return ranges{v} }

// grow offers the jobs proposed since first that take a range of nodes what
// no other job could use, in the order in which they were proposed.
func (p ranges) grow(first int) {
	for i := first; i < len(p.core.plan.Proposals); i++ {
		proposal := &p.core.plan.Proposals[i]
		if proposal.Kind != model.ProposeAssign || proposal.Borrowed {
			continue
		}
		j := &p.core.jobs[proposal.Ref]
		if j.NodesMax > j.NodesMin && j.Kind != model.Reactive && (!p.qs.blocked || p.rule.mayGrow(p.view, j)) {
			p.growJob(proposal)
		}
	}
}

// growJob finds the largest size at which the job of a proposal has room, keeps the
// limits and delays no other, and moves its proposal there.
func (p ranges) growJob(proposal *model.Proposal) {
	j := &p.core.jobs[proposal.Ref]
	have := j.placement.Nodes()
	p.qs.free.Give(&j.placement)
	most := p.qs.room(j)
	for n := p.allowed(j, have, min(j.NodesMax, most)); n > have; n-- {
		if p.larger(proposal.Ref, n) {
			break
		}
	}
	p.qs.free.Take(&j.placement)
	p.qs.ends.Remove(j.predicted, proposal.Ref)
	p.qs.ends.Insert(j.predicted, proposal.Ref, j.placement.Nodes())
	proposal.Placement = j.placement
	p.proposals().promiseProposed(proposal.Ref)
}

// allowed is the largest size up to most that the limits and, by the least that
// so many nodes draw, the caps let the job in flight have. Both only get tighter
// with its size.
func (p ranges) allowed(j *job, have, most int32) int32 {
	left := p.core.caps.Used.Minus(j.needs)
	over := func(i int) bool {
		n := have + 1 + int32(i)
		return p.core.ledger.CheckResize(&j.usage, n) != model.ReasonNone || !p.core.caps.Cap.Allows(p.core.leastNeeds(j, n), left)
	}
	return have + int32(sort.Search(int(max(0, most-have)), over))
}

// larger tries size n for a job that is in flight; its nodes are given back
// for the trial.
func (p ranges) larger(ref model.Ref, n int32) bool {
	j := &p.core.jobs[ref]
	fits := p.core.ledger.CheckResize(&j.usage, n) == model.ReasonNone
	q := p.qs.query(j, n, p.core.avoids(ref, p.now, p.now.Add(j.left)))
	nodes := &p.core.buf.choice.nodes
	if !fits || !p.qs.free.Select(&q, nodes) {
		return false
	}
	p.core.countNeeds(j, -1)
	p.core.ledger.Unreserve(&j.usage)
	if p.core.overCap(j, nodes) != model.ReasonNone || p.core.overPool(j, n) || p.core.overLimits(j, nodes, 0) != model.ReasonNone {
		p.core.ledger.Reserve(&j.usage)
		p.core.countNeeds(j, 1)
		return false
	}
	j.usage = usageOf(j.Allocation, j.kind, n)
	p.core.memory.Set(&j.placement, nodes)
	p.core.setTaken(j)
	p.core.ledger.Reserve(&j.usage)
	p.core.setNeeds(j)
	return true
}
