package site

import (
	"cmp"
	"orrery/scheduler/model"
	"orrery/scheduler/site/internal/caps"
	"orrery/scheduler/site/internal/wake"
	"slices"
)

// union writes what a and b name, which have no node in common, into p.
func union(a, b, placement *model.Placement) {
	placement.Set(a)
	for _, w := range b.Words {
		at, found := slices.BinarySearchFunc(placement.Words, w.Word, func(v model.NodeWord, word int32) int { return cmp.Compare(v.Word, word) })
		if found {
			placement.Words[at].Mask |= w.Mask
		} else {
			placement.Words = slices.Insert(placement.Words, at, w)
		}
	}
	placement.Shares = append(placement.Shares, b.Shares...)
	model.SortShares(placement.Shares)
}

// newResize is an empty change of size of a service, the last of s.resizes.
func (p services) newResize(ref model.Ref) *resize {
	n := len(p.core.resizes)
	if n < cap(p.core.resizes) {
		p.core.resizes = p.core.resizes[:n+1] // with the memory of one that was dropped
	} else {
		p.core.resizes = append(p.core.resizes, resize{})
	}
	x, j := &p.core.resizes[n], &p.core.jobs[ref]
	x.ref, x.queue, x.usage = ref, p.qs, j.usage
	x.gained.Words, x.gained.Shares = x.gained.Words[:0], x.gained.Shares[:0]
	x.nodes, x.more, x.pooled = 0, caps.Usage{}, j.IsSensitive()
	x.reason, x.lent = model.ReasonNone, false
	return x
}

func (s *Core) dropResize(i int) {
	last := len(s.resizes) - 1
	s.resizes[i], s.resizes[last] = s.resizes[last], s.resizes[i]
	s.resizes = s.resizes[:last]
}

// proposeSize asks the quorum for x.whole, and counts what that is more as taken.
func (p services) proposeSize(x *resize) {
	j := &p.core.jobs[x.ref]
	j.resizing, p.core.plan.Again = true, true
	p.core.reserveMore(x, 1)
	if x.nodes > 0 {
		x.queue.free.Take(&x.gained)
		if takes(p.core, j); x.lent { // the caps of all have less room
			p.core.board.RaiseAll(wake.Taken) // and lenders fewer nodes
		}
	}
	p.core.seq++
	x.seq = p.core.seq
	p.core.plan.Proposals = append(p.core.plan.Proposals, model.Proposal{
		Kind: model.ProposeResize, Reason: x.reason, Borrowed: j.Scaled && foreignNodes(&p.core.nodeState, j, &x.whole) > 0, VCluster: x.queue.id, Seq: p.core.seq, Job: j.Job, Ref: x.ref, Placement: x.whole,
	})
}

// reserveMore counts what a service gains against limits and caps, sign times.
func (s *Core) reserveMore(x *resize, sign int32) {
	s.ledger.ReserveMore(&x.usage, x.nodes, s.nodeClasses.Thousandths(&x.gained, x.nodes), x.gained.Shares, sign)
	s.caps.Used.Power += int64(sign) * x.more.Power
	s.caps.Used.Bandwidth += int64(sign) * x.more.Bandwidth
	s.caps.Hold(&x.gained, sign)
	if x.pooled {
		s.caps.Sensitive += sign * x.nodes
	}
	if x.lent {
		lendNodes(&s.nodeState, x.queue.id, &x.gained, sign)
	}
}

// answered forgets the change of size of ref in flight, if there is one of that number
// (0 for any): the quorum has decided it, or ref has left. What was kept for it is
// counted no more.
func (s *Core) answered(ref model.Ref, seq uint64) bool {
	for i := range s.resizes {
		x := &s.resizes[i]
		if x.ref != ref || seq != 0 && x.seq != seq {
			continue
		}
		s.reserveMore(x, -1)
		s.jobs[ref].resizing = false
		qs := x.queue
		qs.free.GiveWhere(&x.gained, s.free)
		s.dropResize(i)
		s.retakeInFlight(qs)
		return true
	}
	return false
}

// retakeInFlight marks what a vCluster has in flight as taken.
func (s *Core) retakeInFlight(qs *queueState) {
	for _, ref := range qs.inFlight {
		qs.free.Retake(&s.jobs[ref].placement)
	}
	for i := range s.resizes {
		if x := &s.resizes[i]; x.queue == qs {
			qs.free.Retake(&x.gained)
		}
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
func (p services) fitsAt(x *resize, nodes *model.Placement, n int32) bool {
	j := &p.core.jobs[x.ref]
	x.gained.Set(nodes)
	union(&j.placement, &x.gained, &x.whole)
	x.nodes = x.gained.Nodes()
	x.lent = foreignNodes(&p.core.nodeState, j, &x.gained) > 0
	needs := caps.Usage{Power: p.core.nodeClasses.Draw(j.Allocation, &x.whole), Bandwidth: j.Demand(n)}
	x.more = needs.Minus(j.needs)
	x.more.Idle = p.core.caps.Idle.On(&x.gained)
	left := p.core.caps.Used.Minus(j.needs)
	needs.Idle = x.more.Idle
	return p.core.ledger.CheckResize(&j.usage, n) == model.ReasonNone && p.core.overLimits(j, &x.gained, j.usage.Milli) == model.ReasonNone && p.core.caps.Cap.Allows(needs, left) && !p.core.overPool(j, x.nodes)
}

// services are the reactive services of the vCluster.
type services struct{ *view }

func (v *view) services() services { return services{v} }
