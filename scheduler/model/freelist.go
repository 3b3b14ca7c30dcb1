package model

// FreeList is rows that are out of use, for those to come: what only some jobs need at a time is kept for
// as many as need it. The zero value has none.
type FreeList[T any] []*T

// Take is a row that was given, as it was then, or else a new one, of which several are made at once.
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
func (s *FreeList[T]) Give(row *T) { *s = append(*s, row) }
