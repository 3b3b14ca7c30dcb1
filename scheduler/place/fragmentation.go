package place

import (
	"math/bits"

	"orrery/scheduler/model"
)

// The fragmentation of a node is the free thousandths of its GPUs that a task cannot use, in
// expectation over the tasks of a mix. A task that the node has no room for, or that asks for
// no GPU, can use none; one that asks for whole GPUs uses those that are free, and one that
// asks for thousandths uses the GPUs with as many. A share goes where fragmentation grows
// least. (Weng and others: Beware of fragmentation: scheduling GPU-sharing workloads with
// fragmentation gradient descent, USENIX ATC 2023.)
//
// What is computed is the usable thousandths, summed over the tasks, which is exact in
// integers. All nodes lose the same thousandths to a share. So fragmentation grows least
// where what is usable shrinks least.

const wholeMilli = model.WholeGPU

// leftover is what is free of a node.
type leftover struct {
	cpus  int32
	idle  bool  // no job holds anything of it
	open  int32 // GPUs of which no job holds anything
	parts []int32
	gpus  []int8 // which GPU each of parts is of
	first int8   // the lowest open GPU
}

// leftOf writes what is free of node n into left.
func (f *Free) leftOf(n model.NodeID, left *leftover) {
	open := f.open(n)
	left.cpus, left.open, left.idle = f.sp.site.Nodes[n].CPUs, int32(bits.OnesCount64(open)), !f.part.Has(n)
	left.first = int8(bits.TrailingZeros64(open))
	left.parts, left.gpus = left.parts[:0], left.gpus[:0]
	if f.held == nil {
		return
	}
	left.cpus -= f.held.nodes[n].cpus
	for m := f.held.split[n] &^ f.taken[n]; m != 0; m &= m - 1 {
		g := bits.TrailingZeros64(m)
		left.parts = append(left.parts, wholeMilli-int32(f.held.milli[f.sp.gpuAt[n]+int32(g)]))
		left.gpus = append(left.gpus, int8(g))
	}
}

// sum is the free thousandths of all GPUs.
func (l *leftover) sum() int64 {
	sum := int64(l.open) * wholeMilli
	for _, p := range l.parts {
		sum += int64(p)
	}
	return sum
}

// usable is the free thousandths of node n that tasks of the mix can use, summed over the tasks.
func (m *Mix) usable(sp *Space, n model.NodeID, left *leftover) (sum int64) {
	for i := range m.needs {
		d := &m.needs[i]
		if !sp.classes[d.class].nodes.Has(n) {
			continue
		}
		if d.whole {
			if left.idle {
				sum += d.within(0) * left.sum()
			}
			continue
		}
		gpus, milli := left.open, int64(left.open)*wholeMilli
		if d.milli < wholeMilli {
			for _, p := range left.parts {
				if p >= d.milli {
					gpus++
					milli += int64(p)
				}
			}
		}
		if gpus >= d.gpus {
			sum += d.within(left.cpus) * milli
		}
	}
	return sum
}

// Fragmentation is the free thousandths of GPUs of the nodes in service that a task of the
// mix cannot use, in expectation, and all that are free. Cost: the nodes times the tasks.
func (f *Free) Fragmentation(m *Mix) (fragmented, free int64) {
	var left leftover
	usable := int64(0)
	for n := range f.sp.nodes {
		if id := model.NodeID(n); f.up.Has(id) && f.unheld.Has(id) {
			f.leftOf(id, &left)
			free += left.sum()
			usable += m.usable(f.sp, id, &left)
		}
	}
	return free - usable/max(1, m.total), free
}

// losses is by how much what is usable of each node shrinks when it gives a share.
type losses struct {
	mix               *Mix
	gpus, milli, cpus int32    // the share
	loss              []int64  // by node
	gpu               []int8   // by node, that which gives thousandths
	at                []uint64 // by node, fragments.changes as of which it is known
}

// mostLosses is how many shares are told apart at a time; further ones are computed anew.
const mostLosses = 128

// fragments is what a Free knows of fragmentation.
type fragments struct {
	changes []uint64 // of what is free of each node, from 1
	known   []losses
	next    int // of known, to be replaced
	left    leftover
}

// changed notes that something else is free of node n.
func (f *Free) changed(n model.NodeID) {
	if f.fragments != nil {
		f.fragments.changes[n]++
	}
}

// lossesOf is what is known for the share of q.
func (f *Free) lossesOf(q *Query) *losses {
	x := f.fragments
	if x == nil {
		x = &fragments{changes: make([]uint64, f.sp.nodes)}
		for n := range x.changes {
			x.changes[n] = 1
		}
		f.fragments = x
	}
	stale := -1
	for i := range x.known {
		switch l := &x.known[i]; {
		case l.mix != q.Mix:
			stale = i
		case l.gpus == q.GPUs && l.milli == q.GPUMilli && l.cpus == q.CPUs:
			return l
		}
	}
	switch {
	case stale < 0 && len(x.known) < mostLosses:
		stale = len(x.known)
		x.known = append(x.known, losses{loss: make([]int64, f.sp.nodes), gpu: make([]int8, f.sp.nodes), at: make([]uint64, f.sp.nodes)})
	case stale < 0:
		stale = x.next
		x.next = (x.next + 1) % mostLosses
	}
	l := &x.known[stale]
	l.mix, l.gpus, l.milli, l.cpus = q.Mix, q.GPUs, q.GPUMilli, q.CPUs
	clear(l.at)
	return l
}

// lossAt is by how much what is usable of node n shrinks when it gives the share of q, for
// which it has room, and the GPU that gives thousandths. Cost: constant while the node stays
// as it is, else the tasks of the mix times its GPUs.
func (f *Free) lossAt(l *losses, n model.NodeID, q *Query) (loss int64, gpu int8) {
	x := f.fragments
	if l.at[n] != x.changes[n] {
		l.loss[n], l.gpu[n] = f.leastLoss(n, q, &x.left)
		l.at[n] = x.changes[n]
	}
	return l.loss[n], l.gpu[n]
}

// leastLoss computes lossAt. Of several GPUs that lose as little it takes the one with the
// fewest free thousandths, then the lowest.
func (f *Free) leastLoss(n model.NodeID, q *Query, left *leftover) (loss int64, gpu int8) {
	f.leftOf(n, left)
	before := q.Mix.usable(f.sp, n, left)
	left.cpus -= q.CPUs
	left.idle = false
	if q.GPUMilli == 0 {
		left.open -= q.GPUs
		return before - q.Mix.usable(f.sp, n, left), -1
	}
	gpu, free := int8(-1), int32(0)
	for i, p := range left.parts {
		if p < q.GPUMilli {
			continue
		}
		left.parts[i] = p - q.GPUMilli
		lost := before - q.Mix.usable(f.sp, n, left)
		left.parts[i] = p
		if gpu < 0 || lost < loss || lost == loss && p < free {
			loss, gpu, free = lost, left.gpus[i], p
		}
	}
	if left.open > 0 {
		left.open--
		left.parts = append(left.parts, wholeMilli-q.GPUMilli)
		if lost := before - q.Mix.usable(f.sp, n, left); gpu < 0 || lost < loss {
			loss, gpu = lost, left.first
		}
	}
	return loss, gpu
}
