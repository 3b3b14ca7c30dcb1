package place

import (
	"math"
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// Query asks for nodes.
type Query struct {
	Class ClassID
	Nodes int32
	Share // of each node; without any it takes whole nodes
	// Topology is what the job prefers of the groups of whole nodes.
	Topology model.Topology
	// Sensitive work uses nodes of one known fingerprint only.
	Sensitive bool
	Avoid     model.NodeSet // nodes not to use; nil for none
	// ConformanceFirst takes the lowest ids of the largest conformance group, in which
	// all nodes of unknown fingerprint are one. Where no such group holds the job, Tight
	// takes the largest dragonfly group and then the largest near a used one, and Spread
	// an even part of each, or fails when a group has less.
	ConformanceFirst bool
	// Mix, if any, has shares go where the fragmentation of GPUs grows least for the tasks
	// of the mix; ties are broken as without it. It does not matter to whole nodes.
	Mix *Mix
}

// Share is what a job asks of each of its nodes.
type Share struct {
	GPUs int32 // whole ones
	model.Amounts
}

// ShareOf is the share that a asks for, none for whole nodes.
func ShareOf(a *model.Allocation) Share { return Share{a.GPUs, a.Amounts} }

// divides says whether q asks for shares of nodes.
func (q *Query) divides() bool { return q.GPUs|q.CPUs|q.GPUMilli != 0 || q.Memory != 0 }

// Fits says whether Select would find nodes. Cost: the words changed since the
// class was last asked for, and those of Avoid; for sensitive work and
// ConformanceFirst the rows and groups as well, for parts of nodes the words of a
// node set.
func (f *Free) Fits(q *Query) bool {
	if q.Nodes < 1 {
		return false
	}
	if q.divides() {
		return f.fitsParts(q)
	}
	t := f.tally(q.Class)
	all := t.rows[f.sp.layout.all()]
	if all < q.Nodes {
		return false
	}
	if !q.Sensitive && !q.ConformanceFirst {
		return q.Avoid == nil || all-t.shared(q.Avoid) >= q.Nodes
	}
	hidden := f.hide(t, q.Avoid)
	ok := false
	switch {
	case q.ConformanceFirst:
		ok = f.fitsLargest(t, q)
	default:
		ok = f.row(t, q) >= 0
	}
	if hidden {
		f.show(t, q.Avoid)
	}
	return ok
}

// Select chooses nodes for q and writes them into p, reusing its slices; it
// does not take them. It says whether there are enough; if not, p is empty. Cost:
// that of Fits, one look at each conformance group and at the groups of the
// chosen one, and the words of the nodes chosen.
func (f *Free) Select(q *Query, p *model.Placement) bool {
	p.Words, p.Shares = p.Words[:0], p.Shares[:0]
	if q.Nodes < 1 {
		return false
	}
	if q.divides() {
		return f.selectParts(q, p)
	}
	t := f.tally(q.Class)
	if t.rows[f.sp.layout.all()] < q.Nodes {
		return false
	}
	hidden := f.hide(t, q.Avoid)
	var ok bool
	if q.ConformanceFirst {
		ok = f.selectLargest(t, q, p)
	} else {
		ok = f.choose(t, q, p)
	}
	if hidden {
		f.show(t, q.Avoid)
	}
	return ok
}

// shared is the number of counted nodes that are in set.
func (t *tally) shared(set model.NodeSet) int32 {
	n := 0
	for w, m := range set {
		n += bits.OnesCount64(t.free[w] & m)
	}
	return int32(n)
}

// hide leaves the nodes of avoid out of t and says whether that changed it.
func (f *Free) hide(t *tally, avoid model.NodeSet) bool {
	changed := false
	for w, m := range avoid {
		if t.free[w]&m != 0 {
			t.set(&f.sp.layout, int32(w), t.free[w]&^m)
			changed = true
		}
	}
	return changed
}

// show undoes hide.
func (f *Free) show(t *tally, avoid model.NodeSet) {
	for w, m := range avoid {
		if f.idle[w]&t.nodes[w]&m != 0 {
			t.set(&f.sp.layout, int32(w), f.idle[w]&t.nodes[w])
		}
	}
}

// row is the row of cells that q chooses from, or -1 when it does not fit.
func (f *Free) row(t *tally, q *Query) int {
	l := &f.sp.layout
	tight := q.Topology == model.Tight
	best, groups, size := -1, int32(math.MaxInt32), int32(math.MaxInt32)
	if tight || q.Sensitive {
		for r, s := range t.rows[:l.known()] {
			if s < q.Nodes {
				continue
			}
			g := int32(0)
			if tight {
				g = t.groups(&l.rows[r], q.Nodes, groups)
			}
			if g < groups || g == groups && s < size {
				best, groups, size = r, g, s
			}
		}
	}
	switch {
	case q.Sensitive:
		return best
	case tight && q.Nodes == 1 && size > 1 && t.rows[l.unknown()] > 0:
		return l.unknown()
	case best < 0 && t.rows[l.all()] >= q.Nodes:
		return l.all()
	}
	return best
}

func (f *Free) choose(t *tally, q *Query, p *model.Placement) bool {
	r := f.row(t, q)
	switch {
	case r < 0:
		return false
	case r == f.sp.layout.unknown() || q.Topology == model.Any:
		f.lowest(t, r, q.Nodes, p)
	case q.Topology == model.Spread:
		f.spread(t, r, q.Nodes, p)
	default:
		f.pack(t, r, q.Nodes, p)
	}
	f.finish(p)
	return true
}

// pack adds the n nodes of row r that tight asks for: of one cell if one holds
// them, the best fit; else of the fullest cells, and of the one that fits the
// rest best.
func (f *Free) pack(t *tally, r int, n int32, p *model.Placement) {
	l := &f.sp.layout
	row := &l.rows[r]
	c := t.best(row, n)
	if c < 0 {
		f.several(t, r, n, p)
		return
	}
	f.addCell(t, c, n, p)
}

// several is pack where no cell holds n. All cells with more than v free nodes
// are used, some with v, and one for the rest. Cost: the cells of the row.
func (f *Free) several(t *tally, r int, n int32, p *model.Placement) {
	l := &f.sp.layout
	row := &l.rows[r]
	hist, marks := t.count(row)
	v, rest := below(marks, row.most+1), n
	some := (rest - 1) / v
	for h := hist[v]; some >= h; h = hist[v] {
		rest -= h * v
		v = below(marks, v)
		some = (rest - 1) / v
	}
	rest -= some * v
	last := above(marks, rest-1)
	clear(f.used)
	clear(f.adjacent)
	clear(f.pool)
	clear(f.ends)
	cells := l.cells[row.first:row.end]
	for i, k := range t.cells[row.first:row.end] {
		if k < v && k != last {
			continue
		}
		g := cells[i].group
		f.cellOf[g] = row.first + int32(i)
		switch {
		case k > v:
			f.use(g)
		case k == v:
			f.pool.add(g)
		default:
			f.ends.add(g)
		}
	}
	for range some {
		g := f.pool.nearest(f.adjacent)
		f.pool.remove(g)
		f.use(g)
	}
	end := f.ends
	if last == v {
		end = f.pool
	}
	f.addUsed(t, end.nearest(f.adjacent), rest, p)
}

// use notes that all of group g is chosen.
func (f *Free) use(g int32) {
	f.used.add(g)
	if f.sp.neighbours {
		f.adjacent.or(f.sp.adjacent[g])
	}
}

// addUsed adds the nodes of a row in the used groups, by cellOf, and rest nodes of the
// last group.
func (f *Free) addUsed(t *tally, last, rest int32, p *model.Placement) {
	f.used.add(last)
	for i, set := range f.used {
		for ; set != 0; set &= set - 1 {
			g := int32(i<<6 + bits.TrailingZeros64(set))
			if c := f.cellOf[g]; g == last {
				f.addCell(t, c, rest, p)
			} else {
				f.addWhole(t, c, p)
			}
		}
	}
}

// spread adds n nodes of row r, dealt to its cells in turn.
func (f *Free) spread(t *tally, r int, n int32, p *model.Placement) {
	row := &f.sp.layout.rows[r]
	level, extra := t.rounds(row, n)
	for i, k := range t.cells[row.first:row.end] {
		if k > level {
			k = level
			if extra > 0 {
				k, extra = k+1, extra-1
			}
		}
		if k > 0 {
			f.addCell(t, row.first+int32(i), k, p)
		}
	}
}

// lowest adds the n lowest nodes of row r.
func (f *Free) lowest(t *tally, r int, n int32, p *model.Placement) {
	l := &f.sp.layout
	for w, m := range t.free {
		if m != 0 && r != l.all() {
			m &= l.within(int32(w), int32(r))
		}
		if m == 0 {
			continue
		}
		if n -= addWord(p, int32(w), m, n); n == 0 {
			return
		}
	}
}

// within is the nodes in word w of row r, which is not that of all.
func (l *layout) within(w, r int32) uint64 {
	m := uint64(0)
	part := l.parts[w]
	for _, s := range l.segs[part.first:part.end] {
		if s.row == r {
			m |= s.mask
		}
	}
	return m
}

// addWhole adds all free nodes of cell c.
func (f *Free) addWhole(t *tally, c int32, p *model.Placement) {
	words := p.Words
	for _, w := range f.sp.layout.of(c) {
		if w.Mask &= t.free[w.Word]; w.Mask == 0 {
			continue
		}
		if last := len(words) - 1; last >= 0 && words[last].Word == w.Word {
			words[last].Mask |= w.Mask
		} else {
			words = append(words, w)
		}
	}
	p.Words = words
}

// addCell adds the n lowest free nodes of cell c, which has as many.
func (f *Free) addCell(t *tally, c, n int32, p *model.Placement) {
	for _, w := range f.sp.layout.of(c) {
		if n == 0 {
			return
		}
		n -= addWord(p, w.Word, t.free[w.Word]&w.Mask, n)
	}
}

// addWord adds the lowest nodes of m, n at most, and says how many.
func addWord(p *model.Placement, w int32, m uint64, n int32) int32 {
	if m == 0 {
		return 0
	}
	k := int32(bits.OnesCount64(m))
	if k > n {
		m, k = lowestBits(m, n), n
	}
	if last := len(p.Words) - 1; last >= 0 && p.Words[last].Word == w {
		p.Words[last].Mask |= m
	} else {
		p.Words = append(p.Words, model.NodeWord{Word: w, Mask: m})
	}
	return k
}

// lowestBits keeps the n lowest of the at least n bits of m. It looks for the byte
// with the n-th in all bytes at a time: sums has in each byte how many bits there
// are up to it, and enough has the highest bit of each where these are n.
func lowestBits(m uint64, n int32) uint64 {
	const each, highest = 0x0101010101010101, 0x8080808080808080
	if n == 0 {
		return 0
	}
	sums := m - m>>1&0x5555555555555555
	sums = sums&0x3333333333333333 + sums>>2&0x3333333333333333
	sums = (sums + sums>>4) & 0x0f0f0f0f0f0f0f0f * each
	enough := (sums | highest - uint64(n)*each) & highest
	at := bits.TrailingZeros64(enough) &^ 7
	rest := m >> at
	for n -= int32(sums << 8 >> at & 0xff); n > 0; n-- {
		rest &= rest - 1
	}
	return m &^ (rest << at)
}

// finish brings the words of p into order where groups are interleaved.
func (f *Free) finish(p *model.Placement) {
	if f.sp.layout.ordered {
		return
	}
	//detlint:total equal words are joined, in whatever order
	slices.SortFunc(p.Words, func(a, b model.NodeWord) int { return int(a.Word - b.Word) })
	kept := p.Words[:0]
	for _, w := range p.Words {
		if last := len(kept) - 1; last >= 0 && kept[last].Word == w.Word {
			kept[last].Mask |= w.Mask
		} else {
			kept = append(kept, w)
		}
	}
	p.Words = kept
}
