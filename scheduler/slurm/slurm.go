// Package slurm is a core that decides as Slurm's controller does: a main scheduler that starts jobs by priority and
// stops a partition at its first job that cannot start, and a backfill scheduler that plans anew in each cycle. Both run
// by the controller's clocks, and priorities are computed at submission and at ticks. docs/SLURM.md says which parts
// of Slurm are followed, from which version, and which are not.
//
// It is a core of its own, beside that of sites: one controller decides for all partitions at instants
// of its own, where a site has vClusters that propose, lend and promise whenever something changes.
package slurm

import (
	"cmp"
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/fairshare"
	"orrery/scheduler/model"
	"orrery/scheduler/quota"
	"orrery/scheduler/workflow"
)

// Core is Slurm's controller with the nodes and jobs that it knows. It reads no clock. It is not safe for
// concurrent use.
type Core struct {
	cfg      Config
	nodes    nodeTable
	jobs     jobTable
	graph    *workflow.Graph
	limits   *fairshare.Accounts
	most     *quota.Ledger // with the highest limits there will be
	priority *priorities
	clock    clock
	backfill backfill

	now       model.Time
	began     []beganBefore // attempts from before this scheduler began
	restoring bool
	idle      bool   // nothing holds nodes, and the last full pass started nothing
	seq       uint64 // of the last proposal
	plan      scheduler.Plan
	work      scheduler.Work
	changes   workflow.Changes
	pass      mainPass
	chosen    selection
}

// New returns the core of an idle cluster. cfg must be valid.
func New(cfg Config) *Core {
	most := cfg.Quota
	if cfg.MostTenants != nil {
		most.Tenants = cfg.MostTenants
	}
	c := &Core{
		cfg: cfg, nodes: newNodeTable(cfg.Site), graph: workflow.New(), most: quota.New(&most), clock: newClock(&cfg.Options),
		limits: fairshare.New(&fairshare.Config{Quota: &cfg.Quota, Tenants: cfg.Site.Tenants, QOS: cfg.Site.QOS}),
	}
	c.priority = newPriorities(&c.cfg)
	c.backfill = newBackfill(len(cfg.Site.Nodes))
	c.pass = newMainPass(cfg.Site)
	return c
}

// Plan implements scheduler.Core: what the controller's clocks have come to at now, in the order of a turn of its loop.
func (c *Core) Plan(now model.Time) *scheduler.Plan {
	c.advance(now)
	c.plan.Proposals, c.plan.Passed, c.plan.Due, c.plan.QuietUntil = c.plan.Proposals[:0], c.plan.Passed[:0], model.Never, model.Never
	c.withdrawUnwanted()
	if c.priority.ticked {
		c.priority.rate(&c.jobs)
		c.jobs.sortQueue()
	}
	c.admitDue()
	if c.restoring {
		c.place()
		return &c.plan
	}
	if full, ok := c.clock.mainPassAt(now, len(c.jobs.queue) > 0); ok {
		c.runMain(full)
		c.fruitless(full)
	}
	if c.clock.backfillAt(now, len(c.jobs.queue) > 0) {
		c.runBackfill()
		c.clock.backfilled(now)
	}
	c.plan.Due = c.nextDue(now)
	c.plan.QuietUntil = c.plan.Due
	return &c.plan
}

// fruitless notes a full pass that started nothing while nothing holds nodes: no later one starts anything until something is
// observed or an instant comes that changes what jobs may do, for priorities alone make no room.
func (c *Core) fruitless(full bool) {
	c.idle = full && len(c.plan.Proposals) == 0 && len(c.jobs.running) == 0
}

// nextDue is the next instant at which a pass may find out anything new if nothing is observed until then.
func (c *Core) nextDue(now model.Time) model.Time {
	at := c.jobs.nextEligible(now)
	if len(c.jobs.queue) == 0 {
		return at
	}
	if !c.idle {
		return min(at, c.clock.next(now), c.priority.next)
	}
	for i := range c.cfg.Site.Reservations { // their begin and end change what jobs may use
		for _, edge := range [...]model.Time{c.cfg.Site.Reservations[i].Start, c.cfg.Site.Reservations[i].End} {
			if edge > now {
				at = min(at, c.clock.turn(edge))
			}
		}
	}
	return at
}

// advance brings the accounts of limits to now.
func (c *Core) advance(now model.Time) {
	c.limits.Advance(now)
	c.priority.advance(now, &c.jobs)
	c.now = now
}

