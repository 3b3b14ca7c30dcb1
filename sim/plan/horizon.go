package plan

import (
	"orrery/scheduler/model"
	"orrery/traces"
)

// Untimed says whether the trace may have services of which no row says how long
// they ran, so that it has to be known when it ends. A file that others wrote has no
// statistics, and may.
func (p *Site) Untimed(info traces.Info) bool {
	return info.Filled == nil || info.Fills("kind")
}

// LastInstantColumns are those that LastInstant reads.
var LastInstantColumns = []string{"submit", "cancelled_at", "start", "runtime", "end"}

// LastInstant is the last instant that row i tells of.
func LastInstant(b *traces.Batch, i int) model.Time {
	last := max(b.Submit[i], b.CancelledAt[i])
	if b.Start[i] != model.AbsentTime && b.Runtime[i] != model.AbsentDuration {
		last = max(last, b.Start[i].Add(b.Runtime[i]))
	}
	if len(b.Attr.End) > 0 {
		last = max(last, b.Attr.End[i])
	}
	return last
}
