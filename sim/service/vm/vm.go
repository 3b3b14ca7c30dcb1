// Package vm simulates virtual machines that are resized while they run, with the agents
// and the scheduler plugin of Neon in the loop. The CPU that a machine is called for comes
// from outside; what it cannot do at once stays as a backlog, so that the load average does
// not fall before that is worked off. It must not know how the agent or the plugin decide.
package vm

import (
	"fmt"

	"orrery/autoscale"
	"orrery/autoscale/neon"
	"orrery/scheduler/model"
	"orrery/sim/des"
	"orrery/sim/service"
	"orrery/sim/service/demand"
)

// asked is what an actuator is doing.
type asked struct {
	autoscale.Proposal
	busy bool
	load float64 // that the agent had measured when it asked
	seen bool    // it had measured one
	lost bool    // sent in an outage: it is never read
	deaf bool    // the agent that asked is gone
}

// RoomError is that no node has room for a machine at the beginning.
type RoomError struct{ Machine, Of int }

func (e *RoomError) Error() string {
	return fmt.Sprintf("no node has room for machine %d of %d", e.Machine, e.Of)
}

// machine is one with its agent.
type machine struct {
	agent     *neon.Agent // nil for none, or while it restarts
	demand    *demand.Demand
	pod       autoscale.Entity // of the plugin: one of two numbers, the other is that of the target of a migration
	node      int
	size      autoscale.Resources
	cpu       float64 // called for
	need      float64 // compute units
	backlog   float64 // CPU seconds
	work      float64 // CPU seconds of a task
	load      float64 // average of one minute
	cached    float64
	called    float64   // CPU seconds since the beginning
	history   []float64 // of called, at the last instants when the working set was looked at
	at        model.Time
	permitted autoscale.Resources
	permit    *autoscale.Resources // permitted, or nil
	goal      float64              // compute units
	permits   float64              // compute units
	wake      model.Time
	flying    [3]asked // by actuator
	back      bool     // a fresh agent begins as soon as no actuator is busy
	up        bool     // the last resize went up
	resized   bool
	facts     []autoscale.Fact
	requests  uint64
	samples   uint64

	moving bool
	to     int                 // node of the target
	held   autoscale.Resources // reserved while it moves
	until  model.Time          // when a migration without a target fails
}

// World is one run.
type World struct {
	cfg    Config
	plugin *neon.Plugin
	vms    []machine
	nodes  []model.Time // until when each has been looked at
	queue  des.Queue
	step   Step
	end    model.Time
	rules  service.Outcome // counts decisions
	out    Outcome
	err    error
}

// Events of a machine that share a rank.
const (
	moved model.Ref = iota // RankNodeUp: a migration ends
	seek                   // a node is sought for one
	fresh                  // an agent begins
)

const (
	system  model.Ref = iota // RankScrape: metrics of the system
	windows                  // windows of the working set
)

// Run simulates machines, each under its demand: arrivals times work is the CPU that is
// called for. After every change of a node its sums are checked, and one that does not hold
// is an error.
func Run(cfg Config, demands []*demand.Demand) (*Outcome, error) {
	if err := cfg.validate(len(demands)); err != nil {
		return nil, err
	}
	w := &World{cfg: cfg}
	for _, d := range demands {
		w.end = max(w.end, d.End)
	}
	if err := w.begin(demands); err != nil {
		return nil, err
	}
	var batch []des.Event
	for now := w.queue.Next(); now < w.end && w.err == nil; now = w.queue.Next() {
		batch = w.queue.Take(now, des.RankRecord, batch[:0])
		for _, e := range batch {
			w.handle(now, e)
		}
	}
	if w.err != nil {
		return nil, w.err
	}
	w.record(w.end)
	for i := range w.vms {
		w.out.Backlog += w.vms[i].backlog
	}
	w.out.Rules = w.rules.Rules
	return &w.out, nil
}

