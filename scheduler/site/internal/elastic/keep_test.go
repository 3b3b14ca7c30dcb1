package elastic

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// What is demanded counts between the least and the most nodes of the service.
func TestWants(t *testing.T) {
	for demand, want := range map[int32]int32{0: 2, 1: 2, 2: 2, 3: 3, 5: 5, 6: 5} {
		require.Equal(t, want, Wants(&model.Allocation{NodesMin: 2, NodesMax: 5}, demand), "demand %d", demand)
	}
}

// A service of vCluster 0 with nodes 1 to 6 or shares of them, of which 1 and 4 are borrowed, 3 has no home and
// 2 and 4 are not Ready, keeps so many.
func TestKeepHome(t *testing.T) {
	nodes := []model.Node{{Home: 0}, {Home: 1}, {Home: 0}, {Home: -1}, {Home: 1}, {Home: 0}, {Home: 0}}
	ready := set(0, 1, 3, 5, 6)
	for _, c := range []struct {
		name string
		n    int32
		want []model.NodeID
	}{
		{"the lowest ids of the own that are Ready", 2, []model.NodeID{3, 5}},
		{"all own that are Ready", 3, []model.NodeID{3, 5, 6}},
		{"own that are not Ready before borrowed", 4, []model.NodeID{2, 3, 5, 6}},
		{"borrowed that are Ready before others", 5, []model.NodeID{1, 2, 3, 5, 6}},
		{"all", 6, []model.NodeID{1, 2, 3, 4, 5, 6}},
		{"none", 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := used()
			KeepHome(nodes, 0, ready, whole(1, 2, 3, 4, 5, 6), c.n, got)
			requireSame(t, whole(c.want...), got)
			KeepHome(nodes, 0, ready, shares(1, 2, 3, 4, 5, 6), c.n, got)
			requireSame(t, shares(c.want...), got)
		})
	}
}

// A service with shares of nodes 1 to 4, of which 1 and 3 are not Ready, keeps so many.
func TestKeepShares(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int32
		want []model.NodeID
	}{
		{"the lowest id that is Ready", 1, []model.NodeID{2}},
		{"those that are Ready", 2, []model.NodeID{2, 4}},
		{"the lowest id that is not, in the order of nodes", 3, []model.NodeID{1, 2, 4}},
		{"all", 4, []model.NodeID{1, 2, 3, 4}},
		{"none", 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := used()
			KeepShares(set(0, 2, 4), shares(1, 2, 3, 4), c.n, got)
			requireSame(t, shares(c.want...), got)
		})
	}
}

func TestKeepLowest(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int32
		want []model.NodeID
	}{
		{"part of a word", 4, []model.NodeID{0, 63, 70, 71}},
		{"a word is left out that has no node left", 2, []model.NodeID{0, 63}},
		{"part of the first word", 1, []model.NodeID{0}},
		{"all", 5, []model.NodeID{0, 63, 70, 71, 130}},
		{"no more than it has", 6, []model.NodeID{0, 63, 70, 71, 130}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, got := whole(0, 63, 70, 71, 130), used()
			KeepLowest(p, c.n, got)
			requireSame(t, whole(c.want...), got)
			requireSame(t, whole(0, 63, 70, 71, 130), p)
		})
	}
}
