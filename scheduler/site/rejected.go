package site

import (
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/model"
)

// mostRejected is how many sets a note has at most.
const mostRejected = 3

// ofNodes says whether a reason is about nodes, so that sets of them were looked at.
func ofNodes(r model.Reason) bool {
	switch r {
	case model.ReasonResources, model.ReasonConformance, model.ReasonReserved, model.ReasonPriority, model.ReasonPower, model.ReasonBandwidth:
		return true
	}
	return false
}

// rejected lists the best sets of nodes that ref does not start on now, none of them
// twice. It is for notes alone. Cost: one selection, and
// the words and free nodes of the site.
func (s *Core) rejected(ref model.Ref) []scheduler.RejectedSet {
	j := &s.jobs[ref]
	qs := j.queue
	avoid := s.avoids(ref, s.now, s.now.Add(j.left))
	if placement := s.wouldChoose(qs, j, avoid); placement.Nodes() > 0 {
		set := scheduler.RejectedSet{Why: scheduler.RejectedChosen, Keeper: -1, Until: model.AbsentTime}
		set.Nodes.Set(placement)
		return []scheduler.RejectedSet{set}
	}
	out := make([]scheduler.RejectedSet, 0, mostRejected)
	add := func(why scheduler.Rejection, nodes model.NodeSet, keeper model.JobID, until model.Time) {
		set := scheduler.RejectedSet{Why: why, Keeper: keeper, Until: until, Nodes: placed(nodes)}
		same := func(o scheduler.RejectedSet) bool { return slices.Equal(o.Nodes.Words, set.Nodes.Words) }
		if len(set.Nodes.Words) > 0 && len(out) < mostRejected && !slices.ContainsFunc(out, same) {
			out = append(out, set)
		}
	}
	free := model.NewNodeSet(len(s.site.Nodes))
	qs.free.Room(j.kind.class, j.GPUs, free)
	kept, keeper, until := s.keptMost(ref, free)
	if avoid != nil {
		free.AndNot(avoid)
	}
	add(scheduler.RejectedFree, free, -1, model.AbsentTime)
	if j.NodesMin > 1 {
		add(scheduler.RejectedAlike, s.most(free, s.site.Fingerprints, func(n *model.Node) int32 { return n.Fingerprint }), -1, model.AbsentTime)
	}
	if kept != nil { // before what is a part of another set
		out = out[:min(len(out), mostRejected-1)]
		add(scheduler.RejectedKept, kept, keeper, until)
	}
	if j.NodesMin > 1 {
		add(scheduler.RejectedNear, s.most(free, int32(len(s.site.Groups)), func(n *model.Node) int32 { return n.Group }), -1, model.AbsentTime)
	}
	return out
}

// wouldChoose is the nodes that j would get if nothing but their number counted,
// empty when there are too few.
func (s *Core) wouldChoose(qs *queueState, j *job, avoid model.NodeSet) *model.Placement {
	nodes := &s.buf.unchosen
	q := qs.query(j, j.NodesMin, avoid)
	if !qs.free.Select(&q, nodes) && !s.passOf(qs, s.now).borrow(j, &q, nodes) {
		nodes.Words, nodes.Shares = nodes.Words[:0], nodes.Shares[:0]
	}
	return nodes
}

// keptMost is what one keeper sets aside of the free nodes, nil for nothing.
func (s *Core) keptMost(ref model.Ref, free model.NodeSet) (best model.NodeSet, keeper model.JobID, until model.Time) {
	keeper, until = -1, model.AbsentTime
	try := func(nodes model.NodeSet, job model.JobID, end model.Time) {
		set := slices.Clone(free)
		set.And(nodes)
		if n := set.Len(); n > 0 && (best == nil || n > best.Len()) {
			best, keeper, until = set, job, end
		}
	}
	for i := range s.holds {
		if c := &s.holds[i]; c.ref != ref {
			try(c.nodes, s.jobs[c.ref].Job, model.AbsentTime)
		}
	}
	j := &s.jobs[ref]
	for i := range s.site.Reservations {
		if r := &s.site.Reservations[i]; setsAside(r, model.ReservationID(i), j, s.now, s.now.Add(j.left)) {
			try(r.Nodes, -1, r.End)
		}
	}
	return best, keeper, until
}

// most is the largest part of a set in one of so many groups, the first of several; a
// node without group is one of its own.
func (s *Core) most(of model.NodeSet, groups int32, group func(*model.Node) int32) model.NodeSet {
	s.buf.perGroup = append(s.buf.perGroup[:0], make([]int32, groups)...)
	alone, best := model.NodeID(-1), int32(-1)
	for n := of.Next(0); n >= 0; n = of.Next(n + 1) {
		if g := group(&s.site.Nodes[n]); g >= 0 && g < groups {
			s.buf.perGroup[g]++
		} else if alone < 0 {
			alone = n
		}
	}
	for g, n := range s.buf.perGroup {
		if n > 0 && (best < 0 || n > s.buf.perGroup[best]) {
			best = int32(g)
		}
	}
	out := model.NewNodeSet(len(s.site.Nodes))
	switch {
	case best >= 0:
		for n := of.Next(0); n >= 0; n = of.Next(n + 1) {
			if group(&s.site.Nodes[n]) == best {
				out.Add(n)
			}
		}
	case alone >= 0:
		out.Add(alone)
	}
	return out
}

// placed is a set of nodes as its words that are not empty.
func placed(nodes model.NodeSet) (p model.Placement) {
	for w, m := range nodes {
		if m != 0 {
			p.Words = append(p.Words, model.NodeWord{Word: int32(w), Mask: m})
		}
	}
	return p
}
