// Package autoscale is the contract of scaling policies: deterministic state machines
// that are fed facts about one service or fleet and answer with proposals to change its
// size. A policy reads no clock, starts no goroutine, does no I/O and, once its tables
// have grown to the number of entities that it scales, allocates nothing. What carries a
// proposal out, and when that is refused, is for the caller; how it went is a fact.
//
// Each system that decides in its own way has a package of its own below this one.
package autoscale

import "orrery/scheduler/model"

// Policy is the two verbs of a policy, those of a scheduler core. Nothing enters it
// except through Observe. A policy is not safe for concurrent use.
type Policy interface {
	// Observe takes in facts in the order in which they happened; now must not decrease.
	Observe(now model.Time, facts []Fact)
	// Plan evaluates what is due at now over everything observed so far. It executes
	// nothing; what it returns is valid until the next Plan. A proposal is in flight
	// until its result is observed.
	Plan(now model.Time) *Plan
}

// Plan is what one call of Plan decided. Its slices live until the next one.
type Plan struct {
	// Proposals in the order in which they are to be carried out.
	Proposals []Proposal
	// Decisions explain them, and what was not proposed: one for each evaluation that
	// was due, none when nothing was.
	Decisions []Decision
	// Wake is the next instant at which the policy is to be called if nothing is
	// observed until then; Never when only facts can change its answer.
	Wake model.Time
}

// Reset empties a plan for the next call and keeps its memory.
func (p *Plan) Reset() {
	p.Proposals, p.Decisions, p.Wake = p.Proposals[:0], p.Decisions[:0], model.Never
}

// Verb is what a proposal asks for.
type Verb uint8

// The verbs.
const (
	Stay         Verb = iota // no change: the verb of a decision without a proposal
	Scale                    // change the size by N, which is negative to shrink
	SetReplicas              // make the size N
	SetResources             // give Entity the resources
	AddNode                  // add a node by Template
	Drain                    // take Entity out of service once its work has ended
	Migrate                  // move Entity to another node
	Cancel                   // withdraw the proposal Seq
)

// Entity is a node, pod, room or virtual machine of what is scaled, by a dense number
// that the caller gives. Numbers of entities that have stopped may be given again.
type Entity int32

// Whole stands for all entities together.
const Whole Entity = -1

// Resources are amounts of what an entity has or is to have.
type Resources struct {
	CPU    int64 // thousandths of a CPU
	Memory int64 // bytes
}

// Proposal is a change that a policy asks for.
type Proposal struct {
	Verb      Verb
	Seq       uint64 // numbers the proposals of a policy from 1; Cancel names that of another
	N         int64  // of Scale and SetReplicas
	Entity    Entity // of SetResources, Drain and Migrate
	Template  int32  // of AddNode: index in the table of templates of the policy
	Resources Resources
	Home      bool // nodes lent by others will not do: the minimum must be the service's own
}

// Rule names what a policy found to do. Each policy documents its own.
type Rule string

// Guard names what kept a policy from what it found to do. Those below mean the same in all
// policies; some have others.
type Guard string

// Guards that several policies have.
const (
	GuardNone      Guard = ""                   // nothing stood in the way
	GuardWindow    Guard = "within_window"      // the condition has not held for long enough
	GuardCooldown  Guard = "cooldown"           // too soon after the last change
	GuardMin       Guard = "at_min"             // the size is the smallest allowed
	GuardMax       Guard = "at_max"             // the size is the largest allowed
	GuardQuota     Guard = "quota"              // the tenant may not have more
	GuardNoMetric  Guard = "metric_unavailable" // no value to decide by
	GuardInFlight  Guard = "in_flight"          // an earlier proposal has no result yet
	GuardSuspended Guard = "suspended"          // the service does not run
	GuardBackOff   Guard = "rejection_backoff"  // waiting after rejections in a row
)

// Decision is one evaluation: the rule that fired, the guard that stopped or trimmed it,
// and what would have been proposed but for the guard.
type Decision struct {
	Rule   Rule
	Guard  Guard
	Entity Entity   // that the decision is about, or Whole
	Would  Proposal // Seq is that of the proposal made, 0 for none; a guard may have made that one smaller
}

// Proposed says whether the decision led to a proposal.
func (d Decision) Proposed() bool { return d.Would.Seq != 0 }
