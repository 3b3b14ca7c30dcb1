package hostlist

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func ranged(pairs ...int) func(func(int, int) bool) {
	return func(yield func(int, int) bool) {
		for i := 0; i+1 < len(pairs); i += 2 {
			if !yield(pairs[i], pairs[i+1]) {
				return
			}
		}
	}
}

func TestListWritesSetsByName(t *testing.T) {
	for _, row := range []struct {
		names, want string
		places      []int
	}{
		{"n[1-8]", "n[7-8]", []int{6, 7}},
		{"n[1-8]", "n3", []int{2, 2}},
		{"n[1-8]", "n[1,3,7-8]", []int{0, 0, 2, 2, 6, 7}},
		{"n[08-11]", "n[08-11]", []int{0, 3}},
		{"n[1-2],gpu[1-2],login", "n2,gpu[1-2],login", []int{1, 4}},
		{"r1n[1-2]x,r2n[1-2]x", "r1n2x,r2n[1-2]x", []int{1, 3}},
		{"n3,n1,n2", "n[3,1-2]", []int{0, 2}},
		{"n[1-2]", "n2,2,3", []int{1, 3}},
		{"n[1-2]", "", nil},
	} {
		l, err := ReadList(row.names, 100)
		require.NoError(t, err)
		require.Equal(t, row.want, string(l.Append(nil, ranged(row.places...))), row.names)
	}
	_, err := ReadList("n[1-8]", 7)
	require.ErrorIs(t, err, ErrMany)
	_, err = ReadList("n1,n2,n3", 2)
	require.ErrorIs(t, err, ErrMany)
}

// Whatever the names, what is written of them reads back as them.
func TestListReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.Custom(func(t *rapid.T) string {
			n := rapid.IntRange(0, 30).Draw(t, "n")
			form := rapid.SampledFrom([]string{"n%d", "n%02d", "r1n%d", "m%dx", "r%dn3", "%d", "login-%dth"}).Draw(t, "form")
			return fmt.Sprintf(form, n)
		})
		names := rapid.SliceOfN(name, 1, 30).Draw(t, "names")
		l := NewList(names)
		again, err := ReadList(string(l.All(nil)), len(names))
		require.NoError(t, err)
		require.Equal(t, names, again.names)
		lo := rapid.IntRange(0, len(names)-1).Draw(t, "lo")
		hi := rapid.IntRange(lo, len(names)-1).Draw(t, "hi")
		part, err := ReadList(string(l.Append(nil, ranged(lo, hi))), len(names))
		require.NoError(t, err)
		require.True(t, slices.Equal(names[lo:hi+1], part.names))
	})
}
