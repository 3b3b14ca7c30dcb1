package scaling

import (
	"fmt"
	"slices"

	"orrery/autoscale"
	"orrery/autoscale/clairvoyant"
	"orrery/autoscale/fixed"
	"orrery/autoscale/hpa"
	"orrery/autoscale/keda"
	"orrery/autoscale/kpa"
	"orrery/autoscale/lattice"
	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/service"
	"orrery/sim/service/demand"
)

// fluidFrom is how many requests make a run a fluid, where the file leaves it open.
const fluidFrom = 2_000_000

// shapes by their words.
var shapes = map[string]demand.Kind{
	"constant": demand.Constant, "step": demand.Step, "ramp": demand.Ramp, "sine": demand.Sine, "diurnal": demand.Diurnal, "flash": demand.Flash,
}

// demandOf is the demand of one seed; recorded is nil where a shape is generated.
func demandOf(s *profiles.Scaling, recorded *demand.Demand, seed uint64) (*demand.Demand, error) {
	c := &s.Demand
	d := recorded
	if d == nil {
		shape := demand.Shape{
			Kind: shapes[c.Shape], Base: c.Base, Peak: c.Peak, At: c.At, Over: c.Over, Period: c.Period, Noise: c.Noise, Grain: c.Grain, Length: c.Length, Seed: seed,
		}
		var err error
		if d, err = demand.Generate(shape); err != nil {
			return nil, s.Wrong("demand", "%v", err)
		}
	} else if c.Noise > 0 {
		d = d.Noisy(c.Noise, seed)
	}
	if c.Scale != 1 {
		scaled, err := d.Scaled(c.Scale)
		if err != nil {
			return nil, s.Wrong("demand.scale", "%v", err)
		}
		d = scaled
	}
	return d, nil
}

// Part is the part of a recorded demand that the file takes.
func Part(s *profiles.Scaling, recorded *demand.Demand) (*demand.Demand, error) {
	if s.Demand.From == 0 && s.Demand.Length == 0 {
		return recorded, nil
	}
	d, err := recorded.Window(model.Time(s.Demand.From), s.Demand.Length)
	if err != nil {
		return nil, s.Wrong("demand.from", "%v", err)
	}
	return d, nil
}

// Words of the file for what package service has numbers for.
var (
	line      = map[string]int64{"queue": -1, "inference": -1} // of rooms none waits
	kinds     = map[string]service.Kind{"queue": service.Queue, "rooms": service.Rooms, "inference": service.Inference}
	balancing = map[string]service.Balancing{
		"one-line": service.OneLine, "random": service.Random, "two-choices": service.TwoChoices, "least-loaded": service.LeastLoaded,
	}
)

// configOf is the service without a policy, under a demand.
func configOf(s *profiles.Scaling, d *demand.Demand) service.Config {
	c, f := &s.Service, &s.Faults
	out := service.Config{
		Kind: kinds[c.Kind], Slots: c.Slots, Line: usual(c.Line, line[c.Kind]), Patience: c.Patience, Balancing: balancing[c.Balancing], Step: s.Step,
		Goal: service.Goal{Response: c.Goal.Of == "response", Limit: c.Goal.Limit, Share: c.Goal.Share},
		Supply: service.Supply{
			Limit: c.Limit, Boot: c.Boot, BootCV: c.BootCV, Warm: c.Warm, WarmRate: c.WarmRate, Drain: c.Drain, Latency: c.Latency,
			Requests: autoscale.Resources{CPU: 1000, Memory: 1 << 30}, Price: c.Price, Granularity: c.Granularity,
		},
		Scrape: service.Scrape{Interval: c.Scrape, Delay: c.Delay},
		Faults: service.Faults{GapShare: f.Gaps, Error: f.Error, Slow: f.Slow, SlowBy: f.SlowBy, Fail: f.Fail, FailAfter: f.FailAfter, MTBF: f.MTBF},
		Draws:  demand.Draws{GapCV: c.ArrivalCV, Jitter: s.Demand.Jitter, Default: demand.Request{Work: c.Work, WorkCV: c.WorkCV}},
	}
	if f.GapLength > 0 {
		from := model.Time(f.GapFrom)
		out.Faults.Gaps = []service.Span{{From: from, To: from.Add(f.GapLength)}}
	}
	if c.Kind == "inference" {
		b := &c.Batch
		out.Batch = service.Batch{Most: b.Most, Base: b.Base, PerRequest: b.PerRequest, Chunk: b.Chunk, Occupancy: b.Occupancy}
		out.Draws.Default.In, out.Draws.Default.Out, out.Draws.TokenCV = b.In, b.Out, b.CV
	}
	out.Fluid = c.Mode == "fluid"
	if c.Mode == "auto" && out.Balancing == service.OneLine && out.Patience == 0 {
		out.Fluid = requests(d, s.Step) > fluidFrom
	}
	return out
}

// Bounds of what is simulated, so that no file takes memory or time without end: the
// largest fleet, which is that of a service in a cluster, and requests one by one.
const (
	mostReplicas = 65_536
	mostRequests = 10 * fluidFrom
)

