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
)

// Reactive services run on as many nodes as somebody else demands for them, between
// NodesMin and NodesMax. What they have too much is offered to the quorum before
// anybody has a turn; what they lack they get in the order of the queue.

// resize is a change of size in flight.
type resize struct {
	ref    model.Ref
	seq    uint64
	queue  *queueState
	whole  model.Placement // all nodes that the service is to have
	gained model.Placement // those of them that it does not hold yet
	claim  quota.Claim     // the service's, as it was
	nodes  int32           // gained, 0 for one that shrinks
	more   caps.Usage      // that it takes for them
	pooled bool            // they count as nodes of sensitive work
}

// wants is the number of nodes that a reactive service is to have.
func (j *job) wants() int32 { return min(max(j.demand, j.NodesMin), j.NodesMax) }

// demanded takes in how many nodes a service is to have.
func (s *Core) demanded(ref model.Ref, nodes int64) {
	if j := &s.jobs[ref]; j.Kind == model.Reactive {
		j.demand = int32(min(nodes, math.MaxInt32))
		j.queue.dirty = true
	}
}

// serve lists a running service among those that follow their demand, by id.
func (s *Core) addService(ref model.Ref) {
	j := &s.jobs[ref]
	qs := j.queue
	if j.Kind != model.Reactive || qs.policy.AsCoded {
		return
	}
	at, _ := slices.BinarySearchFunc(qs.services, j.Job, func(r model.Ref, id model.JobID) int { return cmp.Compare(s.jobs[r].Job, id) })
	qs.services = slices.Insert(qs.services, at, ref)
	qs.count(j.Tenant) // its score counts while it runs
	qs.dirty = qs.dirty || j.wants() != sizeOf(&j.placement)
}

// unserve takes a service that does not run any more out of that list.
func (s *Core) dropService(ref model.Ref) {
	j := &s.jobs[ref]
	if at := slices.Index(j.queue.services, ref); at >= 0 {
		j.queue.services = slices.Delete(j.queue.services, at, at+1)
		j.queue.members[j.Tenant+1]--
	}
	s.answered(ref, 0)
}

// shrink proposes that services give up what they are not to have any more.
func (s *Core) shrink(qs *queueState) {
	for _, ref := range qs.services {
		j := &s.jobs[ref]
		if j.leaving || j.resizing || sizeOf(&j.placement) <= j.wants() {
			continue
		}
		x := s.newResize(qs, ref)
		s.stays(j, j.wants(), &x.whole)
		s.proposeSize(x)
	}
}

// stays writes into p the n nodes of j that it keeps.
func (s *Core) stays(j *job, n int32, p *model.Placement) {
	if j.GPUs > 0 {
		p.Words, p.Shares = p.Words[:0], p.Shares[:0]
		for _, ready := range [...]bool{true, false} {
			for _, h := range j.placement.Shares {
				if s.ready.Has(h.Node) == ready && int32(len(p.Shares)) < n {
					p.Shares = append(p.Shares, h)
				}
			}
		}
		model.SortShares(p.Shares)
		return
	}
	q := s.query(j.queue, j, n, s.avoid)
	for _, ready := range [...]bool{true, false} {
		for w := range s.avoid {
			s.avoid[w] = math.MaxUint64
		}
		for _, w := range j.placement.Words {
			if s.avoid[w.Word] &^= w.Mask; ready {
				s.avoid[w.Word] |= ^s.ready[w.Word]
			}
		}
		if s.idle.Select(&q, p) {
			return
		}
	}
	p.Set(&j.placement) // it was adopted on nodes that it may not use
	for over := sizeOf(p) - n; over > 0; over-- {
		w := &p.Words[len(p.Words)-1]
		if w.Mask &^= 1 << (bits.Len64(w.Mask) - 1); w.Mask == 0 {
			p.Words = p.Words[:len(p.Words)-1]
		}
	}
}

