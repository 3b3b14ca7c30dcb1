// Package cluster is the scheduler's view of the nodes: how many units each
// has, how many are free, and which ones a request would get. It knows nodes
// and units only; whose turn it is, and until when, is decided elsewhere.
package cluster

import (
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// View is the free capacity of a cluster. Every method costs time in
// proportion to the nodes it names, not to the size of the cluster, and
// allocates only while a caller's slice still grows.
type View struct {
	whole  bool
	per    int32 // units per node of a whole-node cluster
	most   int32 // units of the largest node
	size   []int32
	free   []int32  // units free per node; unused in a whole-node cluster
	levels []bitset // levels[u]: nodes with exactly u units free; whole-node: levels[1] only
	count  []int32  // members of levels
	avail  int32    // free units, or free nodes of a whole-node cluster
	total  int32
}

// NewView returns the view of an idle cluster; cfg must be valid.
func NewView(cfg model.Cluster) *View {
	n := len(cfg.Units)
	v := &View{whole: cfg.Whole, per: cfg.Units[0], size: cfg.Units}
	if v.whole {
		v.most = 1
		v.total = int32(n)
	} else {
		v.free = append([]int32(nil), cfg.Units...)
		for _, u := range cfg.Units {
			v.most = max(v.most, u)
			v.total += u
		}
	}
	v.levels = make([]bitset, v.most+1)
	v.count = make([]int32, v.most+1)
	for i := range v.levels {
		if !v.whole || i == 1 {
			v.levels[i] = newBitset(n)
		}
	}
	for i, u := range cfg.Units {
		if v.whole {
			u = 1
		}
		v.levels[u].set(int32(i))
		v.count[u]++
	}
	v.avail = v.total
	return v
}

// Free is the capacity free now, in the unit of Need.
func (v *View) Free() int32 { return v.avail }

// Total is the capacity of the idle cluster, in the unit of Need.
func (v *View) Total() int32 { return v.total }

// Whole says whether nodes are handed out whole.
func (v *View) Whole() bool { return v.whole }

// Need is what a request takes out of Free: nodes in a whole-node cluster,
// units otherwise.
func (v *View) Need(r model.Request) int32 {
	if !v.whole {
		return r.Units
	}
	if r.Layout == model.PerNode {
		return r.Nodes
	}
	return int32((int64(r.Units) + int64(v.per) - 1) / int64(v.per))
}

// Units turns a need into units.
func (v *View) Units(need int32) int32 {
	if v.whole {
		return need * v.per
	}
	return need
}

// Possible says whether the idle cluster could hold r.
func (v *View) Possible(r model.Request) bool {
	if r.Units < 1 || v.Need(r) > v.total {
		return false
	}
	if r.Layout == model.Anywhere {
		return true
	}
	if v.whole {
		return r.PerNode <= v.per
	}
	n := int32(0)
	for _, u := range v.size {
		if u >= r.PerNode {
			n++
		}
	}
	return n >= r.Nodes
}

// Fits says whether r could be placed now.
func (v *View) Fits(r model.Request) bool {
	if v.whole {
		return v.Need(r) <= v.avail
	}
	return fits(r, v.count, v.avail)
}

// Take chooses nodes for r, marks them and writes them into p, reusing its
// slices; r must fit. Whole nodes: the lowest free ids. Shared nodes: the
// fewest nodes, then the fullest that still have room, then the lowest id.
func (v *View) Take(r model.Request, p *model.Placement) {
	p.Words, p.Shares = p.Words[:0], p.Shares[:0]
	switch {
	case v.whole:
		v.takeWhole(v.Need(r), p)
	case r.Layout == model.PerNode:
		v.takePerNode(r.Nodes, r.PerNode, p)
	default:
		v.takeUnits(r.Units, p)
		sortShares(p.Shares)
	}
}

func (v *View) takeWhole(n int32, p *model.Placement) {
	v.avail -= n
	free := &v.levels[1]
	for w := free.next(0); n > 0; w = free.next(w + 1) {
		mask := free.words[w]
		if c := int32(bits.OnesCount64(mask)); c > n {
			mask = lowestBits(mask, n)
			n = 0
		} else {
			n -= c
		}
		free.andNot(w, mask)
		p.Words = append(p.Words, model.NodeWord{Word: w, Mask: mask})
	}
}

// lowestBits keeps the n lowest of the more than n bits of m.
func lowestBits(m uint64, n int32) uint64 {
	rest := m
	for ; n > 0; n-- {
		rest &= rest - 1
	}
	return m &^ rest
}

// takeUnits spreads u units over as few nodes as possible: the emptiest nodes
// whole, and the remainder on the node that it fills best.
func (v *View) takeUnits(u int32, p *model.Placement) {
	for u > 0 {
		if n := v.tightest(u); n >= 0 {
			v.takeShare(n, u, p)
			return
		}
		l := v.most
		for v.count[l] == 0 {
			l--
		}
		v.takeShare(v.levels[l].lowest(), l, p)
		u -= l
	}
}

// takePerNode takes u units on each of n nodes: those with the fewest free
// units that still hold u, the lowest ids first. The nodes are chosen before any
// is changed, lest one be chosen twice.
func (v *View) takePerNode(n, u int32, p *model.Placement) {
	for l := u; n > 0; l++ {
		for i := v.levels[l].atLeast(0); i >= 0 && n > 0; i = v.levels[l].atLeast(i + 1) {
			p.Shares = append(p.Shares, model.NodeShare{Node: model.NodeID(i), Units: u})
			n--
		}
	}
	for _, s := range p.Shares {
		v.shift(int32(s.Node), -u)
	}
	sortShares(p.Shares)
}

// tightest is the lowest node among those with the fewest free units that
// still hold u, or -1.
func (v *View) tightest(u int32) int32 {
	for l := u; l <= v.most; l++ {
		if v.count[l] > 0 {
			return v.levels[l].lowest()
		}
	}
	return -1
}

func (v *View) takeShare(n, u int32, p *model.Placement) {
	v.shift(n, -u)
	p.Shares = append(p.Shares, model.NodeShare{Node: model.NodeID(n), Units: u})
}

// shift changes the free units of node n by d.
func (v *View) shift(n, d int32) {
	l := v.free[n]
	v.levels[l].clear(n)
	v.count[l]--
	l += d
	v.levels[l].set(n)
	v.count[l]++
	v.free[n] = l
	v.avail += d
}

// Hold marks the nodes of p, which are free, as Take does that chose them: those that another
// view of the same cluster took.
func (v *View) Hold(p *model.Placement) {
	for _, w := range p.Words {
		v.levels[1].andNot(w.Word, w.Mask)
		v.avail -= int32(bits.OnesCount64(w.Mask))
	}
	for _, s := range p.Shares {
		v.shift(int32(s.Node), -s.Units)
	}
}

// Release gives the nodes of p back.
func (v *View) Release(p *model.Placement) {
	for _, w := range p.Words {
		v.levels[1].or(w.Word, w.Mask)
		v.avail += int32(bits.OnesCount64(w.Mask))
	}
	for _, s := range p.Shares {
		v.shift(int32(s.Node), s.Units)
	}
}

// sortShares orders by node; a node occurs once, so the order is total.
func sortShares(s []model.NodeShare) {
	//detlint:total a node occurs once
	slices.SortFunc(s, func(a, b model.NodeShare) int { return int(a.Node) - int(b.Node) })
}
