package sim

import (
	"orrery/scheduler/model"
)

// warms says whether now is the warm start of the trace, and the jobs that ran
// before it are not placed yet.
func (r *run) warms(now model.Time) bool {
	return r.plan.Warm.OK && now == r.plan.Warm.V && !r.resumed
}

// resume tells the core what was used before the warm start, and puts the jobs that ran
// then in their places: those of which the nodes are known there, the others where a pass
// puts them that sees no other jobs. The quorum answers at once meanwhile. A job that
// finds no place waits like those that are observed after this.
func (r *run) resume(now model.Time) {
	r.resumed = true
	r.world.Warming(true)
	r.world.usage(func(facts []model.Fact) { r.loop.Observe(now, facts) })
	r.loop.Observe(now, []model.Fact{{Kind: model.FactRestoringBegan}})
	if len(r.running) > 0 {
		r.loop.Observe(now, r.running)
		r.loop.Restore(now, r.world.restores())
		r.loop.Pass(now)
	}
	r.loop.Observe(now, []model.Fact{{Kind: model.FactRestoringEnded}})
	r.world.Warming(false)
	r.running = nil
}
