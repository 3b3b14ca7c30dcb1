package neon

import (
	"errors"
	"fmt"

	"orrery/autoscale"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
)

// Protocols of agents that the plugin speaks with.
const (
	protocolMin = 3
	protocolMax = 5
)

// PluginConfig is that of a plugin. Its zero switches are the code of the original.
type PluginConfig struct {
	CPUWatermark    float32 // share of a node; default 0.9
	MemoryWatermark float32 // default 0.9
	Scoring         Scoring
	Unit            autoscale.Resources // compute unit, to check that permits are multiples; default 0.25 CPU and 1 GiB
	Slot            int64               // bytes of a memory slot, of which the unit is a multiple; default 1 GiB

	Migrate bool // whether machines may leave a node; default true

	AccountPressure bool   // what a leaving machine asked for is accounted for as well, as the document says
	RefuseOver      bool   // Reserve refuses what does not fit, as the document says
	EvenWatermark   bool   // a node exactly at both watermarks is not too full
	CheckUnit       bool   // a request that is no multiple of the compute unit is refused, as the document says
	RandomScore     bool   // scores are drawn between 1 and the score, as the option of the original intends
	Seed            uint64 // of those draws
}

// PluginDefaults are those of the sample configuration, as coded.
func PluginDefaults() PluginConfig {
	return PluginConfig{
		CPUWatermark: 0.9, MemoryWatermark: 0.9, Scoring: Scoring{Empty: 0.5, Peak: 0.8}, Migrate: true,
		Unit: autoscale.Resources{CPU: 250, Memory: 1 << 30}, Slot: 1 << 30,
	}
}

// Documented are the defaults with all that the document says otherwise.
func Documented() PluginConfig {
	c := PluginDefaults()
	c.AccountPressure, c.RefuseOver, c.EvenWatermark, c.CheckUnit = true, true, true, true
	return c
}

func (c *PluginConfig) validate() error {
	s := c.Scoring
	switch {
	case !(c.CPUWatermark > 0 && c.CPUWatermark <= 1) || !(c.MemoryWatermark > 0 && c.MemoryWatermark <= 1):
		return fmt.Errorf("watermarks %v and %v: want shares of a node, more than 0 and up to 1", c.CPUWatermark, c.MemoryWatermark)
	case !(s.Peak > 0 && s.Peak < 1) || !(s.Empty >= 0 && s.Empty <= 1) || !(s.Full >= 0 && s.Full <= 1):
		return fmt.Errorf("scores %v and %v with the peak at %v: want 0 to 1, and the peak between", s.Empty, s.Full, s.Peak)
	case c.Unit.CPU <= 0 || c.Unit.Memory <= 0 || c.Slot <= 0:
		return fmt.Errorf("compute unit %v and slot %d: want some of each", c.Unit, c.Slot)
	}
	return nil
}

// Counters count what the plugin did.
type Counters struct {
	Attempts, Failures         int64 // pods that were looked at, and that no node had room for
	Filtered, FilterDenied     int64
	Reserved, ReserveShould    int64 // ReserveShould: does not fit, and would better have been refused
	Requests, Partial, Refused int64 // Partial: less was permitted than asked for; Refused: not a valid request
	Migrations, Departed       int64 // begun, and ended by the deletion of the machine
}

// Pod is what the plugin has to know of a pod.
type Pod struct {
	Use, Min, Max autoscale.Resources
	VM            bool // has an agent; others keep what they request
	Fixed         bool // a machine that is not scaled, or is migrating: it has no buffer
	Always        bool // migrates as soon as it has sent metrics, whatever its node has
}

// pod is one that is on a node.
type pod struct {
	Pod
	entity      autoscale.Entity
	node        int32 // -1 for none
	cpu, memory Share
	contacted   bool
	leaving     bool
	measured    bool
}

// host is a node.
type host struct {
	cpu, memory Ledger
	queue       Queue
}

// Plugin is the scheduler's side: it knows what every node has and who has it.
type Plugin struct {
	cfg      PluginConfig
	hosts    []host
	pods     []pod // by entity
	largest  autoscale.Resources
	counters Counters
	draws    uint64
}

// NewPlugin makes a plugin without nodes.
func NewPlugin(cfg PluginConfig) (*Plugin, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Plugin{cfg: cfg}, nil
}

// Counters are what has been counted so far.
func (p *Plugin) Counters() Counters { return p.counters }

// AddNode adds a node, and returns its number: they count from 0.
func (p *Plugin) AddNode(total autoscale.Resources) int {
	p.hosts = append(p.hosts, host{
		cpu:    Ledger{Total: total.CPU, Watermark: Watermark(total.CPU, p.cfg.CPUWatermark)},
		memory: Ledger{Total: total.Memory, Watermark: Watermark(total.Memory, p.cfg.MemoryWatermark)},
	})
	p.largest = atLeast(p.largest, total)
	return len(p.hosts) - 1
}

// Node is what a node has of CPU and memory.
func (p *Plugin) Node(n int) (cpu, memory Ledger) { return p.hosts[n].cpu, p.hosts[n].memory }

