package site

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sort"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/quota"
	"orrery/scheduler/site/internal/caps"
	"orrery/scheduler/site/internal/wake"
)

// Reactive services run on as many nodes as another system demands for them, between
// NodesMin and NodesMax. What they have too much is offered to the quorum before
// any job has a turn; what they lack they get in the order of the queue.

// resize is a change of size in flight.
type resize struct {
	ref    model.Ref
	seq    uint64
	queue  *queueState
	whole  model.Placement     // all nodes that the service is to have
	gained model.Placement     // those of them that it does not hold yet
	usage  quota.ResourceUsage // the service's, as it was
	nodes  int32               // gained, 0 for one that shrinks
	more   caps.Usage          // that it takes for them, less what they draw idle
	reason model.Reason        // for which it shrinks, where it is to be told
	lent   bool                // some of gained are of other vClusters
	pooled bool                // they count as nodes of sensitive work
}

// wants is the number of nodes that a reactive service is to have.
func (j *job) wants() int32 { return min(max(j.demand, j.NodesMin), j.NodesMax) }

// demanded takes in how many nodes a service is to have.
func (s *Core) demanded(f *model.Fact) {
	if j := &s.jobs[f.Ref]; j.Kind == model.Reactive {
		j.demand = int32(min(f.Value, math.MaxInt32))
		j.unanswered = f.Seq
		s.board.Raise(j.queue.id, wake.Queue)
		if j.phase == running && j.usage.Nodes >= j.wants() {
			s.dropHold(f.Ref)
		}
	}
}

// addService lists a running service among those that follow their demand, by id.
func (s *Core) addService(ref model.Ref) {
	j := &s.jobs[ref]
	qs := j.queue
	if j.Kind != model.Reactive || qs.mode.fixedServiceSize {
		return
	}
	at, _ := slices.BinarySearchFunc(qs.services, j.Job, func(r model.Ref, id model.JobID) int { return cmp.Compare(s.jobs[r].Job, id) })
	qs.services = slices.Insert(qs.services, at, ref)
	qs.fair.Enter(j.Tenant) // its score counts while it runs
	if j.wants() != j.usage.Nodes {
		s.board.Raise(qs.id, wake.Queue)
	}
}

// dropService takes a service that does not run any more out of that list.
func (s *Core) dropService(ref model.Ref) {
	j := &s.jobs[ref]
	if at := slices.Index(j.queue.services, ref); at >= 0 {
		j.queue.services = slices.Delete(j.queue.services, at, at+1)
		j.queue.fair.Leave(j.Tenant)
	}
	s.answered(ref, 0)
	s.dropHold(ref)
}

// shrink proposes that services give up what they are not to have any more.
func (p *pass) shrink() {
	for _, ref := range p.qs.services {
		j := &p.core.jobs[ref]
		if j.leaving || j.resizing || j.usage.Nodes <= j.wants() {
			continue
		}
		x := p.newResize(ref)
		p.stays(j, j.wants(), &x.whole)
		p.proposeSize(x)
	}
}

// stays writes into p the n nodes of j that it keeps.
func (p *pass) stays(j *job, n int32, placement *model.Placement) {
	if j.borrowed {
		staysAtHome(p.core, j, n, placement)
		return
	}
	if j.Divides() {
		placement.Words, placement.Shares = placement.Words[:0], placement.Shares[:0]
		for _, ready := range [...]bool{true, false} {
			for _, h := range j.placement.Shares {
				if p.core.ready.Has(h.Node) == ready && int32(len(placement.Shares)) < n {
					placement.Shares = append(placement.Shares, h)
				}
			}
		}
		model.SortShares(placement.Shares)
		return
	}
	avoid := p.core.buf.avoid
	q := j.queue.query(j, n, avoid)
	for _, ready := range [...]bool{true, false} {
		for w := range avoid {
			avoid[w] = math.MaxUint64
		}
		for _, w := range j.placement.Words {
			if avoid[w.Word] &^= w.Mask; ready {
				avoid[w.Word] |= ^p.core.ready[w.Word]
			}
		}
		if p.core.idle.Select(&q, placement) {
			return
		}
	}
	placement.Set(&j.placement) // it was restored on nodes that it may not use
	for over := placement.Nodes() - n; over > 0; over-- {
		w := &placement.Words[len(placement.Words)-1]
		if w.Mask &^= 1 << (bits.Len64(w.Mask) - 1); w.Mask == 0 {
			placement.Words = placement.Words[:len(placement.Words)-1]
		}
	}
}

