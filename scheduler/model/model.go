// Package model is the vocabulary that the scheduler, the simulated world and
// the live shells share: time, dense ids, requests, placements, facts,
// proposals, states and reasons. It holds plain values and the pure checks on
// them; it knows no policy, no clock and no file.
package model

import (
	"cmp"
	"slices"
)

// JobID is the dense index of a job: its row in the trace, from 0, in input
// order. It is the last key of every order among jobs. The id that people
// know (the log's own job number) travels beside it as an int64.
type JobID int32

// Ref is a dense handle for a job while it is in the system. The submitter of
// the job chooses it, and may use it again once the job has left, so tables
// indexed by Ref grow with the jobs in the system and not with the trace.
type Ref int32

// NodeID is the dense index of a node of the cluster, from 0.
type NodeID int32

// Layout says how a request is laid out over nodes.
type Layout uint8

const (
	// Anywhere asks for Units units wherever they are free: processors of a
	// plain log, which names no nodes.
	Anywhere Layout = iota
	// PerNode asks for Nodes distinct nodes and PerNode units on each.
	PerNode
)

// Request is what a job asks of the cluster, in units: one unit is one
// schedulable processor (or GPU) of a node, see model.Cluster.
type Request struct {
	Layout  Layout
	Nodes   int32 // distinct nodes, 0 when Layout is Anywhere
	PerNode int32 // units on each node, 0 when Layout is Anywhere
	Units   int32 // units in all: Nodes*PerNode, or the processors
}

// NodeWord names up to 64 whole nodes: bit b of Mask is node 64*Word+b.
type NodeWord struct {
	Word int32
	Mask uint64
}

// NodeShare is a part of one node: of a cluster of equal nodes so many units, of a site
// GPUs and amounts.
type NodeShare struct {
	Node  NodeID
	Units int32  // on a site the GPUs held whole
	GPUs  uint64 // on a site: which GPUs of the node, by index, the one held by thousandths among them
	Amounts
}

// Amounts is what a share of a node is made of beside whole GPUs. All are 0 where nodes
// are divided by GPU alone.
type Amounts struct {
	CPUs     int32
	GPUMilli int32 // thousandths of one GPU, 1 to 999; 0 where it takes whole ones or none
	Memory   int64 // bytes
}

// WholeGPU is a GPU in the thousandths of Amounts.
const WholeGPU = 1000

// Cards is how many GPUs h touches.
func (h *NodeShare) Cards() int32 { return h.Units + min(h.GPUMilli, 1) }

// Thousandths is what h holds of the GPUs of its node.
func (h *NodeShare) Thousandths() int64 { return int64(h.Units)*WholeGPU + int64(h.GPUMilli) }

// SortShares puts parts of nodes, each of another node, in the order of a placement.
func SortShares(s []NodeShare) {
	//detlint:total a node occurs once
	slices.SortFunc(s, func(a, b NodeShare) int { return cmp.Compare(a.Node, b.Node) })
}

// Placement is the set of (node, share) pairs of one assignment, ascending by
// node. Clusters that hand out whole nodes fill Words, others fill Shares;
// exactly one of the two is non-empty.
type Placement struct {
	Words  []NodeWord
	Shares []NodeShare
}

// Set makes p name what q names, in memory of its own that it keeps from call to
// call.
func (p *Placement) Set(q *Placement) {
	p.Words = append(p.Words[:0], q.Words...)
	p.Shares = append(p.Shares[:0], q.Shares...)
}

// JobState is where a job is in its life.
type JobState uint8

const (
	Pending   JobState = iota // submitted, waiting
	Running                   // assignment committed
	Completed                 // ended by itself
	Timeout                   // killed at its walltime
	Cancelled                 // withdrawn by its owner
	Rejected                  // refused at submission: it could never run

	Checkpointing // asked to give its nodes up, still on them
	Suspended     // gave its nodes up and goes on later from its checkpoint
	Failed        // killed or crashed; over, unless its requeue policy takes it back
)

var jobStates = [...]string{"PENDING", "RUNNING", "COMPLETED", "TIMEOUT", "CANCELLED", "REJECTED",
	"CHECKPOINTING", "SUSPENDED", "FAILED"}

// String is the spelling in result files.
func (s JobState) String() string { return jobStates[s] }

// Terminal says whether no transition leads out of s, but for the requeue of a
// failed job.
func (s JobState) Terminal() bool {
	switch s {
	case Completed, Timeout, Cancelled, Rejected, Failed:
		return true
	}
	return false
}

