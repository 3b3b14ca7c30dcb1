package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/preempt"
	"orrery/scheduler/quota"
	"orrery/scheduler/site/internal/caps"
	"orrery/scheduler/site/internal/notes"
	"orrery/scheduler/workflow"
)

// jobTable is the jobs in the system. A job in phase running is in active once, at the
// index that it has; one in phase early is in later once; one in phase unwanted is
// in unwanted until its withdrawal is proposed. The graph has all dependencies.
type jobTable struct {
	jobs []job // by Ref
	// placements is the memory of theirs.
	placements model.PlacementMemory
	active     []model.Ref
	activeOf   byClass // exactly those
	later      []model.Ref
	unwanted   []unwantedJob
	graph      *workflow.Graph
	changes    workflow.Changes // memory for what the graph answers
	walk       uint64           // walks of predicted ends so far
}

// job is what the core knows of a job in the system.
type job struct {
	model.Allocation
	request   model.Request  // of the submission; its units are those that an order goes by
	left      model.Duration // requested time from the next start on: less than Walltime once it was suspended
	whole     model.Duration // likewise, after a requeue: more than Walltime for a job that ran before a warm start
	key       order.Key      // under ByOrder
	phase     phase
	predicted model.Time // end of the running or in-flight job
	placement model.Placement
	queue     *queueState
	kind      *nodeChoice
	usage     quota.ResourceUsage
	assoc     int32       // in the accounts
	static    model.Fixed // the terms of the score that never change
	needs     caps.Usage
	needsLent bool  // while it waits: it can only start by borrowing, and others are told what it waits for
	backlog   int64 // GPU seconds in backlog.waiting
	load      int64 // GPU seconds in backlog.running
	pos       int32 // in jobTable.active while running

	started    model.Time
	saved      model.Time // when its work was safe last in this attempt, AbsentTime if never
	demand     int32      // nodes that a reactive service is to have, 0 until that is said
	more       int32      // beside its own, that victims are sought for while it runs
	unanswered uint64     // the demand that is to be answered where it cannot be met, 0 for none
	borrowed   bool
	leaving    bool           // preempted, still on its nodes
	resizing   bool           // another size is in flight
	seq        uint64         // of the last proposal to start it
	preemptSeq uint64         // of the last proposal to preempt it
	failedAt   int64          // facts observed, and one, when no victims for it were found
	victim     preempt.Victim // while it runs, as it was seen last
	pastWalk   uint64         // last walk of ends in which it was past
	note       notes.Last
}

// asked is what an order goes by.
func (j *job) asked() order.Asked {
	return order.Asked{ID: j.Job, Request: j.request, Submit: j.Submit, Walltime: j.left}
}

// phase is where a job stands in the eyes of the core.
type phase uint8

const (
	gone     phase = iota
	queued         // may start
	proposed       // proposed, not answered
	withdrawn
	running
	dependent // waits for others
	early     // waits for its eligible time, or is on hold
	unwanted  // can never start, or was over a limit at its submission; its withdrawal is proposed
)

// unwantedJob is a job whose withdrawal is to be proposed.
type unwantedJob struct {
	ref model.Ref
	why model.Reason
}

// activate lists a job that starts among the running ones.
func (t *jobTable) activate(ref model.Ref) {
	t.jobs[ref].pos = int32(len(t.active))
	t.active = append(t.active, ref)
	t.activeOf.add(t.jobs[ref].Class, 1)
}

// deactivate takes a job that ran off that list.
func (t *jobTable) deactivate(ref model.Ref) {
	i, last := t.jobs[ref].pos, t.active[len(t.active)-1]
	t.active[i] = last
	t.jobs[last].pos = i
	t.active = t.active[:len(t.active)-1]
	t.activeOf.add(t.jobs[ref].Class, -1)
}

// markPast marks ref as past in the walk of its ends that began last.
func (t *jobTable) markPast(ref model.Ref) { t.jobs[ref].pastWalk = t.walk }

// without is refs less ref, in order.
func without(refs []model.Ref, ref model.Ref) []model.Ref {
	for i, r := range refs {
		if r == ref {
			return append(refs[:i], refs[i+1:]...)
		}
	}
	return refs
}
