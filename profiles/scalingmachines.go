package profiles

import (
	"fmt"
	"reflect"
	"slices"

	"orrery/scheduler/model"
)

// ScalingMachines are the virtual machines of service.kind: machines. What is called for is
// arrivals times work, in CPUs.
type ScalingMachines struct {
	Count  int64   `yaml:"count" default:"1" min:"1" max:"10000" unit:"machines" doc:"among which the demand is divided"`
	Spread float64 `yaml:"spread" default:"0" min:"0" max:"5" unit:"1" doc:"coefficient of variation of their shares of the demand, drawn with the seed; 0 divides evenly"`
	Noise  float64 `yaml:"noise" default:"0" min:"0" max:"5" unit:"1" doc:"likewise of each grain or sample of the demand of one machine, apart from the others"`

	UnitCPUs   float64       `yaml:"unit_cpus" default:"0.25" min:"0.001" max:"1024" unit:"CPUs" doc:"of a compute unit"`
	UnitMemory Bytes         `yaml:"unit_memory" default:"1GiB" min:"1MiB" unit:"size" doc:"of a compute unit, and of a memory slot"`
	Memory     ScalingMemory `yaml:"memory" doc:"how much of it a machine uses"`
	Nodes      []ScalingNode `yaml:"nodes" doc:"on which the machines are"`

	Sample    model.Duration `yaml:"sample" default:"5s" min:"1s" unit:"span" doc:"between samples of the metrics"`
	Permit    model.Duration `yaml:"permit" default:"10ms" min:"0s" unit:"span" doc:"until the permit server answers"`
	Timeout   model.Duration `yaml:"timeout" default:"2s" min:"0s" unit:"span" doc:"of a request that it does not answer"`
	Resize    model.Duration `yaml:"resize" default:"500ms" min:"0s" unit:"span" doc:"until a machine has another size"`
	Approve   model.Duration `yaml:"approve" default:"20ms" min:"0s" unit:"span" doc:"until the monitor in a machine answers"`
	Bandwidth Rate           `yaml:"bandwidth" default:"1GiB/s" min:"1B/s" unit:"rate" doc:"at which a migration moves the memory of a machine"`
	Pending   model.Duration `yaml:"pending" default:"1m" min:"0s" unit:"span" doc:"a migration that no node has room for fails after it"`
}

// ScalingMemory is what a machine uses of its memory.
type ScalingMemory struct {
	Base   Bytes   `yaml:"base" default:"256MiB" min:"0" unit:"size" doc:"always in use"`
	PerCPU Bytes   `yaml:"per_cpu" default:"0" min:"0" unit:"size" doc:"in use for each CPU that is called for"`
	Cache  Bytes   `yaml:"cache" default:"0" min:"0" unit:"size" doc:"that the page cache fills, as far as there is room, and most of the working set"`
	Fill   Rate    `yaml:"fill" default:"64MiB/s" min:"0" unit:"rate" doc:"at which the page cache does"`
	Touch  Bytes   `yaml:"touch" default:"0" min:"0" unit:"size" doc:"of the cache that each CPU second touches anew: the working set of a time is what its CPU seconds have touched"`
	Refuse float64 `yaml:"refuse" default:"0" min:"0" max:"1" unit:"1" doc:"probability that the monitor refuses to give memory back although it fits, times the square of the share that would be in use"`
}

// ScalingNode is a number of equal nodes.
type ScalingNode struct {
	Count  int64   `yaml:"count" default:"1" min:"1" max:"10000" unit:"nodes" doc:"of this kind"`
	CPUs   float64 `yaml:"cpus" default:"0" min:"0" max:"100000" unit:"CPUs" doc:"of each; needed"`
	Memory Bytes   `yaml:"memory" default:"0" min:"0" unit:"size" doc:"of each; needed"`
}

