package workflow

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"orrery/scheduler/model"
)

// MaxMembers of a DAG.
const MaxMembers = 1000

// Member is a job among those that are checked or paired together.
type Member struct {
	Job   model.JobID
	ID    int64 // for messages
	Group int32 // task group, -1 none
	Index int32
	Deps  []model.Dependency
}

// Validate says what is wrong with a DAG, or nil: it must have 1 to MaxMembers
// different members, depend on members only, and be acyclic (Kahn: Topological
// sorting of large networks, CACM 1962). Mutexes order nothing and make no
// cycle. Cost: members and dependencies, with one logarithm.
func Validate(name string, members []Member) error {
	if err := validate(members); err != nil {
		return fmt.Errorf("dag %q: %w", name, err)
	}
	return nil
}

func validate(members []Member) error {
	switch n := len(members); {
	case n == 0:
		return errors.New("no members, want at least 1")
	case n > MaxMembers:
		return fmt.Errorf("%d members, want at most %d: split it where few dependencies cross", n, MaxMembers)
	}
	byJob := sorted(members, func(a, b *Member) int { return cmp.Compare(a.Job, b.Job) })
	for i := 1; i < len(byJob); i++ {
		if a := &members[byJob[i]]; a.Job == members[byJob[i-1]].Job {
			return fmt.Errorf("job %d is a member twice", a.ID)
		}
	}
	d := dag{after: make([][]int, len(members)), before: make([][]int, len(members))}
	var before []int // of one member after another
	counts := make([]int, len(members))
	for i := range members {
		from := len(before)
		for _, dep := range members[i].Deps {
			if dep.Condition == model.Mutex {
				continue
			}
			j, ok := find(members, byJob, dep.On)
			if !ok {
				return fmt.Errorf("job %d depends on the job in row %d, which is not a member: add it or drop the dependency", members[i].ID, dep.On)
			}
			before = append(before, j)
			counts[j]++
		}
		d.before[i] = before[from:len(before):len(before)]
	}
	after := make([]int, len(before))
	for j, n := range counts {
		d.after[j], after = after[:0:n], after[n:]
	}
	for i := range members {
		for _, j := range d.before[i] {
			d.after[j] = append(d.after[j], i)
		}
	}
	if cycle := d.cycle(); cycle != nil {
		ids := make([]string, len(cycle))
		for i, m := range cycle {
			ids[i] = fmt.Sprint(members[m].ID)
		}
		return fmt.Errorf("a cycle, in which each job waits for the next: %s", strings.Join(ids, " -> "))
	}
	return nil
}

// sorted is the indices of members in the order of compare.
func sorted(members []Member, compare func(a, b *Member) int) []int {
	order := make([]int, len(members))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compare(&members[a], &members[b]) })
	return order
}

func find(members []Member, byJob []int, job model.JobID) (int, bool) {
	i, ok := slices.BinarySearchFunc(byJob, job, func(m int, job model.JobID) int { return cmp.Compare(members[m].Job, job) })
	if !ok {
		return 0, false
	}
	return byJob[i], true
}

// dag is the edges between members, by index, in both directions.
type dag struct{ after, before [][]int }

// cycle is the members of a cycle, with the first again at the end, or nil.
func (d dag) cycle() []int {
	open := make([]int, len(d.before))
	var ready []int
	for i := range open {
		if open[i] = len(d.before[i]); open[i] == 0 {
			ready = append(ready, i)
		}
	}
	for at := 0; at < len(ready); at++ {
		for _, j := range d.after[ready[at]] {
			if open[j]--; open[j] == 0 {
				ready = append(ready, j)
			}
		}
	}
	at := slices.IndexFunc(open, func(n int) bool { return n > 0 })
	if at < 0 {
		return nil
	}
	// Each job that is left waits for one that is left: going back from any of
	// them comes around.
	seen := make([]int, len(open)) // place in path, from 1
	var path []int
	for seen[at] == 0 {
		path = append(path, at)
		seen[at] = len(path)
		at = d.before[at][slices.IndexFunc(d.before[at], func(j int) bool { return open[j] > 0 })]
	}
	return append(path[seen[at]-1:], at)
}

// Pair makes each AfterCorr of a member of a task group name the element of
// equal index in the task group of the one it names; one without such a partner
// is dropped, since its job waits for nothing. members are all jobs that matter,
// among them whole the groups that are named. The Deps are changed in place.
// Cost: members and dependencies, with one logarithm.
func Pair(members []Member) {
	byJob := sorted(members, func(a, b *Member) int { return cmp.Compare(a.Job, b.Job) })
	byElement := sorted(members, element)
	for i := range members {
		m := &members[i]
		kept := m.Deps[:0]
		for _, d := range m.Deps {
			on, ok := find(members, byJob, d.On)
			if ok && d.Condition == model.AfterCorr && m.Group >= 0 && members[on].Group >= 0 {
				want := Member{Group: members[on].Group, Index: m.Index}
				at, found := slices.BinarySearchFunc(byElement, &want, func(j int, w *Member) int { return element(&members[j], w) })
				if !found {
					continue
				}
				d.On = members[byElement[at]].Job
			}
			kept = append(kept, d)
		}
		m.Deps = kept
	}
}

func element(a, b *Member) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Index, b.Index))
}
