package model

// refBlock is a number of rows of a RefTable that stand together.
const refBlock = 256

// RefTable is a row for each Ref that was ever in use. Rows stay where they are: the table grows by
// blocks, and what it holds is never moved or there twice. The zero RefTable is empty.
type RefTable[T any] struct {
	blocks []*[refBlock]T
	n      int
}

// Len is the number of rows; that of each Ref below it is there.
func (t *RefTable[T]) Len() int { return t.n }

// At is the row of a Ref below Len.
func (t *RefTable[T]) At(ref Ref) *T { return &t.blocks[uint32(ref)/refBlock][uint32(ref)%refBlock] }

// Reach makes rows for all Refs up to ref, where there are none. They are zero.
func (t *RefTable[T]) Reach(ref Ref) {
	for t.n = max(t.n, int(ref)+1); len(t.blocks)*refBlock < t.n; {
		t.blocks = append(t.blocks, new([refBlock]T))
	}
}
