package site

import (
	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/place"
	"orrery/scheduler/preempt"
	"orrery/scheduler/site/internal/caps"
	"orrery/scheduler/site/internal/elastic"
	"orrery/scheduler/site/internal/reserve"
	"orrery/scheduler/site/internal/wake"
)

// Core is the scheduler core of a site: one committed view of nodes that differ, and
// for each vCluster a queue, a policy and the proposals it has in flight. It reads no
// clock and allocates nothing once its tables have grown. It is not safe for concurrent
// use.
//
// It observes facts and keeps the state below; what a vCluster does about it is decided
// by a pass. Each part says what always holds of it between two calls.
type Core struct {
	cfg Config

	nodeState
	jobTable
	accounts
	caps     caps.State // in use is what the jobs in phases running, proposed and withdrawn need, and resizes
	price    model.Fixed
	backlog  backlog
	holds    reserve.Holds
	promises reserve.Promises // to jobs in phases queued, proposed and withdrawn
	resizes  elastic.Resizes

	vclusters []queueState
	passes    []pass // by vCluster
	board     wake.Board
	factLog
	output
	buf   buffers
	asked []*inquiry // by vCluster, nil until it is asked why a job waits there
}

// factLog is where in the log the core is.
type factLog struct {
	now       model.Time // of the last Observe or Plan
	calls     uint64     // of these and of Follow: what was found out to answer questions holds until the next
	shedAt    int64      // factSeq when jobs to shed were last looked for
	factSeq   int64      // facts observed that may let a preemption succeed that failed before, or a cap have room
	lastFact  model.Time // when anything was observed last
	restoring bool       // each vCluster makes a pass in every plan, whatever its cycle
}

// output is what the core answers with, and what it has answered so far.
type output struct {
	plan scheduler.Plan
	seq  uint64 // of the last proposal
	work scheduler.Work
	next int // the vCluster whose turn is next at this instant, when others had theirs
}

// buffers is memory that is used again. A function that answers with one of them says how
// long the answer is valid; no function finds a result of another here.
type buffers struct {
	room, tight []order.Candidate
	line        []order.Candidate
	sizes       []sizeRoom
	scalingUp   []model.Ref
	choice      choice
	avoid       model.NodeSet
	confined    model.NodeSet
	extra       model.NodeSet
	promised    model.NodeSet
	foreseen    model.Placement
	lender      model.NodeSet
	trial       *place.Free
	idle        caps.Idle
	detailed    trial
	counted     countedTrial
	lent        []int32
	victims     []preempt.Victim
	selected    []int
}

func newBuffers(space *place.Space, nodes int) buffers {
	return buffers{avoid: model.NewNodeSet(nodes), confined: model.NewNodeSet(nodes), extra: model.NewNodeSet(nodes), promised: model.NewNodeSet(nodes), lender: model.NewNodeSet(nodes), trial: space.NewFree(), counted: countedTrial{usable: model.NewNodeSet(nodes), given: make([]int32, nodes)}}
}

// advance brings the accounts to now: what the last accounting tick up to then froze.
func (s *Core) advance(now model.Time) {
	s.ledger.Advance(now)
	if now != s.now {
		s.next = 0
	}
	s.now = now
	s.calls++
}

// idleTrial is a copy of the nodes that no job holds on which jobs may leave, valid until the next.
func (b *buffers) idleTrial(of *caps.Idle) *caps.Idle {
	if of.Counts() {
		b.idle.CopyFrom(of)
	}
	return &b.idle
}

// nodesOf is the nodes of a placement of whole nodes. The set is valid until the next
// call.
func (b *buffers) nodesOf(placement *model.Placement) model.NodeSet {
	set := b.extra
	clear(set)
	placement.AddTo(set)
	return set
}

// choice is the nodes that a job is to start on.
type choice struct {
	nodes    model.Placement
	borrowed bool // some are of other vClusters
}
