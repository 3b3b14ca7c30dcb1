package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/score"
	"orrery/scheduler/site/internal/waiting"
)

// When a vCluster looks at its queue, and how long nothing can change there.

// turn says whether l makes a pass now.
func (s *Core) turn(qs *queueState, now model.Time) bool {
	p := qs.policy
	if p.Cycle == 0 {
		return qs.dirty || qs.minScoreAt <= now || s.boundary(now) || (qs.timeline != nil && qs.plans.due <= now) || s.callFreshJobs(qs, now)
	}
	if now == qs.lastPass || now.Grid(p.Cycle, p.Phase) != now {
		return false
	}
	qs.lastPass = now // also where nothing can change at this tick: there is one in an instant
	return qs.dirty || qs.quietUntil <= now || s.cfg.EveryCycle || s.unsettled(qs, now) || s.callFreshJobs(qs, now)
}

// unsettled says whether the accounting ticks since the last pass have changed
// what the scores of l are made of; if not, the next one may.
func (s *Core) unsettled(qs *queueState, now model.Time) bool {
	if qs.accountsAt > now || s.figures(qs) {
		return qs.accountsAt <= now
	}
	qs.accountsAt = s.book.NextTick(now)
	return false
}

// due is the next instant at which l must look at its queue.
func (s *Core) due(qs *queueState, now model.Time) model.Time {
	if len(qs.waiting.Jobs) == 0 && len(qs.services) == 0 && !qs.keepsNodes() { // who kept its nodes lends from the next pass on
		return model.Never
	}
	p := qs.policy
	if p.Cycle == 0 {
		if qs.dirty || len(qs.fresh) > 0 {
			return now
		}
		at := min(qs.minScoreAt, s.nextBoundary(now))
		if qs.timeline != nil {
			at = min(at, qs.plans.due)
		}
		return at
	}
	from := min(qs.quietUntil, qs.accountsAt)
	if qs.dirty || len(qs.fresh) > 0 || s.cfg.EveryCycle {
		from = now
	}
	if from == model.Never {
		return model.Never
	}
	from = max(from, now)
	if qs.lastPass == from {
		from++
	}
	return from.Grid(p.Cycle, p.Phase)
}

// boundary says whether an advance reservation begins or ends at now, which may
// open nodes; nextBoundary is the next such instant.
func (s *Core) boundary(now model.Time) bool {
	for i := range s.site.Reservations {
		if r := &s.site.Reservations[i]; r.End == now || r.Start == now {
			return true
		}
	}
	return false
}

func (s *Core) nextBoundary(now model.Time) model.Time {
	at := model.Never
	for i := range s.site.Reservations {
		r := &s.site.Reservations[i]
		if r.Start > now {
			at = min(at, r.Start)
		}
		if r.End > now {
			at = min(at, r.End)
		}
	}
	return at
}

// boundNextChange bounds from below the instant at which the next pass could decide
// anything else, when all that keeps jobs from starting is the reservation. Only those of
// contenders may come before the blocked job, or any job if all is set.
func (s *Core) boundNextChange(qs *queueState, now model.Time, anyFits bool, contenders []model.Ref, all bool) {
	p := qs.policy
	if p.MinScore == 0 && (!qs.blocked || (!anyFits && !p.Preempts)) {
		return
	}
	if p.Ranking != ByScore || p.Expected || p.MinScore > 0 || len(s.site.Reservations) > 0 || len(s.holds) > 0 {
		qs.quietUntil = now
		return
	}
	qs.accountsAt = s.book.NextTick(now)
	qs.quietUntil = min(max(qs.ends.First(), now), now.Add(foresight))
	s.untilOvertaken(qs, now, contenders, all)
}

// foresight bounds for how long a pass looks ahead for somebody who overtakes: the
// further, the more jobs have to be looked at closely.
const foresight = 10 * model.Minute

// untilOvertaken brings l.quiet down to a bound on the instant at which somebody
// comes before the blocked job. In a time d nobody's wait factor grows by more
// than that of a job submitted at its beginning, so that most are not looked at
// closely. Who cannot come first within the foresight does not count, so that it makes
// no difference whom the pass has looked at beside those who may.
func (s *Core) untilOvertaken(qs *queueState, now model.Time, contenders []model.Ref, all bool) {
	hq := qs.waiting.Row(qs.reservation.ref)
	w2, top := qs.policy.Weights[score.Wait], hq.Key
	growth := score.Term(w2, qs.waiting.Factor(qs.quietUntil.Sub(now))) + 2
	horizon := now.Add(foresight)
	look := func(q *waiting.Job) {
		gap := top - q.Key
		if q.Ref == hq.Ref || q.Tier < hq.Tier || gap < 0 || gap > growth { // it is before h already and held by a limit, or far behind
			return
		}
		if qs.composite(q.Static, qs.waiting.Term(q.Submit, horizon), q.Tenant, q.Class, q.Need) >= top {
			qs.quietUntil = min(qs.quietUntil, s.overtaking(qs, q, hq, now))
		}
	}
	for _, ref := range contenders {
		look(qs.waiting.Row(ref))
	}
	for i := 0; all && i < len(qs.waiting.Jobs); i++ {
		look(&qs.waiting.Jobs[i])
	}
}

// overtaking is a bound on the instant at which q, which is behind h by their keys,
// comes before it.
func (s *Core) overtaking(qs *queueState, q, h *waiting.Job, now model.Time) model.Time {
	return now.Add(score.Overtake(h.Key-q.Key, qs.policy.Weights[score.Wait], qs.terms.Penalty[q.Tenant], qs.terms.Penalty[h.Tenant], now.Sub(q.Submit), now.Sub(h.Submit), qs.policy.Reference))
}

// patience is for how long a vCluster on a cycle looks whether somebody else comes
// first, while nothing runs and nothing happens. Without it, a replay in which the
// first job never starts would have no end.
const patience = model.Day

// outlasts says whether the next tick at which l would look again is beyond its
// patience.
func (s *Core) beyondPatience(qs *queueState, now model.Time) bool {
	p := qs.policy
	return p.Cycle > 0 && max(min(qs.quietUntil, qs.accountsAt), now+1).Grid(p.Cycle, p.Phase) > s.lastFact.Add(patience)
}

// still says whether nothing runs and nothing is asked for.
func (s *Core) still() bool {
	if len(s.active) > 0 {
		return false
	}
	for i := range s.vclusters {
		if len(s.vclusters[i].inFlight) > 0 {
			return false
		}
	}
	return true
}