// CanBecome is the table of legal transitions. A running job is not suspended
// but through Checkpointing, and a failed one is pending again by requeue only.
func (s JobState) CanBecome(next JobState) bool {
	switch s {
	case Pending:
		return next == Running || next == Cancelled || next == Rejected || next == Failed
	case Running:
		return next == Checkpointing || next == Completed || next == Timeout || next == Cancelled || next == Failed
	case Checkpointing:
		return next == Suspended || next == Completed || next == Timeout || next == Cancelled || next == Failed
	case Suspended:
		return next == Pending || next == Cancelled || next == Failed
	case Failed:
		return next == Pending
	}
	return false
}

// Withdrawn is how a job ends that is withdrawn for a reason while it waits: by its owner, or
// since what it waits for cannot happen, or since it was over a limit at its submission.
func Withdrawn(why Reason) JobState {
	switch why {
	case ReasonCancelled, ReasonDependencyNever:
		return Cancelled
	}
	return Rejected
}

// Reason says why a job is in its state or why a proposal was refused.
type Reason uint8

const (
	ReasonNone            Reason = iota
	ReasonTooLarge               // asks for more than the cluster ever has
	ReasonWalltimeLimit          // reached its requested walltime
	ReasonCancelled              // withdrawn by its owner
	ReasonNotPending             // refused: the job was no longer waiting
	ReasonNodesTaken             // refused: a node had no room any more
	ReasonUnknownNode            // refused: the placement names no such node
	ReasonBadPlacement           // refused: the placement does not fit the request
	ReasonEndOfRun               // still waiting or running when the replay stopped
	ReasonQuotaNodes             // waits: the tenant's node limit
	ReasonQuotaConcurrent        // waits: the tenant's limit of running jobs
	ReasonQOSLimit               // waits: a limit of the quality of service
	ReasonPartitionLimit         // waits: a limit of the partition
	ReasonGroupLimit             // waits: running members of its task group
	ReasonMutex                  // waits: another job holds the mutex
	ReasonDependency             // waits for a predecessor
	ReasonDependencyNever        // a condition on a predecessor cannot hold any more
	ReasonHeld                   // on hold until released
	ReasonNotEligible            // its eligible time has not come
	ReasonMinScore               // its score is below min_score
	ReasonResources              // waits: too few free nodes
	ReasonPower                  // waits: the power cap
	ReasonBandwidth              // waits: the storage bandwidth cap
	ReasonConformance            // waits: free nodes are not of one conformance group
	ReasonReserved               // waits: free nodes are in a reservation
	ReasonPriority               // waits: it would delay a reservation of a job before it
	ReasonPreempted              // lost its nodes to other work
	ReasonNodeFailure            // lost its nodes to a failure
	ReasonReclaimed              // lost borrowed nodes to their home
	ReasonNodeNotReady           // refused: a node takes no new work
	ReasonNotOwned               // refused: a node belongs to another vCluster
	ReasonLendLimit              // refused: the lender lends no more
	ReasonVictimGone             // refused: a victim no longer runs
	ReasonNotPreemptible         // refused: a victim may not lose its nodes
	ReasonNotRunning             // refused: the job does not run, or is leaving
	ReasonSensitivePool          // waits: the bound on nodes of sensitive work
	ReasonMaxRequeue             // failed once more than it may be requeued
	ReasonQuotaGPUs              // waits: the tenant's GPU limit
	ReasonSessionLimit           // waits: the bound on the sessions of a user
)

// LastReason is the one with the highest number.
const LastReason = ReasonSessionLimit

var reasons = [...]string{
	"", "TOO_LARGE", "WALLTIME_LIMIT", "CANCELLED", "NOT_PENDING", "NODES_TAKEN", "UNKNOWN_NODE", "BAD_PLACEMENT", "END_OF_RUN",
	"QUOTA_NODES", "QUOTA_CONCURRENT", "QOS_LIMIT", "PARTITION_LIMIT", "GROUP_LIMIT", "MUTEX",
	"DEPENDENCY", "DEPENDENCY_NEVER", "HELD", "NOT_ELIGIBLE", "MIN_SCORE", "RESOURCES",
	"POWER", "BANDWIDTH", "CONFORMANCE", "RESERVED", "PRIORITY", "PREEMPTED",
	"NODE_FAILURE", "RECLAIMED", "NODE_NOT_READY", "NOT_OWNED", "LEND_LIMIT", "VICTIM_GONE",
	"NOT_PREEMPTIBLE", "NOT_RUNNING", "SENSITIVE_POOL", "MAX_REQUEUE_EXCEEDED", "QUOTA_GPUS", "SESSION_LIMIT",
}

// String is the spelling in result files; the empty string is no reason.
func (r Reason) String() string { return reasons[r] }

// FactKind tags a Fact.
type FactKind uint8

