package watch

import (
	"math/bits"

	"orrery/scheduler/model"
)

// amounts is what the shares of each node come to, by the log.
type amounts struct {
	nodes []use
	milli []int32 // held of each GPU of the site
	gpus  []int32 // how many GPUs the nodes before each have
}

// use is what the shares of a node come to beside whole GPUs.
type use struct {
	jobs, cpus int32
	memory     int64
	shut       bool // held whole
}

// newAmounts is nothing held of a site that is divided by amounts, of others nil.
func newAmounts(s *model.Site) *amounts {
	if !s.Amounts {
		return nil
	}
	a := &amounts{nodes: make([]use, len(s.Nodes)), gpus: make([]int32, len(s.Nodes))}
	all := int32(0)
	for i := range s.Nodes {
		a.gpus[i] = all
		all += s.Nodes[i].GPUs
	}
	a.milli = make([]int32, all)
	return a
}

func (a *amounts) clear() {
	clear(a.nodes)
	clear(a.milli)
}

// add counts a share, or takes it off with sign -1.
func (a *amounts) add(h *model.NodeShare, sign int32) {
	if a == nil {
		return
	}
	u := &a.nodes[h.Node]
	u.jobs += sign
	u.cpus += sign * h.CPUs
	u.memory += int64(sign) * h.Memory
	for m := h.GPUs; m != 0 && h.GPUMilli > 0; m &= m - 1 {
		a.milli[a.gpus[h.Node]+int32(bits.TrailingZeros64(m))] += sign * h.GPUMilli
	}
}

// shut says that node n is held whole, or is not.
func (a *amounts) shut(n model.NodeID, held bool) { a.nodes[n].shut = held }

// split is the GPUs of node n of which thousandths are held.
func (a *amounts) split(n model.NodeID, node *model.Node) (set uint64) {
	for g := int32(0); a != nil && g < node.GPUs; g++ {
		if a.milli[a.gpus[n]+g] > 0 {
			set |= 1 << g
		}
	}
	return set
}

// beyond says what of a node is not enough for h beside what is held of it, empty where
// all is; taken are its GPUs that are held whole.
func (a *amounts) beyond(h *model.NodeShare, node *model.Node, taken uint64) string {
	u, split := use{}, a.split(h.Node, node)
	if a != nil {
		u = a.nodes[h.Node]
	}
	switch {
	case h.GPUs&taken != 0 || h.GPUMilli == 0 && h.GPUs&split != 0:
		return "GPUs"
	case h.Amounts == (model.Amounts{}):
		return ""
	case u.cpus+h.CPUs > node.CPUs:
		return "CPUs"
	case u.memory+h.Memory > node.Memory:
		return "memory"
	case h.GPUMilli > 0 && a.milli[a.gpus[h.Node]+int32(bits.TrailingZeros64(h.GPUs))]+h.GPUMilli > model.WholeGPU:
		return "thousandths of a GPU"
	}
	return ""
}

// has says whether node n has room for the share of j, of which the GPUs in free are not
// held whole.
func (a *amounts) has(j *job, n model.NodeID, node *model.Node, free uint64) bool {
	split := a.split(n, node)
	if node.GPUs < j.GPUs || bits.OnesCount64(free&^split) < int(j.GPUs) {
		return false
	}
	if j.Amounts == (model.Amounts{}) {
		return true
	}
	u := &a.nodes[n]
	if u.shut || u.cpus+j.CPUs > node.CPUs || u.memory+j.Memory > node.Memory {
		return false
	}
	room := j.GPUMilli == 0
	for g := int32(0); g < node.GPUs && !room; g++ {
		room = free>>g&1 != 0 && a.milli[a.gpus[n]+g]+j.GPUMilli <= model.WholeGPU
	}
	return room
}
