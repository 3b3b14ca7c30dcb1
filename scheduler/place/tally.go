package place

import (
	"math/bits"

	"orrery/scheduler/model"
)

// tally counts the free nodes of one class: in each cell, in each row, and for
// each row how many cells have how many. It follows its Free when it is asked and
// not before, so classes that no job asks for cost nothing; and of the rows, most
// are asked for their sum alone, so their histograms follow the cells likewise.
type tally struct {
	at    int64 // position in the Free's log up to which it is true
	nodes model.NodeSet
	free  model.NodeSet // counted nodes
	cells []int32       // free nodes of each cell
	rows  []int32       // free nodes of each row
	hist  []int32       // of each row, cells by free nodes, as told has them
	bits  []uint64      // of each row, which entries of hist are not 0
	told  []int32       // free nodes of each cell when hist was brought up to date
	stale []uint64      // cells that have changed since
}

func newTally(l *layout, nodes model.NodeSet) *tally {
	t := &tally{
		at: -1, nodes: nodes, free: make(model.NodeSet, len(nodes)), cells: make([]int32, len(l.cells)),
		rows: make([]int32, len(l.rows)), hist: make([]int32, l.counts), bits: make([]uint64, l.marks),
		told: make([]int32, len(l.cells)), stale: make([]uint64, (len(l.cells)+63)/64),
	}
	for i := range l.rows {
		r := &l.rows[i]
		if t.hist[r.hist] = r.end - r.first; r.end > r.first {
			t.bits[r.bits] = 1
		}
	}
	return t
}

// follow counts what is idle in the words that have changed. A cell is changed once for all
// of its words that follow each other: jobs take and give whole groups for the most part.
func (t *tally) follow(l *layout, changed []span, idle model.NodeSet) {
	every := int32(0) // so many more
	for _, s := range changed {
		idle := idle[:s.end]
		nodes, free, only := t.nodes[:len(idle)], t.free[:len(idle)], l.only[:len(idle)] // so that a word is checked once
		for w := int(s.first); w < len(idle); {
			cell, more := only[w], 0
			if cell < 0 {
				t.set(l, int32(w), idle[w]&nodes[w])
				w++
				continue
			}
			for next := cell; next == cell; {
				old, now := free[w], idle[w]&nodes[w]
				if now != old {
					free[w] = now
					more += bits.OnesCount64(now) - bits.OnesCount64(old)
				}
				if w++; w == len(idle) {
					break
				}
				next = only[w]
			}
			if more != 0 {
				c := &l.cells[cell]
				t.add(cell, c.whole, int32(more))
				t.rows[c.row] += int32(more)
				every += int32(more)
			}
		}
	}
	t.rows[len(t.rows)-1] += every
}

// set makes now the counted nodes of word w. Cost: the segments of the word, or
// one node if only that changes.
func (t *tally) set(l *layout, w int32, now uint64) {
	old := t.free[w]
	changed := old ^ now
	if changed == 0 {
		return
	}
	t.free[w] = now
	every := int32(0) // so many more
	if changed&(changed-1) == 0 {
		if every = 1; old&changed != 0 {
			every = -1
		}
		own := l.own[int(w)<<6+bits.TrailingZeros64(changed)]
		c := &l.cells[own]
		t.add(own, c.whole, every)
		t.rows[c.row] += every
	} else {
		part := l.parts[w]
		for i := part.first; i < part.end; i++ {
			s := &l.segs[i]
			if changed&s.mask == 0 {
				continue
			}
			more := int32(bits.OnesCount64(now&s.mask) - bits.OnesCount64(old&s.mask))
			t.add(s.cell, s.whole, more)
			t.rows[s.row] += more
			every += more
		}
	}
	t.rows[len(t.rows)-1] += every
}

// add changes the free nodes of a cell and of the one of its whole group.
func (t *tally) add(own, whole, more int32) {
	t.cells[own] += more
	t.cells[whole] += more
	t.stale[own>>6] |= 1 << (own & 63)
	t.stale[whole>>6] |= 1 << (whole & 63)
}

// count brings the histogram of r up to date and returns it with its bitmap. Cost:
// the cells that have changed since it was asked for last.
func (t *tally) count(r *row) (hist []int32, marks []uint64) {
	hist, marks = t.hist[r.hist:r.hist+r.most+1], t.bits[r.bits:r.bits+r.wide]
	end := r.end - 1
	for w := r.first >> 6; w <= end>>6; w++ {
		m := t.stale[w]
		if w == r.first>>6 {
			m &= ^uint64(0) << (r.first & 63)
		}
		if w == end>>6 {
			m &= 2<<(end&63) - 1
		}
		for t.stale[w] &^= m; m != 0; m &= m - 1 {
			c := w<<6 + int32(bits.TrailingZeros64(m))
			old, now := t.told[c], t.cells[c]
			if old == now {
				continue
			}
			t.told[c] = now
			if hist[old]--; hist[old] == 0 {
				marks[old>>6] &^= 1 << (old & 63)
			}
			hist[now]++
			marks[now>>6] |= 1 << (now & 63)
		}
	}
	return hist, marks
}

// below is the largest number of free nodes of a cell that is less than v; 0 when
// there is none.
func below(marks []uint64, v int32) int32 {
	for w := (v - 1) >> 6; w >= 0; w-- {
		m := marks[w]
		if w == v>>6 {
			m &= 1<<(v&63) - 1
		}
		if m != 0 {
			return w<<6 + int32(63-bits.LeadingZeros64(m))
		}
	}
	return 0
}

// above is the smallest number of free nodes of a cell that is more than v, -1
// when there is none.
func above(marks []uint64, v int32) int32 {
	v++
	for w := v >> 6; int(w) < len(marks); w++ {
		m := marks[w]
		if w == v>>6 {
			m &^= 1<<(v&63) - 1
		}
		if m != 0 {
			return w<<6 + int32(bits.TrailingZeros64(m))
		}
	}
	return -1
}

// best is the cell of r that n nodes fit best, the first of several, -1 when none
// holds them. Cost: the cells up to the first of just n.
func (t *tally) best(r *row, n int32) int32 {
	best, size := int32(-1), r.most+1
	for i, k := range t.cells[r.first:r.end] {
		if k >= n && k < size {
			best, size = r.first+int32(i), k
			if k == n {
				break
			}
		}
	}
	return best
}

// glance is at how many cells groups looks before it asks for the histogram: most
// jobs find room in one of the first.
const glance = 64

// groups is the fewest cells of r that hold n nodes, which r must hold; it may
// stop counting above most.
func (t *tally) groups(r *row, n, most int32) int32 {
	for _, k := range t.cells[r.first:min(r.end, r.first+glance)] {
		if k >= n {
			return 1
		}
	}
	hist, marks := t.count(r)
	k := int32(0)
	for v := below(marks, r.most+1); k <= most; v = below(marks, v) {
		h := hist[v]
		if h*v >= n {
			return k + (n+v-1)/v
		}
		n -= h * v
		k += h
	}
	return k
}

// rounds is how many nodes each cell of r gives when n nodes, which r must hold,
// are dealt one to each cell in turn: level, or all that it has, and one more for
// the first extra cells that have more.
func (t *tally) rounds(r *row, n int32) (level, extra int32) {
	hist, marks := t.count(r)
	alive := r.end - r.first - hist[0]
	for v := above(marks, 0); v > 0; v = above(marks, v) {
		step := alive * (v - level)
		if step > n {
			return level + n/alive, n % alive
		}
		n -= step
		alive -= hist[v]
		level = v
	}
	return level, 0
}
