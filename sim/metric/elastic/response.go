package elastic

import (
	"math"

	"orrery/scheduler/model"
)

// Response is how the supply answered one step of the demand. Never stands for what did not
// come before the end of the series.
type Response struct {
	Reaction  model.Duration // until the supply first moves the demand's way
	Reached   model.Duration // until it first meets the new demand, or falls to it
	Settling  model.Duration // until it stays within Band of where it ends
	Overshoot float64        // most beyond the new demand, in units, in the direction of the step
}

// Band is how far the supply may be from where it ends and count as settled: a part of the
// height of the step, as control engineers have it. Steps of less than 20 whole units have
// none.
const Band = 0.05

// Never is the span of what does not come.
const Never = model.Forever

// Respond describes the answer to the step of demand at a sample: that sample is the first
// of the new demand. There must be one before it.
func Respond(s Series, at int) (Response, error) {
	if err := s.validate(); err != nil {
		return Response{}, err
	}
	r := Response{Never, Never, Never, 0}
	if at < 1 || at >= len(s.Demand) || s.Demand[at] == s.Demand[at-1] {
		return r, nil
	}
	sign := 1.0
	if s.Demand[at] < s.Demand[at-1] {
		sign = -1
	}
	end, from := s.Supply[len(s.Supply)-1], s.Supply[at-1]
	band := float64(Band * math.Abs(s.Demand[at]-s.Demand[at-1]))
	for i := at; i < len(s.Supply); i++ {
		since, to := model.Duration(i-at)*s.Step, s.Demand[at]
		if float64(sign*(s.Supply[i]-from)) > 0 {
			r.Reaction = min(r.Reaction, since)
		}
		if float64(sign*(s.Supply[i]-to)) >= 0 {
			r.Reached = min(r.Reached, since)
		}
		r.Overshoot = math.Max(r.Overshoot, float64(sign*(s.Supply[i]-to)))
		switch {
		case math.Abs(s.Supply[i]-end) > band:
			r.Settling = Never
		case r.Settling == Never:
			r.Settling = since
		}
	}
	return r, nil
}
