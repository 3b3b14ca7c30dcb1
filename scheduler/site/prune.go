package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site/internal/waiting"
)

// hopeless says whether a job behind the blocked one surely does not start: by
// the number of nodes alone it has no room any more, or would delay the other.
func (s *Core) cannotStart(qs *queueState, q *waiting.Job, now model.Time) bool {
	return !s.mayFit(qs, q) || s.wouldDelay(qs, q, now)
}

// wouldDelay says whether a job would surely delay the blocked one, as soon as the
// reservation of that is known: it may use the same nodes and takes too many.
func (s *Core) wouldDelay(qs *queueState, q *waiting.Job, now model.Time) bool {
	h := &qs.reservation
	return q.Need > h.nodes && h.known && !h.detailed && h.at != model.Never && now.Add(q.Left) > h.at &&
		!q.Borrows && q.Class == s.jobs[h.ref].kind.class && qs.policy.Backfill == order.Easy
}

// outlook finds the reservation of the blocked job where numbers of nodes decide it, so
// that most of those behind it need no closer look.
func (s *Core) ensureReservation(qs *queueState, now model.Time) {
	if qs.policy.Backfill == order.Easy && !qs.reservation.known && !s.delicate(qs, &s.jobs[qs.reservation.ref]) {
		s.reserve(qs, now)
	}
}

// trim takes those out of the candidates that surely do not start behind the
// blocked job, so that they need not be brought into order.
func (s *Core) prune(qs *queueState, now model.Time, room *order.Heap) {
	if len(room.List) > 0 {
		s.ensureReservation(qs, now)
	}
	kept := room.List[:0]
	for _, c := range room.List {
		if s.jobs[c.Ref].phase == running || !s.cannotStart(qs, s.entry(qs, &c), now) {
			kept = append(kept, c)
		}
	}
	room.List = kept
	room.Init()
}

// entry is where a order.Candidate stands in the queue.
func (s *Core) entry(qs *queueState, c *order.Candidate) *waiting.Job {
	if at := int(c.At); at < len(qs.waiting.Jobs) && qs.waiting.Jobs[at].Ref == c.Ref {
		return &qs.waiting.Jobs[at]
	}
	return qs.waiting.Row(c.Ref)
}