const (
	FactSubmitted      FactKind = iota // Job, Ref, Request, Walltime, Submit; on a site Alloc, whose Walltime is less by what ran before a warm start, and Constraint
	FactCancelled                      // Ref: withdrawn while pending; Seq and Reason when it was proposed
	FactEnded                          // Ref, Reason; Outcome on a site: the running job is over, its nodes are free
	FactAssigned                       // Ref, Seq: the quorum granted the proposal; Placement on a site
	FactRefused                        // Ref, Seq, Reason: it did not
	FactPreempted                      // Ref, Seq, Reason: the victim begins to leave, still on its nodes
	FactSuspended                      // Ref, Value: walltime left, in µs; the victim has left its nodes and waits again, to go on later
	FactRequeued                       // Ref, Reason: the run failed; its nodes are free and it waits again, with the Walltime of its FactSubmitted
	FactResized                        // Ref, Seq, Placement: the running job now holds these nodes
	FactReleased                       // Ref: it is on hold no more
	FactNode                           // Node, State
	FactLimits                         // Tenant, Limits: they hold from now on
	FactPrice                          // Value: price of energy, a Fixed
	FactPower                          // Value: cap in W, 0 for none
	FactBandwidth                      // Value: cap in B/s, 0 for none
	FactCheckpointed                   // Ref: a checkpoint has the work that the running job has done up to now; it goes on
	FactSensitivePool                  // Value: most nodes that sensitive jobs hold together, 0 for no bound
	FactDemand                         // Ref, Value, Seq: the reactive service is to have so many nodes, at least 1; Seq numbers a demand that is to be answered by FactUnmet where it cannot be met, 0 for others
	FactRestored                       // Ref, Placement: the job ran there before the scheduler began, and goes on
	FactUsageBegan                     // Alloc, Constraint, At: an attempt from before the scheduler began took NodesMin nodes
	FactUsageEnded                     // Alloc, Constraint, At: it gave them back, or runs still and At is now
	FactRestoringBegan                 // all usage is told; what ran before is put in its place now, whatever the cycles
	FactRestoringEnded                 // from now on passes come as the cycles say
	FactUnmet                          // Ref, Seq, Value, Reason: the demand Seq lacks so many nodes, which the scheduler does not have for it
	FactGone                           // Job, Outcome, Reason: this job, which others wait for, is over and is never submitted: it was rejected or dropped, or ended before the scheduler began
)

var factKinds = [...]string{
	"submitted", "cancelled", "ended", "assigned", "refused", "preempted", "suspended", "requeued", "resized",
	"released", "node", "limits", "price", "power", "bandwidth", "checkpointed", "sensitive_pool", "demand",
	"restored", "usage_began", "usage_ended", "restoring_began", "restoring_ended", "unmet", "gone",
}

// LastFact is the kind with the highest number.
const LastFact = FactGone

// String is the spelling in facts.parquet.
func (k FactKind) String() string { return factKinds[k] }

// Fact is one entry of the committed log: something that has happened and
// that every observer sees in the same order. Fields not named beside the kind
// above are zero, but for Job, which goes with every Ref. What the pointers
// name is valid during the call that hands the fact over only, but for Alloc of a submission: that
// stays where it is, and as it is except for Hold, until the job has left and its Ref is used again.
type Fact struct {
	Kind     FactKind
	Reason   Reason
	Outcome  JobState // terminal
	State    NodeState
	Job      JobID
	Ref      Ref
	Node     NodeID
	Tenant   TenantID
	Seq      uint64 // of the proposal or demand this answers, 0 when it answers none
	Value    int64
	At       Time // UsageBegan, UsageEnded: the instant that is told of
	Submit   Time
	Walltime Duration // requested; Forever when none was stated
	Request  Request
	Alloc    *Allocation
	// Constraint is what Alloc.Constraint stands for: equal ids name equal constraints.
	Constraint *Constraint
	Limits     *Limits
	Placement  *Placement
}

// ProposalKind says what a proposal asks for.
type ProposalKind uint8

const (
	// ProposeAssign starts the pending job Ref on Placement. Answer:
	// FactAssigned.
	ProposeAssign ProposalKind = iota
	// ProposePreempt makes the running job Victim leave its nodes to the pending
	// job Ref. Answer: FactPreempted, with the victim as Ref.
	ProposePreempt
	// ProposeRequeue puts the running job Ref, whose processes are gone, back
	// into the queue for Reason. Answer: FactRequeued.
	ProposeRequeue
	// ProposeCancel withdraws the pending job Ref for Reason. Answer: FactCancelled.
	ProposeCancel
	// ProposeResize gives the running job Ref exactly Placement, which may share
	// nodes with what it holds. Answer: FactResized, with the Reason of the proposal:
	// ReasonReclaimed where nodes go back to their home. With ReasonPower Ref is the victim
	// itself, which leaves since more power is reckoned than the cap allows.
	ProposeResize
	// ProposeRestore lets the pending job Ref go on at Placement, where it ran before the
	// scheduler began. It comes from what restores the state of a cluster and not from a
	// core, and its Seq is far from theirs. Answer: FactRestored.
	ProposeRestore
)

