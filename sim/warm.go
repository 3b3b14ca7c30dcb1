package sim

import (
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/quota"
)

// warms says whether now is the warm start of the trace, and the jobs that ran
// before it are not placed yet.
func (r *run) warms(now model.Time) bool {
	return r.plan.warm.OK && now == r.plan.warm.V && !r.resumed
}

// resume puts the jobs that ran before the warm start in their places: those of
// which the nodes are known there, the others where a pass puts them that sees
// nobody else. The quorum answers at once meanwhile. Who finds no place waits
// like the jobs that are observed after this.
func (r *run) resume(now model.Time) {
	r.resumed = true
	r.world.Warming(true)
	if len(r.running) > 0 {
		r.loop.Observe(now, r.running)
		if core, ok := r.core.(*scheduler.Site); ok {
			for _, x := range r.world.recorded() {
				r.loop.Commit(now, core.Adopt(now, x.Ref, &x.Placement))
			}
		}
		r.loop.Pass(now)
	}
	r.world.Warming(false)
	r.running = nil
}

// emptyLedgers counts the tenants whose ledgers remember what was consumed, and
// know nothing of before the warm start: where the score ranks those with budgets and
// those with a share of usage in a window or that decays, and all where Slurm's
// priority does. It is 0 without a warm start.
func emptyLedgers(p *sitePlan) int64 {
	if !p.world.Warm.OK {
		return 0
	}
	ranks := func(by scheduler.Ranking) bool {
		return slices.ContainsFunc(p.core.Policies, func(x scheduler.Policy) bool { return x.Ranking == by })
	}
	score, multifactor := ranks(scheduler.ByScore), ranks(scheduler.ByMultifactor)
	n := int64(0)
	for _, t := range p.core.Site.Tenants {
		remembers := t.GPUBudget > 0 || t.NodeBudget > 0 || t.FairShare > 0 && p.core.Quota.Usage != quota.Instantaneous
		if multifactor || score && remembers {
			n++
		}
	}
	if multifactor {
		n = max(n, 1) // of the users alone
	}
	return n
}
