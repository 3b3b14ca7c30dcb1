package ascoded

import (
	"orrery/scheduler/model"
	"orrery/scheduler/place"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
)

// Config is what a Planner is made of. All that it points to must outlive it, and is
// read as it is at the instant of a pass.
type Config struct {
	Site      *model.Site
	Weights   *score.Weights
	Reference model.Duration // of the wait factor
	Window    model.Duration // of budgets; 0 is quota.DefaultWindow
	Ready     model.NodeSet  // nodes in service
	Free      *place.Free    // of the vCluster
	All       place.ClassID  // every node of the site
	Ledger    *quota.Ledger  // of which the limits are read, and nothing else
	Ends      Ends           // of the vCluster: predicted, of what runs or is to start
}

// Ends are the predicted ends of jobs.
type Ends interface {
	// Ascend visits them from now on in their order, each with its job and the units that
	// it frees, until visit returns false.
	Ascend(now model.Time, visit func(t model.Time, ref model.Ref, n int32) bool)
}

// Core is what a pass asks of the scheduler core on behalf of one vCluster, and has
// it do. Every ref is of a job in the system; no method fails.
type Core interface {
	Jobs
	Limits
	Nodes
}

// Jobs are those that a pass looks at.
type Jobs interface {
	// Waiting appends the jobs in the queue of the vCluster to dst, in any order.
	Waiting(dst []Job) []Job
	// Running appends the running jobs of the site to dst, in any order.
	Running(dst []Running) []Running
	// End is the predicted end of a job, and its kind. ok is false where the job does
	// not run yet: its start is proposed.
	End(ref model.Ref) (kind model.Kind, at model.Time, ok bool)
}

// Limits are those that a job must keep: of its tenant and the like, of the caps of the
// site, and of what it depends on.
type Limits interface {
	// Held is the limit that keeps the job from starting on its fewest nodes,
	// whatever is free.
	Held(ref model.Ref, score model.Fixed) model.Reason
	// Breaks is the limit or cap that the job would break on these nodes.
	Breaks(ref model.Ref, nodes *model.Placement) model.Reason
	// Allows is false only where the job would break one on any n nodes.
	Allows(ref model.Ref, n int32) bool
}

// Nodes are those that a job may be given.
type Nodes interface {
	// Usable counts the free nodes that the job may use.
	Usable(ref model.Ref) int32
	// Select finds n of them for the job, valid until the next call, or says why there
	// are none.
	Select(ref model.Ref, n int32) (*model.Placement, model.Reason)
	// Short is why there are no n nodes for the job where those found will not do.
	Short(ref model.Ref, n int32) model.Reason
	// Start proposes that the job, which waits, starts on the nodes.
	Start(ref model.Ref, nodes *model.Placement)
}

// Job is a waiting job as a pass reads it. It is valid for that pass.
type Job struct {
	*model.Allocation
	Ref  model.Ref
	Left model.Duration // requested time that it still has
}

// Running is a running job as a pass reads it. It is valid until the first Start.
type Running struct {
	*model.Allocation
	Nodes   *model.Placement
	Started model.Time
}
