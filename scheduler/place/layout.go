package place

import (
	"math"
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// layout sorts the nodes into cells. A row of cells is a set of nodes cut by
// dragonfly group: one row for each conformance group, one for all nodes of
// unknown fingerprint, and one for all nodes. So each node lies in two cells: its
// own, which is of its fingerprint, and the one of its whole group.
type layout struct {
	rows  []row
	cells []cell
	words []model.NodeWord // of the cells, each cell's own ascending
	segs  []segment
	parts []span  // of each word, its segs
	own   []int32 // cell of each node
	only  []int32 // of each word, the cell of its nodes, -1 where they are of several
	// ordered says that the cells of each row, in their order, have ascending
	// words.
	ordered bool
	counts  int32 // length of the histograms of all rows
	marks   int32 // length of their bitmaps
}

// row is a set of nodes, cut into cells.
type row struct {
	first, end int32 // cells, ascending by group
	hist, most int32 // where its histogram starts, and the nodes of its largest cell
	bits, wide int32 // where the bitmap of its histogram starts, and how many words it has
}

// cell is the part of a row in one group.
type cell struct {
	row, group int32
	whole      int32 // the cell of all nodes of the group
	first, end int32 // layout.words
}

// segment is the part of a node's own cell in one word.
type segment struct {
	mask             uint64
	cell, whole, row int32
}

// span is a part of a slice.
type span struct{ first, end int32 }

// of is the words of a cell.
func (l *layout) of(c int32) []model.NodeWord {
	cell := &l.cells[c]
	return l.words[cell.first:cell.end]
}

func (l *layout) known() int   { return len(l.rows) - 2 } // rows of known fingerprint come first
func (l *layout) unknown() int { return len(l.rows) - 2 }
func (l *layout) all() int     { return len(l.rows) - 1 }

// stretch is neighbouring nodes of one cell, which is told by its row and group: on
// most sites nodes that are alike lie side by side, so there are few.
type stretch struct {
	key         int64 // row<<32 | group
	first, last model.NodeID
}

func newLayout(site *model.Site) layout {
	l := layout{rows: make([]row, site.Fingerprints+2), own: make([]int32, len(site.Nodes)), ordered: true}
	own := l.stretches(site)
	every := int64(l.all()) << 32
	keys := make([]int64, 0, 2*len(own))
	for _, s := range own {
		keys = append(keys, s.key, every|s.key&math.MaxUint32)
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	words := make([][]model.NodeWord, len(keys))
	l.cells = make([]cell, len(keys))
	for _, s := range own {
		i, _ := slices.BinarySearch(keys, s.key)
		whole, _ := slices.BinarySearch(keys, every|s.key&math.MaxUint32)
		for n := s.first; n <= s.last; n++ {
			l.own[n] = int32(i)
		}
		l.cells[i].whole, l.cells[whole].whole = int32(whole), int32(whole)
		words[i], words[whole] = with(words[i], s.first, s.last), with(words[whole], s.first, s.last)
	}
	for i, k := range keys {
		c := &l.cells[i]
		c.row, c.group, c.first = int32(k>>32), int32(k), int32(len(l.words))
		l.words = append(l.words, words[i]...)
		c.end = int32(len(l.words))
	}
	l.cut()
	l.segment((len(site.Nodes) + 63) / 64)
	return l
}

// stretches divides the nodes by their own cells.
func (l *layout) stretches(site *model.Site) []stretch {
	var all []stretch
	last := int64(-1)
	for i := range site.Nodes {
		n := &site.Nodes[i]
		r := int(n.Fingerprint)
		if r < 0 {
			r = l.unknown()
		}
		key := int64(r) << 32
		if len(site.Groups) > 0 {
			key |= int64(n.Group)
		}
		if key != last {
			if len(all) > 0 {
				all[len(all)-1].last = model.NodeID(i - 1)
			}
			all = append(all, stretch{key: key, first: model.NodeID(i), last: model.NodeID(len(site.Nodes) - 1)})
			last = key
		}
	}
	return all
}

// with puts the nodes from first to last, which are not below the others, into
// words.
func with(words []model.NodeWord, first, last model.NodeID) []model.NodeWord {
	from, to := int32(first>>6), int32(last>>6)
	for w := from; w <= to; w++ {
		mask := ^uint64(0)
		if w == from {
			mask <<= first & 63
		}
		if w == to {
			mask &= 2<<(last&63) - 1
		}
		if i := len(words) - 1; i >= 0 && words[i].Word == w {
			words[i].Mask |= mask
		} else {
			words = append(words, model.NodeWord{Word: w, Mask: mask})
		}
	}
	return words
}

// cut gives each row its cells and the room of its histogram.
func (l *layout) cut() {
	c := int32(0)
	for r := range l.rows {
		row := &l.rows[r]
		row.first = c
		word := int32(-1)
		for ; int(c) < len(l.cells) && int(l.cells[c].row) == r; c++ {
			nodes := int32(0)
			for _, w := range l.words[l.cells[c].first:l.cells[c].end] {
				nodes += int32(bits.OnesCount64(w.Mask))
				l.ordered = l.ordered && w.Word >= word
				word = w.Word
			}
			row.most = max(row.most, nodes)
		}
		row.end = c
		row.hist, row.bits, row.wide = l.counts, l.marks, row.most/64+1
		l.counts += row.most + 1
		l.marks += row.wide
	}
}

// segment divides each of so many words.
func (l *layout) segment(words int) {
	own := l.cells[:l.rows[l.all()].first] // the row of all comes last
	l.parts = make([]span, words)
	for i := range own {
		for _, w := range l.words[own[i].first:own[i].end] {
			l.parts[w.Word].end++
		}
	}
	n := int32(0)
	for w := range l.parts {
		p := &l.parts[w]
		n += p.end
		p.first, p.end = n-p.end, n-p.end
	}
	l.segs, l.only = make([]segment, n), make([]int32, words)
	for i := range own {
		c := &own[i]
		for _, w := range l.words[c.first:c.end] {
			p := &l.parts[w.Word]
			l.segs[p.end] = segment{w.Mask, int32(i), c.whole, c.row}
			if l.only[w.Word] = int32(i); p.end > p.first {
				l.only[w.Word] = -1
			}
			p.end++
		}
	}
}

// groupSet is a set of dragonfly groups.
type groupSet []uint64

func newGroupSet(groups int32) groupSet { return make(groupSet, (groups+63)/64) }

func (s groupSet) add(g int32)      { s[g>>6] |= 1 << (g & 63) }
func (s groupSet) remove(g int32)   { s[g>>6] &^= 1 << (g & 63) }
func (s groupSet) has(g int32) bool { return s[g>>6]>>(g&63)&1 != 0 }

func (s groupSet) or(o groupSet) {
	for i, w := range o {
		s[i] |= w
	}
}

// nearest is the lowest group of s that is in adjacent as well, or else the lowest
// group of s, which must not be empty.
func (s groupSet) nearest(adjacent groupSet) int32 {
	lowest := int32(-1)
	for i, w := range s {
		if m := w & adjacent[i]; m != 0 {
			return int32(i<<6 + bits.TrailingZeros64(m))
		}
		if lowest < 0 && w != 0 {
			lowest = int32(i<<6 + bits.TrailingZeros64(w))
		}
	}
	return lowest
}
