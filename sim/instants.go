package sim

import (
	"orrery/scheduler/model"
	"orrery/sim/metric"
)

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
	return r.follow == nil && r.event > now && !r.warms(now) && (r.services == nil || !r.services.Pending(now))
}

// tick is the first instant of the cycle at or after t.
func (r *run) tick(t model.Time) model.Time {
	return t.Grid(r.plan.Spec.Cycle, r.plan.Spec.Phase)
}

// count tells the series how many jobs came, started and ended at an instant.
func (r *run) count(now model.Time, submitted, started, ended int64) {
	if submitted > 0 {
		r.series.CountSubmit(now, int32(submitted))
	}
	if started > 0 {
		r.series.CountStart(now, int32(started))
	}
	if ended > 0 {
		r.series.CountEnd(now, int32(ended))
	}
}

// reprice tells the series what energy has cost and emitted up to now.
func (r *run) reprice(now model.Time) {
	for len(r.tariffs) > 0 && r.tariffs[0].At <= now {
		r.series.SetTariff(r.tariffs[0].At, r.tariffs[0].Tariff)
		r.power.reprice(r.tariffs[0].At, &r.tariffs[0].Tariff)
		r.tariffs = r.tariffs[1:]
	}
}

// observe tells the series what the instant has left behind.
func (r *run) observe(now model.Time) {
	st := r.state
	state := metric.State{BusyUnits: st.BusyUnits, QueuedUnits: st.QueuedUnits, QueuedJobs: st.Waiting, RunningJobs: st.Running}
	if st.Waiting > 0 && st.BusyUnits < r.units {
		state.MinQueuedUnits = r.core.Least()
	}
	if r.sited != nil {
		if len(r.sited.Touched) > 0 {
			r.site.observe(now, r.sited)
		}
		state.Power = metric.Power(r.sited.Draw)
		r.power.observe(now, &state.Power)
	}
	r.series.Observe(now, state)
}

// reachEnd brings the series to the end of what is measured: nothing has changed since the last
// instant but what energy costs.
func (r *run) reachEnd() {
	if r.measure != nil {
		end := max(r.res.Last, r.measure.To)
		r.reprice(end)
		r.series.Reach(end)
	}
	if marks := metric.MarksOf(r.opt.Parts); len(marks) > 0 && r.state.Running == 0 && r.state.Waiting == 0 {
		r.reprice(marks[len(marks)-1]) // an idle site draws power until the last part ends
	}
}
