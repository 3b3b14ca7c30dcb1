package place

import (
	"math/bits"

	"orrery/scheduler/model"
)

// tally counts the free nodes of one class: in each cell, in each row, and for
// each row how many cells have how many. It follows its Free when it is asked and
// not before, so classes that nobody asks for cost nothing.
type tally struct {
	at    int64 // position in the Free's log up to which it is true
	nodes model.NodeSet
	free  model.NodeSet // counted nodes
	cells []int32       // free nodes of each cell
	rows  []int32       // free nodes of each row
	hist  []int32       // of each row, cells by free nodes
	bits  []uint64      // of each row, which entries of hist are not 0
}

func newTally(l *layout, nodes model.NodeSet) *tally {
	t := &tally{
		at: -1, nodes: nodes, free: make(model.NodeSet, len(nodes)), cells: make([]int32, len(l.cells)),
		rows: make([]int32, len(l.rows)), hist: make([]int32, l.counts), bits: make([]uint64, l.marks),
	}
	for i := range l.rows {
		r := &l.rows[i]
		if t.hist[r.hist] = r.end - r.first; r.end > r.first {
			t.bits[r.bits] = 1
		}
	}
	return t
}

// set makes now the counted nodes of word w. Cost: the cells that meet the
// word; two cells if only one node changes.
func (t *tally) set(l *layout, w int32, now uint64) {
	old := t.free[w]
	changed := old ^ now
	if changed == 0 {
		return
	}
	t.free[w] = now
	if changed&(changed-1) == 0 {
		d := int32(1)
		if old&changed != 0 {
			d = -1
		}
		for _, c := range l.of[int(w)<<6+bits.TrailingZeros64(changed)] {
			t.shift(l, c, d)
		}
		return
	}
	for _, s := range l.segs[l.first[w]:l.first[w+1]] {
		if changed&s.mask == 0 {
			continue
		}
		if d := bits.OnesCount64(now&s.mask) - bits.OnesCount64(old&s.mask); d != 0 {
			t.shift(l, s.cell, int32(d))
		}
	}
}

// shift changes the free nodes of a cell by d.
func (t *tally) shift(l *layout, c, d int32) {
	i := l.cells[c].row
	r := &l.rows[i]
	old := t.cells[c]
	now := old + d
	t.cells[c] = now
	t.rows[i] += d
	hist, marks := t.hist[r.hist:r.hist+r.most+1], t.bits[r.bits:r.bits+r.wide]
	if hist[old]--; hist[old] == 0 {
		marks[old>>6] &^= 1 << (old & 63)
	}
	hist[now]++
	marks[now>>6] |= 1 << (now & 63)
}

// below is the largest number of free nodes of a cell of r that is less than v;
// 0 when there is none.
func (t *tally) below(r *row, v int32) int32 {
	marks := t.bits[r.bits : r.bits+r.wide]
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

// top is the number of free nodes of the fullest cell of r.
func (t *tally) top(r *row) int32 { return t.below(r, r.most+1) }

// atLeast is the smallest number of free nodes of a cell of r that is not less
// than v, or -1.
func (t *tally) atLeast(r *row, v int32) int32 {
	if v > r.most {
		return -1
	}
	marks := t.bits[r.bits : r.bits+r.wide]
	w := v >> 6
	m := marks[w] &^ (1<<(v&63) - 1)
	for m == 0 {
		if w++; w == r.wide {
			return -1
		}
		m = marks[w]
	}
	return w<<6 + int32(bits.TrailingZeros64(m))
}

// groups is the fewest cells of r that hold n nodes, which r must hold; it may
// stop counting above most.
func (t *tally) groups(r *row, n, most int32) int32 {
	k := int32(0)
	for v := t.top(r); k <= most; v = t.below(r, v) {
		h := t.hist[r.hist+v]
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
	alive := r.end - r.first - t.hist[r.hist]
	for v := t.atLeast(r, 1); v > 0; v = t.atLeast(r, v+1) {
		step := alive * (v - level)
		if step > n {
			return level + n/alive, n % alive
		}
		n -= step
		alive -= t.hist[r.hist+v]
		level = v
	}
	return level, 0
}
