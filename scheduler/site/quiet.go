package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/score"
)

// When a vCluster looks at its queue, and how long nothing can change there.

// turn says whether l makes a pass now.
func (s *Core) turn(l *lane, now model.Time) bool {
	p := l.policy
	if p.Cycle == 0 {
		return l.dirty || l.release <= now || s.boundary(now) || (l.timeline != nil && l.plans.due <= now) || s.newcomers(l, now)
	}
	if now == l.passed || now.Grid(p.Cycle, p.Phase) != now {
		return false
	}
	l.passed = now // also where nothing can change at this tick: there is one in an instant
	return l.dirty || l.quiet <= now || s.cfg.EveryCycle || s.unsettled(l, now) || s.newcomers(l, now)
}

// unsettled says whether the accounting ticks since the last pass have changed
// what the scores of l are made of; if not, the next one may.
func (s *Core) unsettled(l *lane, now model.Time) bool {
	if l.tick > now || s.figures(l) {
		return l.tick <= now
	}
	l.tick = s.book.NextTick(now)
	return false
}

// due is the next instant at which l must look at its queue.
func (s *Core) due(l *lane, now model.Time) model.Time {
	if len(l.queue) == 0 && len(l.services) == 0 && !l.keeps() { // who kept its nodes lends from the next pass on
		return model.Never
	}
	p := l.policy
	if p.Cycle == 0 {
		if l.dirty || len(l.fresh) > 0 {
			return now
		}
		at := min(l.release, s.nextBoundary(now))
		if l.timeline != nil {
			at = min(at, l.plans.due)
		}
		return at
	}
	from := min(l.quiet, l.tick)
	if l.dirty || len(l.fresh) > 0 || s.cfg.EveryCycle {
		from = now
	}
	if from == model.Never {
		return model.Never
	}
	from = max(from, now)
	if l.passed == from {
		from++
	}
	return from.Grid(p.Cycle, p.Phase)
}

// keeps says whether l lends nothing, for some of its own want its nodes.
func (l *lane) keeps() bool { return l.blocked || l.hungry }

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

// quieten bounds from below the instant at which the next pass could decide
// anything else, when all that keeps jobs from starting is the reservation.
func (s *Core) quieten(l *lane, now model.Time) {
	p := l.policy
	if p.MinScore == 0 && (!l.blocked || (len(s.fits) == 0 && !p.Preempts)) {
		return
	}
	if p.Ranking != ByScore || p.Expected || p.MinScore > 0 || len(s.site.Reservations) > 0 || len(s.claims) > 0 {
		l.quiet = now
		return
	}
	l.tick = s.book.NextTick(now)
	l.quiet = min(max(l.ends.First(), now), now.Add(foresight))
	s.untilOvertaken(l, now)
}

// foresight bounds for how long a pass looks ahead for somebody who overtakes: the
// further, the more jobs have to be looked at closely.
const foresight = 10 * model.Minute

// untilOvertaken brings l.quiet down to a bound on the instant at which somebody
// comes before the blocked job. In a time d nobody's wait factor grows by more
// than that of a job submitted at its beginning, so that most are not looked at
// closely. Who cannot come first within the foresight does not count, so that it makes
// no difference whom the pass has looked at beside those who may.
func (s *Core) untilOvertaken(l *lane, now model.Time) {
	h := &s.jobs[l.hold.ref]
	hq := &l.queue[h.pos]
	w2, top := l.policy.Weights[score.Wait], hq.key
	growth := score.Term(w2, l.curve.Of(l.quiet.Sub(now))) + 2
	horizon := now.Add(foresight)
	look := func(q *queued) {
		gap := top - q.key
		if q.ref == hq.ref || q.tier < hq.tier || gap < 0 || gap > growth { // it is before h already and held by a limit, or far behind
			return
		}
		later := *q
		later.wait = w2.Mul(l.curve.Of(horizon.Sub(q.submit)))
		if s.scoreOfQueued(l, &later) >= top {
			l.quiet = min(l.quiet, s.overtaking(l, q, hq, now))
		}
	}
	if l.swift {
		for _, ref := range l.near {
			look(&l.queue[s.jobs[ref].pos])
		}
		return
	}
	for i := range l.queue {
		look(&l.queue[i])
	}
}

// overtaking is a bound on the instant at which q, which is behind h by their keys,
// comes before it.
func (s *Core) overtaking(l *lane, q, h *queued, now model.Time) model.Time {
	return now.Add(score.Overtake(h.key-q.key, l.policy.Weights[score.Wait], l.penalty[q.tenant], l.penalty[h.tenant], now.Sub(q.submit), now.Sub(h.submit), l.policy.Reference))
}

// patience is for how long a vCluster on a cycle looks whether somebody else comes
// first, while nothing runs and nothing happens. Without it, a replay in which the
// first job never starts would have no end.
const patience = model.Day

// outlasts says whether the next tick at which l would look again is beyond its
// patience.
func (s *Core) outlasts(l *lane, now model.Time) bool {
	p := l.policy
	return p.Cycle > 0 && max(min(l.quiet, l.tick), now+1).Grid(p.Cycle, p.Phase) > s.heard.Add(patience)
}

// still says whether nothing runs and nothing is asked for.
func (s *Core) still() bool {
	if len(s.active) > 0 {
		return false
	}
	for i := range s.lanes {
		if len(s.lanes[i].flying) > 0 {
			return false
		}
	}
	return true
}
