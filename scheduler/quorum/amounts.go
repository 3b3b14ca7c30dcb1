package quorum

import (
	"math/bits"

	"orrery/scheduler/model"
)

// heldAmounts is what shares that name amounts hold of each node.
type heldAmounts struct {
	nodes []nodeAmounts
	split []uint64 // GPUs of each node of which thousandths are held
	milli []int32  // thousandths held of each GPU of the site, by nodeState.gpus
}

type nodeAmounts struct {
	jobs, cpus int32
	memory     int64
}

// addAmounts counts what h names, or takes it off with by -1. The first share that names
// amounts allocates.
func (s *Site) addAmounts(h *model.NodeShare, by int32) {
	if h.Amounts == (model.Amounts{}) {
		return
	}
	if s.amounts == nil {
		n := len(s.nodes)
		s.amounts = &heldAmounts{make([]nodeAmounts, n), make([]uint64, n), make([]int32, len(s.gpus))}
	}
	a := &s.amounts.nodes[h.Node]
	a.jobs += by
	a.cpus += by * h.CPUs
	a.memory += int64(by) * h.Memory
	if h.GPUMilli > 0 {
		g := bits.TrailingZeros64(h.GPUs)
		m := &s.amounts.milli[s.nodes[h.Node].gpus+int32(g)]
		*m += by * h.GPUMilli
		if s.amounts.split[h.Node] |= 1 << g; *m == 0 {
			s.amounts.split[h.Node] &^= 1 << g
		}
	}
}

// addShares counts shares on their nodes, of which there are so many, or takes them off.
func (a *account) addShares(shares []model.NodeShare, by int32, nodes int) {
	if len(shares) > 0 && a.shares == nil {
		a.shares = make([]int32, nodes)
	}
	for i := range shares {
		n := &a.shares[shares[i].Node]
		if *n == 0 || *n+by == 0 {
			a.nodes += by
		}
		*n += by
	}
}

// beyond says whether the tenant of j would hold more distinct nodes than before, and than
// the limit, on p, which has so many. a is without what j holds.
func (a *account) beyond(j *jobState, p *model.Placement, nodes, limit int32) bool {
	after := a.nodes + a.fresh(p, nodes)
	return after > limit && after > a.nodes+a.fresh(&j.held, j.demand.nodes)
}

// fresh is how many of the nodes of a placement of so many a does not hold shares of.
func (a *account) fresh(p *model.Placement, nodes int32) int32 {
	for i := range p.Shares {
		if a.shares != nil && a.shares[p.Shares[i].Node] > 0 {
			nodes--
		}
	}
	return nodes
}

// shapeless says whether h is not a share as j asks for of a node of the site.
func (s *Site) shapeless(j *jobState, h *model.NodeShare) bool {
	return !j.Divides() || h.Units != j.GPUs || j.TasksIn(h) < 1 || bits.OnesCount64(h.GPUs) != int(h.Cards()) ||
		bits.Len64(h.GPUs) > int(s.site.Nodes[h.Node].GPUs)
}

// roomFor says whether node h.Node, which no job holds as a whole, has room for h.
func (s *Site) roomFor(h *model.NodeShare) bool {
	if s.nodes[h.Node].taken&h.GPUs != 0 {
		return false
	}
	n := &s.site.Nodes[h.Node]
	if h.Amounts != (model.Amounts{}) && (h.CPUs > n.CPUs || h.Memory > n.Memory) {
		return false
	}
	if s.amounts == nil {
		return true
	}
	a, split := &s.amounts.nodes[h.Node], s.amounts.split[h.Node]&h.GPUs
	if h.Amounts != (model.Amounts{}) && (a.cpus+h.CPUs > n.CPUs || a.memory+h.Memory > n.Memory) {
		return false
	}
	if h.GPUMilli == 0 {
		return split == 0
	}
	g := int32(bits.TrailingZeros64(h.GPUs))
	return s.amounts.milli[s.nodes[h.Node].gpus+g]+h.GPUMilli <= model.WholeGPU
}