// tooLarge is the error of a demand that is beyond the bounds.
func tooLarge(s *profiles.Scaling, config *service.Config, d *demand.Demand, needs []int64) error {
	if n := requests(d, s.Step); !config.Fluid && n > mostRequests {
		return s.Wrong("demand", "found %.0f requests, want at most %d where each is simulated: set service.mode to fluid, with one line and no patience, or take a shorter part", n, mostRequests)
	}
	if len(needs) > 0 && slices.Max(needs) > mostReplicas {
		return s.Wrong("demand", "found a need of %d replicas, want at most %d: let replicas be larger (service.slots), or scale the demand down", slices.Max(needs), mostReplicas)
	}
	return nil
}

// requests are those that are expected.
func requests(d *demand.Demand, step model.Duration) float64 {
	sum := d.Initial
	for _, r := range d.Rates(step) {
		sum += float64(r.Rate * step.Seconds())
	}
	return sum
}

// run is a policy with the service as it sees it.
type run struct {
	policy autoscale.Policy
	config service.Config
}

// usual is a value that the file gives, a 0 as well, or else what is used without one.
func usual[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

// build makes policy i of a service that begins with the size of c, and adds to c what it wants to see.
func build(s *profiles.Scaling, i int, c service.Config, needs []int64, seed uint64) (run, error) {
	p, r := &s.Policies[i], run{config: c}
	var err error
	switch p.Kind {
	case "fixed":
		r.policy, err = fixed.New(p.Size)
	case "clairvoyant":
		r.policy, err = clairvoyant.New(service.Clairvoyant(needs, c.Step), usual(p.Lead, longest(&c.Supply)))
	case "lattice":
		err = r.lattice(p)
	case "lattice-coded":
		err = r.latticeCoded(p)
	case "hpa":
		r.policy, err = r.hpa(p)
	case "kpa":
		err = r.kpa(p)
	case "keda":
		err = r.keda(p)
	case "maestro":
		err = r.maestro(p, seed)
	case "maestro-10":
		err = r.maestro10(p)
	case "neon":
		err = r.neon(p)
	}
	if err != nil {
		return run{}, err
	}
	return r, nil
}

// longest is how long a boot takes but for a few of a thousand.
func longest(c *service.Supply) model.Duration {
	return c.Latency + model.Duration(float64(c.Boot)*(1+float64(3*c.BootCV)))
}

// start is the size that a policy begins with. Where the file leaves it open all begin alike,
// with what is needed before a replica that they order could serve, so that the first boots
// decide nothing; a fixed size is what it is.
func start(s *profiles.Scaling, p *profiles.ScalingPolicy, c *service.Supply, needs []int64) int64 {
	if p.Kind == "fixed" && s.Service.Start == nil {
		return p.Size
	}
	n := usual(s.Service.Start, first(needs, longest(c), s.Step))
	if s.Service.Start == nil && p.Kind != "clairvoyant" { // which has no bounds
		n = min(max(n, p.Min), p.Max)
	}
	if c.Limit > 0 && s.Service.Start == nil {
		n = min(n, c.Limit)
	}
	if p.Kind == "neon" { // a machine has a compute unit at least
		n = max(n, p.Min)
	}
	return n
}

// first is the most that is needed in the steps that begin within a time from the beginning.
func first(needs []int64, until, step model.Duration) (n int64) {
	for i := 0; i < len(needs) && (i == 0 || model.Duration(i)*step < until); i++ {
		n = max(n, needs[i])
	}
	return n
}

// source is the series of a policy's metric.
func (r *run) source(p *profiles.ScalingPolicy, metric autoscale.Metric) service.Source {
	series := map[string]service.Series{
		"utilization": service.Utilization, "queue": service.QueueDepth, "concurrency": service.Concurrency, "rate": service.RequestRate, "wait": service.Wait,
	}
	return service.Source{Series: series[p.Metric], Metric: metric, Window: usual(p.Window, 0)}
}

func (r *run) see(sources ...service.Source) {
	r.config.Scrape.Sources = append(r.config.Scrape.Sources, sources...)
}

func (r *run) lattice(p *profiles.ScalingPolicy) (err error) {
	c := lattice.Defaults()
	c.Min, c.Max, c.Target = p.Min, p.Max, p.Target
	c.DownThreshold = usual(p.DownThreshold, c.DownThreshold)
	c.UpWindow, c.DownWindow = usual(p.UpWindow, c.UpWindow), usual(p.DownWindow, c.DownWindow)
	c.Cooldown, c.Interval = usual(p.Cooldown, c.Cooldown), usual(p.Interval, c.Interval)
	c.MissingKeepsWindows, c.ChangeRestartsWindows, c.CooldownPerDirection = p.MissingKeepsWindows, p.ChangeRestartsWindows, p.CooldownPerDirection
	s := r.source(p, 0)
	s.Average = p.Metric != "utilization" && p.Metric != "wait" // per replica
	r.see(s)
	r.policy, err = lattice.New(c)
	return err
}

func (r *run) latticeCoded(p *profiles.ScalingPolicy) (err error) {
	c := lattice.CodedDefaults()
	c.Min, c.Max, c.UpThreshold = p.Min, p.Max, p.UpThreshold
	c.DownThreshold, c.Cooldown, c.Interval = usual(p.DownThreshold, c.DownThreshold), usual(p.Cooldown, c.Cooldown), usual(p.Interval, c.Interval)
	c.CooldownOnSuccess = p.CooldownOnSuccess
	r.see(service.Source{Series: service.Utilization, Metric: lattice.Utilisation, Window: usual(p.Window, 0)}, service.Source{Series: service.QueueDepth, Metric: lattice.QueueDepth})
	r.policy, err = lattice.NewCoded(c)
	return err
}

func (r *run) hpa(p *profiles.ScalingPolicy) (*hpa.Policy, error) {
	c := hpa.Defaults()
	c.Min, c.Max = max(p.Min, 1), p.Max
	c.Tolerance = hpa.Tolerances{Up: usual(p.Tolerance, c.Tolerance.Up), Down: usual(p.Tolerance, c.Tolerance.Down)}
	c.Up.Window, c.Down.Window = usual(p.UpWindow, c.Up.Window), usual(p.DownWindow, c.Down.Window)
	behavior(&c, p)
	c.Interval = usual(p.Interval, c.Interval)
	c.MaxAge = max(c.MaxAge, 2*r.config.Scrape.Interval)
	s := r.source(p, 0)
	m := hpa.Metric{Kind: hpa.TotalPerPod, Target: p.Target}
	switch p.Metric {
	case "utilization": // of the CPU that each replica has, in percent
		m = hpa.Metric{Kind: hpa.Utilization, Target: float64(100 * p.Target), CPU: true}
		s.PerReplica, s.Window = true, 0
		c.CPUInit = min(c.CPUInit, 30*model.Second)
	case "wait":
		m.Kind = hpa.ServiceRatio
	}
	c.Metrics = []hpa.Metric{m}
	r.see(s)
	r.config.Scrape.Entities = true
	return hpa.New(c)
}

func (r *run) kpa(p *profiles.ScalingPolicy) (err error) {
	c := kpa.Defaults()
	c.Min, c.Max, c.Target = p.Min, p.Max, p.Target
	c.Total, c.DownDelay, c.Interval = p.Target/0.7, usual(p.DownWindow, c.DownDelay), usual(p.Interval, c.Interval)
	c.PanicThreshold = usual(p.Panic, c.PanicThreshold)
	c.MaxUp, c.MaxDown, c.Activation = p.MaxUpRate, p.MaxDownRate, p.Activation
	c.StableWindow, c.ZeroGrace = p.StableWindow, p.ZeroGrace
	r.config.Scrape.Interval = min(r.config.Scrape.Interval, c.Interval)
	r.see(service.Source{Series: service.Concurrency, Metric: kpa.Stable, Window: c.StableWindow}, service.Source{Series: service.Concurrency, Metric: kpa.Panic, Window: c.StableWindow / 10})
	r.policy, err = kpa.New(c)
	return err
}

func (r *run) keda(p *profiles.ScalingPolicy) error {
	c := keda.Defaults()
	c.Min, c.Cooldown = p.Min, usual(p.Cooldown, c.Cooldown)
	c.Interval = usual(p.Interval, c.Interval)
	own := *p
	own.Interval = nil // that of the polls alone
	inner, err := r.hpa(&own)
	if err != nil {
		return err
	}
	r.see(service.Source{Series: service.Concurrency, Active: true})
	r.policy, err = keda.New(c, inner)
	return err
}

// Host is the service of a file with one policy as a cluster hosts it. recorded is its
// demand, nil where it has a shape, of which what comes before from is left out. needs are
// what it needs in each step.
func Host(s *profiles.Scaling, recorded *demand.Demand, from model.Duration, seed uint64) (h *service.Hosted, needs []int64, err error) {
	d, err := demandOf(s, recorded, seed)
	if err == nil && from > 0 {
		if d, err = d.Window(model.Time(from), 0); err != nil {
			err = s.Wrong("demand", "%v", err)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	config := configOf(s, d)
	config.Draws.Seed = seed
	needs = service.Needs(&config, d)
	if err := tooLarge(s, &config, d, needs); err != nil {
		return nil, nil, err
	}
	r, err := build(s, 0, config, needs, seed)
	if err != nil {
		return nil, nil, s.Wrong("policy", "%v", err)
	}
	if h, err = service.NewHosted(r.config, d, r.policy); err != nil {
		return nil, nil, s.Wrong("service", "%v", err)
	}
	return h, needs, nil
}

// Check builds every policy once, so that what is wrong with one is told by its place in
// the file before anything runs.
func Check(s *profiles.Scaling) error {
	if s.Service.Kind == "machines" {
		for i := range s.Policies {
			if err := machineCheck(s, i); err != nil {
				return err
			}
		}
		return nil
	}
	c := configOf(s, &demand.Demand{End: 1})
	for i := range s.Policies {
		if _, err := build(s, i, c, nil, 0); err != nil {
			return s.Wrong(fmt.Sprintf("policies[%d]", i), "%v", err)
		}
	}
	return nil
}
