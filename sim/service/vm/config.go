package vm

import (
	"errors"
	"fmt"
	"math"

	"orrery/autoscale"
	"orrery/autoscale/neon"
	"orrery/scheduler/model"
	"orrery/sim/service"
	"orrery/sim/service/demand"
)

// Memory is how much of it a machine uses.
type Memory struct {
	Base   int64   // bytes that are always in use
	PerCPU int64   // bytes for each CPU that is called for
	Cache  int64   // bytes that the page cache fills, as far as there is room
	Fill   float64 // bytes per second at which it does
	Touch  float64 // bytes of the file cache that each CPU second touches anew, up to Cache: the working set
	Refuse float64 // probability that the monitor refuses to give back although it fits, times use over size squared
}

// Config is that of nodes and their machines.
type Config struct {
	Agent   neon.Config
	Plugin  neon.PluginConfig
	Nodes   []autoscale.Resources
	Initial autoscale.Resources
	First   []autoscale.Resources // of each machine in the place of Initial; nil for none
	Fixed   bool                  // machines have no agent and keep what they have initially
	Memory  Memory

	Sample     model.Duration // between samples of the metrics
	Permit     model.Duration // latency of the scheduler
	Timeout    model.Duration // of a request to it in an outage
	Resize     model.Duration // latency of a change of size
	Approve    model.Duration // of the monitor
	Bandwidth  float64        // bytes per second of a migration
	Pending    model.Duration // a migration that no node has room for fails after it
	Outages    []service.Span // of the permit server
	Gaps       []service.Span // of the metrics
	GapShare   float64        // of the samples that are missing besides
	Restarts   []service.Span // of all agents: from their end on there are fresh ones
	ResizeFail float64        // share of the changes of size that fail
	Draws      demand.Draws

	Step  model.Duration // of the timeline; 0 for none
	Watch Observer       // of decisions; nil for none
}

// Observer is told of each decision about a machine, which has an amount.
type Observer func(now model.Time, machine int, d *autoscale.Decision, has autoscale.Resources)

func (c *Config) validate(machines int) error {
	switch {
	case len(c.Nodes) == 0 || machines == 0:
		return errors.New("no nodes or no machines")
	case c.First != nil && len(c.First) != machines:
		return fmt.Errorf("%d first sizes of %d machines: want as many, or none", len(c.First), machines)
	case c.Sample <= 0 || min(c.Permit, c.Timeout, c.Resize, c.Approve, c.Pending, c.Step) < 0:
		return fmt.Errorf("sample %v, latencies %v, %v, %v, timeout %v, pending %v and step %v: want none negative, and samples", c.Sample, c.Permit, c.Resize, c.Approve, c.Timeout, c.Pending, c.Step)
	case !(c.Bandwidth > 0):
		return fmt.Errorf("bandwidth %v: want more than 0", c.Bandwidth)
	case !(c.ResizeFail >= 0 && c.ResizeFail <= 1) || !(c.GapShare >= 0 && c.GapShare <= 1):
		return fmt.Errorf("failures %v and gaps %v: want shares", c.ResizeFail, c.GapShare)
	case !(c.Memory.Refuse >= 0) || !(c.Memory.Fill >= 0) || !(c.Memory.Touch >= 0):
		return fmt.Errorf("refusals %v, fill %v and touch %v: want none negative", c.Memory.Refuse, c.Memory.Fill, c.Memory.Touch)
	case c.Agent.Unit.CPU <= 0 || c.Agent.Unit.Memory <= 0:
		return fmt.Errorf("compute unit %v: want some of each", c.Agent.Unit)
	}
	return nil
}

// units are the compute units of an amount, by the resource of which it has fewer and by
// the other.
func (c *Config) units(x autoscale.Resources) (least, most float64) {
	cpu, memory := float64(x.CPU)/float64(c.Agent.Unit.CPU), float64(x.Memory)/float64(c.Agent.Unit.Memory)
	return min(cpu, memory), max(cpu, memory)
}

// within says whether an instant lies in one of the spans.
func within(spans []service.Span, now model.Time) bool {
	for _, s := range spans {
		if now >= s.From && now < s.To {
			return true
		}
	}
	return false
}

// need is how many compute units would do for so many CPUs: those of them, or of the memory in use.
func (c *Config) need(cpus float64) float64 {
	const slack = 1e-9 // of sums of rates
	cpu, memory := float64(cpus*1000)/float64(c.Agent.Unit.CPU), c.use(cpus)/float64(c.Agent.Unit.Memory)
	return math.Ceil(max(cpu, memory) - slack)
}

// use is the memory in use for so many CPUs, without the cache.
func (c *Config) use(cpus float64) float64 {
	return float64(c.Memory.Base) + float64(cpus*float64(c.Memory.PerCPU))
}

// Need is the most compute units that a machine needs under a demand before an instant.
func (c *Config) Need(d *demand.Demand, until model.Time) (units float64) {
	for i := range d.Segments {
		x := &d.Segments[i]
		if i > 0 && x.At >= until {
			break
		}
		work := x.Work
		if work == 0 {
			work = c.Draws.Default.Work
		}
		units = max(units, c.need(float64(x.Rate*work.Seconds())))
	}
	return units
}
