package site

import (
	"cmp"
	"math"
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// Queue implements scheduler.Questions.
func (s *Core) Queue(now model.Time, dst []scheduler.Standing) []scheduler.Standing {
	for i := range s.vclusters {
		dst = openInquiry(s, &s.vclusters[i], now).queue(dst)
	}
	for ref := range s.jobs {
		switch s.jobs[ref].phase {
		case dependent, early, unwanted, proposed:
			dst = append(dst, standingOf(&s.jobs[ref], aside(s, model.Ref(ref), now)))
		}
	}
	return dst
}

// queue appends how the jobs of the queue stand, and closes the inquiry.
func (a *inquiry) queue(dst []scheduler.Standing) []scheduler.Standing {
	defer a.close()
	for at, c := range a.inOrder() {
		x := standingOf(&a.pass.core.jobs[c.Ref], a.answer(c.Ref, false))
		x.Position, x.Start = int32(at)+1, a.predictedStart(c.Ref)
		x.Score, x.Scored = a.standing(c.Ref)
		dst = append(dst, x)
	}
	return dst
}

// standingOf is what is known of a job whether it is in a queue or not.
func standingOf(j *job, answer scheduler.Answer) scheduler.Standing {
	x := scheduler.Standing{Job: j.Job, VCluster: j.VCluster, Proposed: j.phase == proposed, Start: model.AbsentTime}
	x.Reason, x.Behind = answer.Reason, answer.Behind
	return x
}

// inOrder is the queue in order. Jobs whose priority is not known yet come last.
func (a *inquiry) inOrder() []order.Candidate {
	p := &a.pass
	list := make([]order.Candidate, len(p.qs.waiting.Jobs))
	for i := range list {
		c := &list[i]
		c.Ref, c.At = p.qs.waiting.Jobs[i].Ref, int32(i)
		c.Tier, c.Key = p.ranking().rankTier(c.Ref), math.MinInt64
		switch e, ok := a.standing(c.Ref); {
		case p.qs.policy.Ranking == ByScore:
			c.Key = int64(e.Score)
		case ok || p.qs.policy.Ranking == ByOrder:
			c.Key = p.ranking().keyOf(&p.core.jobs[c.Ref])
		}
	}
	h := p.ranking().heap(list)
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
func (a *inquiry) predictedStart(ref model.Ref) model.Time {
	p := &a.pass
	switch {
	case p.qs.policy.plans():
		return a.was.plan.At(ref)
	case p.qs.policy.Backfill == order.Easy && a.ahead() == ref:
		if at := p.easy().reservation().At; at != model.Never {
			return at
		}
		if x := p.core.promises.Find(ref); x != nil { // of what is lent
			return max(x.At, p.now)
		}
	}
	return model.AbsentTime
}
