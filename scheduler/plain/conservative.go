package plain

import (
	"cmp"

	"orrery/scheduler/backfill"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// conservative is the state of conservative backfilling: the predicted free
// capacity with every reservation in it, and what happened since it was last
// brought up to date.
type conservative struct {
	profile backfill.Profile
	agenda  []step
	order   []model.Ref // the queue in order, during a pass, as far as jobs may be in the window
	listed  bool        // order is that of the queue as it is now
	held    []model.Ref // scratch
	late    []model.Ref // scratch
	fresh   []model.Ref // arrived since the last pass
	planned int         // waiting jobs in the window
	due     model.Time  // earliest slot
	stale   bool        // due must be found again
	lost    bool        // capacity was lost, so that reservations may overlap
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
	if c.cfg.Backfill == order.Conservative {
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
	k.listed = false
	k.profile.Forget(now)
	if c.cfg.Sequential {
		c.workOff(now)
		c.startDue(now)
	} else {
		compress := c.absorb(now)
		for more := true; more; {
			c.replan(now, compress)
			// With a depth, others may have moved up into the window.
			more = c.startDue(now) && c.cfg.Depth > 0
			compress = false
		}
	}
	c.plan.Due = c.due()
	// A job may be overdue from its predicted end on, and the window may
	// change whenever the order does.
	c.plan.QuietUntil = min(c.plan.Due, c.ends.First())
	if !c.cfg.Order.Static() && c.window() < c.q.Len() {
		c.plan.QuietUntil = now
	}
}

// predicted is for how long a job is expected to run, and the ticks at which passes see its
// end. Under Conservative one that asks for no time is overdue as soon as it starts: it is
// predicted to end a second later.
func (c *Core) predicted(j *job) (model.Duration, model.Ticks) {
	if c.cfg.Backfill != order.Conservative {
		return j.Walltime, model.Ticks{}
	}
	return cmp.Or(j.Walltime, model.Second), c.cfg.Ticks
}

// span is for how long a job that starts in a pass is expected to hold its nodes. On a
// cycle the span ends at a tick, as it begins at one: a reservation between two of them
// would be missed, and the next found behind those that stand.
func (c *Core) span(j *job) model.Duration {
	d, ticks := c.predicted(j)
	return ticks.Whole(d)
}

// leaves is when a job that starts at an instant, of a pass or of the answer to one, is
// predicted to end.
func (c *Core) leaves(start model.Time, j *job) model.Time {
	d, ticks := c.predicted(j)
	return ticks.Next(start.Add(d))
}

// due is the start of the earliest reservation.
func (c *Core) due() model.Time {
	k := &c.cons
	if k.stale {
		k.stale, k.due = false, model.Never
		for i, n := 0, c.holding(); n > 0; i++ {
			list := c.q.Block(i)
			list = list[:min(n, len(list))]
			n -= len(list)
			for _, w := range list {
				k.due = min(k.due, c.jobs[w.Ref].slot)
			}
		}
	}
	return k.due
}

// holding is how many jobs of the queue, from the first on, those with a reservation are among.
func (c *Core) holding() int {
	if c.cfg.Order.Static() {
		return c.window()
	}
	return c.q.Len()
}

// window is the number of waiting jobs that hold a reservation.
func (c *Core) window() int {
	n := c.q.Len()
	if c.cfg.Depth > 0 {
		n = min(n, c.cfg.Depth)
	}
	return n
}

// workOff handles the agenda in the manner of pyss: a job gets the earliest
// slot when it arrives; after each end all waiting jobs, in queue order, move
// to their earliest slots. Jobs that are overdue are postponed first.
func (c *Core) workOff(now model.Time) {
	k := &c.cons
	if c.postpone(now) {
		c.compress(now)
	}
	for _, s := range k.agenda {
		if s.kind == stepInsert {
			c.jobs[s.ref].inside = true
			k.planned++
			c.reserve(now, s.ref)
			continue
		}
		c.account(now, s)
		c.compress(now)
	}
	k.agenda = k.agenda[:0]
}

// compress moves all jobs whose arrival has been worked off, in queue order, to
// their earliest slots.
func (c *Core) compress(now model.Time) {
	c.sorted(now)
	for _, ref := range c.cons.order {
		if c.jobs[ref].inside {
			c.move(now, ref)
		}
	}
	c.cons.lost = false
}

// move takes a job out of the profile and puts it back at its earliest slot.
// While no capacity was lost that slot is its own or an earlier one, which most
// often leaves nothing to do.
func (c *Core) move(now model.Time, ref model.Ref) {
	j := &c.jobs[ref]
	if !c.cons.lost && j.slot != model.Never && c.cons.profile.Sooner(now, j.slot, j.need, c.span(j)) == j.slot {
		return
	}
	c.unreserve(now, ref)
	c.reserve(now, ref)
}

// absorb enters the agenda into the profile and says whether the reservations
// must be compressed: capacity came free, was lost, or a slot was missed (the
// pass came too late, or a job is overdue).
func (c *Core) absorb(now model.Time) bool {
	k := &c.cons
	compress := false
	for _, s := range k.agenda {
		switch {
		case s.kind == stepInsert:
			k.fresh = append(k.fresh, s.ref)
			c.jobs[s.ref].fresh = true
		case s.until > s.from:
			c.account(now, s)
			compress = true
		}
	}
	k.agenda = k.agenda[:0]
	compress = c.postpone(now) || compress
	return c.void(now) || compress
}

// void drops the reservations whose start was missed: no job holds back for
// them any more, or they would hold each other up for ever.
func (c *Core) void(now model.Time) bool {
	if c.due() >= now {
		return false
	}
	c.cons.held = c.q.Refs(c.cons.held[:0], c.holding())
	for _, ref := range c.cons.held {
		if c.jobs[ref].slot < now {
			c.unreserve(now, ref)
		}
	}
	return true
}

// account enters a change of the capacity to come; a cycle may learn of it late.
func (c *Core) account(now model.Time, s step) {
	if s.kind == stepDelay {
		s.need = -s.need
		c.cons.lost = true
	}
	c.cons.profile.Add(max(s.from, now), s.until, s.need)
}

// postpone predicts every overdue end as one second from now, or at the next tick: that of a job
// that outlives its request, or whose start the quorum has not granted yet.
func (c *Core) postpone(now model.Time) bool {
	late := c.ends.Overdue(now, c.cons.late[:0])
	for _, ref := range late {
		j := &c.jobs[ref]
		end := c.cfg.Ticks.Next(now.Add(model.Second))
		c.ends.Remove(j.predicted, ref)
		c.ends.Insert(end, ref, j.need)
		c.cons.profile.Add(now, end, -j.need)
		c.cons.lost = true
		j.predicted = end
	}
	c.cons.late = late[:0]
	return len(late) > 0
}

// replan gives the jobs of the window their earliest slots in queue order: all
// of them when compress is set or a job that waited outside has moved in, else
// those that have none yet. A job keeps its reservation until its turn, so none
// moves to a later slot (but for a compression after capacity was lost).
func (c *Core) replan(now model.Time, compress bool) {
	k := &c.cons
	steady := c.window() == c.q.Len() || c.cfg.Order.Static() && len(k.fresh) == 0
	if !compress && steady && k.planned == c.window() {
		return
	}
	c.work.Passes++
	c.sorted(now)
	compress = c.admit(now) || compress
	for _, ref := range k.order[:c.window()] {
		c.work.Examined++
		if compress {
			c.move(now, ref)
		} else if c.jobs[ref].slot == model.Never {
			c.reserve(now, ref)
		}
	}
	if compress {
		k.lost = false
	}
}

// admit settles which jobs are in the window. Those that are no longer lose their
// reservation. It says whether one moved in that had waited outside.
func (c *Core) admit(now model.Time) (moved bool) {
	k, n := &c.cons, c.window()
	for _, ref := range k.order[:n] {
		if j := &c.jobs[ref]; !j.inside {
			j.inside = true
			k.planned++
			moved = moved || !j.fresh
		}
	}
	for i := n; k.planned > n; i++ {
		if j := &c.jobs[k.order[i]]; j.inside {
			c.unreserve(now, k.order[i])
			j.inside = false
			k.planned--
		}
	}
	for _, ref := range k.fresh {
		c.jobs[ref].fresh = false
	}
	k.fresh = k.fresh[:0]
	return moved
}

func (c *Core) reserve(now model.Time, ref model.Ref) {
	j := &c.jobs[ref]
	j.slot = c.cons.profile.Earliest(now, j.need, c.span(j))
	if j.slot == model.Never {
		return
	}
	c.cons.profile.Add(j.slot, j.slot.Add(c.span(j)), -j.need)
	c.cons.due = min(c.cons.due, j.slot)
}

func (c *Core) unreserve(now model.Time, ref model.Ref) {
	j := &c.jobs[ref]
	if j.slot == model.Never {
		return
	}
	c.cons.profile.Add(max(j.slot, now), j.slot.Add(c.span(j)), j.need)
	c.cons.stale = true
	j.slot = model.Never
}

// startDue starts the jobs whose reservation begins now and says whether there
// were any.
func (c *Core) startDue(now model.Time) bool {
	if c.due() != now {
		return false
	}
	c.sorted(now)
	for _, ref := range c.cons.order[:c.window()] {
		if j := &c.jobs[ref]; j.slot == now {
			c.dequeue(ref)
			c.start(now, ref)
			c.cons.listed = false
			j.slot, j.inside = model.Never, false
			c.cons.planned--
			c.cons.stale = true
		}
	}
	return true
}

// sorted lists the waiting jobs in queue order. Under a static order those in the window were the
// first until others came before them.
func (c *Core) sorted(now model.Time) {
	k := &c.cons
	if k.listed {
		return
	}
	k.listed, k.order = true, k.order[:0]
	if c.cfg.Order.Static() {
		k.order = c.q.Refs(k.order, c.window()+len(k.fresh))
		return
	}
	c.instant = atInstant{c, now}
	c.heap.List, c.heap.Ties, c.heap.Tolerance = c.heap.List[:0], &c.instant, order.RankNear
	for i := range c.q.Blocks() {
		for _, w := range c.q.Block(i) {
			j := &c.jobs[w.Ref]
			c.cfg.Order.Refresh(&j.Asked, &j.Key, now)
			c.heap.List = append(c.heap.List, order.Candidate{Tier: c.tier(j), Key: j.Rank(), Ref: w.Ref})
		}
	}
	c.heap.Init()
	for len(c.heap.List) > 0 {
		k.order = append(k.order, c.heap.List[0].Ref)
		c.heap.Pop()
	}
}