// findScalingUp is the services that may get nodes in this pass, valid until the next call:
// they are to have more, there is one at least, and their limits allow it.
func (p *pass) findScalingUp() []model.Ref {
	up := p.core.buf.scalingUp[:0]
	for _, ref := range p.qs.services {
		j := &p.core.jobs[ref]
		if j.leaving || j.resizing || j.usage.Nodes >= j.wants() || p.qs.room(j) == 0 && !mayBorrowMore(p, j) || p.core.holds.has(ref) && !p.core.holds.ready(ref) {
			continue
		}
		if p.atLimit(j, j.usage.Nodes) == model.ReasonNone {
			up = append(up, ref)
		}
	}
	p.core.buf.scalingUp = up
	return up
}

// atLimit is the limit that a service of this size would break with another node;
// what it has in flight is within that size.
func (p *pass) atLimit(j *job, size int32) model.Reason {
	c := j.usage
	c.Nodes = size
	r := p.core.ledger.CheckResize(&c, size+1)
	if r == model.ReasonNone && p.core.overPool(j, 1) {
		r = model.ReasonSensitivePool
	}
	if r != model.ReasonNone {
		addMet(j, r)
	}
	return r
}

// Headroom is how many nodes more the limits of its tenant and of its quality of service leave
// to the running service ref, up to most; what is in flight for any job is taken from it. The
// limits hold each size below one that they allow.
func (s *Core) Headroom(ref model.Ref, most int32) int32 {
	j := &s.jobs[ref]
	fits := func(more int32) bool {
		return s.ledger.CheckResize(&j.usage, j.usage.Nodes+more) == model.ReasonNone
	}
	if j.phase != running || most <= 0 || fits(most) {
		return max(most, 0)
	}
	return int32(sort.Search(int(most), func(n int) bool { return !fits(int32(n) + 1) }))
}

// addScalingUp gives services that may get nodes their place among the candidates.
func (p *pass) addScalingUp(h []order.Candidate, scalingUp []model.Ref) []order.Candidate {
	for _, ref := range scalingUp {
		h = append(h, order.Candidate{Key: p.keyOf(&p.core.jobs[ref]), Tier: p.rankTier(ref), Ref: ref, At: -1})
	}
	return h
}

// growService is the turn of a service that lacks nodes: it gets as many as it may.
func (p *pass) growService(ref model.Ref) {
	if p.qs.blocked && (p.qs.policy.Backfill == order.None || p.qs.policy.Backfill == order.Conservative) {
		return
	}
	if p.qs.blocked && p.qs.policy.Backfill == order.Easy {
		p.reservation() // before anything of this service is in flight
	}
	until := p.core.jobs[ref].predictedEnd(p.now)
	p.gain(ref, until, p.core.avoidsMore(ref, p.now, until), func(x *resize) bool {
		return !p.qs.blocked || p.qs.policy.Backfill == order.FirstFit || p.harmlessGain(until, &x.gained, x.more)
	})
}

// gain proposes that the service under ref, which is predicted to leave at the instant,
// gets as many nodes as it lacks and may have, none of them in avoid. It returns what is
// proposed, nil for nothing.
func (p *pass) gain(ref model.Ref, until model.Time, avoid model.NodeSet, may func(*resize) bool) *resize {
	j := &p.core.jobs[ref]
	have, nodes := j.usage.Nodes, &p.core.buf.choice.nodes
	for n := have + p.findable(j, until, avoid); n > have; n-- {
		q := p.qs.query(j, n-have, avoid)
		if !p.qs.free.Select(&q, nodes) && !(mayBorrowMore(p, j) && p.borrow(j, &q, nodes)) {
			continue
		}
		x := p.newResize(ref)
		if p.fitsAt(x, nodes, n) && may(x) {
			p.proposeSize(x)
			return x
		}
		p.core.dropResize(len(p.core.resizes) - 1)
	}
	return nil
}

