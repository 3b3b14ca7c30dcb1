package traces

import (
	"container/heap"

	"orrery/scheduler/model"
)

// HeldUnits are what jobs hold, in the order of Held.
var HeldUnits = [4]string{"processors", "nodes", "GPUs", "memory"}

// Held is what jobs hold: processors, nodes (one that several share counts for each), thousandths of GPUs, bytes.
type Held [4]int64

// Add adds what another holds.
func (h *Held) Add(o Held) {
	for i := range h {
		h[i] += o[i]
	}
}

// Peaks finds the most that jobs held at once, for longer than no time, by their recorded starts and ends. Memory grows with
// the jobs that wait or run at one instant.
type Peaks struct {
	Most Held
	At   [4]model.Time // from when on that was held, the first time
	held Held
	now  model.Time
	next steps
}

// Add takes a job that was submitted no earlier than those before it.
func (p *Peaks) Add(submit, start, end model.Time, holds Held) {
	p.pass(submit)
	heap.Push(&p.next, step{start, holds})
	for i := range holds {
		holds[i] = -holds[i]
	}
	heap.Push(&p.next, step{end, holds})
}

// Finish takes what is left, behind the last job.
func (p *Peaks) Finish() {
	p.pass(1<<63 - 1)
	p.level()
}

// pass takes the steps before an instant: no more of them will come.
func (p *Peaks) pass(until model.Time) {
	for len(p.next) > 0 && p.next[0].at < until {
		s := heap.Pop(&p.next).(step)
		if s.at > p.now {
			p.level()
			p.now = s.at
		}
		for i := range p.held {
			p.held[i] += s.by[i]
		}
	}
}

// level notes what is held behind all steps of an instant.
func (p *Peaks) level() {
	for i, n := range p.held {
		if n > p.Most[i] {
			p.Most[i], p.At[i] = n, p.now
		}
	}
}

// HeldBy is what a job held, or asked for where that is not recorded.
func HeldBy(j *Job) (holds Held) {
	nodes := max(int64(j.NodesMin.V), 1)
	switch {
	case j.ProcsAllocated.OK:
		holds[0] = int64(j.ProcsAllocated.V)
	case j.ProcsRequested.OK:
		holds[0] = int64(j.ProcsRequested.V)
	default:
		holds[0] = int64(j.CPUsPerNode.V) * nodes
	}
	holds[1] = int64(j.NodesMin.V)
	if j.NodesAllocated.OK {
		holds[1] = int64(j.NodesAllocated.V)
	}
	holds[2] = int64(j.GPUsPerNode.V) * nodes
	if j.GPUsTotal.OK {
		holds[2] = int64(j.GPUsTotal.V)
	}
	switch {
	case j.GPUsAllocated.OK:
		holds[2] = 1000 * int64(j.GPUsAllocated.V)
	case j.GPUMilli.OK:
		holds[2] = max(holds[2], 1) * int64(j.GPUMilli.V)
	default:
		holds[2] *= 1000
	}
	holds[3] = j.MemPerNode.V * nodes
	return holds
}

// Held is HeldBy of row i of b, of which nodes and GPUs are those that it asked for: a batch does not have the allocated ones.
func (b *Batch) Held(i int) (holds Held) {
	some := func(x int32) int64 { return int64(max(x, 0)) }
	nodes := max(some(b.NodesMin[i]), 1)
	switch {
	case b.ProcsAllocated[i] != Absent:
		holds[0] = some(b.ProcsAllocated[i])
	case b.ProcsRequested[i] != Absent:
		holds[0] = some(b.ProcsRequested[i])
	default:
		holds[0] = some(b.CPUsPerNode[i]) * nodes
	}
	holds[1], holds[2] = some(b.NodesMin[i]), 1000*some(b.GPUsPerNode[i])*nodes
	if b.Attr != nil && b.Attr.Len() > 0 {
		if all := b.Attr.GPUsTotal[i]; all != Absent {
			holds[2] = 1000 * some(all)
		}
		if milli := b.Attr.GPUMilli[i]; milli != Absent {
			holds[2] = max(holds[2]/1000, 1) * some(milli)
		}
		holds[3] = max(b.Attr.MemPerNode[i], 0) * nodes
	}
	return holds
}
