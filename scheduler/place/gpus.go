package place

import (
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// links says how near the GPUs of a node are.
type links struct {
	islands []uint64 // GPUs joined at the highest bandwidth of the node
	domains []uint64 // GPUs of one NUMA domain
}

// describeGPUs fills what a Space knows of GPUs.
func (sp *Space) describeGPUs(site *model.Site) {
	kinds := make([]links, len(site.Topologies))
	for i := range site.Topologies {
		kinds[i] = linksOf(&site.Topologies[i])
	}
	most := int32(0)
	for i := range site.Nodes {
		most = max(most, min(site.Nodes[i].GPUs, maxGPUs))
	}
	for range most + 1 {
		sp.least = append(sp.least, model.NewNodeSet(sp.nodes))
	}
	sp.gpus = make([]uint64, sp.nodes)
	sp.links = make([]links, sp.nodes)
	for i := range site.Nodes {
		n := &site.Nodes[i]
		k := min(n.GPUs, maxGPUs)
		sp.gpus[i] = 1<<k - 1
		if n.Topology >= 0 && int(n.Topology) < len(kinds) {
			sp.links[i] = kinds[n.Topology]
		}
		for g := range k + 1 {
			sp.least[g].Add(model.NodeID(i))
		}
	}
}

// linksOf reads the islands and NUMA domains of a topology; both are ascending
// by their lowest GPU.
func linksOf(t *model.GPUTopology) links {
	var out links
	n := min(len(t.Bandwidth), maxGPUs)
	best := int64(0)
	for i := range n {
		for j := range n {
			if i != j {
				best = max(best, t.Bandwidth[i][j])
			}
		}
	}
	seen := uint64(0)
	for i := range n {
		if seen>>i&1 == 0 {
			island := reach(t.Bandwidth[:n], i, best)
			seen |= island
			out.islands = append(out.islands, island)
		}
	}
	for i := range min(len(t.NUMA), maxGPUs) {
		if slices.Index(t.NUMA, t.NUMA[i]) != i {
			continue
		}
		domain := uint64(0)
		for j, d := range t.NUMA[:min(len(t.NUMA), maxGPUs)] {
			if d == t.NUMA[i] {
				domain |= 1 << j
			}
		}
		out.domains = append(out.domains, domain)
	}
	return out
}

// reach is the GPUs that links of the given bandwidth join to GPU i.
func reach(bandwidth [][]int64, i int, best int64) uint64 {
	island := uint64(1) << i
	for fresh := island; fresh != 0; {
		from := bits.TrailingZeros64(fresh)
		fresh &= fresh - 1
		for to := range bandwidth {
			joined := bandwidth[from][to] == best || bandwidth[to][from] == best
			if from != to && joined && island>>to&1 == 0 {
				island |= 1 << to
				fresh |= 1 << to
			}
		}
	}
	return island
}

// pick chooses n of the at least n free GPUs of a node: of the island that they
// fit best, there of the NUMA domain that they fit best, and there the lowest.
func (l *links) pick(free uint64, n int32) uint64 {
	free = tightest(l.islands, free, n)
	free = tightest(l.domains, free, n)
	return lowestBits(free, n)
}

// tightest is the part of free in the set that has the fewest free of those that
// have n, the first of several; free itself when none has.
func tightest(sets []uint64, free uint64, n int32) uint64 {
	best, size := free, maxGPUs+1
	for _, s := range sets {
		if k := bits.OnesCount64(s & free); k >= int(n) && k < size {
			best, size = s&free, k
		}
	}
	return best
}

// usable is the nodes of word w that q may use and that have at least gpus free
// GPUs.
func (f *Free) usable(q *Query, w int, gpus int32) uint64 {
	if int(gpus) >= len(f.least) {
		return 0
	}
	m := f.unheld[w] & f.up[w] & f.least[gpus][w] & f.sp.classes[q.Class].nodes[w]
	if q.Avoid != nil {
		m &^= q.Avoid[w]
	}
	return m
}

// countParts is the number of nodes that could give the GPUs of q, or enough.
func (f *Free) countParts(q *Query, enough int32) int32 {
	n := 0
	for w := 0; w < len(f.idle) && n < int(enough); w++ {
		n += bits.OnesCount64(f.usable(q, w, q.GPUs))
	}
	return int32(n)
}

func (f *Free) fitsParts(q *Query) bool {
	if q.Sensitive {
		return f.alike(q) >= 0
	}
	return f.countParts(q, q.Nodes) >= q.Nodes
}

// alike is the conformance group for a sensitive q: that with the fewest nodes
// that could give its GPUs, of those with enough, the first of several; -1 when
// there is none.
func (f *Free) alike(q *Query) int32 {
	l := &f.sp.layout
	clear(f.perRow)
	for w := range f.idle {
		for m := f.usable(q, w, q.GPUs); m != 0; m &= m - 1 {
			f.perRow[l.cells[l.of[w<<6+bits.TrailingZeros64(m)][0]].row]++
		}
	}
	best := int32(-1)
	for r, k := range f.perRow[:l.known()] {
		if k >= q.Nodes && (best < 0 || k < f.perRow[best]) {
			best = int32(r)
		}
	}
	return best
}

// selectParts chooses the nodes with the fewest free GPUs that hold the request,
// the lowest first.
func (f *Free) selectParts(q *Query, p *model.Placement) bool {
	only := int32(-1)
	if q.Sensitive {
		if only = f.alike(q); only < 0 {
			return false
		}
	} else if f.countParts(q, q.Nodes) < q.Nodes {
		return false
	}
	n := q.Nodes
	for g := q.GPUs; n > 0; g++ {
		for w := 0; w < len(f.idle) && n > 0; w++ {
			m := f.usable(q, w, g) &^ f.usable(q, w, g+1)
			if only >= 0 && m != 0 {
				m &= f.sp.layout.within(int32(w), only)
			}
			n -= f.addShares(p, w, m, q.GPUs, n)
		}
	}
	sortShares(p.Shares)
	return true
}

// addShares adds gpus GPUs on each of the lowest nodes of m, n at most, and says
// on how many.
func (f *Free) addShares(p *model.Placement, w int, m uint64, gpus, n int32) int32 {
	k := int32(0)
	for ; m != 0 && k < n; m &= m - 1 {
		node := model.NodeID(w<<6 + bits.TrailingZeros64(m))
		chosen := f.sp.links[node].pick(f.sp.gpus[node]&^f.taken[node], gpus)
		p.Shares = append(p.Shares, model.NodeShare{Node: node, Units: gpus, GPUs: chosen})
		k++
	}
	return k
}

// sortShares orders by node.
func sortShares(s []model.NodeShare) {
	//detlint:total a node occurs once
	slices.SortFunc(s, func(a, b model.NodeShare) int { return int(a.Node - b.Node) })
}
