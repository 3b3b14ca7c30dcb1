package scheduler

import (
	"math"
	"math/bits"

	"orrery/scheduler/model"
	"orrery/scheduler/score"
)

// In most passes the best job of the queue is the one that was blocked in the last
// pass, and it still is. To know that takes an upper bound on the scores of the
// others, and the scores themselves of the few whose bound reaches the best.

// simple says whether the pass of l may be of that kind: jobs go by their scores, and
// only who starts matters.
func (s *Site) simple(l *lane) bool {
	p := l.policy
	return p.Ranking == ByScore && !p.Expected && p.MinScore == 0 && p.Backfill != FirstFit && s.cfg.Explain == nil && len(s.claims) == 0
}

// passBehind starts the best jobs as long as they have room, and then looks behind
// the one that is blocked. It says whether the pass is made; if not, the rest of the
// queue has to be looked at in order. s.fits is who may have room.
func (s *Site) passBehind(l *lane, now model.Time) bool {
	first := len(s.plan.Proposals)
	for leads := 0; !l.blocked; leads++ {
		if leads == mostLeads {
			return false
		}
		i := s.best(l, now, leads > 0)
		if i < 0 {
			return true
		}
		if q := &l.queue[i]; s.mayFit(l, q) {
			s.meet(l, now, candidate{int64(q.key), q.tier, q.ref, int32(i)})
		} else {
			s.block(l, now, q.ref, model.ReasonResources)
		}
	}
	if len(s.plan.Proposals) > first {
		s.findFits(l)
	}
	if l.policy.Backfill != Easy {
		l.behind = len(s.fits) > 0
		return true
	}
	s.harmlessFits(l, now)
	room := candidates{s: s, l: l, now: now, h: s.room}
	s.keys(l, room.h, now)
	room.init()
	for len(room.h) > 0 && s.anyRoom(l) {
		if c := room.h[0]; c.ref != l.hold.ref {
			s.meet(l, now, c)
		}
		room.pop()
	}
	return true
}

// harmlessFits makes candidates of those of s.fits whom no limit holds and who do not
// surely delay the blocked job.
func (s *Site) harmlessFits(l *lane, now model.Time) {
	if len(s.fits) > 0 {
		s.outlook(l, now)
	}
	s.room = s.room[:0]
	for _, i := range s.fits {
		q := &l.queue[i]
		if c := (candidate{0, q.tier, q.ref, i}); !s.wouldDelay(l, q, now) && s.held(l, c, now) == model.ReasonNone {
			s.room = append(s.room, c)
		}
	}
}

// mostLeads bounds how often a pass looks for the best job of all: from then on it is
// cheaper to bring everybody into order.
const mostLeads = 4

// best is the index of the best job of the queue that no limit holds, -1 for none.
// Those who may overtake it within the foresight are gathered in l.near, with their
// scores. again says that this pass has asked before, so that the bounds are known.
func (s *Site) best(l *lane, now model.Time, again bool) int {
	best, tier, top := -1, int32(math.MinInt32), model.Fixed(math.MinInt64)
	l.near = l.near[:0]
	look := func(i int) {
		q := &l.queue[i]
		s.weigh(l, q, now)
		q.key = s.scoreOfQueued(l, q)
		l.near = append(l.near, q.ref)
		better := q.tier > tier || q.key > top || (q.key == top && s.jobs[q.ref].id < s.jobs[l.queue[best].ref].id)
		if better && s.held(l, candidate{ref: q.ref}, now) == model.ReasonNone {
			best, tier, top = i, q.tier, q.key
		}
	}
	last := -1
	if ref := l.last; ref >= 0 && s.jobs[ref].phase == waiting && s.jobs[ref].lane == l {
		last = int(s.jobs[ref].pos)
		look(last)
	}
	for i := range l.shapes {
		if sh := &l.shapes[i]; sh.jobs > 0 {
			sh.nodes = s.groupOf(l, sh.class)
		}
	}
	queue := l.queue
	if !again {
		b := bounds{now.Add(foresight), l.global + slack, l.policy.Weights[score.Conformance], l.shapes, l.tenant, l.penalty}
		for i := range queue {
			queue[i].bound = b.of(&queue[i])
		}
	}
	for i := range queue {
		if q := &queue[i]; i != last && (q.tier > tier || (q.tier == tier && q.bound >= top)) {
			look(i)
		}
	}
	l.last = -1
	if best >= 0 {
		l.last = l.queue[best].ref
	}
	return best
}

// weigh brings the wait of a job in the queue up to date.
func (s *Site) weigh(l *lane, q *queued, now model.Time) {
	w2, waited := l.policy.Weights[score.Wait], now.Sub(q.submit)
	q.seen = now
	q.wait = w2.Mul(l.curve.Of(waited))
	q.rate = score.Rate(w2, waited, l.policy.Reference)
}

// slack is more than what the rounding of two waits and of their terms can add up
// to, for weights of at most 1.
const slack = 5

// bounds is what upper bounds on the scores of a queue have in common, up to an
// instant and by what else is true now.
type bounds struct {
	until   model.Time
	global  model.Fixed // what all have, and the slack
	most    model.Fixed // weighted f9
	shapes  []shape
	tenant  []model.Fixed
	penalty []model.Fixed
}

// of is at least the score of a job in the queue: from when it was weighed its wait
// has grown along the tangent. Cost: three multiplications.
func (b *bounds) of(q *queued) model.Fixed {
	hi, lo := bits.Mul64(q.rate, uint64(b.until-q.seen))
	if hi >= 1<<30 {
		return math.MaxInt64
	}
	sum := q.static + q.wait + model.Fixed(hi<<32|lo>>32) + b.tenant[q.tenant] + b.global + min(b.most, model.Fixed(b.shapes[q.shape].nodes)*q.nine)
	if p := b.penalty[q.tenant]; p != model.One {
		hi, lo = bits.Mul64(uint64(p), uint64(sum))
		return model.Fixed(hi<<32|lo>>32) + 1
	}
	return sum
}

// newcomers says whether those who joined the queue since the last pass call for
// another. They do not when all that pass knew still holds, and each of them comes
// after the blocked job and has no room, or would delay it.
func (s *Site) newcomers(l *lane, now model.Time) bool {
	if len(l.fresh) == 0 {
		return false
	}
	if !l.known || l.quiet <= now || s.figures(l) {
		return true
	}
	s.freeze(l)
	for _, ref := range l.fresh {
		j := &s.jobs[ref]
		if j.phase != waiting || j.lane != l {
			continue
		}
		q := &l.queue[j.pos]
		if !q.plain || (l.hold.ref < 0 && l.freeOf(q.shape) >= q.need) || (l.hold.ref >= 0 && s.matters(l, q, now)) {
			return true
		}
	}
	l.fresh = l.fresh[:0]
	return false
}

// matters says whether a newcomer may start, or come before the blocked job; if not,
// l.quiet is brought down to when it may do the latter.
func (s *Site) matters(l *lane, q *queued, now model.Time) bool {
	h := &l.queue[s.jobs[l.hold.ref].pos]
	for _, x := range [...]*queued{q, h} {
		s.weigh(l, x, now)
		x.key = s.scoreOfQueued(l, x)
	}
	if q.tier > h.tier || (q.tier == h.tier && q.key >= h.key) || (l.freeOf(q.shape) >= q.need && !s.wouldDelay(l, q, now)) {
		return true
	}
	if q.tier == h.tier {
		l.quiet = min(l.quiet, s.overtaking(l, q, h, now))
	}
	return l.quiet <= now
}
