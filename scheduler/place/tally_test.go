package place

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
)

// TestLowestBits: as many of the lowest as asked for, taken one by one.
func TestLowestBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.Uint64().Draw(t, "m") & rapid.Uint64().Draw(t, "mask")
		n := rapid.IntRange(0, bits.OnesCount64(m)).Draw(t, "n")
		want := uint64(0)
		for left := m; bits.OnesCount64(want) < n; left &= left - 1 {
			want |= left & -left
		}
		require.Equal(t, want, lowestBits(m, int32(n)))
	})
	require.Equal(t, ^uint64(0), lowestBits(^uint64(0), 64))
}

// TestTally: whatever changes and whichever rows are asked for meanwhile, cells,
// rows and histograms are those of the counted nodes.
func TestTally(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		groups, prints := rapid.Int32Range(1, 5).Draw(t, "groups"), rapid.Int32Range(0, 3).Draw(t, "fingerprints")
		site := &model.Site{Fingerprints: prints, Groups: make([]model.Group, groups)}
		site.Nodes = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) model.Node {
			return model.Node{Group: rapid.Int32Range(0, groups-1).Draw(t, "group"), Fingerprint: rapid.Int32Range(-1, prints-1).Draw(t, "fingerprint"), Topology: -1}
		}), 1, 200).Draw(t, "nodes")
		l := newLayout(site)
		every := model.NewNodeSet(len(site.Nodes))
		for n := range site.Nodes {
			every.Add(model.NodeID(n))
		}
		y := newTally(&l, every)
		t.Repeat(map[string]func(*rapid.T){
			"change": func(t *rapid.T) {
				w := rapid.IntRange(0, len(every)-1).Draw(t, "word")
				y.set(&l, int32(w), rapid.Uint64().Draw(t, "nodes")&every[w])
			},
			"flip": func(t *rapid.T) {
				n := model.NodeID(rapid.IntRange(0, len(site.Nodes)-1).Draw(t, "node"))
				y.set(&l, int32(n>>6), y.free[n>>6]^1<<(n&63))
			},
			"count": func(t *rapid.T) {
				r := rapid.IntRange(0, len(l.rows)-1).Draw(t, "row")
				row := &l.rows[r]
				want, sum := make([]int32, row.most+1), int32(0)
				for c := row.first; c < row.end; c++ {
					require.Equal(t, cellOf(site, &l, y.free, c), y.cells[c])
					want[y.cells[c]]++
					sum += y.cells[c]
				}
				require.Equal(t, sum, y.rows[r])
				hist, marks := y.count(row)
				require.Equal(t, want, hist)
				for v, h := range hist {
					require.Equal(t, h > 0, marks[v>>6]>>(v&63)&1 != 0)
				}
			},
		})
	})
}

// cellOf counts the nodes of free in a cell by looking at each node of the site.
func cellOf(site *model.Site, l *layout, free model.NodeSet, c int32) int32 {
	sum := int32(0)
	for n := range site.Nodes {
		node := &site.Nodes[n]
		row := int(node.Fingerprint)
		if row < 0 {
			row = l.unknown()
		}
		if r := int(l.cells[c].row); node.Group == l.cells[c].group && (r == row || r == l.all()) && free.Has(model.NodeID(n)) {
			sum++
		}
	}
	return sum
}
