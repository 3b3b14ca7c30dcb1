package autoscale

import "orrery/scheduler/model"

// Ticks are the instants at which a policy is evaluated: the first at which it is asked,
// and then one each interval. The zero value has had none.
type Ticks struct {
	next  model.Time
	begun bool
}

// Due says whether an evaluation is due at now, and lets plan wake the policy for the
// next. With an interval of 0 one is due at every call, and none wakes the policy.
func (t *Ticks) Due(now model.Time, interval model.Duration, plan *Plan) bool {
	if interval == 0 {
		return true
	}
	due := !t.begun || now >= t.next
	if due {
		t.begun, t.next = true, now.Add(interval)
	}
	plan.Wake = t.next
	return due
}
