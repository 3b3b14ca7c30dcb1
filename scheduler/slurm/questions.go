package slurm

import (
	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/score"
)

// Predicted implements scheduler.Questions.
func (c *Core) Predicted(ref model.Ref) model.Time { return c.jobs.list[ref].predicted }

// Runs implements scheduler.Questions.
func (c *Core) Runs(ref model.Ref) bool { return c.jobs.list[ref].phase == running }

// Work implements scheduler.Questions.
func (c *Core) Work() scheduler.Work { return c.work }

// FirstBlocked implements scheduler.Questions: no job has a reservation that all others leave to it.
func (c *Core) FirstBlocked(model.VClusterID) (ref model.Ref, since uint64, ok bool) {
	return -1, 0, false
}

// Consumed implements scheduler.Questions.
func (c *Core) Consumed(t model.TenantID, now model.Time) (node, gpu model.Duration) {
	return c.limits.Consumed(t, now)
}

// Least implements scheduler.Questions, in nodes.
func (c *Core) Least() int32 {
	least := int32(0)
	for _, ref := range c.jobs.queue {
		if n := c.jobs.list[ref].NodesMin; least == 0 || n < least {
			least = n
		}
	}
	return least
}

// Unsatisfiable implements scheduler.Questions.
func (c *Core) Unsatisfiable(f *model.Fact) model.Reason {
	a := f.Alloc
	c.nodes.define(a.Constraint, f.Constraint)
	w := wantOf(a)
	if a.IsSensitive() && c.cfg.Site.Fingerprints > 1 && max(a.NodesMin, a.Tasks) > 1 {
		return model.ReasonConformance // Slurm knows no conformance groups, and would get nodes of several
	}
	if a.NodesMin < 1 || !c.chosen.choose(&w, c.nodes.usable(a), c.nodes.idle) {
		return model.ReasonTooLarge
	}
	if a.Reservation >= 0 {
		r := &c.cfg.Site.Reservations[a.Reservation]
		if from := max(a.Submit, a.Eligible, r.Start); r.Outside(from, from.Add(a.Walltime)) {
			return model.ReasonReserved
		}
	}
	j := job{Allocation: a, nodes: c.nodes.usable(a)}
	c.requestSize(&j)
	return c.most.Unsatisfiable(&j.usage, a.Walltime)
}

// Queue implements scheduler.Questions.
func (c *Core) Queue(_ model.Time, dst []scheduler.Standing) []scheduler.Standing {
	for i, ref := range c.jobs.queue {
		x := c.standing(ref)
		x.Position = int32(i) + 1
		x.Score, x.Scored = c.points(ref)
		dst = append(dst, x)
	}
	for ref := range c.jobs.list {
		switch c.jobs.list[ref].phase {
		case dependent, early, unwanted, proposed:
			dst = append(dst, c.standing(model.Ref(ref)))
		}
	}
	return dst
}

func (c *Core) standing(ref model.Ref) scheduler.Standing {
	j, a := &c.jobs.list[ref], c.answer(ref)
	return scheduler.Standing{Job: j.Job, VCluster: j.VCluster, Proposed: j.phase == proposed, Reason: a.Reason, Behind: a.Behind, Start: model.AbsentTime}
}

// Answers implements scheduler.Questions.
func (c *Core) Answers(refs []model.Ref, _ model.Time, _ bool, dst []scheduler.Answer) []scheduler.Answer {
	for _, ref := range refs {
		dst = append(dst, c.answer(ref))
	}
	return dst
}

// answer is why a job waits: what a main pass would find if it were made now.
func (c *Core) answer(ref model.Ref) scheduler.Answer {
	j, out := &c.jobs.list[ref], scheduler.Answer{Behind: -1}
	switch j.phase {
	case dependent:
		out.Reason = model.ReasonDependency
		if on, _, ok := c.graph.Blocker(ref); ok {
			out.Behind = on
		}
	case early:
		switch {
		case j.onHold:
			out.Reason = model.ReasonHeld
		case j.eligible > c.now:
			out.Reason = model.ReasonNotEligible
		}
	case unwanted:
		out.Reason = j.why
	case queued:
		if out.Reason = c.held(ref); out.Reason == model.ReasonNone {
			out = c.blockedBy(ref)
		}
	}
	return out
}

// blockedBy says what is in the way of a job that no limit holds: nodes, or the first job before it that stops its partition or
// closes nodes of it.
func (c *Core) blockedBy(ref model.Ref) scheduler.Answer {
	j := &c.jobs.list[ref]
	for _, r := range c.jobs.queue {
		x := &c.jobs.list[r]
		if r == ref {
			break
		}
		if x.Partition != j.Partition || c.held(r) != model.ReasonNone {
			continue
		}
		if !c.hasRoom(x) && !c.cfg.Options.reservesNothing(x, c.now) {
			return scheduler.Answer{Reason: model.ReasonPriority, Behind: x.Job}
		}
	}
	if c.hasRoom(j) {
		return scheduler.Answer{Behind: -1}
	}
	return scheduler.Answer{Reason: model.ReasonResources, Behind: -1}
}

// hasRoom says whether a job could start now if no job before it were in the way.
func (c *Core) hasRoom(j *job) bool {
	w, usable := wantOf(j.Allocation), c.pass.usable
	copy(usable, j.nodes)
	c.keepReserved(j, c.now, usable)
	return c.chosen.choose(&w, usable, c.nodes.room)
}

// Why implements scheduler.Questions.
func (c *Core) Why(ref model.Ref, _ model.Time) scheduler.Note {
	j := &c.jobs.list[ref]
	n := scheduler.Note{Job: j.Job, Ref: ref, Answer: c.answer(ref), Until: model.AbsentTime, Room: scheduler.Room{Need: j.NodesMin, Usable: j.nodes.Len()}}
	n.Score, n.Scored = c.points(ref)
	if j.phase == proposed {
		n.Nodes = j.placement.Nodes()
		return n
	}
	w := wantOf(j.Allocation)
	for i := j.nodes.Next(0); i >= 0; i = j.nodes.Next(i + 1) {
		if w.capacity(&c.nodes.room[i]) > 0 {
			n.Nodes++
		}
	}
	return n
}

// points is the priority of a waiting job, taken apart.
func (c *Core) points(ref model.Ref) (score.Explanation, bool) {
	j := &c.jobs.list[ref]
	if c.priority.tree == nil || j.phase != queued && j.phase != proposed {
		return score.Explanation{}, false
	}
	in := c.priority.inputs(j, c.priority.asOf(j))
	return scheduler.Points(c.cfg.Weights, &in), true
}
