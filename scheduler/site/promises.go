package site

import (
	"slices"

	"orrery/scheduler/model"
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
