// Package preempt decides which running jobs give their nodes up for another,
// what happens to each on its way out, and when a running job should write a
// checkpoint. It knows no placement: whether a job fits is asked of a Trial; it
// knows no clock, no queue and no file, and keeps nothing between calls.
//
// Rules and figures are those of Lattice's preemption policy and checkpoint
// broker, as its documents have them; what its code does instead is in the
// functions whose names begin with Coded.
package preempt

import (
	"fmt"

	"orrery/scheduler/model"
)

// Rule says which classes give way to which.
type Rule uint8

const (
	// Strict lets a class preempt every class below it.
	Strict Rule = iota
	// Banded lets it preempt lower bands only: 0, 1 to 3, 4 to 6, 7 to 9, 10.
	Banded
)

var rules = [...]string{"strict", "banded"}

// String is the spelling in files.
func (r Rule) String() string { return rules[r] }

// Trigger says on whose behalf nodes are taken.
type Trigger uint8

const (
	Priority  Trigger = iota // a blocked job of a higher class
	Reclaim                  // a blocked job of the home of lent nodes
	Sensitive                // a blocked sensitive job
)

// Config is how a vCluster preempts. DefaultConfig has the defaults.
type Config struct {
	// MaxVictims bounds the jobs that lose their nodes for one: 3.
	MaxVictims int32
	// MaxTries bounds the blocked jobs for which a pass looks for victims: 16.
	MaxTries int32
	// NearCompletion spares jobs that reach their walltime within it: 5 min.
	NearCompletion model.Duration
	// Rule is Strict.
	Rule Rule
	// Timeout is what a victim has from the hint until it has written: 600 s.
	Timeout model.Duration
	// Extension is added to Timeout once, as a fraction of it, for a victim that
	// is late but writing: 0.5.
	Extension model.Fixed
	// Deferral is how long a victim that asks for it may put the hint off: 300 s.
	Deferral model.Duration
	// DeferralsAuto and DeferralsManual bound how often a victim with automatic
	// checkpoints (3) and one that writes its own (5) may do so.
	DeferralsAuto, DeferralsManual int32
	// KillGrace lies between TERM and KILL: 30 s.
	KillGrace model.Duration
	// Bandwidth at which one job writes its checkpoint, in B/s: 10 GiB/s. It
	// weighs victims that say how large their checkpoints are.
	Bandwidth int64
}

const gib = 1 << 30

// DefaultConfig is Lattice's documented policy.
func DefaultConfig() Config {
	return Config{
		MaxVictims:      3,
		MaxTries:        16,
		NearCompletion:  5 * model.Minute,
		Timeout:         600 * model.Second,
		Extension:       model.One / 2,
		Deferral:        300 * model.Second,
		DeferralsAuto:   3,
		DeferralsManual: 5,
		KillGrace:       30 * model.Second,
		Bandwidth:       10 * gib,
	}
}

// Validate says what is wrong with c and how to mend it.
func (c *Config) Validate() error {
	if c.Rule > Banded {
		return fmt.Errorf("preemption: rule %d is unknown: use strict (0) or banded (1)", c.Rule)
	}
	return firstBelow("preemption", []bound{
		{"max_victims", int64(c.MaxVictims), 1},
		{"max_tries", int64(c.MaxTries), 1},
		{"near_completion in microseconds", int64(c.NearCompletion), 0},
		{"timeout in microseconds", int64(c.Timeout), 1},
		{"extension", int64(c.Extension), 0},
		{"deferral in microseconds", int64(c.Deferral), 0},
		{"deferrals_auto", int64(c.DeferralsAuto), 0},
		{"deferrals_manual", int64(c.DeferralsManual), 0},
		{"kill_grace in microseconds", int64(c.KillGrace), 0},
		{"bandwidth in B/s", c.Bandwidth, 1},
	})
}

func (c *Config) extension() model.Duration {
	return model.Duration(model.Fixed(c.Timeout).Mul(c.Extension))
}

func (c *Config) deferrals(ck model.Checkpoint) int32 {
	switch ck {
	case model.CheckpointAuto:
		return c.DeferralsAuto
	case model.CheckpointManual:
		return c.DeferralsManual
	}
	return 0
}

type bound struct {
	name       string
	value, min int64
}

func firstBelow(what string, bounds []bound) error {
	for _, b := range bounds {
		if b.value < b.min {
			return fmt.Errorf("%s: %s is %d: give at least %d", what, b.name, b.value, b.min)
		}
	}
	return nil
}
