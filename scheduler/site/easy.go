package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/place"
	"orrery/scheduler/site/internal/caps"
	"orrery/scheduler/site/internal/future"
)

// harmless is the rule of EASY for a job about to start on the nodes: it is
// predicted to leave before the blocked job has room, or that still has room
// with these nodes taken. What it takes is then no longer left over.
func (p *pass) harmless(j *job, placement *model.Placement) bool {
	if p.outOfTheWay(p.now.Add(j.left)) {
		return true
	}
	return p.leavesRoom(placement, drawn(p, j, placement))
}

// harmlessGain is harmless for what a running service gains, and draws more by it, until
// it is predicted to end.
func (p *pass) harmlessGain(until model.Time, gained *model.Placement, more caps.Usage) bool {
	if p.outOfTheWay(until) {
		return true
	}
	more.Idle = p.qs.reservation.Idle.On(gained)
	return p.leavesRoom(gained, more)
}

// outOfTheWay says whether a job that is predicted to leave at the instant does so before
// the blocked job has room.
func (p *pass) outOfTheWay(until model.Time) bool { return p.reservation().OutOfTheWay(until) }

// leavesRoom says whether the blocked job has room at the instant of its reservation
// when the nodes and so much of the caps are taken; if so they are.
func (p *pass) leavesRoom(placement *model.Placement, more caps.Usage) bool {
	return p.reservation().Take(placement, more)
}

// reservation is that of the first blocked job, found when it is first asked for in a
// pass.
func (p *pass) reservation() *future.Reservation {
	if r := &p.qs.reservation; r.Known() {
		return r
	}
	return p.reserve()
}

func (p *pass) reserve() *future.Reservation {
	r := &p.qs.reservation
	j := &p.core.jobs[r.Ref]
	if p.core.caps.Idle.Counts() {
		r.Idle.CopyFrom(&p.core.caps.Idle)
	}
	o := future.Outlook{Now: p.now, Ends: &p.qs.ends, Free: p.qs.free, Caps: &p.core.caps}
	b := future.Blocked{Nodes: j.NodesMin, Left: j.left, Needs: j.needs, Mask: j.kind.mask}
	switch {
	case p.delicate(j):
		p.forecast(r, &o, b)
	case j.kind.all && !p.core.caps.Cap.Binds(j.needs) && int(p.core.readyCount) == len(p.core.site.Nodes):
		r.Shadow(&o, b, p.qs.free.Count(j.kind.class))
	default:
		r.Count(&o, b, p.qs.free.Count(j.kind.class), p.core.ready, func(ref model.Ref) (*model.Placement, caps.Usage) {
			leaves := &p.core.jobs[ref]
			return &leaves.placement, r.Idle.Leave(leaves.needs, &leaves.placement)
		})
	}
	return r
}

// forecast finds the reservation with the free nodes themselves.
func (p *pass) forecast(r *future.Reservation, o *future.Outlook, b future.Blocked) {
	clashes := p.clashes()
	p.core.walk++
	query := func(at model.Time) place.Query {
		return p.qs.query(&p.core.jobs[r.Ref], b.Nodes, p.core.avoids(r.Ref, at, at.Add(b.Left)))
	}
	var next func(after model.Time) model.Time
	if len(p.core.site.Reservations)+len(p.core.promises.list) > 0 {
		next = func(after model.Time) model.Time { return comesFreeAfter(p, after) }
	}
	blocked := &p.core.jobs[r.Ref]
	most := func(forecast *place.Free) int32 {
		if blocked.Divides() { // to count costs as much as to select
			return blocked.NodesMin
		}
		return forecast.Count(blocked.kind.class)
	}
	r.Forecast(o, b, next, most, query, func(forecast *place.Free, ref model.Ref) (caps.Usage, bool) {
		leaves := &p.core.jobs[ref]
		matters := clashes || mayMeet(&p.core.nodeState, blocked.kind, leaves) && leaves.placement.Meets(blocked.kind.mask) // the blocked job may use no others
		if matters {
			p.giveInForecast(forecast, ref, clashes)
		}
		return r.Idle.Leave(leaves.needs, &leaves.placement), matters
	})
}

// comesFreeAfter is the next instant at which nodes come free without the end of a job.
func comesFreeAfter(p *pass, after model.Time) model.Time {
	at := p.core.nextBoundary(after)
	p.core.promises.eachEnd(p.qs, p.now, func(end model.Time) {
		if end > after {
			at = min(at, end)
		}
	})
	return at
}

// delicate says whether it matters which nodes are left to the blocked job, and not
// only how many.
func (p *pass) delicate(j *job) bool {
	return p.core.cfg.Shared || j.IsSensitive() || len(p.core.holds) > 0 || len(p.core.site.Reservations) > 0 || p.heeding || p.clashes()
}

// mayGrow says whether a job in flight may take more nodes: no job is blocked,
// or it is predicted to have left by the time that the blocked one has room.
func (p *pass) mayGrow(j *job) bool {
	switch {
	case !p.qs.blocked || p.qs.policy.Backfill == order.FirstFit:
		return true
	case p.qs.policy.Backfill != order.Easy:
		return false
	}
	return p.now.Add(j.left) <= p.reservation().At
}
