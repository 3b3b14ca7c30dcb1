package hpa

import (
	"math"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// evaluate fills the evaluation of an instant.
func (p *Policy) evaluate(now model.Time) autoscale.Decision {
	e := &p.last
	*e = Evaluation{Current: p.size, Raw: -1, Stabilized: p.size, Desired: p.size, Failed: -1}
	d := autoscale.Decision{Rule: RuleMetric, Entity: autoscale.Whole}
	if !p.known {
		d.Guard = GuardNoSize
		return d
	}
	if !p.begun {
		p.history, p.begun = append(p.history, Recommendation{p.size, now}), true
	}
	switch {
	case p.size == 0 && p.cfg.Min != 0:
		d.Rule = RuleDisabled
		return d
	case p.size > p.cfg.Max:
		d.Rule, e.Desired = RuleTooMany, p.cfg.Max
		d.Would = setTo(p.cfg.Max)
		return d
	case p.size < p.cfg.Min:
		d.Rule, e.Desired = RuleTooFew, p.cfg.Min
		d.Would = setTo(p.cfg.Min)
		return d
	}
	if !p.demand(now) {
		d.Guard = autoscale.GuardNoMetric
		return d
	}
	d.Would = setTo(e.Raw)
	if p.cfg.Behaviours {
		p.bounded(now)
	} else {
		p.boundedPlainly(now)
	}
	d.Guard = p.guard()
	if e.Raw == p.size && d.Guard == autoscale.GuardNone {
		d.Guard, d.Would = GuardTolerance, autoscale.Proposal{}
	}
	return d
}

func setTo(n int64) autoscale.Proposal {
	return autoscale.Proposal{Verb: autoscale.SetReplicas, N: n, Entity: autoscale.Whole}
}

// guard is what stood between the demand and what is to be done.
func (p *Policy) guard() autoscale.Guard {
	switch e := &p.last; {
	case e.Limited == TooManyReplicas:
		return autoscale.GuardMax
	case e.Limited == TooFewReplicas:
		return autoscale.GuardMin
	case e.Limited == ScaleUpLimit || e.Limited == ScaleDownLimit:
		return GuardRate
	case e.Able != ReadyForNewScale:
		return GuardStabilized
	}
	return autoscale.GuardNone
}

// demand is the highest number of replicas that a metric demands. Metrics without a value
// keep the size from shrinking, and from any change when there are no others.
func (p *Policy) demand(now model.Time) bool {
	e := &p.last
	invalid := 0
	for i := range p.cfg.Metrics {
		n, use, err := p.replicas(now, i)
		if err != nil {
			if invalid == 0 {
				e.Err, e.Failed = err, i
			}
			invalid++
			continue
		}
		if e.Raw <= 0 || n > e.Raw {
			e.Raw, e.Use = n, use
		}
	}
	if invalid == len(p.cfg.Metrics) || invalid > 0 && e.Raw < p.size {
		e.Raw = -1
		return false
	}
	return true
}

// boundedPlainly applies the one window and the one limit that hold without behaviours.
func (p *Policy) boundedPlainly(now model.Time) {
	e := &p.last
	e.Stabilized = p.history.StabilizeDown(now, e.Raw, p.cfg.DownWindow)
	e.Able = held(e.Stabilized, e.Raw)
	e.Desired, e.Limited = p.cfg.LimitPlainly(e.Current, e.Stabilized)
}

// smallestLimit is what one step may always reach without behaviours.
const smallestLimit = 4

// LimitPlainly is desired within the bounds and the limit of one step up that hold
// without behaviours.
func (c *Config) LimitPlainly(current, desired int64) (int64, Limit) {
	most, limit := c.Max, TooManyReplicas
	if step := int64(math.Max(float64(c.UpFactor*float64(current)), smallestLimit)); step < most {
		most, limit = step, ScaleUpLimit
	}
	switch {
	case desired < c.Min:
		return c.Min, TooFewReplicas
	case desired > most:
		return most, limit
	}
	return desired, DesiredWithinRange
}

// bounded applies the behaviours.
func (p *Policy) bounded(now model.Time) {
	e := &p.last
	e.Stabilized = p.history.Stabilize(now, e.Current, e.Raw, p.cfg.Up.Window, p.cfg.Down.Window)
	e.Able = held(e.Stabilized, e.Raw)
	e.Desired, e.Limited = p.cfg.Limit(now, e.Current, e.Stabilized, p.ups, p.downs)
}

// held is the direction in which stabilisation held a demand back: what is between it and
// the size that there is, is less than a demand for more, and more than one for less.
func held(stabilized, demand int64) Able {
	switch {
	case stabilized < demand:
		return ScaleUpStabilized
	case stabilized > demand:
		return ScaleDownStabilized
	}
	return ReadyForNewScale
}

// Limit is desired within the bounds and the rates of the behaviours, given the changes
// that were made.
func (c *Config) Limit(now model.Time, current, desired int64, ups, downs Changes) (int64, Limit) {
	switch {
	case desired > current:
		most, limit := c.Max, TooManyReplicas
		if rate := max(c.Up.limitUp(now, current, ups, downs), current); rate < most {
			most, limit = rate, ScaleUpLimit
		}
		if desired > most {
			return most, limit
		}
	case desired < current:
		least, limit := c.Min, TooFewReplicas
		if rate := min(c.Down.limitDown(now, current, ups, downs), current); rate > least {
			least, limit = rate, ScaleDownLimit
		}
		if desired < least {
			return least, limit
		}
	}
	return desired, DesiredWithinRange
}

// limitUp is the largest number of replicas that the policies allow.
func (r *Rules) limitUp(now model.Time, current int64, ups, downs Changes) int64 {
	if r.Select == Disabled {
		return current
	}
	result := int64(math.MinInt64)
	if r.Select == MinChange {
		result = math.MaxInt64
	}
	for _, s := range r.Policies {
		begin := current - ups.within(now, s.Period) + downs.within(now, s.Period)
		most := begin + s.Value
		if s.Percent {
			most = int64(math.Ceil(float64(float64(begin) * (1 + float64(s.Value)/100))))
		}
		if r.Select == MinChange {
			result = min(result, most)
		} else {
			result = max(result, most)
		}
	}
	return result
}

// limitDown is the smallest number of replicas that the policies allow.
func (r *Rules) limitDown(now model.Time, current int64, ups, downs Changes) int64 {
	if r.Select == Disabled {
		return current
	}
	result := int64(math.MaxInt64)
	if r.Select == MinChange {
		result = math.MinInt64
	}
	for _, s := range r.Policies {
		begin := current - ups.within(now, s.Period) + downs.within(now, s.Period)
		least := begin - s.Value
		if s.Percent {
			least = int64(float64(float64(begin) * (1 - float64(s.Value)/100)))
		}
		if r.Select == MinChange {
			result = max(result, least)
		} else {
			result = min(result, least)
		}
	}
	return result
}
