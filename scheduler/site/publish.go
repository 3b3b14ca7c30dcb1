package site

import (
	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site/internal/caps"
	"orrery/scheduler/site/internal/reserve"
	"orrery/scheduler/site/internal/wake"
)

// promising tells other vClusters what the first blocked job is to get.
type promising struct{ *view }

func (v *view) promising() promising { return promising{v} }

// newPromise is what the vCluster promises when a pass is over: the nodes of no vCluster, or of others that lend,
// that its first blocked job is predicted to get. ref is -1 when there is no such job or
// there are none. The nodes are valid until the next call.
func (p promising) newPromise() (ref model.Ref, at model.Time, nodes model.NodeSet) {
	ref, nodes = p.qs.reservation.Ref, p.core.buf.promised
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
func (p promising) foresee(nodes model.NodeSet) model.Time {
	r, found := p.easy().reservation(), &p.core.buf.foreseen
	if r.At == model.Never {
		return p.foreseeLent(nodes)
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
		for x := range p.core.resizes.Of(p.qs.id) { // services that grew behind it
			if x.Seq > r.Since && p.core.jobs[x.Ref].predictedEnd(p.now) <= r.At {
				free.Give(&x.Gained)
			}
		}
		j := &p.core.jobs[r.Ref]
		q := p.qs.query(j, j.NodesMin, nil)
		ok = free.Select(&q, found)
	}
	if !ok {
		return model.Never
	}
	found.AddTo(nodes)
	return r.At
}

// publish tells the other vClusters what the pass has found out about the first blocked
// job. That starts no pass; what was promised and is so no more is a change for those
// that have a blocked job, which may have heeded it.
func (p promising) publish() {
	if !p.qs.promises() {
		return
	}
	holder, at, nodes := p.newPromise()
	changed, has := false, false
	for i := 0; i < len(p.core.promises.List); {
		x := &p.core.promises.List[i]
		switch {
		case x.VCluster != p.qs.id || p.core.jobs[x.Ref].phase != queued:
		case x.Ref != holder:
			changed = true
			clear(x.Nodes)
			p.core.tellPromise(x, p.core.jobs[x.Ref].Job)
			p.core.promises.End(x.Ref)
			continue
		default:
			if has = true; x.Set(at, nodes) {
				changed = true
				p.core.tellPromise(x, p.core.jobs[x.Ref].Job)
			}
		}
		i++
	}
	told := changed
	if holder >= 0 && !has {
		told = true
		j := &p.core.jobs[holder]
		p.core.tellPromise(p.core.promises.Add(reserve.Promise{Ref: holder, VCluster: p.qs.id, Left: j.left, Since: p.now, At: at}, nodes), j.Job)
	}
	if told {
		p.core.board.RaiseAll(wake.Promised) // the others plan around it
	}
	if changed {
		p.core.promiseChanged(p.qs)
	}
}

// tellPromise puts a promise into the plan that has changed; without nodes it has ended.
func (s *output) tellPromise(x *reserve.Promise, job model.JobID) {
	told := scheduler.Promise{VCluster: x.VCluster, Job: job, Ref: x.Ref, Since: x.Since, After: s.seq, At: x.At}
	if n := len(s.plan.Promises); n < cap(s.plan.Promises) {
		told.Nodes.Words = s.plan.Promises[:n+1][n].Nodes.Words[:0] // memory of an earlier plan
	}
	for w, m := range x.Nodes {
		if m != 0 {
			told.Nodes.Words = append(told.Nodes.Words, model.NodeWord{Word: int32(w), Mask: m})
		}
	}
	s.plan.Promises = append(s.plan.Promises, told)
}

// quietUntil is until when time alone moves nothing that is promised: to jobs of other
// vClusters that do not start then, and here when jobs do not leave that should.
func (p promising) quietUntil() model.Time {
	at := p.core.promises.FirstByOthers(p.qs.id)
	if p.qs.promises() && p.qs.blocked {
		at = min(at, p.qs.ends.First())
	}
	return at
}

// needsLent says whether j can only start by borrowing, and is promised what is lent.
func needsLent(qs *queueState, c *Config, j *job) bool {
	return qs.mode.promises && qs.policy.Backfill == order.Easy && len(c.Site.VClusters) > 2 && !c.Site.Amounts && c.borrows(j.Allocation, j.kind) && j.NodesMin > j.kind.mask.Len()
}

// A job that asks for more nodes than its vCluster ever has of its own can only start by borrowing. While it is the first
// blocked one it is promised the nodes of those vClusters that are predicted to lend it what it lacks: else other borrowers
// would take one node after another.

// foreseeLent sets nodes to the first blocked job's own and all those of vClusters that lend now
// from which it is predicted to borrow, and returns when: at now, or at the first predicted end at which its own
// nodes and those that are lent then suffice. model.Never where that is not foreseen, or a cap
// might decide as well.
func (p promising) foreseeLent(nodes model.NodeSet) model.Time {
	s := p.core
	ref := p.qs.reservation.Ref
	j := &s.jobs[ref]
	if !j.needsLent || s.caps.Cap != (caps.Usage{}) {
		return model.Never
	}
	s.buf.lent = append(s.buf.lent[:0], s.lent...)
	free, lent, clashes := s.buf.trial, s.buf.lent, p.forecasts().clashes()
	free.CopyFrom(p.qs.free)
	s.walk++
	fits := func(at model.Time) bool {
		q := p.qs.query(j, j.NodesMin, s.avoids(ref, at, at.Add(j.left)))
		picked := s.buf.extra
		clear(nodes)
		clear(picked)
		need := j.NodesMin - free.Lowest(j.kind.mask, q.Avoid, nodes, j.NodesMin)
		for v := range s.home {
			if may := p.room().mayLend(model.VClusterID(v), lent[v]); may > 0 && need > 0 {
				among := s.buf.lender
				copy(among, s.home[v])
				among.And(j.kind.foreign)
				if n := free.Lowest(among, q.Avoid, picked, min(need, may)); n > 0 {
					need -= n
					nodes.Or(s.home[v]) // what else it lends would be missing from what it may lend
				}
			}
		}
		return need <= 0
	}
	at, found := p.now, false
	p.qs.ends.Ascend(p.now, func(t model.Time, ref model.Ref, _ int32) bool {
		if found = t != at && fits(at); found {
			return false
		}
		at = t
		p.forecasts().giveInForecast(free, ref, clashes)
		if b := &s.jobs[ref]; b.borrowed {
			for v := range s.home {
				if model.VClusterID(v) != b.VCluster {
					lent[v] -= b.placement.Within(s.home[v])
				}
			}
		}
		return true
	})
	if found || fits(at) {
		return at
	}
	return model.Never
}
