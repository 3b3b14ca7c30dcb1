package sim

import (
	"cmp"
	"slices"

	"orrery/scheduler/order/ordertest"
)

// queue sorts all waiting jobs by the exact key of the order, then by id, and counts
// neighbours of which the core may have either first.
func (w *naive) queue() []*naiveJob {
	type keyed struct {
		*naiveJob
		key ordertest.Key
	}
	queue := make([]keyed, len(w.waiting))
	for i, j := range w.waiting {
		queue[i] = keyed{j, w.keys.Of(w.spec.Order, j.ordered(), w.now)}
	}
	slices.SortFunc(queue, func(a, b keyed) int { return cmp.Or(a.key.Cmp(b.key), a.id-b.id) })
	out := make([]*naiveJob, len(queue))
	for i, j := range queue {
		if out[i] = j.naiveJob; i > 0 && w.keys.Undecided(w.spec.Order, out[i-1].ordered(), out[i].ordered(), w.now) {
			w.undecided++
		}
	}
	return out
}

// ordered is what the place of j in a queue hangs on.
func (j *naiveJob) ordered() ordertest.Job {
	return ordertest.Job{Submit: j.submit, Walltime: j.walltime, Units: int64(j.units)}
}