// findable bounds from above how many nodes j can gain: without it a service that lacks
// many would have each number of them tried, pass after pass.
func (p *pass) findable(j *job, until model.Time, avoid model.NodeSet) int32 {
	have := j.usage.Nodes
	most := p.allowed(j, have, min(j.wants(), have+roomWithLent(p, j))) - have
	if p.qs.blocked && p.qs.policy.Backfill == order.Easy && !p.core.cfg.Shared && !p.outOfTheWay(until) {
		most = min(most, p.reservation().MostSpared(p.qs.free.Idle(), j.kind.mask, avoid))
	}
	if p.qs.policy.ConformanceFirst && j.Topology == model.Spread {
		return most // even shares of more nodes may fit where those of fewer do not
	}
	own := int32(sort.Search(int(most), func(i int) bool {
		q := p.qs.query(j, int32(i)+1, avoid)
		return !p.qs.free.Fits(&q)
	}))
	if mayBorrowMore(p, j) {
		return min(most, own+p.borrowable)
	}
	return own
}

// predictedEnd is when a running job is predicted to leave, as seen at now.
func (j *job) predictedEnd(now model.Time) model.Time {
	if j.predicted <= now {
		return now.Add(model.Second)
	}
	return j.predicted
}

// avoidsMore is avoids for what a running job gains: other nodes than its own, and
// of the same fingerprint where it is sensitive.
func (s *Core) avoidsMore(ref model.Ref, from, until model.Time) model.NodeSet {
	j := &s.jobs[ref]
	avoid := s.avoids(ref, from, until)
	if avoid == nil {
		avoid = s.buf.avoid
		clear(avoid)
	}
	avoidsOwn(s, j, avoid)
	return avoid
}

// avoidsOwn adds to avoid the nodes of a running job and, where it is sensitive, those of
// other fingerprints.
func avoidsOwn(s *Core, j *job, avoid model.NodeSet) {
	first := model.NodeID(-1)
	j.placement.EachNode(func(n model.NodeID) {
		avoid.Add(n)
		if first < 0 {
			first = n
		}
	})
	if !j.IsSensitive() {
		return
	}
	for n := range s.site.Nodes {
		if s.site.Nodes[n].Fingerprint != s.site.Nodes[first].Fingerprint {
			avoid.Add(model.NodeID(n))
		}
	}
}

// fitsAt completes x, by which its service gains the nodes and has n nodes then. It
// says whether its limits and the caps allow that.
func (p *pass) fitsAt(x *resize, nodes *model.Placement, n int32) bool {
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

// growPlanned gives services what no job has planned for, under Conservative.
func (p *pass) growPlanned() {
	for _, ref := range p.findScalingUp() {
		end := p.core.jobs[ref].predictedEnd(p.now)
		until := end
		if end < model.Never {
			until = p.qs.plan.Rounded(end)
		}
		avoid := p.core.avoidsMore(ref, p.now, end)
		free := p.core.buf.extra
		p.qs.plan.Throughout(p.now, until, free)
		for w := range avoid {
			avoid[w] |= ^free[w]
		}
		if x := p.gain(ref, end, avoid, func(x *resize) bool { return p.qs.plan.CapsFit(p.now, until, x.more) }); x != nil {
			p.qs.plan.Take(p.now, until, p.core.buf.nodesOf(&x.gained), x.more)
		}
	}
}

// newResize is an empty change of size of a service, the last of s.resizes.
func (p *pass) newResize(ref model.Ref) *resize {
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
func (p *pass) proposeSize(x *resize) {
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

// lacksNodes says whether services of the vCluster are smaller than they are to be for want of
// nodes: then l lends none.
func (p *pass) lacksNodes() bool {
	for _, ref := range p.qs.services {
		j := &p.core.jobs[ref]
		size := j.usage.Nodes
		for i := range p.core.resizes {
			if x := &p.core.resizes[i]; x.ref == ref {
				size = x.whole.Nodes()
			}
		}
		if !j.leaving && size < j.wants() && p.atLimit(j, size) == model.ReasonNone {
			return true
		}
	}
	return false
}
