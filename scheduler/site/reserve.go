package site

import (
	"math/bits"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/place"
	"orrery/scheduler/site/internal/caps"
)

// siteHold is the reservation of the first blocked job of a pass under Easy: the
// instant at which it is predicted to have room, and what is left over then. Where
// numbers of nodes decide, that is a number; where it matters which nodes
// (shares of nodes, sensitive jobs, nodes kept or set aside), it is the forecast
// of the free nodes itself.
type easyReservation struct {
	ref      model.Ref
	since    uint64 // number of the last proposal before it was found blocked
	known    bool
	detailed bool
	at       model.Time
	nodes    int32      // left over
	caps     caps.Usage // left over, where there are caps
	forecast *place.Free
	query    place.Query
	avoid    model.NodeSet
}

func (h *easyReservation) reset() { h.ref, h.known = -1, false }

// harmless is the rule of EASY for a job about to start on the nodes p: it is
// predicted to leave before the blocked job has room, or that still has room
// with these nodes taken. What it takes is then no longer left over.
func (s *Core) harmless(qs *queueState, now model.Time, j *job, p *model.Placement) bool {
	if s.outOfTheWay(qs, now, now.Add(j.left)) {
		return true
	}
	ask := caps.Usage{Bandwidth: j.Demand(sizeOf(p))}
	if s.caps.Cap.Power > 0 { // it takes a look at each node
		ask.Power = s.nodeClasses.Draw(&j.Allocation, p)
	}
	return s.leavesRoom(qs, p, ask)
}

// spares is harmless for what a running service gains, and draws more by it, until
// it is predicted to end.
func (s *Core) harmlessGain(qs *queueState, now, until model.Time, gained *model.Placement, more caps.Usage) bool {
	return s.outOfTheWay(qs, now, until) || s.leavesRoom(qs, gained, more)
}

// outOfTheWay says whether who is predicted to leave at the instant does so before
// the blocked job has room.
func (s *Core) outOfTheWay(qs *queueState, now, until model.Time) bool {
	h := &qs.reservation
	if !h.known {
		s.reserve(qs, now)
	}
	return until <= h.at || h.at == model.Never
}

// leavesRoom says whether the blocked job has room at the instant of its reservation
// when the nodes p and so much of the caps are taken; if so they are.
func (s *Core) leavesRoom(qs *queueState, p *model.Placement, ask caps.Usage) bool {
	h := &qs.reservation
	blocked := &s.jobs[h.ref]
	if (s.caps.Cap.Power > 0 && blocked.needs.Power > 0 && ask.Power > h.caps.Power) ||
		(s.caps.Cap.Bandwidth > 0 && blocked.needs.Bandwidth > 0 && ask.Bandwidth > h.caps.Bandwidth) {
		return false
	}
	if h.detailed {
		h.forecast.Take(p)
		if !h.forecast.Fits(&h.query) {
			h.forecast.Give(p)
			return false
		}
	} else {
		n := within(p, blocked.kind.mask)
		if n > h.nodes {
			return false
		}
		h.nodes -= n
	}
	h.caps.Power -= ask.Power
	h.caps.Bandwidth -= ask.Bandwidth
	return true
}

// reserve finds the reservation of the first blocked job.
func (s *Core) reserve(qs *queueState, now model.Time) {
	h := &qs.reservation
	h.known = true
	j := &s.jobs[h.ref]
	h.detailed = s.delicate(qs, j)
	if h.detailed {
		s.forecast(qs, now)
		return
	}
	if j.kind.all && !s.caps.Cap.Binds(j.needs) && int(s.readyCount) == len(s.site.Nodes) {
		h.at, h.nodes = qs.ends.Shadow(now, j.NodesMin, qs.free.Count(j.kind.class))
		return
	}
	s.count(qs, now)
}

// delicate says whether it matters which nodes are left to the blocked job, and not
// only how many.
func (s *Core) delicate(qs *queueState, j *job) bool {
	return s.cfg.Shared || j.IsSensitive() || len(s.holds) > 0 || len(s.site.Reservations) > 0 || s.clashes(qs)
}

// count walks the predicted ends with the number of nodes that j may use.
func (s *Core) count(qs *queueState, now model.Time) {
	h := &qs.reservation
	j := &s.jobs[h.ref]
	free, used := qs.free.Count(j.kind.class), s.caps.Used
	room := func() bool { return free >= j.NodesMin && s.caps.Cap.Allows(j.needs, used) }
	h.at = model.Never
	at := now
	qs.ends.Ascend(now, func(t model.Time, ref model.Ref, _ int32) bool {
		if t != at && room() {
			h.at = at
			return false
		}
		at = t
		r := &s.jobs[ref]
		free += s.returning(&r.placement, j.kind.mask)
		used.Power -= r.needs.Power
		used.Bandwidth -= r.needs.Bandwidth
		return true
	})
	if h.at == model.Never && room() {
		h.at = at
	}
	h.nodes = free - j.NodesMin
	h.caps = s.caps.Cap.Minus(used).Minus(j.needs)
}

// returning counts the nodes of a placement that are in the mask and will take
// work again.
func (s *Core) returning(p *model.Placement, mask model.NodeSet) int32 {
	n := 0
	for _, w := range p.Words {
		n += bits.OnesCount64(w.Mask & s.ready[w.Word] & mask[w.Word])
	}
	return int32(n)
}

// foresee walks the predicted ends with the free nodes themselves. Nodes that
// are set aside come back when their reservation ends, so these instants are
// looked at as well.
func (s *Core) forecast(qs *queueState, now model.Time) {
	h := &qs.reservation
	j := &s.jobs[h.ref]
	h.forecast.CopyFrom(qs.free)
	clashes := s.clashes(qs)
	s.walk++
	used := s.caps.Used
	h.at = model.Never
	try := func(at model.Time) bool {
		if !s.caps.Cap.Allows(j.needs, used) {
			return false
		}
		q := s.query(qs, j, j.NodesMin, s.avoids(h.ref, at, at.Add(j.left)))
		if !h.forecast.Fits(&q) {
			return false
		}
		h.at, h.query = at, q
		if q.Avoid != nil { // scratch, and others will ask
			h.avoid = append(h.avoid[:0], q.Avoid...)
			h.query.Avoid = h.avoid
		}
		return true
	}
	at, found := now, false
	upTo := func(until model.Time) bool { // tries the instants before until
		for !found && at < until {
			if found = try(at); !found {
				at = min(s.nextBoundary(at), until)
			}
		}
		return found
	}
	qs.ends.Ascend(now, func(t model.Time, ref model.Ref, _ int32) bool {
		if upTo(t) {
			return false
		}
		r := &s.jobs[ref]
		s.giveInForecast(h.forecast, qs, ref, clashes)
		used.Power -= r.needs.Power
		used.Bandwidth -= r.needs.Bandwidth
		return true
	})
	upTo(model.Never)
	h.caps = s.caps.Cap.Minus(used).Minus(j.needs)
}

// mayGrow says whether a job in flight may take more nodes: nobody is blocked,
// or it is predicted to have left by the time that the blocked one has room.
func (s *Core) mayGrow(qs *queueState, now model.Time, j *job) bool {
	switch {
	case !qs.blocked || qs.policy.Backfill == order.FirstFit:
		return true
	case qs.policy.Backfill != order.Easy:
		return false
	case !qs.reservation.known:
		s.reserve(qs, now)
	}
	return now.Add(j.left) <= qs.reservation.at
}
