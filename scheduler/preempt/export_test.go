package preempt

import "orrery/scheduler/model"

// Longest is the longest time from the hint, or from TERM for a victim without
// checkpoints, until the victim's nodes are free: what a job that waits for them
// has to reckon with.
func (c *Config) Longest(ck model.Checkpoint) model.Duration {
	if ck == model.CheckpointNone {
		return c.KillGrace
	}
	n := int64(c.deferrals(ck))
	d := plus(times(n+1, int64(c.Timeout)), times(n, int64(c.Deferral)))
	return model.Duration(plus(d, plus(int64(c.extension()), int64(c.KillGrace))))
}
