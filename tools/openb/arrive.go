package main

import (
	"context"
	"math/bits"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/scheduler/place"
)

var (
	extraTasks   = draw.StreamOf("tasks beyond those of the list")
	taskOrder    = draw.StreamOf("order of arrival")
	randomChoice = draw.StreamOf("random placement")
)

// outcome is what one order of arrival comes to under one policy, by GPUs asked for in
// hundredths of those there are.
type outcome struct {
	allocated []float64 // percent of all GPUs
	unusable  []float64 // free and of no use to a task of the list in the mean, likewise
	refused   int64     // tasks that had no room
}

// order is the tasks in an order that is drawn: all of the list, and more of them drawn from
// it until they ask for so many thousandths.
func (t *trace) order(seed uint64, milli int64) (tasks []int) {
	asked := int64(0)
	for i := range t.tasks {
		tasks, asked = append(tasks, i), asked+t.tasks[i].milli()
	}
	for k := uint64(0); asked < milli; k++ {
		src := draw.New(seed, extraTasks, k, 0)
		i := int(src.IntN(int64(len(t.tasks))))
		tasks, asked = append(tasks, i), asked+t.tasks[i].milli()
	}
	for i := len(tasks) - 1; i > 0; i-- {
		src := draw.New(seed, taskOrder, uint64(i), 0)
		k := src.IntN(int64(i + 1))
		tasks[i], tasks[k] = tasks[k], tasks[i]
	}
	return tasks
}

// filling is a cluster that fills up.
type filling struct {
	*trace
	seed    uint64
	space   *place.Space
	free    *place.Free
	classes []place.ClassID // by task of the list
	known   *place.Mix      // of the list
	nodes   []room          // what is free, for policies that are not of the scheduler
}

// begin is the empty cluster.
func (t *trace) begin(seed uint64) *filling {
	r := &filling{trace: t, seed: seed, space: place.NewSpace(&t.site), classes: make([]place.ClassID, len(t.tasks))}
	r.free = r.space.NewFree()
	specs := map[string]place.ClassID{}
	var all place.Requests
	for i := range t.tasks {
		spec := t.tasks[i].spec
		if _, ok := specs[spec]; !ok {
			specs[spec] = r.space.Class(t.mask(spec))
		}
		r.classes[i] = specs[spec]
		all.Add(r.classes[i], t.tasks[i].share, 1)
	}
	r.known = all.Mix()
	for i := range t.site.Nodes {
		n := &t.site.Nodes[i]
		one := room{cpus: n.CPUs, memory: n.Memory, gpus: make([]int32, n.GPUs)}
		for g := range one.gpus {
			one.gpus[g] = model.WholeGPU
		}
		r.nodes = append(r.nodes, one)
	}
	return r
}

// arrive lets tasks arrive under a policy until they have asked for a part of the GPUs.
func (t *trace) arrive(ctx context.Context, p *policy, seed uint64, part float64) (out outcome, err error) {
	r := t.begin(seed)
	capacity := t.gpus() * model.WholeGPU
	place := p.begin(r)
	asked, allocated := int64(0), int64(0)
	steps := int(part*100 + 0.5)
	tasks := t.order(seed, int64(part*float64(capacity))+1)
	for k := 0; k < len(tasks) && len(out.allocated) <= steps; k++ {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		one := &t.tasks[tasks[k]]
		asked += one.milli()
		if got := place(k, tasks[k]); got != nil {
			r.free.Take(got)
			r.take(got)
			allocated += one.milli()
		} else {
			out.refused++
		}
		for len(out.allocated) <= steps && int64(len(out.allocated))*capacity <= 100*asked {
			unusable, _ := r.free.Fragmentation(r.known)
			out.allocated = append(out.allocated, 100*float64(allocated)/float64(capacity))
			out.unusable = append(out.unusable, 100*float64(unusable)/float64(capacity))
		}
	}
	return out, nil
}

// policy is a way of placing tasks. What begin answers places the task of the list that
// arrives k-th, and answers nil where no node has room for it.
type policy struct {
	name  string
	begin func(r *filling) func(k, task int) *model.Placement
}

var policies = []policy{
	{"random", (*filling).random},
	{"best fit", (*filling).bestFit},
	{"`selection: documented`", (*filling).documented},
	{"`selection: least-fragmentation`", (*filling).leastFragmentation},
	{"least fragmentation, told the mix", (*filling).toldMix},
	{"least fragmentation, rounded as by its authors", (*filling).rounded},
}

