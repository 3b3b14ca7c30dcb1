package slurm

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/workflow"
)

// Observe implements scheduler.Core.
func (c *Core) Observe(now model.Time, facts []model.Fact) {
	c.advance(now)
	if len(facts) > 0 {
		c.limits.Observed(now)
	}
	for i := range facts {
		c.observe(&facts[i])
	}
}

func (c *Core) observe(f *model.Fact) {
	switch f.Kind {
	case model.FactSubmitted:
		c.submitted(f)
	case model.FactCancelled:
		c.withdrawn(f.Ref, model.Withdrawn(f.Reason))
	case model.FactEnded:
		c.vacate(f.Ref)
		c.depart(f.Ref, f.Outcome)
		c.clock.request(c.now, c.cfg.Options.Epilog)
	case model.FactAssigned:
		c.granted(f.Ref)
	case model.FactRefused:
		c.refused(f)
	case model.FactRestored:
		c.restored(f)
	case model.FactRestoringBegan, model.FactRestoringEnded:
		c.restoring = f.Kind == model.FactRestoringBegan
	case model.FactUsageBegan, model.FactUsageEnded:
		c.usedBefore(f)
	case model.FactSuspended:
		c.returns(f.Ref, model.Duration(f.Value), 0)
	case model.FactRequeued:
		c.returns(f.Ref, c.jobs.list[f.Ref].whole, c.cfg.Options.RequeueDelay)
	case model.FactGone:
		c.release(f.Job, neverSubmitted, f.Outcome)
	case model.FactReleased:
		c.released(f.Ref)
	case model.FactNode:
		c.nodes.room[f.Node].up = f.State == model.Ready
		c.somethingChanged()
	case model.FactLimits:
		c.limits.SetLimits(f.Tenant, f.Limits)
		c.somethingChanged()
	}
	// Prices, power, bandwidth, checkpoints and demands: Slurm's schedulers do not go by them.
}

// somethingChanged asks for a pass at the next turn of the loop, and has backfill plan anew.
func (c *Core) somethingChanged() {
	c.clock.request(c.now, false)
	c.clock.changed, c.idle = true, false
}

// submitted takes in a job. A batch job waits for a pass.
func (c *Core) submitted(f *model.Fact) {
	for int(f.Ref) >= len(c.jobs.list) {
		c.jobs.list = append(c.jobs.list, job{})
	}
	a, j := f.Alloc, &c.jobs.list[f.Ref]
	if j.phase != gone {
		panic("scheduler: submission under a ref that is in use")
	}
	c.nodes.define(a.Constraint, f.Constraint)
	*j = job{
		Allocation: a, onHold: a.Hold, request: f.Request, left: a.Walltime, whole: f.Walltime, eligible: a.Eligible,
		preferred: c.cfg.Prefer != nil && *c.cfg.Prefer == a.Job, nodes: c.nodes.usable(a), assoc: c.priority.associate(a), placement: j.placement, started: model.AbsentTime,
	}
	if a.Partition >= 0 {
		j.tier = c.cfg.Site.Partitions[a.Partition].Tier
	}
	c.requestSize(j)
	c.somethingChanged()
	status := c.graph.Submit(a, f.Ref)
	if c.cfg.RejectOverLimit && !c.restoring {
		if r := c.limits.Check(&j.usage); r != model.ReasonNone {
			c.setUnwanted(f.Ref, r)
			return
		}
	}
	switch status {
	case workflow.Blocked:
		j.phase = dependent
	case workflow.Unsatisfiable:
		c.setUnwanted(f.Ref, model.ReasonDependencyNever)
	default:
		c.admit(f.Ref)
	}
}

