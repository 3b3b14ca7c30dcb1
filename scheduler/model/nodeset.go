package model

import "math/bits"

// NodeSet is a set of nodes as a bitset: node n is bit n%64 of word n/64. All
// sets over one cluster have the same length.
type NodeSet []uint64

// NewNodeSet is the empty set over n nodes.
func NewNodeSet(n int) NodeSet { return make(NodeSet, (n+63)/64) }

// Add puts node n into s.
func (s NodeSet) Add(n NodeID) { s[n>>6] |= 1 << (n & 63) }

// Remove takes node n out of s.
func (s NodeSet) Remove(n NodeID) { s[n>>6] &^= 1 << (n & 63) }

// Has says whether n is in s.
func (s NodeSet) Has(n NodeID) bool { return s[n>>6]>>(n&63)&1 != 0 }

// Len is the number of nodes in s. Cost: the words of s.
func (s NodeSet) Len() int32 {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return int32(n)
}

// Or adds all of o to s.
func (s NodeSet) Or(o NodeSet) {
	for i, w := range o {
		s[i] |= w
	}
}

// And keeps what is in o as well.
func (s NodeSet) And(o NodeSet) {
	for i, w := range o {
		s[i] &= w
	}
}

// AndNot takes all of o out of s.
func (s NodeSet) AndNot(o NodeSet) {
	for i, w := range o {
		s[i] &^= w
	}
}

// Next is the lowest node of s at or above n, -1 when there is none.
func (s NodeSet) Next(n NodeID) NodeID {
	w := int(n >> 6)
	if w >= len(s) {
		return -1
	}
	if m := s[w] >> (n & 63); m != 0 {
		return n + NodeID(bits.TrailingZeros64(m))
	}
	for w++; w < len(s); w++ {
		if s[w] != 0 {
			return NodeID(w<<6 + bits.TrailingZeros64(s[w]))
		}
	}
	return -1
}