// PreFilter counts a pod that is to be placed, PostFilter one that no node had room for.
func (p *Plugin) PreFilter() { p.counters.Attempts++ }

// PostFilter is described there.
func (p *Plugin) PostFilter() { p.counters.Failures++ }

// Filter says whether a node has room for a pod, beside all that is reserved there.
func (p *Plugin) Filter(n int, use autoscale.Resources) bool {
	p.counters.Filtered++
	if p.fits(n, use) {
		return true
	}
	p.counters.FilterDenied++
	return false
}

func (p *Plugin) fits(n int, use autoscale.Resources) bool {
	h := &p.hosts[n]
	return h.cpu.Reserved+use.CPU <= h.cpu.Total && h.memory.Reserved+use.Memory <= h.memory.Total
}

// Percent is a score as the scheduler counts it, 0 to 100.
func Percent(score float64) int64 { return int64(float64(score * 100)) }

// stream of the draws of scores.
var stream = draw.StreamOf("neon score")

// Score ranks a node for a pod that would use an amount, from 0 to 100; 0 where it has no room.
func (p *Plugin) Score(n int, use autoscale.Resources) int64 {
	h := &p.hosts[n]
	s := Percent(min(p.cfg.Scoring.Score(h.cpu.Reserved+use.CPU, h.cpu.Total, p.largest.CPU), p.cfg.Scoring.Score(h.memory.Reserved+use.Memory, h.memory.Total, p.largest.Memory)))
	if p.cfg.RandomScore && s > 0 {
		x := draw.At(p.cfg.Seed, stream, uint64(n), p.draws, 0)
		p.draws++
		return 1 + int64(x%uint64(s))
	}
	return s
}

// errRefused is that a pod does not fit.
var errRefused = errors.New("the node has no room for it")

// Reserve puts a pod onto a node. As coded that is never refused. A pod that was there
// before the plugin is entered with what it may have been permitted.
func (p *Plugin) Reserve(e autoscale.Entity, n int, d Pod, found bool) error {
	if p.at(e) != nil {
		return fmt.Errorf("pod %d is on node %d already", e, p.pods[e].node)
	}
	p.counters.Reserved++
	if !p.fits(n, d.Use) {
		p.counters.ReserveShould++
		if p.cfg.RefuseOver && !found {
			return errRefused
		}
	}
	for len(p.pods) <= int(e) {
		p.pods = append(p.pods, pod{node: -1})
	}
	buffered := found && d.VM && !d.Fixed
	x := &p.pods[e]
	*x = pod{Pod: d, entity: e, node: int32(n), cpu: NewShare(d.Use.CPU, d.Min.CPU, d.Max.CPU, buffered), memory: NewShare(d.Use.Memory, d.Min.Memory, d.Max.Memory, buffered)}
	h := &p.hosts[n]
	h.cpu.Enter(&x.cpu)
	h.memory.Enter(&x.memory)
	if d.VM {
		h.queue.Put(e, 0, false)
	}
	return nil
}

// at is a pod that is on a node, or nil.
func (p *Plugin) at(e autoscale.Entity) *pod {
	if e < 0 || int(e) >= len(p.pods) || p.pods[e].node < 0 {
		return nil
	}
	return &p.pods[e]
}

// Delete takes a pod off its node.
func (p *Plugin) Delete(e autoscale.Entity) {
	x := p.at(e)
	if x == nil {
		return
	}
	h := &p.hosts[x.node]
	h.cpu.Delete(&x.cpu, x.leaving)
	h.memory.Delete(&x.memory, x.leaving)
	h.queue.Remove(e)
	if x.leaving {
		p.counters.Departed++
	}
	x.node = -1
}

// Limits changes the bounds of a machine. What one that has an agent has reserved is the
// permit of that agent; for one whose agent has not been heard of it follows the bounds.
func (p *Plugin) Limits(e autoscale.Entity, least, most autoscale.Resources) {
	x := p.at(e)
	switch {
	case x == nil:
	case x.contacted || x.leaving || !x.VM || x.Fixed:
		x.cpu.Min, x.cpu.Max, x.memory.Min, x.memory.Max = least.CPU, most.CPU, least.Memory, most.Memory
	default:
		h := &p.hosts[x.node]
		h.cpu.Limits(&x.cpu, least.CPU, most.CPU)
		h.memory.Limits(&x.memory, least.Memory, most.Memory)
	}
}

// AgentRequest is the request of an agent.
type AgentRequest struct {
	Protocol int
	Unit     autoscale.Resources // compute unit of the agent
	Want     autoscale.Resources
	Last     *autoscale.Resources // permit that it has
	Load     float64
	Measured bool // Load is known
}

// Refusals of a request, which change nothing.
var (
	ErrProtocol = errors.New("protocol of another version")
	ErrUnit     = errors.New("compute unit without CPU or memory, or not made of whole memory slots")
	ErrMultiple = errors.New("no multiple of the compute unit")
	ErrUnknown  = errors.New("no machine of that number")
	ErrLeaving  = errors.New("the machine is migrating")
)