var proposalKinds = [...]string{"assign", "preempt", "requeue", "cancel", "resize", "restore"}

// String is the spelling in messages.
func (k ProposalKind) String() string { return proposalKinds[k] }

// Proposal asks the quorum to change what a job holds, or whether it waits.
// The answer is the fact named beside its kind, or FactRefused with Ref and Seq
// of the proposal. Placement is valid until the next Plan of the core that made
// it. On a cluster of equal nodes there is only ProposeAssign, and VCluster is 0.
type Proposal struct {
	Kind      ProposalKind
	Borrowed  bool   // Assign, Resize: Placement has home nodes of other vClusters
	Reason    Reason // Preempt, Requeue, Cancel: why
	VCluster  VClusterID
	Seq       uint64
	Job       JobID
	Ref       Ref
	Victim    Ref     // Preempt
	Request   Request // Assign on a cluster of equal nodes; a site goes by the submission
	Placement Placement
}

// JobRecord is one row of the result table jobs: a job that has left the
// system.
type JobRecord struct {
	Job      JobID
	User     int32 // index into the trace's user names, -1 when unknown
	ID       int64 // the log's own job number
	Submit   Time
	Eligible Time
	Start    Time // first start, AbsentTime when it never started
	End      Time // when it left the system
	Runtime  Duration
	Walltime Duration // requested, Forever when none was stated
	Procs    int32    // units asked for
	Nodes    int32    // distinct nodes held by the last attempt, 0 when none
	Attempts int32
	State    JobState
	Reason   Reason

	// On a site; elsewhere not read.
	Kind        Kind
	VCluster    VClusterID
	Tenant      TenantID // -1 none
	Class       int32    // preemption class
	GPUs        int32    // asked for on each node
	Requeues    int32    // failed attempts after which it went back to the queue
	Preemptions int32    // times it was asked to leave its nodes
	// What all its attempts came to. Kept and lost GPU time are of work alone;
	// allocated time is longer by what starts, checkpoints and their reading take.
	Allocated Holding
	KeptGPU   int64 // µs of GPU time
	LostGPU   int64 // µs of GPU time
	Energy    Energy
	Source    PowerSource // the least sure of its attempts
	Bill      *Bill       // nil where nothing tells what energy costs and emits
}

// Energy is what the nodes of a job drew for it, the idle part of them included: at least,
// most likely and at most, in mJ.
type Energy struct{ Low, Value, High int64 }

// Bill is what the facility drew for a job cost and emitted.
type Bill struct {
	Cost   Charge // 10^-6 of the currency
	Carbon Charge // mg
}

// Charge is an amount at least, most likely and at most. It may not be known.
type Charge struct {
	Low, Value, High int64
	Known            bool
}

// PowerSource says what the power of an attempt rests on, the surest first.
type PowerSource uint8

// Sources of the power of an attempt.
const (
	NoPowerSource PowerSource = iota // it has not begun
	PowerOfRow                       // the row says what the nodes of the job drew
	PowerOfClass                     // its class of work does
	PowerOfNodes                     // the kind of its nodes, at full load
	PowerUnknown                     // nothing is known, and nothing is added
)

var powerSources = [...]string{"", "row", "class", "node type", "none"}

// String is the spelling in results, "" of NoPowerSource.
func (s PowerSource) String() string { return powerSources[s] }

// Holding is what was held, and how long: µs, summed over what is counted.
type Holding struct {
	Nodes    int64 // a node of which a job holds a part counts whole for it
	GPUs     int64
	Borrowed int64 // of Nodes: at home in another vCluster
}

// AttemptRecord is one row of the result table attempts. Placement is valid
// during the call that hands the record over only.
type AttemptRecord struct {
	Job       JobID
	ID        int64
	Attempt   int32 // from 1
	Start     Time
	End       Time
	Outcome   JobState
	Procs     int32
	Placement Placement

	// On a site; elsewhere zero.
	Kept     Duration // work done that counted, or that a checkpoint saved
	Lost     Duration // work done that was thrown away
	Reason   Reason   // why it ended, where there is something to say
	Nodes    int32    // held
	GPUs     int32    // held in all
	Borrowed int32    // of Nodes: at home in another vCluster
}
