package workflow

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// job is an awaited job outside of groups; its ref is its id.
func job(id model.JobID, deps ...model.Dependency) *model.Allocation {
	return &model.Allocation{Job: id, TaskGroup: -1, Awaited: true, Deps: deps}
}

func after(on model.JobID, c model.Condition) model.Dependency {
	return model.Dependency{On: on, Condition: c}
}

func (g *Graph) submit(jobs ...*model.Allocation) (last Status) {
	for _, a := range jobs {
		last = g.Submit(a, model.Ref(a.Job))
	}
	return last
}

func (g *Graph) end(id model.JobID, outcome model.JobState) Changes {
	var c Changes
	g.Ended(id, model.Ref(id), outcome, false, &c)
	return c
}

func refs(r ...model.Ref) []model.Ref { return r }

// TestConditions is the table of conditions and ends: does the successor start
// or is it cancelled? It does not matter when it is submitted.
func TestConditions(t *testing.T) {
	for _, c := range []struct {
		condition model.Condition
		starts    []model.JobState
		cancelled []model.JobState
	}{
		{model.AfterOK,
			[]model.JobState{model.Completed},
			[]model.JobState{model.Failed, model.Timeout, model.Cancelled, model.Rejected}},
		{model.AfterNotOK,
			[]model.JobState{model.Failed, model.Timeout, model.Rejected},
			[]model.JobState{model.Completed, model.Cancelled}},
		{model.AfterAny,
			[]model.JobState{model.Completed, model.Failed, model.Timeout, model.Cancelled, model.Rejected},
			nil},
		{model.AfterCorr,
			[]model.JobState{model.Completed},
			[]model.JobState{model.Failed, model.Timeout, model.Cancelled, model.Rejected}},
	} {
		check := func(outcome model.JobState, status Status, want Changes) {
			t.Run(fmt.Sprintf("%s of a %s job", c.condition, outcome), func(t *testing.T) {
				g := New()
				require.Equal(t, Blocked, g.submit(job(1), job(2, after(1, c.condition))), "it runs")
				require.Equal(t, want, g.end(1, outcome))
				require.Equal(t, status, g.submit(job(3, after(1, c.condition))), "it has gone")

				g = New()
				require.Equal(t, Blocked, g.submit(job(2, after(1, c.condition))), "it is still to come")
				require.Equal(t, Free, g.submit(job(1)))
				require.Equal(t, want, g.end(1, outcome))
			})
		}
		for _, outcome := range c.starts {
			check(outcome, Free, Changes{Released: refs(2)})
		}
		for _, outcome := range c.cancelled {
			check(outcome, Unsatisfiable, Changes{Unsatisfiable: refs(2)})
		}
	}
}

func TestAllConditionsMustHold(t *testing.T) {
	g := New()
	g.submit(job(1), job(2))
	require.Equal(t, Blocked, g.submit(job(3, after(1, model.AfterOK), after(2, model.AfterNotOK), after(1, model.AfterAny))))
	on, c, ok := g.Blocker(3)
	require.True(t, ok)
	require.EqualValues(t, 1, on)
	require.Contains(t, []model.Condition{model.AfterOK, model.AfterAny}, c)
	require.Empty(t, g.end(1, model.Completed))
	on, c, ok = g.Blocker(3)
	require.True(t, ok)
	require.EqualValues(t, 2, on)
	require.Equal(t, model.AfterNotOK, c)
	require.Equal(t, Changes{Released: refs(3)}, g.end(2, model.Failed))
	_, _, ok = g.Blocker(3)
	require.False(t, ok)
}

// TestCascade: one failure cancels all that hang on it, one by one; a handler
// and a job after any end run.
func TestCascade(t *testing.T) {
	g := New()
	g.submit(
		job(1),
		job(2, after(1, model.AfterOK)),
		job(3, after(2, model.AfterOK)),
		job(4, after(2, model.AfterNotOK)), // of a cancelled predecessor: cancelled
		job(5, after(2, model.AfterAny)),   // of a cancelled predecessor: runs
		job(6, after(1, model.AfterNotOK)), // the handler
		job(7, after(1, model.AfterOK), after(6, model.AfterOK)),
	)
	require.Equal(t, Changes{Released: refs(6), Unsatisfiable: refs(2, 7)}, g.end(1, model.Failed))
	require.Equal(t, Changes{Released: refs(5), Unsatisfiable: refs(3, 4)}, g.end(2, model.Cancelled))
	require.Empty(t, g.end(7, model.Cancelled), "named once")
	require.Empty(t, g.end(3, model.Cancelled))
	require.Empty(t, g.end(6, model.Completed), "7 has gone")
}

