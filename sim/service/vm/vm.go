// Package vm simulates virtual machines that are resized while they run, with the agents
// and the scheduler plugin of Neon in the loop. The CPU that a machine is called for comes
// from outside; what it cannot do at once stays as a backlog, so that the load average does
// not fall before that is worked off. It must not know how the agent or the plugin decide.
package vm

import (
	"errors"
	"fmt"
	"math"

	"orrery/autoscale"
	"orrery/autoscale/neon"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
	"orrery/sim/service"
	"orrery/sim/service/demand"
)

// Memory is how much of it a machine uses.
type Memory struct {
	Base   int64   // bytes that are always in use
	PerCPU int64   // bytes for each CPU that is called for
	Cache  int64   // bytes that the page cache fills, as far as there is room
	Fill   float64 // bytes per second at which it does
	Refuse float64 // probability that the monitor refuses to give back although it fits, times use over size squared
}

// Config is that of nodes and their machines.
type Config struct {
	Agent   neon.Config
	Plugin  neon.PluginConfig
	Nodes   []autoscale.Resources
	Initial autoscale.Resources
	Memory  Memory

	Sample     model.Duration // between samples of the metrics
	Permit     model.Duration // latency of the scheduler
	Timeout    model.Duration // of a request to it in an outage
	Resize     model.Duration // latency of a change of size
	Approve    model.Duration // of the monitor
	Bandwidth  float64        // bytes per second of a migration
	Outages    []service.Span // of the permit server
	Gaps       []service.Span // of the metrics
	ResizeFail float64        // share of the changes of size that fail
	Draws      demand.Draws
}

func (c *Config) validate(machines int) error {
	switch {
	case len(c.Nodes) == 0 || machines == 0:
		return errors.New("no nodes or no machines")
	case c.Sample <= 0 || c.Permit < 0 || c.Timeout < 0 || c.Resize < 0 || c.Approve < 0:
		return fmt.Errorf("sample %v, latencies %v, %v, %v and timeout %v: want none negative, and samples", c.Sample, c.Permit, c.Resize, c.Approve, c.Timeout)
	case !(c.Bandwidth > 0):
		return fmt.Errorf("bandwidth %v: want more than 0", c.Bandwidth)
	case !(c.ResizeFail >= 0 && c.ResizeFail <= 1) || !(c.Memory.Refuse >= 0) || !(c.Memory.Fill >= 0):
		return fmt.Errorf("failures %v, refusals %v and fill %v: want a share, and none negative", c.ResizeFail, c.Memory.Refuse, c.Memory.Fill)
	}
	return nil
}

// Outcome is what came of a run.
type Outcome struct {
	Demand    float64 // CPU seconds that were called for
	Throttled float64 // CPU seconds that were done later than that
	Backlog   float64 // CPU seconds that are still to be done at the end
	UnitHours float64 // compute units held, by CPU
	Short     float64 // seconds in which more memory was in use than there was

	Requests, Partial, Failed int64 // of permits; less than asked for; unanswered or refused
	Resizes, ResizeFailures   int64
	Refusals                  int64 // of the monitor to give back
	Migrations                int64
	Unplaced                  int64   // migrations that no node had room for
	Over                      float64 // node seconds in which more is reserved than there is
	Sizes                     []Size  // of the first machine, when it changes
}

// Size is what a machine has from an instant on.
type Size struct {
	At model.Time
	autoscale.Resources
}

// machine is one with its agent.
type machine struct {
	agent    *neon.Agent
	demand   *demand.Demand
	segment  int
	node     int
	size     autoscale.Resources
	cpu      float64 // called for
	backlog  float64 // CPU seconds
	work     float64 // CPU seconds of a task
	load     float64 // average of one minute
	cached   float64
	at       model.Time
	permit   *autoscale.Resources
	wake     model.Time
	flying   [3]autoscale.Proposal // by actuator
	moving   bool
	facts    []autoscale.Fact
	requests uint64
}

// World is one run.
type World struct {
	cfg    Config
	plugin *neon.Plugin
	vms    []machine
	queue  des.Queue
	over   model.Time // until when the nodes are looked at
	out    Outcome
}

var (
	failStream   = draw.StreamOf("vm resize failure")
	refuseStream = draw.StreamOf("vm monitor refusal")
)

// Run simulates machines, each under its demand: arrivals times work is the CPU that is
// called for.
func Run(cfg Config, demands []*demand.Demand) (*Outcome, error) {
	if err := cfg.validate(len(demands)); err != nil {
		return nil, err
	}
	w := &World{cfg: cfg}
	if err := w.begin(demands); err != nil {
		return nil, err
	}
	end := model.Time(0)
	for _, d := range demands {
		end = max(end, d.End)
	}
	var batch []des.Event
	for now := w.queue.Next(); now < end; now = w.queue.Next() {
		batch = w.queue.Take(now, des.RankRecord, batch[:0])
		for _, e := range batch {
			w.handle(now, e)
		}
	}
	for i := range w.vms {
		w.settle(end, &w.vms[i])
		w.out.Backlog += w.vms[i].backlog
	}
	return &w.out, nil
}

