package sim

import (
	"cmp"
	"slices"

	"orrery/scheduler/order/ordertest"
)

// queue sorts all waiting jobs by the exact key of the order, then by id, and counts
// neighbours of which the core may have either first.
func (w *naive) queue() []*naiveJob {
	queue := make([]*naiveJob, len(w.waiting))
	for i, j := range w.waiting {
		if j.key.Num == nil || ordertest.Ages(w.spec.Order) {
			j.key = w.keys.Of(w.spec.Order, j.ordered(), w.now)
		}
		queue[i] = j
	}
	slices.SortFunc(queue, func(a, b *naiveJob) int { return cmp.Or(a.key.Cmp(b.key), a.id-b.id) })
	for i := 1; i < len(queue); i++ {
		if w.keys.Undecided(w.spec.Order, queue[i-1].ordered(), queue[i].ordered(), w.now) {
			w.undecided++
		}
	}
	return queue
}

// ordered is what the place of j in a queue hangs on.
func (j *naiveJob) ordered() ordertest.Job {
	return ordertest.Job{Submit: j.submit, Walltime: j.walltime, Units: int64(j.units)}
}
