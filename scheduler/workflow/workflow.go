// Package workflow says which jobs may start as far as other jobs go:
// dependencies between them, the bound on running members of a task group, and
// mutexes, which are locks by name. It knows no nodes, no limits of tenants and
// no time, and it starts and cancels nothing itself.
package workflow

import (
	"cmp"
	"slices"

	"orrery/scheduler/model"
)

// Status of a job at its submission.
type Status uint8

const (
	Free          Status = iota // all its conditions hold
	Blocked                     // a condition is open
	Unsatisfiable               // a condition cannot hold any more
)

// Changes is what the end of a job means for others, each part by job id.
type Changes struct {
	Released      []model.Ref // now all their conditions hold
	Unsatisfiable []model.Ref // they can never run: cancel them
}

// Reset empties c and keeps its room.
func (c *Changes) Reset() { c.Released, c.Unsatisfiable = c.Released[:0], c.Unsatisfiable[:0] }

// Graph is the jobs in the system and what they wait for. Its memory is that of
// the jobs in the system, of the open conditions, of the jobs that conditions
// name and that have not been submitted yet, and of one record for each job that
// has gone and was marked Awaited: its outcome is kept for good, since a job
// that asks for it may still be submitted. A condition on a job that was not
// marked may be open for ever: of those that no job waits for and that wait for
// none themselves there is no record. Not safe for concurrent use.
//
// AfterCorr names the element that it pairs with, see Pair. Where it names an
// element of another index it holds at once, or if that element is still to be
// submitted, when it has ended in any way.
type Graph struct {
	byJob   map[model.JobID]int32 // records, looked up and never walked
	records []record
	spare   []int32 // records out of use
	edges   []edge
	unused  []int32   // edges out of use
	members []member  // by Ref
	groups  tallies   // of task groups
	locks   tallies   // of mutexes
	lists   [][]int32 // of mutexes, of the few jobs that have any
	idle    []int32   // lists out of use
	reopens uint64    // how often a task group or a mutex had one less that had started
}

// New returns a graph without jobs.
func New() *Graph {
	return &Graph{
		byJob:  map[model.JobID]int32{},
		groups: tallies{slots: map[int32]int32{}},
		locks:  tallies{slots: map[int32]int32{}},
	}
}

const none = -1

// record is what is known of a job by its id.
type record struct {
	stage   stage
	outcome model.JobState // when over
	awaited bool
	group   int32
	index   int32
	edges   int32 // first of the open conditions on it
	job     model.JobID
}

type stage uint8

const (
	expected stage = iota // named, not submitted
	present
	over
)

// edge is an open condition. It is in the list of its predecessor, in both
// directions, and in that of the job that waits.
type edge struct {
	from      int32 // record of the predecessor
	to        model.Ref
	condition model.Condition
	next      int32
	previous  int32
	sibling   int32 // next open condition of the same job
}

// member is a job in the system.
type member struct {
	job     model.JobID
	record  int32 // none where no other job matters
	edges   int32 // first of its open conditions
	open    int32 // how many
	group   int32 // tally of its task group
	bound   int32 // MaxConcurrent
	mutexes int32 // which of Graph.lists names its mutexes, none where it has none
	known   bool
	started bool
}

// Submit takes a job in under ref and says whether its dependencies hold. Cost:
// its dependencies.
func (g *Graph) Submit(a *model.Allocation, ref model.Ref) Status {
	for int(ref) >= len(g.members) {
		g.members = append(g.members, member{mutexes: none})
	}
	m := &g.members[ref]
	if m.known {
		panic("workflow: submission under a ref that is in use")
	}
	*m = member{known: true, job: a.Job, record: none, edges: none, group: none, mutexes: none}
	if !a.Awaited && len(a.Deps) == 0 && a.TaskGroup < 0 {
		return Free
	}
	m.record = g.recordOf(a.Job)
	r := &g.records[m.record]
	if r.stage != expected {
		panic("workflow: a job is submitted twice")
	}
	r.stage, r.awaited, r.group, r.index = present, a.Awaited, a.TaskGroup, a.Index
	m.group, m.bound = g.groups.join(a.TaskGroup), a.MaxConcurrent
	return g.depend(a, ref)
}