// lacking gathers in s.growers the services of l that may get nodes in this pass:
// they are to have more, there is one at least, and their limits allow it.
func (s *Core) findScalingUp(qs *queueState) []model.Ref {
	up := s.scalingUp[:0]
	for _, ref := range qs.services {
		j := &s.jobs[ref]
		if j.leaving || j.resizing || sizeOf(&j.placement) >= j.wants() || s.roomFor(qs, j) == 0 {
			continue
		}
		if s.atLimit(j, sizeOf(&j.placement)) == model.ReasonNone {
			up = append(up, ref)
		}
	}
	s.scalingUp = up
	return up
}

// roomFor counts the nodes that are free for one more of what j has on each of its own.
func (s *Core) roomFor(qs *queueState, j *job) int32 {
	if j.GPUs > 0 {
		return qs.free.CountGPUs(j.kind.class, j.GPUs)
	}
	return qs.free.Count(j.kind.class)
}

// atLimit is the limit that a service of this size would break with another node;
// what it has in flight is within that size.
func (s *Core) atLimit(j *job, size int32) model.Reason {
	c := j.claim
	c.Nodes = size
	if r := s.book.CheckResize(&c, size+1); r != model.ReasonNone {
		return r
	}
	if s.overPool(j, 1) {
		return model.ReasonSensitivePool
	}
	return model.ReasonNone
}

// addGrowers gives the services in s.growers their place among the candidates.
func (s *Core) addScalingUp(qs *queueState, h []order.Candidate, scalingUp []model.Ref, now model.Time) []order.Candidate {
	for _, ref := range scalingUp {
		h = append(h, order.Candidate{Key: s.keyOf(qs, &s.jobs[ref], now), Tier: s.rankTier(ref), Ref: ref, At: -1})
	}
	return h
}

// growService is the turn of a service that lacks nodes: it gets as many as it may.
func (s *Core) growService(qs *queueState, now model.Time, ref model.Ref) {
	if qs.blocked && (qs.policy.Backfill == order.None || qs.policy.Backfill == order.Conservative) {
		return
	}
	if qs.blocked && qs.policy.Backfill == order.Easy && !qs.reservation.known {
		s.reserve(qs, now) // before anything of this service is in flight
	}
	until := s.predictedEnd(&s.jobs[ref], now)
	s.gain(qs, now, ref, until, s.avoidsMore(ref, now, until), func(x *resize) bool {
		return !qs.blocked || qs.policy.Backfill == order.FirstFit || s.harmlessGain(qs, now, until, &x.gained, x.more)
	})
}

// gain proposes that the service under ref, which is predicted to leave at the instant,
// gets as many nodes as it lacks and may have, none of them in avoid. It returns what is
// proposed, nil for nothing.
func (s *Core) gain(qs *queueState, now model.Time, ref model.Ref, until model.Time, avoid model.NodeSet, may func(*resize) bool) *resize {
	j := &s.jobs[ref]
	have := sizeOf(&j.placement)
	for n := have + s.findable(qs, now, j, until, avoid); n > have; n-- {
		q := s.query(qs, j, n-have, avoid)
		if !qs.free.Select(&q, &s.chosen) {
			continue
		}
		x := s.newResize(qs, ref)
		if s.fitsAt(x, n) && may(x) {
			s.proposeSize(x)
			return x
		}
		s.dropResize(len(s.resizes) - 1)
	}
	return nil
}

// findable bounds from above how many nodes j can gain: without it a service that lacks
// many would have each number of them tried, pass after pass.
func (s *Core) findable(qs *queueState, now model.Time, j *job, until model.Time, avoid model.NodeSet) int32 {
	have := sizeOf(&j.placement)
	most := s.allowed(j, have, min(j.wants(), have+s.roomFor(qs, j))) - have
	if qs.blocked && qs.policy.Backfill == order.Easy && !s.cfg.Shared && !s.outOfTheWay(qs, now, until) {
		most = min(most, s.sparable(qs, j, avoid))
	}
	if qs.policy.ConformanceFirst && j.Topology == model.Spread {
		return most // even shares of more nodes may fit where those of fewer do not
	}
	return int32(sort.Search(int(most), func(i int) bool {
		q := s.query(qs, j, int32(i)+1, avoid)
		return !qs.free.Fits(&q)
	}))
}

