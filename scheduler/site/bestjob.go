package site

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site/internal/caps"
	"orrery/scheduler/site/internal/waiting"
)

// In most passes the best job of the queue is the one that was blocked in the last
// pass, and it still is. To know that takes an upper bound on the scores of the
// others, and the scores themselves of the few whose bound reaches the best.

// simple says whether the pass of l may be of that kind: jobs go by their scores, and
// only who starts matters.
func (s *Core) onFastPath(qs *queueState) bool {
	return qs.policy.fastPath() && s.cfg.Explain == nil && len(s.holds) == 0
}

// passFast starts the best jobs as long as they have room, and then looks behind the
// one that is blocked. ok says whether that made the pass; if not, the rest of the queue
// has to be looked at in order. fits is the jobs that may have room. contenders are those
// that may come first within the foresight, with their scores; they are valid until the
// next call.
func (s *Core) passFast(qs *queueState, now model.Time, fits []model.Ref) (contenders []model.Ref, ok bool) {
	first := len(s.plan.Proposals)
	for leads := 0; !qs.blocked; leads++ {
		if leads == mostLeads {
			return nil, false
		}
		var i int32
		if i, contenders = s.best(qs, now); i < 0 {
			return contenders, true
		}
		if q := &qs.waiting.Jobs[i]; s.mayFit(qs, q) {
			s.tryStart(qs, now, order.Candidate{Key: int64(q.Key), Tier: q.Tier, Ref: q.Ref, At: i})
		} else {
			s.block(qs, now, q.Ref, model.ReasonResources)
		}
	}
	if len(s.plan.Proposals) > first {
		fits = s.findFits(qs)
	}
	if qs.policy.Backfill != order.Easy {
		qs.orderHolds = len(fits) > 0
		return contenders, true
	}
	room := s.heap(qs, now, s.harmlessOf(qs, now, fits))
	s.keys(qs, room.List, now)
	room.Init()
	for len(room.List) > 0 && s.anyRoom(qs) {
		if c := room.List[0]; c.Ref != qs.reservation.ref {
			s.tryStart(qs, now, c)
		}
		room.Pop()
	}
	return contenders, true
}

// harmlessOf makes candidates of those of fits that no limit holds and that do not surely
// delay the blocked job. They are valid until the next pass.
func (s *Core) harmlessOf(qs *queueState, now model.Time, fits []model.Ref) []order.Candidate {
	if len(fits) > 0 {
		s.ensureReservation(qs, now)
	}
	room := s.room[:0]
	for _, ref := range fits {
		i := qs.waiting.At(ref)
		q := &qs.waiting.Jobs[i]
		if c := (order.Candidate{Tier: q.Tier, Ref: ref, At: i}); !s.wouldDelay(qs, q, now) && s.held(qs, c, now) == model.ReasonNone {
			room = append(room, c)
		}
	}
	s.room = room
	return room
}

// findFits is the jobs that may have room, valid until the next call. Its cost is that of
// the answer and of the request sizes.
func (s *Core) findFits(qs *queueState) []model.Ref {
	fits := qs.waiting.Fitting(qs.scratch.fits[:0], s.offered)
	if s.offered > 0 || s.caps.Cap != (caps.Usage{}) { // else the numbers of nodes decide alone
		fits = slices.DeleteFunc(fits, func(ref model.Ref) bool { return !s.mayFit(qs, qs.waiting.Row(ref)) })
	}
	qs.scratch.fits = fits
	return fits
}

// mostLeads bounds how often a pass looks for the best job of all: from then on it is
// cheaper to bring the whole queue into order.
const mostLeads = 16

// best is the index of the best job of the queue that no limit holds, -1 for none.
// contenders are the jobs that may overtake it within the foresight, with their scores;
// they are valid until the next call.
func (s *Core) best(qs *queueState, now model.Time) (at int32, contenders []model.Ref) {
	b := qs.waiting.Bounds(now, now.Add(foresight), &qs.terms, qs.groupOf)
	lead, contenders := waiting.NoLeader, qs.scratch.contenders[:0]
	examine := func(at int32) bool {
		contenders = append(contenders, qs.waiting.Jobs[at].Ref)
		return s.examine(qs, now, &lead, at)
	}
	if ref := qs.best; ref >= 0 && qs.waiting.Has(ref) {
		examine(qs.waiting.At(ref))
	}
	if lead.At < 0 {
		if ref := b.Promising(); ref >= 0 && !slices.Contains(contenders, ref) {
			examine(qs.waiting.At(ref))
		}
	}
	b.Examine(&lead, contenders, examine)
	if qs.best = -1; lead.At >= 0 {
		qs.best = qs.waiting.Jobs[lead.At].Ref
	}
	qs.scratch.contenders = contenders
	return lead.At, contenders
}

// examine makes the job at an index of the queue, of the tier of the leader or a higher
// one, the leader if it is better and no limit holds it, and says so.
func (s *Core) examine(qs *queueState, now model.Time, lead *waiting.Leader, at int32) bool {
	q := &qs.waiting.Jobs[at]
	q.Key = qs.score(q, now)
	better := q.Tier > lead.Tier || q.Key > lead.Key || (q.Key == lead.Key && s.jobs[q.Ref].Job < s.jobs[qs.waiting.Jobs[lead.At].Ref].Job)
	if !better || s.held(qs, order.Candidate{Ref: q.Ref}, now) != model.ReasonNone {
		return false
	}
	*lead = waiting.Leader{At: at, Tier: q.Tier, Key: q.Key}
	return true
}

// newcomers says whether those who joined the queue since the last pass call for
// another. They do not when all that pass knew still holds, and each of them comes
// after the blocked job and has no room, or would delay it.
func (s *Core) callFreshJobs(qs *queueState, now model.Time) bool {
	if len(qs.fresh) == 0 {
		return false
	}
	if !qs.settled || qs.quietUntil <= now || s.figures(qs) {
		return true
	}
	s.freeze(qs)
	for _, ref := range qs.fresh {
		if !qs.waiting.Has(ref) {
			continue
		}
		q := qs.waiting.Row(ref)
		if !q.Plain || (qs.reservation.ref < 0 && qs.waiting.Free(q.Size) >= q.Need) || (qs.reservation.ref >= 0 && s.matters(qs, q, now)) {
			return true
		}
	}
	qs.fresh = qs.fresh[:0]
	return false
}

// matters says whether a newcomer may start, or come before the blocked job; if not,
// l.quiet is brought down to when it may do the latter.
func (s *Core) matters(qs *queueState, q *waiting.Job, now model.Time) bool {
	h := qs.waiting.Row(qs.reservation.ref)
	for _, x := range [...]*waiting.Job{q, h} {
		x.Key = qs.score(x, now)
	}
	if q.Tier > h.Tier || (q.Tier == h.Tier && q.Key >= h.Key) || (qs.waiting.Free(q.Size) >= q.Need && !s.wouldDelay(qs, q, now)) {
		return true
	}
	if q.Tier == h.Tier {
		qs.quietUntil = min(qs.quietUntil, s.overtaking(qs, q, h, now))
	}
	return qs.quietUntil <= now
}