// withdrawUnwanted proposes to cancel the jobs that can never start.
func (c *Core) withdrawUnwanted() {
	for _, ref := range c.jobs.unwanted {
		j := &c.jobs.list[ref]
		c.seq++
		c.plan.Proposals = append(c.plan.Proposals, model.Proposal{
			Kind: model.ProposeCancel, Reason: j.why, VCluster: j.VCluster, Seq: c.seq, Job: j.Job, Ref: ref,
		})
	}
	c.jobs.unwanted = c.jobs.unwanted[:0]
}

// admitDue lets the jobs into the queue whose begin time has come. That asks for no pass: the next one finds them.
func (c *Core) admitDue() {
	for i := 0; i < len(c.jobs.later); {
		ref := c.jobs.later[i]
		if j := &c.jobs.list[ref]; j.onHold || j.eligible > c.now {
			i++
			continue
		}
		c.jobs.later = slices.Delete(c.jobs.later, i, i+1)
		c.idle = false
		c.enter(ref)
	}
}

// enter puts a job into the queue, with the priority that it has now.
func (c *Core) enter(ref model.Ref) {
	j := &c.jobs.list[ref]
	j.phase = queued
	j.priority = c.priority.of(j, c.now)
	c.jobs.insert(ref)
}

// start proposes to start a job on its placement, which counts as taken from now on.
func (c *Core) start(ref model.Ref) {
	j := &c.jobs.list[ref]
	c.jobs.remove(ref)
	c.occupy(ref)
	c.seq++
	j.seq = c.seq
	c.plan.Proposals = append(c.plan.Proposals, model.Proposal{
		Kind: model.ProposeAssign, VCluster: j.VCluster, Seq: c.seq, Job: j.Job, Ref: ref, Request: j.request, Placement: j.placement,
	})
}

// occupy counts what a job is placed on as taken, until the answer to its proposal is observed.
func (c *Core) occupy(ref model.Ref) {
	j := &c.jobs.list[ref]
	j.phase = proposed
	j.predicted = c.now.Add(j.left)
	c.nodes.take(&j.placement)
	j.usage = c.usageOn(j, &j.placement)
	c.limits.Reserve(&j.usage)
	c.graph.Started(ref)
	c.jobs.run(ref)
}

// usageOn is what a job uses of limits on a placement.
func (c *Core) usageOn(j *job, p *model.Placement) quota.ResourceUsage {
	u := usageOf(j.Allocation, p.Nodes(), c.nodes.gpusOf(p))
	u.Shares = p.Shares
	return u
}

// usageOf is what a job on so many nodes with so many GPUs uses of limits.
func usageOf(a *model.Allocation, nodes, gpus int32) quota.ResourceUsage {
	milli := int64(gpus) * model.WholeGPU
	return quota.ResourceUsage{
		Tenant: a.Tenant, QOS: a.QOS, Partition: a.Partition, User: a.User, Session: a.Kind == model.Session, Divides: a.Divides(),
		Nodes: nodes, GPUs: gpus, Milli: milli, Each: milli / int64(max(nodes, 1)),
	}
}

// overLimits places a job on the nodes chosen, and says which limit on nodes or GPUs it would break there.
func (c *Core) overLimits(j *job) model.Reason {
	c.chosen.placement(j, &c.nodes, &j.placement)
	u := c.usageOn(j, &j.placement)
	if r := c.limits.CheckChosen(&j.usage, u.Nodes, u.Milli, 0, u.Shares); r != model.ReasonNone {
		return r
	}
	return c.limits.Check(&u)
}

// held says what keeps a job of the queue from starting, whatever is free.
func (c *Core) held(ref model.Ref) model.Reason {
	j := &c.jobs.list[ref]
	if j.Reservation >= 0 && c.cfg.Site.Reservations[j.Reservation].Outside(c.now, c.now.Add(j.left)) {
		return model.ReasonReserved
	}
	if r := c.limits.Check(&j.usage); r != model.ReasonNone {
		return r
	}
	return c.graph.Gate(ref)
}

// inOrder says whether a comes before b in the queue: with a reservation before without, then the higher tier, the higher priority,
// the earlier second of submission, and the lower id.
func inOrder(a, b *job) int {
	return cmp.Or(
		cmp.Compare(b.rank(), a.rank()), cmp.Compare(b.tier, a.tier), cmp.Compare(b.priority, a.priority),
		cmp.Compare(floor(a.Submit, model.Second), floor(b.Submit, model.Second)), cmp.Compare(a.Job, b.Job),
	)
}
