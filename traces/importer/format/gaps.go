package format

import (
	"slices"

	"orrery/scheduler/model"
)

// RuleYields drops the row of a local time that never occurred where another row shows the instant that it would be moved to. Of
// two rows for one instant the first would stay otherwise, which may be the one that cannot be.
const RuleYields = "nonexistent-local-time-of-another-row"

// shown is an instant of a series.
type shown struct {
	series string
	at     model.Time
}

// Gaps are the instants that rows of local times which never occurred are moved to, and whether another row of their series shows
// them plainly. Those rows are found in the first reading, the others in the next one, for they come before or behind.
type Gaps struct{ plain map[shown]bool }

// mostGaps bounds the instants that are remembered; what is beyond is read as if no other row showed it.
const mostGaps = 1 << 18

// Any says whether there are such rows, so that the log is to be read once more.
func (g *Gaps) Any() bool { return len(g.plain) > 0 }

// Look notes a row of a reading that does not write. Series names what has one row for an instant.
func (g *Gaps) Look(series func() string, at model.Time, repaired []string) {
	skipped := slices.Contains(repaired, RuleNonexistent)
	if !skipped && len(g.plain) == 0 {
		return
	}
	of := shown{series(), at}
	switch _, known := g.plain[of]; {
	case skipped && !known && len(g.plain) < mostGaps:
		if g.plain == nil {
			g.plain = map[shown]bool{}
		}
		g.plain[of] = false
	case !skipped && known:
		g.plain[of] = true
	}
}

// Yield says whether a row stands for an instant that another one shows plainly.
func (g *Gaps) Yield(series func() string, at model.Time, repaired []string) bool {
	return len(g.plain) > 0 && slices.Contains(repaired, RuleNonexistent) && g.plain[shown{series(), at}]
}