// ScalingAgent are keys of Neon's agent.
type ScalingAgent struct {
	MemoryTarget float64 `yaml:"memory_target" default:"0.75" min:"0.01" max:"1" unit:"1" doc:"share of the memory that is to be in use"`
	TotalTarget  float64 `yaml:"total_target" default:"0.9" min:"0.01" max:"1" unit:"1" doc:"share that is to be in use or hold the working set; with cache_metrics"`
	CacheMetrics bool    `yaml:"cache_metrics" default:"false" doc:"goes by the working set as well"`
	CacheShare   float64 `yaml:"cache_share" default:"0.75" min:"0.01" max:"1" unit:"1" doc:"of the memory that the working set may have"`
	CacheWindow  int64   `yaml:"cache_window" default:"5" min:"2" max:"60" unit:"min" doc:"over which the growth of the working set is compared"`
	CacheWait    int64   `yaml:"cache_wait" default:"5" min:"2" max:"60" unit:"min" doc:"of the working set that count in any case; at least cache_window"`
	StepUp       bool    `yaml:"step_up" default:"false" doc:"tells the monitor of one compute unit at a time, as comments of the original intend; its code tells all at once"`

	PermitRetry model.Duration `yaml:"permit_retry" default:"3s" min:"0s" unit:"span" doc:"wait after a request for a permit that failed"`
	DeniedRetry model.Duration `yaml:"denied_retry" default:"2s" min:"0s" unit:"span" doc:"wait after one that was granted in part"`
	TellRetry   model.Duration `yaml:"tell_retry" default:"3s" min:"0s" unit:"span" doc:"wait after a request to the monitor that failed"`
	DownRetry   model.Duration `yaml:"down_retry" default:"5s" min:"0s" unit:"span" doc:"wait after a step down that the monitor refused"`
}

// ScalingPlugin are keys of Neon's plugin.
type ScalingPlugin struct {
	CPUWatermark    float64 `yaml:"cpu_watermark" default:"0.9" min:"0.01" max:"1" unit:"1" doc:"share of the CPUs of a node above which machines are to leave"`
	MemoryWatermark float64 `yaml:"memory_watermark" default:"0.9" min:"0.01" max:"1" unit:"1" doc:"likewise of the memory"`
	Migrate         bool    `yaml:"migrate" default:"true" doc:"whether machines may leave a node"`
	AccountPressure bool    `yaml:"account_pressure" default:"false" doc:"what a leaving machine had asked for is accounted for as well, as the document of the original says"`
	RefuseOver      bool    `yaml:"refuse_over" default:"false" doc:"Reserve refuses what does not fit, as the document says"`
	EvenWatermark   bool    `yaml:"even_watermark" default:"false" doc:"a node exactly at both watermarks is not too full, as the document says"`
	CheckUnit       bool    `yaml:"check_unit" default:"false" doc:"a request that is no multiple of the compute unit is refused, as the document says"`
	RandomScore     bool    `yaml:"random_score" default:"false" doc:"scores of nodes are drawn between 1 and the score"`
}

// machines checks a service of machines.
func (s *Scaling) machines(c *checker) {
	if s.Service.Kind != "machines" {
		return
	}
	leaveOut := func(block string, of reflect.Type, but ...string) {
		for _, f := range fieldsOf(of) {
			if path := block + "." + f.key; f.when == nil && c.src.has(path) && !slices.Contains(but, f.key) {
				c.add(path, "does not apply with service.kind: machines: leave it out")
			}
		}
	}
	leaveOut("service", reflect.TypeFor[ScalingService](), "kind", "start", "price")
	leaveOut("faults", reflect.TypeFor[ScalingFaults](), "gap_from", "gap_length", "gaps", "error")
	if len(s.Machines.Nodes) == 0 {
		c.add("machines", "has no nodes: list them, as nodes: [{cpus: 16, memory: 64GiB}]")
	}
	total := int64(0)
	for i := range s.Machines.Nodes {
		n, at := &s.Machines.Nodes[i], fmt.Sprintf("machines.nodes[%d]", i)
		if n.CPUs == 0 {
			c.add(at, "has no CPUs: give it cpus")
		}
		if n.Memory == 0 {
			c.add(at, "has no memory: give it one, such as 64GiB")
		}
		if total += n.Count; total > 10_000 {
			c.add(at+".count", "makes %d nodes, want at most 10000", total)
		}
	}
}

// onMachines checks a policy for a service of machines.
func (s *Scaling) onMachines(c *checker, p *ScalingPolicy, at string) {
	switch {
	case s.Service.Kind != "machines":
	case p.Kind != "fixed" && p.Kind != "neon":
		c.add(at+".kind", "found %s, which changes a number of replicas: want neon or fixed, which give machines their size", p.Kind)
	case p.Kind == "fixed" && p.Size < 1:
		c.add(at+".size", "found 0, want 1 or more: a machine has a compute unit at least")
	}
}
