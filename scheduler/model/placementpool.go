package model

import "math/bits"

// PlacementPool is memory of placements that are over, for those to come. A placement made of it has
// room for less than twice what it names: so what many jobs hold grows with what they hold together,
// and not with the most that each place in a table has ever held. The zero value is empty.
type PlacementPool struct {
	words  slicePool[NodeWord]
	shares slicePool[NodeShare]
}

// Copy is a placement that names what p names, in memory of its own.
func (m *PlacementPool) Copy(p *Placement) Placement {
	return Placement{Words: m.words.copy(p.Words), Shares: m.shares.copy(p.Shares)}
}

// Put takes the memory of a placement that Copy made and that is not read any more. It names nothing
// then.
func (m *PlacementPool) Put(p *Placement) {
	m.words.put(p.Words)
	m.shares.put(p.Shares)
	*p = Placement{}
}

// slicePool is empty slices, by the logarithm of their capacity, which is a power of two.
type slicePool[T any] [32][][]T

func (s *slicePool[T]) copy(from []T) []T {
	if len(from) == 0 {
		return nil
	}
	size := bits.Len32(uint32(len(from) - 1))
	last := len(s[size]) - 1
	if last < 0 {
		return append(make([]T, 0, 1<<size), from...)
	}
	to := s[size][last]
	s[size] = s[size][:last]
	return append(to, from...)
}

func (s *slicePool[T]) put(memory []T) {
	if cap(memory) == 0 {
		return
	}
	size := bits.Len32(uint32(cap(memory))) - 1
	s[size] = append(s[size], memory[:0])
}
