// Package score is the arithmetic of the order in which jobs are looked at: nine
// factors, their weights, the penalty of an exhausted budget, the composite
// score and what it consists of. It must not know what a queue, a node set or a
// cluster is: the caller counts, and passes the counts as numbers.
//
// All is int64 fixed point (model.Fixed), each product rounded to the nearest on
// its own. So sums are associative: terms may be added in any order, tabulated
// and hoisted, and the score is the same to the last bit, on every machine.
// docs/SCHEDULING.md has the formulas.
package score

import "orrery/scheduler/model"

// Factor is one of the nine; f1 to f9 in the formulas.
type Factor uint8

// The factors, in the order of weight vectors.
const (
	Priority    Factor = iota // f1: the class
	Wait                      // f2: the time since submission
	FairShare                 // f3: what the tenant's share lacks
	Topology                  // f4: how few groups the request needs
	Data                      // f5: input on the hot tier
	Backlog                   // f6: queued against running work
	Energy                    // f7: how cheap energy is
	Checkpoint                // f8: how fast it can give way
	Conformance               // f9: how well one conformance group holds it
)

// NumFactors is the number of factors.
const NumFactors = 9

var names = [NumFactors]string{"priority", "wait_time", "fair_share", "topology", "data_readiness", "backlog",
	"energy", "checkpoint", "conformance"}

// String is the name in profiles and rm-replay's weight files.
func (f Factor) String() string { return names[f] }

// Scope says what a factor is a function of, hence what may be tabulated.
type Scope uint8

const (
	PerJob    Scope = iota // of the job alone: the same in every pass
	PerTenant              // of the tenant: changes at the accounting tick
	PerSize                // of nodes requested and nodes eligible: frozen for a pass
	Global                 // equal for all jobs of an instant
	OfWait                 // of the instant and the submission: every job its own, always
)

var scopes = [NumFactors]Scope{PerJob, OfWait, PerTenant, PerSize, PerJob, Global, Global, PerJob, PerSize}

// Scope of f. Energy is Global at the price of the instant; at the mean price
// over a job's own window it is the caller's to evaluate per job.
func (f Factor) Scope() Scope { return scopes[f] }

// Values are the nine factors of one job at one instant, each from 0 to 1, but
// for Wait (at most 45) and Conformance, which some do not cap (at most 2^20).
type Values [NumFactors]model.Fixed

// Weights of the nine factors, from Normalise or Raw: from 0 to maxRaw each, so
// that no sum of products with Values overflows.
type Weights [NumFactors]model.Fixed
