package sim

import (
	"slices"

	"orrery/scheduler/model"
)

// fits says whether j could be placed on nodes with so many free units.
func (w *naive) fits(j *naiveJob, free []int32) bool {
	got := int32(0)
	switch {
	case w.whole:
		for n, f := range free {
			if f == w.units[n] && j.perNode <= f {
				got++
			}
		}
	case j.nodes > 0:
		for _, f := range free {
			if f >= j.perNode {
				got++
			}
		}
	default:
		for _, f := range free {
			got += f
		}
	}
	return got >= w.need(j)
}

// need is the number of nodes (whole nodes, or the PerNode shape) or units.
func (w *naive) need(j *naiveJob) int32 {
	switch {
	case j.nodes > 0:
		return j.nodes
	case w.whole:
		return (j.units + w.units[0] - 1) / w.units[0]
	}
	return j.units
}

// choose picks the nodes of a job that fits. Whole nodes: the lowest ids.
// Units anywhere: one node if one holds them, the fullest that does, else the
// emptiest node as a whole and the rest by the same rule. So many nodes with so
// many units each: the fullest that hold them. Ties go to the lowest id.
func (w *naive) choose(j *naiveJob) map[int]int32 {
	free, held := slices.Clone(w.free), make(map[int]int32, min(int(w.need(j)), len(w.units)))
	switch {
	case w.whole:
		for n, f := range free {
			if f == w.units[n] && int32(len(held)) < w.need(j) {
				held[n] = f
			}
		}
	case j.nodes > 0:
		for range j.nodes {
			n := fullest(free, j.perNode)
			held[n], free[n] = j.perNode, 0
		}
	default:
		for left := j.units; left > 0; {
			n := fullest(free, left)
			if n < 0 {
				n = emptiest(free)
			}
			take := min(left, free[n])
			held[n], free[n] = take, 0
			left -= take
		}
	}
	return held
}

// fullest is the node with the fewest free units that still has u, -1 if none.
func fullest(free []int32, u int32) int {
	best := -1
	for n, f := range free {
		if f >= u && f > 0 && (best < 0 || f < free[best]) {
			best = n
		}
	}
	return best
}

// emptiest is the node with the most free units.
func emptiest(free []int32) int {
	best := 0
	for n, f := range free {
		if f > free[best] {
			best = n
		}
	}
	return best
}

// predictedEnd is when j is predicted to end: one second from now when that
// instant has come already and the job is still there.
func (w *naive) predictedEnd(j *naiveJob) model.Time {
	if j.predicted <= w.now {
		return w.planned(w.now.Add(model.Second))
	}
	return j.predicted
}

// shadow is the earliest predicted instant at which head fits, and the free
// units of each node then.
func (w *naive) shadow(head *naiveJob) (model.Time, []int32) {
	var instants []model.Time
	for _, j := range w.running {
		if !j.returned {
			instants = append(instants, w.predictedEnd(j))
		}
	}
	for _, at := range sorted(instants) {
		free := slices.Clone(w.free)
		for _, j := range w.running {
			if !j.returned && w.predictedEnd(j) <= at {
				for n, u := range j.held {
					free[n] += u
				}
			}
		}
		if w.fits(head, free) {
			return at, free
		}
	}
	return model.Never, nil
}
