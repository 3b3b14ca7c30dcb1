// Package neon scales virtual machines in place, as Neon's autoscaling does. An Agent
// decides for one machine how much CPU and memory it is to have. The Plugin stands in the
// cluster's scheduler: it grants permits out of what a node has, places machines, and
// chooses which of them leave a node that is too full.
//
// What an agent wants goes by way of three actuators, each of which is an entity of its
// proposals: the Scheduler grants a permit, the VM is resized within it, and the Monitor
// inside the machine approves every step down and is told of every step up. The permit is
// the upper bound for as long as no other is granted, so that an agent without a scheduler
// still scales below it; the lower one is what the monitor has approved.
package neon

import (
	"fmt"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// The actuators of an agent: the entities of its proposals and results.
const (
	VM        autoscale.Entity = iota // resized by its host
	Scheduler                         // grants permits
	Monitor                           // in the machine; Ready when it is connected
	actuators
)

// The series that an agent observes. WorkingSet comes as one sample for each window of
// 1, 2, 3 … minutes. MoreCPU and MoreMemory are the monitor's wishes, as FactActive.
const (
	Load        autoscale.Metric = iota // load average of one minute
	MemoryUsage                         // bytes, without the page cache
	MemoryCache                         // bytes of the page cache
	WorkingSet                          // pages of 8 KiB touched within the window
	MoreCPU
	MoreMemory
)

// The rules: what determined how much a machine is to have.
const (
	RuleLoad     autoscale.Rule = "load"             // the load average
	RuleMemory   autoscale.Rule = "memory"           // memory in use
	RuleCache    autoscale.Rule = "working_set"      // the working set of the file cache
	RuleTotal    autoscale.Rule = "memory_and_cache" // memory in use and cached
	RuleWish     autoscale.Rule = "monitor_wish"     // the monitor called for more
	RuleRefused  autoscale.Rule = "downscale_denied" // the monitor refused to give back
	RuleReport   autoscale.Rule = "report"           // the scheduler is told what is used
	RuleApproved autoscale.Rule = "approved"         // the monitor has to be told or asked
)

// The guards of an agent.
const (
	GuardPermit   autoscale.Guard = "permit"            // the scheduler has granted less
	GuardApproval autoscale.Guard = "approval"          // the monitor has not approved it
	GuardFailed   autoscale.Guard = "failed_recently"   // the last attempt failed a moment ago
	GuardDenied   autoscale.Guard = "denied_recently"   // it was refused a moment ago
	GuardOther    autoscale.Guard = "other_request"     // another request is to end first
	GuardUnit     autoscale.Guard = "one_unit_at_once"  // the rest follows step by step
	GuardPartial  autoscale.Guard = "metric_incomplete" // nothing is given back without all metrics
)

// Config is that of one agent.
type Config struct {
	Min, Max autoscale.Resources
	Unit     autoscale.Resources // compute unit: what goals are multiples of; default 0.25 CPU and 1 GiB

	LoadTarget   float64 // load average per CPU; default 0.9
	MemoryTarget float64 // memory in use per memory; default 0.75
	TotalTarget  float64 // memory in use and cached per memory; default 0.9

	CacheMetrics bool    // whether the working set is looked at
	CacheShare   float64 // of memory that the file cache may have; default 0.75
	CacheWindow  int     // minutes over which the growth of the working set is compared; default 5
	CacheWait    int     // minutes of working set that must stay; default 5

	Tick        model.Duration // between reports to the scheduler; default 15 s
	PermitRetry model.Duration // after a failed request for a permit; default 3 s
	DeniedRetry model.Duration // after one that was granted in part; default 2 s
	VMRetry     model.Duration // after a failed resize; default 5 s
	TellRetry   model.Duration // after a failed request to the monitor; default 3 s
	DownRetry   model.Duration // after a refused step down; default 5 s
	WishValid   model.Duration // of a wish of the monitor; default 10 s

	// StepUp tells the monitor of one compute unit at a time, as the comments of the
	// original intend; its own code tells all at once.
	StepUp bool
}

// Defaults are those of the sample configuration. Bounds have none.
func Defaults() Config {
	return Config{
		Unit:       autoscale.Resources{CPU: 250, Memory: 1 << 30},
		LoadTarget: 0.9, MemoryTarget: 0.75, TotalTarget: 0.9, CacheShare: 0.75, CacheWindow: 5, CacheWait: 5,
		Tick: 15 * model.Second, PermitRetry: 3 * model.Second, DeniedRetry: 2 * model.Second, VMRetry: 5 * model.Second,
		TellRetry: 3 * model.Second, DownRetry: 5 * model.Second, WishValid: 10 * model.Second,
	}
}

// validate says what is wrong with a configuration.
func (c *Config) validate() error {
	switch {
	case c.Unit.CPU <= 0 || c.Unit.Memory <= 0:
		return fmt.Errorf("compute unit %v: want some of each", c.Unit)
	case anyLess(c.Min, autoscale.Resources{}) || anyLess(c.Max, c.Min):
		return fmt.Errorf("min %v and max %v: want 0 <= min <= max of each", c.Min, c.Max)
	case !(c.LoadTarget > 0) || !(c.MemoryTarget > 0) || !(c.TotalTarget > 0) || !(c.CacheShare > 0):
		return fmt.Errorf("targets %v, %v, %v and share %v: want more than 0", c.LoadTarget, c.MemoryTarget, c.TotalTarget, c.CacheShare)
	case c.CacheWindow < 2 || c.CacheWait < c.CacheWindow:
		return fmt.Errorf("cache window %d and wait %d: want 2 <= window <= wait", c.CacheWindow, c.CacheWait)
	case c.Tick <= 0:
		return fmt.Errorf("tick %v: want more than 0", c.Tick)
	case min(c.PermitRetry, c.DeniedRetry, c.VMRetry, c.TellRetry, c.DownRetry, c.WishValid) < 0:
		return fmt.Errorf("retries %v, %v, %v, %v, %v and validity %v: want none negative", c.PermitRetry, c.DeniedRetry, c.VMRetry, c.TellRetry, c.DownRetry, c.WishValid)
	}
	return nil
}

// anyLess says whether there is less in a than in b of any resource.
func anyLess(a, b autoscale.Resources) bool { return a.CPU < b.CPU || a.Memory < b.Memory }

// atLeast and atMost are the larger and smaller of each resource.
func atLeast(a, b autoscale.Resources) autoscale.Resources {
	return autoscale.Resources{CPU: max(a.CPU, b.CPU), Memory: max(a.Memory, b.Memory)}
}

func atMost(a, b autoscale.Resources) autoscale.Resources {
	return autoscale.Resources{CPU: min(a.CPU, b.CPU), Memory: min(a.Memory, b.Memory)}
}

func plus(a, b autoscale.Resources) autoscale.Resources {
	return autoscale.Resources{CPU: a.CPU + b.CPU, Memory: a.Memory + b.Memory}
}

// less is a without b, none at least.
func less(a, b autoscale.Resources) autoscale.Resources {
	return autoscale.Resources{CPU: above(a.CPU, b.CPU), Memory: above(a.Memory, b.Memory)}
}

// above is how much a exceeds b.
func above(a, b int64) int64 { return max(0, a-b) }
