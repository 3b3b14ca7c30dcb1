package cluster

import "math/bits"

// bitset is a set of node ids with a summary word over every 64 words, so that
// the lowest member is found in two steps even among 100,000 nodes.
type bitset struct {
	words   []uint64
	summary []uint64
}

func newBitset(n int) bitset {
	w := (n + 63) / 64
	return bitset{words: make([]uint64, w), summary: make([]uint64, (w+63)/64)}
}

func (b *bitset) set(i int32) { b.or(i>>6, 1<<(i&63)) }

func (b *bitset) clear(i int32) { b.andNot(i>>6, 1<<(i&63)) }

func (b *bitset) or(word int32, mask uint64) {
	b.words[word] |= mask
	b.summary[word>>6] |= 1 << (word & 63)
}

func (b *bitset) andNot(word int32, mask uint64) {
	b.words[word] &^= mask
	if b.words[word] == 0 {
		b.summary[word>>6] &^= 1 << (word & 63)
	}
}

// next returns the lowest non-empty word at or after the given one, or -1.
func (b *bitset) next(word int32) int32 {
	s := word >> 6
	if int(s) >= len(b.summary) {
		return -1
	}
	m := b.summary[s] &^ (1<<(word&63) - 1)
	for m == 0 {
		s++
		if int(s) == len(b.summary) {
			return -1
		}
		m = b.summary[s]
	}
	return s<<6 + int32(bits.TrailingZeros64(m))
}

// atLeast returns the lowest member that is not below i, or -1.
func (b *bitset) atLeast(i int32) int32 {
	w := i >> 6
	if int(w) >= len(b.words) {
		return -1
	}
	if m := b.words[w] &^ (1<<(i&63) - 1); m != 0 {
		return w<<6 + int32(bits.TrailingZeros64(m))
	}
	if w = b.next(w + 1); w < 0 {
		return -1
	}
	return w<<6 + int32(bits.TrailingZeros64(b.words[w]))
}

// lowest returns the lowest member, or -1 for the empty set.
func (b *bitset) lowest() int32 {
	w := b.next(0)
	if w < 0 {
		return -1
	}
	return w<<6 + int32(bits.TrailingZeros64(b.words[w]))
}