// depend opens the conditions of a.
func (g *Graph) depend(a *model.Allocation, ref model.Ref) Status {
	m := &g.members[ref]
	unsatisfiable := false
	for _, d := range a.Deps {
		if d.Condition == model.Mutex {
			g.addMutex(m, g.locks.join(d.Mutex))
			continue
		}
		p := g.recordOf(d.On)
		switch r := &g.records[p]; {
		case d.On == a.Job:
			unsatisfiable = true // nothing can end before it starts
		case r.stage == expected, r.stage == present && !g.holds(d.Condition, r, m):
			g.open(p, ref, d.Condition)
		case r.stage == over:
			unsatisfiable = unsatisfiable || !g.holds(d.Condition, r, m)
		}
	}
	switch {
	case unsatisfiable:
		g.closeAll(ref)
		return Unsatisfiable
	case m.open > 0:
		return Blocked
	}
	return Free
}

// holds says whether a condition of m on r holds by what r is now.
func (g *Graph) holds(c model.Condition, r *record, m *member) bool {
	over := r.stage == over
	switch c {
	case model.AfterOK:
		return over && r.outcome == model.Completed
	case model.AfterNotOK:
		return over && (r.outcome == model.Failed || r.outcome == model.Timeout || r.outcome == model.Rejected)
	case model.AfterAny:
		return over
	case model.AfterCorr:
		s := &g.records[m.record]
		apart := r.group >= 0 && s.group >= 0 && r.index != s.index
		return apart || (over && r.outcome == model.Completed)
	}
	return false
}

// Ended takes in that a job is over, in whatever way it left the system, or,
// where requeued is set, that an attempt of it failed and it waits again, which
// ends nothing. ref is free for another job then. A job that others wait for and that
// is never submitted (FactGone) has the ref -1. Each job in dst
// is named once: the caller starts the one kind and cancels the other, and each
// cancellation comes back as an end. Cost: the conditions on the job.
func (g *Graph) Ended(job model.JobID, ref model.Ref, outcome model.JobState, requeued bool, dst *Changes) {
	if requeued {
		return
	}
	if !outcome.Terminal() {
		panic("workflow: end of a job in a state that is none")
	}
	p := g.leave(job, ref)
	if p == none {
		return
	}
	r := &g.records[p]
	r.stage, r.outcome = over, outcome
	released, unsatisfiable := len(dst.Released), len(dst.Unsatisfiable)
	for r.edges != none {
		e := g.edges[r.edges]
		m := &g.members[e.to]
		switch {
		case !g.holds(e.condition, r, m):
			g.closeAll(e.to)
			dst.Unsatisfiable = append(dst.Unsatisfiable, e.to)
		case m.open == 1:
			g.closeAll(e.to)
			dst.Released = append(dst.Released, e.to)
		default:
			g.close(r.edges, e.to)
		}
	}
	g.sort(dst.Released[released:])
	g.sort(dst.Unsatisfiable[unsatisfiable:])
	if !r.awaited {
		g.drop(p)
	}
}

// leave takes a job out of the system, if it ever was in it, and returns its record,
// none if it has none.
func (g *Graph) leave(job model.JobID, ref model.Ref) int32 {
	if ref < 0 {
		p := g.recordOf(job)
		if g.records[p].stage != expected {
			panic("workflow: end without a ref of a job that was submitted")
		}
		g.records[p].awaited = true
		return p
	}
	m := &g.members[ref]
	if !m.known || m.job != job {
		panic("workflow: end of a job that is not in the system under this ref")
	}
	g.Stopped(ref)
	g.closeAll(ref)
	g.groups.leave(m.group)
	for _, l := range g.mutexesOf(m) {
		g.locks.leave(l)
	}
	g.dropMutexes(m)
	m.known = false
	return m.record
}

func (g *Graph) sort(refs []model.Ref) {
	slices.SortFunc(refs, func(a, b model.Ref) int { //detlint:total job ids differ
		return cmp.Compare(g.members[a].job, g.members[b].job)
	})
}

// Blocker is the job of lowest id that ref waits for, and the condition on it;
// ok is false when no condition is open. Cost: the open conditions of ref.
func (g *Graph) Blocker(ref model.Ref) (on model.JobID, c model.Condition, ok bool) {
	for e := g.members[ref].edges; e != none; e = g.edges[e].sibling {
		if x := &g.edges[e]; !ok || g.records[x.from].job < on {
			on, c, ok = g.records[x.from].job, x.condition, true
		}
	}
	return on, c, ok
}
