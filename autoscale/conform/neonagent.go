package conform

import (
	"encoding/json"

	"orrery/autoscale"
	"orrery/autoscale/neon"
	"orrery/scheduler/model"
)

type neonTrace struct {
	ID     string     `json:"id"`
	Config neonConfig `json:"config"`
	VM     neonVM     `json:"vm"`
	Slot   int64      `json:"mem_slot_bytes"` // amounts are in bytes already
	Steps  []neonStep `json:"steps"`
}

// neonStep is one call of the agent.
type neonStep struct {
	Op     string          `json:"op"`
	At     *float64        `json:"at_s,omitempty"`
	Args   neonArgs        `json:"args"`
	Result json.RawMessage `json:"result,omitempty"`
}

// neonArgs are those of all calls; each has its own.
type neonArgs struct {
	Load      *float64       `json:"load1,omitempty"`
	Cached    *float64       `json:"mem_cached,omitempty"`
	Usage     *float64       `json:"mem_usage,omitempty"`
	Buckets   []float64      `json:"wss_buckets,omitempty"`
	Resources *neonResources `json:"resources,omitempty"`
	Permit    *neonResources `json:"permit,omitempty"`
	Active    *bool          `json:"active,omitempty"`
	CPU       *bool          `json:"cpu,omitempty"`
	Memory    *bool          `json:"mem,omitempty"`
	Revision  *bool          `json:"has_revision,omitempty"`
	Max       *neonResources `json:"max,omitempty"`
	Min       *neonResources `json:"min,omitempty"`
	Using     *neonResources `json:"using,omitempty"` // a change of bounds does not change it
}

// neonChange is a step of an actuator.
type neonChange struct {
	Current neonResources `json:"current"`
	Target  neonResources `json:"target"`
}

type neonPermit struct {
	Metrics bool           `json:"has_metrics"`
	Last    *neonResources `json:"last_permit"`
	Target  neonResources  `json:"target"`
}

// neonActions are what the agent wants to be done.
type neonActions struct {
	Permit *neonPermit `json:"plugin_request,omitempty"`
	Resize *neonChange `json:"neonvm_request,omitempty"`
	Up     *neonChange `json:"monitor_upscale,omitempty"`
	Down   *neonChange `json:"monitor_downscale,omitempty"`
	Wait   *float64    `json:"wait_s,omitempty"`
}

// neonAgent replays calls. It keeps beside the agent what only the calls tell.
type neonAgent struct {
	a        *neon.Agent
	c        *neonConfig
	now      model.Time
	permit   *neonResources
	approved neonResources
	told     neonResources // to the monitor, last
	metrics  bool
}

func checkNeonAgent(c *neonTrace, t *tally) {
	a, err := neon.NewAgent(c.Config.config(&c.VM), c.VM.Using.amount())
	if err != nil {
		t.whole()
		t.fault("config", err.Error(), "valid")
		return
	}
	d := neonAgent{a: a, c: &c.Config}
	for i := range c.Steps {
		t.check(i) // of a call that returns nothing: that it can be made
		d.call(&c.Steps[i], t)
	}
}

// result reads what a call returned.
func result[R any](s *neonStep, t *tally) (want R, ok bool) {
	if s.Result == nil {
		return want, false
	}
	if err := decode(s.Result, &want); err != nil {
		t.fault("result", err.Error(), "readable")
		return want, false
	}
	return want, true
}

// call makes one call and compares what it returns.
func (d *neonAgent) call(s *neonStep, t *tally) {
	if s.At != nil {
		d.now = seconds(*s.At)
	}
	switch s.Op {
	case "next_actions":
		if want, ok := result[neonActions](s, t); ok {
			d.compare(want, t)
		}
	case "desired":
		if want, ok := result[neonResources](s, t); ok {
			expect(t, "result", neonAmount(d.a.Goal(d.now)), want)
		}
	default:
		if !d.observe(s) && !d.answer(s, t) {
			t.fault("op", s.Op, "a known call with its arguments")
		}
	}
}

// observe feeds what the agent learns by itself.
func (d *neonAgent) observe(s *neonStep) bool {
	g := &s.Args
	switch s.Op {
	case "system_metrics":
		if g.Load == nil || g.Cached == nil || g.Usage == nil {
			return false
		}
		d.metrics = true
		d.a.Observe(d.now, (&neonSystem{*g.Load, *g.Cached, *g.Usage}).facts(d.now))
	case "lfc_metrics":
		d.a.Observe(d.now, (&neonCache{g.Buckets}).facts(d.now))
	case "updated_vm":
		if g.Min == nil || g.Max == nil {
			return false
		}
		return d.a.Update(d.c.config(&neonVM{Max: *g.Max, Min: *g.Min})) == nil
	case "monitor.reset":
		d.connect(false)
	case "monitor.active":
		if g.Active == nil {
			return false
		}
		d.connect(*g.Active)
	case "monitor.upscale_requested":
		if g.CPU == nil || g.Memory == nil {
			return false
		}
		d.a.Observe(d.now, []autoscale.Fact{
			{Kind: autoscale.FactActive, Metric: neon.MoreCPU, N: flag(*g.CPU)}, {Kind: autoscale.FactActive, Metric: neon.MoreMemory, N: flag(*g.Memory)},
		})
	default:
		return false
	}
	return true
}

