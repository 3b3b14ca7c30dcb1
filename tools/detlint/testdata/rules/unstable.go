// Package unstable sorts with ties.
package unstable

import (
	"cmp"
	"slices"
	"sort"
)

type job struct{ submit, id int }

func wrong(jobs []job) {
	sort.Slice(jobs, func(i, j int) bool { return jobs[i].submit < jobs[j].submit })              // want unstable
	slices.SortFunc(jobs, func(a, b job) int { return cmp.Compare(a.submit, b.submit) })          // want unstable
	sort.Sort(sort.IntSlice(nil))                                                                 // want unstable
	_ = slices.SortedFunc(slices.Values(jobs), func(a, b job) int { return a.submit - b.submit }) // want unstable
}

func right(jobs []job, ids []int) {
	slices.Sort(ids)
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(a.submit, b.submit) })
	//detlint:total job ids are unique
	slices.SortFunc(jobs, func(a, b job) int {
		return cmp.Or(cmp.Compare(a.submit, b.submit), cmp.Compare(a.id, b.id))
	})
}
