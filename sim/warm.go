package sim

import (
	"orrery/scheduler"
	"orrery/scheduler/model"
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
