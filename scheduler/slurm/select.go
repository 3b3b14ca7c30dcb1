package slurm

import (
	"math/bits"
	"slices"

	"orrery/scheduler/model"
)

// want is what a job asks of nodes.
type want struct {
	whole bool
	tasks int32 // spread over the nodes as there is room, 0 where each node gives the same
	nodes int32 // at least
	most  int32 // at most
	gpus  int32 // of each node
	model.Amounts
}

func wantOf(a *model.Allocation) want {
	return want{whole: !a.Divides(), tasks: a.Tasks, nodes: a.NodesMin, most: a.NodesMax, gpus: a.GPUs, Amounts: a.Amounts}
}

// capacity is how many tasks a node has room for, or, where each node gives the same, 1 if it can.
func (w *want) capacity(r *nodeRoom) int32 {
	switch {
	case !r.up || r.shut || w.whole && r.jobs > 0:
		return 0
	case w.whole:
		return 1
	case w.gpus > 0 && int32(bits.OnesCount64(r.gpus)) < w.gpus:
		return 0
	}
	n := max(w.tasks, 1)
	if w.CPUs > 0 {
		n = min(n, r.cpus/w.CPUs)
	}
	if w.Memory > 0 {
		n = int32(min(int64(n), r.memory/w.Memory))
	}
	return max(n, 0)
}

// capacityOf is that of all nodes of a set. Cost: a look at each.
func (w *want) capacityOf(set model.NodeSet, room []nodeRoom) (all int64) {
	for i, m := range set {
		for ; m != 0; m &= m - 1 {
			if n := i<<6 + bits.TrailingZeros64(m); n < len(room) {
				all += int64(w.capacity(&room[n]))
			}
		}
	}
	return all
}

// need is how much capacity w asks for in all.
func (w *want) need() int32 {
	if w.tasks > 0 {
		return w.tasks
	}
	return w.nodes
}

// selection is the nodes chosen for a job. Its memory is used again.
type selection struct {
	given []give
	runs  []run
	room  []capacity
}

// give is what a node gives: tasks, or 1.
type give struct {
	node  model.NodeID
	tasks int32
}

// run is neighbours in the order of the nodes that all have room.
type run struct {
	first, end int // in selection.room
	capacity   int32
	cpus       int64
	used       bool
}

// capacity is that of a node with any.
type capacity struct {
	node  model.NodeID
	tasks int32
	cpus  int32 // free
}

// choose finds nodes for w among the usable ones as the node selectors of Slurm do, by best fit over runs of neighbours: of the
// runs that suffice the one with the fewest CPUs, of those that do not the one with the most, then the next
// best for the rest. Where one node suffices it is the one of the run with the fewest free CPUs. It says whether there are enough. Cost: a look
// at each usable node, and one at each run for each that is used.
func (s *selection) choose(w *want, usable model.NodeSet, room []nodeRoom) bool {
	s.given = s.given[:0]
	if !s.measure(w, usable, room) {
		return false
	}
	tasks, nodes := w.need(), w.nodes
	if w.tasks == 0 {
		nodes = 0 // tasks are nodes, and count once
	}
	for tasks > 0 || nodes > 0 {
		r := s.bestRun(tasks, nodes)
		if r < 0 {
			return false
		}
		s.runs[r].used = true
		tasks, nodes = s.takeRun(&s.runs[r], tasks, nodes)
	}
	return w.tasks == 0 || int32(len(s.given)) <= w.most
}

// measure finds the runs. It says whether all together have enough.
func (s *selection) measure(w *want, usable model.NodeSet, room []nodeRoom) bool {
	s.runs, s.room = s.runs[:0], s.room[:0]
	all, last := int64(0), model.NodeID(-2)
	for n := usable.Next(0); n >= 0; n = usable.Next(n + 1) {
		c := w.capacity(&room[n])
		if c == 0 {
			continue
		}
		if n != last+1 {
			s.runs = append(s.runs, run{first: len(s.room), end: len(s.room)})
		}
		last = n
		r := &s.runs[len(s.runs)-1]
		s.room = append(s.room, capacity{n, c, room[n].cpus})
		r.end++
		r.capacity += c
		r.cpus += int64(room[n].cpus)
		all += int64(c)
	}
	return all >= int64(w.need()) && int32(len(s.room)) >= w.nodes
}

// bestRun is the run to use next, -1 when none is left.
func (s *selection) bestRun(tasks, nodes int32) int {
	best, suffices := -1, false
	for i := range s.runs {
		r := &s.runs[i]
		if r.used {
			continue
		}
		enough := r.capacity >= tasks && int32(r.end-r.first) >= nodes
		switch {
		case best < 0 || enough && !suffices:
		case enough != suffices:
			continue
		case enough && r.cpus >= s.runs[best].cpus, !enough && r.cpus <= s.runs[best].cpus:
			continue
		}
		best, suffices = i, enough
	}
	return best
}

// takeRun takes from a run what is still needed, and says what is needed then.
func (s *selection) takeRun(r *run, tasks, nodes int32) (moreTasks, moreNodes int32) {
	list := s.room[r.first:r.end]
	if nodes <= 1 {
		at := -1
		for i := range list {
			if list[i].tasks >= tasks && (at < 0 || list[i].cpus < list[at].cpus) {
				at = i
			}
		}
		if at >= 0 {
			s.given = append(s.given, give{list[at].node, tasks})
			return 0, 0
		}
	}
	for i := range list {
		if tasks <= 0 {
			break
		}
		n := min(list[i].tasks, max(tasks-max(nodes-1, 0), 1)) // one is left for each node that must have a task
		s.given = append(s.given, give{list[i].node, n})
		tasks, nodes = tasks-n, max(nodes-1, 0)
	}
	return tasks, nodes
}

// placement writes what the nodes chosen give to a job.
func (s *selection) placement(j *job, t *nodeTable, p *model.Placement) {
	p.Words, p.Shares = p.Words[:0], p.Shares[:0]
	slices.SortFunc(s.given, func(a, b give) int { return int(a.node - b.node) }) //detlint:total a node is chosen once
	for _, g := range s.given {
		if !j.Divides() {
			if last := len(p.Words) - 1; last >= 0 && p.Words[last].Word == int32(g.node>>6) {
				p.Words[last].Mask |= 1 << (g.node & 63)
			} else {
				p.Words = append(p.Words, model.NodeWord{Word: int32(g.node >> 6), Mask: 1 << (g.node & 63)})
			}
			continue
		}
		h := model.NodeShare{Node: g.node, Units: j.GPUs, Amounts: j.Amounts}
		if j.Tasks > 0 {
			h.CPUs, h.Memory = g.tasks*j.CPUs, int64(g.tasks)*j.Memory
		}
		for free := t.room[g.node].gpus; bits.OnesCount64(h.GPUs) < int(j.GPUs); free &= free - 1 {
			h.GPUs |= free & -free
		}
		p.Shares = append(p.Shares, h)
	}
}

// nodes adds those chosen to a set.
func (s *selection) nodes(set model.NodeSet) {
	for _, g := range s.given {
		set.Add(g.node)
	}
}
