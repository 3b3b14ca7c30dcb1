package scaling

import (
	"errors"
	"fmt"
	"math"

	"orrery/autoscale"
	"orrery/autoscale/neon"
	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/service"
	"orrery/sim/service/demand"
	"orrery/sim/service/vm"
	"orrery/sim/stat"
)

// Machines are those of a comparison on virtual machines.
type Machines struct {
	Count  int
	Nodes  []Node
	Called float64 // CPU hours, of the first seed
}

// Node is a node of them, in compute units.
type Node struct{ CPU, Memory float64 }

// MachineMeasures are the figures of each run on virtual machines, in the order of their
// values. Units are compute units, and requests those for permits.
func MachineMeasures() []Measure {
	return []Measure{
		{"throttled", "%", "CPU time done later than it was called for", stat.Lower, false},
		{"memory_short", "%", "machine time with more memory in use than there is", stat.Lower, false},
		{"granted", "%", "compute units permitted of those wanted", stat.Higher, false},
		{"cost", "1", "price times unit hours", stat.Lower, false},
		{"unit_hours", "h", "unit hours held", stat.Lower, false},
		{"needed_hours", "h", "unit hours that the demand needs", stat.Lower, true},
		{"theta_under", "%", "units lacking, relative to the need", stat.Lower, false},
		{"theta_over", "%", "units beyond the need, relative to it", stat.Lower, false},
		{"tau_under", "%", "machine time with too little", stat.Lower, false},
		{"tau_over", "%", "machine time with too much", stat.Lower, false},
		{"requests", "1", "requests for permits", stat.Lower, true},
		{"partial", "1", "requests granted in part", stat.Lower, false},
		{"denied", "1", "requests refused while a machine migrates", stat.Lower, false},
		{"unanswered", "1", "requests without an answer", stat.Lower, false},
		{"logical_pressure", "h", "unit hours reserved above the watermarks", stat.Lower, false},
		{"capacity_pressure", "h", "unit hours asked for and not there", stat.Lower, false},
		{"over_reserved", "%", "node time with more reserved than there is", stat.Lower, false},
		{"migrations", "1", "migrations begun", stat.Lower, false},
		{"migrated", "1", "migrations that ended on another node", stat.Lower, true},
		{"stayed", "1", "migrations that failed: no node had room", stat.Lower, false},
		{"changes", "1", "resizes", stat.Lower, false},
		{"reversals", "1", "changes of their direction", stat.Lower, false},
		{"resize_failures", "1", "resizes that failed", stat.Lower, true},
		{"refusals", "1", "steps down that the monitor refused", stat.Lower, true},
		{"gaps", "1", "samples without a metric", stat.Lower, true},
	}
}

// machineValues are the figures of one run.
func machineValues(o *vm.Outcome, nodes int, price float64) []float64 {
	share := func(part, whole float64) float64 {
		if whole == 0 {
			return 0
		}
		return float64(100 * part / whole)
	}
	n := func(v int64) float64 { return float64(v) }
	hours := o.Machines
	length := 0.0
	for i := range o.Timeline {
		length += o.Timeline[i].Width.Seconds()
	}
	return []float64{
		share(o.Throttled, o.Demand), share(o.Short/3600, hours), share(o.Granted, o.Wanted), float64(price * o.UnitHours), o.UnitHours, o.Needed,
		share(o.Lack, o.Needed), share(o.Surplus, o.Needed), share(o.Under, hours), share(o.Over, hours),
		n(o.Requests), n(o.Partial), n(o.Denied), n(o.Unanswered), o.Logical, o.Capacity, share(o.Crowded, float64(length*float64(nodes))),
		n(o.Migrations), n(o.Moved), n(o.Stayed), n(o.Resizes), n(o.Reversals), n(o.ResizeFailures), n(o.Refusals), n(o.Gaps),
	}
}

// nodesOf are the nodes of a file.
func nodesOf(c *profiles.ScalingMachines) (list []autoscale.Resources) {
	for _, n := range c.Nodes {
		for range n.Count {
			list = append(list, autoscale.Resources{CPU: thousandths(n.CPUs), Memory: int64(n.Memory)})
		}
	}
	return list
}

func thousandths(cpus float64) int64 { return int64(math.Round(float64(1000 * cpus))) }

