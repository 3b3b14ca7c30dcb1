package workflow

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
)

// naive says the same in the simplest way: it keeps every job for good and goes
// over all of them for each answer.
type naive struct{ jobs []*naiveJob }

type naiveJob struct {
	model.Allocation
	ref     model.Ref
	phase   string // "to come", "blocked", "free", "unsatisfiable", "started", "gone"
	outcome model.JobState
	met     []Status // of each dependency when it was looked at last
}

// verdict of a condition: it holds, it cannot hold any more, or it is open.
func (w *naive) verdict(of *naiveJob, d model.Dependency) Status {
	on := w.jobs[d.On]
	switch {
	case d.Condition == model.Mutex:
		return Free
	case on == of:
		return Unsatisfiable
	case on.phase == "to come":
		return Blocked
	case d.Condition == model.AfterCorr && on.TaskGroup >= 0 && of.TaskGroup >= 0 && on.Index != of.Index:
		return Free
	case on.phase != "gone":
		return Blocked
	}
	holds := map[model.Condition][]model.JobState{
		model.AfterOK:    {model.Completed},
		model.AfterCorr:  {model.Completed},
		model.AfterNotOK: {model.Failed, model.Timeout, model.Rejected},
		model.AfterAny:   {model.Completed, model.Failed, model.Timeout, model.Cancelled, model.Rejected},
	}
	for _, s := range holds[d.Condition] {
		if s == on.outcome {
			return Free
		}
	}
	return Unsatisfiable
}

// look takes in what the dependencies of j on one job, or on all, have become.
// They are looked at when j is submitted and when the other ends.
func (w *naive) look(j *naiveJob, on model.JobID) Status {
	if j.met == nil {
		j.met = make([]Status, len(j.Deps))
	}
	status := Free
	for i, d := range j.Deps {
		if on == all || d.On == on {
			j.met[i] = w.verdict(j, d)
		}
		status = max(status, j.met[i])
	}
	return status
}

const all = -1

func (w *naive) gate(of *naiveJob) model.Reason {
	running := int32(0)
	locked := false
	for _, j := range w.jobs {
		if j.phase != "started" {
			continue
		}
		if j.TaskGroup == of.TaskGroup {
			running++
		}
		for _, d := range j.Deps {
			for _, e := range of.Deps {
				locked = locked || d.Condition == model.Mutex && e.Condition == model.Mutex && d.Mutex == e.Mutex
			}
		}
	}
	switch {
	case of.TaskGroup >= 0 && of.MaxConcurrent > 0 && running >= of.MaxConcurrent:
		return model.ReasonGroupLimit
	case locked:
		return model.ReasonMutex
	}
	return model.ReasonNone
}

// ended marks a job and says which jobs it releases or makes unsatisfiable.
func (w *naive) ended(job *naiveJob, outcome model.JobState) (c Changes) {
	job.phase, job.outcome = "gone", outcome
	for _, j := range w.jobs {
		concerned := false
		for _, d := range j.Deps {
			concerned = concerned || d.Condition != model.Mutex && d.On == job.Job
		}
		if j.phase != "blocked" || !concerned {
			continue
		}
		switch w.look(j, job.Job) {
		case Free:
			j.phase = "free"
			c.Released = append(c.Released, j.ref)
		case Unsatisfiable:
			j.phase = "unsatisfiable"
			c.Unsatisfiable = append(c.Unsatisfiable, j.ref)
		}
	}
	return c
}

// pick is the jobs in one of phases.
func (w *naive) pick(phases ...string) (found []*naiveJob) {
	for _, j := range w.jobs {
		for _, p := range phases {
			if j.phase == p {
				found = append(found, j)
			}
		}
	}
	return found
}

