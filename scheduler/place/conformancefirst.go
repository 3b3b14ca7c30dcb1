package place

import "orrery/scheduler/model"

// Query.ConformanceFirst: the largest conformance group first, in which all nodes of
// unknown fingerprint are one, and dragonfly groups only where that fails.

// largestRow is the conformance group with most free nodes, ties by index,
// where unknown is the last.
func (f *Free) largestRow(t *tally) int {
	best := 0
	for r, n := range t.rows[:f.sp.layout.unknown()+1] {
		if n > t.rows[best] {
			best = r
		}
	}
	return best
}

func (f *Free) fitsLargest(t *tally, q *Query) bool {
	l := &f.sp.layout
	switch {
	case t.rows[f.largestRow(t)] >= q.Nodes:
		return true
	case q.Sensitive || t.rows[l.all()] < q.Nodes:
		return false
	case q.Topology != model.Spread:
		return true
	}
	row := &l.rows[l.all()]
	each, sum := t.even(row, q.Nodes), int32(0)
	for _, k := range t.cells[row.first:row.end] {
		sum += min(k, each)
	}
	return sum >= q.Nodes
}

// even is what each cell of r with free nodes gives to n nodes when all give
// alike.
func (t *tally) even(r *row, n int32) int32 {
	hist, _ := t.count(r)
	k := r.end - r.first - hist[0]
	return (n + k - 1) / k
}

func (f *Free) selectLargest(t *tally, q *Query, p *model.Placement) bool {
	if !f.fitsLargest(t, q) {
		return false
	}
	all := f.sp.layout.all()
	switch r := f.largestRow(t); {
	case t.rows[r] >= q.Nodes:
		f.lowest(t, r, q.Nodes, p)
	case q.Topology == model.Any:
		f.lowest(t, all, q.Nodes, p)
	case q.Topology == model.Spread:
		row := &f.sp.layout.rows[all]
		each, rest := t.even(row, q.Nodes), q.Nodes
		for c := row.first; c < row.end; c++ {
			k := min(t.cells[c], each, rest)
			f.addCell(t, c, k, p)
			rest -= k
		}
	default:
		f.greedy(t, q.Nodes, p)
	}
	f.finish(p)
	return true
}

// greedy adds n nodes: of the largest group, then again and again of the largest
// that is adjacent to a used one, or else the largest. Cost: the groups, for each
// group used.
func (f *Free) greedy(t *tally, n int32, p *model.Placement) {
	l := &f.sp.layout
	row := &l.rows[l.all()]
	clear(f.used)
	clear(f.adjacent)
	for {
		best, bestAdjacent := int32(-1), false
		for c := row.first; c < row.end; c++ {
			g := l.cells[c].group
			if t.cells[c] == 0 || f.used.has(g) {
				continue
			}
			adjacent := f.adjacent.has(g)
			if best < 0 || adjacent && !bestAdjacent || adjacent == bestAdjacent && t.cells[c] > t.cells[best] {
				best, bestAdjacent = c, adjacent
			}
		}
		g := l.cells[best].group
		f.cellOf[g] = best
		if t.cells[best] >= n {
			f.addUsed(t, g, n, p)
			return
		}
		n -= t.cells[best]
		f.use(g)
	}
}
