package sim

import "orrery/scheduler/model"

// tellQueues hands out the queues of all instants before now, where they are asked for.
func (r *run) tellQueues(now model.Time) {
	if r.opt.Queues != nil {
		r.tellQueuesBefore(now)
	}
}

func (r *run) tellQueuesBefore(now model.Time) {
	for ; r.queues < len(r.opt.QueuesAt) && r.opt.QueuesAt[r.queues] < now; r.queues++ {
		at := r.opt.QueuesAt[r.queues]
		if now == model.Never { // the core has no later state
			at = min(at, r.res.Last)
		}
		r.opt.Queues(at, r.core.Queue(at, nil))
	}
}

// over says that no further round at now would find anything: rows follow their
// predecessors or come in order.
func (r *run) over(now model.Time) bool {
	r.event = r.world.Next()
	return r.follow == nil && r.event > now && !r.warms(now)
}

// tick is the first instant of the cycle at or after t.
func (r *run) tick(t model.Time) model.Time {
	return t.Grid(r.plan.Spec.Cycle, r.plan.Spec.Phase)
}
