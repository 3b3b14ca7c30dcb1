package sim

import (
	"orrery/scheduler/model"
	"orrery/sim/plan"
)

// quietUntil is until when a pass could answer nothing new: one of another core than the last may.
func (r *run) quietUntil() model.Time {
	if r.tookOver {
		return 0
	}
	return r.loop.QuietUntil()
}

// watchable refuses a run whose invariants change on the way: they follow from one policy.
func watchable(p *plan.Resolved) error {
	preferred := p.Core.Prefer != nil || p.Site != nil && p.Site.Core.Prefer != nil
	if len(p.Takeovers) == 0 && !preferred {
		return nil
	}
	return &plan.UsageError{Text: "the scenario of the run changes what the scheduler goes by on the way, or prefers a job, and the invariants are those of one policy: check the run that it was forked from"}
}
