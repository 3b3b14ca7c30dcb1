package scheduler

import "orrery/scheduler/model"

// hopeless says whether a job behind the blocked one surely does not start: by
// the number of nodes alone it has no room any more, or would delay the other.
func (s *Site) hopeless(l *lane, q *queued, now model.Time) bool {
	return !s.mayFit(l, q) || s.wouldDelay(l, q, now)
}

// wouldDelay says whether a job would surely delay the blocked one, as soon as the
// reservation of that is known: it may use the same nodes and takes too many.
func (s *Site) wouldDelay(l *lane, q *queued, now model.Time) bool {
	h := &l.hold
	return q.need > h.nodes && h.known && !h.detailed && h.at != model.Never && now.Add(q.left) > h.at &&
		!q.borrows && q.class == s.jobs[h.ref].kind.class && l.policy.Backfill == Easy
}

// outlook finds the reservation of the blocked job where numbers of nodes decide it, so
// that most of those behind it need no closer look.
func (s *Site) outlook(l *lane, now model.Time) {
	if l.policy.Backfill == Easy && !l.hold.known && !s.delicate(l, &s.jobs[l.hold.ref]) {
		s.reserve(l, now)
	}
}

// trim takes those out of the candidates that surely do not start behind the
// blocked job, so that they need not be brought into order.
func (s *Site) trim(l *lane, now model.Time, room *candidates) {
	if len(room.h) > 0 {
		s.outlook(l, now)
	}
	kept := room.h[:0]
	for _, c := range room.h {
		if s.jobs[c.ref].phase == running || !s.hopeless(l, s.entry(l, &c), now) {
			kept = append(kept, c)
		}
	}
	room.h = kept
	room.leading = false
	room.init()
}

// entry is where a candidate stands in the queue.
func (s *Site) entry(l *lane, c *candidate) *queued {
	if at := int(c.at); at < len(l.queue) && l.queue[at].ref == c.ref {
		return &l.queue[at]
	}
	return &l.queue[s.jobs[c.ref].pos]
}