// TestD17RequeuedIsNoEnd: a failed predecessor that is requeued cancels no job
// and releases none; its last attempt counts.
func TestD17RequeuedIsNoEnd(t *testing.T) {
	g := New()
	g.submit(job(1), job(2, after(1, model.AfterOK)), job(3, after(1, model.AfterNotOK)), job(4, after(1, model.AfterAny)))
	for id := range model.JobID(3) {
		var c Changes
		g.Started(1)
		g.Stopped(1)
		g.Ended(1, 1, model.Failed, true, &c)
		require.Empty(t, c)
		require.Equal(t, Blocked, g.submit(job(5+id, after(1, model.AfterNotOK))))
		require.Empty(t, g.end(5+id, model.Cancelled))
	}
	require.Equal(t, Changes{Released: refs(2, 4), Unsatisfiable: refs(3)}, g.end(1, model.Completed))
}

// TestD17NamesAreResolved: a job that is named before it is submitted is the
// same job afterwards, under whatever ref it comes.
func TestD17NamesAreResolved(t *testing.T) {
	g := New()
	g.Submit(job(10, after(30, model.AfterOK)), 0)
	g.Submit(job(20, after(30, model.AfterOK)), 1)
	g.Submit(job(30), 2)
	var c Changes
	g.Ended(10, 0, model.Cancelled, false, &c)
	require.Equal(t, Free, g.Submit(job(40), 0), "its ref serves again")
	g.Ended(30, 2, model.Completed, false, &c)
	require.Equal(t, Changes{Released: refs(1)}, c)
}

// task is element index of a task group.
func task(id model.JobID, group, index int32, deps ...model.Dependency) *model.Allocation {
	a := job(id, deps...)
	a.TaskGroup, a.Index = group, index
	return a
}

// TestCorresponding: elements pair by index and have outcomes of their own;
// surplus elements of the successor start at once.
func TestCorresponding(t *testing.T) {
	g := New()
	g.submit(task(0, 7, 0), task(1, 7, 1))
	require.Equal(t, Blocked, g.submit(task(10, 8, 0, after(0, model.AfterCorr))))
	require.Equal(t, Blocked, g.submit(task(11, 8, 1, after(1, model.AfterCorr))))
	require.Equal(t, Free, g.submit(task(12, 8, 2, after(1, model.AfterCorr))), "surplus")
	require.Equal(t, Blocked, g.submit(job(13, after(1, model.AfterCorr))), "outside of groups it is success")
	require.Equal(t, Changes{Unsatisfiable: refs(10)}, g.end(0, model.Failed))
	require.Equal(t, Changes{Released: refs(11, 13)}, g.end(1, model.Completed))
	require.Equal(t, Free, g.submit(task(14, 8, 4, after(0, model.AfterCorr))), "surplus, later")
	require.Equal(t, Blocked, g.submit(task(15, 8, 3, after(2, model.AfterCorr))), "not known yet")
	g.submit(task(2, 7, 2))
	require.Equal(t, Changes{Released: refs(15)}, g.end(2, model.Failed))
}

func TestMemory(t *testing.T) {
	plain := func(id model.JobID, deps ...model.Dependency) *model.Allocation {
		a := job(id, deps...)
		a.Awaited = false
		return a
	}
	g := New()
	g.submit(plain(1))
	g.end(1, model.Completed)
	require.Equal(t, Blocked, g.submit(job(2, after(1, model.AfterAny))), "it was not marked as asked for")
	require.Empty(t, g.end(2, model.Cancelled))
	require.Len(t, g.byJob, 1, "the outcome of 2")

	require.Equal(t, Unsatisfiable, g.submit(plain(3, after(4, model.AfterOK), after(2, model.AfterOK))))
	require.Len(t, g.byJob, 2, "what a hopeless job named is not kept")
	require.Empty(t, g.end(3, model.Cancelled))
	require.Equal(t, Unsatisfiable, g.submit(plain(5, after(5, model.AfterAny))), "it waits for itself")

	locks := task(10, 4, 0, model.Dependency{Condition: model.Mutex, Mutex: 3})
	g.submit(locks)
	require.Len(t, g.groups.slots, 1)
	require.Len(t, g.locks.slots, 1)
	g.end(10, model.Completed)
	require.Empty(t, g.groups.slots)
	require.Empty(t, g.locks.slots)

	var c Changes
	g.submit(job(6, after(9, model.AfterAny)), job(7, after(9, model.AfterOK)))
	g.Ended(9, -1, model.Rejected, false, &c)
	require.Equal(t, Changes{Released: refs(6), Unsatisfiable: refs(7)}, c, "refused before it was submitted")
	require.Equal(t, Unsatisfiable, g.submit(job(8, after(9, model.AfterOK))))
}