// drawJobs draws jobs whose dependencies may point anywhere, which gives
// cycles and jobs that wait for themselves as well.
func drawJobs(t *rapid.T, w *naive) {
	n := rapid.IntRange(1, 30).Draw(t, "jobs")
	for id := range n {
		j := &naiveJob{phase: "to come", Allocation: model.Allocation{Job: model.JobID(id), Awaited: true}}
		j.TaskGroup = rapid.Int32Range(-1, 1).Draw(t, "group")
		j.Index = rapid.Int32Range(0, 2).Draw(t, "index")
		j.MaxConcurrent = rapid.Int32Range(0, 2).Draw(t, "bound")
		for range rapid.IntRange(0, 2).Draw(t, "deps") {
			d := model.Dependency{
				On:        model.JobID(rapid.IntRange(0, n-1).Draw(t, "on")),
				Condition: model.Condition(rapid.IntRange(0, int(model.Mutex)).Draw(t, "condition")),
			}
			if d.Condition == model.Mutex {
				d.Mutex = rapid.Int32Range(0, 1).Draw(t, "mutex")
			}
			j.Deps = append(j.Deps, d)
		}
		w.jobs = append(w.jobs, j)
	}
}

// pair drives a naive one and a graph alike.
type pair struct {
	*rapid.T
	naive *naive
	graph *Graph
	spare []model.Ref
	next  model.Ref
}

func (p *pair) submit(j *naiveJob) {
	if n := len(p.spare); n > 0 {
		j.ref, p.spare = p.spare[n-1], p.spare[:n-1]
	} else {
		j.ref, p.next = p.next, p.next+1
	}
	j.phase = "blocked" // not to come any more, for a job that waits for itself
	status := p.naive.look(j, all)
	require.Equal(p, status, p.graph.Submit(&j.Allocation, j.ref))
	j.phase = [...]string{Free: "free", Blocked: "blocked", Unsatisfiable: "unsatisfiable"}[status]
}

func (p *pair) start(j *naiveJob) {
	if p.graph.Gate(j.ref) == model.ReasonNone {
		p.graph.Started(j.ref)
		j.phase = "started"
	}
}

func (p *pair) end(j *naiveJob, outcome model.JobState) {
	var got Changes
	p.spare = append(p.spare, j.ref)
	p.graph.Ended(j.Job, j.ref, outcome, false, &got)
	require.Equal(p, p.naive.ended(j, outcome), got)
}

func (p *pair) cancel(j *naiveJob) { p.end(j, model.Cancelled) }

func (p *pair) finish(j *naiveJob) {
	outcomes := []model.JobState{model.Completed, model.Completed, model.Failed, model.Timeout, model.Cancelled}
	p.end(j, rapid.SampledFrom(outcomes).Draw(p.T, "outcome"))
}

func (p *pair) requeue(j *naiveJob) {
	var got Changes
	p.graph.Stopped(j.ref)
	p.graph.Ended(j.Job, j.ref, model.Failed, true, &got)
	require.Empty(p, got)
	j.phase = "free"
}

// refuse lets a job end that was never submitted.
func (p *pair) refuse(j *naiveJob) {
	var got Changes
	j.TaskGroup = -1 // no job is in it
	p.graph.Ended(j.Job, -1, model.Rejected, false, &got)
	require.Equal(p, p.naive.ended(j, model.Rejected), got)
}

// TestAgainstNaive submits, starts and ends random jobs in a random order, in
// which some fail and are requeued, and compares every answer.
func TestAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, g := &naive{}, New()
		p := &pair{T: t, naive: w, graph: g}
		drawJobs(t, w)
		actions := []struct {
			weight int
			do     func(*naiveJob)
			to     []string
		}{
			{3, p.submit, []string{"to come"}},
			{4, p.start, []string{"free"}},
			{4, p.finish, []string{"started"}},
			{1, p.cancel, []string{"unsatisfiable"}},
			{1, p.cancel, []string{"free", "blocked"}},
			{1, p.requeue, []string{"started"}},
			{1, p.refuse, []string{"to come"}},
		}
		var bag []int
		for i, a := range actions {
			bag = append(bag, slices.Repeat([]int{i}, a.weight)...)
		}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			a := actions[rapid.SampledFrom(bag).Draw(t, "action")]
			if jobs := w.pick(a.to...); len(jobs) > 0 {
				a.do(rapid.SampledFrom(jobs).Draw(t, "job"))
			}
			for _, j := range w.pick("free", "blocked", "unsatisfiable") {
				require.Equal(t, w.gate(j), g.Gate(j.ref), "gate of %d", j.Job)
			}
			require.LessOrEqual(t, len(g.byJob), len(w.jobs))
			require.Len(t, g.records, len(g.byJob)+len(g.spare))
			require.Len(t, g.locks.all, len(g.locks.slots)+len(g.locks.spare))
		}
	})
}
