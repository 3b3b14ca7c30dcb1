package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/preempt"
	"orrery/scheduler/quota"
	"orrery/scheduler/site/internal/caps"
	"orrery/scheduler/site/internal/elastic"
	"orrery/scheduler/workflow"
)

// jobTable is the jobs in the system. A job in phase running is in active once, at the
// index that it has; one in phase early is in later once; one in phase unwanted is
// in unwanted until its withdrawal is proposed. The graph has all dependencies. victims goes with
// active: the running job at an index, as those saw it last that wanted its nodes.
type jobTable struct {
	jobs         []job // by Ref
	active       []model.Ref
	noStint      *stint // of all jobs that are on no nodes: nothing
	spare        model.FreeList[stint]
	memory       model.PlacementPool // of the placements of stints
	victims      []preempt.Victim
	activeOf     byClass // of active, exactly
	later        []model.Ref
	nextDue      model.Time // the first eligible time of these, but for those on hold
	unwanted     []unwantedJob
	graph        *workflow.Graph
	changes      workflow.Changes // memory for what the graph answers
	walk         uint64           // walks of predicted ends so far
	equivalences equivalences
	looks        uint64 // for blocked jobs that may preempt others so far
}

// job is what the core knows of a job in the system.
type job struct {
	*model.Allocation // of the submission; its Hold is not read, see onHold
	*stint            // noStint in all phases but proposed, withdrawn and running
	phase             phase
	onHold            bool
	needsLent         bool // while it waits: it can only start by borrowing, and others are told what it waits for
	borrowed          bool
	leaving           bool           // preempted, still on its nodes
	resizing          bool           // another size is in flight
	capped            bool           // where no victims were found for it, a cap had no room
	pos               int32          // in jobTable.active while running
	request           model.Request  // of the submission; its units are those that an order goes by
	left              model.Duration // requested time from the next start on: less than Walltime once it was suspended
	whole             model.Duration // likewise, after a requeue: more than Walltime for a job that ran before a warm start
	key               *order.Key     // under ByOrder; it stays for the next job under its ref
	predicted         model.Time     // end of the running or in-flight job
	queue             *queueState
	kind              *nodeChoice
	usage             quota.ResourceUsage
	static            model.Fixed // the terms of the score that never change
	needs             caps.Usage
	backlog           int64 // GPU seconds in backlog.waiting
	load              int64 // GPU seconds in backlog.running

	alike      int32        // what it asks for while it waits, as equivalences number it
	assoc      int32        // in the accounts
	demand     int32        // nodes that a reactive service is to have, 0 until that is said
	more       int32        // beside its own, that victims are sought for while it runs
	why        model.Reason // it is to be withdrawn for, in phase unwanted
	unanswered uint64       // the demand that is to be answered where it cannot be met, 0 for none
	heldIn     uint64       // the last pass, as Work counts them, in which a limit held it at its turn
	seq        uint64       // of the last proposal to start it
	preemptSeq uint64       // of the last proposal to preempt it
	failedAt   int64        // facts observed, and one, when no victims for it were found: all where it is capped, else those that concern its vCluster
}

// stint is what is known of a job while it is on nodes, or they are proposed for it: it begins with the
// proposal, where an attempt begins with the grant.
type stint struct {
	placement model.Placement
	started   model.Time
	saved     model.Time // when its work was safe last in this attempt, AbsentTime if never
	pastWalk  uint64     // last walk of ends in which it was past
}

// asked is what an order goes by.
func (j *job) asked() order.Asked {
	return order.Asked{ID: j.Job, Request: j.request, Submit: j.Submit, Walltime: j.left}
}

// wants is the number of nodes that a reactive service is to have.
func (j *job) wants() int32 { return elastic.Wants(j.Allocation, j.demand) }

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

// waitOn lists a job that waits for its eligible time or its release, where it is not listed yet.
func waitOn(t *jobTable, ref model.Ref) {
	j := &t.jobs[ref]
	if j.phase != early {
		j.phase = early
		t.later = append(t.later, ref)
	}
	if !j.onHold {
		t.nextDue = min(t.nextDue, j.Eligible)
	}
}

// waitNoMore takes a job off that list.
func waitNoMore(t *jobTable, ref model.Ref) {
	t.later = without(t.later, ref)
	if t.jobs[ref].Eligible > t.nextDue {
		return
	}
	t.nextDue = model.Never
	for _, r := range t.later {
		if j := &t.jobs[r]; !j.onHold {
			t.nextDue = min(t.nextDue, j.Eligible)
		}
	}
}

// beginStint gives the job a stint.
func beginStint(t *jobTable, j *job) { j.stint = t.spare.Take() }

// endStint takes it back: the job is on no nodes any more.
func endStint(t *jobTable, j *job) {
	t.memory.Put(&j.placement)
	t.spare.Give(j.stint)
	j.stint = t.noStint
}

// activate lists a job that starts among the running ones.
func (t *jobTable) activate(ref model.Ref) {
	t.jobs[ref].pos = int32(len(t.active))
	t.active = append(t.active, ref)
	t.victims = append(t.victims, victimOf(ref, &t.jobs[ref]))
	t.activeOf.add(t.jobs[ref].Class, 1)
}

// deactivate takes a job that ran off that list.
func (t *jobTable) deactivate(ref model.Ref) {
	i, n := t.jobs[ref].pos, len(t.active)-1
	last := t.active[n]
	t.active[i], t.victims[i] = last, t.victims[n]
	t.jobs[last].pos = i
	t.active, t.victims = t.active[:n], t.victims[:n]
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

// leave takes a job out of the queue.
func (t *jobTable) leave(ref model.Ref) {
	j := &t.jobs[ref]
	j.queue.fair.Leave(j.Tenant)
	j.queue.waiting.Remove(ref)
	j.queue.waitingOf.add(rankClass(j), -1)
	if j.needsLent {
		j.queue.needLent--
	}
}

// predictedEnd is when a running job is predicted to leave, as seen at now.
func (j *job) predictedEnd(now model.Time) model.Time {
	if j.predicted <= now {
		return now.Add(model.Second)
	}
	return j.predicted
}

// victimOf is a running job as those see it that want its nodes, but for what changes while it runs
// and what depends on them.
func victimOf(ref model.Ref, r *job) preempt.Victim {
	return preempt.Victim{
		Ref: ref, Job: r.Job, Start: r.started, Walltime: r.Walltime, Nodes: r.usage.Nodes, GPUs: r.kind.gpusOf(r.Allocation),
		Checkpoint: r.Checkpoint, CkptBytes: r.CkptBytes, Sensitive: r.IsSensitive(), Preemptible: r.Preemptible(),
	}
}

// elapsed is how much of its walltime a running job has used up in all its attempts.
func (j *job) elapsed(now model.Time) model.Duration {
	return now.Sub(j.started) + max(0, j.Walltime-j.left)
}

// rankClass is the class that a job preempts by.
func rankClass(j *job) int32 {
	if j.IsSensitive() {
		return max(j.Class, model.SensitiveClass)
	}
	return j.Class
}