// selects places tasks as a scheduler does, by the mix that it is told before each.
func (r *filling) selects(mix func(task int) *place.Mix) func(k, task int) *model.Placement {
	var p model.Placement
	return func(_, task int) *model.Placement {
		q := place.Query{Class: r.classes[task], Nodes: 1, Share: r.tasks[task].share, Mix: mix(task)}
		if !r.free.Select(&q, &p) {
			return nil
		}
		return &p
	}
}

func (r *filling) documented() func(k, task int) *model.Placement {
	return r.selects(func(int) *place.Mix { return nil })
}

// toldMix goes by what the tasks of the list ask for, also of those that are to come.
func (r *filling) toldMix() func(k, task int) *model.Placement {
	return r.selects(func(int) *place.Mix { return r.known })
}

// leastFragmentation goes by what has arrived.
func (r *filling) leastFragmentation() func(k, task int) *model.Placement {
	seen := place.NewMixSoFar()
	return r.selects(func(task int) *place.Mix {
		seen.Add(r.classes[task], r.tasks[task].share, 1)
		return seen.Mix()
	})
}

// room is what is free of a node.
type room struct {
	cpus   int32
	memory int64
	gpus   []int32 // thousandths
}

// take counts what a placement takes.
func (r *filling) take(p *model.Placement) {
	for i := range p.Shares {
		s := &p.Shares[i]
		n := &r.nodes[s.Node]
		n.cpus, n.memory = n.cpus-s.CPUs, n.memory-s.Memory
		for m := s.GPUs; m != 0; m &= m - 1 {
			if g := bits.TrailingZeros64(m); s.GPUMilli > 0 {
				n.gpus[g] -= s.GPUMilli
			} else {
				n.gpus[g] = 0
			}
		}
	}
}

// fitting are the nodes that have room for a task, ascending.
func (r *filling) fitting(task int) (nodes []model.NodeID) {
	set := model.NewNodeSet(len(r.nodes))
	r.free.Room(r.classes[task], r.tasks[task].share, set)
	for w, m := range set {
		for ; m != 0; m &= m - 1 {
			nodes = append(nodes, model.NodeID(w<<6+bits.TrailingZeros64(m)))
		}
	}
	return nodes
}

// on is the placement of a task on a node, with the thousandths on the GPU that choose
// answers of those that have as many.
func (r *filling) on(n model.NodeID, task int, choose func(gpus []int) int) *model.Placement {
	share := r.tasks[task].share
	s := model.NodeShare{Node: n, Units: share.GPUs, Amounts: share.Amounts}
	var enough []int
	whole := share.GPUs
	for g, free := range r.nodes[n].gpus {
		switch {
		case share.GPUMilli > 0 && free >= share.GPUMilli:
			enough = append(enough, g)
		case whole > 0 && free == model.WholeGPU:
			s.GPUs |= 1 << g
			whole--
		}
	}
	if share.GPUMilli > 0 {
		s.GPUs = 1 << choose(enough)
	}
	return &model.Placement{Shares: []model.NodeShare{s}}
}

// random takes any node that has room, and any of its GPUs that has.
func (r *filling) random() func(k, task int) *model.Placement {
	return func(k, task int) *model.Placement {
		nodes := r.fitting(task)
		if len(nodes) == 0 {
			return nil
		}
		src := draw.New(r.seed, randomChoice, uint64(k), 0)
		n := nodes[src.IntN(int64(len(nodes)))]
		return r.on(n, task, func(gpus []int) int { return gpus[src.IntN(int64(len(gpus)))] })
	}
}

// bestFit takes the node that has the least left, CPUs counting as parts of 128 cores and
// GPUs as parts of eight, and there the GPU that has, as the artifact of the paper does. Ties
// go to the lowest.
func (r *filling) bestFit() func(k, task int) *model.Placement {
	return func(_, task int) *model.Placement {
		best, least := model.NodeID(-1), int64(0)
		for _, n := range r.fitting(task) {
			left := int64(r.nodes[n].cpus) * 8
			for _, g := range r.nodes[n].gpus {
				left += int64(g) * 128
			}
			if best < 0 || left < least {
				best, least = n, left
			}
		}
		if best < 0 {
			return nil
		}
		free := r.nodes[best].gpus
		return r.on(best, task, func(gpus []int) int {
			tightest := gpus[0]
			for _, g := range gpus {
				if free[g] < free[tightest] {
					tightest = g
				}
			}
			return tightest
		})
	}
}
