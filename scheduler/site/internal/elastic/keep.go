package elastic

import (
	"math/bits"

	"orrery/scheduler/model"
)

// Wants is the number of nodes that a service is to have by a demand, 0 where none is told.
func Wants(a *model.Allocation, demand int32) int32 {
	return min(max(demand, a.NodesMin), a.NodesMax)
}

// KeepHome writes into placement the n nodes of p that a service of the vCluster keeps, where it has borrowed
// some, which go first: of the nodes that count alike those that are Ready stay, the lowest ids first.
func KeepHome(nodes []model.Node, v model.VClusterID, ready model.NodeSet, p *model.Placement, n int32, placement *model.Placement) {
	keep := model.NewNodeSet(len(nodes))
	for _, own := range [...]bool{true, false} {
		for _, isReady := range [...]bool{true, false} {
			p.EachNode(func(id model.NodeID) {
				home := nodes[id].Home
				if (home < 0 || home == v) == own && ready.Has(id) == isReady && n > 0 {
					keep.Add(id)
					n--
				}
			})
		}
	}
	Within(p, keep, placement)
}

// KeepShares writes into placement the n shares of p that a service keeps: those of nodes that are Ready
// first, and the lowest ids of these.
func KeepShares(ready model.NodeSet, p *model.Placement, n int32, placement *model.Placement) {
	placement.Words, placement.Shares = placement.Words[:0], placement.Shares[:0]
	for _, isReady := range [...]bool{true, false} {
		for _, h := range p.Shares {
			if ready.Has(h.Node) == isReady && int32(len(placement.Shares)) < n {
				placement.Shares = append(placement.Shares, h)
			}
		}
	}
	model.SortShares(placement.Shares)
}

// KeepLowest writes into placement the n whole nodes of p of the lowest ids.
func KeepLowest(p *model.Placement, n int32, placement *model.Placement) {
	placement.Set(p)
	for over := placement.Nodes() - n; over > 0; over-- {
		w := &placement.Words[len(placement.Words)-1]
		if w.Mask &^= 1 << (bits.Len64(w.Mask) - 1); w.Mask == 0 {
			placement.Words = placement.Words[:len(placement.Words)-1]
		}
	}
}
