package hwmodel

import "orrery/scheduler/model"

// A GPU is held back by a limit on power or by a lock of its clock. Of a limit and a lock the one
// that leaves less of the draw counts.

// CapStep is the throughput under a power cap, both relative to those without one.
type CapStep struct{ Draw, Throughput model.Fixed }

// ClockStep is the throughput and the draw at a clock, all relative to those without a lock.
type ClockStep struct{ Clock, Throughput, Power model.Fixed }

// Locked is what a lock of the clocks leaves of the throughput and of the draw of the GPUs of a
// job. The zero value is no lock.
type Locked struct {
	Throughput, Power model.Fixed
	Unknown           bool // what it costs is: it is taken for none
}

var unlocked = Locked{Throughput: model.One, Power: model.One}

// and adds another GPU: the slowest sets the pace, and no more is saved than all of them save.
func (l *Locked) and(o Locked) {
	if l.Throughput == 0 {
		*l = o
		return
	}
	l.Throughput, l.Power, l.Unknown = min(l.Throughput, o.Throughput), max(l.Power, o.Power), l.Unknown || o.Unknown
}

// locked is what the lock of a GPU model leaves of work of a class.
func (m *Model) locked(c *Class, gpu int32) Locked {
	z := m.GPUs[gpu].Clock
	if z == 0 || z >= model.One {
		return unlocked
	}
	if c == nil || int(gpu) >= len(c.Clocks) || len(c.Clocks[gpu]) == 0 || z < c.Clocks[gpu][0].Clock {
		return Locked{model.One, model.One, true}
	}
	steps := c.Clocks[gpu]
	for i := range steps {
		above := ClockStep{model.One, model.One, model.One}
		if i+1 < len(steps) {
			above = steps[i+1]
		}
		if below := steps[i]; z <= above.Clock {
			part := model.Ratio(int64(z-below.Clock), int64(above.Clock-below.Clock))
			return Locked{Throughput: below.Throughput + part.Mul(above.Throughput-below.Throughput), Power: below.Power + part.Mul(above.Power-below.Power)}
		}
	}
	return unlocked // not reached: the last step is at One
}

// holds is to what part of what they draw at work the GPUs are held under the cap x of the site,
// and what that leaves of their throughput. What costs an amount that is not known is as if it
// were not there, so that nothing is saved that costs no time.
func (m *Model) holds(c *Class, w *Where, x model.Fixed) (draw, throughput model.Fixed, known bool) {
	draw, known = m.capped(c, w, x)
	known = known && !w.Clock.Unknown
	throughput = model.One
	if draw < model.One {
		throughput = throughputAt(c.Caps, draw)
	}
	switch l := w.Clock; {
	case l.Throughput == 0:
	case l.Power <= draw: // the cap binds nothing that the lock leaves
		return l.Power, l.Throughput, known
	default:
		throughput = min(throughput, l.Throughput)
	}
	return draw, throughput, known
}

// capped is the cap of the site or the limit of the GPUs, whichever is lower, as a part of what the
// GPUs draw at work without it, at most One. Work without GPUs has no cap.
func (m *Model) capped(c *Class, w *Where, x model.Fixed) (_ model.Fixed, known bool) {
	known = true
	switch {
	case w.Milli == 0:
		return model.One, true
	case w.Limit > 0 && w.Active.Known && w.Active.Value > 0:
		x = min(x, model.Ratio(model.MulDiv(w.Limit, w.Milli, model.WholeGPU), w.Active.Value))
	case w.Limit > 0:
		known = w.Active.Known
	}
	if x >= model.One {
		return model.One, known
	}
	if c == nil || len(c.Caps) == 0 || x < c.Caps[0].Draw {
		return model.One, false
	}
	return x, true
}

// Cap is to what part of what they draw the GPUs of j are held, while the site holds them to
// x: less than One where Speed says what that costs.
func (m *Model) Cap(j *Job, w *Where, x model.Fixed) model.Fixed {
	if !m.Terms.Has(ByCap) {
		return model.One
	}
	x, _, _ = m.holds(m.class(j), w, x)
	return x
}

// throughputAt is the throughput at x, linearly between the points and from the last of them to
// 1 at 1. x is not below the first.
func throughputAt(points []CapStep, x model.Fixed) model.Fixed {
	if x <= points[0].Draw {
		return points[0].Throughput
	}
	for i := range points {
		above := CapStep{model.One, model.One}
		if i+1 < len(points) {
			above = points[i+1]
		}
		if x <= above.Draw {
			part := model.Ratio(int64(x-points[i].Draw), int64(above.Draw-points[i].Draw))
			return points[i].Throughput + part.Mul(above.Throughput-points[i].Throughput)
		}
	}
	return model.One
}
