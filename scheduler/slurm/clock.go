package slurm

import "orrery/scheduler/model"

// clock is when the controller's two schedulers run. The background loop takes a turn each LoopPeriod: there it makes a full pass
// each sched_interval, and one of the default depth where something asked for it and batch_sched_delay is over. Backfill
// sleeps bf_interval from the end of its last cycle, and then looks each second whether anything has changed.
type clock struct {
	o *Options

	asked    bool // a submission or an end asks for a main pass
	askedAt  model.Time
	atOnce   bool // it is not to wait for the loop
	lastPass model.Time
	lastFull model.Time
	lastTurn model.Time // the last turn that was looked at

	changed  bool // since the last cycle of backfill
	nextPlan model.Time
}

func newClock(o *Options) clock {
	return clock{o: o, lastPass: model.AbsentTime, lastFull: model.AbsentTime, lastTurn: model.AbsentTime, nextPlan: model.AbsentTime}
}

// request asks for a main pass: at a turn of the loop, or at once. One that was asked for while no job waited has been made since,
// and found nothing to do.
func (c *clock) request(now model.Time, atOnce bool) {
	if c.asked {
		if at := c.turn(max(c.askedAt, dueAfter(c.lastPass, c.o.BatchDelay))); at < now {
			c.lastPass, c.asked = at, false
		}
	}
	if !c.asked {
		c.askedAt = now
	}
	c.asked, c.atOnce = true, c.atOnce || atOnce && !c.o.Defer
}

// turn is the first turn of the loop at or after t.
func (c *clock) turn(t model.Time) model.Time { return gridAt(t, c.o.LoopPeriod, c.o.LoopPhase) }

// gridAt is the first of phase, phase + every, ... in either direction of time that is not before t.
func gridAt(t model.Time, every, phase model.Duration) model.Time {
	if t == model.Never {
		return t
	}
	at := floor(t.Add(-phase), every).Add(phase)
	if at < t {
		at = at.Add(every)
	}
	return at
}

// mainPassAt says whether a main pass is made now, and whether it tests all jobs. Passes of which nothing waits are not made, and
// change nothing.
func (c *clock) mainPassAt(now model.Time, waiting bool) (full, ok bool) {
	switch {
	case !waiting:
		return false, false
	case c.atOnce:
		c.asked, c.atOnce = false, false
		return false, true
	case c.turn(now) != now || c.lastTurn == now:
		return false, false
	}
	c.lastTurn = now
	switch {
	case seconds(c.lastFull, now) >= c.o.Interval:
		full = true
	case !c.asked || seconds(c.lastPass, now) < c.o.BatchDelay:
		return false, false
	}
	if full {
		c.lastFull = now
	}
	c.asked, c.lastPass = false, now
	return full, true
}

// seconds is how many whole seconds of the clock lie between two instants, Forever where the first never was.
func seconds(from, to model.Time) model.Duration {
	if from == model.AbsentTime {
		return model.Forever
	}
	return floor(to, model.Second).Sub(floor(from, model.Second))
}

// backfillAt says whether a cycle of backfill begins now.
func (c *clock) backfillAt(now model.Time, waiting bool) bool {
	return waiting && c.changed && c.o.BackfillInterval != model.Forever && now == c.nextCycle(now)
}

// nextCycle is the first instant from now on at which backfill looks whether anything has changed.
func (c *clock) nextCycle(now model.Time) model.Time {
	if c.nextPlan == model.AbsentTime {
		return gridAt(now, c.o.BackfillInterval, c.o.BackfillPhase)
	}
	if c.nextPlan >= now {
		return c.nextPlan
	}
	return gridAt(now, model.Second, model.Duration(c.nextPlan)%model.Second)
}

// backfilled notes the end of a cycle.
func (c *clock) backfilled(now model.Time) {
	c.changed, c.nextPlan = false, now.Add(c.o.BackfillInterval)
}

// next is the first instant after now at which either of them has something to do, if nothing else is observed.
func (c *clock) next(now model.Time) model.Time {
	after := now.Add(model.Microsecond)
	at := c.turn(max(after, dueAfter(c.lastFull, c.o.Interval)))
	if c.asked {
		at = min(at, c.turn(max(after, dueAfter(c.lastPass, c.o.BatchDelay))))
	}
	if c.changed && c.o.BackfillInterval != model.Forever {
		at = min(at, c.nextCycle(after))
	}
	return at
}

// dueAfter is when so many whole seconds of the clock have gone by since an instant.
func dueAfter(since model.Time, span model.Duration) model.Time {
	if since == model.AbsentTime {
		return since
	}
	return floor(since, model.Second).Add(span)
}
