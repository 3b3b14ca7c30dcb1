package vm

import (
	"fmt"

	"orrery/autoscale"
	"orrery/autoscale/neon"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
)

// SumError is that the sums of a node do not hold at an instant.
type SumError struct {
	At  model.Time
	Err error
}

func (e *SumError) Error() string { return fmt.Sprintf("at %v: %v", e.At, e.Err) }

// Unwrap implements errors.
func (e *SumError) Unwrap() error { return e.Err }

var (
	failStream   = draw.StreamOf("vm resize failure")
	refuseStream = draw.StreamOf("vm monitor refusal")
	gapStream    = draw.StreamOf("vm metric gap")
)

// The working set is looked at every 15 s, over windows of 1 to 60 minutes.
const (
	lookEvery   = 15 * model.Second
	looks       = int(model.Minute / lookEvery)
	mostMinutes = 60
	page        = 8192
)

// scrape brings metrics to the agent, where one is at work.
func (w *World) scrape(now model.Time, i int, what model.Ref) {
	m := &w.vms[i]
	missing := within(w.cfg.Gaps, now)
	if what == windows {
		w.push(now.Add(lookEvery), des.RankScrape, i, windows)
		w.touched(now, m, missing)
		return
	}
	w.push(now.Add(w.cfg.Sample), des.RankScrape, i, system)
	source := draw.New(w.cfg.Draws.Seed, gapStream, uint64(i), m.samples)
	m.samples++
	if missing = missing || source.Bool(w.cfg.GapShare); missing {
		w.out.Gaps++
	}
	if m.agent == nil {
		return
	}
	for metric, v := range [...]float64{neon.Load: m.load, neon.MemoryUsage: w.use(m), neon.MemoryCache: m.cached} {
		if missing {
			v = 0
		}
		m.facts = append(m.facts, autoscale.Fact{Kind: autoscale.FactSample, Metric: autoscale.Metric(metric), Entity: autoscale.Whole, Value: v, At: now, Missing: missing})
	}
}

// touched tells how much of the file cache the last minutes have touched: what their CPU
// seconds touch anew, up to all of it.
func (w *World) touched(now model.Time, m *machine, missing bool) {
	if len(m.history) > looks*mostMinutes {
		m.history = append(m.history[:0], m.history[1:]...)
	}
	m.history = append(m.history, m.called)
	if m.agent == nil {
		return
	}
	for k := 1; k <= mostMinutes; k++ {
		before := 0.0 // nothing was called for before the beginning
		if i := len(m.history) - 1 - looks*k; i >= 0 {
			before = m.history[i]
		}
		set := min(float64(w.cfg.Memory.Cache), float64(w.cfg.Memory.Touch*(m.called-before)))
		if missing {
			set = 0
		}
		m.facts = append(m.facts, autoscale.Fact{
			Kind: autoscale.FactSample, Metric: neon.WorkingSet, Entity: autoscale.Whole, Window: model.Duration(k) * model.Minute, Value: set / page, At: now, Missing: missing,
		})
	}
}

// plan lets the agent decide and sends what it wants to the actuators.
func (w *World) plan(now model.Time, i int) {
	m := &w.vms[i]
	if m.agent == nil {
		return
	}
	m.agent.Observe(now, m.facts)
	m.facts = m.facts[:0]
	p := m.agent.Plan(now)
	for k := range p.Decisions {
		w.decided(now, i, &p.Decisions[k])
	}
	_, m.goal = w.cfg.units(m.agent.Goal(now))
	for _, x := range p.Proposals {
		latency := [...]model.Duration{neon.VM: w.cfg.Resize, neon.Scheduler: w.cfg.Permit, neon.Monitor: w.cfg.Approve}[x.Entity]
		lost := x.Entity == neon.Scheduler && within(w.cfg.Outages, now)
		if lost {
			latency = w.cfg.Timeout
		}
		load, seen := m.agent.Measured()
		m.flying[x.Entity] = asked{Proposal: x, busy: true, lost: lost, load: load, seen: seen}
		w.push(now.Add(latency), des.RankQuorum, i, model.Ref(x.Entity))
	}
	if p.Wake != m.wake {
		m.wake = p.Wake
		w.push(p.Wake, des.RankScaling, i, 0)
	}
}

