package sim

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/traces"
)

// untimed says whether the trace may have services of which no row says how long
// they ran, so that it has to be known when it ends. A file that others wrote has no
// statistics, and may.
func (p *sitePlan) untimed(info traces.Info) bool {
	kind := func(f traces.Filled) bool { return f.Column == "kind" }
	return info.Filled == nil || slices.ContainsFunc(info.Filled, kind)
}

// heard moves the horizon to the last instant that row i tells of.
func (p *sitePlan) heard(b *traces.Batch, i int) {
	last := max(p.world.Rows.Horizon, b.Submit[i], b.CancelledAt[i])
	if b.Start[i] != model.AbsentTime && b.Runtime[i] != model.AbsentDuration {
		last = max(last, b.Start[i].Add(b.Runtime[i]))
	}
	if b.Attr.Len() > 0 {
		last = max(last, b.Attr.End[i])
	}
	p.world.Rows.Horizon = last
}
