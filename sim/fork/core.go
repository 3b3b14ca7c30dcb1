// Package fork lets another scheduler take a run over on the way. The cores that will decide
// follow the one that decides: they observe the same facts and take in what it proposes. So one
// of them goes on from any instant, as a standby scheduler does in production. It knows no trace
// and drives nothing.
package fork

import (
	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/plain"
	"orrery/scheduler/site"
	"orrery/scheduler/slurm"
	"orrery/sim/plan"
)

// Scheduler is a core that can follow another.
type Scheduler interface {
	scheduler.Core
	scheduler.Questions
	Follow(now model.Time, proposals []model.Proposal)
}

// Core is the core that decides now, and those that take over later.
type Core struct {
	Scheduler              // that decides
	later     []standby    // ascending by their instant
	nodes     model.NodeID // that the core which decides knows; those behind them are added later
	done      scheduler.Work
}

// standby is a core that takes over at an instant.
type standby struct {
	Scheduler
	at    model.Time
	nodes model.NodeID
}

// New is the core of a plan: one core where nothing takes over, else all of them. one makes a core
// of a site, nil for site.New.
func New(p *plan.Resolved, one func(site.Config) Scheduler) Scheduler {
	if one == nil {
		one = coreOf
	}
	if p.Site == nil {
		first := plain.New(p.Core)
		if len(p.Takeovers) == 0 {
			return first
		}
		c := &Core{Scheduler: first}
		for i := range p.Takeovers {
			h := &p.Takeovers[i]
			c.later = append(c.later, standby{plain.New(h.Core), h.At, 0})
		}
		return c
	}
	first := one(p.Site.Core)
	if len(p.Takeovers) == 0 {
		return first
	}
	c := &Core{Scheduler: first, nodes: model.NodeID(len(p.Site.Core.Site.Nodes))}
	for i := range p.Takeovers {
		h := &p.Takeovers[i]
		c.later = append(c.later, standby{one(*h.Site), h.At, model.NodeID(len(h.Site.Site.Nodes))})
	}
	return c
}

// coreOf is the core of a site: that of package site, or Slurm's own schedulers.
func coreOf(c site.Config) Scheduler {
	if own := c.Slurm(); own != nil {
		return slurm.New(*own)
	}
	return site.New(c)
}

// Next is the next instant at which another core takes over, model.Never for none. A nil Core has none.
func (c *Core) Next() model.Time {
	if c == nil || len(c.later) == 0 {
		return model.Never
	}
	return c.later[0].at
}

// Reach lets those cores take over whose instant has come, before anything is asked at now. It says
// whether one has.
func (c *Core) Reach(now model.Time) bool {
	if c.Next() > now {
		return false
	}
	for len(c.later) > 0 && c.later[0].at <= now {
		w := c.Scheduler.Work()
		c.done.Passes += w.Passes
		c.done.Examined += w.Examined
		c.Scheduler, c.nodes, c.later = c.later[0].Scheduler, c.later[0].nodes, c.later[1:]
	}
	return true
}

// Observe implements scheduler.Core.
func (c *Core) Observe(now model.Time, facts []model.Fact) {
	c.Reach(now)
	observe(c.Scheduler, c.nodes, now, facts)
	for i := range c.later {
		observe(c.later[i].Scheduler, c.later[i].nodes, now, facts)
	}
}

// observe tells a core all facts but those of nodes that it does not know.
func observe(to Scheduler, nodes model.NodeID, now model.Time, facts []model.Fact) {
	from := 0
	for i := range facts {
		if facts[i].Kind == model.FactNode && facts[i].Node >= nodes {
			to.Observe(now, facts[from:i])
			from = i + 1
		}
	}
	to.Observe(now, facts[from:])
}

// Plan implements scheduler.Core.
func (c *Core) Plan(now model.Time) *scheduler.Plan {
	c.Reach(now)
	plan := c.Scheduler.Plan(now)
	for i := range c.later {
		c.later[i].Follow(now, plan.Proposals)
	}
	return plan
}

// Work implements scheduler.Questions: that of all cores that have decided.
func (c *Core) Work() scheduler.Work {
	w := c.Scheduler.Work()
	return scheduler.Work{Passes: c.done.Passes + w.Passes, Examined: c.done.Examined + w.Examined}
}

// Headroom is that of the core of a site, see site.Core.
func (c *Core) Headroom(ref model.Ref, most int32) int32 {
	if s, ok := c.Scheduler.(interface {
		Headroom(model.Ref, int32) int32
	}); ok {
		return s.Headroom(ref, most)
	}
	return most
}