// check says why a request is not valid.
func (p *Plugin) check(x *pod, q *AgentRequest) error {
	switch {
	case q.Protocol < protocolMin || q.Protocol > protocolMax:
		return ErrProtocol
	case q.Unit.CPU <= 0 || q.Unit.Memory <= 0 || q.Unit.Memory%p.cfg.Slot != 0 || q.Protocol < 4 && q.Unit.CPU%1000 != 0:
		return ErrUnit
	case x == nil || !x.VM:
		return ErrUnknown
	case x.leaving && (q.Want.CPU != x.cpu.Reserved || q.Want.Memory != x.memory.Reserved):
		return ErrLeaving
	case p.cfg.CheckUnit && (q.Want.CPU%q.Unit.CPU != 0 || q.Want.Memory%q.Unit.Memory != 0 || q.Want.CPU/q.Unit.CPU != q.Want.Memory/q.Unit.Memory):
		return ErrMultiple
	}
	return nil
}

// Answer is a permit, the proposal to migrate the machine, and what the plugin decided about that.
type Answer struct {
	Permit   autoscale.Resources
	Migrate  bool
	Decision autoscale.Decision // of the node: whether it is too full, and what keeps the machine there
}

// RuleTooFull is that of a node which machines are to leave; the guards are what keeps a
// certain one there.
const (
	RuleTooFull autoscale.Rule = "node_too_full"
	RuleAlways  autoscale.Rule = "always_migrate"
	RuleRoom    autoscale.Rule = "node_has_room"

	GuardFixed    autoscale.Guard = "not_scaled" // this machine keeps its size and node
	GuardDisabled autoscale.Guard = "migration_disabled"
	GuardFirst    autoscale.Guard = "first_contact" // the buffer is given back first
	GuardNext     autoscale.Guard = "not_the_next"  // a machine with less load goes first
)

// Request answers an agent.
func (p *Plugin) Request(_ model.Time, e autoscale.Entity, q AgentRequest) (Answer, error) {
	p.counters.Requests++
	x := p.at(e)
	if err := p.check(x, &q); err != nil {
		p.counters.Refused++
		return Answer{}, err
	}
	h := &p.hosts[x.node]
	if x.measured = x.measured || q.Measured; q.Measured {
		h.queue.Put(e, q.Load, true)
	}
	if x.leaving {
		h.queue.Remove(e)
		return Answer{Permit: q.Want}, nil
	}
	a := Answer{Decision: p.migration(e, x, h)}
	a.Migrate = a.Decision.Would.Verb == autoscale.Migrate && a.Decision.Guard == autoscale.GuardNone
	var last autoscale.Resources
	if q.Last != nil {
		last = *q.Last
	}
	x.contacted = true
	a.Permit.CPU = h.cpu.Request(&x.cpu, q.Want.CPU, last.CPU, q.Unit.CPU, a.Migrate)
	a.Permit.Memory = h.memory.Request(&x.memory, q.Want.Memory, last.Memory, q.Unit.Memory, a.Migrate)
	if anyLess(a.Permit, q.Want) {
		p.counters.Partial++
	}
	if a.Migrate {
		p.leave(e, x, h)
	}
	return a, nil
}

// leave begins a migration.
func (p *Plugin) leave(e autoscale.Entity, x *pod, h *host) {
	h.cpu.Leave(&x.cpu, p.cfg.AccountPressure)
	h.memory.Leave(&x.memory, p.cfg.AccountPressure)
	h.queue.Remove(e)
	x.leaving = true
	p.counters.Migrations++
}

// migration decides whether a machine is to leave its node.
func (p *Plugin) migration(e autoscale.Entity, x *pod, h *host) autoscale.Decision {
	d := autoscale.Decision{Rule: RuleRoom, Entity: e}
	move := autoscale.Proposal{Verb: autoscale.Migrate, Entity: e}
	full := TooFull(&h.cpu, &h.memory, p.cfg.EvenWatermark)
	next, _, _, ok := h.queue.Next()
	switch {
	case x.Always && x.measured:
		d.Rule, d.Would = RuleAlways, move
	case full:
		d.Rule, d.Would = RuleTooFull, move
		if !ok || next != e {
			d.Guard = GuardNext
		}
	default:
		return d
	}
	switch {
	case !p.cfg.Migrate:
		d.Guard = GuardDisabled
	case x.Fixed:
		d.Guard = GuardFixed
	case !x.contacted:
		d.Guard = GuardFirst
	}
	return d
}

// State is a node with its pods, to be looked at.
type State struct {
	CPU, Memory Ledger
	Pods        []PodState // by number
}

// PodState is one pod of it.
type PodState struct {
	Entity      autoscale.Entity
	CPU, Memory Share
	Leaving     bool
}

// Dump is the state of all nodes.
func (p *Plugin) Dump() []State {
	list := make([]State, len(p.hosts))
	for i := range p.hosts {
		list[i] = State{CPU: p.hosts[i].cpu, Memory: p.hosts[i].memory}
	}
	for i := range p.pods {
		if x := &p.pods[i]; x.node >= 0 {
			s := &list[x.node]
			s.Pods = append(s.Pods, PodState{x.entity, x.cpu, x.memory, x.leaving})
		}
	}
	return list
}
