package plain

import (
	"slices"

	"orrery/scheduler/cluster"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// reservation is the hold of the first blocked job under Easy. It stays valid
// from pass to pass until capacity is released or the head changes; it is
// computed only when a job might backfill.
type reservation struct {
	known bool
	at    model.Time
	extra int32 // capacity left over at that instant
	// forecast, where jobs ask for shares of single nodes, is what is free at that instant,
	// less the jobs that may run past it.
	forecast cluster.Forecast
}

// passStatic makes a pass under an order that does not change with time, none,
// first-fit or easy.
func (c *Core) passStatic(now model.Time) {
	switch {
	case c.full || c.ends.First() <= now:
		c.passFull(now)
	case len(c.fresh) > 0 && c.cfg.Backfill != order.None:
		c.passFresh(now)
	}
	if c.cfg.Backfill == order.Easy && len(c.q.ref) > 0 {
		// The predicted ends of overdue jobs, and of jobs whose start the
		// quorum has not granted yet, move with time.
		c.plan.QuietUntil = max(c.ends.First(), now)
	}
}

// passFull starts from the head of the queue while it fits and then lets the
// rest backfill. Once is enough while only counts matter. With jobs that ask
// for shares of single nodes a start may lead another job to better nodes, so
// that the pass is repeated until nothing starts any more.
func (c *Core) passFull(now model.Time) {
	for again := true; again; {
		c.work.Passes++
		c.easy.known = false
		before := len(c.plan.Proposals)
		i, n := 0, len(c.q.ref)
		for ; i < n && c.fits(i); i++ {
			c.start(now, c.q.ref[i])
		}
		if c.cfg.Backfill != order.None {
			c.scan(now, i)
		}
		started := len(c.plan.Proposals) - before
		c.sweep(started)
		again = c.shaped && started > 0
	}
}

// scan lets the jobs behind the blocked one at position i backfill.
func (c *Core) scan(now model.Time, i int) {
	free, need := c.view.Free(), c.q.need
	for k := i + 1; k < len(need) && free > 0; k++ {
		c.work.Examined++
		if need[k] > free || !c.fits(k) || !c.mayBackfill(now, c.q.ref[i], c.q.ref[k]) {
			continue
		}
		c.start(now, c.q.ref[k])
		free = c.view.Free()
	}
}

// passFresh tests only the jobs that arrived since the last pass: nothing was
// released and the head is the same, so what was refused is refused again.
func (c *Core) passFresh(now model.Time) {
	c.work.Passes++
	if len(c.fresh) > 1 {
		//detlint:total every order ends in the job's id
		slices.SortFunc(c.fresh, func(a, b model.Ref) int {
			if c.before(&c.jobs[a], &c.jobs[b], now) {
				return -1
			}
			return 1
		})
	}
	for _, ref := range c.fresh {
		c.work.Examined++
		j := &c.jobs[ref]
		if j.need > c.view.Free() {
			continue
		}
		if k := c.position(ref); c.fits(k) && c.mayBackfill(now, c.q.ref[0], ref) {
			c.dequeue(ref)
			c.start(now, ref)
		}
	}
}

// fits says whether the waiting job at position k could be placed now.
func (c *Core) fits(k int) bool {
	return c.q.need[k] <= c.view.Free() && (c.view.Whole() || c.view.Fits(c.jobs[c.q.ref[k]].Request))
}

// mayBackfill says whether a job that fits may start while head is blocked,
// and accounts for it in head's reservation.
func (c *Core) mayBackfill(now model.Time, head, ref model.Ref) bool {
	if c.cfg.Backfill == order.FirstFit {
		return true
	}
	j := &c.jobs[ref]
	if c.shaped {
		return c.harmlessShape(now, head, j)
	}
	return c.harmless(now, head, j.need, j.Walltime)
}

// harmless is the rule of EASY: a job may run in front of head if it is
// predicted to end by head's reservation or needs no more than what is left
// over then. The latter shrinks by every job that runs past the reservation.
func (c *Core) harmless(now model.Time, head model.Ref, need int32, wall model.Duration) bool {
	r := &c.easy
	if !r.known {
		r.at, r.extra = c.ends.Shadow(now, c.jobs[head].need, c.view.Free())
		r.known = true
	}
	if now.Add(wall) <= r.at {
		return true
	}
	if need > r.extra {
		return false
	}
	r.extra -= need
	return true
}

// passDynamic makes a pass under an order that changes with time. The queue is
// never sorted: a heap of the jobs that fit yields them in order, and the best
// of the others is the first blocked one.
func (c *Core) passDynamic(now model.Time) {
	blocked := model.Ref(-1)
	for again := true; again; {
		before := len(c.plan.Proposals)
		blocked = c.passHeap(now)
		again = c.shaped && len(c.plan.Proposals) > before
	}
	if blocked >= 0 && slices.Min(c.q.need) <= c.view.Free() {
		// A job that fits is held back by the blocked job alone. What was
		// refused only gets worse with time, so that nothing changes until
		// another job overtakes the blocked one, or an end is overdue.
		c.plan.QuietUntil = min(c.orderHoldsUntil(now, blocked), max(c.ends.First(), now))
	}
}

// orderHoldsUntil is a lower bound on the instant at which another job comes before the
// blocked one.
func (c *Core) orderHoldsUntil(now model.Time, blocked model.Ref) model.Time {
	h, at := &c.jobs[blocked], model.Never
	for _, ref := range c.q.ref {
		if ref != blocked {
			b := &c.jobs[ref]
			at = min(at, order.Overtakes(&h.Asked, &h.Key, &b.Asked, &b.Key, now))
		}
	}
	return at
}

// passHeap makes the pass and returns the first blocked job, -1 when no job
// fits or none is blocked.
func (c *Core) passHeap(now model.Time) model.Ref {
	blocked, candidates := c.split(now)
	if !candidates {
		return -1
	}
	c.work.Passes++
	c.work.Examined += uint64(len(c.q.ref))
	c.easy.known = false
	before := len(c.plan.Proposals)
	c.instant = atInstant{c, now}
	c.heap.Ties, c.heap.Tolerance = &c.instant, order.RankNear
	c.heap.Init()
	for len(c.heap.List) > 0 {
		best := c.heap.List[0].Ref
		j := &c.jobs[best]
		fits := j.need <= c.view.Free() && c.view.Fits(j.Request)
		switch {
		case blocked < 0 || c.instant.Before(best, blocked):
			if !fits {
				blocked = best
				break
			}
			c.start(now, best)
		case c.cfg.Backfill == order.None:
			c.heap.List = c.heap.List[:1]
		case fits && c.mayBackfill(now, blocked, best):
			c.start(now, best)
		}
		c.heap.Pop()
	}
	c.sweep(len(c.plan.Proposals) - before)
	return blocked
}

// split puts the waiting jobs that fit into c.heap and returns the best of the
// others, -1 when there is none; candidates says whether something fits.
func (c *Core) split(now model.Time) (blocked model.Ref, candidates bool) {
	free := c.view.Free()
	if len(c.q.need) == 0 || slices.Min(c.q.need) > free {
		return -1, false
	}
	c.heap.List = c.heap.List[:0]
	blocked = -1
	for k, ref := range c.q.ref {
		j := &c.jobs[ref]
		c.cfg.Order.Refresh(&j.Asked, &j.Key, now)
		if c.fits(k) {
			c.heap.List = append(c.heap.List, order.Candidate{Key: j.Rank(), Ref: ref})
		} else if blocked < 0 || c.before(j, &c.jobs[blocked], now) {
			blocked = ref
		}
	}
	return blocked, len(c.heap.List) > 0
}

// atInstant orders jobs by the policy, as of an instant.
type atInstant struct {
	c   *Core
	now model.Time
}

// Before implements order.Ties.
func (o *atInstant) Before(a, b model.Ref) bool {
	return o.c.before(&o.c.jobs[a], &o.c.jobs[b], o.now)
}