// sparable bounds from above how many whole nodes j can gain so that the blocked job
// has room at the instant of its reservation: those that are left over then, and all
// those that it does not count on.
func (s *Core) sparable(qs *queueState, j *job, avoid model.NodeSet) int32 {
	h := &qs.reservation
	blocked := &s.jobs[h.ref]
	counted, others := 0, 0
	for w, idle := range qs.free.Idle() {
		on := blocked.kind.mask[w]
		if h.detailed {
			on &= h.forecast.Idle()[w]
			if h.query.Avoid != nil {
				on &^= h.query.Avoid[w]
			}
		}
		counted += bits.OnesCount64(on)
		others += bits.OnesCount64(idle & j.kind.mask[w] &^ avoid[w] &^ on)
	}
	left := h.nodes
	if h.detailed {
		left = int32(counted) - blocked.NodesMin
	}
	return left + int32(others)
}

// predictedEnd is when a running job is predicted to leave, as seen at now.
func (s *Core) predictedEnd(j *job, now model.Time) model.Time {
	if j.predicted <= now {
		return now.Add(model.Second)
	}
	return j.predicted
}

// avoidsMore is avoids for what a running job gains: other nodes than its own, and
// of the same fingerprint where it is sensitive.
func (s *Core) avoidsMore(ref model.Ref, from, until model.Time) model.NodeSet {
	j := &s.jobs[ref]
	if s.avoids(ref, from, until) == nil {
		clear(s.avoid)
	}
	first := model.NodeID(-1)
	own := func(n model.NodeID) {
		s.avoid.Add(n)
		if first < 0 {
			first = n
		}
	}
	for _, w := range j.placement.Words {
		for n := range w.Nodes {
			own(n)
		}
	}
	for _, h := range j.placement.Shares {
		own(h.Node)
	}
	if j.IsSensitive() {
		for n := range s.site.Nodes {
			if s.site.Nodes[n].Fingerprint != s.site.Nodes[first].Fingerprint {
				s.avoid.Add(model.NodeID(n))
			}
		}
	}
	return s.avoid
}

// fitsAt completes x, by which its service gains s.chosen and has n nodes then. It
// says whether its limits and the caps allow that.
func (s *Core) fitsAt(x *resize, n int32) bool {
	j := &s.jobs[x.ref]
	x.gained.Set(&s.chosen)
	union(&j.placement, &x.gained, &x.whole)
	x.nodes = sizeOf(&x.gained)
	ask := caps.Usage{Power: s.nodeClasses.Draw(&j.Allocation, &x.whole), Bandwidth: j.Demand(n)}
	x.more = ask.Minus(j.needs)
	left := s.caps.Used.Minus(j.needs)
	return s.book.CheckResize(&j.claim, n) == model.ReasonNone && s.caps.Cap.Allows(ask, left) && !s.overPool(j, x.nodes)
}

// union writes what a and b name, which have no node in common, into p.
func union(a, b, p *model.Placement) {
	p.Set(a)
	for _, w := range b.Words {
		at, found := slices.BinarySearchFunc(p.Words, w.Word, func(v model.NodeWord, word int32) int { return cmp.Compare(v.Word, word) })
		if found {
			p.Words[at].Mask |= w.Mask
		} else {
			p.Words = slices.Insert(p.Words, at, w)
		}
	}
	p.Shares = append(p.Shares, b.Shares...)
	model.SortShares(p.Shares)
}

// growPlanned gives services of l what nobody has planned for, under Conservative.
func (s *Core) growPlanned(qs *queueState, now model.Time) {
	for _, ref := range s.findScalingUp(qs) {
		end := s.predictedEnd(&s.jobs[ref], now)
		until := end
		if end < model.Never {
			until = s.rounded(qs, end)
		}
		avoid := s.avoidsMore(ref, now, end)
		qs.timeline.Throughout(now, until, s.extra)
		for w := range avoid {
			avoid[w] |= ^s.extra[w]
		}
		if x := s.gain(qs, now, ref, end, avoid, func(x *resize) bool { return s.keepsCaps(qs, now, until, x.more) }); x != nil {
			s.nodesOf(&x.gained)
			qs.timeline.Remove(now, until, s.extra)
			qs.plans.caps.add(now, until, x.more, 1)
		}
	}
}

