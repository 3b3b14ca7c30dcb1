package neon

import (
	"cmp"
	"slices"

	"orrery/autoscale"
)

// Queue orders machines by how little they do: those are the first to migrate. Machines
// without metrics come last, and among equals the lower number first.
type Queue struct {
	list []candidate
}

type candidate struct {
	vm   autoscale.Entity
	load float64
	has  bool
}

func (c candidate) compare(d candidate) int {
	switch {
	case c.has != d.has && c.has:
		return -1
	case c.has != d.has:
		return 1
	}
	return cmp.Or(cmp.Compare(c.load, d.load), cmp.Compare(c.vm, d.vm))
}

// Put enters a machine with its load, or changes it; has is false when it is not known.
func (q *Queue) Put(vm autoscale.Entity, load float64, has bool) {
	q.Remove(vm)
	if !has {
		load = 0
	}
	c := candidate{vm, load, has}
	i, _ := slices.BinarySearchFunc(q.list, c, candidate.compare)
	q.list = slices.Insert(q.list, i, c)
}

// Remove takes a machine out.
func (q *Queue) Remove(vm autoscale.Entity) {
	for i := range q.list {
		if q.list[i].vm == vm {
			q.list = slices.Delete(q.list, i, i+1)
			return
		}
	}
}

// Next is the machine to migrate first; ok is false when there is none. has says whether
// its load is known.
func (q *Queue) Next() (vm autoscale.Entity, load float64, has, ok bool) {
	if len(q.list) == 0 {
		return 0, 0, false, false
	}
	c := q.list[0]
	return c.vm, c.load, c.has, true
}
