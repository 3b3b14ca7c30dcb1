package place

import (
	"cmp"
	"slices"
)

// mostTasks is how many kinds of tasks Requests tells apart.
const mostTasks = 256

// Requests counts what jobs have asked for of a node. What it holds does not grow: of more
// kinds than mostTasks the rarest is replaced, and its count goes to what replaces it, so
// that a kind that is asked for often enough is never missing. (Metwally, Agrawal, El Abbadi:
// Efficient computation of frequent and top-k elements in data streams, ICDT 2005.)
type Requests struct {
	tasks []counted
	total int64
}

// task is what a job asks for of one node. Memory is not in it: as in the paper that
// Query.Mix follows, tasks compete for GPUs and CPUs.
type task struct {
	class       ClassID
	whole       bool // all of the node
	gpus, milli int32
	cpus        int32
}

type counted struct {
	task
	count int64
}

// Add counts a job that asks for a share of each of so many nodes of a class.
func (r *Requests) Add(class ClassID, share Share, nodes int32) {
	t := task{class: class, whole: share == Share{}, gpus: share.GPUs, milli: share.GPUMilli, cpus: share.CPUs}
	r.total += int64(nodes)
	rarest := 0
	for i := range r.tasks {
		if r.tasks[i].task == t {
			r.tasks[i].count += int64(nodes)
			return
		}
		if r.tasks[i].count < r.tasks[rarest].count {
			rarest = i
		}
	}
	if len(r.tasks) < mostTasks {
		r.tasks = append(r.tasks, counted{t, int64(nodes)})
		return
	}
	r.tasks[rarest].task = t
	r.tasks[rarest].count += int64(nodes)
}

// mixGrowth is by which part, 1 in so many, the tasks seen grow before MixSoFar is anew.
// With each new mix all that is known of the fragmentation of nodes is computed anew.
const mixGrowth = 4

// MixSoFar is what has been asked for so far, which is all that a scheduler can know of what
// will be asked for.
type MixSoFar struct {
	seen Requests
	mix  *Mix
	next int64 // tasks seen when it is made anew
}

// NewMixSoFar has seen nothing.
func NewMixSoFar() *MixSoFar { return &MixSoFar{mix: &Mix{}, next: 1} }

// Add counts a job as Requests does. It says whether Mix is another from now on: that is so
// for the first one, and when the tasks have grown by a quarter.
func (m *MixSoFar) Add(class ClassID, share Share, nodes int32) (anew bool) {
	m.seen.Add(class, share, nodes)
	if m.seen.total < m.next {
		return false
	}
	m.mix, m.next = m.seen.Mix(), m.seen.total+max(1, m.seen.total/mixGrowth)
	return true
}

// Mix is what placements go by.
func (m *MixSoFar) Mix() *Mix { return m.mix }

// Mix says how often each kind of task has been asked for. It never changes.
type Mix struct {
	needs []need
	total int64
}

// need is the tasks that ask for the same GPUs of nodes of a class.
type need struct {
	class       ClassID
	whole       bool
	gpus, milli int32   // so many GPUs with at least so many free thousandths
	cpus        []int32 // ascending
	upTo        []int64 // tasks that ask for as many CPUs or fewer
}

// Mix is what has been asked for so far.
func (r *Requests) Mix() *Mix {
	m := &Mix{total: r.total}
	tasks := slices.Clone(r.tasks)
	for i := range tasks {
		if t := &tasks[i]; t.gpus > 0 {
			t.milli = wholeMilli
		} else {
			t.gpus = min(t.milli, 1)
		}
	}
	slices.SortFunc(tasks, func(a, b counted) int { //detlint:total equal tasks are counted together
		return cmp.Or(cmp.Compare(a.class, b.class), compareBool(a.whole, b.whole), cmp.Compare(a.gpus, b.gpus), cmp.Compare(a.milli, b.milli), cmp.Compare(a.cpus, b.cpus))
	})
	for _, t := range tasks {
		if t.gpus == 0 && !t.whole {
			continue // no GPU is of use to it
		}
		last := len(m.needs) - 1
		if last < 0 || m.needs[last].class != t.class || m.needs[last].whole != t.whole || m.needs[last].gpus != t.gpus || m.needs[last].milli != t.milli {
			m.needs = append(m.needs, need{class: t.class, whole: t.whole, gpus: t.gpus, milli: t.milli})
			last++
		}
		n := &m.needs[last]
		before := int64(0)
		if k := len(n.upTo); k > 0 {
			before = n.upTo[k-1]
		}
		n.cpus, n.upTo = append(n.cpus, t.cpus), append(n.upTo, before+t.count)
	}
	return m
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// within is the number of tasks of n for which so many CPUs are enough.
func (n *need) within(cpus int32) int64 {
	i, found := slices.BinarySearch(n.cpus, cpus)
	switch {
	case found:
		return n.upTo[i]
	case i > 0:
		return n.upTo[i-1]
	}
	return 0
}
