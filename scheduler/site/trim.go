package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// hopeless says whether a job behind the blocked one surely does not start: by
// the number of nodes alone it has no room any more, or would delay the other.
func (s *Core) hopeless(l *lane, q *queued, now model.Time) bool {
	return !s.mayFit(l, q) || s.wouldDelay(l, q, now)
}

// wouldDelay says whether a job would surely delay the blocked one, as soon as the
// reservation of that is known: it may use the same nodes and takes too many.
func (s *Core) wouldDelay(l *lane, q *queued, now model.Time) bool {
	h := &l.hold
	return q.need > h.nodes && h.known && !h.detailed && h.at != model.Never && now.Add(q.left) > h.at &&
		!q.borrows && q.class == s.jobs[h.ref].kind.class && l.policy.Backfill == order.Easy
}

// outlook finds the reservation of the blocked job where numbers of nodes decide it, so
// that most of those behind it need no closer look.
func (s *Core) outlook(l *lane, now model.Time) {
	if l.policy.Backfill == order.Easy && !l.hold.known && !s.delicate(l, &s.jobs[l.hold.ref]) {
		s.reserve(l, now)
	}
}

// trim takes those out of the candidates that surely do not start behind the
// blocked job, so that they need not be brought into order.
func (s *Core) trim(l *lane, now model.Time, room *order.Heap) {
	if len(room.List) > 0 {
		s.outlook(l, now)
	}
	kept := room.List[:0]
	for _, c := range room.List {
		if s.jobs[c.Ref].phase == running || !s.hopeless(l, s.entry(l, &c), now) {
			kept = append(kept, c)
		}
	}
	room.List = kept
	room.Init()
}

// entry is where a order.Candidate stands in the queue.
func (s *Core) entry(l *lane, c *order.Candidate) *queued {
	if at := int(c.At); at < len(l.queue) && l.queue[at].ref == c.Ref {
		return &l.queue[at]
	}
	return &l.queue[s.jobs[c.Ref].pos]
}