// begin places the machines in order, each on the node that scores highest.
func (w *World) begin(demands []*demand.Demand) (err error) {
	if err = w.server(); err != nil {
		return err
	}
	w.nodes = make([]model.Time, len(w.cfg.Nodes))
	w.step.Nodes = make([]Node, len(w.cfg.Nodes))
	w.vms = make([]machine, len(demands))
	for i, d := range demands {
		if err := d.Check(); err != nil {
			return err
		}
		m, size := &w.vms[i], w.cfg.Initial
		if w.cfg.First != nil {
			size = w.cfg.First[i]
		}
		least, _ := w.cfg.units(size)
		*m = machine{demand: d, pod: autoscale.Entity(2 * i), size: size, wake: model.Never, work: 1, goal: least, permits: least}
		var ok bool
		if m.node, ok = w.place(size, -1); !ok {
			return &RoomError{i + 1, len(demands)}
		}
		if err := w.plugin.Reserve(m.pod, m.node, w.podOf(m.size), false); err != nil {
			return fmt.Errorf("placing machine %d: %w", i+1, err)
		}
		for k := range d.Segments {
			w.push(d.Segments[k].At, des.RankChange, i, model.Ref(k))
		}
		w.need(m)
		if err := w.attend(m, i); err != nil {
			return err
		}
	}
	w.faults()
	if w.cfg.Step > 0 {
		w.push(model.Time(w.cfg.Step), des.RankRecord, 0, 0)
	}
	w.out.Sizes = append(w.out.Sizes, Size{0, w.vms[0].size})
	return nil
}

// attend gives a machine its agent and the samples that this goes by.
func (w *World) attend(m *machine, i int) error {
	if w.cfg.Fixed {
		return nil
	}
	if err := w.agentOf(m); err != nil {
		return err
	}
	w.push(0, des.RankScrape, i, system)
	if w.cfg.Agent.CacheMetrics {
		w.push(0, des.RankScrape, i, windows)
	}
	return nil
}

// server makes the plugin, with the nodes.
func (w *World) server() (err error) {
	if w.plugin, err = neon.NewPlugin(w.cfg.Plugin); err != nil {
		return err
	}
	for _, n := range w.cfg.Nodes {
		w.plugin.AddNode(n)
	}
	return nil
}

// agentOf gives a machine a fresh agent, which is connected to its monitor.
func (w *World) agentOf(m *machine) (err error) {
	if m.agent, err = neon.NewAgent(w.cfg.Agent, m.size); err == nil {
		m.facts = append(m.facts[:0], autoscale.Fact{Kind: autoscale.FactEntity, Entity: neon.Monitor, State: autoscale.Ready})
	}
	return err
}

// podOf is what the plugin knows of a machine.
func (w *World) podOf(use autoscale.Resources) neon.Pod {
	return neon.Pod{Use: use, Min: w.cfg.Agent.Min, Max: w.cfg.Agent.Max, VM: true, Fixed: w.cfg.Fixed}
}

// place is the node with the highest score that has room; false for none.
func (w *World) place(use autoscale.Resources, but int) (best int, ok bool) {
	w.plugin.PreFilter()
	highest := int64(0)
	for n := range w.cfg.Nodes {
		if n == but || !w.plugin.Filter(n, use) {
			continue
		}
		if score := w.plugin.Score(n, use); !ok || score > highest {
			best, ok, highest = n, true, score
		}
	}
	if !ok {
		w.plugin.PostFilter()
	}
	return best, ok
}

func (w *World) push(at model.Time, r des.Rank, vm int, ref model.Ref) {
	if at != model.Never {
		w.queue.Push(des.NewEvent(at, r, model.JobID(vm), ref))
	}
}

func (w *World) handle(now model.Time, e des.Event) {
	if e.Rank() == des.RankRecord {
		w.record(now)
		w.push(now.Add(w.cfg.Step), des.RankRecord, 0, 0)
		return
	}
	i := int(e.Job())
	m := &w.vms[i]
	w.settle(now, m)
	switch e.Rank() {
	case des.RankChange:
		w.change(m, &m.demand.Segments[e.Ref()])
		return
	case des.RankScrape:
		w.scrape(now, i, e.Ref())
	case des.RankQuorum:
		w.answer(now, i, autoscale.Entity(e.Ref()))
	case des.RankNodeDown:
		w.fails(m)
		return
	case des.RankNodeUp:
		w.comes(now, i, e.Ref())
	}
	w.plan(now, i)
}

// change is another demand of a machine.
func (w *World) change(m *machine, s *demand.Segment) {
	work := s.Work
	if work == 0 {
		work = w.cfg.Draws.Default.Work
	}
	m.cpu, m.work = float64(s.Rate*work.Seconds()), max(work.Seconds(), 1e-6)
	w.need(m)
}

// need is how many compute units would do: those of the CPU that is called for, or of the
// memory in use.
func (w *World) need(m *machine) { m.need = w.cfg.need(m.cpu) }

// use is the memory in use, without the cache.
func (w *World) use(m *machine) float64 { return w.cfg.use(m.cpu) }