// TestGroupLimit: at most MaxConcurrent members of a task group are started;
// each counts alone, and other groups do not.
func TestGroupLimit(t *testing.T) {
	g := New()
	for id := range model.JobID(5) {
		a := task(id, 3, int32(id))
		a.MaxConcurrent = 2
		g.submit(a)
	}
	g.submit(task(5, 4, 0))
	g.Started(0)
	require.Equal(t, model.ReasonNone, g.Gate(1))
	g.Started(1)
	g.Started(1)
	require.Equal(t, model.ReasonGroupLimit, g.Gate(2))
	require.Equal(t, model.ReasonNone, g.Gate(5))
	g.Stopped(1) // refused, or preempted
	require.Equal(t, model.ReasonNone, g.Gate(2))
	g.Started(2)
	require.Equal(t, model.ReasonGroupLimit, g.Gate(1))
	g.end(0, model.Completed)
	require.Equal(t, model.ReasonNone, g.Gate(1))
}

// TestMutexIsALock: one holder at a time, by name, and no order.
func TestMutexIsALock(t *testing.T) {
	lock := func(name int32) model.Dependency { return model.Dependency{Condition: model.Mutex, Mutex: name} }
	g := New()
	require.Equal(t, Free, g.submit(job(1, lock(7))))
	require.Equal(t, Free, g.submit(job(2, lock(7), lock(8))), "a lock is no predecessor")
	require.Equal(t, Free, g.submit(job(3, lock(8))))
	g.Started(2)
	require.Equal(t, model.ReasonMutex, g.Gate(1))
	require.Equal(t, model.ReasonMutex, g.Gate(3))
	require.Panics(t, func() { g.Started(3) })
	g.Stopped(2)
	require.Equal(t, model.ReasonNone, g.Gate(1))
	g.Started(1)
	require.Equal(t, model.ReasonMutex, g.Gate(2))
	require.Equal(t, model.ReasonNone, g.Gate(3))
	g.Started(3)
	g.end(1, model.Failed)
	require.Equal(t, model.ReasonMutex, g.Gate(2), "8 is held")
	g.end(3, model.Failed)
	require.Equal(t, model.ReasonNone, g.Gate(2))
}

func TestContradictionsPanic(t *testing.T) {
	g := New()
	g.submit(job(1))
	require.Panics(t, func() { g.Submit(job(2), 1) }, "ref in use")
	require.Panics(t, func() { g.Submit(job(1), 2) }, "job in use")
	require.Panics(t, func() { g.end(1, model.Running) }, "no end")
	var c Changes
	require.Panics(t, func() { g.Ended(3, 1, model.Completed, false, &c) }, "another job")
	require.Panics(t, func() { g.Ended(1, -1, model.Completed, false, &c) }, "it has a ref")
}

// BenchmarkGraph is a job of its own, or one of a chain of jobs, from its
// submission to its end.
func BenchmarkGraph(b *testing.B) {
	for _, chained := range []bool{false, true} {
		b.Run(fmt.Sprintf("chained=%t", chained), func(b *testing.B) {
			g := New()
			var c Changes
			a := model.Allocation{TaskGroup: -1, Awaited: false, Deps: make([]model.Dependency, 0, 1)}
			const window = 1000
			b.ReportAllocs()
			for i := range b.N {
				a.Job = model.JobID(i)
				if chained && i%window > 0 {
					a.Deps = append(a.Deps[:0], after(a.Job-1, model.AfterAny))
				} else {
					a.Deps = a.Deps[:0]
				}
				ref := model.Ref(i % window)
				if i >= window {
					c.Reset()
					g.Ended(a.Job-window, ref, model.Completed, false, &c)
				}
				g.Submit(&a, ref)
			}
		})
	}
}

// TestAllocatesNothing once its tables have grown.
func TestAllocatesNothing(t *testing.T) {
	g := New()
	var c Changes
	first, second := job(1), task(2, 1, 0, after(1, model.AfterOK), model.Dependency{Condition: model.Mutex, Mutex: 3})
	first.Awaited, second.Awaited = false, false
	require.Zero(t, testing.AllocsPerRun(100, func() {
		c.Reset()
		g.submit(first, second)
		g.Started(1)
		g.Ended(1, 1, model.Completed, false, &c)
		g.Started(2)
		g.Ended(2, 2, model.Completed, false, &c)
	}))
}
