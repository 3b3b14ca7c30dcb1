package model

import "math/bits"

// Cut divides the nodes of a site into parts, so that what all nodes of a part
// have in common can be looked up once for each word of a node set, and not for
// each node. It does not change and may be shared.
type Cut struct {
	first  []int32 // pieces[first[w]:first[w+1]] are those of word w
	pieces []Piece
}

// Piece is the nodes of one part in one word.
type Piece struct {
	Part int32
	Mask uint64
}

// NewCut puts each of n nodes into the part that of names. Cost: the nodes, and
// for each that is of another part than the one before the parts in its word.
func NewCut(n int, of func(NodeID) int32) Cut {
	c := Cut{first: make([]int32, 0, (n+63)/64+1)}
	for from := NodeID(0); int(from) < n; from += 64 {
		c.first = append(c.first, int32(len(c.pieces)))
		part, mask := of(from), uint64(0)
		for id := from; id < min(from+64, NodeID(n)); id++ {
			if p := of(id); p != part {
				c.add(part, mask)
				part, mask = p, 0
			}
			mask |= 1 << (id & 63)
		}
		c.add(part, mask)
	}
	c.first = append(c.first, int32(len(c.pieces)))
	return c
}

// add puts nodes of the last word into a part.
func (c *Cut) add(part int32, nodes uint64) {
	for i := len(c.pieces) - 1; i >= int(c.first[len(c.first)-1]); i-- {
		if c.pieces[i].Part == part {
			c.pieces[i].Mask |= nodes
			return
		}
	}
	c.pieces = append(c.pieces, Piece{part, nodes})
}

// Word is the pieces of word w, for reading only: no two of one part.
func (c *Cut) Word(w int32) []Piece { return c.pieces[c.first[w]:c.first[w+1]] }

// NodeClass is what is reckoned with of a node: who may use it, and what it has and
// draws. See Node for the units.
type NodeClass struct {
	Home      VClusterID
	GPUs      int32
	CPUs      int32
	GPUMemory int64
	Memory    int64
	IdlePower int64
	BusyPower int64
}

// NodeClasses cuts the nodes of a site by class. It does not change and may be shared.
type NodeClasses struct {
	Cut             // its parts index Of
	Of  []NodeClass // in the order in which their first nodes come
}

// NewNodeClasses describes the nodes of site, of which home, GPUs, memory and power
// must not change afterwards. Cost: the nodes, and a look-up for each that differs
// from the one before.
func NewNodeClasses(site *Site) *NodeClasses {
	m := &NodeClasses{}
	index := map[NodeClass]int32{}
	last := int32(-1)
	m.Cut = NewCut(len(site.Nodes), func(id NodeID) int32 {
		n := &site.Nodes[id]
		k := NodeClass{n.Home, n.GPUs, n.CPUs, n.GPUMemory, n.Memory, n.IdlePower, n.BusyPower}
		if last >= 0 && k == m.Of[last] {
			return last
		}
		part, ok := index[k]
		if !ok {
			part = int32(len(m.Of))
			index[k] = part
			m.Of = append(m.Of, k)
		}
		last = part
		return part
	})
	return m
}

// Node is the class of node n. Cost: the parts that its word meets.
func (m *NodeClasses) Node(n NodeID) *NodeClass {
	for _, p := range m.Word(int32(n >> 6)) {
		if p.Mask>>(n&63)&1 != 0 {
			return &m.Of[p.Part]
		}
	}
	return nil // as no node of the site is
}

// Draw is Site.Draw at the cost of the words of p, and of its shares.
func (m *NodeClasses) Draw(a *Allocation, p *Placement) int64 { return m.DrawOn(a, p, p.Nodes()) }

// DrawOn is Draw where the number of nodes of p is known, which is mostly all that it takes.
func (m *NodeClasses) DrawOn(a *Allocation, p *Placement, nodes int32) int64 {
	if a.Power > 0 {
		return a.PowerOn(nodes)
	}
	sum := m.busy(p.Words, nodes-int32(len(p.Shares)))
	for _, h := range p.Shares {
		k := m.Node(h.Node)
		sum += h.partOfPower(k.BusyPower, k.GPUs, k.CPUs)
	}
	return sum
}

// Thousandths is what p, of so many nodes, holds of GPUs, in thousandths of one. Cost: the
// words of p, and its shares.
func (m *NodeClasses) Thousandths(p *Placement, nodes int32) int64 {
	sum := int64(0)
	if whole := nodes - int32(len(p.Shares)); len(m.Of) == 1 {
		sum = int64(whole) * int64(m.Of[0].GPUs)
	} else {
		for _, w := range p.Words {
			for _, c := range m.Word(w.Word) {
				sum += int64(bits.OnesCount64(c.Mask&w.Mask)) * int64(m.Of[c.Part].GPUs)
			}
		}
	}
	sum *= WholeGPU
	for i := range p.Shares {
		sum += p.Shares[i].Thousandths()
	}
	return sum
}

// Units is what whole nodes of p, of so many nodes, count for by size: each its GPUs, at least
// one. Cost: the words of p.
func (m *NodeClasses) Units(p *Placement, nodes int32) int32 {
	if len(m.Of) == 1 {
		return nodes * max(m.Of[0].GPUs, 1)
	}
	sum := int32(0)
	for _, w := range p.Words {
		for _, c := range m.Word(w.Word) {
			sum += int32(bits.OnesCount64(c.Mask&w.Mask)) * max(m.Of[c.Part].GPUs, 1)
		}
	}
	return sum
}

// busy is what whole nodes, which are n, draw at work.
func (m *NodeClasses) busy(words []NodeWord, n int32) int64 {
	if len(m.Of) == 1 { // as on most sites
		return int64(n) * m.Of[0].BusyPower
	}
	sum := int64(0)
	for _, w := range words {
		for _, c := range m.Word(w.Word) {
			sum += int64(bits.OnesCount64(c.Mask&w.Mask)) * m.Of[c.Part].BusyPower
		}
	}
	return sum
}
