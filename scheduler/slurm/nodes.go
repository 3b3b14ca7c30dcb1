package slurm

import (
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// nodeTable is what no job holds of each node, and which nodes a job may use.
type nodeTable struct {
	site  *model.Site
	room  []nodeRoom
	idle  []nodeRoom // of an idle cluster with all nodes in service
	masks map[mask]model.NodeSet
	// constraints are those that were told of so far, by id.
	constraints []*model.Constraint
}

// nodeRoom is what no job holds of a node.
type nodeRoom struct {
	cpus   int32
	jobs   int32 // that hold anything of it
	shut   bool  // held as a whole
	up     bool
	gpus   uint64
	memory int64
}

// mask is the nodes that jobs of one constraint, partition and reservation may use.
type mask struct {
	constraint  model.ConstraintID
	partition   model.PartitionID
	reservation model.ReservationID
}

func newNodeTable(s *model.Site) nodeTable {
	t := nodeTable{site: s, room: make([]nodeRoom, len(s.Nodes)), masks: map[mask]model.NodeSet{}}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		t.room[i] = nodeRoom{cpus: n.CPUs, gpus: gpuMask(n.GPUs), memory: n.Memory, up: n.State == model.Ready}
	}
	t.idle = slices.Clone(t.room)
	for i := range t.idle {
		t.idle[i].up = true
	}
	return t
}

// maxGPUs of a node that jobs hold one by one.
const maxGPUs = 64

func gpuMask(n int32) uint64 {
	if n >= maxGPUs {
		return ^uint64(0)
	}
	return 1<<n - 1
}

// define notes a constraint where a is the first of it.
func (t *nodeTable) define(id model.ConstraintID, c *model.Constraint) {
	for int(id) >= len(t.constraints) {
		t.constraints = append(t.constraints, nil)
	}
	if t.constraints[id] == nil {
		if c == nil && int(id) < len(t.site.Constraints) {
			c = &t.site.Constraints[id]
		}
		t.constraints[id] = c
	}
}

// usable is the set of nodes that a may use, in service or not. It must stay as it is.
func (t *nodeTable) usable(a *model.Allocation) model.NodeSet {
	of := mask{a.Constraint, a.Partition, a.Reservation}
	if nodes, ok := t.masks[of]; ok {
		return nodes
	}
	nodes := model.NewNodeSet(len(t.site.Nodes))
	for i := range t.site.Nodes {
		if c := t.constraints[a.Constraint]; c == nil || c.Holds(model.NodeID(i), &t.site.Nodes[i]) {
			nodes.Add(model.NodeID(i))
		}
	}
	if a.Partition >= 0 {
		nodes.And(t.site.Partitions[a.Partition].Nodes)
	}
	if a.Reservation >= 0 {
		nodes.And(t.site.Reservations[a.Reservation].Nodes)
	}
	t.masks[of] = nodes
	return nodes
}

// take counts what p names as held, give as free.
func (t *nodeTable) take(p *model.Placement) { change(t.room, t.site, p, 1) }
func (t *nodeTable) give(p *model.Placement) { change(t.room, t.site, p, -1) }

// change counts what p names as held, or with sign -1 as free.
func change(room []nodeRoom, site *model.Site, p *model.Placement, sign int32) {
	for _, w := range p.Words {
		for m := w.Mask; m != 0; m &= m - 1 {
			r := &room[int(w.Word)<<6+bits.TrailingZeros64(m)]
			r.shut = sign > 0
			r.jobs += sign
		}
	}
	for i := range p.Shares {
		h := &p.Shares[i]
		r := &room[h.Node]
		r.jobs += sign
		r.cpus -= sign * h.CPUs
		r.memory -= int64(sign) * h.Memory
		if sign > 0 {
			r.gpus &^= h.GPUs
		} else {
			r.gpus |= h.GPUs & gpuMask(site.Nodes[h.Node].GPUs)
		}
	}
}

// gpusOf is how many GPUs p names.
func (t *nodeTable) gpusOf(p *model.Placement) (n int32) {
	for _, w := range p.Words {
		for m := w.Mask; m != 0; m &= m - 1 {
			n += t.site.Nodes[int(w.Word)<<6+bits.TrailingZeros64(m)].GPUs
		}
	}
	for i := range p.Shares {
		n += p.Shares[i].Units
	}
	return n
}

// cpusOf is how many CPUs p names.
func (t *nodeTable) cpusOf(p *model.Placement) (n int64) {
	for _, w := range p.Words {
		for m := w.Mask; m != 0; m &= m - 1 {
			n += int64(max(t.site.Nodes[int(w.Word)<<6+bits.TrailingZeros64(m)].CPUs, 1)) // of one of which it is not known, 1
		}
	}
	for i := range p.Shares {
		n += int64(p.Shares[i].CPUs)
	}
	return n
}
