package plain

import (
	"slices"

	"orrery/scheduler/cluster"
	"orrery/scheduler/internal/queue"
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
	if c.cfg.Backfill == order.Easy && c.q.Len() > 0 {
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
		for j := c.q.Job(c.q.First()); j != nil && c.fits(j); j = c.q.Job(c.q.First()) {
			c.start(now, j.Ref)
			c.q.Remove(c.q.First())
		}
		if c.cfg.Backfill != order.None && c.q.Len() > 0 {
			c.scan(now)
		}
		again = c.shaped && len(c.plan.Proposals) > before
	}
}

// scan lets the jobs behind the first one, which is blocked, backfill. The queue finds those
// that may.
func (c *Core) scan(now model.Time) {
	head := c.q.Job(c.q.First()).Ref
	for at := c.q.First().Behind(); c.view.Free() > 0; {
		next, ok := c.q.Seek(at, c.room(now))
		if !ok {
			return
		}
		at = next
		j := c.q.Job(at)
		if !c.fits(j) || !c.mayBackfill(now, head, j.Ref) {
			at = at.Behind()
			continue
		}
		c.start(now, j.Ref)
		c.q.Remove(at)
	}
}

// room is what a job may take to backfill. What the queue cannot tell is left to mayBackfill: while no
// job was found that fits, the reservation is not known.
func (c *Core) room(now model.Time) queue.Room {
	r := queue.Room{Free: c.view.Free(), Extra: c.view.Free(), Limit: model.Forever}
	if e := &c.easy; c.cfg.Backfill == order.Easy && e.known && !c.shaped {
		r.Extra = e.extra
		if e.at != model.Never {
			r.Limit = e.at.Sub(now)
		}
	}
	return r
}

// passFresh tests only the jobs that arrived since the last pass: nothing was
// released and the head is the same, so what was refused is refused again.
func (c *Core) passFresh(now model.Time) {
	c.work.Passes++
	if len(c.fresh) > 1 {
		//detlint:total every order ends in the job's id
		slices.SortFunc(c.fresh, func(a, b model.Ref) int {
			if c.comesFirst(&c.jobs[a], &c.jobs[b], now) {
				return -1
			}
			return 1
		})
	}
	for _, ref := range c.fresh {
		c.work.Examined++
		if c.jobs[ref].need > c.view.Free() {
			continue
		}
		at := c.position(ref)
		if c.fits(c.q.Job(at)) && c.mayBackfill(now, c.q.Job(c.q.First()).Ref, ref) {
			c.q.Remove(at)
			c.start(now, ref)
		}
	}
}

// fits says whether a waiting job could be placed now.
func (c *Core) fits(j *queue.Job) bool {
	return j.Need <= c.view.Free() && (c.view.Whole() || c.view.Fits(c.jobs[j.Ref].Request))
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
	if blocked >= 0 && c.q.Least() <= c.view.Free() {
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
	for i := range c.q.Blocks() {
		for _, w := range c.q.Block(i) {
			if w.Ref != blocked {
				b := &c.jobs[w.Ref]
				at = min(at, order.Overtakes(&h.Asked, &h.Key, &b.Asked, &b.Key, now))
			}
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
	c.work.Examined += uint64(c.q.Len())
	c.easy.known = false
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
			c.dequeue(best)
			c.start(now, best)
		case c.cfg.Backfill == order.None:
			c.heap.List = c.heap.List[:1]
		case fits && c.mayBackfill(now, blocked, best):
			c.dequeue(best)
			c.start(now, best)
		}
		c.heap.Pop()
	}
	return blocked
}

// split puts the waiting jobs that fit into c.heap and returns the best of the
// others, -1 when there is none; candidates says whether something fits.
func (c *Core) split(now model.Time) (blocked model.Ref, candidates bool) {
	if c.q.Least() > c.view.Free() {
		return -1, false
	}
	c.heap.List = c.heap.List[:0]
	blocked = -1
	for i := range c.q.Blocks() {
		list := c.q.Block(i)
		for k := range list {
			w := &list[k]
			j := &c.jobs[w.Ref]
			c.cfg.Order.Refresh(&j.Asked, &j.Key, now)
			if c.fits(w) {
				c.heap.List = append(c.heap.List, order.Candidate{Tier: c.tier(j), Key: j.Rank(), Ref: w.Ref})
			} else if blocked < 0 || c.comesFirst(j, &c.jobs[blocked], now) {
				blocked = w.Ref
			}
		}
	}
	return blocked, len(c.heap.List) > 0
}

// tier is what comes before the order of the policy.
func (c *Core) tier(j *job) int32 {
	if j.ID == c.prefer {
		return 1
	}
	return 0
}

// atInstant orders jobs by the policy, as of an instant.
type atInstant struct {
	c   *Core
	now model.Time
}

// Before implements order.Ties.
func (o *atInstant) Before(a, b model.Ref) bool {
	if o.c.prefer >= 0 {
		return o.c.comesFirst(&o.c.jobs[a], &o.c.jobs[b], o.now)
	}
	return o.c.before(&o.c.jobs[a], &o.c.jobs[b], o.now)
}
