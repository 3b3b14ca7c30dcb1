package model

// FreeList is rows that are out of use, for those to come: what only some jobs need at a time is kept for
// as many as need it. The zero value has none.
type FreeList[T any] []*T

// Take is a row that is zero: one that was given, or else a new one, of which several are made at once.
func (s *FreeList[T]) Take() *T {
	if len(*s) == 0 {
		rows := make([]T, 32)
		for i := range rows {
			*s = append(*s, &rows[i])
		}
	}
	last := len(*s) - 1
	row := (*s)[last]
	*s = (*s)[:last]
	return row
}

// Give takes a row that nothing reads any more.
func (s *FreeList[T]) Give(row *T) {
	var zero T
	*row = zero
	*s = append(*s, row)
}

// SliceOf is an empty slice of the capacity. Where that is small it is cut of rest, which is made anew when
// it is used up: many small slices are few pieces of memory so.
func SliceOf[T any](rest *[]T, size int) []T {
	const piece = 512
	if size > piece/8 {
		return make([]T, 0, size)
	}
	if size > len(*rest) {
		*rest = make([]T, piece)
	}
	cut := (*rest)[:0:size]
	*rest = (*rest)[size:]
	return cut
}
