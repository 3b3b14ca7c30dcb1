package model

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLendable(t *testing.T) {
	for _, c := range []struct {
		share float64
		home  int32
		want  int32
	}{
		{0.2, 200, 40}, {0.2, 10, 2}, {0.2, 5, 1}, {0.2, 4, 0}, {0.2, 9, 1},
		{1, 7, 7}, {3, 7, 7}, {0, 7, 0}, {0.5, 0, 0}, {1. / 3, 3_000_000, 1_000_000}, {1, 1<<31 - 1, 1<<31 - 1},
	} {
		v := VCluster{Lend: true, MaxLent: FixedOf(c.share)}
		require.Equal(t, c.want, v.Lendable(c.home), "%g of %d", c.share, c.home)
		v.Lend = false
		require.Zero(t, v.Lendable(c.home))
	}
}

func TestDraw(t *testing.T) {
	s := Site{Nodes: make([]Node, 70)}
	for i := range s.Nodes {
		s.Nodes[i] = Node{GPUs: 4, BusyPower: 1000 + int64(i)}
	}
	two := Placement{Words: []NodeWord{{Word: 0, Mask: 1}, {Word: 1, Mask: 1 << 5}}}
	part := Placement{Shares: []NodeShare{{Node: 1, Units: 3}, {Node: 3, Units: 4}}}
	require.EqualValues(t, 1000+1069, s.Draw(&Allocation{}, &two))
	require.EqualValues(t, 751+1003, s.Draw(&Allocation{}, &part), "three quarters of 1001 W, rounded up")
	require.EqualValues(t, 2, two.Nodes())
	require.EqualValues(t, 2, part.Nodes())
	require.EqualValues(t, 5, s.Draw(&Allocation{Power: 5, NodesMin: 2}, &two), "as stated")
	require.EqualValues(t, 10, s.Draw(&Allocation{Power: 5, NodesMin: 1}, &two), "in proportion")
	require.EqualValues(t, 6, (&Allocation{IODemand: 8, NodesMin: 4}).Demand(3))
}

func TestNodesOfAWord(t *testing.T) {
	require.Equal(t, []NodeID{64, 67, 127}, slices.Collect(NodeWord{Word: 1, Mask: 1 | 8 | 1<<63}.Nodes))
	require.Empty(t, slices.Collect(NodeWord{Word: 1}.Nodes))
}
