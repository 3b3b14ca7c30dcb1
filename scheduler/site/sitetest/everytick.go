// Package sitetest has cores that tests hold the core of a site against.
package sitetest

import (
	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/site"
)

// EveryTick is a core whose vClusters look at each tick of their cycles while there are jobs, also where the core knows
// that nothing can have changed: the reference for what it leaves out.
type EveryTick struct {
	*site.Core
	policies []site.Policy
	jobs     int // in the system
}

// NewEveryTick returns such a core of an idle site. cfg must be valid.
func NewEveryTick(cfg site.Config) *EveryTick {
	return &EveryTick{Core: site.New(cfg), policies: cfg.Policies}
}

// Observe implements scheduler.Core.
func (e *EveryTick) Observe(now model.Time, facts []model.Fact) {
	for i := range facts {
		switch facts[i].Kind {
		case model.FactSubmitted:
			e.jobs++
		case model.FactCancelled, model.FactEnded:
			e.jobs--
		}
	}
	if e.jobs < 0 {
		panic("sitetest: more jobs have left than have come")
	}
	e.Core.Observe(now, facts)
}

// Plan implements scheduler.Core.
func (e *EveryTick) Plan(now model.Time) *scheduler.Plan {
	for v := range e.policies {
		if e.policies[v].Cycle > 0 {
			e.LookAgain(model.VClusterID(v))
		}
	}
	p := e.Core.Plan(now)
	for v := range e.policies {
		if policy := &e.policies[v]; policy.Cycle > 0 && e.jobs > 0 {
			p.Due = min(p.Due, (now+1).Grid(policy.Cycle, policy.Phase))
		}
	}
	return p
}
