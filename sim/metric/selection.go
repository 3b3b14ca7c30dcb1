package metric

import (
	"math/big"
	"slices"
)

// percentiles lists, per quantity, which are computed, in per cent.
var percentiles = [quantities][]int{
	qWait:       {50, 90, 95, 99},
	qTurnaround: {50, 90, 95, 99},
	qSlowdown:   {50, 95, 99},
	qBounded:    {50, 95, 99},
}

// A selection finds exact percentiles of a multiset of uint64 keys in fixed
// memory, by looking at all keys several times: each pass counts the keys of a
// range in 2^digitBits equal parts, and the part that holds the wanted rank is
// the range of the next pass. Keys below 2^firstBits take three passes, others
// four more. Where many are needed at a time a digit is smaller, and the passes
// are more.
//
// The p-th percentile is by nearest rank: the smallest key such that at least
// p per cent of all keys are no larger; the one of rank ⌈p·n/100⌉ from 1.
type selection struct {
	n        int64 // keys, known after the first pass
	digit    uint  // bits that a pass tells apart
	targets  []target
	searches []*search
}

const (
	digitBits = 16
	smallBits = 12
	firstBits = 48
)

// target is one percentile being narrowed down.
type target struct {
	percent int
	rank    int64 // from 1
	in      *search
	value   uint64 // when in is nil
}

// search counts keys in [lo, lo+2^bits).
type search struct {
	lo    uint64
	bits  uint
	shift uint  // bits that the next pass tells apart
	below int64 // keys smaller than lo
	count []uint32
}

func newSearch(lo uint64, bits, digit uint, below int64) *search {
	digit = min(digit, bits)
	return &search{lo: lo, bits: bits, shift: bits - digit, below: below, count: make([]uint32, 1<<digit)}
}

func newSelection(percents []int, digit uint) *selection {
	s := &selection{digit: digit, searches: []*search{newSearch(0, firstBits, digit, 0)}}
	for _, p := range percents {
		s.targets = append(s.targets, target{percent: p, in: s.searches[0]})
	}
	return s
}

// add counts a key.
func (s *selection) add(key uint64) {
	for _, h := range s.searches {
		if d := key - h.lo; key >= h.lo && d>>(h.bits-1)>>1 == 0 {
			h.count[d>>h.shift]++
		}
	}
}

// narrow ends a pass: it fixes the ranks when n is given (after the first
// pass) and finds the ranges of the next one. It reports whether one is needed.
func (s *selection) narrow(n int64) bool {
	if s.n == 0 {
		s.n = n
		for i := range s.targets {
			t := &s.targets[i]
			t.rank = (int64(t.percent)*n + 99) / 100
		}
	}
	s.searches = nil
	for i := range s.targets {
		t := &s.targets[i]
		if t.in == nil {
			continue
		}
		lo, bits, below := t.in.descend(t.rank)
		if bits == 0 || n == 0 {
			t.value, t.in = lo, nil
			continue
		}
		t.in = s.search(lo, bits, below)
	}
	return len(s.searches) > 0
}

// descend finds the part that holds the key of the rank: its start, its size
// and the number of keys before it. When the key lies beyond the range, the
// answer is the whole of uint64.
func (h *search) descend(rank int64) (lo uint64, bits uint, below int64) {
	seen := h.below
	for i, c := range h.count {
		if seen+int64(c) >= rank {
			return h.lo + uint64(i)<<h.shift, h.shift, seen
		}
		seen += int64(c)
	}
	return 0, 64, 0
}

// search returns the search for a range; targets that fall into it share it.
func (s *selection) search(lo uint64, bits uint, below int64) *search {
	for _, h := range s.searches {
		if h.lo == lo && h.bits == bits {
			return h
		}
	}
	h := newSearch(lo, bits, s.digit, below)
	s.searches = append(s.searches, h)
	return h
}

// percentile returns a percentile as an integer key.
func (s *selection) percentile(p int) *big.Int {
	i := slices.IndexFunc(s.targets, func(t target) bool { return t.percent == p })
	return new(big.Int).SetUint64(s.targets[i].value)
}
