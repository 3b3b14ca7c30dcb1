package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"orrery/scheduler/model"
)

// Backfill is a rule that says which jobs may run in front of a blocked one.
type Backfill uint8

const (
	// None: nobody overtakes the head of the queue.
	None Backfill = iota
	// FirstFit: whoever fits starts; nothing is held back for anybody.
	FirstFit
	// Easy: the first blocked job holds a reservation at the earliest instant
	// it is predicted to fit, and nobody may delay that (Lifka 1995).
	Easy
	// Conservative: every waiting job (or the first Depth) holds a
	// reservation, compressed when jobs end early (Mu'alem and Feitelson 2001).
	Conservative
)

var backfillNames = [...]string{"none", "first-fit", "easy", "conservative"}

// String is the canonical name.
func (b Backfill) String() string { return backfillNames[b] }

// BackfillNames lists the canonical names.
func BackfillNames() []string { return append([]string(nil), backfillNames[:]...) }

// ParseBackfill accepts the canonical names.
func ParseBackfill(s string) (Backfill, error) {
	i := slices.Index(backfillNames[:], strings.ToLower(s))
	if i < 0 {
		return 0, fmt.Errorf("unknown backfill %q: want one of %s (conservative takes a depth as conservative:50)", s, strings.Join(backfillNames[:], ", "))
	}
	return Backfill(i), nil
}

// queue holds the waiting jobs as columns: in queue order when the order is
// static, by id when it is not. The columns repeat what the passes scan, so
// that a scan touches nothing else.
type queue struct {
	ref  []model.Ref
	need []int32
	wall []model.Duration
}

// enqueue inserts a waiting job and returns its position.
func (c *Core) enqueue(ref model.Ref) int {
	i := c.position(ref)
	j := &c.jobs[ref]
	c.q.ref = slices.Insert(c.q.ref, i, ref)
	c.q.need = slices.Insert(c.q.need, i, j.need)
	c.q.wall = slices.Insert(c.q.wall, i, j.walltime)
	return i
}

// dequeue removes a waiting job and returns the position it had.
func (c *Core) dequeue(ref model.Ref) int {
	i := c.position(ref)
	if i == len(c.q.ref) || c.q.ref[i] != ref {
		panic("scheduler: the job is not in the queue")
	}
	c.q.ref = slices.Delete(c.q.ref, i, i+1)
	c.q.need = slices.Delete(c.q.need, i, i+1)
	c.q.wall = slices.Delete(c.q.wall, i, i+1)
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
	if c.cfg.Order.static() {
		return c.cfg.Order.before(a, b, 0)
	}
	return a.id < b.id
}

// sweep removes from the queue the jobs that were started, from position i on.
func (c *Core) sweep(i int) {
	w := i
	for ; i < len(c.q.ref); i++ {
		if c.jobs[c.q.ref[i]].phase != waiting {
			continue
		}
		if w != i {
			c.q.ref[w], c.q.need[w], c.q.wall[w] = c.q.ref[i], c.q.need[i], c.q.wall[i]
		}
		w++
	}
	c.q.ref, c.q.need, c.q.wall = c.q.ref[:w], c.q.need[:w], c.q.wall[:w]
}
