package metric

import (
	"math/bits"
	"slices"
)

const (
	// partBits is how many bits of the keys a ranker tells apart at a time.
	partBits = 11
	// sortedKeys are few enough to be sorted faster.
	sortedKeys = 1 << 7
)

// ranker finds the keys of given ranks without sorting the others: it counts the
// keys of equal parts of their range, and looks closer at the parts that hold a
// wanted rank. It keeps its space.
type ranker struct {
	count [1 << partBits]uint32
	space []uint64 // a stack of the parts that are looked at
}

// piece is a part that holds wanted ranks.
type piece struct {
	targets []target
	from, n int   // of its keys
	below   int64 // keys that are smaller
}

// find gives the targets, ascending by rank, their values: the keys of their ranks
// in a and b together, when so many others are below these. All lie in [lo, hi].
// Cost: a few steps per key.
func (r *ranker) find(a, b []uint64, lo, hi uint64, targets []target, below int64) {
	if lo == hi {
		for i := range targets {
			targets[i].value = lo
		}
		return
	}
	if len(a)+len(b) <= sortedKeys {
		top := len(r.space)
		r.space = append(append(r.space, a...), b...)
		keys := r.space[top:]
		slices.Sort(keys)
		for i := range targets {
			targets[i].value = keys[targets[i].rank-below-1]
		}
		r.space = r.space[:top]
		return
	}
	shift := uint(max(bits.Len64(hi-lo), partBits) - partBits)
	clear(r.count[:])
	r.tally(a, lo, shift)
	r.tally(b, lo, shift)
	var few [8]piece
	parts, n := r.parts(few[:0], targets, below)
	top := len(r.space)
	r.space = slices.Grow(r.space, n)[:top+n]
	keys := r.space[top:]
	r.gather(keys, a, lo, shift)
	r.gather(keys, b, lo, shift)
	for i := range parts {
		p := &parts[i]
		own := keys[p.from : p.from+p.n]
		least, most := own[0], own[0]
		for _, key := range own {
			least, most = min(least, key), max(most, key)
		}
		r.find(own, nil, least, most, p.targets, p.below)
	}
	r.space = r.space[:top]
}

// tally counts keys by part.
func (r *ranker) tally(keys []uint64, lo uint64, shift uint) {
	for _, key := range keys {
		r.count[(key-lo)>>(shift&63)&(1<<partBits-1)]++
	}
}

// parts lists the parts that hold wanted ranks, and says how many keys these have.
// It leaves, for each of them, one more than the place of its first key in the
// count, and 0 for the others.
func (r *ranker) parts(list []piece, targets []target, below int64) ([]piece, int) {
	from, i := 0, 0
	for k, c := range r.count {
		n := i
		for n < len(targets) && targets[n].rank <= below+int64(c) {
			n++
		}
		r.count[k] = 0
		if n > i {
			list = append(list, piece{targets[i:n], from, int(c), below})
			r.count[k] = uint32(from) + 1
			from += int(c)
			i = n
		}
		below += int64(c)
	}
	return list, from
}

// gather puts the keys of the parts into their places.
func (r *ranker) gather(dst, keys []uint64, lo uint64, shift uint) {
	for _, key := range keys {
		if p := &r.count[(key-lo)>>(shift&63)&(1<<partBits-1)]; *p > 0 {
			dst[*p-1] = key
			*p++
		}
	}
}
