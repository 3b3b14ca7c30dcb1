package sim

import (
	"orrery/scheduler/model"
	"orrery/scheduler/site"
	"orrery/sim/watch"
)

// warms says whether now is the warm start of the trace, and the jobs that ran
// before it are not placed yet.
func (r *run) warms(now model.Time) bool {
	return r.plan.Warm.OK && now == r.plan.Warm.V && !r.resumed
}

// resume puts the jobs that ran before the warm start in their places: those of
// which the nodes are known there, the others where a pass puts them that sees
// nobody else. The quorum answers at once meanwhile. Who finds no place waits
// like the jobs that are observed after this.
func (r *run) resume(now model.Time) {
	r.resumed = true
	core, ofSite := r.core.(*site.Core)
	if ofSite {
		core.Remember(now)
		if w, ok := r.watch.(*watch.Watcher); ok {
			w.Opening(now)
		}
	}
	r.world.Warming(true)
	if len(r.running) > 0 {
		r.loop.Observe(now, r.running)
		if ofSite {
			for _, x := range r.world.recorded() {
				r.loop.Commit(now, core.Adopt(now, x.Ref, &x.Placement))
			}
			core.OutOfTurn(true)
			defer core.OutOfTurn(false)
		}
		r.loop.Pass(now)
	}
	r.world.Warming(false)
	r.running = nil
}
