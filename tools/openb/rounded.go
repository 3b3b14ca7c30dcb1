package main

import (
	"cmp"
	"math"
	"slices"

	"orrery/internal/libm"
	"orrery/scheduler/model"
	"orrery/scheduler/place"
)

// rounded is least fragmentation as the simulator of its authors has it, which
// selection: least-fragmentation is compared with: it is told the most frequent kinds of tasks,
// and rounds what fragmentation grows by to a score from 0 to 100. The first of the nodes and
// of the GPUs with the best score is taken. So nodes that differ by little are equal.
// (Repository hkust-adsl/kubernetes-scheduler-simulator, file fgd_score.go.)
type rounded struct {
	*filling
	kinds     []kind
	requests  []place.Share // distinct, without memory
	requestOf []int         // by task of the list
	scores    [][]scored    // by node and request; a score of 0 is not known yet
}

// kind is a part of all tasks that ask for the same.
type kind struct {
	class                 place.ClassID
	cpus, gpus, thousands int32
	part                  float64
}

// scored is one more than the score of a node, and the GPU that it is for.
type scored struct {
	score int16
	gpu   int8
}

// typical is the part of all tasks that the kinds are of.
const typical = 0.95

func (r *filling) rounded() func(k, task int) *model.Placement {
	x := &rounded{filling: r, requestOf: make([]int, len(r.tasks)), scores: make([][]scored, len(r.nodes))}
	for i := range r.tasks {
		s := r.tasks[i].share
		s.Memory = 0
		if x.requestOf[i] = slices.Index(x.requests, s); x.requestOf[i] < 0 {
			x.requestOf[i] = len(x.requests)
			x.requests = append(x.requests, s)
		}
		x.count(r.classes[i], &s)
	}
	slices.SortStableFunc(x.kinds, func(a, b kind) int { return cmp.Compare(b.part, a.part) })
	sum := 0.0
	for i := range x.kinds {
		if sum += x.kinds[i].part; sum >= typical*float64(len(r.tasks)) {
			x.kinds = x.kinds[:i+1]
			break
		}
	}
	for i := range x.kinds {
		x.kinds[i].part /= sum
	}
	for n := range x.scores {
		x.scores[n] = make([]scored, len(x.requests))
	}
	return x.place
}

// count counts a task of the list.
func (x *rounded) count(class place.ClassID, s *place.Share) {
	k := kind{class: class, cpus: s.CPUs, gpus: s.GPUs, thousands: model.WholeGPU}
	if s.GPUMilli > 0 {
		k.gpus, k.thousands = 1, s.GPUMilli
	}
	for i := range x.kinds {
		if o := &x.kinds[i]; o.class == k.class && o.cpus == k.cpus && o.gpus == k.gpus && o.thousands == k.thousands {
			o.part++
			return
		}
	}
	k.part = 1
	x.kinds = append(x.kinds, k)
}

func (x *rounded) place(_, task int) *model.Placement {
	best, found := model.NodeID(-1), scored{}
	request := x.requestOf[task]
	for _, n := range x.fitting(task) {
		s := &x.scores[n][request]
		if s.score == 0 {
			*s = x.score(n, &x.requests[request])
		}
		if s.score > found.score {
			best, found = n, *s
		}
	}
	if best < 0 {
		return nil
	}
	clear(x.scores[best])
	return x.on(best, task, func([]int) int { return int(found.gpu) })
}

// score is that of a node for a share, with the first GPU that has the best.
func (x *rounded) score(n model.NodeID, s *place.Share) (best scored) {
	before := x.fragmentation(n, &x.nodes[n])
	after := room{cpus: x.nodes[n].cpus - s.CPUs, gpus: slices.Clone(x.nodes[n].gpus)}
	of := func(gpu int) scored {
		less := (before - x.fragmentation(n, &after)) / model.WholeGPU
		return scored{1 + int16(math.Floor(100/(1+libm.Exp(-less)))), int8(gpu)}
	}
	if s.GPUMilli == 0 {
		whole := s.GPUs
		for g := range after.gpus {
			if whole > 0 && after.gpus[g] == model.WholeGPU {
				after.gpus[g] = 0
				whole--
			}
		}
		return of(-1)
	}
	for g, free := range x.nodes[n].gpus {
		if free < s.GPUMilli {
			continue
		}
		after.gpus[g] = free - s.GPUMilli
		if one := of(g); one.score > best.score {
			best = one
		}
		after.gpus[g] = free
	}
	return best
}

// fragmentation is the free thousandths of a node that tasks of the kinds cannot use, in
// expectation.
func (x *rounded) fragmentation(n model.NodeID, left *room) (sum float64) {
	free := int32(0)
	for _, g := range left.gpus {
		free += g
	}
	for i := range x.kinds {
		k := &x.kinds[i]
		enough, lost := int32(0), int32(0)
		for _, g := range left.gpus {
			if g >= k.thousands {
				enough++
			} else {
				lost += g
			}
		}
		if k.gpus == 0 || enough < k.gpus || left.cpus < k.cpus || !x.space.NodesOf(k.class).Has(n) {
			lost = free
		}
		sum += float64(k.part * float64(lost))
	}
	return sum
}
