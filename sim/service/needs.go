package service

import (
	"math"

	"orrery/autoscale/clairvoyant"
	"orrery/scheduler/model"
	"orrery/sim/service/demand"
	"orrery/sim/service/queueing"
)

// Needs is the smallest number of replicas that meets the goal at the mean rate of each step
// of the timeline, from the workload model and the demand alone:
//   - of a queue, the fewest servers of the M/M/c queue at the mean rate of the step of which
//     no more than 1 - Share of the requests wait beyond the limit;
//   - of rooms, the fewest of the M/G/c/c system (Erlang's loss formula) that loses no more;
//   - of inference, the fewest whose steady batch meets the limit.
//
// All are of a steady state: what a step inherits from the one before and how the demand
// varies within it are left out.
func Needs(c *Config, d *demand.Demand) []int64 {
	steps := d.Rates(c.Step)
	out := make([]int64, len(steps))
	for i := range steps {
		same := i > 0 && steps[i].Rate == steps[i-1].Rate && steps[i].Request == steps[i-1].Request
		if same {
			out[i] = out[i-1]
			continue
		}
		out[i] = c.need(steps[i].Rate, steps[i].Request)
	}
	return out
}

// need of one rate, in arrivals per second.
func (c *Config) need(rate float64, what demand.Request) int64 {
	if what.Work == 0 {
		what.Work, what.WorkCV = c.Draws.Default.Work, c.Draws.Default.WorkCV
	}
	if what.In == 0 && what.Out == 0 {
		what.In, what.Out = c.Draws.Default.In, c.Draws.Default.Out
	}
	late, work, limit := 1-c.Goal.Share, what.Work.Seconds(), c.Goal.Limit.Seconds()
	var slots int64
	switch {
	case rate <= 0:
		return 0
	case c.Kind == Inference:
		return c.needBatches(rate, what)
	case work == 0:
		return 1
	case c.Kind == Rooms:
		slots = queueing.Places(float64(rate*work), late)
	default:
		if c.Goal.Response {
			limit = max(0, limit-work)
		}
		slots = queueing.Servers(rate, 1/work, limit, late)
	}
	return (slots + c.Slots - 1) / c.Slots
}

// needBatches finds the fewest replicas whose batches in equilibrium meet the limit.
func (c *Config) needBatches(rate float64, what demand.Request) int64 {
	b := &c.Batch
	iterations := b.iterations(what)
	load := float64(rate * iterations / float64(model.Second)) // iterations per µs
	limited := iterations
	if !c.Goal.Response {
		limited = math.Ceil(max(what.In, 1) / float64(b.Chunk))
	}
	full := float64(b.Most) / b.iteration(float64(b.Most))
	return queueing.Smallest(int64(max(1, math.Floor(load/full))), func(n int64) bool {
		x := load / float64(n)
		if x >= full {
			return false
		}
		batch := max(1, b.steadyBatch(x))
		return float64(limited*b.iteration(batch)) <= float64(c.Goal.Limit) || batch == 1
	})
}

// Clairvoyant are the needs as that policy takes them.
func Clairvoyant(needs []int64, step model.Duration) []clairvoyant.Need {
	var out []clairvoyant.Need
	for i, n := range needs {
		if len(out) == 0 || out[len(out)-1].N != n {
			out = append(out, clairvoyant.Need{At: model.Time(i) * model.Time(step), N: n})
		}
	}
	return out
}
