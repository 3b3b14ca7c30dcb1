package place

import (
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// layout sorts the nodes into cells. A row of cells is a set of nodes cut by
// dragonfly group: one row for each conformance group, one for all nodes of
// unknown fingerprint, and one for all nodes. So each node lies in two cells.
type layout struct {
	rows  []row
	cells []cell
	words []model.NodeWord // of the cells, each cell's own ascending
	segs  []segment
	first []int32 // segs[first[w]:first[w+1]] are the cells that meet word w
	of    [][2]int32
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
	first, end int32 // layout.words
}

// segment is the part of a cell in one word.
type segment struct {
	cell int32
	mask uint64
}

func (l *layout) known() int   { return len(l.rows) - 2 } // rows of known fingerprint come first
func (l *layout) unknown() int { return len(l.rows) - 2 }
func (l *layout) all() int     { return len(l.rows) - 1 }

func (l *layout) group(n model.NodeID) int32 { return l.cells[l.of[n][1]].group }

// cell is the cell of r in group g, which r has.
func (l *layout) cell(r *row, g int32) int32 {
	if c := r.first + g; c < r.end && l.cells[c].group == g {
		return c // r has all groups below g
	}
	i, _ := slices.BinarySearchFunc(l.cells[r.first:r.end], g, func(c cell, g int32) int { return int(c.group - g) })
	return r.first + int32(i)
}

func newLayout(site *model.Site, group []int32) layout {
	prints := site.Fingerprints
	l := layout{rows: make([]row, prints+2), of: make([][2]int32, len(group)), ordered: true}
	key := func(n, side int) int64 {
		r := prints + 1
		if side == 0 {
			if r = site.Nodes[n].Fingerprint; r < 0 {
				r = prints
			}
		}
		return int64(r)<<32 | int64(group[n])
	}
	keys := make([]int64, 0, 2*len(group))
	for n := range group {
		keys = append(keys, key(n, 0), key(n, 1))
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	words := make([][]model.NodeWord, len(keys))
	for n := range group {
		for side := range 2 {
			c, _ := slices.BinarySearch(keys, key(n, side))
			l.of[n][side] = int32(c)
			words[c] = with(words[c], model.NodeID(n))
		}
	}
	for c, k := range keys {
		l.cells = append(l.cells, cell{int32(k >> 32), int32(k), int32(len(l.words)), int32(len(l.words) + len(words[c]))})
		l.words = append(l.words, words[c]...)
	}
	l.cut()
	l.segment(len(group))
	return l
}

// with puts a node that is not below the others into words.
func with(words []model.NodeWord, n model.NodeID) []model.NodeWord {
	w, bit := int32(n)>>6, uint64(1)<<(n&63)
	if last := len(words) - 1; last >= 0 && words[last].Word == w {
		words[last].Mask |= bit
		return words
	}
	return append(words, model.NodeWord{Word: w, Mask: bit})
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

// segment lists the cells that meet each word.
func (l *layout) segment(nodes int) {
	for n := range nodes {
		if n&63 == 0 {
			l.first = append(l.first, int32(len(l.segs)))
		}
		here := l.segs[l.first[n>>6]:]
		for _, c := range l.of[n] {
			i := slices.IndexFunc(here, func(s segment) bool { return s.cell == c })
			if i < 0 {
				i = len(here)
				l.segs = append(l.segs, segment{cell: c})
				here = l.segs[l.first[n>>6]:]
			}
			here[i].mask |= 1 << (n & 63)
		}
	}
	l.first = append(l.first, int32(len(l.segs)))
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

// nearest is the lowest group of s that is in near as well, or else the lowest
// group of s, which must not be empty.
func (s groupSet) nearest(near groupSet) int32 {
	lowest := int32(-1)
	for i, w := range s {
		if m := w & near[i]; m != 0 {
			return int32(i<<6 + bits.TrailingZeros64(m))
		}
		if lowest < 0 && w != 0 {
			lowest = int32(i<<6 + bits.TrailingZeros64(w))
		}
	}
	return lowest
}