// begin places the machines in order, each on the node that scores highest.
func (w *World) begin(demands []*demand.Demand) (err error) {
	if w.plugin, err = neon.NewPlugin(w.cfg.Plugin); err != nil {
		return err
	}
	for _, n := range w.cfg.Nodes {
		w.plugin.AddNode(n)
	}
	for i, d := range demands {
		if err := d.Check(); err != nil {
			return err
		}
		m := machine{demand: d, segment: -1, size: w.cfg.Initial, wake: model.Never, work: 1}
		if m.agent, err = neon.NewAgent(w.cfg.Agent, w.cfg.Initial); err != nil {
			return err
		}
		var ok bool
		if m.node, ok = w.place(w.cfg.Initial, -1); !ok {
			return fmt.Errorf("no node has room for machine %d", i)
		}
		if err := w.plugin.Reserve(autoscale.Entity(i), m.node, w.pod(m.size), false); err != nil {
			return fmt.Errorf("placing machine %d: %w", i, err)
		}
		m.facts = append(m.facts, autoscale.Fact{Kind: autoscale.FactEntity, Entity: neon.Monitor, State: autoscale.Ready})
		w.vms = append(w.vms, m)
		for k := range d.Segments {
			w.push(d.Segments[k].At, des.RankChange, i, k)
		}
		w.push(0, des.RankScrape, i, 0)
	}
	w.out.Sizes = append(w.out.Sizes, Size{0, w.cfg.Initial})
	return nil
}

func (w *World) pod(use autoscale.Resources) neon.Pod {
	return neon.Pod{Use: use, Min: w.cfg.Agent.Min, Max: w.cfg.Agent.Max, VM: true}
}

// place is the node with the highest score that has room; false for none.
func (w *World) place(use autoscale.Resources, but int) (best int, ok bool) {
	w.plugin.PreFilter()
	for n := range w.cfg.Nodes {
		if n == but || !w.plugin.Filter(n, use) {
			continue
		}
		if !ok || w.plugin.Score(n, use) > w.plugin.Score(best, use) {
			best, ok = n, true
		}
	}
	if !ok {
		w.plugin.PostFilter()
	}
	return best, ok
}

func (w *World) push(at model.Time, r des.Rank, vm, ref int) {
	if at != model.Never {
		w.queue.Push(des.NewEvent(at, r, model.JobID(vm), model.Ref(ref)))
	}
}

func (w *World) handle(now model.Time, e des.Event) {
	i := int(e.Job())
	m := &w.vms[i]
	w.settle(now, m)
	switch e.Rank() {
	case des.RankChange:
		s := &m.demand.Segments[e.Ref()]
		work := s.Work
		if work == 0 {
			work = w.cfg.Draws.Default.Work
		}
		m.cpu, m.work = float64(s.Rate*work.Seconds()), max(work.Seconds(), 1e-6)
		return
	case des.RankScrape:
		w.sample(now, m)
		w.push(now.Add(w.cfg.Sample), des.RankScrape, i, 0)
	case des.RankQuorum:
		w.answer(now, i, autoscale.Entity(e.Ref()))
	case des.RankNodeUp:
		w.moved(i)
		return
	}
	w.plan(now, i)
}

// settle lets a machine work up to now: it does what is called for and what is left, as far
// as it has CPUs.
func (w *World) settle(now model.Time, m *machine) {
	dt := (now - m.at)
	if dt <= 0 {
		return
	}
	s := model.Duration(dt).Seconds()
	has := float64(m.size.CPU) / 1000
	called := float64(m.cpu * s)
	w.out.Demand += called
	done := min(float64(has*s), called+m.backlog)
	w.out.Throttled += max(0, called-done)
	m.backlog = max(0, m.backlog+called-done)
	w.out.UnitHours += float64(has*s) / (float64(w.cfg.Agent.Unit.CPU) / 1000) / 3600
	run := m.cpu + m.backlog/m.work // tasks that run or want to
	m.load = run + float64((m.load-run)*math.Exp(-s/60))
	use := w.use(m)
	if use > float64(m.size.Memory) {
		w.out.Short += s
	}
	m.cached = min(float64(w.cfg.Memory.Cache), m.cached+float64(w.cfg.Memory.Fill*s), max(0, float64(m.size.Memory)-use))
	m.at = now
	w.look(now)
}

// look counts the time in which nodes have more reserved than they have.
func (w *World) look(now model.Time) {
	dt := now - w.over
	if dt <= 0 {
		return
	}
	for n := range w.cfg.Nodes {
		if cpu, memory := w.plugin.Node(n); cpu.Reserved > cpu.Total || memory.Reserved > memory.Total {
			w.out.Over += model.Duration(dt).Seconds()
		}
	}
	w.over = now
}

