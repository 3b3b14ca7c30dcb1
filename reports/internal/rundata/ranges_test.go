package rundata

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNodeTexts(t *testing.T) {
	type piece struct{ lo, hi, units int32 }
	m := NewNodeMap([]int32{1, 1, 1, 4, 4, 2, 2, 2})
	for _, c := range []struct {
		nodes, shares string
		want          []piece
		err           string
	}{
		{"", "", nil, ""},
		{"0-2", "", []piece{{0, 2, 1}}, ""},
		{"1-4,7", "", []piece{{1, 2, 1}, {3, 4, 4}, {7, 7, 2}}, ""},
		{"0-3,5", "1x2,3,1,2", []piece{{0, 1, 1}, {2, 2, 3}, {3, 3, 1}, {5, 5, 2}}, ""},
		{"0-1,3", "2x3", []piece{{0, 1, 2}, {3, 3, 2}}, ""},
		{"0-9", "", nil, "not among the 8 nodes"},
		{"3-1", "", nil, "not like"},
		{"x", "", nil, "not like"},
		{"0-2", "1x2", nil, "more nodes than shares"},
		{"0-1", "0,2", []piece{{0, 0, 0}, {1, 1, 2}}, ""},
		{"0", "-1", nil, "not like"},
	} {
		var got []piece
		err := m.Each(c.nodes, c.shares, func(lo, hi, units int32) error { got = append(got, piece{lo, hi, units}); return nil })
		if c.err != "" {
			require.ErrorContains(t, err, c.err, "%q %q", c.nodes, c.shares)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%q %q", c.nodes, c.shares)
	}
}
