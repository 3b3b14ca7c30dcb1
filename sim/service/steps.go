package service

import (
	"math"

	"orrery/scheduler/model"
)

// Point is one step of the timeline, from behind its first instant to its last. A request
// counts in the step of its arrival, however late it is known what became of it.
type Point struct {
	At      model.Time
	Supply  int64   // replicas that serve at its beginning
	Ready   float64 // mean of those that serve
	Held    float64 // mean of those that cost
	Arrived float64
	Late    float64 // of those that arrived
	Lost    float64 // of those that arrived
	Waiting float64 // at its end
	Busy    float64 // mean replicas' worth of work

	ready, held int64
	busy        float64
}

// step is the one in which an instant lies.
func (o *Outcome) step(at model.Time) *Point {
	if o.Step > 0 {
		if i := max(0, int(at-1)/int(o.Step)); i < len(o.Timeline) {
			return &o.Timeline[i]
		}
	}
	return &o.open
}

// Arrive counts requests that arrive.
func (o *Outcome) Arrive(at model.Time, n float64) {
	o.Requests += n
	o.step(at).Arrived += n
}

// Delay counts requests, which arrived at an instant, as late.
func (o *Outcome) Delay(at model.Time, n float64) {
	o.Late += n
	o.step(at).Late += n
}

// Lose counts requests, which arrived at an instant, as lost; of what cause is for the
// caller to count.
func (o *Outcome) Lose(at model.Time, n float64) { o.step(at).Lost += n }

// Leave counts a request that has not come to what the goal limits when the run ends. Beyond
// the limit it is late, with a latency that is not known but longer than that.
func (o *Outcome) Leave(at, end model.Time, limit model.Duration) {
	o.Open++
	if end.Sub(at) > limit {
		o.Latency.Add(model.Forever, 1)
		o.Delay(at, 1)
	}
}

// Current is the step that is being filled.
func (o *Outcome) Current() *Point { return &o.open }

// CloseStep ends the step that is being filled and begins the next.
func (o *Outcome) CloseStep(now model.Time) {
	o.Timeline = append(o.Timeline, o.open)
	o.open = Point{At: now}
}

// Sum counts the steps in which less than a share of the requests got what the goal asks
// for, once all that arrived are judged. Flows are sums of parts, so that all of a step can
// differ from its arrivals in the last digits: that is set right first.
func (o *Outcome) Sum(share float64) {
	const rounding = 1e-9
	if len(o.Timeline) > 0 {
		o.Requests, o.Late = 0, 0
	}
	for i := range o.Timeline {
		p := &o.Timeline[i]
		if math.Abs(p.Arrived-p.Late-p.Lost) <= rounding*p.Arrived {
			p.Late = p.Arrived - p.Lost
		}
		o.Requests += p.Arrived
		o.Late += p.Late
		if p.Arrived > 0 {
			o.Intervals++
			if (p.Late+p.Lost)/p.Arrived > 1-share {
				o.Bad++
			}
		}
	}
}

// Missed is the share of the requests that were late or got no service.
func (o *Outcome) Missed() float64 {
	if o.Requests == 0 {
		return 0
	}
	return min(1, (o.Late+o.Lost())/o.Requests)
}

// Lost are the requests that got no service.
func (o *Outcome) Lost() float64 { return o.Refused + o.Abandoned + o.Killed }