// use is the memory in use, without the cache.
func (w *World) use(m *machine) float64 {
	return float64(w.cfg.Memory.Base) + float64(m.cpu*float64(w.cfg.Memory.PerCPU))
}

// sample tells the agent its metrics.
func (w *World) sample(now model.Time, m *machine) {
	missing := false
	for _, g := range w.cfg.Gaps {
		missing = missing || now >= g.From && now < g.To
	}
	for metric, v := range [...]float64{neon.Load: m.load, neon.MemoryUsage: w.use(m), neon.MemoryCache: m.cached} {
		m.facts = append(m.facts, autoscale.Fact{Kind: autoscale.FactSample, Metric: autoscale.Metric(metric), Entity: autoscale.Whole, Value: v, At: now, Missing: missing})
	}
}

// plan lets the agent decide and sends what it wants to the actuators.
func (w *World) plan(now model.Time, i int) {
	m := &w.vms[i]
	m.agent.Observe(now, m.facts)
	m.facts = m.facts[:0]
	p := m.agent.Plan(now)
	for _, x := range p.Proposals {
		m.flying[x.Entity] = x
		latency := [...]model.Duration{neon.VM: w.cfg.Resize, neon.Scheduler: w.cfg.Permit, neon.Monitor: w.cfg.Approve}[x.Entity]
		if x.Entity == neon.Scheduler && w.unreachable(now) {
			latency = w.cfg.Timeout
		}
		w.push(now.Add(latency), des.RankQuorum, i, int(x.Entity))
	}
	if p.Wake != m.wake {
		m.wake = p.Wake
		w.push(p.Wake, des.RankScaling, i, 0)
	}
}

// unreachable says whether the permit server cannot be reached.
func (w *World) unreachable(now model.Time) bool {
	for _, o := range w.cfg.Outages {
		if now >= o.From && now < o.To {
			return true
		}
	}
	return false
}

// answer is that of an actuator to what is in flight.
func (w *World) answer(now model.Time, i int, e autoscale.Entity) {
	m := &w.vms[i]
	x := m.flying[e]
	f := autoscale.Fact{Kind: autoscale.FactResult, Seq: x.Seq, Entity: e, Outcome: autoscale.Accepted, Resources: x.Resources}
	source := draw.New(w.cfg.Draws.Seed, failStream, uint64(i), m.requests)
	refusal := draw.New(w.cfg.Draws.Seed, refuseStream, uint64(i), m.requests)
	m.requests++
	switch {
	case e == neon.Scheduler:
		w.permit(now, i, x.Resources, &f)
	case e == neon.VM && source.Bool(w.cfg.ResizeFail):
		w.out.ResizeFailures++
		f.Outcome = autoscale.Errored
	case e == neon.VM:
		w.out.Resizes++
		m.size = x.Resources
		if i == 0 {
			w.out.Sizes = append(w.out.Sizes, Size{now, m.size})
		}
	case x.Resources.CPU >= m.size.CPU && x.Resources.Memory >= m.size.Memory: // told of more
	default:
		share := w.use(m) / float64(max(1, x.Resources.Memory))
		if share > 1 || refusal.Bool(float64(w.cfg.Memory.Refuse*share*share)) {
			w.out.Refusals++
			f.Outcome = autoscale.Rejected
		}
	}
	m.facts = append(m.facts, f)
}

// permit asks the plugin, and begins a migration where it wants one.
func (w *World) permit(now model.Time, i int, want autoscale.Resources, f *autoscale.Fact) {
	m := &w.vms[i]
	w.out.Requests++
	if w.unreachable(now) {
		w.out.Failed++
		f.Outcome = autoscale.Errored
		return
	}
	a, err := w.plugin.Request(now, autoscale.Entity(i), neon.AgentRequest{Protocol: 5, Unit: w.cfg.Agent.Unit, Want: want, Last: m.permit, Load: m.load, Measured: true})
	if err != nil {
		w.out.Failed++
		f.Outcome = autoscale.Errored
		return
	}
	f.Resources = a.Permit
	permit := a.Permit
	m.permit = &permit
	if permit.CPU < want.CPU || permit.Memory < want.Memory {
		w.out.Partial++
	}
	if a.Migrate && !m.moving {
		m.moving = true
		w.out.Migrations++
		w.push(now.Add(model.Duration(float64(m.size.Memory)/w.cfg.Bandwidth*float64(model.Second))), des.RankNodeUp, i, 0)
	}
}

// moved ends a migration: the machine is on another node, if one has room; otherwise it
// stays where it was, as a new one.
func (w *World) moved(i int) {
	m := &w.vms[i]
	reserved := m.size
	if m.permit != nil {
		reserved = *m.permit
	}
	w.plugin.Delete(autoscale.Entity(i))
	to, ok := w.place(reserved, m.node)
	if !ok {
		w.out.Unplaced++
		to = m.node
	}
	// What is there already is never refused its place.
	if err := w.plugin.Reserve(autoscale.Entity(i), to, w.pod(reserved), true); err == nil {
		m.node, m.moving = to, false
	}
}
