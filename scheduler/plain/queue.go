package plain

import (
	"slices"

	"orrery/scheduler/model"
)

// queue holds the waiting jobs as columns: in queue order when the order is
// static, by id when it is not. The columns repeat what the passes scan, so
// that a scan touches nothing else. They are views of buffers in which the
// front is given up step by step, so that a start at the head moves nothing.
type queue struct {
	ref  []model.Ref
	need []int32
	wall []model.Duration
	buf  struct {
		ref  []model.Ref
		need []int32
		wall []model.Duration
	}
	gone int // elements given up at the front of the buffers
}

// view makes the columns those of the buffers from gone on.
func (q *queue) view() {
	q.ref, q.need, q.wall = q.buf.ref[q.gone:], q.buf.need[q.gone:], q.buf.wall[q.gone:]
}

// insert puts a job at position i.
func (q *queue) insert(i int, ref model.Ref, need int32, wall model.Duration) {
	i += q.gone
	q.buf.ref = slices.Insert(q.buf.ref, i, ref)
	q.buf.need = slices.Insert(q.buf.need, i, need)
	q.buf.wall = slices.Insert(q.buf.wall, i, wall)
	q.view()
}

// remove takes out the job at position i.
func (q *queue) remove(i int) {
	if i == 0 {
		q.advance(1)
		return
	}
	i += q.gone
	q.buf.ref = slices.Delete(q.buf.ref, i, i+1)
	q.buf.need = slices.Delete(q.buf.need, i, i+1)
	q.buf.wall = slices.Delete(q.buf.wall, i, i+1)
	q.view()
}

// advance gives up the first n jobs. The buffers are moved down when more than
// half of them is given up, which costs a step or two per job.
func (q *queue) advance(n int) {
	q.gone += n
	if live := len(q.buf.ref) - q.gone; q.gone > live {
		copy(q.buf.ref, q.buf.ref[q.gone:])
		copy(q.buf.need, q.buf.need[q.gone:])
		copy(q.buf.wall, q.buf.wall[q.gone:])
		q.truncate(live)
		q.gone = 0
	}
	q.view()
}

func (q *queue) truncate(n int) {
	q.buf.ref, q.buf.need, q.buf.wall = q.buf.ref[:n], q.buf.need[:n], q.buf.wall[:n]
}

// enqueue inserts a waiting job and returns its position.
func (c *Core) enqueue(ref model.Ref) int {
	i := c.position(ref)
	c.q.insert(i, ref, c.jobs[ref].need, c.jobs[ref].Walltime)
	return i
}

// dequeue removes a waiting job and returns the position it had.
func (c *Core) dequeue(ref model.Ref) int {
	i := c.position(ref)
	if i == len(c.q.ref) || c.q.ref[i] != ref {
		panic("scheduler: the job is not in the queue")
	}
	c.q.remove(i)
	return i
}

// position is where ref stands, or belongs, in the queue.
func (c *Core) position(ref model.Ref) int {
	j := &c.jobs[ref]
	lo, hi := 0, len(c.q.ref)
	if hi > 0 && c.inOrder(&c.jobs[c.q.ref[hi-1]], j) {
		return hi // the usual arrival under fcfs
	}
	for lo < hi {
		m := (lo + hi) / 2
		if c.inOrder(&c.jobs[c.q.ref[m]], j) {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

func (c *Core) inOrder(a, b *job) bool {
	if c.cfg.Order.Static() {
		return c.before(a, b, 0)
	}
	return a.ID < b.ID
}

// sweep removes from the queue the jobs that were just started; started is their
// number. It stops looking once it has found them all.
func (c *Core) sweep(started int) {
	if started == 0 {
		return
	}
	q, head := &c.q, 0
	for head < len(q.ref) && c.jobs[q.ref[head]].phase != waiting {
		head++
	}
	if left := started - head; left > 0 {
		c.compact(head, left)
	}
	q.advance(head)
}

// compact removes the n started jobs behind position i.
func (c *Core) compact(i, n int) {
	q := &c.q
	for ; c.jobs[q.ref[i]].phase == waiting; i++ {
	}
	w := i
	for ; i < len(q.ref) && n > 0; i++ {
		if c.jobs[q.ref[i]].phase != waiting {
			n--
			continue
		}
		q.ref[w], q.need[w], q.wall[w] = q.ref[i], q.need[i], q.wall[i]
		w++
	}
	copy(q.ref[w:], q.ref[i:])
	copy(q.need[w:], q.need[i:])
	copy(q.wall[w:], q.wall[i:])
	q.truncate(q.gone + w + len(q.ref) - i)
	q.view()
}
