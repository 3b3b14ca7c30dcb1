package site

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/site/internal/caps"
)

// avoids gathers the nodes that j must not use if it ran over
// [from, until): those kept for others, set aside, and promised; nil when there are
// none. The set is valid until the next call.
func (s *Core) avoids(ref model.Ref, from, until model.Time) model.NodeSet {
	if len(s.holds) == 0 && len(s.site.Reservations) == 0 && len(s.promises.List) == 0 {
		return nil
	}
	avoid := s.buf.avoid
	clear(avoid)
	s.holds.AddOthers(ref, avoid)
	j := &s.jobs[ref]
	for i := range s.site.Reservations {
		if r := &s.site.Reservations[i]; setsAside(r, model.ReservationID(i), j, from, until) {
			avoid.Or(r.Nodes)
		}
	}
	if len(s.promises.List) > 0 {
		s.promises.Avoid(ref, j.queue.id, s.now, from, until, s.holds.NodesOf(ref), avoid)
	}
	return avoid
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

// avoidsSought is avoids for the nodes that are sought for the job under ref.
func avoidsSought(s *Core, ref model.Ref, now model.Time) model.NodeSet {
	j := &s.jobs[ref]
	if j.phase == running {
		return s.avoidsMore(ref, now, j.predictedEnd(now))
	}
	return s.avoids(ref, now, now.Add(j.left))
}

// usableNodes are the nodes in service that the job under ref might start on, whatever runs
// there. They are valid until the next call, or until the job borrows.
func (s *Core) usableNodes(ref model.Ref, now model.Time) model.NodeSet {
	usable, _ := s.usableOf(ref, now)
	return usable
}

// usableOf is usableNodes; all says that these are all nodes of the kind of the job.
func (s *Core) usableOf(ref model.Ref, now model.Time) (usable model.NodeSet, all bool) {
	j := &s.jobs[ref]
	usable = s.buf.extra
	copy(usable, j.kind.mask)
	usable.And(s.ready)
	avoid := avoidsSought(s, ref, now)
	if avoid != nil {
		usable.AndNot(avoid)
	}
	return usable, slices.Equal(usable, j.kind.mask)
}

// setsAside says whether the advance reservation r, whose id is given, keeps its nodes
// from j if it ran over [from, until): within its time from all jobs that do not name it, and
// outside of its time from those that do.
func setsAside(r *model.Reservation, id model.ReservationID, j *job, from, until model.Time) bool {
	if j.Reservation == id && !r.Maintenance {
		return r.Outside(from, until)
	}
	return from < r.End && until > r.Start
}

// sought is for how many nodes victims of j are sought: all that it asks for while it waits,
// and what it is to have more while it runs.
func (j *job) sought() int32 {
	if j.phase == running {
		return j.more
	}
	return j.NodesMin
}

// capsAllow says whether the caps leave room for j on the nodes sought beside what is used,
// whichever of those that it may use these are.
func capsAllow(s *Core, j *job, used caps.Usage) bool {
	if j.phase != running {
		return s.caps.Allow(j.needs, used)
	}
	n := j.usage.Nodes + j.more
	needs := caps.Usage{Power: j.needs.Power + j.kind.watts*int64(j.more), Bandwidth: j.Demand(n)}
	if j.Power > 0 {
		needs.Power = j.PowerOn(n)
	}
	if !j.Divides() {
		needs.Idle = j.kind.leastIdle * int64(j.more)
	}
	return s.caps.Allow(needs, used.Minus(j.needs))
}
