package format

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/traces/localtime"
)

// RuleYields drops the row of a local time that never occurred where another row shows the instant that it would be moved to.
const RuleYields = "nonexistent-local-time-of-another-row"

// shown is an instant of a series.
type shown struct {
	series string
	at     model.Time
}

// Gaps finds such rows among those of series. A series names what has one row for an instant.
type Gaps struct{ of localtime.Gaps[shown] }

// Any says whether there are such rows, so that the log is to be read once more.
func (g *Gaps) Any() bool { return g.of.Any() }

// Look notes a row of a reading that does not write.
func (g *Gaps) Look(series func() string, at model.Time, repaired []string) {
	g.of.Look(slices.Contains(repaired, RuleNonexistent), func() shown { return shown{series(), at} })
}

// Yield says whether a row stands for an instant that another one shows plainly.
func (g *Gaps) Yield(series func() string, at model.Time, repaired []string) bool {
	return g.of.Yields(slices.Contains(repaired, RuleNonexistent), func() shown { return shown{series(), at} })
}
