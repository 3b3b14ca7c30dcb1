package fidelity

import (
	"cmp"
	"slices"
)

// An overtaking is a pair of jobs of which the later submitted started the earlier. Pairs submitted at one
// instant by the clock of the record, or started at one, are none. They are counted exactly, in
// O(n log² n) steps and O(n) space, since there may be n²/2 of them.

// overtakings counts the pairs that are overtakings in both series of starts; with the same series twice,
// in that one.
func overtakings(submit, x, y []float64) int64 {
	c := counter{x: x, ranked: make([]int, len(y)), tree: make([]int32, len(y)+1), space: make([]int, len(y))}
	distinct := slices.Compact(slices.Sorted(slices.Values(y)))
	for i, v := range y {
		c.ranked[i], _ = slices.BinarySearch(distinct, v)
	}
	order := make([]int, len(submit))
	for i := range order {
		order[i] = i
	}
	// Of one submission the earlier started stands before the later: such a pair is then no overtaking.
	//detlint:total jobs that are equal in all of this count alike
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(submit[a], submit[b]), cmp.Compare(x[a], x[b]))
	})
	return c.count(order)
}

// counter divides the jobs by submission, and conquers by the starts in x: the pairs of a job in the left
// half and one in the right half that started before it in x are counted by their ranks in y.
type counter struct {
	x      []float64
	ranked []int   // by job: rank in y from 0, equal ones have one
	tree   []int32 // Fenwick tree over the ranks
	space  []int
}

// count counts the pairs among jobs in the order of submission, and leaves the jobs in that of x.
func (c *counter) count(jobs []int) int64 {
	if len(jobs) < 2 {
		return 0
	}
	left, right := jobs[:len(jobs)/2], jobs[len(jobs)/2:]
	pairs := c.count(left) + c.count(right)
	entered := 0
	for _, job := range left {
		for ; entered < len(right) && c.x[right[entered]] < c.x[job]; entered++ {
			c.add(c.ranked[right[entered]], 1)
		}
		pairs += c.below(c.ranked[job])
	}
	for _, job := range right[:entered] {
		c.add(c.ranked[job], -1)
	}
	c.merge(jobs, left, right)
	return pairs
}

func (c *counter) merge(into, left, right []int) {
	merged := c.space[:0]
	for len(left) > 0 && len(right) > 0 {
		if c.x[right[0]] < c.x[left[0]] {
			merged, right = append(merged, right[0]), right[1:]
		} else {
			merged, left = append(merged, left[0]), left[1:]
		}
	}
	merged = append(append(merged, left...), right...)
	copy(into, merged)
}

func (c *counter) add(rank int, n int32) {
	for i := rank + 1; i < len(c.tree); i += i & -i {
		c.tree[i] += n
	}
}

// below counts what was entered with a lower rank.
func (c *counter) below(rank int) (n int64) {
	for i := rank; i > 0; i -= i & -i {
		n += int64(c.tree[i])
	}
	return n
}