// requestSize sets what a job asks for, before its nodes are known: CPUs, and what it uses of limits.
func (c *Core) requestSize(j *job) {
	switch {
	case j.Tasks > 0:
		j.cpus = int64(j.Tasks) * int64(j.CPUs)
	case j.Divides():
		j.cpus = int64(j.NodesMin) * int64(j.CPUs)
	default:
		j.cpus = 0
		if n := j.nodes.Next(0); n >= 0 {
			j.cpus = int64(j.NodesMin) * int64(max(c.cfg.Site.Nodes[n].CPUs, 1))
		}
	}
	gpus := j.NodesMin * j.Cards()
	if n := j.nodes.Next(0); !j.Divides() && n >= 0 {
		gpus = j.NodesMin * c.cfg.Site.Nodes[n].GPUs
	}
	j.usage = usageOf(j.Allocation, j.NodesMin, gpus)
}

// setUnwanted proposes to withdraw a job.
func (c *Core) setUnwanted(ref model.Ref, why model.Reason) {
	c.jobs.list[ref].phase, c.jobs.list[ref].why = unwanted, why
	c.jobs.unwanted = append(c.jobs.unwanted, ref)
}

// admit lets a job whose dependencies hold into the queue, or has it wait for its begin time or its release. Its age
// counts from then on.
func (c *Core) admit(ref model.Ref) {
	j := &c.jobs.list[ref]
	if len(j.Deps) > 0 {
		j.eligible = max(j.eligible, c.now)
	}
	if j.onHold || j.eligible > c.now {
		j.phase = early
		c.jobs.later = append(c.jobs.later, ref)
		return
	}
	c.enter(ref)
}

// released lets a job go that was on hold; its priority is computed then.
func (c *Core) released(ref model.Ref) {
	j := &c.jobs.list[ref]
	if !j.onHold {
		return
	}
	j.onHold = false
	if j.phase == early {
		c.jobs.later = without(c.jobs.later, ref)
		c.admit(ref)
	}
	c.somethingChanged()
}

// withdrawn takes out a job that its owner, the graph or a limit withdrew.
func (c *Core) withdrawn(ref model.Ref, outcome model.JobState) {
	j := &c.jobs.list[ref]
	switch j.phase {
	case proposed: // the refusal will follow
		j.phase = withdrawn
		return
	case queued:
		c.jobs.remove(ref)
	case early:
		c.jobs.later = without(c.jobs.later, ref)
	case unwanted:
		c.jobs.unwanted = without(c.jobs.unwanted, ref)
	}
	c.somethingChanged()
	c.depart(ref, outcome)
}

// depart forgets a job that has left and releases those that waited for it.
func (c *Core) depart(ref model.Ref, outcome model.JobState) {
	j := &c.jobs.list[ref]
	j.phase = gone
	c.release(j.Job, ref, outcome)
}

// neverSubmitted is the ref of a job that is over and was never submitted.
const neverSubmitted = -1

// release lets those move that wait for a job which is over now. They have their turn in the next pass.
func (c *Core) release(of model.JobID, ref model.Ref, outcome model.JobState) {
	c.changes.Reset()
	c.graph.Ended(of, ref, outcome, false, &c.changes)
	for _, r := range c.changes.Released {
		if c.jobs.list[r].phase == dependent {
			c.admit(r)
		}
	}
	for _, r := range c.changes.Unsatisfiable {
		if c.jobs.list[r].phase != unwanted {
			c.setUnwanted(r, model.ReasonDependencyNever)
		}
	}
}

// granted takes in that the quorum granted the start of a job.
func (c *Core) granted(ref model.Ref) {
	j := &c.jobs.list[ref]
	c.jobs.running = without(c.jobs.running, ref)
	j.phase, j.started, j.predicted = running, c.now, c.now.Add(j.left)
	c.jobs.run(ref)
	j.cpus = c.nodes.cpusOf(&j.placement)
	c.limits.Unreserve(&j.usage)
	c.limits.Start(&j.usage, c.now)
	c.clock.changed = true
}

