package site

import (
	"math"
	"math/bits"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/score"
)

// In most passes the best job of the queue is the one that was blocked in the last
// pass, and it still is. To know that takes an upper bound on the scores of the
// others, and the scores themselves of the few whose bound reaches the best.

// simple says whether the pass of l may be of that kind: jobs go by their scores, and
// only who starts matters.
func (s *Core) simple(l *lane) bool {
	return l.policy.ceilings() && s.cfg.Explain == nil && len(s.claims) == 0
}

// passBehind starts the best jobs as long as they have room, and then looks behind
// the one that is blocked. It says whether the pass is made; if not, the rest of the
// queue has to be looked at in order. s.fits is who may have room.
func (s *Core) passBehind(l *lane, now model.Time) bool {
	first := len(s.plan.Proposals)
	for leads := 0; !l.blocked; leads++ {
		if leads == mostLeads {
			return false
		}
		i := s.best(l, now)
		if i < 0 {
			return true
		}
		if q := &l.queue[i]; s.mayFit(l, q) {
			s.meet(l, now, order.Candidate{Key: int64(q.key), Tier: q.tier, Ref: q.ref, At: int32(i)})
		} else {
			s.block(l, now, q.ref, model.ReasonResources)
		}
	}
	if len(s.plan.Proposals) > first {
		s.findFits(l)
	}
	if l.policy.Backfill != order.Easy {
		l.behind = len(s.fits) > 0
		return true
	}
	s.harmlessFits(l, now)
	room := s.heap(l, now, s.room)
	s.keys(l, room.List, now)
	room.Init()
	for len(room.List) > 0 && s.anyRoom(l) {
		if c := room.List[0]; c.Ref != l.hold.ref {
			s.meet(l, now, c)
		}
		room.Pop()
	}
	return true
}

// harmlessFits makes candidates of those of s.fits whom no limit holds and who do not
// surely delay the blocked job.
func (s *Core) harmlessFits(l *lane, now model.Time) {
	if len(s.fits) > 0 {
		s.outlook(l, now)
	}
	s.room = s.room[:0]
	for _, ref := range s.fits {
		i := s.jobs[ref].pos
		q := &l.queue[i]
		if c := (order.Candidate{Tier: q.tier, Ref: ref, At: i}); !s.wouldDelay(l, q, now) && s.held(l, c, now) == model.ReasonNone {
			s.room = append(s.room, c)
		}
	}
}

// mostLeads bounds how often a pass looks for the best job of all: from then on it is
// cheaper to bring everybody into order.
const mostLeads = 16

// leader is the best job so far.
type leader struct {
	at   int // in the queue, -1 for nobody
	tier int32
	key  model.Fixed
}

// best is the index of the best job of the queue that no limit holds, -1 for none.
// Those who may overtake it within the foresight are gathered in l.near, with their
// scores.
func (s *Core) best(l *lane, now model.Time) int {
	for i := range l.shapes {
		if sh := &l.shapes[i]; len(sh.asks) > 0 {
			sh.nodes = s.groupOf(l, sh.class)
		}
	}
	s.refresh(l, now)
	b := bounds{now.Add(foresight), l.global + slack, l.policy.Weights[score.Conformance], l.shapes, l.tenant, l.penalty, nil}
	x := leader{-1, math.MinInt32, -1}
	l.near = l.near[:0]
	if ref := l.last; ref >= 0 && s.jobs[ref].phase == waiting && s.jobs[ref].lane == l {
		s.look(l, now, &x, int(s.jobs[ref].pos))
	}
	if x.at < 0 {
		if ref := l.promising(&b); ref >= 0 && !slices.Contains(l.near, ref) {
			s.look(l, now, &x, int(s.jobs[ref].pos))
		}
	}
	b.known = l.near
	for _, t := range l.lots.live {
		s.lookInto(l, now, &b, &x, t)
	}
	if l.last = -1; x.at >= 0 {
		l.last = l.queue[x.at].ref
	}
	return x.at
}

// lookInto looks at the jobs of a tenant who may be the leader.
func (s *Core) lookInto(l *lane, now model.Time, b *bounds, x *leader, tenant int32) {
	floor := l.floor(tenant, x.key)
	for i := range l.lots.of[tenant] {
		c := &l.lots.of[tenant][i]
		if c.tier < x.tier || (c.tier == x.tier && c.own+b.most < floor) {
			return // and so are all below
		}
		if c.tier == x.tier && b.reach(c) < floor {
			continue
		}
		j := &s.jobs[c.ref]
		q := &l.queue[j.pos]
		if (c.tier > x.tier || b.of(q) >= x.key) && !slices.Contains(b.known, c.ref) && s.look(l, now, x, int(j.pos)) {
			floor = l.floor(tenant, x.key)
		}
	}
}

// look makes the job at i of the queue, of that tier or a higher one, the leader if it is
// better and no limit holds it, and says so.
func (s *Core) look(l *lane, now model.Time, x *leader, i int) bool {
	q := &l.queue[i]
	s.weigh(l, q, now)
	q.key = s.scoreOfQueued(l, q)
	l.near = append(l.near, q.ref)
	better := q.tier > x.tier || q.key > x.key || (q.key == x.key && s.jobs[q.ref].Job < s.jobs[l.queue[x.at].ref].Job)
	if !better || s.held(l, order.Candidate{Ref: q.ref}, now) != model.ReasonNone {
		return false
	}
	*x = leader{i, q.tier, q.key}
	return true
}

// weigh brings the wait of a job in the queue up to date.
func (s *Core) weigh(l *lane, q *queued, now model.Time) {
	if q.seen == now {
		return
	}
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
	known   []model.Ref // who has been looked at beforehand
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
func (s *Core) newcomers(l *lane, now model.Time) bool {
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
func (s *Core) matters(l *lane, q *queued, now model.Time) bool {
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
