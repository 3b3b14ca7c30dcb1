package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// wide names so many words of nodes.
func wide(words int) *Placement {
	p := &Placement{}
	for w := range words {
		p.Words = append(p.Words, NodeWord{Word: int32(w), Mask: 5})
	}
	return p
}

// TestPlacementPool: copies name the same and share no memory, what is put back is used again, and a
// large placement that is over leaves nothing behind for small ones to hold.
func TestPlacementPool(t *testing.T) {
	var pool PlacementPool
	for _, words := range []int{0, 1, 2, 3, 4, 5, 1023, 1024, 1025} {
		want := wide(words)
		a, b := pool.Copy(want), pool.Copy(want)
		require.Equal(t, want.Words, a.Words)
		require.Less(t, cap(a.Words), max(1, 2*words))
		if words > 0 {
			a.Words[0].Mask = 1
			require.Equal(t, want.Words, b.Words)
		}
		pool.Put(&a)
		pool.Put(&b)
		require.Zero(t, a)
	}
	share := &Placement{Shares: []NodeShare{{Node: 3, Units: 2}}}
	p := pool.Copy(share)
	require.Equal(t, *share, p)
	pool.Put(&p)
	large, small := wide(1025), wide(3)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		a, b := pool.Copy(large), pool.Copy(small)
		pool.Put(&a)
		pool.Put(&b)
	}))
}

// TestPlacementPoolSet: a placement that grows or shrinks names what it is set to, in its own memory as
// long as there is room.
func TestPlacementPoolSet(t *testing.T) {
	var pool PlacementPool
	var p Placement
	other := pool.Copy(wide(3))
	for _, words := range []int{3, 4, 1, 700, 2, 0, 5} {
		pool.Set(&p, wide(words))
		require.Len(t, p.Words, words)
		require.Equal(t, wide(words).Words, append([]NodeWord(nil), p.Words...))
		require.Equal(t, wide(3).Words, other.Words)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { pool.Set(&p, &other) }))
}

// TestFreeList: rows that were given are taken again, and new ones are zero and each by itself.
func TestFreeList(t *testing.T) {
	var list FreeList[int]
	seen := map[*int]bool{}
	for range 100 {
		row := list.Take()
		require.Zero(t, *row)
		require.False(t, seen[row])
		seen[row] = true
		*row = 7
	}
	row := list.Take()
	*row = 5
	list.Give(row)
	require.Same(t, row, list.Take())
	require.Zero(t, *row)
}
