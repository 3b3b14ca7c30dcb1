package plain

import (
	"orrery/scheduler/internal/queue"
	"orrery/scheduler/model"
)

// enqueue inserts a waiting job and says whether it is now the first. The queue is in order
// when the order is static, and by id when it is not.
func (c *Core) enqueue(ref model.Ref) (first bool) {
	at := c.position(ref)
	first = at == c.q.First()
	c.q.Insert(at, queue.Job{Wall: c.jobs[ref].Walltime, Need: c.jobs[ref].need, Ref: ref})
	return first
}

// dequeue removes a waiting job and says whether it was the first.
func (c *Core) dequeue(ref model.Ref) (first bool) {
	at := c.position(ref)
	if j := c.q.Job(at); j == nil || j.Ref != ref {
		panic("scheduler: the job is not in the queue")
	}
	first = at == c.q.First()
	c.q.Remove(at)
	return first
}

// position is where ref stands, or belongs, in the queue.
func (c *Core) position(ref model.Ref) queue.At {
	j := &c.jobs[ref]
	return c.q.Find(0, func(r model.Ref) bool { return c.inOrder(&c.jobs[r], j) })
}

func (c *Core) inOrder(a, b *job) bool {
	switch {
	case !c.cfg.Order.Static():
		return a.ID < b.ID
	case c.prefer >= 0:
		return c.comesFirst(a, b, 0)
	}
	return c.before(a, b, 0)
}