// restored takes in that a job goes on where it ran before this scheduler began.
func (c *Core) restored(f *model.Fact) {
	j := &c.jobs.list[f.Ref]
	if j.phase != queued {
		panic("scheduler: a job is restored that is not queued")
	}
	c.jobs.remove(f.Ref)
	j.placement.Set(f.Placement)
	c.occupy(f.Ref)
	c.granted(f.Ref)
}

// refused takes in that the quorum did not grant a start. The job waits for the next pass.
func (c *Core) refused(f *model.Fact) {
	j := &c.jobs.list[f.Ref]
	if j.seq != f.Seq || j.phase != proposed && j.phase != withdrawn {
		return // it was to be withdrawn
	}
	c.jobs.running = without(c.jobs.running, f.Ref)
	c.nodes.give(&j.placement)
	c.limits.Unreserve(&j.usage)
	c.graph.Stopped(f.Ref)
	c.requestSize(j)
	c.somethingChanged()
	if j.phase == withdrawn {
		c.depart(f.Ref, model.Cancelled)
		return
	}
	j.phase = queued // with the priority that it had
	c.jobs.insert(f.Ref)
}

// vacate gives the nodes of a running job back. They are free at once; nothing starts on them before the next pass.
func (c *Core) vacate(ref model.Ref) {
	j := &c.jobs.list[ref]
	if j.phase != running {
		panic("scheduler: end of a job that does not run")
	}
	c.priority.ended(j, c.now)
	c.jobs.running = without(c.jobs.running, ref)
	c.nodes.give(&j.placement)
	c.limits.Stop(&j.usage, c.now)
	c.graph.Stopped(ref)
	c.somethingChanged()
}

// returns puts a job that was suspended or requeued back into the queue, after a delay; left is the requested
// time that it still has. Its age counts anew.
func (c *Core) returns(ref model.Ref, left, delay model.Duration) {
	c.vacate(ref)
	j := &c.jobs.list[ref]
	j.left, j.eligible = left, c.now.Add(delay)
	c.requestSize(j)
	c.admit(ref)
}

// usedBefore charges for what was used before this scheduler began: the limits over time from its begin on, and shares by what is left of it now.
func (c *Core) usedBefore(f *model.Fact) {
	a := f.Alloc
	c.nodes.define(a.Constraint, f.Constraint)
	j := job{Allocation: a, nodes: c.nodes.usable(a), assoc: c.priority.associate(a)}
	c.requestSize(&j)
	if f.Kind == model.FactUsageBegan {
		c.began = append(c.began, beganBefore{a.Job, f.At})
		c.limits.Start(&j.usage, f.At)
		return
	}
	c.limits.Stop(&j.usage, f.At)
	for i := range c.began {
		if b := c.began[i]; b.job == a.Job {
			c.began = slices.Delete(c.began, i, i+1)
			c.priority.usedBefore(&j, f.At.Sub(b.at), c.now.Sub(f.At))
			return
		}
	}
}

// beganBefore is an attempt from before the scheduler began, which has not ended so far.
type beganBefore struct {
	job model.JobID
	at  model.Time
}

// Follow takes in what another core has proposed in a pass at now over the same facts.
func (c *Core) Follow(now model.Time, proposals []model.Proposal) {
	c.advance(now)
	c.admitDue()
	for i := range proposals {
		p := &proposals[i]
		c.seq = p.Seq
		switch p.Kind {
		case model.ProposeAssign:
			j := &c.jobs.list[p.Ref]
			switch j.phase {
			case queued:
				c.jobs.remove(p.Ref)
			case early:
				c.jobs.later = without(c.jobs.later, p.Ref)
			case unwanted:
				c.jobs.unwanted = without(c.jobs.unwanted, p.Ref)
			}
			j.placement.Set(&p.Placement)
			c.occupy(p.Ref)
			j.seq = p.Seq
		case model.ProposeCancel:
			c.jobs.unwanted = without(c.jobs.unwanted, p.Ref)
		}
	}
}
