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
func (p *pass) harmless(j *job, placement *model.Placement) bool {
	if p.outOfTheWay(p.now.Add(j.left)) {
		return true
	}
	ask := caps.Usage{Bandwidth: j.Demand(sizeOf(placement))}
	if p.caps.Cap.Power > 0 { // it takes a look at each node
		ask.Power = p.nodeClasses.Draw(&j.Allocation, placement)
	}
	return p.leavesRoom(placement, ask)
}

// spares is harmless for what a running service gains, and draws more by it, until
// it is predicted to end.
func (p *pass) harmlessGain(until model.Time, gained *model.Placement, more caps.Usage) bool {
	return p.outOfTheWay(until) || p.leavesRoom(gained, more)
}

// outOfTheWay says whether who is predicted to leave at the instant does so before
// the blocked job has room.
func (p *pass) outOfTheWay(until model.Time) bool {
	h := &p.qs.reservation
	if !h.known {
		p.reserve()
	}
	return until <= h.at || h.at == model.Never
}

// leavesRoom says whether the blocked job has room at the instant of its reservation
// when the nodes p and so much of the caps are taken; if so they are.
func (p *pass) leavesRoom(placement *model.Placement, ask caps.Usage) bool {
	h := &p.qs.reservation
	blocked := &p.jobs[h.ref]
	if (p.caps.Cap.Power > 0 && blocked.needs.Power > 0 && ask.Power > h.caps.Power) ||
		(p.caps.Cap.Bandwidth > 0 && blocked.needs.Bandwidth > 0 && ask.Bandwidth > h.caps.Bandwidth) {
		return false
	}
	if h.detailed {
		h.forecast.Take(placement)
		if !h.forecast.Fits(&h.query) {
			h.forecast.Give(placement)
			return false
		}
	} else {
		n := within(placement, blocked.kind.mask)
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
func (p *pass) reserve() {
	h := &p.qs.reservation
	h.known = true
	j := &p.jobs[h.ref]
	h.detailed = p.delicate(j)
	if h.detailed {
		p.forecast()
		return
	}
	if j.kind.all && !p.caps.Cap.Binds(j.needs) && int(p.readyCount) == len(p.site.Nodes) {
		h.at, h.nodes = p.qs.ends.Shadow(p.now, j.NodesMin, p.qs.free.Count(j.kind.class))
		return
	}
	p.count(p.qs, p.now)
}

// delicate says whether it matters which nodes are left to the blocked job, and not
// only how many.
func (p *pass) delicate(j *job) bool {
	return p.cfg.Shared || j.IsSensitive() || len(p.holds) > 0 || len(p.site.Reservations) > 0 || p.clashes()
}

// count walks the predicted ends with the number of nodes that j may use.
func (p *pass) count(qs *queueState, now model.Time) {
	h := &qs.reservation
	j := &p.jobs[h.ref]
	free, used := qs.free.Count(j.kind.class), p.caps.Used
	room := func() bool { return free >= j.NodesMin && p.caps.Cap.Allows(j.needs, used) }
	h.at = model.Never
	at := now
	qs.ends.Ascend(now, func(t model.Time, ref model.Ref, _ int32) bool {
		if t != at && room() {
			h.at = at
			return false
		}
		at = t
		r := &p.jobs[ref]
		free += p.returning(&r.placement, j.kind.mask)
		used.Power -= r.needs.Power
		used.Bandwidth -= r.needs.Bandwidth
		return true
	})
	if h.at == model.Never && room() {
		h.at = at
	}
	h.nodes = free - j.NodesMin
	h.caps = p.caps.Cap.Minus(used).Minus(j.needs)
}

// returning counts the nodes of a placement that are in the mask and will take
// work again.
func (s *Core) returning(placement *model.Placement, mask model.NodeSet) int32 {
	n := 0
	for _, w := range placement.Words {
		n += bits.OnesCount64(w.Mask & s.ready[w.Word] & mask[w.Word])
	}
	return int32(n)
}

// foresee walks the predicted ends with the free nodes themselves. Nodes that
// are set aside come back when their reservation ends, so these instants are
// looked at as well.
func (p *pass) forecast() {
	h := &p.qs.reservation
	j := &p.jobs[h.ref]
	h.forecast.CopyFrom(p.qs.free)
	clashes := p.clashes()
	p.walk++
	used := p.caps.Used
	h.at = model.Never
	try := func(at model.Time) bool {
		if !p.caps.Cap.Allows(j.needs, used) {
			return false
		}
		q := p.qs.query(j, j.NodesMin, p.avoids(h.ref, at, at.Add(j.left)))
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
	at, found := p.now, false
	upTo := func(until model.Time) bool { // tries the instants before until
		for !found && at < until {
			if found = try(at); !found {
				at = min(p.nextBoundary(at), until)
			}
		}
		return found
	}
	p.qs.ends.Ascend(p.now, func(t model.Time, ref model.Ref, _ int32) bool {
		if upTo(t) {
			return false
		}
		r := &p.jobs[ref]
		p.giveInForecast(h.forecast, ref, clashes)
		used.Power -= r.needs.Power
		used.Bandwidth -= r.needs.Bandwidth
		return true
	})
	upTo(model.Never)
	h.caps = p.caps.Cap.Minus(used).Minus(j.needs)
}

// mayGrow says whether a job in flight may take more nodes: nobody is blocked,
// or it is predicted to have left by the time that the blocked one has room.
func (p *pass) mayGrow(j *job) bool {
	switch {
	case !p.qs.blocked || p.qs.policy.Backfill == order.FirstFit:
		return true
	case p.qs.policy.Backfill != order.Easy:
		return false
	case !p.qs.reservation.known:
		p.reserve()
	}
	return p.now.Add(j.left) <= p.qs.reservation.at
}
