package watch

import (
	"cmp"
	"fmt"
	"slices"

	"orrery/scheduler/model"
)

// job is what the log says of a job in the system.
type job struct {
	model.Allocation
	ref    model.Ref
	state  model.JobState
	left   model.Duration // requested time from the next start on
	whole  model.Duration // likewise, after a requeue
	flying *flight        // proposal to start it, nil when none is under way
	resize *flight        // proposal to give it other nodes while it runs, nil when none is under way
	demand int64          // nodes that a reactive service is to have, 0 before it is known

	start     model.Time
	since     model.Time // when what it holds last changed
	held      model.Placement
	nodes     int32
	milli     int64 // thousandths of GPUs held
	power, io int64
	preempted bool
	caused    bool // others were asked to leave for it while it waits
	requeues  int32

	// Worked out on the first use, until then nil or 0.
	own       model.NodeSet // that it may use without borrowing
	units     uint64        // GPUs asked for
	mostPower int64         // W of the node that draws most of own, at work

	// For the records.
	nodeTime int64 // µs
	attempts int32
	ended    model.Time     // of the last attempt recorded
	kept     model.Duration // work, by all attempts
	last     model.Duration // work lost in the last one
}

// system is the jobs of a site, by the log: where each is in its life, and how those that are over ended.
type system struct {
	*base
	jobs    map[model.JobID]*job // in the system, looked up and never walked
	leavers map[model.JobID]*job // left, not recorded yet
	refs    map[model.Ref]model.JobID
	past    []past   // by job
	causes  int      // jobs for which others were asked to leave, while these wait
	waiting [][]*job // by vCluster, in order of their rows
	running []*job   // in order of their rows
}

// submitted checks invariants 2 and 4.
func (s *system) submitted(f *model.Fact) {
	j := &job{Allocation: *f.Alloc, left: f.Alloc.Walltime, whole: f.Walltime, ended: model.AbsentTime}
	j.Deps = append([]model.Dependency(nil), f.Alloc.Deps...)
	if s.jobs[j.Job] != nil || s.outcome(j.Job) != model.Pending {
		s.fail(2, j, "a second submission", "one")
		return
	}
	if max(j.Submit, s.cfg.Begin) != s.now {
		s.fail(4, j, "it is observed at "+s.now.String(), "its submission, "+j.Submit.String())
	}
	s.jobs[j.Job], s.refs[f.Ref], j.ref = j, j.Job, f.Ref
	s.enqueue(j)
}

// become checks invariant 3.
func (s *system) become(j *job, next model.JobState) {
	if !j.state.CanBecome(next) {
		s.fail(3, j, "it goes from "+j.state.String()+" to "+next.String(), "a legal transition")
	}
	j.state = next
}

// causing notes whether others leave for j.
func (s *system) causing(j *job, yes bool) {
	if j.caused != yes {
		if j.caused = yes; yes {
			s.causes++
		} else {
			s.causes--
		}
	}
}

// outcome is the state with which a job left, Pending where it did not.
func (s *system) outcome(id model.JobID) model.JobState {
	return s.gone(id).state
}

// past is what is kept of a job that left.
type past struct {
	state        model.JobState // Pending before it left
	group, index int32
	never        bool // it was never submitted
}

func (s *system) gone(id model.JobID) past {
	if id < 0 || int(id) >= len(s.past) {
		return past{}
	}
	return s.past[id]
}

// leave takes j out of the system.
func (s *system) leave(j *job) {
	s.reach(j.Job)
	s.past[j.Job] = past{state: j.state, group: j.TaskGroup, index: j.Index}
	s.dequeue(j)
	s.causing(j, false)
	delete(s.jobs, j.Job)
	if s.refs[j.ref] == j.Job {
		delete(s.refs, j.ref)
	}
	if s.cfg.Records {
		s.leavers[j.Job] = j
	}
}

// reach makes room for what is kept of a job that is over.
func (s *system) reach(id model.JobID) {
	for int(id) >= len(s.past) {
		s.past = append(s.past, past{})
	}
}

// neverComes takes in that a job is over which is never submitted. It checks invariant 2.
func (s *system) neverComes(f *model.Fact) {
	if f.Job < 0 || s.jobs[f.Job] != nil || s.outcome(f.Job) != model.Pending || !f.Outcome.Terminal() {
		s.unknownJob(2, f.Job, "that it is never submitted, "+f.Outcome.String(), "a job that was not submitted, and how it ended")
		return
	}
	s.reach(f.Job)
	s.past[f.Job] = past{state: f.Outcome, group: -1, never: true}
}

// waitsFor checks that the dependencies of j hold: invariant 26.
func (s *system) waitsFor(j *job) {
	for _, d := range j.Deps {
		if d.Condition != model.Mutex && !s.holdsNow(j, d) {
			s.fail(26, j, fmt.Sprintf("a start while the job of row %d is %s", d.On, s.where(d.On)), "the condition "+d.Condition.String()+" on it")
		}
	}
}

func (s *system) where(id model.JobID) model.JobState {
	if j := s.jobs[id]; j != nil {
		return j.state
	}
	return s.outcome(id)
}

func (s *system) holdsNow(j *job, d model.Dependency) bool {
	out := s.outcome(d.On)
	switch d.Condition {
	case model.AfterOK:
		return out == model.Completed
	case model.AfterNotOK:
		return out == model.Failed || out == model.Timeout || out == model.Rejected
	case model.AfterCorr:
		on := s.gone(d.On)
		if o := s.jobs[d.On]; o != nil {
			on.group, on.index = o.TaskGroup, o.Index
		} else if out == model.Pending {
			return false
		}
		return out == model.Completed || on.group >= 0 && j.TaskGroup >= 0 && on.index != j.Index
	}
	return out != model.Pending
}

// free says whether the dependencies of j hold.
func (s *system) free(j *job) bool {
	for _, d := range j.Deps {
		if d.Condition != model.Mutex && !s.holdsNow(j, d) {
			return false
		}
	}
	return true
}

func (s *system) enqueue(j *job) { s.waiting[j.VCluster] = insert(s.waiting[j.VCluster], j) }
func (s *system) dequeue(j *job) { s.waiting[j.VCluster] = remove(s.waiting[j.VCluster], j) }
func (s *system) stop(j *job)    { s.running = remove(s.running, j) }
func (s *system) runs(j *job) {
	s.dequeue(j)
	s.running = insert(s.running, j)
}

func byRow(j *job, id model.JobID) int { return cmp.Compare(j.Job, id) }

func insert(list []*job, j *job) []*job {
	i, found := slices.BinarySearchFunc(list, j.Job, byRow)
	if found {
		return list
	}
	return slices.Insert(list, i, j)
}

func remove(list []*job, j *job) []*job {
	if i, found := slices.BinarySearchFunc(list, j.Job, byRow); found {
		return slices.Delete(list, i, i+1)
	}
	return list
}
