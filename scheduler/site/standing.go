package site

import (
	"cmp"
	"math"
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site/internal/future"
)

// Queue implements scheduler.Questions. What all scores have in common is as of the last pass that compared jobs.
func (s *Core) Queue(now model.Time, dst []scheduler.Standing) []scheduler.Standing {
	for i := range s.vclusters {
		qs := &s.vclusters[i]
		p := &pass{core: s, qs: qs, now: now, heeding: s.promises.toOthers(qs)}
		for at, c := range inOrder(p) {
			x := standingOf(&s.jobs[c.Ref])
			x.Position, x.Start = int32(at)+1, p.predictedStart(c.Ref)
			x.Score, x.Scored = s.standing(c.Ref)
			dst = append(dst, x)
		}
	}
	for ref := range s.jobs {
		switch s.jobs[ref].phase {
		case dependent, early, unwanted, proposed:
			dst = append(dst, standingOf(&s.jobs[ref]))
		}
	}
	return dst
}

// standingOf is what is known of a job whether it is in a queue or not.
func standingOf(j *job) scheduler.Standing {
	x := scheduler.Standing{Job: j.Job, VCluster: j.VCluster, Proposed: j.phase == proposed, Start: model.AbsentTime}
	x.Reason, x.Behind = j.note.Noted()
	return x
}

// inOrder is the queue in order. Jobs whose priority is not known yet come last.
func inOrder(p *pass) []order.Candidate {
	list := make([]order.Candidate, len(p.qs.waiting.Jobs))
	for i := range list {
		c := &list[i]
		c.Ref, c.At = p.qs.waiting.Jobs[i].Ref, int32(i)
		c.Tier, c.Key = p.rankTier(c.Ref), math.MinInt64
		switch e, ok := p.core.standing(c.Ref); {
		case p.qs.policy.Ranking == ByScore:
			c.Key = int64(e.Score)
		case ok || p.qs.policy.Ranking == ByOrder:
			c.Key = p.keyOf(&p.core.jobs[c.Ref])
		}
	}
	h := p.heap(list)
	slices.SortFunc(list, func(a, b order.Candidate) int { //detlint:total ids of jobs end the order of the queue
		switch {
		case p.qs.mode.scoreOnly && a.Key != b.Key: // before the tiers of partitions
			return cmp.Compare(b.Key, a.Key)
		case h.Before(&a, &b):
			return -1
		}
		return 1
	})
	return list
}

// predictedStart is the instant of the plan or, of the first blocked job under easy, that at
// which it has room by the predicted ends as they are now, or is promised what is lent.
func (p *pass) predictedStart(ref model.Ref) model.Time {
	qs := p.qs
	switch {
	case qs.policy.plans():
		return qs.plan.At(ref)
	case qs.policy.Backfill == order.Easy && qs.blocked && qs.reservation.Ref == ref:
		found := qs.reservation
		qs.reservation = future.NewReservation(p.core.space.NewFree())
		qs.reservation.Ref = ref
		at := p.reserve().At
		if qs.reservation = found; at != model.Never {
			return at
		}
		if i := p.core.promises.of(ref); i >= 0 { // of what is lent
			return max(p.core.promises.list[i].at, p.now)
		}
	}
	return model.AbsentTime
}
