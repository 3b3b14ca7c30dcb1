package scheduler

import (
	"math"
	"slices"

	"orrery/scheduler/model"
)

// reservation is the hold of the first blocked job under Easy. It stays valid
// from pass to pass until capacity is released or the head changes; it is
// computed only when somebody might backfill.
type reservation struct {
	known bool
	at    model.Time
	extra int32 // capacity left over at that instant
}

// passStatic makes a pass under an order that does not change with time, none,
// first-fit or easy.
func (c *Core) passStatic(now model.Time) {
	switch {
	case c.full || c.ends.First() <= now:
		c.passFull(now)
	case len(c.fresh) > 0 && c.cfg.Backfill != None:
		c.passFresh(now)
	}
	if c.cfg.Backfill == Easy && len(c.q.ref) > 0 {
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
		if c.cfg.Backfill != None {
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
// released and the head is the same, so whoever was refused is refused again.
func (c *Core) passFresh(now model.Time) {
	c.work.Passes++
	if len(c.fresh) > 1 {
		//detlint:total every order ends in the job's id
		slices.SortFunc(c.fresh, func(a, b model.Ref) int {
			if c.cfg.Order.before(&c.jobs[a], &c.jobs[b], now) {
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
	return c.q.need[k] <= c.view.Free() && (c.view.Whole() || c.view.Fits(c.jobs[c.q.ref[k]].request))
}

// mayBackfill says whether a job that fits may start while head is blocked,
// and accounts for it in head's reservation.
func (c *Core) mayBackfill(now model.Time, head, ref model.Ref) bool {
	if c.cfg.Backfill == FirstFit {
		return true
	}
	j := &c.jobs[ref]
	if c.shaped {
		return c.harmlessShape(now, head, j)
	}
	return c.harmless(now, head, j.need, j.walltime)
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
		// Somebody who fits is held back by the blocked job alone. What was
		// refused only gets worse with time, so that nothing changes until
		// another job overtakes the blocked one, or an end is overdue.
		c.plan.QuietUntil = min(c.overtaken(now, blocked), max(c.ends.First(), now))
	}
}

// overtaken is a lower bound on the instant at which another job comes before
// the blocked one. Under every order that changes with time a job's key is a
// monotone function of slope*wait, so two keys meet after the time
// (slope1*wait1 - slope2*wait2) / (slope2 - slope1); both differences are
// taken with a margin for the errors of float64.
func (c *Core) overtaken(now model.Time, blocked model.Ref) model.Time {
	const margin = 1e-9
	h := &c.jobs[blocked]
	lead := float64(h.slope * float64(waited(h, now)) * (1 - margin))
	least := math.Inf(1)
	for _, ref := range c.q.ref {
		j := &c.jobs[ref]
		if closing := float64(j.slope*(1+margin)) - h.slope; closing > 0 && ref != blocked {
			least = min(least, (lead-float64(j.slope*float64(waited(j, now))*(1+margin)))/closing)
		}
	}
	const farthest = 1 << 60
	if least >= farthest {
		return model.Never
	}
	return now.Add(model.Duration(max(least, 0)))
}

// passHeap makes the pass and returns the first blocked job, -1 when nobody
// fits or nobody is blocked.
func (c *Core) passHeap(now model.Time) model.Ref {
	blocked, candidates := c.split(now)
	if !candidates {
		return -1
	}
	c.work.Passes++
	c.work.Examined += uint64(len(c.q.ref))
	c.easy.known = false
	heap, before := heapOf{c, now}, len(c.plan.Proposals)
	heap.init()
	for len(c.heap) > 0 {
		best := c.heap[0]
		j := &c.jobs[best]
		fits := j.need <= c.view.Free() && c.view.Fits(j.request)
		switch {
		case blocked < 0 || heap.before(best, blocked):
			if !fits {
				blocked = best
				break
			}
			c.start(now, best)
		case c.cfg.Backfill == None:
			c.heap = c.heap[:1]
		case fits && c.mayBackfill(now, blocked, best):
			c.start(now, best)
		}
		heap.pop()
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
	c.heap = c.heap[:0]
	blocked = -1
	for k, ref := range c.q.ref {
		j := &c.jobs[ref]
		j.float = c.cfg.Order.floatKey(j, now)
		if c.fits(k) {
			c.heap = append(c.heap, ref)
		} else if blocked < 0 || c.cfg.Order.before(j, &c.jobs[blocked], now) {
			blocked = ref
		}
	}
	return blocked, len(c.heap) > 0
}

// heapOf is a binary heap over Core.heap, best job first.
type heapOf struct {
	c   *Core
	now model.Time
}

func (h heapOf) before(a, b model.Ref) bool {
	return h.c.cfg.Order.before(&h.c.jobs[a], &h.c.jobs[b], h.now)
}

func (h heapOf) init() {
	for i := len(h.c.heap)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h heapOf) pop() {
	s := h.c.heap
	n := len(s) - 1
	s[0] = s[n]
	h.c.heap = s[:n]
	h.down(0)
}

func (h heapOf) down(i int) {
	s := h.c.heap
	for {
		l := 2*i + 1
		if l >= len(s) {
			return
		}
		if r := l + 1; r < len(s) && h.before(s[r], s[l]) {
			l = r
		}
		if !h.before(s[l], s[i]) {
			return
		}
		s[i], s[l] = s[l], s[i]
		i = l
	}
}