func (w *World) decided(now model.Time, i int, d *autoscale.Decision) {
	w.rules.Decided(d)
	if w.cfg.Watch != nil {
		w.cfg.Watch(now, i, d, w.vms[i].size)
	}
}

// answer is that of an actuator to what is in flight.
func (w *World) answer(now model.Time, i int, e autoscale.Entity) {
	m := &w.vms[i]
	x := &m.flying[e]
	x.busy = false
	f := autoscale.Fact{Kind: autoscale.FactResult, Seq: x.Seq, Entity: e, Outcome: autoscale.Accepted, Resources: x.Resources}
	switch e {
	case neon.Scheduler:
		w.permit(now, i, x, &f)
	case neon.VM:
		w.resize(now, i, x.Resources, &f)
	default:
		w.approve(i, x.Resources, &f)
	}
	if !x.deaf {
		m.facts = append(m.facts, f)
	} else if m.back {
		w.restart(i)
	}
}

// resize makes a machine what it is to be, unless that fails.
func (w *World) resize(now model.Time, i int, to autoscale.Resources, f *autoscale.Fact) {
	m := &w.vms[i]
	source := draw.New(w.cfg.Draws.Seed, failStream, uint64(i), m.requests)
	m.requests++
	if source.Bool(w.cfg.ResizeFail) {
		w.out.ResizeFailures++
		f.Outcome = autoscale.Errored
		return
	}
	w.out.Resizes++
	_, before := w.cfg.units(m.size)
	_, after := w.cfg.units(to)
	if m.resized && after != before && (after > before) != m.up {
		w.out.Reversals++
	}
	m.resized, m.up = true, after > before
	m.size = to
	if i == 0 {
		w.out.Sizes = append(w.out.Sizes, Size{now, m.size})
	}
}

// approve is what the monitor says: it is told of more, and asked about less.
func (w *World) approve(i int, to autoscale.Resources, f *autoscale.Fact) {
	m := &w.vms[i]
	if to.CPU >= m.size.CPU && to.Memory >= m.size.Memory {
		return
	}
	source := draw.New(w.cfg.Draws.Seed, refuseStream, uint64(i), m.requests)
	m.requests++
	share := w.use(m) / float64(max(1, to.Memory))
	if share > 1 || source.Bool(float64(w.cfg.Memory.Refuse*share*share)) {
		w.out.Refusals++
		f.Outcome = autoscale.Rejected
	}
}

// permit asks the plugin, and begins a migration where it wants one.
func (w *World) permit(now model.Time, i int, x *asked, f *autoscale.Fact) {
	m := &w.vms[i]
	w.out.Requests++
	if x.lost || within(w.cfg.Outages, now) {
		w.out.Unanswered++
		w.step.Unanswered++
		f.Outcome = autoscale.Errored
		return
	}
	w.touch(now, m.node)
	a, err := w.plugin.Request(now, m.pod, neon.AgentRequest{Protocol: 5, Unit: w.cfg.Agent.Unit, Want: x.Resources, Last: m.permit, Load: x.load, Measured: x.seen})
	w.check(now, m.node)
	if err != nil {
		w.out.Denied++
		f.Outcome = autoscale.Errored
		return
	}
	f.Resources = a.Permit
	if a.Permit.CPU < x.Resources.CPU || a.Permit.Memory < x.Resources.Memory {
		w.out.Partial++
		w.step.Partial++
	}
	if !x.deaf {
		m.permitted = a.Permit
		m.permit = &m.permitted
		m.permits, _ = w.cfg.units(a.Permit)
	}
	if a.Decision.Would.Verb == autoscale.Migrate && !m.moving {
		d := a.Decision // a copy, for the answer itself stays off the heap
		if a.Migrate {
			d.Would.Seq = uint64(w.out.Migrations) + 1
			w.leave(now, i, a.Permit)
		}
		w.decided(now, i, &d)
	}
}
