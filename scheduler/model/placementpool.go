package model

import "math/bits"

// PlacementPool is memory of placements that are over, for those to come. A placement that Copy makes of
// it has room for less than twice what it names; where Set makes it smaller it keeps its room. So what
// many jobs hold grows with what they hold together, and not with the most that each place in a table
// has ever held. Memory of one size serves that size alone. The zero value is empty.
type PlacementPool struct {
	words  slicePool[NodeWord]
	shares slicePool[NodeShare]
}

// Copy is a placement that names what p names, in memory of its own.
func (m *PlacementPool) Copy(p *Placement) Placement {
	return Placement{Words: m.words.copy(p.Words), Shares: m.shares.copy(p.Shares)}
}

// Set makes p, which Copy or Set made or which is zero, name what q names.
func (m *PlacementPool) Set(p, q *Placement) {
	p.Words = m.words.set(p.Words, q.Words)
	p.Shares = m.shares.set(p.Shares, q.Shares)
}

// Put takes the memory of a placement that was made of it and that is not read any more. It names
// nothing then.
func (m *PlacementPool) Put(p *Placement) {
	m.words.put(p.Words)
	m.shares.put(p.Shares)
	*p = Placement{}
}

// slicePool is empty slices, by the logarithm of their capacity, which is a power of two, and memory
// that small ones are cut of.
type slicePool[T any] struct {
	free [32][][]T
	rest []T
}

func (s *slicePool[T]) copy(from []T) []T {
	if len(from) == 0 {
		return nil
	}
	size := bits.Len32(uint32(len(from) - 1))
	last := len(s.free[size]) - 1
	if last < 0 {
		return append(SliceOf(&s.rest, 1<<size), from...)
	}
	to := s.free[size][last]
	s.free[size] = s.free[size][:last]
	return append(to, from...)
}

func (s *slicePool[T]) set(to, from []T) []T {
	if len(from) <= cap(to) {
		return append(to[:0], from...)
	}
	s.put(to)
	return s.copy(from)
}

func (s *slicePool[T]) put(memory []T) {
	if cap(memory) == 0 {
		return
	}
	size := bits.Len32(uint32(cap(memory))) - 1
	s.free[size] = append(s.free[size], memory[:0])
}
