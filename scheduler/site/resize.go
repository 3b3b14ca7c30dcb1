package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/site/internal/caps"
	"orrery/scheduler/site/internal/elastic"
	"orrery/scheduler/site/internal/wake"
)

// services are the reactive services of the vCluster.
type services struct{ *view }

func (v *view) services() services { return services{v} }

// newResize is an empty change of size of a service, the last of those in flight.
func (p services) newResize(ref model.Ref) *elastic.Resize {
	j := &p.core.jobs[ref]
	return p.core.resizes.Add(elastic.Resize{Ref: ref, VCluster: p.qs.id, Usage: j.usage, Pooled: j.IsSensitive()})
}

// proposeSize asks the quorum for x.Whole, and counts what that is more as taken.
func (p services) proposeSize(x *elastic.Resize) {
	j := &p.core.jobs[x.Ref]
	j.resizing, p.core.plan.Again = true, true
	p.core.reserveMore(x, 1)
	if x.Nodes > 0 {
		p.core.vclusters[x.VCluster].free.Take(&x.Gained)
		if takes(p.core, j); x.Lent { // the caps of all have less room
			p.core.board.RaiseAll(wake.CapacityTaken) // and lenders fewer nodes
		}
	}
	p.core.seq++
	x.Seq = p.core.seq
	p.core.plan.Proposals = append(p.core.plan.Proposals, model.Proposal{
		Kind: model.ProposeResize, Reason: x.Reason, Borrowed: j.Scaled && foreignNodes(&p.core.nodeState, j, &x.Whole) > 0, VCluster: x.VCluster, Seq: p.core.seq, Job: j.Job, Ref: x.Ref, Placement: x.Whole,
	})
}

// reserveMore counts what a service gains against limits and caps, sign times.
func (s *Core) reserveMore(x *elastic.Resize, sign int32) {
	s.ledger.ReserveMore(&x.Usage, x.Nodes, s.nodeClasses.Thousandths(&x.Gained, x.Nodes), x.Gained.Shares, sign)
	s.caps.Used.Power += int64(sign) * x.More.Power
	s.caps.Used.Bandwidth += int64(sign) * x.More.Bandwidth
	s.caps.Hold(&x.Gained, sign)
	if x.Pooled {
		s.caps.Sensitive += sign * x.Nodes
	}
	if x.Lent {
		lendNodes(&s.nodeState, x.VCluster, &x.Gained, sign)
	}
}

// answered forgets the change of size of ref in flight, if there is one of that number
// (0 for any): the quorum has decided it, or ref has left. What was kept for it is
// counted no more.
func (s *Core) answered(ref model.Ref, seq uint64) bool {
	i := s.resizes.Find(ref, seq)
	if i < 0 {
		return false
	}
	x := &s.resizes[i]
	s.reserveMore(x, -1)
	s.jobs[ref].resizing = false
	qs := &s.vclusters[x.VCluster]
	qs.free.GiveWhere(&x.Gained, s.free)
	s.resizes.Drop(i)
	s.retakeInFlight(qs)
	return true
}

// retakeInFlight marks what a vCluster has in flight as taken.
func (s *Core) retakeInFlight(qs *queueState) {
	for _, ref := range qs.inFlight {
		qs.free.Retake(&s.jobs[ref].placement)
	}
	for x := range s.resizes.Of(qs.id) {
		qs.free.Retake(&x.Gained)
	}
}

// resized takes in that a running job has other nodes.
func (s *Core) resized(f *model.Fact) {
	s.answered(f.Ref, f.Seq)
	s.dropHold(f.Ref)
	j := &s.jobs[f.Ref]
	s.ledger.Use(&j.usage, j.assoc, -1, s.now)
	s.countNeeds(j, -1)
	releaseNodes(&s.nodeState, f.Ref, j)
	s.lend(j, -1)
	s.free.Give(&j.placement)
	s.free.Take(f.Placement)
	n := f.Placement.Nodes()
	for i := range s.vclusters {
		qs := &s.vclusters[i]
		qs.ends.Remove(j.predicted, f.Ref)
		qs.ends.Insert(j.predicted, f.Ref, n)
		qs.free.Give(&j.placement)
		qs.free.Take(f.Placement)
		s.retakeInFlight(qs)
	}
	s.ledger.Resize(&j.usage, n, j.kind.unitsHeld(j.Allocation, f.Placement, n, s.nodeClasses), s.nodeClasses.Thousandths(f.Placement, n), f.Placement.Shares, s.now)
	s.memory.Set(&j.placement, f.Placement)
	j.borrowed = foreignNodes(&s.nodeState, j, &j.placement) > 0
	s.lend(j, 1)
	s.victims[j.pos] = victimOf(f.Ref, j)
	holdNodes(&s.nodeState, f.Ref, j)
	j.usage.Shares = j.placement.Shares
	s.backlog.setRunning(j, j.gpuTime())
	s.setNeeds(j)
	s.ledger.Use(&j.usage, j.assoc, 1, s.now)
	s.board.RaiseAll(wake.Site)
	if n >= j.wants() {
		j.unanswered = 0
	}
}

// fitsAt completes x, by which its service gains the nodes and has n nodes then. It
// says whether its limits and the caps allow that.
func (p services) fitsAt(x *elastic.Resize, nodes *model.Placement, n int32) bool {
	j := &p.core.jobs[x.Ref]
	x.Gained.Set(nodes)
	elastic.Union(&j.placement, &x.Gained, &x.Whole)
	x.Nodes = x.Gained.Nodes()
	x.Lent = foreignNodes(&p.core.nodeState, j, &x.Gained) > 0
	needs := caps.Usage{Power: p.core.nodeClasses.Draw(j.Allocation, &x.Whole), Bandwidth: j.Demand(n)}
	x.More = needs.Minus(j.needs)
	x.More.Idle = p.core.caps.Idle.On(&x.Gained)
	left := p.core.caps.Used.Minus(j.needs)
	needs.Idle = x.More.Idle
	return p.core.ledger.CheckResize(&j.usage, n) == model.ReasonNone && p.core.overLimits(j, &x.Gained, j.usage.Milli) == model.ReasonNone && p.core.caps.Cap.Allows(needs, left) && !p.core.overPool(j, x.Nodes)
}
