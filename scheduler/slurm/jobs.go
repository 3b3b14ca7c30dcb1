package slurm

import (
	"cmp"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/quota"
)

// jobTable is the jobs in the system. A job in phase queued is in queue once, one in phase early in later, one that
// holds nodes in running.
type jobTable struct {
	list     []job // by ref
	queue    []model.Ref
	running  []model.Ref // hold nodes, those proposed among them, by the end of their requested time
	later    []model.Ref // wait for their begin time or their release
	unwanted []model.Ref // whose withdrawal is still to be proposed
}

// job is what the core knows of a job in the system.
type job struct {
	*model.Allocation
	phase     phase
	onHold    bool
	preferred bool
	request   model.Request
	left      model.Duration // requested time from the next start on
	whole     model.Duration // likewise, after a requeue
	eligible  model.Time     // it may start from then on: later than that of the submission after a requeue
	nodes     model.NodeSet  // that it may use: those of its partition that meet its constraint
	tier      int32          // of its partition
	priority  int64          // as computed last
	assoc     int32          // in the tree of shares, -1 for none
	cpus      int64          // asked for, or held
	usage     quota.ResourceUsage
	placement model.Placement
	started   model.Time
	predicted model.Time // end of the running or proposed job
	seq       uint64     // of the last proposal
	why       model.Reason
}

// phase is where a job stands.
type phase uint8

const (
	gone phase = iota
	queued
	proposed  // proposed, not answered
	withdrawn // likewise, and withdrawn since
	running
	dependent // waits for others
	early     // waits for its begin time, or is on hold
	unwanted  // can never start; its withdrawal is proposed
)

// rank is what comes before tiers: a job that is preferred to all others, then those in a reservation.
func (j *job) rank() int32 {
	switch {
	case j.preferred:
		return 2
	case j.Reservation >= 0:
		return 1
	}
	return 0
}

// insert puts a job into the queue, which is in order.
func (t *jobTable) insert(ref model.Ref) {
	at, _ := slices.BinarySearchFunc(t.queue, ref, t.compare)
	t.queue = slices.Insert(t.queue, at, ref)
}

// remove takes a job out of the queue.
func (t *jobTable) remove(ref model.Ref) {
	if at, ok := slices.BinarySearchFunc(t.queue, ref, t.compare); ok {
		t.queue = slices.Delete(t.queue, at, at+1)
	}
}

func (t *jobTable) compare(a, b model.Ref) int { return inOrder(&t.list[a], &t.list[b]) }

// sortQueue brings the queue into order after priorities have changed.
func (t *jobTable) sortQueue() { slices.SortFunc(t.queue, t.compare) } //detlint:total ids of jobs end it

// run lists a job among those that hold nodes.
func (t *jobTable) run(ref model.Ref) {
	at, _ := slices.BinarySearchFunc(t.running, ref, t.byEnd)
	t.running = slices.Insert(t.running, at, ref)
}

// byEnd compares jobs by the end of their requested time.
func (t *jobTable) byEnd(a, b model.Ref) int {
	x, y := &t.list[a], &t.list[b]
	return cmp.Or(cmp.Compare(x.predicted, y.predicted), cmp.Compare(x.Job, y.Job))
}

// nextEligible is the first instant after now at which a job that waits for it may start.
func (t *jobTable) nextEligible(now model.Time) model.Time {
	at := model.Never
	for _, ref := range t.later {
		if j := &t.list[ref]; !j.onHold && j.eligible > now {
			at = min(at, j.eligible)
		}
	}
	return at
}

// without is refs less ref, in order.
func without(refs []model.Ref, ref model.Ref) []model.Ref {
	if i := slices.Index(refs, ref); i >= 0 {
		return slices.Delete(refs, i, i+1)
	}
	return refs
}
