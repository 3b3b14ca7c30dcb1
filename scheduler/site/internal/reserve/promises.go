package reserve

import (
	"slices"

	"orrery/scheduler/model"
)

// Promise is what the other vClusters leave to a blocked job that has a reservation: nodes of
// no vCluster, or of others that lend them, that are kept for it from an instant on. While the job is in flight, they
// are those that were proposed for it.
type Promise struct {
	Ref      model.Ref
	VCluster model.VClusterID
	Left     model.Duration // requested time of the job
	Since    model.Time     // when it was promised anything first
	At       model.Time
	Nodes    model.NodeSet
}

// Promises are those of the site. A vCluster has one at most, beside those of its jobs in flight.
type Promises struct {
	List []Promise // oldest first

	homes []model.NodeSet // by vCluster, whose own jobs may start on them whatever is promised
	rest  model.NodeSet   // memory of Avoid
	spare []model.NodeSet // of promises that have ended
}

// NewPromises is none yet on a site of so many nodes, of which homes are at home in each vCluster.
func NewPromises(nodes int, homes []model.NodeSet) Promises {
	return Promises{homes: homes, rest: model.NewNodeSet(nodes)}
}

func (s *Promises) of(ref model.Ref) int {
	return slices.IndexFunc(s.List, func(x Promise) bool { return x.Ref == ref })
}

// Find is the promise of ref, nil for none. It is valid until one is added or ends.
func (s *Promises) Find(ref model.Ref) *Promise {
	if i := s.of(ref); i >= 0 {
		return &s.List[i]
	}
	return nil
}

// Set makes x one of the nodes from an instant on, and says whether it was another.
func (x *Promise) Set(at model.Time, nodes model.NodeSet) (changed bool) {
	if x.At == at && slices.Equal(x.Nodes, nodes) {
		return false
	}
	x.At = at
	copy(x.Nodes, nodes)
	return true
}

// Add puts a promise of the nodes behind the others, in memory of its own. What it returns is valid
// until one is added or ends.
func (s *Promises) Add(x Promise, nodes model.NodeSet) *Promise {
	if n := len(s.spare); n > 0 {
		x.Nodes, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		x.Nodes = make(model.NodeSet, len(nodes))
	}
	copy(x.Nodes, nodes)
	s.List = append(s.List, x)
	return &s.List[len(s.List)-1]
}

// End ends the promise of a job and says whether there was one.
func (s *Promises) End(ref model.Ref) bool {
	i := s.of(ref)
	if i >= 0 {
		s.spare = append(s.spare, s.List[i].Nodes)
		s.List = slices.Delete(s.List, i, i+1)
	}
	return i >= 0
}

// window is when the job of a promise has the nodes, as far as that is foreseen now.
func (x *Promise) window(now model.Time) (from, until model.Time) {
	from = max(x.At, now)
	return from, from.Add(x.Left)
}

// ByOthers says whether other vClusters than v have promised anything.
func (s *Promises) ByOthers(v model.VClusterID) bool {
	return slices.ContainsFunc(s.List, func(x Promise) bool { return x.VCluster != v })
}

// FirstByOthers is the first instant from which other vClusters than v have promised nodes, Never
// where they have promised none.
func (s *Promises) FirstByOthers(v model.VClusterID) model.Time {
	at := model.Never
	for i := range s.List {
		if x := &s.List[i]; x.VCluster != v {
			at = min(at, x.At)
		}
	}
	return at
}

// Heeded calls f with the promises that the job ref of v heeds, but on nodes of its own, when it runs over
// [from, until): those to jobs of other vClusters, but for younger ones than its own.
func (s *Promises) Heeded(ref model.Ref, v model.VClusterID, now, from, until model.Time, f func(x *Promise)) {
	own := s.of(ref)
	for i := range s.List {
		x := &s.List[i]
		if begin, end := x.window(now); x.VCluster != v && (own < 0 || own > i) && until > begin && end > from {
			f(x)
		}
	}
}

// Avoid adds to set the nodes that the job ref of v leaves alone over [from, until), since they are promised
// to others, but for those that are held for it.
func (s *Promises) Avoid(ref model.Ref, v model.VClusterID, now, from, until model.Time, held, set model.NodeSet) {
	s.Heeded(ref, v, now, from, until, func(x *Promise) {
		copy(s.rest, x.Nodes)
		s.rest.AndNot(s.homes[v])
		if held != nil {
			s.rest.AndNot(held)
		}
		set.Or(s.rest)
	})
}

// EachEnd calls f with the instants at which jobs of other vClusters than v would leave what they
// are promised.
func (s *Promises) EachEnd(v model.VClusterID, now model.Time, f func(model.Time)) {
	for i := range s.List {
		if x := &s.List[i]; x.VCluster != v {
			_, end := x.window(now)
			f(end)
		}
	}
}
