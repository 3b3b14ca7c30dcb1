package naive_test

import (
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// naivePromise is what a vCluster promises to its first blocked job: nodes from an
// instant on.
type naivePromise struct {
	job   *naiveJob
	since model.Time // when it got one first
	at    model.Time
	nodes []int
}

// promiseOf is the index of the promise of j, -1 for none. The list has the oldest first.
func (s *naiveSite) promiseOf(j *naiveJob) int {
	return slices.IndexFunc(s.promises, func(p *naivePromise) bool { return p.job == j })
}

// promisedTo says whether node n, not at home with j, is promised to a job of another vCluster at some time
// within [from, until), and j has no older promise and does not have the node held for it.
func (s *naiveSite) promisedTo(j *naiveJob, n int, from, until model.Time) bool {
	own := s.promiseOf(j)
	for i, p := range s.promises {
		if p.job.VCluster == j.VCluster || s.st.Nodes[n].Home == j.VCluster || own >= 0 && own < i || j.usage != nil && slices.Contains(j.usage.nodes, n) {
			continue
		}
		begin := max(p.at, s.now)
		if from < begin.Add(p.job.left) && begin < until && slices.Contains(p.nodes, n) {
			return true
		}
	}
	return false
}

// promisedEnds are the instants at which jobs of other vClusters would leave what they
// are promised.
func (s *naiveSite) promisedEnds(l *naiveVCluster) (ends []model.Time) {
	for _, p := range s.promises {
		if s.vclusterOf(p.job) != l {
			ends = append(ends, max(p.at, s.now).Add(p.job.left))
		}
	}
	return ends
}

// toOthers are those of the nodes that are not at home with j.
func (s *naiveSite) toOthers(j *naiveJob, nodes []int) []int {
	return s.only(nodes, func(n int) bool { return s.st.Nodes[n].Home != j.VCluster })
}

// promiseLent is the promise of a job that needs more nodes than its vCluster has: at the
// first instant at which it could borrow what it lacks, as far as vClusters lend now. Promised are all
// nodes of those that lend.
func (s *naiveSite) promiseLent(l *naiveVCluster, j *naiveJob) *naivePromise {
	if len(s.vclusters) < 3 || j.Divides() || s.power > 0 || s.band > 0 || int(j.NodesMin) <= len(s.may(j)) {
		return nil
	}
	at := []model.Time{s.now}
	for _, o := range s.holders {
		if end := s.endOf(o); s.sees(l, o) && end < model.Never {
			at = append(at, end)
		}
	}
	slices.Sort(at)
	for _, t := range at {
		gone := func(o *naiveJob) bool { return s.sees(l, o) && s.endOf(o) <= t }
		if c := s.borrow(s.view(l, gone), j, int(j.NodesMin), t, gone); c != nil {
			lends := func(n int) bool {
				return s.st.Nodes[n].Home >= 0 && slices.ContainsFunc(c.nodes, func(m int) bool { return s.st.Nodes[m].Home == s.st.Nodes[n].Home })
			}
			var nodes []int
			for n := range s.st.Nodes {
				if lends(n) || slices.Contains(c.nodes, n) {
					nodes = append(nodes, n)
				}
			}
			return &naivePromise{j, s.now, t, s.toOthers(j, nodes)}
		}
	}
	return nil
}

// promise is what l promises after a pass in which this job was blocked first.
func (s *naiveSite) promise(l *naiveVCluster, blocked *naiveJob, shadow model.Time) *naivePromise {
	var p *naivePromise
	switch {
	case blocked == nil || l.policy.Private || len(s.vclusters) == 1 || s.st.Amounts:
	case l.policy.Backfill == order.Conservative:
		for _, r := range l.plans {
			if r.job == blocked {
				p = &naivePromise{blocked, s.now, r.at, s.toOthers(blocked, r.nodes)}
			}
		}
	case l.policy.Backfill == order.Easy && shadow == model.Never:
		p = s.promiseLent(l, blocked)
	case l.policy.Backfill == order.Easy:
		gone := func(o *naiveJob) bool { return s.sees(l, o) && s.endOf(o) <= shadow || o == blocked }
		if c := s.chooseOwn(s.view(l, gone), blocked, int(blocked.NodesMin), shadow); c != nil {
			p = &naivePromise{blocked, s.now, shadow, s.toOthers(blocked, c.nodes)}
		}
	}
	if p != nil && len(p.nodes) == 0 {
		return nil
	}
	return p
}

// publish tells the other vClusters what l promises when its pass is over.
func (s *naiveSite) publish(l *naiveVCluster, blocked *naiveJob, shadow model.Time) {
	p := s.promise(l, blocked, shadow)
	var kept []*naivePromise
	changed := false
	for _, o := range s.promises {
		switch {
		case s.vclusterOf(o.job) != l || o.job.phase != naiveWaiting:
			kept = append(kept, o)
		case p != nil && o.job == p.job:
			p.since = o.since
			if o.at != p.at || !slices.Equal(o.nodes, p.nodes) {
				changed = true
				s.tell(p)
			}
			kept = append(kept, p)
			p = nil
		default:
			changed = true
			s.tell(&naivePromise{job: o.job, since: o.since, at: o.at})
		}
	}
	if p != nil {
		s.tell(p)
		kept = append(kept, p)
	}
	if s.promises = kept; changed {
		s.promiseChanged(l)
	}
}

// tell puts a promise into the plan that has changed.
func (s *naiveSite) tell(p *naivePromise) {
	c := &naiveChoice{nodes: p.nodes}
	s.plan.Promises = append(s.plan.Promises, scheduler.Promise{
		VCluster: p.job.VCluster, Job: p.job.Job, Ref: p.job.ref, Since: p.since, After: s.seq, At: p.at, Nodes: c.placement(),
	})
}

// promiseChanged is a change for the others that may have heeded a promise.
func (s *naiveSite) promiseChanged(l *naiveVCluster) {
	for _, o := range s.vclusters {
		o.changed = o.changed || o != l && o.blocked
	}
}

// promiseProposed: what j was promised is now what is proposed for it.
func (s *naiveSite) promiseProposed(j *naiveJob) {
	if i := s.promiseOf(j); i >= 0 {
		p, nodes := s.promises[i], s.toOthers(j, j.nodes)
		if p.at != s.now || !slices.Equal(p.nodes, nodes) {
			p.at, p.nodes = s.now, nodes
			s.promiseChanged(s.vclusterOf(j))
		}
	}
}

// endPromise ends the promise of a job that starts or leaves.
func (s *naiveSite) endPromise(j *naiveJob) (had bool) {
	i := s.promiseOf(j)
	if i >= 0 {
		s.promises = slices.Delete(s.promises, i, i+1)
	}
	return i >= 0
}

// breaksPromises: j starts on what others were promised, which did not know of it.
func (s *naiveSite) breaksPromises(j *naiveJob) {
	for _, p := range s.promises {
		if p.job.VCluster != j.VCluster && j.predicted > p.at && slices.ContainsFunc(j.nodes, func(n int) bool { return slices.Contains(p.nodes, n) }) {
			s.vclusterOf(p.job).changed = true
		}
	}
}

// passAgain: a proposal of l was refused.
func (s *naiveSite) passAgain(l *naiveVCluster) {
	switch {
	case len(s.vclusters) == 1:
	case l.againAt == s.now:
		l.stuckAt = s.now
	default:
		l.again = true
	}
}
