package place

import (
	"math"
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
	sp.links = make([]links, len(site.Topologies)+1)
	for i := range site.Topologies {
		sp.links[i] = linksOf(&site.Topologies[i])
	}
	most := int32(0)
	for i := range site.Nodes {
		most = max(most, min(site.Nodes[i].GPUs, maxGPUs))
	}
	sp.least = append(sp.least, sp.every)
	for range most {
		sp.least = append(sp.least, model.NewNodeSet(sp.nodes))
	}
	sp.gpus, sp.gpuAt = make([]uint64, sp.nodes), make([]int32, sp.nodes+1)
	for i := range site.Nodes {
		k := min(site.Nodes[i].GPUs, maxGPUs)
		sp.gpus[i], sp.gpuAt[i+1] = 1<<k-1, sp.gpuAt[i]+k
		for g := k; g > 0; g-- {
			sp.least[g].Add(model.NodeID(i))
		}
	}
}

// linksAt is how near the GPUs of node n are.
func (sp *Space) linksAt(n model.NodeID) *links {
	none := len(sp.links) - 1
	if t := sp.site.Nodes[n].Topology; t >= 0 && int(t) < none {
		return &sp.links[t]
	}
	return &sp.links[none]
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

// gather returns the nodes that could give the share of q, valid until the next call, and
// their number. It may stop at enough. Cost: the words of its class of nodes, and for a share
// with amounts its nodes.
func (f *Free) gather(q *Query, enough int32) (room model.NodeSet, n int32) {
	room = f.gathered
	if int(q.GPUs) >= len(f.least) || q.GPUs == 0 && q.GPUMilli > 0 && len(f.least) == 1 {
		clear(room)
		return room, 0
	}
	class := &f.sp.classes[q.Class]
	clear(room[:class.first])
	clear(room[class.behind:])
	least, nodes, amounts := f.least[q.GPUs], class.nodes, q.Amounts != (model.Amounts{})
	for w := class.first; w < class.behind; w++ {
		m := f.unheld[w] & f.up[w] & least[w] & nodes[w]
		if q.Avoid != nil {
			m &^= q.Avoid[w]
		}
		if amounts {
			m = f.withAmounts(w, m, q)
		}
		room[w] = m
		if n += int32(bits.OnesCount64(m)); n >= enough {
			break
		}
	}
	return room, n
}

func (f *Free) fitsParts(q *Query) bool {
	if q.Sensitive {
		room, _ := f.gather(q, math.MaxInt32)
		return f.alike(room, q.Nodes) >= 0
	}
	_, n := f.gather(q, q.Nodes)
	return n >= q.Nodes
}

// alike is the conformance group with the fewest nodes in room of those with n
// or more, the first of several; -1 when there is none.
func (f *Free) alike(room model.NodeSet, n int32) int32 {
	l := &f.sp.layout
	clear(f.perRow)
	for w, m := range room {
		for ; m != 0; m &= m - 1 {
			f.perRow[l.cells[l.own[w<<6+bits.TrailingZeros64(m)]].row]++
		}
	}
	best := int32(-1)
	for r, k := range f.perRow[:l.known()] {
		if k >= n && (best < 0 || k < f.perRow[best]) {
			best = int32(r)
		}
	}
	return best
}

// selectParts chooses the nodes with the fewest free GPUs that hold the request,
// the lowest first; for thousandths of a GPU those where they fit best, and with a mix
// those whose fragmentation grows least.
func (f *Free) selectParts(q *Query, p *model.Placement) bool {
	room, n := f.gather(q, math.MaxInt32)
	if n < q.Nodes {
		return false
	}
	if q.Sensitive {
		r := f.alike(room, q.Nodes)
		if r < 0 {
			return false
		}
		for w, m := range room {
			if m != 0 {
				room[w] = m & f.sp.layout.within(int32(w), r)
			}
		}
	}
	if q.GPUMilli > 0 || q.Mix != nil {
		f.selectRanked(room, q, p)
		model.SortShares(p.Shares)
		return true
	}
	n = q.Nodes
	for g := int(q.GPUs) + 1; n > 0; g++ {
		var more model.NodeSet
		if g < len(f.least) {
			more = f.least[g]
		}
		for w := 0; w < len(room) && n > 0; w++ {
			m := room[w]
			if more != nil {
				room[w] &= more[w]
				m &^= more[w]
			}
			if m != 0 {
				n -= f.addShares(p, w, m, q, n)
			}
		}
	}
	model.SortShares(p.Shares)
	return true
}

// addShares adds the share of q on each of the lowest nodes of m, n at most, and says
// on how many.
func (f *Free) addShares(p *model.Placement, w int, m uint64, q *Query, n int32) int32 {
	k := int32(0)
	for ; m != 0 && k < n; m &= m - 1 {
		p.Shares = append(p.Shares, f.share(model.NodeID(w<<6+bits.TrailingZeros64(m)), q))
		k++
	}
	return k
}
