// Package scheduler is the contract of a production scheduler core: a deterministic
// state machine that is fed the facts of the committed log and answers with plans. A
// core reads no clock, starts no goroutine, does no I/O and, once its tables have grown
// to the number of jobs in the system, allocates nothing. What commits a plan, and what
// time it is, is for scheduler/drive and the shells around it.
//
// There are two cores: package plain for clusters of equal units and package site for
// sites whose nodes differ and that several vClusters share.
package scheduler

import "orrery/scheduler/model"

// Core is the two verbs of a core. Nothing enters it except through Observe. A core is
// not safe for concurrent use.
type Core interface {
	// Observe takes in facts in the order of the log; now must not decrease. Its cost is
	// in proportion to what changed. A fact that contradicts the state (an end of a job
	// that does not run) is a fault of the caller and panics. The allocation of a submission
	// is kept and read until the job has left the system; nothing else of facts is.
	Observe(now model.Time, facts []model.Fact)
	// Plan makes the passes that are due at now over everything observed so far. It
	// executes nothing; what it returns is valid until the next Plan.
	Plan(now model.Time) *Plan
}

// Questions are what others may ask a core. None of them changes a plan. Refs are those of
// jobs in the system, tenants and vClusters those of the site.
type Questions interface {
	// Predicted is the predicted end of the running job under ref. drive asks, under the
	// sequential event order.
	Predicted(ref model.Ref) model.Time
	// Runs says whether the job under ref is running. drive asks, likewise.
	Runs(ref model.Ref) bool
	// Least is the smallest number of units that a waiting job could start on, 0 when
	// none waits. The metrics ask, for the loss of capacity. Cost: one look at each
	// waiting job, or at each distinct request.
	Least() int32
	// Work counts what the core has done. Progress and work.json ask.
	Work() Work
	// Unsatisfiable says why the submission f could never start on the most that the
	// cluster ever grants, or ReasonNone. The world asks: such a job must not be submitted.
	// A core may remember which nodes such a request could have.
	Unsatisfiable(f *model.Fact) model.Reason
	// FirstBlocked is the job that no job behind it may delay under Easy, as the last pass
	// of v found it, and the number of the last proposal before its turn: those of higher
	// numbers are of jobs behind it. ok is false when there is none. The watch asks, for
	// the invariant of backfilling.
	FirstBlocked(v model.VClusterID) (ref model.Ref, since uint64, ok bool)
	// Queue appends to dst how the waiting jobs of each vCluster stand at now, in the order of
	// its queue, and behind them those that are in no queue yet. explain asks, for the queue at an instant.
	Queue(now model.Time, dst []Standing) []Standing
	// Answers appends to dst why each of the jobs waits at now, the instant of the last Observe or Plan: the first test that it
	// fails in a pass over what is committed and in flight then, in which no other job starts. victims asks for NoVictims as
	// well, which costs more. It is cheaper for all jobs of a vCluster than one by one. The record of decisions asks.
	Answers(refs []model.Ref, now model.Time, victims bool, dst []Answer) []Answer
	// Why is the answer for one job with all that a note says beside it. The record of decisions asks where it has changed.
	Why(ref model.Ref, now model.Time) Note
	// Consumed is the node time and GPU time that count against the budgets of t at now.
	// The watch asks, for the invariant of the ledgers.
	Consumed(t model.TenantID, now model.Time) (node, gpu model.Duration)
}

// Plan is what one pass decided. Its slices live until the next Plan.
type Plan struct {
	// Proposals to start jobs, in the order in which they were decided.
	Proposals []model.Proposal
	// Promises are the promises of vClusters to their blocked jobs that have changed, in the
	// order in which they were decided.
	Promises []Promise
	// Unmet are the demands of services that cannot be met now, each told once, when nothing
	// is under way for it.
	Unmet []Unmet
	// Passed are the vClusters that have made a pass, in order.
	Passed []model.VClusterID
	// More says that another plan must follow at the same instant, when the answers that
	// are known at once are observed: more vClusters have their turn, on what is committed
	// then.
	More bool
	// Again says that another pass is to follow at the same instant if any of the
	// proposals is granted then: services change their size, or a job starts that a waiting
	// one may preempt.
	Again bool
	// Due is an instant to which the core has committed itself: the start of a
	// reservation. A pass must be made then, whatever else happens. Never when
	// there is none.
	Due model.Time
	// QuietUntil is a lower bound on the next instant at which a pass would
	// answer anything new if nothing were observed until then.
	QuietUntil model.Time
}

// Unmet is a demand of a service that is smaller than it is to be.
type Unmet struct {
	Job    model.JobID
	Ref    model.Ref
	Seq    uint64 // of the demand
	Nodes  int32  // that it lacks
	Reason model.Reason
}

// Promise is a change of what a vCluster promises to its first blocked job: nodes that work of
// others leaves alone from an instant on.
type Promise struct {
	VCluster model.VClusterID
	Job      model.JobID
	Ref      model.Ref
	// Since is when the job was promised anything first, without interruption. Of the
	// promises of one instant, those that come first in the log are older.
	Since model.Time
	// After is the number of the last proposal before it was decided: those of higher
	// numbers keep it.
	After uint64
	// At is the instant that it is for.
	At model.Time
	// Nodes are those promised, as whole nodes; none when the promise has ended.
	Nodes model.Placement
}

// Work counts what a core has done since it was made. It is reported beside
// results and is not part of them.
type Work struct {
	Passes   uint64 // passes that looked at the queue
	Examined uint64 // waiting jobs tested against the free capacity or a reservation
}