// newResize is an empty change of size of a service, the last of s.resizes.
func (s *Core) newResize(qs *queueState, ref model.Ref) *resize {
	n := len(s.resizes)
	if n < cap(s.resizes) {
		s.resizes = s.resizes[:n+1] // with the memory of one that was dropped
	} else {
		s.resizes = append(s.resizes, resize{})
	}
	x, j := &s.resizes[n], &s.jobs[ref]
	x.ref, x.queue, x.claim = ref, qs, j.claim
	x.gained.Words, x.gained.Shares = x.gained.Words[:0], x.gained.Shares[:0]
	x.nodes, x.more, x.pooled = 0, caps.Usage{}, j.IsSensitive()
	return x
}

func (s *Core) dropResize(i int) {
	last := len(s.resizes) - 1
	s.resizes[i], s.resizes[last] = s.resizes[last], s.resizes[i]
	s.resizes = s.resizes[:last]
}

// proposeSize asks the quorum for x.whole, and counts what that is more as taken.
func (s *Core) proposeSize(x *resize) {
	j := &s.jobs[x.ref]
	j.resizing, s.plan.Again = true, true
	s.reserveMore(x, 1)
	if x.nodes > 0 {
		x.queue.free.Take(&x.gained)
		x.queue.waiting.FreeChanged()
		s.invalidateBounds() // the caps of all have less room
	}
	s.seq++
	x.seq = s.seq
	s.plan.Proposals = append(s.plan.Proposals, model.Proposal{
		Kind: model.ProposeResize, VCluster: x.queue.id, Seq: s.seq, Job: j.Job, Ref: x.ref, Placement: x.whole,
	})
}

// reserveMore counts what a service gains against limits and caps, sign times.
func (s *Core) reserveMore(x *resize, sign int32) {
	s.book.ReserveMore(&x.claim, sign*x.nodes)
	s.caps.Used.Power += int64(sign) * x.more.Power
	s.caps.Used.Bandwidth += int64(sign) * x.more.Bandwidth
	if x.pooled {
		s.caps.Sensitive += sign * x.nodes
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

// retake marks what l has in flight as taken.
func (s *Core) retakeInFlight(qs *queueState) {
	for _, ref := range qs.inFlight {
		qs.free.Take(&s.jobs[ref].placement)
	}
	for i := range s.resizes {
		if x := &s.resizes[i]; x.queue == qs {
			qs.free.Take(&x.gained)
		}
	}
}

// resized takes in that a running job has other nodes.
func (s *Core) resized(f *model.Fact) {
	s.answered(f.Ref, f.Seq)
	j := &s.jobs[f.Ref]
	s.uses(j, -1)
	s.countNeeds(j, -1)
	s.runningWork -= j.load
	s.free.Give(&j.placement)
	s.free.Take(f.Placement)
	n := sizeOf(f.Placement)
	for i := range s.vclusters {
		qs := &s.vclusters[i]
		qs.ends.Remove(j.predicted, f.Ref)
		qs.ends.Insert(j.predicted, f.Ref, n)
		qs.free.Give(&j.placement)
		qs.free.Take(f.Placement)
		s.retakeInFlight(qs)
	}
	j.placement.Set(f.Placement)
	s.book.Resize(&j.claim, n, n*j.kind.gpusOf(&j.Allocation), s.now)
	j.load = j.gpuTime()
	s.runningWork += j.load
	s.setNeeds(j)
	s.uses(j, 1)
	s.markAllDirty()
}

// hunger says whether services of l are smaller than they are to be for want of
// nodes: then l lends none.
func (s *Core) lacksNodes(qs *queueState) bool {
	for _, ref := range qs.services {
		j := &s.jobs[ref]
		size := sizeOf(&j.placement)
		for i := range s.resizes {
			if x := &s.resizes[i]; x.ref == ref {
				size = sizeOf(&x.whole)
			}
		}
		if !j.leaving && size < j.wants() && s.atLimit(j, size) == model.ReasonNone {
			return true
		}
	}
	return false
}
