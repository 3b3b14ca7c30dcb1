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

// Validator checks DAGs, one after another.
type Validator struct { // memory that is used again
	byJob, before, counts, after, open, ready []int
	dag                                       dag
}

// Validate says what is wrong with a DAG, or nil: it must have 1 to MaxMembers
// different members, depend on members only, and be acyclic (Kahn: Topological
// sorting of large networks, CACM 1962). Mutexes order nothing and make no
// cycle. Cost: members and dependencies, with one logarithm.
func (v *Validator) Validate(name string, members []Member) error {
	if err := v.validate(members); err != nil {
		return fmt.Errorf("dag %q: %w", name, err)
	}
	return nil
}

func (v *Validator) validate(members []Member) error {
	switch n := len(members); {
	case n == 0:
		return errors.New("no members, want at least 1")
	case n > MaxMembers:
		return fmt.Errorf("%d members, want at most %d: split it where few dependencies cross", n, MaxMembers)
	}
	v.byJob = sorted(members, v.byJob, func(a, b *Member) int { return cmp.Compare(a.Job, b.Job) })
	for i := 1; i < len(v.byJob); i++ {
		if a := &members[v.byJob[i]]; a.Job == members[v.byJob[i-1]].Job {
			return fmt.Errorf("job %d is a member twice", a.ID)
		}
	}
	if err := v.link(members); err != nil {
		return err
	}
	if cycle := v.cycle(); cycle != nil {
		ids := make([]string, len(cycle))
		for i, m := range cycle {
			ids[i] = fmt.Sprint(members[m].ID)
		}
		return fmt.Errorf("a cycle, in which each job waits for the next: %s", strings.Join(ids, " -> "))
	}
	return nil
}

// link finds the edges between members.
func (v *Validator) link(members []Member) error {
	v.before = v.before[:0]
	v.counts = append(v.counts[:0], make([]int, len(members))...)
	v.dag.before, v.dag.after = v.dag.before[:0], v.dag.after[:0]
	for i := range members {
		for _, dep := range members[i].Deps {
			if dep.Condition == model.Mutex {
				continue
			}
			j, ok := find(members, v.byJob, dep.On)
			if !ok {
				return fmt.Errorf("job %d depends on the job in row %d, which is not a member: add it or drop the dependency", members[i].ID, dep.On)
			}
			v.before = append(v.before, j)
			v.counts[j]++
		}
	}
	// Only now does what was found stay where it is.
	before, after := v.before, append(v.after[:0], v.before...)
	v.after = after
	for i, m := range members {
		n := 0
		for _, dep := range m.Deps {
			if dep.Condition != model.Mutex {
				n++
			}
		}
		v.dag.before, before = append(v.dag.before, before[:n:n]), before[n:]
		v.dag.after, after = append(v.dag.after, after[:0:v.counts[i]]), after[v.counts[i]:]
	}
	for i := range members {
		for _, j := range v.dag.before[i] {
			v.dag.after[j] = append(v.dag.after[j], i)
		}
	}
	return nil
}

// sorted is the indices of members in the order of compare, in the memory of order.
func sorted(members []Member, order []int, compare func(a, b *Member) int) []int {
	order = order[:0]
	for i := range members {
		order = append(order, i)
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
func (v *Validator) cycle() []int {
	d, ready := v.dag, v.ready[:0]
	v.open = append(v.open[:0], make([]int, len(d.before))...)
	open := v.open
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
	v.ready = ready
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
	byJob := sorted(members, nil, func(a, b *Member) int { return cmp.Compare(a.Job, b.Job) })
	byElement := sorted(members, nil, element)
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
