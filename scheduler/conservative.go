package scheduler

import (
	"orrery/scheduler/backfill"
	"orrery/scheduler/model"
)

// conservative is the state of conservative backfilling: the predicted free
// capacity with every reservation in it, and what happened since it was last
// brought up to date.
type conservative struct {
	profile backfill.Profile
	agenda  []step
	order   []model.Ref // the queue in order, during a pass
	late    []model.Ref // scratch
	planned int         // waiting jobs that hold a reservation
	due     model.Time  // earliest slot
	stale   bool        // due must be found again
	arrived bool        // somebody may be in the window without a reservation
}

type stepKind uint8

const (
	stepInsert  stepKind = iota // a job arrived
	stepRelease                 // capacity came free earlier than predicted
	stepDelay                   // a job will hold its nodes longer than predicted
)

type step struct {
	kind        stepKind
	ref         model.Ref
	need        int32
	from, until model.Time
}

// note puts a step on the agenda of the next pass.
func (c *Core) note(s step) {
	if c.cfg.Backfill == Conservative {
		c.cons.agenda = append(c.cons.agenda, s)
	}
}

func (k *conservative) forget(ref model.Ref) {
	for i, s := range k.agenda {
		if s.kind == stepInsert && s.ref == ref {
			k.agenda = append(k.agenda[:i], k.agenda[i+1:]...)
			return
		}
	}
}

// passConservative brings the reservations up to date and starts the jobs
// whose time has come.
func (c *Core) passConservative(now model.Time) {
	k := &c.cons
	k.profile.Forget(now)
	if c.cfg.Sequential {
		c.workOff(now)
		c.startDue(now)
	} else {
		compress := c.absorb(now)
		for more := true; more; {
			c.replan(now, compress)
			before := len(c.q.ref)
			c.startDue(now)
			// Jobs that move up into the window force a re-plan.
			more = len(c.q.ref) < before && k.planned < c.window()
			compress = true
		}
	}
	c.plan.Due = c.due()
	c.plan.QuietUntil = c.plan.Due
}

// due is the start of the earliest reservation.
func (c *Core) due() model.Time {
	k := &c.cons
	if k.stale {
		k.stale, k.due = false, model.Never
		for _, ref := range c.holders() {
			k.due = min(k.due, c.jobs[ref].slot)
		}
	}
	return k.due
}

// holders are the waiting jobs among which the reservations are.
func (c *Core) holders() []model.Ref {
	if c.cfg.Order.static() {
		return c.q.ref[:c.window()]
	}
	return c.q.ref
}

// window is the number of waiting jobs that hold a reservation.
func (c *Core) window() int {
	n := len(c.q.ref)
	if c.cfg.Depth > 0 {
		n = min(n, c.cfg.Depth)
	}
	return n
}

// workOff handles the agenda in the manner of pyss: a job gets the earliest
// slot when it arrives; after each end all waiting jobs, in queue order, move
// to their earliest slots.
func (c *Core) workOff(now model.Time) {
	k := &c.cons
	for _, s := range k.agenda {
		switch s.kind {
		case stepInsert:
			c.reserve(now, s.ref)
		default:
			c.account(s)
			c.sorted(now)
			for _, ref := range k.order {
				c.unreserve(now, ref)
				c.reserve(now, ref)
			}
		}
	}
	k.agenda = k.agenda[:0]
}

// absorb enters the agenda into the profile and says whether the reservations
// must be compressed: capacity came free, was lost, or a slot was missed (the
// cycle came too late, or a job is overdue).
func (c *Core) absorb(now model.Time) bool {
	k := &c.cons
	compress := false
	for _, s := range k.agenda {
		switch {
		case s.kind == stepInsert:
			k.arrived = true
		case s.until > s.from:
			c.account(s)
			compress = true
		}
	}
	k.agenda = k.agenda[:0]
	if c.cfg.Extend {
		compress = c.postpone(now) || compress
	}
	return compress || c.due() < now
}

func (c *Core) account(s step) {
	if s.kind == stepDelay {
		s.need = -s.need
	}
	c.cons.profile.Add(s.from, s.until, s.need)
}

// postpone predicts every overdue end as one second from now.
func (c *Core) postpone(now model.Time) bool {
	late := c.ends.Overdue(now, c.cons.late[:0])
	for _, ref := range late {
		j := &c.jobs[ref]
		end := now.Add(model.Second)
		c.ends.Remove(j.predicted, ref)
		c.ends.Insert(end, ref, j.need)
		c.cons.profile.Add(now, end, -j.need)
		j.predicted = end
	}
	c.cons.late = late[:0]
	return len(late) > 0
}

// replan gives the jobs of the window their earliest slots in queue order:
// all of them when compress is set, else those that have none yet. A job
// keeps its reservation until its turn, so none moves to a later slot (but
// for a compression after capacity was lost).
func (c *Core) replan(now model.Time, compress bool) {
	k := &c.cons
	steady := c.cfg.Order.static() || c.cfg.Depth == 0
	if !compress && !k.arrived && steady && k.planned == c.window() {
		return
	}
	k.arrived = false
	c.work.Passes++
	c.sorted(now)
	holding := 0
	for _, ref := range k.order[:c.window()] {
		c.work.Examined++
		if compress {
			c.unreserve(now, ref)
		}
		if c.jobs[ref].slot == model.Never {
			c.reserve(now, ref)
		}
		if c.jobs[ref].slot != model.Never {
			holding++
		}
	}
	// Arrivals may have pushed jobs out of the window.
	for _, ref := range k.order[c.window():] {
		if k.planned == holding {
			break
		}
		c.unreserve(now, ref)
	}
}

func (c *Core) reserve(now model.Time, ref model.Ref) {
	j := &c.jobs[ref]
	j.slot = c.cons.profile.Earliest(now, j.need, j.walltime)
	if j.slot == model.Never {
		return
	}
	c.cons.profile.Add(j.slot, j.slot.Add(j.walltime), -j.need)
	c.cons.planned++
	c.cons.due = min(c.cons.due, j.slot)
}

func (c *Core) unreserve(now model.Time, ref model.Ref) {
	j := &c.jobs[ref]
	if j.slot == model.Never {
		return
	}
	c.cons.profile.Add(max(j.slot, now), j.slot.Add(j.walltime), j.need)
	c.cons.planned--
	c.cons.stale = true
	j.slot = model.Never
}

// startDue starts the jobs whose reservation begins now.
func (c *Core) startDue(now model.Time) {
	if c.due() != now {
		return
	}
	before := len(c.plan.Proposals)
	c.sorted(now)
	for _, ref := range c.cons.order {
		if c.jobs[ref].slot != now {
			continue
		}
		c.start(now, ref)
		c.jobs[ref].slot = model.Never
		c.cons.planned--
		c.cons.stale = true
	}
	c.sweep(len(c.plan.Proposals) - before)
}

// sorted lists the waiting jobs in queue order.
func (c *Core) sorted(now model.Time) {
	k := &c.cons
	if c.cfg.Order.static() {
		k.order = c.q.ref
		return
	}
	k.order = k.order[:0]
	c.heap = append(c.heap[:0], c.q.ref...)
	for _, ref := range c.q.ref {
		j := &c.jobs[ref]
		j.float = c.cfg.Order.floatKey(j, now)
	}
	heap := heapOf{c, now}
	heap.init()
	for len(c.heap) > 0 {
		k.order = append(k.order, c.heap[0])
		heap.pop()
	}
}
