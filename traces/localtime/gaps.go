package localtime

// Gaps are the instants that rows of local times which never occurred are moved to, and whether another row of their kind K (the
// instant, and what has one row for it) shows them plainly. They are told every row twice: the rows that never occurred are found in
// the first reading, the others in the next one, for they come before or behind. The zero value is ready.
type Gaps[K comparable] struct{ plain map[K]bool }

// mostGaps bounds the instants that are remembered; what is beyond is read as if no other row showed it.
const mostGaps = 1 << 18

// Any says whether there are such rows, so that all are to be told once more.
func (g *Gaps[K]) Any() bool { return len(g.plain) > 0 }

// Look notes a row, which was moved where its time never occurred. Its kind is asked for only where it matters.
func (g *Gaps[K]) Look(moved bool, kind func() K) {
	if !moved && len(g.plain) == 0 {
		return
	}
	of := kind()
	switch _, known := g.plain[of]; {
	case moved && !known && len(g.plain) < mostGaps:
		if g.plain == nil {
			g.plain = map[K]bool{}
		}
		g.plain[of] = false
	case !moved && known:
		g.plain[of] = true
	}
}

// Yields says whether a row was moved to an instant that another one shows plainly: of the two the first would stay otherwise, which
// may be the one that cannot be.
func (g *Gaps[K]) Yields(moved bool, kind func() K) bool {
	return moved && len(g.plain) > 0 && g.plain[kind()]
}
