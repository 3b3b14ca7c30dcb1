// Package lcm scales a fleet of lab workers as LCM does. A Scheduler places pending
// sessions onto workers and calls for more of them; a Reconciler drains those that are
// idle. The two share no state, and each can be used without the other.
//
// The commands of the control plane, which carries both out, are functions here: Grow and
// Drain say what it answers.
package lcm

import (
	"strings"

	"orrery/autoscale"
)

// The rules.
const (
	RuleAssign    autoscale.Rule = "assign"       // a worker has room: the fullest of those
	RuleNoWorkers autoscale.Rule = "no_workers"   // there is none at all
	RuleCapacity  autoscale.Rule = "at_capacity"  // all that run lack room alone
	RuleUnmet     autoscale.Rule = "requirements" // none meets what is required
	RuleIdle      autoscale.Rule = "idle"         // a worker is idle
	RuleBusy      autoscale.Rule = "active"       // it is not
	RuleAutoPause autoscale.Rule = "auto_pause"   // the control plane pauses it by itself
)

// The guards. Those of the reconciler are its audit labels.
const (
	GuardAutoPause   autoscale.Guard = "skipped_auto_pause"
	GuardNotIdle     autoscale.Guard = "skipped_not_idle"
	GuardNotEligible autoscale.Guard = "skipped_not_eligible"
	GuardMinWorkers  autoscale.Guard = "skipped_min_workers"
	GuardCoolingDown autoscale.Guard = "skipped_cooldown"
	GuardOff         autoscale.Guard = "disabled"       // scale-down is off, as it is by default
	GuardRequeued    autoscale.Guard = "requeued"       // after too many failures in a row
	GuardGivenUp     autoscale.Guard = "retries_used"   // as documented: no more attempts
	GuardComing      autoscale.Guard = "worker_coming"  // pending-aware: one that is starting has room
	GuardConcurrency autoscale.Guard = "max_concurrent" // more sessions than one cycle takes
)

// Event is an entry of the audit log.
type Event uint8

// The audit events.
const (
	ScaleUpAccepted Event = iota
	ScaleUpRejected
	Provisioned
	ScaleDownInitiated
	ScaleDownFailed
	SkippedAutoPause
	SkippedNotIdle
	SkippedNotEligible
	SkippedMinWorkers
	SkippedCooldown
	Drained
	Events // the number of them
)

var eventNames = [Events]string{
	"scale_up_accepted", "scale_up_rejected", "provisioned", "scale_down_initiated", "scale_down_failed", string(GuardAutoPause), string(GuardNotIdle),
	string(GuardNotEligible), string(GuardMinWorkers), string(GuardCoolingDown), "drained",
}

func (e Event) String() string { return eventNames[e] }

// Status of a command, as the control plane answers it.
type Status int

// The statuses.
const (
	OK       Status = 200
	Created  Status = 201
	Disabled Status = 400
	Missing  Status = 404
	Conflict Status = 409
)

// Growth is what the control plane looks at before it creates a worker.
type Growth struct {
	Known, Enabled bool  // the template
	Active         int64 // workers of the region in any state but terminated: stopped ones count
	Limit          int64 // workers per region
	Unchecked      bool  // looking failed
}

// Grow answers the command to create a worker. When the constraints cannot be looked at it
// is created all the same, so that one failure does not become two.
func Grow(g Growth) (Status, Event) {
	switch {
	case !g.Known:
		return Missing, ScaleUpRejected
	case !g.Enabled:
		return Disabled, ScaleUpRejected
	case !g.Unchecked && g.Active >= g.Limit:
		return Conflict, ScaleUpRejected
	}
	return Created, ScaleUpAccepted
}

// Drain answers the command to drain a worker, which must run.
func Drain(known, running bool) Status {
	switch {
	case !known:
		return Missing
	case !running:
		return Conflict
	}
	return OK
}

// Capacity of a worker, or what a session requires, in CPUs and GiB.
type Capacity struct {
	CPU, Memory, Storage int64
}

func (c Capacity) plus(d Capacity) Capacity {
	return Capacity{c.CPU + d.CPU, c.Memory + d.Memory, c.Storage + d.Storage}
}

func (c Capacity) less(d Capacity) Capacity {
	return Capacity{c.CPU - d.CPU, c.Memory - d.Memory, c.Storage - d.Storage}
}

// fits says whether there is as much as is needed.
func (c Capacity) fits(need Capacity) bool {
	return c.CPU >= need.CPU && c.Memory >= need.Memory && c.Storage >= need.Storage
}

// Hardware is what a worker reports of itself; 0 for what it does not report.
type Hardware struct {
	CPUs, Memory, Disk int64 // bytes
}

// Effective is the capacity that a worker declares, or else that of its hardware, if it
// reports all of it; ok is false when neither is known, and then it has none.
func Effective(declared *Capacity, h Hardware) (c Capacity, ok bool) {
	const gib = 1 << 30
	switch {
	case declared != nil:
		return *declared, true
	case h.CPUs > 0 && h.Memory > 0 && h.Disk > 0:
		return Capacity{h.CPUs, h.Memory / gib, h.Disk / gib}, true
	}
	return Capacity{}, false
}

// Licence of a worker.
type Licence uint8

// The licences.
const (
	NoLicence Licence = iota
	Personal
	Evaluation
	Enterprise
)

// LicenceOf is that which a worker reports: by its product, else by its active licence,
// else by whether it is of an enterprise.
func LicenceOf(product, active string, enterprise bool) Licence {
	for _, s := range [...]string{product, active} {
		s = strings.ToLower(s)
		switch {
		case strings.Contains(s, "enterprise"):
			return Enterprise
		case strings.Contains(s, "evaluation"):
			return Evaluation
		case strings.Contains(s, "personal"):
			return Personal
		}
	}
	if enterprise {
		return Enterprise
	}
	return Personal
}

// ParseLicence is the licence that a session asks for, in any case of letters.
func ParseLicence(s string) Licence {
	switch strings.ToLower(s) {
	case "enterprise":
		return Enterprise
	case "personal":
		return Personal
	case "evaluation":
		return Evaluation
	}
	return NoLicence
}

// satisfies says whether a worker of one licence serves a session that asks for another.
func (l Licence) satisfies(asked Licence) bool {
	return l == asked && l != NoLicence || l == Enterprise && asked == Personal
}
