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
func (s *Core) onFastPath(qs *queueState) bool {
	return qs.policy.fastPath() && s.cfg.Explain == nil && len(s.holds) == 0
}

// passBehind starts the best jobs as long as they have room, and then looks behind
// the one that is blocked. It says whether the pass is made; if not, the rest of the
// queue has to be looked at in order. s.fits is who may have room.
func (s *Core) passFast(qs *queueState, now model.Time) bool {
	first := len(s.plan.Proposals)
	for leads := 0; !qs.blocked; leads++ {
		if leads == mostLeads {
			return false
		}
		i := s.best(qs, now)
		if i < 0 {
			return true
		}
		if q := &qs.waiting[i]; s.mayFit(qs, q) {
			s.tryStart(qs, now, order.Candidate{Key: int64(q.key), Tier: q.tier, Ref: q.ref, At: int32(i)})
		} else {
			s.block(qs, now, q.ref, model.ReasonResources)
		}
	}
	if len(s.plan.Proposals) > first {
		s.findFits(qs)
	}
	if qs.policy.Backfill != order.Easy {
		qs.orderHolds = len(s.fits) > 0
		return true
	}
	s.harmlessFits(qs, now)
	room := s.heap(qs, now, s.room)
	s.keys(qs, room.List, now)
	room.Init()
	for len(room.List) > 0 && s.anyRoom(qs) {
		if c := room.List[0]; c.Ref != qs.reservation.ref {
			s.tryStart(qs, now, c)
		}
		room.Pop()
	}
	return true
}

// harmlessFits makes candidates of those of s.fits whom no limit holds and who do not
// surely delay the blocked job.
func (s *Core) harmlessFits(qs *queueState, now model.Time) {
	if len(s.fits) > 0 {
		s.ensureReservation(qs, now)
	}
	s.room = s.room[:0]
	for _, ref := range s.fits {
		i := s.jobs[ref].pos
		q := &qs.waiting[i]
		if c := (order.Candidate{Tier: q.tier, Ref: ref, At: i}); !s.wouldDelay(qs, q, now) && s.held(qs, c, now) == model.ReasonNone {
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
func (s *Core) best(qs *queueState, now model.Time) int {
	for i := range qs.sizes {
		if sh := &qs.sizes[i]; len(sh.waiting) > 0 {
			sh.group = s.groupOf(qs, sh.class)
		}
	}
	s.refresh(qs, now)
	b := bounds{now.Add(foresight), qs.global + slack, qs.policy.Weights[score.Conformance], qs.sizes, qs.tenant, qs.penalty, nil}
	x := leader{-1, math.MinInt32, -1}
	qs.contenders = qs.contenders[:0]
	if ref := qs.best; ref >= 0 && s.jobs[ref].phase == waiting && s.jobs[ref].queue == qs {
		s.examine(qs, now, &x, int(s.jobs[ref].pos))
	}
	if x.at < 0 {
		if ref := qs.promising(&b); ref >= 0 && !slices.Contains(qs.contenders, ref) {
			s.examine(qs, now, &x, int(s.jobs[ref].pos))
		}
	}
	b.known = qs.contenders
	for _, t := range qs.index.live {
		s.examineTenant(qs, now, &b, &x, t)
	}
	if qs.best = -1; x.at >= 0 {
		qs.best = qs.waiting[x.at].ref
	}
	return x.at
}

// lookInto looks at the jobs of a tenant who may be the leader.
func (s *Core) examineTenant(qs *queueState, now model.Time, b *bounds, x *leader, tenant int32) {
	floor := qs.floor(tenant, x.key)
	for i := range qs.index.byTenant[tenant] {
		c := &qs.index.byTenant[tenant][i]
		if c.tier < x.tier || (c.tier == x.tier && c.own+b.most < floor) {
			return // and so are all below
		}
		if c.tier == x.tier && b.reach(c) < floor {
			continue
		}
		j := &s.jobs[c.ref]
		q := &qs.waiting[j.pos]
		if (c.tier > x.tier || b.of(q) >= x.key) && !slices.Contains(b.known, c.ref) && s.examine(qs, now, x, int(j.pos)) {
			floor = qs.floor(tenant, x.key)
		}
	}
}

// look makes the job at i of the queue, of that tier or a higher one, the leader if it is
// better and no limit holds it, and says so.
func (s *Core) examine(qs *queueState, now model.Time, x *leader, i int) bool {
	q := &qs.waiting[i]
	s.weigh(qs, q, now)
	q.key = s.scoreOfQueued(qs, q)
	qs.contenders = append(qs.contenders, q.ref)
	better := q.tier > x.tier || q.key > x.key || (q.key == x.key && s.jobs[q.ref].Job < s.jobs[qs.waiting[x.at].ref].Job)
	if !better || s.held(qs, order.Candidate{Ref: q.ref}, now) != model.ReasonNone {
		return false
	}
	*x = leader{i, q.tier, q.key}
	return true
}

// weigh brings the wait of a job in the queue up to date.
func (s *Core) weigh(qs *queueState, q *waitingJob, now model.Time) {
	if q.seen == now {
		return
	}
	w2, waited := qs.policy.Weights[score.Wait], now.Sub(q.submit)
	q.seen = now
	q.wait = w2.Mul(qs.curve.Of(waited))
	q.rate = score.Rate(w2, waited, qs.policy.Reference)
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
	sizes   []sizeClass
	tenant  []model.Fixed
	penalty []model.Fixed
	known   []model.Ref // who has been looked at beforehand
}

// of is at least the score of a job in the queue: from when it was weighed its wait
// has grown along the tangent. Cost: three multiplications.
func (b *bounds) of(q *waitingJob) model.Fixed {
	hi, lo := bits.Mul64(q.rate, uint64(b.until-q.seen))
	if hi >= 1<<30 {
		return math.MaxInt64
	}
	sum := q.static + q.wait + model.Fixed(hi<<32|lo>>32) + b.tenant[q.tenant] + b.global + min(b.most, model.Fixed(b.sizes[q.size].group)*q.perNode)
	if p := b.penalty[q.tenant]; p != model.One {
		hi, lo = bits.Mul64(uint64(p), uint64(sum))
		return model.Fixed(hi<<32|lo>>32) + 1
	}
	return sum
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
		j := &s.jobs[ref]
		if j.phase != waiting || j.queue != qs {
			continue
		}
		q := &qs.waiting[j.pos]
		if !q.plain || (qs.reservation.ref < 0 && qs.freeOf(q.size) >= q.need) || (qs.reservation.ref >= 0 && s.matters(qs, q, now)) {
			return true
		}
	}
	qs.fresh = qs.fresh[:0]
	return false
}

// matters says whether a newcomer may start, or come before the blocked job; if not,
// l.quiet is brought down to when it may do the latter.
func (s *Core) matters(qs *queueState, q *waitingJob, now model.Time) bool {
	h := &qs.waiting[s.jobs[qs.reservation.ref].pos]
	for _, x := range [...]*waitingJob{q, h} {
		s.weigh(qs, x, now)
		x.key = s.scoreOfQueued(qs, x)
	}
	if q.tier > h.tier || (q.tier == h.tier && q.key >= h.key) || (qs.freeOf(q.size) >= q.need && !s.wouldDelay(qs, q, now)) {
		return true
	}
	if q.tier == h.tier {
		qs.quietUntil = min(qs.quietUntil, s.overtaking(qs, q, h, now))
	}
	return qs.quietUntil <= now
}
