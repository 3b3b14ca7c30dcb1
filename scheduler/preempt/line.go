package preempt

import (
	"slices"

	"orrery/scheduler/model"
)

// Line is the order in which candidates are made to leave, as indices in dst, which is overwritten:
// by class, by what cost says of each, the latest start first, and by id.
func Line(candidates []Victim, now model.Time, cost func(*Victim) *Config, dst []int) []int {
	dst = dst[:0]
	for i := range candidates {
		v := &candidates[i]
		c := cost(v)
		v.cost = c.Cost(v, now, c.Bandwidth)
		dst = append(dst, i)
	}
	//detlint:total the comparison ends in the job id
	slices.SortFunc(dst, func(a, b int) int { return compare(&candidates[a], &candidates[b]) })
	return dst
}
