package translate

import (
	"orrery/scheduler/model"
	"orrery/traces"
)

// Warm is the instant at which a replay begins in the middle of a log, if it
// does. Jobs submitted before it come then: those that ran in the log go on with
// what is left of their run time and their walltime, the others wait. What was
// worked off before counts as saved.
type Warm traces.Opt[model.Time]

// From is t, or the beginning of the replay where that is later.
func (w Warm) From(t model.Time) model.Time {
	if w.OK {
		return max(t, w.V)
	}
	return t
}

// ran says for how long row i had run when the replay begins; 0 when it had
// not started, or comes later.
func (w Warm) ran(b *traces.Batch, i int) model.Duration {
	if !w.OK || b.Submit[i] >= w.V || b.Start[i] == model.AbsentTime || b.Start[i] >= w.V {
		return 0
	}
	return w.V.Sub(max(b.Start[i], b.Submit[i]))
}

// Left says whether row i had left when the replay begins.
func (w Warm) Left(b *traces.Batch, i int) bool {
	ran := w.ran(b, i)
	return ran > 0 && b.Runtime[i] != model.AbsentDuration && b.Runtime[i] <= ran && !impossible(b, i)
}

// Ended is when row i ended that had left when the replay begins; AbsentTime for others.
func (w Warm) Ended(b *traces.Batch, i int) model.Time {
	if !w.Left(b, i) {
		return model.AbsentTime
	}
	return max(b.Start[i], b.Submit[i]).Add(b.Runtime[i])
}

// before says by which rule row i, which had run for so long, goes on if it is of
// before the beginning.
func (w Warm) before(b *traces.Batch, i int, ran model.Duration, met *RuleSet) {
	switch {
	case !w.OK || b.Submit[i] >= w.V:
	case ran > 0:
		met.Add(RuleRanBefore)
	default:
		met.Add(RuleWaitedBefore)
	}
}

// Remaining is what is left of a span after ran of it; Forever stays.
func Remaining(d, ran model.Duration) model.Duration {
	if d == model.Forever || d == model.AbsentDuration {
		return d
	}
	return max(0, d-ran)
}
