package place

import (
	"cmp"
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// amounts is what shares that name amounts hold of each node. Unlike the marks of Free
// these are sums, in which whatever is taken twice counts twice.
type amounts struct {
	nodes []held
	split []uint64 // GPUs of each node of which thousandths are held
	milli []int16  // thousandths held of each GPU of the site, see Space.gpuAt
}

// held is what shares that name amounts hold of a node.
type held struct {
	jobs, cpus int32
	memory     int64
}

// addAmounts counts what s names so many times: 1, -1 to take it off, or 0. The first
// share that names amounts allocates.
func (f *Free) addAmounts(s *model.NodeShare, times int32) {
	if times == 0 || s.Amounts == (model.Amounts{}) {
		return
	}
	if f.held == nil {
		f.held = f.sp.newAmounts()
	}
	h := &f.held.nodes[s.Node]
	h.jobs += times
	h.cpus += times * s.CPUs
	h.memory += int64(times) * s.Memory
	if s.GPUMilli > 0 {
		g := bits.TrailingZeros64(s.GPUs)
		m := &f.held.milli[f.sp.gpuAt[s.Node]+int32(g)]
		*m += int16(times * s.GPUMilli)
		if f.held.split[s.Node] |= 1 << g; *m == 0 {
			f.held.split[s.Node] &^= 1 << g
		}
	}
}

func (sp *Space) newAmounts() *amounts {
	return &amounts{make([]held, sp.nodes), make([]uint64, sp.nodes), make([]int16, sp.gpuAt[sp.nodes])}
}

// copyAmounts makes those of f equal to those of o.
func (f *Free) copyAmounts(o *Free) {
	switch {
	case o.held == nil && f.held == nil:
		return
	case f.held == nil:
		f.held = f.sp.newAmounts()
	case o.held == nil:
		clear(f.held.nodes)
		clear(f.held.split)
		clear(f.held.milli)
		return
	}
	copy(f.held.nodes, o.held.nodes)
	copy(f.held.split, o.held.split)
	copy(f.held.milli, o.held.milli)
}

// open is the GPUs of node n of which no job holds anything.
func (f *Free) open(n model.NodeID) uint64 {
	free := f.sp.gpus[n] &^ f.taken[n]
	if f.held != nil {
		free &^= f.held.split[n]
	}
	return free
}

// whole says which GPUs of s are held whole.
func whole(s *model.NodeShare) uint64 {
	if s.GPUMilli > 0 {
		return 0
	}
	return s.GPUs
}

// hasAmounts says whether node n has room for what q asks for beside whole GPUs.
func (f *Free) hasAmounts(n model.NodeID, q *Query) bool {
	node := &f.sp.site.Nodes[n]
	cpus, memory := node.CPUs, node.Memory
	if f.held != nil {
		h := &f.held.nodes[n]
		cpus, memory = cpus-h.cpus, memory-h.memory
	}
	if cpus < q.CPUs || memory < q.Memory {
		return false
	}
	if q.GPUMilli == 0 {
		return true
	}
	_, left := f.bestCard(n, q.GPUMilli)
	return left >= 0
}

// bestCard is the GPU of node n with the fewest free thousandths of those that have as
// many, the lowest of several, and how many it has; -1 for none.
func (f *Free) bestCard(n model.NodeID, milli int32) (gpu int, left int32) {
	gpu, left = -1, -1
	if f.held != nil {
		for m := f.held.split[n] &^ f.taken[n]; m != 0; m &= m - 1 {
			g := bits.TrailingZeros64(m)
			free := f.freeMilli(n, g)
			if free >= milli && (gpu < 0 || free < left) {
				gpu, left = g, free
			}
		}
	}
	if m := f.open(n); gpu < 0 && m != 0 {
		return bits.TrailingZeros64(m), model.WholeGPU
	}
	return gpu, left
}

// withAmounts keeps the nodes of word w in m that have room for the amounts of q.
func (f *Free) withAmounts(w int, m uint64, q *Query) uint64 {
	if q.Amounts == (model.Amounts{}) {
		return m
	}
	for rest := m; rest != 0; rest &= rest - 1 {
		if b := bits.TrailingZeros64(rest); !f.hasAmounts(model.NodeID(w<<6+b), q) {
			m &^= 1 << b
		}
	}
	return m
}

// nodeRank orders the nodes for a share with thousandths of a GPU, and for all shares
// where there is a mix.
type nodeRank struct {
	loss int64 // of usable GPUs, 0 without a mix
	node model.NodeID
	left int32 // thousandths of the GPU that the share gets, 0 for whole ones
	free int32 // whole GPUs
}

// selectRanked chooses the nodes in room that lose the fewest usable GPUs, then those whose
// GPUs the thousandths of q fit best, then those with the fewest free GPUs, then the lowest.
func (f *Free) selectRanked(room model.NodeSet, q *Query, p *model.Placement) {
	ranks := f.ranks[:0]
	var known *losses
	if q.Mix != nil {
		known = f.lossesOf(q)
	}
	for w, m := range room {
		for ; m != 0; m &= m - 1 {
			n := model.NodeID(w<<6 + bits.TrailingZeros64(m))
			r := nodeRank{node: n, free: int32(bits.OnesCount64(f.open(n)))}
			switch {
			case known != nil:
				var gpu int8
				if r.loss, gpu = f.lossAt(known, n, q); gpu >= 0 {
					r.left = f.freeMilli(n, int(gpu))
				}
			default:
				_, r.left = f.bestCard(n, q.GPUMilli)
			}
			ranks = append(ranks, r)
		}
	}
	f.ranks = ranks
	before := func(a, b nodeRank) int {
		return cmp.Or(cmp.Compare(a.loss, b.loss), cmp.Compare(a.left, b.left), cmp.Compare(a.free, b.free), cmp.Compare(a.node, b.node))
	}
	if q.Nodes == 1 {
		ranks[0] = slices.MinFunc(ranks, before)
	} else {
		slices.SortFunc(ranks, before) //detlint:total ids of nodes end it
	}
	for _, r := range ranks[:q.Nodes] {
		p.Shares = append(p.Shares, f.share(r.node, q))
	}
}

// freeMilli is the free thousandths of a GPU that is not held whole.
func (f *Free) freeMilli(n model.NodeID, gpu int) int32 {
	if f.held == nil {
		return model.WholeGPU
	}
	return model.WholeGPU - int32(f.held.milli[f.sp.gpuAt[n]+int32(gpu)])
}

// share is what q gets of node n, which has room for it.
func (f *Free) share(n model.NodeID, q *Query) model.NodeShare {
	s := model.NodeShare{Node: n, Units: q.GPUs, Amounts: q.Amounts}
	switch {
	case q.GPUMilli > 0 && q.Mix != nil:
		_, g := f.lossAt(f.lossesOf(q), n, q)
		s.GPUs = 1 << g
	case q.GPUMilli > 0:
		g, _ := f.bestCard(n, q.GPUMilli)
		s.GPUs = 1 << g
	case q.GPUs > 0:
		s.GPUs = f.sp.linksAt(n).pick(f.open(n), q.GPUs)
	}
	return s
}
