package plain

import "orrery/scheduler/model"

// harmlessShape is harmless where jobs ask for shares of single nodes, so that
// it matters which nodes are left over and not only how much. The job is placed
// for trial; it is harmless if head still fits at its reservation.
func (c *Core) harmlessShape(now model.Time, head model.Ref, j *job) bool {
	r := &c.easy
	if !r.known {
		r.known = true
		r.at = c.foresee(now, c.jobs[head].Request)
	}
	if now.Add(j.Walltime) <= r.at {
		return true
	}
	c.view.Take(j.Request, &c.trial)
	c.easy.forecast.Withdraw(&c.trial)
	harmless := c.easy.forecast.Fits(c.jobs[head].Request)
	if !harmless {
		c.easy.forecast.Return(&c.trial)
	}
	c.view.Release(&c.trial) // start takes the same nodes again
	return harmless
}

// foresee brings the forecast to the earliest instant at which r is predicted
// to fit and returns it; Never when it is not before all predicted ends.
func (c *Core) foresee(now model.Time, r model.Request) model.Time {
	c.easy.forecast.Reset(c.view)
	at, fits := model.Never, false
	c.ends.Ascend(now, func(t model.Time, ref model.Ref, _ int32) bool {
		if t != at && c.easy.forecast.Fits(r) {
			fits = true
			return false
		}
		at = t
		c.easy.forecast.Return(&c.jobs[ref].placement)
		return true
	})
	if fits || c.easy.forecast.Fits(r) {
		return at
	}
	return model.Never
}
