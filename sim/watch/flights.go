package watch

import (
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// flight is a proposal that has no answer yet.
type flight struct {
	seq       uint64
	kind      model.ProposalKind
	job       *job
	victim    *job
	borrowed  bool
	made      model.Time
	placement model.Placement
	more      taking // Resize: what it takes beside what it has
}

// flights is the proposals that wait for an answer.
type flights struct {
	*base
	ledger   *ledger
	underWay map[uint64]*flight
}

// flight takes the proposal that f answers off the ledger, nil when there is none.
func (fl *flights) flight(f *model.Fact) *flight {
	x := fl.underWay[f.Seq]
	if f.Seq == 0 || x == nil {
		return nil
	}
	delete(fl.underWay, f.Seq)
	if x.job.flying == x {
		x.job.flying = nil
		fl.ledger.reserve(x, -1)
	}
	fl.lands(x)
	return x
}

// lands takes a proposal to resize off the ledger.
func (fl *flights) lands(x *flight) {
	if x.job.resize == x {
		x.job.resize = nil
		fl.ledger.reserveMore(x, -1)
	}
}

func copied(p *model.Placement) model.Placement {
	return model.Placement{Words: slices.Clone(p.Words), Shares: slices.Clone(p.Shares)}
}

// each goes over the nodes of p, with the share taken of one, nil for a whole node.
func each(p *model.Placement) func(yield func(model.NodeID, *model.NodeShare) bool) {
	return func(yield func(model.NodeID, *model.NodeShare) bool) {
		for _, w := range p.Words {
			for n := range w.Nodes {
				if !yield(n, nil) {
					return
				}
			}
		}
		for i := range p.Shares {
			if !yield(p.Shares[i].Node, &p.Shares[i]) {
				return
			}
		}
	}
}

func holds(p *model.Placement, n model.NodeID) bool {
	for m := range each(p) {
		if m == n {
			return true
		}
	}
	return false
}

// has says whether p names n with this share, nil for the whole of it.
func has(p *model.Placement, n model.NodeID, share *model.NodeShare) bool {
	for m, h := range each(p) {
		if m == n {
			return h == nil && share == nil || h != nil && share != nil && *h == *share
		}
	}
	return false
}

func same(a, b *model.Placement) bool {
	return slices.Equal(a.Words, b.Words) && slices.Equal(a.Shares, b.Shares)
}

// within counts the nodes of p that are in set.
func within(p *model.Placement, set model.NodeSet) int32 {
	n := 0
	for _, w := range p.Words {
		n += bits.OnesCount64(w.Mask & set[w.Word])
	}
	for _, h := range p.Shares {
		if set.Has(h.Node) {
			n++
		}
	}
	return int32(n)
}
