package backfill

import (
	"slices"

	"orrery/scheduler/model"
)

// Window bounds how far and how finely a Timeline plans, as Slurm's parameters of
// the same meaning do. The zero value has no end and plans to the microsecond.
type Window struct {
	Length     model.Duration // bf_window: no reservation starts later than this from now; 0 for no bound
	Resolution model.Duration // bf_resolution: instants are rounded up to multiples of it; 0 or 1 for none
	Interval   model.Duration // bf_interval: least time between two plans; 0 plans at every pass
	Tests      int            // bf_max_job_test: jobs tried in a pass; 0 for all
}

// Timeline is which nodes are predicted to be free when: a list of spans, each
// with the set of nodes free throughout it. Everything but Reset costs the words
// of a node set per span touched.
type Timeline struct {
	at   []model.Time // beginnings of the spans, ascending; the last one has no end
	free []model.NodeSet
	pool []model.NodeSet
	n    int
	both model.NodeSet // scratch of Earliest
}

// NewTimeline is a timeline over n nodes; Reset it before use.
func NewTimeline(n int) *Timeline {
	return &Timeline{n: n, both: model.NewNodeSet(n)}
}

// Reset starts anew: the nodes of free are free from now on, for ever.
func (t *Timeline) Reset(now model.Time, free model.NodeSet) {
	t.pool = append(t.pool, t.free...)
	t.at, t.free = append(t.at[:0], now), append(t.free[:0], t.copyOf(free))
}

func (t *Timeline) copyOf(s model.NodeSet) model.NodeSet {
	if k := len(t.pool); k > 0 {
		c := t.pool[k-1]
		t.pool = t.pool[:k-1]
		copy(c, s)
		return c
	}
	return slices.Clone(s)
}

// Split makes at the beginning of a span, if it lies within the timeline, and
// returns its index.
func (t *Timeline) Split(at model.Time) int {
	i, found := slices.BinarySearch(t.at, at)
	if found || i == 0 || at == model.Never {
		return i
	}
	t.at = slices.Insert(t.at, i, at)
	t.free = slices.Insert(t.free, i, t.copyOf(t.free[i-1]))
	return i
}

// Add makes the nodes free over [from, until).
func (t *Timeline) Add(from, until model.Time, nodes model.NodeSet) {
	for i, end := t.Split(from), t.Split(until); i < end; i++ {
		t.free[i].Or(nodes)
	}
}

// Remove takes the nodes away over [from, until).
func (t *Timeline) Remove(from, until model.Time, nodes model.NodeSet) {
	for i, end := t.Split(from), t.Split(until); i < end; i++ {
		t.free[i].AndNot(nodes)
	}
}

// Throughout writes into dst the nodes free over all of [from, until).
func (t *Timeline) Throughout(from, until model.Time, dst model.NodeSet) {
	i, found := slices.BinarySearch(t.at, from)
	if !found {
		i--
	}
	copy(dst, t.free[max(i, 0)])
	for i++; i < len(t.at) && t.at[i] < until; i++ {
		dst.And(t.free[i])
	}
}

// Holds says whether all nodes are free over [from, until).
func (t *Timeline) Holds(from, until model.Time, nodes model.NodeSet) bool {
	t.Throughout(from, until, t.both)
	for i, w := range nodes {
		if w&^t.both[i] != 0 {
			return false
		}
	}
	return true
}

// Earliest finds the first beginning of a span in [from, limit] from which on
// enough nodes of mask are free until what until says of it: at least n, and such
// that fits says yes; Never when there is none. Instants between two beginnings need no
// look, for nothing comes free there.
func (t *Timeline) Earliest(from, limit model.Time, until func(model.Time) model.Time, mask model.NodeSet, n int32, fits func(at model.Time, nodes model.NodeSet) bool) model.Time {
	i, found := slices.BinarySearch(t.at, from)
	if !found {
		i--
	}
	for i = max(i, 0); i < len(t.at); i++ {
		at := max(t.at[i], from)
		if at > limit {
			return model.Never
		}
		if t.enough(i, until(at), mask, n) && fits(at, t.both) {
			return at
		}
	}
	return model.Never
}

// enough gathers in t.both the nodes of mask that are free from span i until
// the instant, and says whether they are n.
func (t *Timeline) enough(i int, until model.Time, mask model.NodeSet, n int32) bool {
	copy(t.both, mask)
	t.both.And(t.free[i])
	if t.both.Len() < n {
		return false
	}
	for i++; i < len(t.at) && t.at[i] < until; i++ {
		t.both.And(t.free[i])
		if t.both.Len() < n {
			return false
		}
	}
	return true
}
