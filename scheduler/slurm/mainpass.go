package slurm

import "orrery/scheduler/model"

// mainPass is what a pass of the main scheduler has found out so far.
type mainPass struct {
	failed []bool        // by partition, the last for jobs of none: its jobs are passed over
	tested []int         // likewise, how many of its jobs were looked at
	closed model.NodeSet // nodes of the partitions that failed, closed to all jobs behind
	// reservations that failed: their jobs are passed over.
	reservations []bool
	usable       model.NodeSet
}

func newMainPass(s *model.Site) mainPass {
	n := len(s.Partitions) + 1
	return mainPass{make([]bool, n), make([]int, n), model.NewNodeSet(len(s.Nodes)), make([]bool, len(s.Reservations)), model.NewNodeSet(len(s.Nodes))}
}

// partitionOf is the index of a job's partition, the last for none.
func (m *mainPass) partitionOf(j *job) int {
	if j.Partition < 0 {
		return len(m.failed) - 1
	}
	return int(j.Partition)
}

// runMain is a pass of the main scheduler. Jobs have their turn by priority. One that lacks nodes stops its partition: the jobs
// behind it there are passed over, and the nodes of the partition are closed to all behind it. Jobs that a limit holds are passed over.
// A pass that is not full looks at so many jobs and one.
func (c *Core) runMain(full bool) {
	m := &c.pass
	clear(m.failed)
	clear(m.tested)
	clear(m.closed)
	clear(m.reservations)
	c.work.Passes++
	c.plan.Passed = append(c.plan.Passed, 0)
	tested, started := 0, 0
	for i := 0; i < len(c.jobs.queue); {
		ref := c.jobs.queue[i]
		i++
		j := &c.jobs.list[ref]
		if tested++; !full && tested > c.cfg.Options.Depth+1 {
			return
		}
		part := m.partitionOf(j)
		if m.failed[part] || j.Reservation >= 0 && m.reservations[j.Reservation] {
			continue
		}
		if m.tested[part]++; c.cfg.Options.PartDepth > 0 && m.tested[part] > c.cfg.Options.PartDepth {
			continue
		}
		c.work.Examined++
		if r := c.held(ref); r != model.ReasonNone {
			if c.cfg.Options.AssocLimitStop && ofAssociation(r) {
				c.fail(part, j)
			}
			continue
		}
		copy(m.usable, j.nodes)
		m.usable.AndNot(m.closed)
		c.keepReserved(j, c.now, m.usable)
		w := wantOf(j.Allocation)
		if !c.chosen.choose(&w, m.usable, c.nodes.room) {
			if !c.cfg.Options.reservesNothing(j, c.now) {
				c.fail(part, j)
			}
			continue
		}
		if c.overLimits(j) != model.ReasonNone {
			continue
		}
		c.start(ref)
		i-- // it has left the queue
		if started++; c.cfg.Options.MaxStarts > 0 && started >= c.cfg.Options.MaxStarts {
			return
		}
	}
}

// fail stops what a job stops that cannot start: its reservation, the nodes that it names, or else its partition with all nodes.
func (c *Core) fail(part int, j *job) {
	m := &c.pass
	constraint := c.nodes.constraints[j.Constraint]
	switch {
	case j.Reservation >= 0:
		m.reservations[j.Reservation] = true
		m.closed.Or(c.cfg.Site.Reservations[j.Reservation].Nodes)
	case constraint != nil && constraint.Include != nil:
		m.closed.Or(j.nodes)
	case j.Partition >= 0:
		m.failed[part] = true
		m.closed.Or(c.cfg.Site.Partitions[j.Partition].Nodes)
	default:
		m.failed[part] = true
		for i := range c.nodes.room {
			m.closed.Add(model.NodeID(i))
		}
	}
}

// place gives nodes to jobs that ran before the scheduler began and whose nodes are not known: each has its turn, and none stops others.
func (c *Core) place() {
	for i := 0; i < len(c.jobs.queue); {
		ref := c.jobs.queue[i]
		i++
		j := &c.jobs.list[ref]
		w := wantOf(j.Allocation)
		if c.held(ref) == model.ReasonNone && c.chosen.choose(&w, j.nodes, c.nodes.room) {
			c.chosen.placement(j, &c.nodes, &j.placement)
			c.start(ref)
			i--
		}
	}
}

// ofAssociation says whether a limit is one of associations or of a quality of service.
func ofAssociation(r model.Reason) bool {
	switch r {
	case model.ReasonQuotaNodes, model.ReasonQuotaGPUs, model.ReasonQuotaConcurrent, model.ReasonQOSLimit:
		return true
	}
	return false
}

// reservesNothing says whether j stops no partition and gets no promise: it is too young or of too low a priority.
func (o *Options) reservesNothing(j *job, now model.Time) bool {
	return o.MinAgeReserve > 0 && now.Sub(j.eligible) < o.MinAgeReserve || o.MinPriorityReserve > 0 && j.priority < o.MinPriorityReserve
}

// keepReserved takes the nodes of advance reservations off those that j may use which it would run into from an instant on.
func (c *Core) keepReserved(j *job, at model.Time, usable model.NodeSet) {
	until := at.Add(j.left)
	for i := range c.cfg.Site.Reservations {
		r := &c.cfg.Site.Reservations[i]
		if int(j.Reservation) == i && !r.Maintenance {
			continue
		}
		if r.Start < until && at < r.End {
			usable.AndNot(r.Nodes)
		}
	}
}
