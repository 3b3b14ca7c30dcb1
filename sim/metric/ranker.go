package metric

import (
	"math/bits"
	"slices"
)

const (
	// partBits is how many bits of the keys a ranker tells apart at a time.
	partBits = 11
	// headBits of a key, from its first 1 on, are told apart at the first look.
	headBits = 6
	// sortedKeys are few enough to be sorted faster.
	sortedKeys = 1 << 7
)

// Ranker finds percentiles of integers without sorting them. The zero value is
// ready. It keeps its space: 2 bytes per key, and 8 per key that is close to a
// percentile.
type Ranker struct {
	rank    ranker
	targets []target
}

// Percentiles sets each of values to that of percents, which ascend from 1 to 100:
// by nearest rank, the smallest key such that at least so many per cent of all keys
// are no larger. There is at least one key. Cost: some twenty steps per key.
func (r *Ranker) Percentiles(keys []uint64, percents []int, values []uint64) {
	r.targets = r.targets[:0]
	for _, p := range percents {
		r.targets = append(r.targets, target{percent: p, rank: nearest(p, int64(len(keys)))})
	}
	r.rank.find(r.targets, keys)
	for i := range r.targets {
		values[i] = r.targets[i].value
	}
}

// nearest is the rank of a percentile of n keys, from 1.
func nearest(percent int, n int64) int64 { return (int64(percent)*n + 99) / 100 }

// ranker finds the keys of given ranks without sorting the others: it counts the
// keys of parts of their range, and looks closer at the parts that hold a wanted
// rank. It keeps its space.
type ranker struct {
	count [1 << partBits]uint32
	part  []uint16 // of each key that is looked at
	space []uint64 // a stack of the parts that are looked at
}

// piece is a part that holds wanted ranks.
type piece struct {
	targets []target
	from, n int   // of its keys
	below   int64 // keys that are smaller
}

// find gives the targets, ascending by rank, their values: the keys of their ranks
// in all the lists together. Spans of time crowd at the lower end of their range, so
// the first parts are as wide as their keys are large, within a 32nd. Cost: some
// twenty steps per key.
func (r *ranker) find(targets []target, lists ...[]uint64) {
	n := 0
	for _, keys := range lists {
		n += len(keys)
	}
	if n <= sortedKeys {
		r.sort(targets, 0, lists...)
		return
	}
	r.begin(n)
	part := r.part
	for _, keys := range lists {
		r.tallyHeads(keys, part)
		part = part[len(keys):]
	}
	r.approach(targets, 0, lists...)
}

// narrow is find among keys of one part that all lie in [lo, hi], when so many
// others are below these. Its parts are equal.
func (r *ranker) narrow(keys []uint64, lo, hi uint64, targets []target, below int64) {
	switch {
	case lo == hi:
		for i := range targets {
			targets[i].value = lo
		}
	case len(keys) <= sortedKeys:
		r.sort(targets, below, keys)
	default:
		r.begin(len(keys))
		r.tally(keys, lo, uint(max(bits.Len64(hi-lo), partBits)-partBits))
		r.approach(targets, below, keys)
	}
}

// sort is find for few keys.
func (r *ranker) sort(targets []target, below int64, lists ...[]uint64) {
	top := len(r.space)
	for _, keys := range lists {
		r.space = append(r.space, keys...)
	}
	keys := r.space[top:]
	slices.Sort(keys)
	for i := range targets {
		targets[i].value = keys[targets[i].rank-below-1]
	}
	r.space = r.space[:top]
}

// begin makes room to tell n keys apart.
func (r *ranker) begin(n int) {
	clear(r.count[:])
	r.part = slices.Grow(r.part[:0], n)[:n]
}

// tallyHeads counts keys by part: those of as many bits, and the same first
// headBits of these. Inlined, its loop would find no registers, as that of gather.
//
//go:noinline
func (r *ranker) tallyHeads(keys []uint64, part []uint16) {
	part = part[:len(keys)]
	for i, key := range keys {
		shift := uint(bits.Len64(key|(1<<headBits-1))) - headBits
		p := uint16(shift<<(headBits-1)) + uint16(key>>(shift&63))
		part[i] = p
		r.count[p&(1<<partBits-1)]++
	}
}

// tally counts keys by part, of which each has 2^shift values.
func (r *ranker) tally(keys []uint64, lo uint64, shift uint) {
	part := r.part[:len(keys)]
	for i, key := range keys {
		p := uint16((key - lo) >> (shift & 63))
		part[i] = p
		r.count[p&(1<<partBits-1)]++
	}
}

// approach looks for the targets in the parts that hold them, when so many keys are
// below those of the lists.
func (r *ranker) approach(targets []target, below int64, lists ...[]uint64) {
	var few [8]piece
	parts, n := r.parts(few[:0], targets, below)
	top := len(r.space)
	r.space = slices.Grow(r.space, n)[:top+n]
	keys, part := r.space[top:], r.part
	for _, list := range lists {
		r.gather(keys, list, part)
		part = part[len(list):]
	}
	for i := range parts {
		p := &parts[i]
		own := keys[p.from : p.from+p.n]
		least, most := own[0], own[0]
		for _, key := range own {
			least, most = min(least, key), max(most, key)
		}
		r.narrow(own, least, most, p.targets, p.below)
	}
	r.space = r.space[:top]
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
//
//go:noinline
func (r *ranker) gather(dst, keys []uint64, part []uint16) {
	part = part[:len(keys)]
	for i, key := range keys {
		if p := &r.count[part[i]&(1<<partBits-1)]; *p > 0 {
			dst[*p-1] = key
			*p++
		}
	}
}
