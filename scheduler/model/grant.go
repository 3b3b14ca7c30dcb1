package model

import "math/bits"

// Lendable is how many of home nodes v lends at a time: floor(home x MaxLent),
// 0 when it does not lend. The product is rounded up by what a fraction that
// people write loses as a Fixed, so that a fifth of ten nodes is two.
func (v *VCluster) Lendable(home int32) int32 {
	if !v.Lend || v.MaxLent <= 0 || home <= 0 {
		return 0
	}
	share := min(v.MaxLent, One)
	return min(home, int32((int64(home)*int64(share)+int64(home))>>FractionBits))
}

// Within counts the nodes of p that are in the set.
func (p *Placement) Within(set NodeSet) int32 {
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

// Meets says whether any node of p is in the set.
func (p *Placement) Meets(set NodeSet) bool {
	for _, w := range p.Words {
		if w.Mask&set[w.Word] != 0 {
			return true
		}
	}
	for i := range p.Shares {
		if set.Has(p.Shares[i].Node) {
			return true
		}
	}
	return false
}

// AddTo adds the nodes of p, in whole or in part, to the set.
func (p *Placement) AddTo(set NodeSet) {
	for _, w := range p.Words {
		set[w.Word] |= w.Mask
	}
	for i := range p.Shares {
		set.Add(p.Shares[i].Node)
	}
}

// Nodes is the number of distinct nodes of p. Cost: its words.
func (p *Placement) Nodes() int32 {
	n := len(p.Shares)
	for _, w := range p.Words {
		n += bits.OnesCount64(w.Mask)
	}
	return int32(n)
}

// Demand is the storage bandwidth in B/s that a is reckoned with on so many
// nodes: it states it for NodesMin.
func (a *Allocation) Demand(nodes int32) int64 { return a.inProportion(a.IODemand, nodes) }

// PowerOn is the power in W that a states for so many nodes, which it does for NodesMin; 0 where it states none.
func (a *Allocation) PowerOn(nodes int32) int64 { return a.inProportion(a.Power, nodes) }

// inProportion is x, which is meant for NodesMin, for n nodes. Tasks that are spread are as many on any number of nodes.
func (a *Allocation) inProportion(x int64, n int32) int64 {
	if n == a.NodesMin || a.NodesMin < 1 || a.Tasks > 0 {
		return x
	}
	return x * int64(n) / int64(a.NodesMin)
}

// Draw is the power in W that a is reckoned with on p: what it states for
// NodesMin in proportion, else the BusyPower of its whole nodes, or the part of
// it that its GPUs are of the node's, on a node without GPUs its CPUs, rounded up. Cost: the nodes of p; NodeClasses
// does the same for the words of p.
func (s *Site) Draw(a *Allocation, p *Placement) int64 {
	if a.Power > 0 {
		return a.PowerOn(p.Nodes())
	}
	sum := int64(0)
	for _, w := range p.Words {
		for n := range w.Nodes {
			sum += s.Nodes[n].BusyPower
		}
	}
	for _, h := range p.Shares {
		node := &s.Nodes[h.Node]
		sum += h.partOfPower(node.BusyPower, node.GPUs, node.CPUs)
	}
	return sum
}

// PartOf is the part that h is of what a node with so many GPUs and CPUs draws: of its
// GPUs, on a node without GPUs of its CPUs. of is at least 1.
func (h *NodeShare) PartOf(gpus, cpus int32) (held, of int64) {
	switch {
	case h.GPUMilli > 0:
		held, of = h.Thousandths(), int64(gpus)*WholeGPU
	case gpus == 0 && h.Units == 0:
		held, of = int64(h.CPUs), int64(cpus)
	default:
		held, of = int64(h.Units), int64(gpus)
	}
	return held, max(of, 1)
}

// partOfPower is the part of power that h is, rounded up.
func (h *NodeShare) partOfPower(power int64, gpus, cpus int32) int64 {
	held, of := h.PartOf(gpus, cpus)
	return (power*held + of - 1) / of
}

// Nodes goes over the nodes that w names, ascending.
func (w NodeWord) Nodes(yield func(NodeID) bool) {
	for m := w.Mask; m != 0; m &= m - 1 {
		if !yield(NodeID(w.Word)<<6 + NodeID(bits.TrailingZeros64(m))) {
			return
		}
	}
}

// EachNode calls see for the nodes of p: those of its words, ascending, and then those of its shares.
func (p *Placement) EachNode(see func(NodeID)) {
	for _, w := range p.Words {
		for n := range w.Nodes {
			see(n)
		}
	}
	for i := range p.Shares {
		see(p.Shares[i].Node)
	}
}
