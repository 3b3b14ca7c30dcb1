// Package maestro scales the rooms of a game scheduler as Maestro does: version 9 by
// triggers on the points of a usage (Policy), and version 10 by occupancy or by a fixed
// buffer of free rooms (V10).
//
// All usage is in single precision, as in the original: whether a point is above a
// threshold may depend on it.
package maestro

import (
	"fmt"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// The series of a policy: use of one room, or of Whole as a fraction of the requests. The
// series of a custom kind is its own number.
const (
	CPU    autoscale.Metric = iota // thousandths of a CPU, against the CPU of the room
	Memory                         // bytes, against its memory
)

// State of a scheduler.
type State uint8

// The states.
const (
	InSync         State = iota
	Subdimensioned       // an up trigger matches
	Overdimensioned
	Creating    // nothing is decided
	Terminating // nothing is decided
)

func (s State) String() string {
	return [...]string{"in-sync", "subdimensioned", "overdimensioned", "creating", "terminating"}[s]
}

// Rooms are counts by state.
type Rooms struct {
	Creating, Occupied, Ready, Terminating int64
}

// Available are those that count: all that do not terminate.
func (r Rooms) Available() int64 { return r.Creating + r.Occupied + r.Ready }

// Kind of a trigger.
type Kind uint8

// The kinds. Custom is the first of those that a configuration registers.
const (
	KindRoom   Kind = iota // share of the rooms that are occupied
	KindCPU                // use of CPU of what the rooms request
	KindMemory             // use of memory
	KindLegacy             // share of the rooms that are occupied, with a fixed step
	Custom
)

// Scaler is a kind of trigger that a configuration registers.
type Scaler interface {
	// Usage is a fraction of the target's hundred percent. value is the last sample of
	// its series, NaN for none.
	Usage(rooms Rooms, value float64) float32
	// Delta is the change of size that would bring the usage to the target.
	Delta(t *Trigger, rooms Rooms, usage float32) int64
}

// Trigger is one condition on the usage.
type Trigger struct {
	Kind      Kind
	Usage     int64          // percent
	Threshold int64          // percent of the points that must be beyond it
	Time      model.Duration // span of the points
	Limit     int64          // up: percent of usage from which it scales at once; 0 for the default of 90
	Delta     int64          // of KindLegacy: the step, negative down
}

// Direction is the triggers of one direction, the first that matches decides.
type Direction struct {
	Triggers []Trigger
	Cooldown model.Duration
	Delta    int64 // up: rooms that a panic adds
}

// Config is that of one scheduler.
type Config struct {
	Min, Max   int64 // Max 0 for none
	Up, Down   Direction
	Period     model.Duration // between ticks; default 10 s
	MaxScaleUp int64          // rooms that one tick adds at most; default 300
	Panic      bool           // scale when a room becomes occupied and the usage is above the limit of the first up trigger
	Scalers    []Scaler       // kinds Custom, Custom+1, …
	Seed       uint64         // of the draws of the rooms to terminate

	// LargerWindow keeps the points for as long as the longer of both directions needs
	// them, as the comment of the original says; its code goes by the down trigger.
	LargerWindow bool
}

// Defaults of the controller. Bounds and triggers have none.
func Defaults() Config { return Config{Period: 10 * model.Second, MaxScaleUp: 300} }

const defaultLimit = 90

// DefaultTrigger is what a trigger has that does not say otherwise.
func DefaultTrigger() Trigger {
	return Trigger{Usage: 80, Threshold: 80, Time: 600 * model.Second, Limit: defaultLimit, Delta: 1}
}

// Plain is what a trigger without a kind becomes: one of rooms, whose step is ignored. With
// legacy it keeps its step, as the document says.
func Plain(t Trigger, legacy bool) Trigger {
	t.Kind = KindRoom
	if legacy {
		t.Kind = KindLegacy
	}
	return t
}

func (c *Config) validate() error {
	switch {
	case c.Min < 0 || c.Max != 0 && c.Max < c.Min:
		return fmt.Errorf("min %d and max %d: want 0 <= min <= max, or max 0 for none", c.Min, c.Max)
	case c.Period <= 0 || c.MaxScaleUp <= 0:
		return fmt.Errorf("period %v and largest step %d: want more than 0", c.Period, c.MaxScaleUp)
	case c.Up.Cooldown < 0 || c.Down.Cooldown < 0:
		return fmt.Errorf("cooldowns %v and %v: want none negative", c.Up.Cooldown, c.Down.Cooldown)
	case c.Panic && len(c.Up.Triggers) == 0:
		return fmt.Errorf("panic needs an up trigger for its limit")
	}
	for _, d := range []*Direction{&c.Up, &c.Down} {
		for i := range d.Triggers {
			switch t := &d.Triggers[i]; {
			case int(t.Kind) >= int(Custom)+len(c.Scalers):
				return fmt.Errorf("trigger of kind %d: %d are registered beside the %d built in", t.Kind, len(c.Scalers), Custom)
			case t.Usage <= 0 || t.Threshold < 0 || t.Time < 0 || t.Limit < 0:
				return fmt.Errorf("trigger with usage %d, threshold %d, time %v and limit %d: want none negative, and some usage", t.Usage, t.Threshold, t.Time, t.Limit)
			}
		}
	}
	return nil
}

// percent is a percentage as a fraction.
func percent(n int64) float32 { return float32(n) / 100 }

// ClampUp is how many rooms of an amount are added: up to the maximum, and to the minimum
// at least.
func ClampUp(amount, current, least, most int64) int64 {
	amount = max(amount, least-current)
	if most > 0 {
		amount = min(amount, max(0, most-current))
	}
	return amount
}

// ClampDown is how many rooms of an amount are removed: down to the minimum, and to the
// maximum at least.
func ClampDown(amount, current, least, most int64) int64 {
	if most > 0 {
		amount = max(amount, current-most)
	}
	return max(0, min(amount, current-least))
}

// Within is what a change of size comes to within the bounds, adding no more than most.
func (c *Config) Within(delta, current, most int64) (n int64, g autoscale.Guard) {
	if delta < 0 {
		if n = -ClampDown(-delta, current, c.Min, c.Max); n != delta {
			g = autoscale.GuardMin
		}
		return n, g
	}
	if n = ClampUp(delta, current, c.Min, c.Max); n != delta {
		g = autoscale.GuardMax
	}
	if n > most {
		n, g = most, GuardStep
	}
	return n, g
}
