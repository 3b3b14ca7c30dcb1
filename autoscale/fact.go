package autoscale

import (
	"math"

	"orrery/scheduler/model"
)

// FactKind says what a fact is about.
type FactKind uint8

// The kinds of facts, with the fields that each of them has besides Kind.
const (
	// FactSample is a value of Metric for Entity, or that there is none (Missing, or not
	// finite). At is when it was taken and Window the span that it covers.
	FactSample FactKind = iota + 1
	// FactSize is the size N that the service has been given: entities that are starting,
	// ready or busy, not those that drain.
	FactSize
	// FactCount is the number N of entities in State.
	FactCount
	// FactEntity is that Entity has entered State; Resources are what it has, or has
	// requested. At is when it was started, Template that of AddNode.
	FactEntity
	// FactLimit is how much more (N) the tenant may have, or NoLimit.
	FactLimit
	// FactResult is the Outcome of the proposal Seq: of an accepted one N or Resources
	// are what was granted, which may be less than was proposed.
	FactResult
	// FactSuspended is that the service was preempted. What is in flight is to be withdrawn.
	FactSuspended
	// FactResumed is that it runs again, on N entities.
	FactResumed
	// FactReclaimed is that N borrowed entities were taken back.
	FactReclaimed
	// FactActive is whether Metric calls for any capacity at all: N is 1 or 0, and Missing
	// says that it is not known.
	FactActive
	// FactPaused is whether an operator keeps the size as it is: N is 1 or 0.
	FactPaused
)

// NoLimit is the headroom of a tenant without a quota.
const NoLimit = -1

// State of an entity.
type State uint8

// The states of entities.
const (
	Requested State = iota + 1 // asked for, costs nothing yet
	Starting                   // costs, serves nothing yet
	Ready                      // serves, or is free to
	Busy                       // serves and is not to be taken away (an occupied room)
	Draining                   // takes no new work
	Stopped
	Failed
)

// Outcome of a proposal.
type Outcome uint8

// The outcomes.
const (
	Accepted   Outcome = iota + 1 // whole or in part
	Rejected                      // refused; may be proposed again
	Errored                       // could not be carried out
	Superseded                    // overtaken by another change or withdrawn
)

// Metric is a series by its index in the configuration of the policy.
type Metric int32

// Fact is one thing that a policy learns. It is a plain value, so that a log of facts
// can be kept and fed again.
type Fact struct {
	Kind      FactKind
	State     State
	Outcome   Outcome
	Missing   bool
	Metric    Metric
	Entity    Entity
	Template  int32
	N         int64
	Value     float64
	At        model.Time
	Window    model.Duration
	Seq       uint64
	Resources Resources
}

// HasValue says that a sample is a number. What a series could not give is none, and
// neither is what is not finite: no policy acts by it.
func (f *Fact) HasValue() bool {
	return !f.Missing && !math.IsNaN(f.Value) && !math.IsInf(f.Value, 0)
}
