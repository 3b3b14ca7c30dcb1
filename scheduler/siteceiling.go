package scheduler

import (
	"math/bits"

	"orrery/scheduler/model"
	"orrery/scheduler/score"
)

// Most jobs cannot come first for quite a while. Ceilings tell that at little cost: they
// leave out what tenants and the whole site bring into a score, which changes all the
// time, and hold for longer than a pass asks for.

// ceiling bounds the terms of a score that are the job's own, for as long as those of its
// lane hold.
type ceiling struct {
	own    model.Fixed
	tenant int32 // index into lane.tenant
	tier   int32
}

// ceilings of a queue, in its order.
type ceilings struct {
	of    []ceiling
	until model.Time
	floor []model.Fixed // by tenant, what a ceiling must reach for the job to be looked at
	few   bool          // so few wait that finding the floors would cost more than it saves
}

// lifetime of ceilings: the longer, the higher they are.
const lifetime = 4 * model.Hour

// add puts a job behind the others of the queue, and remove takes out the one at i, for
// which the last one takes its place.
func (c *ceilings) add(x ceiling) { c.of = append(c.of, x) }

func (c *ceilings) remove(i int32) {
	last := len(c.of) - 1
	c.of[i] = c.of[last]
	c.of = c.of[:last]
}

// ceilingOf is the ceiling of a job in the queue of l.
func (l *lane) ceilingOf(q *queued) ceiling {
	w := &l.policy.Weights
	return ceiling{q.static + w[score.Wait].Mul(l.curve.Of(l.ceilings.until.Sub(q.submit))) + w[score.Conformance], q.tenant, q.tier}
}

// refresh makes ceilings that hold for the foresight and longer, if they do not. Cost: a
// logarithm for each job in the queue.
func (l *lane) refresh(now model.Time) {
	if l.ceilings.few = len(l.queue) < 2*len(l.members); l.ceilings.few || now.Add(foresight) <= l.ceilings.until {
		return
	}
	l.ceilings.until = now.Add(lifetime)
	for i := range l.queue {
		l.ceilings.of[i] = l.ceilingOf(&l.queue[i])
	}
}

// blur is more than what scores are rounded by, seen through the least penalty.
const blur = 1 << 6

// floors works out what ceilings must reach for scores to reach a key.
func (l *lane) floors(key model.Fixed) {
	if l.ceilings.few {
		return
	}
	for t, n := range l.members {
		if n > 0 {
			hi, lo := bits.Mul64(uint64(max(key, 0)), uint64(l.inverse[t]))
			l.ceilings.floor[t] = model.Fixed(hi<<32|lo>>32) - blur - l.tenant[t] - l.global
		}
	}
}

// next is the first of the queue from i on whose ceiling may reach the floor of a tier, and
// the length of the queue if there is none.
func (c *ceilings) next(i int, tier int32) int {
	if c.few {
		return i
	}
	floor := c.floor
	for of := c.of; i < len(of); i++ {
		if x := &of[i]; (x.own >= floor[x.tenant] || x.tier > tier) && x.tier >= tier {
			break
		}
	}
	return i
}
