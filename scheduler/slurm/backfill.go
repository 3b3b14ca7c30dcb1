package slurm

import (
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// backfill plans anew in each cycle: a table of intervals of time, each with the nodes that are promised to no job. Whole
// nodes are promised, whatever the job takes of them.
type backfill struct {
	table  []interval
	spare  []model.NodeSet
	usable model.NodeSet
	busy   model.NodeSet // of a running job
	future []nodeRoom
	counts backfillCounts
	words  int
}

// interval is [begin, end) of the plan.
type interval struct {
	begin, end model.Time
	nodes      model.NodeSet
}

// backfillCounts are those of one cycle, against the bounds of the options.
type backfillCounts struct {
	byUser, byAssoc, byPart, reserved map[int32]int
	tested, started                   int
}

func newBackfill(nodes int) backfill {
	b := backfill{usable: model.NewNodeSet(nodes), busy: model.NewNodeSet(nodes), words: nodes}
	b.counts = backfillCounts{byUser: map[int32]int{}, byAssoc: map[int32]int{}, byPart: map[int32]int{}, reserved: map[int32]int{}}
	return b
}

// begin lays out the table of a cycle: one interval, in which every node is free of promises.
func (b *backfill) begin(from, until model.Time) {
	for i := range b.table {
		b.spare = append(b.spare, b.table[i].nodes)
	}
	all := b.set()
	for i := range all {
		all[i] = ^uint64(0)
	}
	b.table = append(b.table[:0], interval{from, until, all})
	clear(b.counts.byUser)
	clear(b.counts.byAssoc)
	clear(b.counts.byPart)
	clear(b.counts.reserved)
	b.counts.tested, b.counts.started = 0, 0
}

func (b *backfill) set() model.NodeSet {
	if n := len(b.spare) - 1; n >= 0 {
		s := b.spare[n]
		b.spare = b.spare[:n]
		return s
	}
	return model.NewNodeSet(b.words)
}

// free takes the nodes off a set that are promised at any time of [from, until]. later is the end of the interval in which from
// lies, AbsentTime where that is the last one: other nodes may be free of promises from then on.
func (b *backfill) free(from, until model.Time, set model.NodeSet) (later model.Time) {
	later = model.AbsentTime
	for i := range b.table {
		x := &b.table[i]
		if x.end <= from {
			continue
		}
		if later == model.AbsentTime && i+1 < len(b.table) {
			later = x.end
		}
		if x.begin > until {
			break
		}
		set.And(x.nodes)
	}
	return later
}

// promise takes nodes off all intervals of [from, until), which are split there.
func (b *backfill) promise(from, until model.Time, nodes model.NodeSet) {
	b.split(from)
	b.split(until)
	for i := range b.table {
		if x := &b.table[i]; x.begin >= from && x.end <= until {
			x.nodes.AndNot(nodes)
		}
	}
}

func (b *backfill) split(at model.Time) {
	for i := range b.table {
		x := b.table[i]
		if x.begin < at && at < x.end {
			second := interval{at, x.end, b.set()}
			copy(second.nodes, x.nodes)
			b.table[i].end = at
			b.table = slices.Insert(b.table, i+1, second)
			return
		}
	}
}

// clashes says whether any of the nodes is promised at a time of [from, until].
func (b *backfill) clashes(from, until model.Time, given []give) bool {
	for i := range b.table {
		x := &b.table[i]
		if x.end <= from || x.begin > until {
			continue
		}
		if slices.ContainsFunc(given, func(g give) bool { return !x.nodes.Has(g.node) }) {
			return true
		}
	}
	return false
}

// runBackfill is a cycle: the jobs of the queue in order each start now, where that delays no promise, or are promised nodes.
func (c *Core) runBackfill() {
	b, o := &c.backfill, &c.cfg.Options
	c.work.Passes++
	c.plan.Passed = append(c.plan.Passed, 0)
	b.begin(floor(c.now, o.Resolution), floor(c.now.Add(o.Window), o.Resolution))
	for i := 0; i < len(c.jobs.queue); {
		ref := c.jobs.queue[i]
		i++
		j := &c.jobs.list[ref]
		if c.held(ref) != model.ReasonNone || !b.counts.mayTest(o, j) {
			continue
		}
		if b.counts.tested++; b.counts.tested > o.MaxTest {
			return
		}
		c.work.Examined++
		if c.planFor(ref) {
			i-- // it has left the queue
			if b.counts.started++; o.MaxStart > 0 && b.counts.started >= o.MaxStart {
				return
			}
		}
	}
}

// unknown is an association or a user that is not known: no bound counts it.
const unknown = -1

// mayTest counts a job against the bounds on how many are tested.
func (b *backfillCounts) mayTest(o *Options, j *job) bool {
	for _, x := range [...]struct {
		counts map[int32]int
		of     int32
		most   int
	}{{b.byPart, int32(j.Partition) + 1, o.MaxPart}, {b.byAssoc, j.assoc, o.MaxAssoc}, {b.byUser, j.User, o.MaxUser}} {
		if x.most == 0 || x.of == unknown {
			continue
		}
		if x.counts[x.of]++; x.counts[x.of] > x.most {
			return false
		}
	}
	return true
}

// planFor starts a job now, or promises it nodes at the earliest instant found. It says whether it started.
func (c *Core) planFor(ref model.Ref) (started bool) {
	b, o, j := &c.backfill, &c.cfg.Options, &c.jobs.list[ref]
	w := wantOf(j.Allocation)
	end := floor(c.now.Add(o.Window), o.Resolution)
	for at := c.now; ; {
		until := at.Add(j.left)
		copy(b.usable, j.nodes)
		later := b.free(at, until, b.usable)
		c.keepReserved(j, at, b.usable)
		start := c.earliest(&w)
		if start != model.Never {
			start = max(start, at)
		}
		switch {
		case start == c.now:
			if c.overLimits(j) != model.ReasonNone {
				return false
			}
			c.start(ref)
			return true
		case later != model.AbsentTime && start > later:
			at = later
			continue
		case start > end:
			return false
		case b.clashes(start, start.Add(j.left), c.chosen.given) || c.runsInto(j, start):
			if start == at { // no other nodes are found by that
				return false
			}
			at = start
			continue
		}
		c.promiseTo(j, start)
		return false
	}
}

// runsInto says whether the nodes chosen are set aside for others at any time of a run from start on.
func (c *Core) runsInto(j *job, start model.Time) bool {
	if len(c.cfg.Site.Reservations) == 0 {
		return false
	}
	clear(c.backfill.busy)
	c.chosen.nodes(c.backfill.busy)
	n := c.backfill.busy.Len()
	c.keepReserved(j, start, c.backfill.busy)
	return c.backfill.busy.Len() < n
}

// promiseTo enters the nodes chosen for j from an instant on, unless it is one that gets no promise.
func (c *Core) promiseTo(j *job, start model.Time) {
	b, o := &c.backfill, &c.cfg.Options
	if o.reservesNothing(j, c.now) {
		return
	}
	if o.PartReserve > 0 {
		if b.counts.reserved[int32(j.Partition)]++; b.counts.reserved[int32(j.Partition)] > o.PartReserve {
			return
		}
	}
	from, until := floor(start, o.Resolution), floor(start.Add(j.left), o.Resolution)
	if until <= from {
		until = from.Add(o.Resolution)
	}
	clear(b.busy)
	c.chosen.nodes(b.busy)
	b.promise(from, until, b.busy)
}

// endsAlike is the length of the first group of ends, and what the first end is rounded up to.
const endsAlike = 30 * model.Second

// earliest is when a job has room on usable nodes by the ends of the running jobs, Never if at none: now, or the end of the last of a
// group of jobs that are taken off together. A group reaches so far behind the first end of all, and the next one twice as far, or farther
// where there would be none in it: so a start that is planned is late by up to that.
func (c *Core) earliest(w *want) model.Time {
	b, linear := &c.backfill, c.cfg.Options.Linear
	if b.usable.Len() < w.nodes {
		return model.Never
	}
	have := w.capacityOf(b.usable, c.nodes.room)
	if have >= int64(w.need()) && c.chosen.choose(w, b.usable, c.nodes.room) {
		return c.now
	}
	b.future = append(b.future[:0], c.nodes.room...)
	window, running, from, last := endsAlike, c.jobs.running, model.AbsentTime, model.AbsentTime
	for i, ref := range running {
		j := &c.jobs.list[ref]
		if j.placement.Meets(b.usable) {
			if last = c.endOf(j); last == model.Never {
				return model.Never
			}
			if from == model.AbsentTime {
				from = floor(last, endsAlike).Add(endsAlike)
			}
			have += b.leave(w, j, c.cfg.Site)
		}
		if last == model.AbsentTime {
			continue
		}
		next := model.Never
		if i+1 < len(running) {
			next = c.endOf(&c.jobs.list[running[i+1]])
		}
		if !linear && next <= from.Add(window) {
			continue // it is of the same group
		}
		if have >= int64(w.need()) && c.chosen.choose(w, b.usable, b.future) {
			return last
		}
		for !linear && next != model.Never && next > from.Add(window) {
			window = c.wider(window)
		}
	}
	return model.Never
}

// leave takes a running job off the nodes of the future, and says how much more of w the usable ones have room for then.
func (b *backfill) leave(w *want, j *job, site *model.Site) (more int64) {
	count := func(sign int64) {
		for _, x := range j.placement.Words {
			for m := x.Mask & b.usable[x.Word]; m != 0; m &= m - 1 {
				more += sign * int64(w.capacity(&b.future[int(x.Word)<<6+bits.TrailingZeros64(m)]))
			}
		}
		for i := range j.placement.Shares {
			if n := j.placement.Shares[i].Node; b.usable.Has(n) {
				more += sign * int64(w.capacity(&b.future[n]))
			}
		}
	}
	count(-1)
	change(b.future, site, &j.placement, -1)
	count(1)
	return more
}

func (c *Core) wider(window model.Duration) model.Duration {
	if s := c.cfg.Options.WindowScale; s > 0 {
		return window + s
	}
	return 2 * window
}

// endOf is when a running job is to end by its requested time. One beyond it is guessed to end in a second.
func (c *Core) endOf(j *job) model.Time {
	if j.predicted <= c.now {
		return c.now.Add(model.Second)
	}
	return j.predicted
}
