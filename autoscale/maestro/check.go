package maestro

import (
	"math"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// The rules.
const (
	RuleInSync    autoscale.Rule = "in_sync"   // no trigger matches
	RuleMinimum   autoscale.Rule = "below_min" // to the minimum
	RuleMaximum   autoscale.Rule = "above_max" // to the maximum
	RuleLimit     autoscale.Rule = "limit"     // the usage is at the limit: at once
	RuleUp        autoscale.Rule = "above"     // an up trigger matches
	RuleDown      autoscale.Rule = "below"     // a down trigger matches
	RulePanic     autoscale.Rule = "panic"     // a room became occupied, and few are free
	RuleNothing   autoscale.Rule = "not_ready" // the scheduler is being created or deleted
	RuleOccupancy autoscale.Rule = "occupancy" // version 10: so many rooms are to be free
	RuleBuffer    autoscale.Rule = "buffer"    // version 10: a fixed number is to be free
)

// The guards.
const (
	GuardState   autoscale.Guard = "scheduler_state" // it is being created or deleted
	GuardStep    autoscale.Guard = "max_scale_up"    // one step may not add more
	GuardReady   autoscale.Guard = "few_ready"       // occupied rooms are never removed
	GuardNoRatio autoscale.Guard = "free_matches"    // version 10: too few would be free
)

// Input is all that one check goes by.
type Input struct {
	Now    model.Time
	State  State
	Scaled model.Time // the last change of size, Never for none
	Rooms  Rooms
	Usage  []float32 // by kind; NaN where it is not known
	// Points of each trigger, the newest first; those beyond its window do not count.
	Up, Down [][]float32
}

// Check is what a check came to.
type Check struct {
	Delta  int64 // before the bounds
	Rule   autoscale.Rule
	Guard  autoscale.Guard // with Would
	Would  int64           // what a guard held back
	InSync bool            // no trigger matched
	State  State           // before anything is carried out
}

// Changed says whether the state is to be stored: the limit does so also when it stays.
func (k *Check) Changed(before State) bool { return k.State != before || k.Rule == RuleLimit }

// Check decides one tick.
func (c *Config) Check(in *Input) Check {
	k := Check{InSync: true, State: in.State, Rule: RuleInSync}
	n := in.Rooms.Available()
	switch {
	case in.State == Creating || in.State == Terminating:
		k.Rule, k.Guard = RuleNothing, GuardState
		return k
	case n < c.Min:
		k.Rule, k.Delta = RuleMinimum, c.Min-n
	case c.Max > 0 && n > c.Max:
		k.Rule, k.Delta = RuleMaximum, c.Max-n
	default:
		c.triggers(in, &k)
	}
	if k.InSync {
		k.State = InSync
	}
	return k
}

// triggers looks for the first that matches and is not in its cooldown.
func (c *Config) triggers(in *Input, k *Check) {
	n := in.Rooms.Available()
	if c.Max == 0 || n < c.Max {
		for i := range c.Up.Triggers {
			if c.up(in, &c.Up.Triggers[i], points(in.Up, i), k) {
				return
			}
		}
	} else {
		c.held(in, k)
	}
	if !k.InSync || n <= c.Min {
		return
	}
	for i := range c.Down.Triggers {
		t := &c.Down.Triggers[i]
		delta, ok := c.delta(in, t)
		if !ok || delta >= 0 || !c.Beyond(t, points(in.Down, i), false) {
			continue
		}
		k.InSync, k.State = false, Overdimensioned
		if c.cooled(in, c.Down.Cooldown) {
			k.Rule, k.Guard, k.Would, k.Delta = RuleDown, autoscale.GuardNone, 0, delta
			return
		}
		k.hold(RuleDown, autoscale.GuardCooldown, delta)
	}
}

// up says whether an up trigger ends the search.
func (c *Config) up(in *Input, t *Trigger, points []float32, k *Check) bool {
	delta, ok := c.delta(in, t)
	limit := t.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	if ok && in.Usage[t.Kind] >= percent(limit) {
		*k = Check{Rule: RuleLimit, State: Subdimensioned, Delta: delta}
		return true
	}
	if !ok || delta <= 0 || !c.Beyond(t, points, true) {
		return false
	}
	k.InSync, k.State = false, Subdimensioned
	if c.cooled(in, c.Up.Cooldown) {
		k.Rule, k.Guard, k.Would, k.Delta = RuleUp, autoscale.GuardNone, 0, delta
		return true
	}
	k.hold(RuleUp, autoscale.GuardCooldown, delta)
	return false
}

// held notes what the first up trigger would have done but for the maximum.
func (c *Config) held(in *Input, k *Check) {
	for i := range c.Up.Triggers {
		t := &c.Up.Triggers[i]
		if delta, ok := c.delta(in, t); ok && delta > 0 && c.Beyond(t, points(in.Up, i), true) {
			k.hold(RuleUp, autoscale.GuardMax, delta)
			return
		}
	}
}

// hold notes the first that a guard held back.
func (k *Check) hold(r autoscale.Rule, g autoscale.Guard, delta int64) {
	if k.Guard == autoscale.GuardNone {
		k.Rule, k.Guard, k.Would = r, g, delta
	}
}

// cooled says whether more than a cooldown has passed since the last change.
func (c *Config) cooled(in *Input, cooldown model.Duration) bool {
	return in.Scaled == model.Never || in.Now.Sub(in.Scaled) > cooldown
}

func points(list [][]float32, i int) []float32 {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// window is the number of points that a trigger goes by.
func (c *Config) window(t *Trigger) int64 { return int64(t.Time / c.Period) }

// Beyond says whether enough points are above the usage (or below it): more than the
// threshold's share of the window, also when there are fewer points than that. One point
// more than the window is looked at.
func (c *Config) Beyond(t *Trigger, points []float32, up bool) bool {
	size, usage, n := c.window(t), percent(t.Usage), int64(0)
	for _, p := range points[:min(int64(len(points)), size+1)] {
		if up && p > usage || !up && p < usage {
			n++
		}
	}
	return 100*n > t.Threshold*size
}

// delta is the change of size by a trigger; ok is false when its usage is not known.
func (c *Config) delta(in *Input, t *Trigger) (n int64, ok bool) {
	usage := in.Usage[t.Kind]
	if usage != usage || math.IsInf(float64(usage), 0) {
		return 0, false
	}
	if t.Kind >= Custom {
		return c.Scalers[t.Kind-Custom].Delta(t, in.Rooms, usage), true
	}
	return Delta(t, in.Rooms, usage), true
}

// Delta is the change of size by a trigger of a kind that is built in.
func Delta(t *Trigger, rooms Rooms, usage float32) int64 {
	target, n := float64(t.Usage)/100, float64(rooms.Available())
	switch t.Kind {
	case KindLegacy:
		return t.Delta
	case KindRoom:
		return whole(math.Round((float64(rooms.Occupied) - float64(target*n)) / target))
	}
	ratio := math.Round(float64(float64(usage)/target*100)) / 100
	return whole(math.Ceil(float64(ratio*n))) - rooms.Available()
}

// whole is an integer of any finite size, as far as there are so many rooms.
func whole(v float64) int64 { return int64(max(-1e15, min(1e15, v))) }

// Occupancy is the share of the rooms that are occupied, NaN when there are none.
func Occupancy(r Rooms) float32 { return float32(r.Occupied) / float32(r.Available()) }
