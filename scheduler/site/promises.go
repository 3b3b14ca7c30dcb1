package site

import (
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/backfill"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site/internal/wake"
)

// promise is what the other vClusters heed of the reservation of a blocked job: nodes of
// no vCluster that are kept for it from an instant on. While the job is in flight, they
// are those that were proposed for it.
type promise struct {
	ref   model.Ref
	queue *queueState
	left  model.Duration // requested time of the job
	since model.Time     // when it was promised anything first
	at    model.Time
	nodes model.NodeSet
}

// promises are those of the site, oldest first. A vCluster has one at most, beside those of
// its jobs in flight. The jobs are in phases queued, proposed and withdrawn.
type promises struct {
	list    []promise
	unhomed bool            // there are nodes of no vCluster, that others could take
	homes   []model.NodeSet // by vCluster, whose own jobs may start on them whatever is promised

	nodes, rest model.NodeSet // memory of newPromise and avoid
	spare       []model.NodeSet
	selected    model.Placement // likewise of foresee
}

// newPromises has none on sites that divide nodes by amounts: a promise is of whole nodes,
// beside which a small share of another would still have room.
func newPromises(site *model.Site, homes []model.NodeSet) promises {
	var s promises
	n := len(site.Nodes)
	if site.Amounts {
		return s
	}
	s.nodes, s.rest, s.homes = model.NewNodeSet(n), model.NewNodeSet(n), homes
	for i := range site.Nodes {
		s.unhomed = s.unhomed || site.Nodes[i].Home < 0 && len(site.VClusters) > 1
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

// add puts a promise behind the others.
func (s *promises) add(x promise, nodes model.NodeSet) {
	if n := len(s.spare); n > 0 {
		x.nodes, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		x.nodes = make(model.NodeSet, len(nodes))
	}
	copy(x.nodes, nodes)
	s.list = append(s.list, x)
}

// end ends the promise of a job that has started or left, and says whether there was one.
func (s *promises) end(ref model.Ref) bool {
	i := s.of(ref)
	if i >= 0 {
		s.remove(i)
	}
	return i >= 0
}

// Punctual says whether passes by the policy do not put off by themselves what they have
// promised under FCFS: the bounds of conservative backfilling may leave a job out.
func (p *Policy) Punctual() bool {
	return p.Backfill == order.Easy || p.Backfill == order.Conservative && p.Window == (backfill.Window{}) && p.MaxUserTests == 0
}

// window is when the job of a promise has the nodes, as far as that is foreseen now.
func (x *promise) window(now model.Time) (from, until model.Time) {
	from = max(x.at, now)
	return from, from.Add(x.left)
}

// toOthers says whether other vClusters than that of qs have promised anything.
func (s *promises) toOthers(qs *queueState) bool {
	for i := range s.list {
		if s.list[i].queue != qs {
			return true
		}
	}
	return false
}

// quietUntil is until when time alone moves nothing that is promised: to jobs of other
// vClusters that do not start then, and here when jobs do not leave that should.
func (s *promises) quietUntil(qs *queueState) model.Time {
	at := model.Never
	if qs.promises() && qs.blocked {
		at = qs.ends.First()
	}
	for i := range s.list {
		if x := &s.list[i]; x.queue != qs {
			at = min(at, x.at)
		}
	}
	return at
}

// heeded calls f with the promises that a job of the vCluster of qs heeds, but on nodes of its own, when it runs over
// [from, until): those to jobs of other vClusters, but for younger ones than its own.
func (s *promises) heeded(ref model.Ref, qs *queueState, now, from, until model.Time, f func(x *promise)) {
	own := s.of(ref)
	for i := range s.list {
		x := &s.list[i]
		if begin, end := x.window(now); x.queue != qs && (own < 0 || own > i) && until > begin && end > from {
			f(x)
		}
	}
}

// avoid adds to set the nodes that a job leaves alone over [from, until), since they are promised
// to others, but for those that are held for it.
func (s *promises) avoid(ref model.Ref, qs *queueState, now, from, until model.Time, held, set model.NodeSet) {
	s.heeded(ref, qs, now, from, until, func(x *promise) {
		copy(s.rest, x.nodes)
		s.rest.AndNot(s.homes[qs.id])
		if held != nil {
			s.rest.AndNot(held)
		}
		set.Or(s.rest)
	})
}

// taken makes those vClusters look again to which a job that starts takes what they were
// promised: they did not know of it.
func (s *promises) taken(j *job, b *wake.Board) {
	for i := range s.list {
		if x := &s.list[i]; x.queue != j.queue && j.predicted > x.at && j.placement.Within(x.nodes) > 0 {
			b.Raise(x.queue.id, wake.Promises)
		}
	}
}

// eachEnd calls f with the instants at which jobs of other vClusters would leave what they
// are promised.
func (s *promises) eachEnd(qs *queueState, now model.Time, f func(model.Time)) {
	for i := range s.list {
		if x := &s.list[i]; x.queue != qs {
			_, end := x.window(now)
			f(end)
		}
	}
}

// newPromise is what the vCluster promises when a pass is over: the nodes of no vCluster, or of others that lend,
// that its first blocked job is predicted to get. ref is -1 when there is no such job or
// there are none. The nodes are valid until the next call.
func (p *pass) newPromise() (ref model.Ref, at model.Time, nodes model.NodeSet) {
	ref, nodes = p.qs.reservation.Ref, p.core.promises.nodes
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
	nodes.AndNot(p.core.home[p.qs.id])
	if nodes.Next(0) < 0 {
		return -1, 0, nil
	}
	return ref, at, nodes
}

// foresee adds to nodes those that the first blocked job is predicted to get under Easy,
// beside the jobs started before it and behind it, and returns when; model.Never where
// that is not foreseen.
func (p *pass) foresee(nodes model.NodeSet) model.Time {
	r, found := p.reservation(), &p.core.promises.selected
	if r.At == model.Never {
		return foreseeLent(p, nodes)
	}
	ok := false
	if r.Detailed {
		ok = r.Select(found)
	} else { // numbers of nodes decided; now it is asked which
		free := p.core.buf.trial
		free.CopyFrom(p.qs.free)
		p.qs.ends.Ascend(p.now, func(t model.Time, ref model.Ref, _ int32) bool {
			if t <= r.At {
				free.Give(&p.core.jobs[ref].placement)
			}
			return t <= r.At
		})
		for i := range p.core.resizes { // services that grew behind it
			if x := &p.core.resizes[i]; x.queue == p.qs && x.seq > r.Since && p.core.jobs[x.ref].predictedEnd(p.now) <= r.At {
				free.Give(&x.gained)
			}
		}
		j := &p.core.jobs[r.Ref]
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
	holder, at, nodes := p.newPromise()
	changed, has := false, false
	for i := 0; i < len(p.core.promises.list); {
		x := &p.core.promises.list[i]
		switch {
		case x.queue != p.qs || p.core.jobs[x.ref].phase != queued:
		case x.ref != holder:
			changed = true
			clear(x.nodes)
			p.core.tellPromise(x, p.core.jobs[x.ref].Job)
			p.core.promises.remove(i)
			continue
		default:
			if has = true; p.core.promises.set(i, at, nodes) {
				changed = true
				p.core.tellPromise(x, p.core.jobs[x.ref].Job)
			}
		}
		i++
	}
	told := changed
	if holder >= 0 && !has {
		told = true
		p.core.promises.add(promise{ref: holder, queue: p.qs, left: p.core.jobs[holder].left, since: p.now, at: at}, nodes)
		p.core.tellPromise(&p.core.promises.list[len(p.core.promises.list)-1], p.core.jobs[holder].Job)
	}
	if told {
		p.core.board.RaiseAll(wake.Promised) // the others plan around it
	}
	if changed {
		p.core.promiseChanged(p.qs)
	}
}

// tellPromise puts a promise into the plan that has changed; without nodes it has ended.
func (s *output) tellPromise(x *promise, job model.JobID) {
	told := scheduler.Promise{VCluster: x.queue.id, Job: job, Ref: x.ref, Since: x.since, After: s.seq, At: x.at}
	if n := len(s.plan.Promises); n < cap(s.plan.Promises) {
		told.Nodes.Words = s.plan.Promises[:n+1][n].Nodes.Words[:0] // memory of an earlier plan
	}
	for w, m := range x.nodes {
		if m != 0 {
			told.Nodes.Words = append(told.Nodes.Words, model.NodeWord{Word: int32(w), Mask: m})
		}
	}
	s.plan.Promises = append(s.plan.Promises, told)
}

// promiseProposed makes the promise of a job that is proposed one of the nodes proposed.
func (p *pass) promiseProposed(ref model.Ref) {
	i := p.core.promises.of(ref)
	if i < 0 {
		return
	}
	nodes := p.core.promises.nodes
	clear(nodes)
	addNodes(nodes, &p.core.jobs[ref].placement)
	nodes.AndNot(p.core.home[p.qs.id])
	if p.core.promises.set(i, p.now, nodes) {
		p.core.promiseChanged(p.qs)
	}
}