func (d *neonAgent) connect(is bool) {
	f := autoscale.Fact{Kind: autoscale.FactEntity, Entity: neon.Monitor, State: autoscale.Stopped}
	if is {
		f.State, d.approved = autoscale.Ready, neonAmount(d.a.Using())
	}
	d.a.Observe(d.now, []autoscale.Fact{f})
}

// answer feeds that a request has begun, or how it ended.
func (d *neonAgent) answer(s *neonStep, t *tally) bool {
	const done, refused, failed = autoscale.Accepted, autoscale.Rejected, autoscale.Errored
	switch s.Op {
	case "plugin.starting":
		return d.start(neon.Scheduler, s)
	case "neonvm.starting":
		return d.start(neon.VM, s)
	case "monitor.upscale_starting", "monitor.downscale_starting":
		return d.start(neon.Monitor, s)
	case "plugin.ok":
		return d.permitted(s, t)
	case "plugin.failed":
		return d.a.Answer(d.now, neon.Scheduler, failed, autoscale.Resources{}) == nil
	case "neonvm.ok":
		return d.a.Answer(d.now, neon.VM, done, autoscale.Resources{}) == nil
	case "neonvm.failed":
		return d.a.Answer(d.now, neon.VM, failed, autoscale.Resources{}) == nil
	case "monitor.upscale_ok", "monitor.downscale_allowed":
		d.approved = d.told
		return d.a.Answer(d.now, neon.Monitor, done, autoscale.Resources{}) == nil
	case "monitor.downscale_denied":
		return d.a.Answer(d.now, neon.Monitor, refused, autoscale.Resources{}) == nil
	case "monitor.upscale_failed", "monitor.downscale_failed":
		return d.a.Answer(d.now, neon.Monitor, failed, autoscale.Resources{}) == nil
	}
	return false
}

func (d *neonAgent) start(e autoscale.Entity, s *neonStep) bool {
	if s.Args.Resources == nil {
		return false
	}
	if e == neon.Monitor {
		d.told = *s.Args.Resources
	}
	d.a.Start(d.now, e, s.Args.Resources.amount())
	return true
}

// permitted feeds a permit, which an agent refuses when it cannot be.
func (d *neonAgent) permitted(s *neonStep, t *tally) bool {
	if s.Args.Permit == nil {
		return false
	}
	err := d.a.Answer(d.now, neon.Scheduler, autoscale.Accepted, s.Args.Permit.amount())
	if err == nil {
		d.permit = s.Args.Permit
	}
	if want, ok := result[struct {
		Error *string `json:"error"`
	}](s, t); ok {
		expect(t, "result.refused", err != nil, want.Error != nil)
	}
	return true
}

// compare compares the steps that the agent wants to take.
func (d *neonAgent) compare(want neonActions, t *tally) {
	x := d.a.Next(d.now)
	got := neonActions{
		Resize: change(&x.Resize, neonAmount(d.a.Using())), Up: change(&x.Up, d.approved), Down: change(&x.Down, d.approved),
	}
	if x.Permit.Do {
		got.Permit = &neonPermit{d.metrics, d.permit, neonAmount(x.Permit.Target)}
	}
	expectMaybe(t, "result.neonvm_request", got.Resize, want.Resize)
	expectMaybe(t, "result.monitor_upscale", got.Up, want.Up)
	expectMaybe(t, "result.monitor_downscale", got.Down, want.Down)
	if got.Permit != nil && want.Permit != nil {
		expect(t, "result.plugin_request.has_metrics", got.Permit.Metrics, want.Permit.Metrics)
		expectMaybe(t, "result.plugin_request.last_permit", got.Permit.Last, want.Permit.Last)
		expect(t, "result.plugin_request.target", got.Permit.Target, want.Permit.Target)
	} else {
		expectMaybe(t, "result.plugin_request", got.Permit, want.Permit)
	}
	var wait, wanted *model.Duration
	if x.Wait != model.Forever {
		wait = &x.Wait
	}
	if want.Wait != nil {
		w := span(*want.Wait)
		wanted = &w
	}
	expectMaybe(t, "result.wait_s", wait, wanted)
}

func change(s *neon.Step, from neonResources) *neonChange {
	if !s.Do {
		return nil
	}
	return &neonChange{from, neonAmount(s.Target)}
}
