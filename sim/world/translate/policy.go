package translate

import "orrery/scheduler/model"

// Overrun says what happens to a job whose true runtime exceeds its walltime.
type Overrun uint8

const (
	Kill   Overrun = iota // it ends at its walltime, as TIMEOUT
	Extend                // it runs on; the scheduler predicts its end as one second from now
)

// MissingWalltime says what the scheduler is told of a job that states no walltime.
type MissingWalltime uint8

const (
	Unlimited   MissingWalltime = iota // nothing: it may run for ever
	DefaultTime                        // Policy.DefaultWalltime
	TrueRuntime                        // its true runtime, which no real scheduler knows
)

// Policy says how rows are translated that do not fit a replay. Every use is counted
// by its Rule.
type Policy struct {
	Overrun         Overrun
	MissingWalltime MissingWalltime
	DefaultWalltime model.Duration // with MissingWalltime == DefaultTime
}

// walltime is what the scheduler is told about a job's walltime.
func (p *Policy) walltime(stated, runtime model.Duration, met *RuleSet) model.Duration {
	if stated != model.AbsentDuration {
		return stated
	}
	met.Add(RuleMissing)
	switch {
	case p.MissingWalltime == DefaultTime:
		return p.DefaultWalltime
	case p.MissingWalltime == TrueRuntime && runtime != model.AbsentDuration:
		return runtime
	}
	return model.Forever
}
