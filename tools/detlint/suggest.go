package main

import (
	"slices"

	"orrery/scheduler/model/draw"
)

// suggest orders files so that few arrows go upward. Which order has the fewest is the
// minimum feedback arc set, which is hard: this one is the best that is found in some
// seconds, always the same, and the given order where none is better.
func suggest(order []string, arrows []arrow) []string {
	g, to := graph{make([][]int, len(order))}, newArrows(len(order))
	for _, a := range arrows {
		i, j := slices.Index(order, a.from), slices.Index(order, a.to)
		g.to[i] = append(g.to[i], j)
		to[i][j] = 1
	}
	components := g.components()
	slices.Reverse(components) // from the top
	var best []int
	for _, c := range components {
		best = append(best, to.within(c)...)
	}
	given := make([]int, len(order))
	for i := range given {
		given[i] = i
	}
	if to.upward(best) >= to.upward(given) {
		return order
	}
	out := make([]string, len(order))
	for i, at := range best {
		out[i] = order[at]
	}
	return out
}

// arrowTable has 1 at [i][j] where an arrow goes from i to j.
type arrowTable [][]int

func newArrows(n int) arrowTable {
	t := make(arrowTable, n)
	for i := range t {
		t[i] = make([]int, n)
	}
	return t
}

// upward counts the arrows from a later to an earlier one.
func (t arrowTable) upward(order []int) (n int) {
	for i, a := range order {
		for _, b := range order[:i] {
			n += t[a][b]
		}
	}
	return n
}

// within orders the members of a component by simulated annealing: a member is drawn and
// moved to a place that is drawn, if that takes an upward arrow away or, less and less often,
// if it adds some.
func (t arrowTable) within(members []int) []int {
	const (
		restarts = 5
		steps    = 200_000
		hot      = 3.0  // arrows
		cold     = 0.05 // so that one arrow more is accepted once in 5e8 steps
	)
	best, least := members, t.upward(members)
	if len(members) == 1 {
		return best
	}
	n := int64(len(members))
	for restart := range uint64(restarts) {
		source := draw.New(0, draw.StreamOf("order of files"), restart, 0)
		order, up := slices.Clone(members), t.upward(members)
		for step := range steps {
			from, to := int(source.IntN(n)), int(source.IntN(n))
			change, heat := t.change(order, from, to), hot+(cold-hot)*float64(step)/steps
			if float64(change) > heat*source.Exponential() {
				continue
			}
			member := order[from]
			order = slices.Insert(slices.Delete(order, from, from+1), to, member)
			if up += change; up < least {
				best, least = slices.Clone(order), up
			}
		}
	}
	return best
}

// change is how many more arrows go upward once the member at one place is at another.
func (t arrowTable) change(order []int, from, to int) (n int) {
	m := order[from]
	for i := to; i < from; i++ {
		n += t[order[i]][m] - t[m][order[i]]
	}
	for i := from + 1; i <= to; i++ {
		n += t[m][order[i]] - t[order[i]][m]
	}
	return n
}
