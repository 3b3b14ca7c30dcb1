package site

import (
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// promise is what the other vClusters heed of the reservation of a blocked job: nodes of
// no vCluster that are kept for it from an instant on. While the job is in flight, they
// are those that were proposed for it.
type promise struct {
	ref   model.Ref
	at    model.Time
	nodes model.NodeSet
}

// promises are those of the site, oldest first. A vCluster has one at most, beside those of
// its jobs in flight. Each job of one has a number, and no other job has.
type promises struct {
	list     []promise
	last     uint64        // number given last
	unhomed  model.NodeSet // nodes of no vCluster; nil where no others could take what a vCluster waits for
	nodes    model.NodeSet // memory of newPromise
	held     model.NodeSet // memory of avoid
	spare    []model.NodeSet
	selected model.Placement // likewise
}

func newPromises(site *model.Site) promises {
	var s promises
	n := len(site.Nodes)
	for i := range site.Nodes {
		if site.Nodes[i].Home < 0 && len(site.VClusters) > 1 {
			if s.unhomed == nil {
				s.unhomed, s.nodes, s.held = model.NewNodeSet(n), model.NewNodeSet(n), model.NewNodeSet(n)
			}
			s.unhomed.Add(model.NodeID(i))
		}
	}
	return s
}

// of is the index of the promise of ref, -1 for none.
func (s *promises) of(ref model.Ref) int {
	return slices.IndexFunc(s.list, func(x promise) bool { return x.ref == ref })
}

func (s *promises) remove(i int) {
	s.spare = append(s.spare, s.list[i].nodes)
	s.list = slices.Delete(s.list, i, i+1)
}

// set makes promise i one of the nodes from an instant on, and says whether it was
// another.
func (s *promises) set(i int, at model.Time, nodes model.NodeSet) (changed bool) {
	x := &s.list[i]
	if x.at == at && slices.Equal(x.nodes, nodes) {
		return false
	}
	x.at = at
	copy(x.nodes, nodes)
	return true
}

// add gives a job a promise, and returns its number.
func (s *promises) add(ref model.Ref, at model.Time, nodes model.NodeSet) uint64 {
	x := promise{ref: ref, at: at}
	if n := len(s.spare); n > 0 {
		x.nodes, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		x.nodes = make(model.NodeSet, len(nodes))
	}
	copy(x.nodes, nodes)
	s.list = append(s.list, x)
	s.last++
	return s.last
}

// promising says whether a vCluster of the policy tells the others of its reservations:
// what the first blocked job waits for, some of them could take.
func (s *promises) promising(p *Policy) bool {
	return s.unhomed != nil && !p.Private && !p.AsCoded && (p.Backfill == order.Easy || p.Backfill == order.Conservative)
}

// heeds says whether the vCluster of j heeds a promise for the sake of j: it is of another
// vCluster, and older than that of j, if j has one.
func (s *Core) heeds(j *job, x *promise) bool {
	owner := &s.jobs[x.ref]
	return owner.queue != j.queue && (j.promised == 0 || owner.promised < j.promised)
}

// window is when the job of a promise has the nodes, as far as that is foreseen.
func (s *Core) window(x *promise) (from, until model.Time) {
	from = max(x.at, s.now)
	return from, from.Add(s.jobs[x.ref].left)
}

// avoidPromised adds to avoid the nodes that are promised to jobs of other vClusters within
// [from, until), but for those that are held for the job itself.
func (s *Core) avoidPromised(ref model.Ref, from, until model.Time, avoid model.NodeSet) {
	j := &s.jobs[ref]
	for i := range s.promises.list {
		x := &s.promises.list[i]
		if begin, end := s.window(x); !s.heeds(j, x) || until <= begin || end <= from {
			continue
		}
		nodes := x.nodes
		if h := s.holds.of(ref); h >= 0 {
			nodes = s.promises.held
			copy(nodes, x.nodes)
			nodes.AndNot(s.holds[h].nodes)
		}
		avoid.Or(nodes)
	}
}

// heeding says whether the vCluster has promises of others to heed.
func (s *Core) heeding(qs *queueState) bool {
	for i := range s.promises.list {
		if s.jobs[s.promises.list[i].ref].queue != qs {
			return true
		}
	}
	return false
}

// nextOpening is the first instant after another at which nodes come free without the end
// of a job: an advance reservation begins or ends, or a job of another vCluster would leave
// what it is promised.
func (p *pass) nextOpening(after model.Time) model.Time {
	at := p.nextBoundary(after)
	p.eachPromisedEnd(func(end model.Time) {
		if end > after {
			at = min(at, end)
		}
	})
	return at
}

// eachPromisedEnd calls f with the instants at which the promises to other vClusters end.
func (p *pass) eachPromisedEnd(f func(model.Time)) {
	for i := range p.promises.list {
		if x := &p.promises.list[i]; p.jobs[x.ref].queue != p.qs {
			_, end := p.window(x)
			f(end)
		}
	}
}

// newPromise is what the vCluster promises when a pass is over: the nodes of no vCluster
// that its first blocked job is predicted to get. ref is -1 when there is no such job or
// there are none. The nodes are valid until the next call.
func (p *pass) newPromise() (ref model.Ref, at model.Time, nodes model.NodeSet) {
	ref, nodes = p.qs.reservation.Ref, p.promises.nodes
	if !p.qs.blocked || ref < 0 {
		return -1, 0, nil
	}
	clear(nodes)
	if p.qs.policy.plans() {
		var planned model.NodeSet
		if at, planned = p.qs.plan.Slot(ref); at == model.AbsentTime {
			return -1, 0, nil
		}
		nodes.Or(planned)
	} else if at = p.foresee(nodes); at == model.Never {
		return -1, 0, nil
	}
	nodes.And(p.promises.unhomed)
	if nodes.Next(0) < 0 {
		return -1, 0, nil
	}
	return ref, at, nodes
}

// foresee adds to nodes those that the first blocked job is predicted to get under Easy,
// beside the jobs started before it and behind it, and returns when; model.Never where
// that is not foreseen.
func (p *pass) foresee(nodes model.NodeSet) model.Time {
	r, found := p.reservation(), &p.promises.selected
	if r.At == model.Never {
		return model.Never
	}
	ok := false
	if r.Detailed {
		ok = r.Select(found)
	} else { // numbers of nodes decided; now it is asked which
		free := p.buf.trial
		free.CopyFrom(p.qs.free)
		p.qs.ends.Ascend(p.now, func(t model.Time, ref model.Ref, _ int32) bool {
			if t <= r.At {
				free.Give(&p.jobs[ref].placement)
			}
			return t <= r.At
		})
		j := &p.jobs[r.Ref]
		q := p.qs.query(j, j.NodesMin, nil)
		ok = free.Select(&q, found)
	}
	if !ok {
		return model.Never
	}
	addNodes(nodes, found)
	return r.At
}

// addNodes adds the nodes of a placement, in whole or in part, to a set.
func addNodes(nodes model.NodeSet, placement *model.Placement) {
	for _, w := range placement.Words {
		nodes[w.Word] |= w.Mask
	}
	for _, h := range placement.Shares {
		nodes.Add(h.Node)
	}
}

// publish tells the other vClusters what the pass has found out about the first blocked
// job. That starts no pass; what was promised and is so no more is a change for those
// that have a blocked job, which may have heeded it.
func (p *pass) publish() {
	if !p.qs.promising {
		return
	}
	holder, at, nodes := p.newPromise()
	changed, has := false, false
	for i := 0; i < len(p.promises.list); {
		x := &p.promises.list[i]
		switch j := &p.jobs[x.ref]; {
		case j.queue != p.qs || j.phase != queued:
		case x.ref != holder:
			changed = true
			p.tellPromise(x.ref, 0, nil)
			j.promised = 0
			p.promises.remove(i)
			continue
		default:
			if has = true; p.promises.set(i, at, nodes) {
				changed = true
				p.tellPromise(holder, at, nodes)
			}
		}
		i++
	}
	if holder >= 0 && !has {
		j := &p.jobs[holder]
		j.promised, j.promisedAt = p.promises.add(holder, at, nodes), p.now
		p.tellPromise(holder, at, nodes)
	}
	if changed {
		p.vclusters.promiseChanged(p.qs)
	}
}

// tellPromise puts a change of a promise into the plan; no nodes end it.
func (p *pass) tellPromise(ref model.Ref, at model.Time, nodes model.NodeSet) {
	j := &p.jobs[ref]
	x := scheduler.Promise{VCluster: j.VCluster, Job: j.Job, Ref: ref, Since: p.now, After: p.seq, At: at}
	if n := len(p.plan.Promises); n < cap(p.plan.Promises) {
		x.Nodes.Words = p.plan.Promises[:n+1][n].Nodes.Words[:0] // memory of an earlier plan
	}
	if j.promised > 0 {
		x.Since = j.promisedAt
	}
	for w, m := range nodes {
		if m != 0 {
			x.Nodes.Words = append(x.Nodes.Words, model.NodeWord{Word: int32(w), Mask: m})
		}
	}
	p.plan.Promises = append(p.plan.Promises, x)
}

// promiseProposed makes the promise of a job that is proposed one of the nodes proposed.
func (p *pass) promiseProposed(ref model.Ref) {
	i := p.promises.of(ref)
	if i < 0 {
		return
	}
	nodes := p.promises.nodes
	clear(nodes)
	addNodes(nodes, &p.jobs[ref].placement)
	nodes.And(p.promises.unhomed)
	if p.promises.set(i, p.now, nodes) {
		p.vclusters.promiseChanged(p.qs)
	}
}

// endPromise ends the promise of a job that has started or left, and says whether there
// was one.
func (s *Core) endPromise(ref model.Ref) bool {
	j := &s.jobs[ref]
	if j.promised == 0 {
		return false
	}
	j.promised = 0
	s.promises.remove(s.promises.of(ref))
	return true
}

// breaksPromises makes those vClusters look again to which a job that starts takes what they
// were promised: they did not know of it.
func (s *Core) breaksPromises(ref model.Ref) {
	j := &s.jobs[ref]
	for i := range s.promises.list {
		x := &s.promises.list[i]
		if o := &s.jobs[x.ref]; o.queue != j.queue && j.predicted > x.at && j.placement.Within(x.nodes) > 0 {
			o.queue.dirty = true
		}
	}
}

// promiseChanged makes the other vClusters look again that may have heeded a promise.
func (s queueStates) promiseChanged(qs *queueState) {
	for i := range s {
		if other := &s[i]; other != qs && other.keepsNodes() {
			other.dirty = true
		}
	}
}
