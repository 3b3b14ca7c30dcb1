package site

import (
	"orrery/scheduler/ascoded"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/place"
)

// codedPlanner implements the ports of ascoded for one vCluster.
type codedPlanner struct {
	*pass   // under way
	planner *ascoded.Planner
	found   model.Placement // what Select returns
}

func newCodedRule(p *pass) rule {
	c := &codedPlanner{pass: p}
	c.planner = plannerOver(c, p)
	return codedRule{c: c}
}

// plannerOver is a planner that asks core about the vCluster of a pass.
func plannerOver(core ascoded.Core, p *pass) *ascoded.Planner {
	s, qs := p.core, p.qs
	return ascoded.NewPlanner(ascoded.Config{
		Site: s.site, Weights: &qs.policy.Weights, Reference: qs.policy.Reference, Window: s.cfg.Quota.Window,
		Ready: s.ready, Free: qs.free, All: s.space.Class(nil), Ledger: s.ledger.Ledger, Ends: &qs.ends,
	}, core)
}

// codedRule is what a pass sees of a codedPlanner, which looks behind blocked jobs in a way of its own: to all others it is strict.
type codedRule struct {
	strictRule
	c *codedPlanner
}

func (x codedRule) pass(p *pass, _ []model.Ref) {
	p.core.freeze(p.qs)
	p.core.work.Passes++
	p.core.work.Examined += uint64(len(p.qs.waiting.Jobs))
	p.qs.blocked = x.c.planner.Pass(p.now)
	p.qs.look.Until = p.now
}

// codedInquiryOf is what answers why jobs wait, without a pass but for p; nil where the rule is another, whose tests answer that.
func codedInquiryOf(p *pass) *ascoded.Planner {
	if !p.qs.mode.coded {
		return nil
	}
	return plannerOver(&codedInquiry{&codedPlanner{pass: p}}, p)
}

// codedInquiry is a codedPlanner that is asked without a pass.
type codedInquiry struct{ *codedPlanner }

// Held implements ascoded.Limits.
func (c *codedInquiry) Held(ref model.Ref, score model.Fixed) model.Reason {
	return c.gate().held(order.Candidate{Key: int64(score), Ref: ref})
}

// Waiting implements ascoded.Jobs.
func (c *codedPlanner) Waiting(dst []ascoded.Job) []ascoded.Job {
	for i := range c.qs.waiting.Jobs {
		ref := c.qs.waiting.Jobs[i].Ref
		j := &c.core.jobs[ref]
		dst = append(dst, ascoded.Job{Allocation: j.Allocation, Ref: ref, Left: j.left})
	}
	return dst
}

// Running implements ascoded.Jobs.
func (c *codedPlanner) Running(dst []ascoded.Running) []ascoded.Running {
	for _, ref := range c.core.active {
		j := &c.core.jobs[ref]
		dst = append(dst, ascoded.Running{Allocation: j.Allocation, Nodes: &j.placement, Started: j.started})
	}
	return dst
}

// End implements ascoded.Jobs.
func (c *codedPlanner) End(ref model.Ref) (model.Kind, model.Time, bool) {
	j := &c.core.jobs[ref]
	return j.Kind, j.predicted, j.phase == running
}

// Held implements ascoded.Limits.
func (c *codedPlanner) Held(ref model.Ref, score model.Fixed) model.Reason {
	return c.turns().screen(order.Candidate{Key: int64(score), Ref: ref})
}

// Breaks implements ascoded.Limits.
func (c *codedPlanner) Breaks(ref model.Ref, nodes *model.Placement) model.Reason {
	j := &c.core.jobs[ref]
	if r := c.core.overCap(j, nodes); r != model.ReasonNone {
		return r
	}
	if r := c.core.overLimits(j, nodes, 0); r != model.ReasonNone {
		return r
	}
	u := usageOf(j.Allocation, j.kind, nodes.Nodes())
	return c.core.limited(j, &u)
}

// Allows implements ascoded.Limits.
func (c *codedPlanner) Allows(ref model.Ref, n int32) bool {
	j := &c.core.jobs[ref]
	u := usageOf(j.Allocation, j.kind, n)
	return c.core.limited(j, &u) == model.ReasonNone && c.core.caps.Fits(c.core.leastNeeds(j, n))
}

// Usable implements ascoded.Nodes.
func (c *codedPlanner) Usable(ref model.Ref) int32 {
	j := &c.core.jobs[ref]
	if j.Divides() {
		return c.qs.free.CountShares(j.kind.class, place.ShareOf(j.Allocation))
	}
	return c.room().own(j, c.avoided(ref))
}

// Select implements ascoded.Nodes.
func (c *codedPlanner) Select(ref model.Ref, n int32) (*model.Placement, model.Reason) {
	j := &c.core.jobs[ref]
	q := c.qs.query(j, n, c.avoided(ref))
	if !c.qs.free.Select(&q, &c.found) {
		return nil, c.room().short(j, &q)
	}
	return &c.found, model.ReasonNone
}

// Short implements ascoded.Nodes.
func (c *codedPlanner) Short(ref model.Ref, n int32) model.Reason {
	j := &c.core.jobs[ref]
	q := c.qs.query(j, n, c.avoided(ref))
	return c.room().short(j, &q)
}

// Start implements ascoded.Nodes.
func (c *codedPlanner) Start(ref model.Ref, nodes *model.Placement) {
	j := &c.core.jobs[ref]
	j.usage = usageOf(j.Allocation, j.kind, nodes.Nodes())
	found := &c.core.buf.choice
	found.nodes.Set(nodes)
	found.borrowed = false
	c.proposals().propose(ref, found)
}

// avoided are the nodes that the job must not use if it starts now.
func (c *codedPlanner) avoided(ref model.Ref) model.NodeSet {
	return c.core.avoids(ref, c.now, c.now.Add(c.core.jobs[ref].left))
}
