package site

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site/internal/elastic"
	"orrery/scheduler/site/internal/wake"
)

// Reactive services run on as many nodes as another system demands for them, between
// NodesMin and NodesMax. What they have too much is offered to the quorum before
// any job has a turn; what they lack they get in the order of the queue.

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

// settle has services give back what they are not to have any more, and answers which may get nodes in this pass.
func (p services) settle() (scalingUp []model.Ref) {
	p.shrink()
	return p.findScalingUp()
}

// shrink proposes that services give up what they are not to have any more.
func (p services) shrink() {
	for _, ref := range p.qs.services {
		j := &p.core.jobs[ref]
		n := j.wants()
		if j.leaving || j.resizing || j.usage.Nodes <= n {
			continue
		}
		x := p.newResize(ref)
		p.stays(j, n, &x.Whole)
		p.proposeSize(x)
	}
}

// stays writes into placement the n nodes of j that it keeps.
func (p services) stays(j *job, n int32, placement *model.Placement) {
	if j.borrowed {
		elastic.KeepHome(p.core.site.Nodes, j.VCluster, p.core.ready, &j.placement, n, placement)
		return
	}
	if j.Divides() {
		elastic.KeepShares(p.core.ready, &j.placement, n, placement)
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
	elastic.KeepLowest(&j.placement, n, placement) // it was restored on nodes that it may not use
}

// findScalingUp is the services that may get nodes in this pass, valid until the next call:
// they are to have more, there is one at least, and their limits allow it.
func (p services) findScalingUp() []model.Ref {
	up := p.core.buf.scalingUp[:0]
	for _, ref := range p.qs.services {
		j := &p.core.jobs[ref]
		if j.leaving || j.resizing || j.usage.Nodes >= j.wants() || p.qs.room(j) == 0 && !p.mayBorrowMore(j) || p.core.holds.Has(ref) && !p.core.holds.Ready(ref) {
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
func (p services) atLimit(j *job, size int32) model.Reason {
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
func (p services) addScalingUp(h []order.Candidate, scalingUp []model.Ref) []order.Candidate {
	for _, ref := range scalingUp {
		h = append(h, order.Candidate{Key: p.ranking().keyOf(&p.core.jobs[ref]), Tier: p.ranking().rankTier(ref), Ref: ref, At: -1})
	}
	return h
}

// growService is the turn of a service that lacks nodes: it gets as many as it may.
func (p services) growService(ref model.Ref) {
	if p.qs.blocked && !p.rule.looksBehind() {
		return
	}
	if p.qs.blocked && p.rule.reserves() {
		p.easy().reservation() // before anything of this service is in flight
	}
	until := p.core.jobs[ref].predictedEnd(p.now)
	p.gain(ref, until, p.core.avoidsMore(ref, p.now, until), func(x *elastic.Resize) bool {
		return !p.qs.blocked || p.rule.mayGain(p.view, until, x)
	})
}

// gain proposes that the service under ref, which is predicted to leave at the instant,
// gets as many nodes as it lacks and may have, none of them in avoid. It returns what is
// proposed, nil for nothing.
func (p services) gain(ref model.Ref, until model.Time, avoid model.NodeSet, may func(*elastic.Resize) bool) *elastic.Resize {
	j := &p.core.jobs[ref]
	have, nodes := j.usage.Nodes, &p.core.buf.choice.nodes
	for n := have + p.findable(j, until, avoid); n > have; n-- {
		q := p.qs.query(j, n-have, avoid)
		if !p.qs.free.Select(&q, nodes) && !(p.mayBorrowMore(j) && p.room().borrow(j, &q, nodes)) {
			continue
		}
		x := p.newResize(ref)
		if p.fitsAt(x, nodes, n) && may(x) {
			p.proposeSize(x)
			return x
		}
		p.core.resizes.Drop(len(p.core.resizes) - 1)
	}
	return nil
}

// findable bounds from above how many nodes j can gain: without it a service that lacks
// many would have each number of them tried, pass after pass.
func (p services) findable(j *job, until model.Time, avoid model.NodeSet) int32 {
	have := j.usage.Nodes
	most := p.ranges().allowed(j, have, min(j.wants(), have+p.roomWithLent(j))) - have
	if p.qs.blocked && p.rule.reserves() && !p.core.cfg.Shared && !p.easy().outOfTheWay(until) {
		most = min(most, p.easy().reservation().MostSpared(p.qs.free.Idle(), j.kind.mask, avoid))
	}
	if p.qs.policy.ConformanceFirst && j.Topology == model.Spread {
		return most // even shares of more nodes may fit where those of fewer do not
	}
	own := int32(sort.Search(int(most), func(i int) bool {
		q := p.qs.query(j, int32(i)+1, avoid)
		return !p.qs.free.Fits(&q)
	}))
	if p.mayBorrowMore(j) {
		return min(most, own+p.borrowable)
	}
	return own
}

// growPlanned gives services what no job has planned for, under Conservative.
func (p services) growPlanned() {
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
		if x := p.gain(ref, end, avoid, func(x *elastic.Resize) bool { return p.qs.plan.CapsFit(p.now, until, x.More) }); x != nil {
			p.qs.plan.Take(p.now, until, p.core.buf.nodesOf(&x.Gained), x.More)
		}
	}
}

// lacksNodes says whether services of the vCluster are smaller than they are to be for want of
// nodes: then it lends none.
func (p services) lacksNodes() bool {
	for _, ref := range p.qs.services {
		j := &p.core.jobs[ref]
		size := j.usage.Nodes
		if i := p.core.resizes.Find(ref, 0); i >= 0 {
			size = p.core.resizes[i].Whole.Nodes()
		}
		if !j.leaving && size < j.wants() && p.atLimit(j, size) == model.ReasonNone {
			return true
		}
	}
	return false
}

// mayBorrowMore says whether j may have nodes of other vClusters above its least size now.
// Behind a blocked job of its own vCluster it may not: that may borrow itself.
func (p services) mayBorrowMore(j *job) bool {
	return j.Scaled && j.kind.foreign != nil && !p.qs.blocked && p.qs.policy.Backfill != order.Conservative && j.Preemptible() &&
		(j.GPUs == 0 || p.core.site.Amounts)
}

// roomWithLent bounds how many nodes j can gain, borrowed ones included.
func (p services) roomWithLent(j *job) int32 {
	if p.mayBorrowMore(j) {
		return p.qs.room(j) + p.borrowable
	}
	return p.qs.room(j)
}
