package vm

import (
	"orrery/autoscale"
	"orrery/scheduler/model"
	"orrery/sim/service"
)

// Outcome is what came of a run.
type Outcome struct {
	Demand    float64 // CPU seconds that were called for
	Throttled float64 // CPU seconds that were done later than that
	Backlog   float64 // CPU seconds that are still to be done at the end
	UnitHours float64 // compute units held, by the resource of which there are more
	Short     float64 // seconds in which more memory was in use than there was

	Machines float64 // machine hours
	Needed   float64 // unit hours that CPU called for and memory in use make
	Lack     float64 // of them, what machines did not have
	Surplus  float64 // unit hours that they had beyond
	Under    float64 // machine hours with too little
	Over     float64 // machine hours with too much
	Wanted   float64 // unit hours of the goals of the agents
	Granted  float64 // of them, what they had permits for

	Requests, Partial int64 // for permits; less than asked for
	Denied            int64 // refused: of a machine that is leaving its node
	Unanswered        int64 // timed out
	Resizes           int64
	ResizeFailures    int64
	Reversals         int64 // changes of direction of resizes, over the machines
	Refusals          int64 // of the monitor to give back
	Gaps              int64 // samples that were missing
	Restarts          int64 // of agents
	Migrations        int64 // begun
	Moved             int64 // migrations that ended on another node
	Stayed            int64 // migrations that failed: no node had room

	Logical  float64 // unit hours reserved above the watermarks, over the nodes
	Capacity float64 // unit hours that agents asked for and nodes did not have
	Crowded  float64 // node seconds in which more is reserved than there is

	Sizes    []Size              // of the first machine, when it changes
	Rules    []service.RuleCount // of all machines
	Timeline []Step
}

// Size is what a machine has from an instant on.
type Size struct {
	At model.Time
	autoscale.Resources
}

// Step is one step of the timeline.
type Step struct {
	At    model.Time
	Width model.Duration

	Begun, Moved, Stayed int64 // migrations
	Partial, Unanswered  int64 // requests for permits
	Nodes                []Node
}

// Node is the mean of a node over a step, in compute units.
type Node struct {
	Needed   float64 // by the machines that are there
	Has      float64 // that they have
	Reserved float64
	Logical  float64 // pressures, by the resource of which it is more
	Capacity float64

	Called, Throttled float64 // CPU seconds of its machines in the step
}
