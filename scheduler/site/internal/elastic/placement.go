package elastic

import (
	"cmp"
	"slices"

	"orrery/scheduler/model"
)

// Union writes into placement what a and b name, which have no node in common.
func Union(a, b, placement *model.Placement) {
	placement.Set(a)
	for _, w := range b.Words {
		at, found := slices.BinarySearchFunc(placement.Words, w.Word, func(v model.NodeWord, word int32) int { return cmp.Compare(v.Word, word) })
		if found {
			placement.Words[at].Mask |= w.Mask
		} else {
			placement.Words = slices.Insert(placement.Words, at, w)
		}
	}
	placement.Shares = append(placement.Shares, b.Shares...)
	model.SortShares(placement.Shares)
}

// Less writes into placement what a names and b does not.
func Less(a, b, placement *model.Placement) {
	placement.Words, placement.Shares = placement.Words[:0], placement.Shares[:0]
	for _, w := range a.Words {
		for _, v := range b.Words {
			if v.Word == w.Word {
				w.Mask &^= v.Mask
			}
		}
		if w.Mask != 0 {
			placement.Words = append(placement.Words, w)
		}
	}
	for _, h := range a.Shares {
		if !slices.ContainsFunc(b.Shares, func(x model.NodeShare) bool { return x.Node == h.Node }) {
			placement.Shares = append(placement.Shares, h)
		}
	}
}

// Within writes into placement the part of p on the nodes of set.
func Within(p *model.Placement, set model.NodeSet, placement *model.Placement) {
	placement.Words, placement.Shares = placement.Words[:0], placement.Shares[:0]
	for _, w := range p.Words {
		if w.Mask &= set[w.Word]; w.Mask != 0 {
			placement.Words = append(placement.Words, w)
		}
	}
	for _, h := range p.Shares {
		if set.Has(h.Node) {
			placement.Shares = append(placement.Shares, h)
		}
	}
}
