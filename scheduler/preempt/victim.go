package preempt

import "orrery/scheduler/model"

// Victim is a running job that may have to give its nodes up, seen from the job
// that wants them.
type Victim struct {
	Ref        model.Ref
	Job        model.JobID
	Class      int32          // 0 to 10
	Start      model.Time     // of this attempt
	Walltime   model.Duration // requested; Forever, 0 or less for none
	Elapsed    model.Duration // used up of Walltime, by this attempt and those before it
	Nodes      int32          // it holds
	Usable     int32          // of these, the pending job may use
	Sure       int32          // of these, those that come free with it, whichever other jobs leave
	GPUs       int32          // it holds on each node; nodes without GPUs count as one
	Checkpoint model.Checkpoint
	CkptBytes  int64 // of one checkpoint of the whole job, 0 when unknown
	// LastCheckpoint is AbsentTime when there is none.
	LastCheckpoint model.Time
	Sensitive      bool
	Preemptible    bool // see model.Allocation.Preemptible
	Burst          bool // its tenant is above its share by a burst allowance
	Borrowed       bool // on nodes lent by the vCluster of the pending job

	cost int64 // worked out by Select
}

// What a victim costs besides the work it loses. All are Lattice's: the write
// times stand for a checkpoint of unknown size (automatic, and by the
// application, whose configured timeout its documents take); the rest is the
// value of letting a job go on, in minutes of its own nodes.
const (
	writeAuto   = 5 * model.Minute
	writeManual = 10 * model.Minute
	valueEarly  = model.Minute        // before a tenth of the walltime: hardly begun
	valueFull   = 100 * model.Minute  // times the fraction used, from there on
	valueLate   = 1000 * model.Minute // from nine tenths on: nearly done
	early       = 1                   // tenths
	late        = 9
	tenths      = 10
	// valueUnbounded is ours: work without a walltime counts as half done, where
	// Lattice's code makes it the cheapest of all.
	valueUnbounded = valueFull / 2
)

// Cost is what preempting v at now costs, in GPU-microseconds per usable node,
// rounded down; it saturates. It is the sum, on all GPUs v holds, of the time to
// write the checkpoint at bandwidth B/s (0 or less never ends), of the work lost
// when it writes none, and of the value of letting it go on; half of that with
// Burst.
func (c *Config) Cost(v *Victim, now model.Time, bandwidth int64) int64 {
	span := model.Duration(0)
	switch {
	case v.Checkpoint == model.CheckpointNone:
		span = max(0, now.Sub(max(v.Start, v.LastCheckpoint)))
	default:
		span = writeTime(v, bandwidth)
	}
	held := times(int64(max(v.Nodes, 1)), int64(max(v.GPUs, 1)))
	cost := times(plus(int64(span), int64(valueOf(v))), held)
	if v.Burst {
		cost /= 2
	}
	return cost / int64(max(v.Usable, 1))
}

func writeTime(v *Victim, bandwidth int64) model.Duration {
	switch {
	case bandwidth <= 0:
		return model.Forever
	case v.CkptBytes > 0:
		return model.Duration(scaled(v.CkptBytes, int64(model.Second), bandwidth))
	case v.Checkpoint == model.CheckpointManual:
		return writeManual
	}
	return writeAuto
}

func valueOf(v *Victim) model.Duration {
	if unbounded(v) {
		return valueUnbounded
	}
	switch used := times(int64(max(v.Elapsed, 0)), tenths); {
	case used >= times(int64(v.Walltime), late):
		return valueLate
	case used < times(int64(v.Walltime), early):
		return valueEarly
	}
	return model.Duration(scaled(int64(valueFull), int64(v.Elapsed), int64(v.Walltime)))
}

func unbounded(v *Victim) bool { return v.Walltime <= 0 || v.Walltime == model.Forever }
