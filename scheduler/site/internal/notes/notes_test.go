package notes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

func setOf(nodes ...model.NodeID) model.NodeSet {
	s := model.NewNodeSet(8)
	for _, n := range nodes {
		s.Add(n)
	}
	return s
}

func TestKeeper(t *testing.T) {
	kept := []Kept{
		{setOf(1), 7, model.AbsentTime}, {setOf(2), 5, model.AbsentTime}, {setOf(3), 9, model.AbsentTime}, {setOf(4), -1, 40}, {setOf(2, 4), -1, 30},
	}
	for _, c := range []struct {
		idle, mask model.NodeSet
		behind     model.JobID
		until      model.Time
	}{
		{setOf(2, 3, 4), setOf(2, 3, 4), 5, 40},
		{setOf(2, 3), setOf(2, 3), 5, 30},
		{setOf(2, 3), setOf(3), 9, model.AbsentTime},
		{setOf(1), setOf(2), -1, model.AbsentTime},
	} {
		behind, until := Keeper(kept, c.idle, c.mask)
		require.Equal(t, c.behind, behind)
		require.Equal(t, c.until, until)
	}
}

func TestMostIsOfOneKeeper(t *testing.T) {
	kept := []Kept{{setOf(1), 7, model.AbsentTime}, {setOf(2, 3), 5, model.AbsentTime}, {setOf(3, 4), -1, 40}}
	require.Equal(t, Kept{setOf(2, 3), 5, model.AbsentTime}, most(kept, setOf(1, 2, 3, 4)), "the first of several")
	require.Equal(t, Kept{setOf(4), -1, 40}, most(kept, setOf(4)))
	require.Nil(t, most(kept, setOf(6)).Nodes)
}

func TestDensest(t *testing.T) {
	site := &model.Site{Nodes: make([]model.Node, 8)}
	for i, g := range []int32{0, 0, 1, 1, 1, -1, -1, -1} {
		site.Nodes[i].Group = g
	}
	group := func(n *model.Node) int32 { return n.Group }
	require.Equal(t, setOf(2, 3, 4), densest(site, setOf(0, 1, 2, 3, 4, 5, 6, 7), 2, group))
	require.Equal(t, setOf(0, 1), densest(site, setOf(0, 1, 3, 4), 2, group), "the first of several")
	require.Equal(t, setOf(5), densest(site, setOf(5, 6), 2, group), "each without group is one of its own")
	require.Equal(t, setOf(), densest(site, setOf(), 2, group))
}
