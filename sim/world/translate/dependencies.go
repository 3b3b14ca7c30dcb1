package translate

import (
	"slices"

	"orrery/scheduler/model"
)

// mutex says that a job needs the lock of a name.
type mutex struct {
	job  model.JobID
	name int32
}

// appendDependencies appends what a waits for to deps.
func (t *Site) appendDependencies(a *model.Allocation, deps []model.Dependency) []model.Dependency {
	if w := int(a.Job >> 6); w >= len(t.dependent) || t.dependent[w]>>(a.Job&63)&1 == 0 {
		return deps
	}
	edges := t.rows.Dependencies.Of(a.Job)
	if n := len(edges) + 1; n > cap(deps) { // one more for a mutex
		deps = model.SliceOf(&t.unused, n)
	}
	for _, e := range edges {
		if e.Condition != model.Mutex {
			deps = append(deps, model.Dependency{On: e.On, Condition: e.Condition})
		}
	}
	if i, ok := slices.BinarySearchFunc(t.mutexes, a.Job, func(m mutex, job model.JobID) int { return int(m.job) - int(job) }); ok {
		deps = append(deps, model.Dependency{On: -1, Condition: model.Mutex, Mutex: t.mutexes[i].name})
	}
	a.Awaited = t.Awaited(a.Job)
	return deps
}

// Awaited says whether other rows wait for the end of that of a job.
func (t *Site) Awaited(job model.JobID) bool {
	_, yes := slices.BinarySearch(t.awaited, job)
	return yes
}

// setDependencies finds out which jobs take part in dependencies, which have others
// waiting for them, and which share a lock: those that mutex edges join, under the lowest
// row of them as its name.
func (t *Site) setDependencies() {
	if t.rows.Dependencies == nil {
		return
	}
	root := map[model.JobID]model.JobID{}
	find := func(j model.JobID) model.JobID {
		for {
			up, ok := root[j]
			if !ok || up == j {
				return j
			}
			j = up
		}
	}
	var jobs []model.JobID
	for _, e := range t.rows.Dependencies.Edges {
		t.markDependent(e.Job)
		t.markDependent(e.On)
		if e.Condition != model.Mutex {
			t.awaited = append(t.awaited, e.On)
			continue
		}
		jobs = append(jobs, e.Job, e.On)
		a, b := find(e.Job), find(e.On)
		root[max(a, b)] = min(a, b)
	}
	slices.Sort(t.awaited)
	t.awaited = slices.Compact(t.awaited)
	slices.Sort(jobs)
	for _, j := range slices.Compact(jobs) {
		t.mutexes = append(t.mutexes, mutex{j, int32(find(j))})
	}
}

// markDependent marks a job that takes part in dependencies.
func (t *Site) markDependent(job model.JobID) {
	for int(job>>6) >= len(t.dependent) {
		t.dependent = append(t.dependent, 0)
	}
	t.dependent[job>>6] |= 1 << (job & 63)
}
