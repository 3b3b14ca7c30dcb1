package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/place"
	"orrery/scheduler/site/internal/waiting"
)

// cannotStart says whether a job behind the blocked one surely does not start: by
// the number of nodes alone it has no room any more, or would delay the other.
func (p *pass) cannotStart(q *waiting.Job) bool {
	return !p.mayFit(q) || p.wouldDelay(q)
}

// wouldDelay says whether a job would surely delay the blocked one, as soon as the
// reservation of that is known: it may use the same nodes and takes too many.
func (p *pass) wouldDelay(q *waiting.Job) bool {
	h := &p.qs.reservation
	return q.Need > h.Spare && p.now.Add(q.Left) > h.At && !mayBorrow(p, q.Borrows) && delays(p, q.Class)
}

// mayBorrow says whether any nodes may be borrowed in this pass by a job that does so.
func mayBorrow(p *pass, borrows bool) bool { return borrows && p.borrowable > 0 }

// delays says whether jobs of a class of nodes surely delay the blocked job if they take more nodes than
// are left over, and for longer than until it has room.
func delays(p *pass, class place.ClassID) bool {
	h := &p.qs.reservation
	return h.ByCount() && h.At != model.Never && class == p.core.jobs[h.Ref].kind.class && p.qs.policy.Backfill == order.Easy
}

// ensureReservation finds the reservation of the blocked job where numbers of nodes decide it, so
// that most of those behind it need no closer look.
func (p *pass) ensureReservation() {
	if p.qs.policy.Backfill == order.Easy && !p.qs.reservation.Known() && !p.delicate(&p.core.jobs[p.qs.reservation.Ref]) {
		p.reserve()
	}
}

// prune takes those out of the candidates that surely do not start behind the
// blocked job, so that they need not be brought into order.
func (p *pass) prune(room *order.Heap) {
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
func (p *pass) entry(c *order.Candidate) *waiting.Job {
	if at := int(c.At); at < len(p.qs.waiting.Jobs) && p.qs.waiting.Jobs[at].Ref == c.Ref {
		return &p.qs.waiting.Jobs[at]
	}
	return p.qs.waiting.Row(c.Ref)
}