// machinesOf are the machines of a file with a policy and a seed.
func machinesOf(s *profiles.Scaling, p *profiles.ScalingPolicy, seed uint64) vm.Config {
	c, f, m := &s.Machines, &s.Faults, &s.Machines.Memory
	out := vm.Config{
		Agent: neon.Defaults(), Plugin: neon.PluginDefaults(), Nodes: nodesOf(c), Fixed: p.Kind == "fixed", Step: s.Step,
		Memory: vm.Memory{Base: int64(m.Base), PerCPU: int64(m.PerCPU), Cache: int64(m.Cache), Fill: float64(m.Fill), Touch: float64(m.Touch), Refuse: m.Refuse},
		Sample: c.Sample, Permit: c.Permit, Timeout: c.Timeout, Resize: c.Resize, Approve: c.Approve, Bandwidth: float64(c.Bandwidth), Pending: c.Pending,
		GapShare: f.Gaps, ResizeFail: f.Error, Draws: demand.Draws{Seed: seed, Default: demand.Request{Work: s.Service.Work}},
		Gaps: spanOf(f.GapFrom, f.GapLength), Outages: spanOf(f.OutageFrom, f.OutageLength), Restarts: spanOf(f.RestartAt, f.RestartLength),
	}
	unit := autoscale.Resources{CPU: thousandths(c.UnitCPUs), Memory: int64(c.UnitMemory)}
	units := func(n int64) autoscale.Resources {
		return autoscale.Resources{CPU: n * unit.CPU, Memory: n * unit.Memory}
	}
	a, g := &out.Agent, &out.Plugin
	a.Unit, g.Unit, g.Slot = unit, unit, unit.Memory
	g.Seed = seed
	if out.Fixed {
		out.Initial = units(p.Size)
		a.Min, a.Max = out.Initial, out.Initial
		return out
	}
	out.Initial = units(usual(s.Service.Start, p.Min)) // but for those that begin with what they need
	a.Min, a.Max, a.LoadTarget, a.Tick = units(p.Min), units(p.Max), p.Target, usual(p.Interval, a.Tick)
	y := &p.Agent
	a.MemoryTarget, a.TotalTarget, a.CacheMetrics, a.CacheShare, a.CacheWindow, a.CacheWait = y.MemoryTarget, y.TotalTarget, y.CacheMetrics, y.CacheShare, int(y.CacheWindow), int(y.CacheWait)
	a.StepUp, a.PermitRetry, a.DeniedRetry, a.TellRetry, a.DownRetry = y.StepUp, y.PermitRetry, y.DeniedRetry, y.TellRetry, y.DownRetry
	a.VMRetry = usual(p.ResizeRetry, a.VMRetry)
	x := &p.Plugin
	g.CPUWatermark, g.MemoryWatermark, g.Migrate, g.AccountPressure = float32(x.CPUWatermark), float32(x.MemoryWatermark), x.Migrate, x.AccountPressure
	g.RefuseOver, g.EvenWatermark, g.CheckUnit, g.RandomScore = x.RefuseOver, x.EvenWatermark, x.CheckUnit, x.RandomScore
	return out
}

// spanOf is a span of a fault, none without a length.
func spanOf(from, length model.Duration) []service.Span {
	if length == 0 {
		return nil
	}
	return []service.Span{{From: model.Time(from), To: model.Time(from).Add(length)}}
}

var (
	shareStream = draw.StreamOf("machine share")
	ownStream   = draw.StreamOf("machine noise")
)

// divided is the demand of each machine with a seed. Single requests become rates of the
// steps.
func divided(s *profiles.Scaling, d *demand.Demand, seed uint64) ([]*demand.Demand, error) {
	c := &s.Machines
	whole := demand.Demand{Segments: d.Segments, End: d.End, Notes: d.Notes}
	if len(d.Singles) > 0 {
		whole.Segments = d.Rates(s.Step)
	}
	shares, sum := make([]float64, c.Count), 0.0
	for i := range shares {
		shares[i] = 1
		if cv := float64(c.Spread * c.Spread); cv > 0 {
			source := draw.New(seed, shareStream, uint64(i), 0)
			shares[i] = source.Gamma(1/cv, cv)
		}
		sum += shares[i]
	}
	list := make([]*demand.Demand, c.Count)
	for i := range list {
		part, err := whole.Scaled(max(shares[i]/sum, math.SmallestNonzeroFloat64))
		if err != nil {
			return nil, s.Wrong("machines.spread", "%v", err)
		}
		if c.Noise > 0 {
			part = part.Noisy(c.Noise, draw.At(seed, ownStream, uint64(i), 0, 0))
		}
		list[i] = part
	}
	return list, nil
}

// machineCheck holds the machines and a policy of a file against what they can be.
func machineCheck(s *profiles.Scaling, i int) error {
	c := machinesOf(s, &s.Policies[i], 0)
	_, err := neon.NewAgent(c.Agent, c.Initial)
	if err == nil {
		_, err = neon.NewPlugin(c.Plugin)
	}
	if err != nil {
		return s.Wrong(fmt.Sprintf("policies[%d]", i), "%v", err)
	}
	return nil
}

// firstUnits are the sizes that machines begin with where the file leaves it open: what each
// needs at most in the first step, within the bounds of the policy.
func firstUnits(s *profiles.Scaling, i int, c *vm.Config, demands []*demand.Demand) []autoscale.Resources {
	p, unit := &s.Policies[i], c.Agent.Unit
	out := make([]autoscale.Resources, len(demands))
	for k, d := range demands {
		n := int64(math.Ceil(c.Need(d, model.Time(s.Step))))
		n = min(max(n, p.Min), p.Max)
		out[k] = autoscale.Resources{CPU: n * unit.CPU, Memory: n * unit.Memory}
	}
	return out
}

// runMachines compares the policies of a file on virtual machines.
func (c *Comparison) runMachines(s *profiles.Scaling, i, seed int, demands []*demand.Demand) error {
	p := &c.Policies[i]
	config := machinesOf(s, &s.Policies[i], uint64(seed+1))
	if !config.Fixed && s.Service.Start == nil {
		config.First = firstUnits(s, i, &config, demands)
	}
	for k := range demands {
		size := config.Initial
		if config.First != nil {
			size = config.First[k]
		}
		p.started(seed, size.CPU/config.Agent.Unit.CPU)
	}
	if seed == 0 {
		config.Watch = unitLog{p, &config.Agent.Unit, map[logKey]int{}}.log
	}
	out, err := vm.Run(config, demands)
	var room *vm.RoomError
	switch {
	case errors.As(err, &room):
		return s.Wrong("machines.nodes", "%v with the policy %s: give them more, or have fewer or smaller machines", err, p.Name)
	case err != nil:
		return fmt.Errorf("policy %s, seed %d: %w", p.Name, seed+1, err)
	}
	for k, v := range machineValues(out, len(config.Nodes), s.Service.Price) {
		p.Values[k] = append(p.Values[k], v)
	}
	if seed == 0 {
		p.Machines, p.First.Rules, c.Machines.Called = out, out.Rules, out.Demand/3600
	}
	return nil
}
