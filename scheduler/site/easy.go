package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/place"
	"orrery/scheduler/site/internal/caps"
	"orrery/scheduler/site/internal/future"
	"orrery/scheduler/site/internal/waiting"
)

// easy is the reservation of the first blocked job, and what those behind it leave to it.
type easy struct{ *view }

func (v *view) easy() easy { return easy{v} }

// harmless is the rule of EASY for a job about to start on the nodes: it is
// predicted to leave before the blocked job has room, or that still has room
// with these nodes taken. What it takes is then no longer left over.
func (p easy) harmless(j *job, placement *model.Placement) bool {
	if p.outOfTheWay(p.now.Add(j.left)) {
		return true
	}
	return p.leavesRoom(placement, p.drawn(j, placement))
}

// harmlessGain is harmless for what a running service gains, and draws more by it, until
// it is predicted to end.
func (p easy) harmlessGain(until model.Time, gained *model.Placement, more caps.Usage) bool {
	if p.outOfTheWay(until) {
		return true
	}
	more.Idle = p.qs.reservation.Idle.On(gained)
	return p.leavesRoom(gained, more)
}

// outOfTheWay says whether a job that is predicted to leave at the instant does so before
// the blocked job has room.
func (p easy) outOfTheWay(until model.Time) bool { return p.reservation().OutOfTheWay(until) }

// leavesRoom says whether the blocked job has room at the instant of its reservation
// when the nodes and so much of the caps are taken; if so they are.
func (p easy) leavesRoom(placement *model.Placement, more caps.Usage) bool {
	return p.reservation().Take(placement, more)
}

// reservation is that of the first blocked job, found when it is first asked for in a
// pass.
func (p easy) reservation() *future.Reservation {
	if r := &p.qs.reservation; r.Known() {
		return r
	}
	return p.reserve()
}

func (p easy) reserve() *future.Reservation {
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
func (p easy) forecast(r *future.Reservation, o *future.Outlook, b future.Blocked) {
	clashes := p.forecasts().clashes()
	p.core.walk++
	query := func(at model.Time) place.Query {
		return p.qs.query(&p.core.jobs[r.Ref], b.Nodes, p.core.avoids(r.Ref, at, at.Add(b.Left)))
	}
	var next func(after model.Time) model.Time
	if len(p.core.site.Reservations)+len(p.core.promises.List) > 0 {
		next = func(after model.Time) model.Time { return p.comesFreeAfter(after) }
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
			p.forecasts().giveInForecast(forecast, ref, clashes)
		}
		return r.Idle.Leave(leaves.needs, &leaves.placement), matters
	})
}

// comesFreeAfter is the next instant at which nodes come free without the end of a job.
func (p easy) comesFreeAfter(after model.Time) model.Time {
	at := p.core.nextBoundary(after)
	p.core.promises.EachEnd(p.qs.id, p.now, func(end model.Time) {
		if end > after {
			at = min(at, end)
		}
	})
	return at
}

// delicate says whether it matters which nodes are left to the blocked job, and not
// only how many.
func (p easy) delicate(j *job) bool {
	return p.core.cfg.Shared || j.IsSensitive() || len(p.core.holds) > 0 || len(p.core.site.Reservations) > 0 || p.heeding || p.forecasts().clashes()
}

// drawn is what j takes of the caps on the nodes at the instant of the reservation, which must be known.
func (p easy) drawn(j *job, placement *model.Placement) caps.Usage {
	needs := caps.Usage{Bandwidth: j.Demand(placement.Nodes())}
	if p.core.caps.Cap.Power > 0 { // it takes a look at each node
		needs.Power, needs.Idle = p.core.nodeClasses.Draw(j.Allocation, placement), p.qs.reservation.Idle.On(placement)
	}
	return needs
}

// cannotStart says whether a job behind the blocked one surely does not start: by
// the number of nodes alone it has no room any more, or would delay the other.
func (p easy) cannotStart(q *waiting.QueueEntry) bool {
	return !p.room().mayFit(q) || p.wouldDelay(q)
}

// wouldDelay says whether a job would surely delay the blocked one, as soon as the
// reservation of that is known: it may use the same nodes and takes too many.
func (p easy) wouldDelay(q *waiting.QueueEntry) bool {
	h := &p.qs.reservation
	return q.Need > h.Spare && p.now.Add(q.Left) > h.At && !p.mayBorrow(q.Borrows) && p.delays(q.Class)
}

// mayBorrow says whether any nodes may be borrowed in this pass by a job that does so.
func (p easy) mayBorrow(borrows bool) bool { return borrows && p.borrowable > 0 }

// delays says whether jobs of a class of nodes surely delay the blocked job if they take more nodes than
// are left over, and for longer than until it has room.
func (p easy) delays(class place.ClassID) bool {
	h := &p.qs.reservation
	return h.ByCount() && h.At != model.Never && class == p.core.jobs[h.Ref].kind.class && p.rule.reserves()
}

// ensureReservation finds the reservation of the blocked job where numbers of nodes decide it, so
// that most of those behind it need no closer look.
func (p easy) ensureReservation() {
	if p.rule.reserves() && !p.qs.reservation.Known() && !p.delicate(&p.core.jobs[p.qs.reservation.Ref]) {
		p.reserve()
	}
}

// prune takes those out of the candidates that surely do not start behind the
// blocked job, so that they need not be brought into order.
func (p easy) prune(room *order.Heap) {
	if len(room.List) > 0 {
		p.ensureReservation()
	}
	kept := room.List[:0]
	for _, c := range room.List {
		if p.core.jobs[c.Ref].phase == running || !p.cannotStart(p.entry(&c)) {
			kept = append(kept, c)
		}
	}
	room.List = kept
	room.Init()
}

// entry is where a candidate stands in the queue.
func (p easy) entry(c *order.Candidate) *waiting.QueueEntry {
	if at := int(c.At); at < len(p.qs.waiting.Jobs) && p.qs.waiting.Jobs[at].Ref == c.Ref {
		return &p.qs.waiting.Jobs[at]
	}
	return p.qs.waiting.Row(c.Ref)
}
