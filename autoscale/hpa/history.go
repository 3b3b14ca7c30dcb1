package hpa

import (
	"slices"

	"orrery/scheduler/model"
)

// Recommendation is a number of replicas that was demanded at an instant.
type Recommendation struct {
	N  int64
	At model.Time
}

// History are the recommendations of the stabilisation windows. A new one takes the
// place of the last of those that no window covers, so that its length stays bounded.
type History []Recommendation

// record adds a recommendation in the place of the last that is from before cut.
func (h *History) record(now model.Time, n int64, cut model.Time) {
	for i, r := range slices.Backward(*h) {
		if r.At < cut {
			(*h)[i] = Recommendation{n, now}
			return
		}
	}
	*h = append(*h, Recommendation{n, now})
}

// StabilizeDown is the largest recommendation within the window, n among them: what
// holds without behaviours. One that is exactly as old as the window still counts.
func (h *History) StabilizeDown(now model.Time, n int64, window model.Duration) int64 {
	most := n
	cut := now.Add(-window)
	for _, r := range *h {
		if r.At >= cut {
			most = max(most, r.N)
		}
	}
	h.record(now, n, cut)
	return most
}

// Stabilize is current moved to where the windows of both directions allow: to the
// smallest recommendation of the window of growth, and to the largest of the window of
// shrinking. One that is exactly as old as a window does not count.
func (h *History) Stabilize(now model.Time, current, n int64, up, down model.Duration) int64 {
	least, most := n, n
	upCut, downCut := now.Add(-up), now.Add(-down)
	for _, r := range *h {
		if r.At > upCut {
			least = min(least, r.N)
		}
		if r.At > downCut {
			most = max(most, r.N)
		}
	}
	h.record(now, n, min(upCut, downCut))
	return min(max(current, least), most)
}

// Change is a number of replicas added, or removed, at an instant.
type Change struct {
	By int64
	At model.Time
}

// Changes are those of one direction.
type Changes []Change

// within is the sum of those younger than a period.
func (c Changes) within(now model.Time, period model.Duration) int64 {
	sum := int64(0)
	for _, x := range c {
		if x.At > now.Add(-period) {
			sum += x.By
		}
	}
	return sum
}

// add notes a change in the place of the last one that no policy of its own direction
// looks back to. Policies of the other direction may, and then miss it, as in the original.
func (c *Changes) add(x Change, policies []ScalingPolicy) {
	longest := model.Duration(0)
	for _, s := range policies {
		longest = max(longest, s.Period)
	}
	for i, old := range slices.Backward(*c) {
		if old.At < x.At.Add(-longest) {
			(*c)[i] = x
			return
		}
	}
	*c = append(*c, x)
}
