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

// A selection finds exact percentiles of a multiset of uint64 keys in bounded
// memory. While the budget lasts it keeps the keys, and one pass is enough. Else it
// looks at all keys several times: each pass counts the keys of a range in
// 2^digitBits equal parts, and the part that holds the wanted rank is the range of
// the next pass. Keys below 2^firstBits take three passes, others four more. Where
// many are needed at a time a digit is smaller, and the passes are more.
//
// The p-th percentile is by nearest rank: the smallest key such that at least
// p per cent of all keys are no larger; the one of rank ⌈p·n/100⌉ from 1.
type selection struct {
	n         int64 // keys, known after the first pass
	digit     uint  // bits that a pass tells apart
	few       bool  // kept and also have all keys
	kept      []uint64
	also      [][]uint64 // that were kept elsewhere, and joined
	keyBudget *keyBudget
	targets   []target
	searches  []*search
}

const (
	digitBits = 16
	smallBits = 12
	firstBits = 48

	// keptKeys are those of 2^17 jobs, in 8 MB: space doubles, four times for each
	// job, and once more at a site.
	keptKeys = 1 << 20
	// firstKeys is the space that a selection begins with, of which a site may have one for
	// each of many tenants.
	firstKeys = 1 << 2
	// groupBits bounds what the selections of all groups of a site count at a time.
	groupBits = 22
)

// keyBudget bounds the keys that the selections of a computation keep together.
type keyBudget struct {
	left int // keys that there is space for
	rank ranker
}

// target is one percentile being narrowed down.
type target struct {
	percent int
	rank    int64   // from 1
	in      *search // nil when value is known, and while the keys are few
	value   uint64
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

func newSelection(percents []int, digit uint, in *keyBudget) *selection {
	s := &selection{digit: digit, few: true, keyBudget: in}
	for _, p := range percents {
		s.targets = append(s.targets, target{percent: p})
	}
	return s
}

// add counts a key.
func (s *selection) add(key uint64) {
	if n := len(s.kept); n < cap(s.kept) {
		s.kept = s.kept[:n+1]
		s.kept[n] = key
		return
	}
	s.count(key)
}

// count is add where there is no space that is ready.
func (s *selection) count(key uint64) {
	if s.few {
		if s.keyBudget.grow(&s.kept) {
			s.kept = append(s.kept, key)
			return
		}
		s.spill()
	}
	for _, h := range s.searches {
		if d := key - h.lo; key >= h.lo && d>>(h.bits-1)>>1 == 0 {
			h.count[d>>h.shift]++
		}
	}
}

// grow makes space for twice as many keys, as far as the budget goes.
func (r *keyBudget) grow(kept *[]uint64) bool {
	n := min(max(cap(*kept), firstKeys), r.left)
	if n == 0 {
		return false
	}
	r.left -= n
	*kept = append(make([]uint64, 0, cap(*kept)+n), *kept...)
	return true
}

// join gives s the keys of o, which has seen others in the same pass, the first.
// Afterwards o may be narrowed, and no key be added to it before that.
func (s *selection) join(o *selection) {
	if o.few {
		s.joinKeys(o.kept)
		return
	}
	if s.few {
		s.spill()
	}
	for i, n := range o.searches[0].count {
		s.searches[0].count[i] += n
	}
}

// joinKeys is join for keys that were kept, and do not change any more.
func (s *selection) joinKeys(keys []uint64) {
	if s.few {
		s.also = append(s.also, keys)
		return
	}
	for _, key := range keys {
		s.count(key)
	}
}

// spill makes a first pass of what was kept, for there are more keys than that.
func (s *selection) spill() {
	lists := append(s.also, s.kept)
	s.few, s.kept, s.also = false, nil, nil
	s.searches = []*search{newSearch(0, firstBits, s.digit, 0)}
	for i := range s.targets {
		s.targets[i].in = s.searches[0]
	}
	for _, keys := range lists {
		for _, key := range keys {
			s.count(key)
		}
	}
}

// narrow ends a pass: it fixes the ranks when the keys are given (after the first
// pass) and finds the ranges of the next one. It reports whether one is needed.
func (s *selection) narrow(of *moments) bool {
	n := of.n
	if s.n == 0 {
		s.n = n
		for i := range s.targets {
			t := &s.targets[i]
			t.rank = nearest(t.percent, n)
		}
	}
	if s.few {
		if n > 0 {
			s.keyBudget.rank.find(s.targets, append(s.also, s.kept)...)
		}
		s.few, s.kept, s.also = false, nil, nil // others may need more passes, in which there is nothing left to count
		return false
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
