package conform

import (
	"math"
	"strings"

	"orrery/autoscale"
	"orrery/autoscale/maestro"
	"orrery/scheduler/model"
)

func maestroSchemas() []schema {
	return []schema{
		cases("maestro-checkstate", checkMaestroState),
		cases("maestro-trace", checkMaestroTrace),
		cases("maestro-delta", checkMaestroDelta),
		cases("maestro-threshold", checkMaestroThreshold),
		cases("maestro-clamp", checkMaestroClamp),
		cases("maestro-v10", checkMaestroV10),
	}
}

type maestroRooms struct {
	Creating    int64 `json:"creating"`
	Occupied    int64 `json:"occupied"`
	Ready       int64 `json:"ready"`
	Terminating int64 `json:"terminating"`
}

func (r *maestroRooms) rooms() maestro.Rooms {
	return maestro.Rooms{Creating: r.Creating, Occupied: r.Occupied, Ready: r.Ready, Terminating: r.Terminating}
}

type maestroTrigger struct {
	Type      string  `json:"type,omitempty"`
	Usage     int64   `json:"usage"`
	Time      float64 `json:"time"`
	Threshold int64   `json:"threshold"`
	Limit     int64   `json:"limit,omitempty"`
	Delta     int64   `json:"delta,omitempty"`
}

type maestroDirection struct {
	Delta    int64            `json:"delta,omitempty"`
	Cooldown float64          `json:"cooldown"`
	Plain    *maestroTrigger  `json:"trigger,omitempty"`
	Triggers []maestroTrigger `json:"metrics_trigger"`
}

type maestroConfig struct {
	Min  int64            `json:"min"`
	Max  int64            `json:"max"`
	Up   maestroDirection `json:"up"`
	Down maestroDirection `json:"down"`
}

// maestroKind is a kind of trigger by its name.
func maestroKind(name string) (maestro.Kind, bool) {
	k, ok := map[string]maestro.Kind{"room": maestro.KindRoom, "cpu": maestro.KindCPU, "mem": maestro.KindMemory, "legacy": maestro.KindLegacy}[name]
	return k, ok
}

// direction is that of the policy; a plain trigger stands for a list that is empty.
func (d *maestroDirection) direction(t *tally) maestro.Direction {
	out := maestro.Direction{Cooldown: span(d.Cooldown), Delta: d.Delta}
	list := d.Triggers
	if len(list) == 0 && d.Plain != nil {
		list = []maestroTrigger{*d.Plain}
	}
	for _, g := range list {
		x := maestro.Trigger{Usage: g.Usage, Threshold: g.Threshold, Time: span(g.Time), Limit: g.Limit, Delta: g.Delta}
		if len(d.Triggers) == 0 {
			x = maestro.Plain(x, false)
		} else if k, ok := maestroKind(g.Type); ok {
			x.Kind = k
		} else {
			t.fault("type", g.Type, "room, cpu, mem or legacy")
		}
		out.Triggers = append(out.Triggers, x)
	}
	return out
}

// config is that of the policy, or nothing when it is not valid.
func (c *maestroConfig) config(period float64, t *tally) (cfg maestro.Config, ok bool) {
	cfg = maestro.Defaults()
	cfg.Min, cfg.Max, cfg.Up, cfg.Down, cfg.Period = c.Min, c.Max, c.Up.direction(t), c.Down.direction(t), span(period)
	if _, err := maestro.New(cfg); err != nil {
		t.fault("config", err.Error(), "valid")
		return cfg, false
	}
	return cfg, !t.bad
}

// maestroState is a state by its name.
func maestroState(name string) maestro.State {
	s := maestro.InSync
	for s.String() != name && s < maestro.Terminating {
		s++
	}
	return s
}

type maestroUse struct {
	CPU           int64 `json:"usage_cpu_milli"`
	RequestCPU    int64 `json:"request_cpu_milli"`
	Memory        int64 `json:"usage_mem_bytes"`
	RequestMemory int64 `json:"request_mem_bytes"`
}

type maestroCheck struct {
	ID     string        `json:"id"`
	Group  string        `json:"group"`
	Title  string        `json:"title,omitempty"`
	Config maestroConfig `json:"config"`
	Period float64       `json:"period_s"`
	Rooms  maestroRooms  `json:"rooms"`
	Use    *maestroUse   `json:"per_pod,omitempty"`
	Points struct {
		Up   [][]float32 `json:"up"`
		Down [][]float32 `json:"down"`
	} `json:"points"`
	Now    float64 `json:"now_s"`
	State  string  `json:"state_before"`
	Scaled float64 `json:"last_scale_op_s"`
	Want   struct {
		Delta   int64  `json:"delta"`
		Applied int64  `json:"applied"`
		InSync  bool   `json:"in_sync"`
		State   string `json:"state_after"`
		Scaled  bool   `json:"last_scale_op_updated"`
	} `json:"expected"`
}

// mean is the use of n equal pods of what they request, summed as the original does.
func mean(use, request, n int64) float32 {
	var a, b float32
	for range n {
		a += float32(use)
		b += float32(request)
	}
	return a / b
}

// checkMaestroState makes one check with the points that each trigger reads: those of one
// kind differ there between the directions, so they cannot be those of a policy.
func checkMaestroState(c *maestroCheck, t *tally) {
	t.whole()
	cfg, ok := c.Config.config(c.Period, t)
	if !ok {
		return
	}
	nan := float32(math.NaN())
	in := maestro.Input{Now: seconds(c.Now), State: maestroState(c.State), Scaled: seconds(c.Scaled), Rooms: c.Rooms.rooms(), Up: c.Points.Up, Down: c.Points.Down}
	in.Usage = []float32{maestro.KindRoom: maestro.Occupancy(in.Rooms), maestro.KindCPU: nan, maestro.KindMemory: nan, maestro.KindLegacy: maestro.Occupancy(in.Rooms)}
	if u, n := c.Use, in.Rooms.Available(); u != nil {
		in.Usage[maestro.KindCPU], in.Usage[maestro.KindMemory] = mean(u.CPU, u.RequestCPU, n), mean(u.Memory, u.RequestMemory, n)
	}
	k := cfg.Check(&in)
	expect(t, "expected.delta", k.Delta, c.Want.Delta)
	expect(t, "expected.in_sync", k.InSync, c.Want.InSync)
	applied, state := int64(0), k.State
	if k.Delta != 0 { // what is carried out leaves the scheduler in sync
		applied, _ = cfg.Within(k.Delta, in.Rooms.Available(), cfg.MaxScaleUp)
		state = maestro.InSync
	}
	if in.State == maestro.Creating || in.State == maestro.Terminating {
		state = in.State
	}
	expect(t, "expected.applied", applied, c.Want.Applied)
	expect(t, "expected.state_after", state.String(), c.Want.State)
	expect(t, "expected.last_scale_op_updated", k.Delta != 0, c.Want.Scaled)
}

type maestroTrace struct {
	ID      string        `json:"id"`
	Config  maestroConfig `json:"config"`
	Period  float64       `json:"period_s"`
	Initial struct {
		State  string  `json:"state"`
		Scaled float64 `json:"last_scale_op_s"`
	} `json:"initial"`
	Steps []struct {
		T       float64      `json:"t"`
		Rooms   maestroRooms `json:"rooms"`
		CPU     int64        `json:"cpu_milli"`
		Memory  int64        `json:"mem_milli"`
		Delta   int64        `json:"delta"`
		Applied int64        `json:"applied"`
		InSync  bool         `json:"in_sync"`
		Changed bool         `json:"changed_state"`
		Before  string       `json:"state_before"`
		After   string       `json:"state_after"`
		Scaled  float64      `json:"last_scale_op"`
	} `json:"steps"`
}

// checkMaestroTrace makes ticks in a row; each begins with the state that is recorded.
func checkMaestroTrace(c *maestroTrace, t *tally) {
	cfg, ok := c.Config.config(c.Period, t)
	p, err := maestro.New(cfg)
	if !ok || err != nil {
		t.whole()
		t.bad = true
		return
	}
	scaled := seconds(c.Initial.Scaled)
	for i := range c.Steps {
		s := &c.Steps[i]
		t.check(i)
		now := seconds(s.T)
		p.Restore(maestroState(s.Before), scaled)
		p.Observe(now, []autoscale.Fact{
			count(autoscale.Starting, s.Rooms.Creating), count(autoscale.Busy, s.Rooms.Occupied), count(autoscale.Ready, s.Rooms.Ready), count(autoscale.Draining, s.Rooms.Terminating),
			fraction(maestro.CPU, s.CPU), fraction(maestro.Memory, s.Memory),
		})
		applied := int64(0)
		for _, x := range p.Plan(now).Proposals {
			applied += x.N
			p.Observe(now, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: x.Seq, Outcome: autoscale.Accepted, N: x.N}})
		}
		k := p.Last()
		expect(t, "delta", k.Delta, s.Delta)
		expect(t, "applied", applied, s.Applied)
		expect(t, "in_sync", k.InSync, s.InSync)
		expect(t, "changed_state", k.Changed(maestroState(s.Before)), s.Changed)
		expect(t, "state_after", p.State().String(), s.After)
		expect(t, "last_scale_op", p.Scaled(), seconds(s.Scaled))
		scaled = seconds(s.Scaled)
	}
}

func count(s autoscale.State, n int64) autoscale.Fact {
	return autoscale.Fact{Kind: autoscale.FactCount, State: s, N: n}
}

// fraction is a sample of the whole in thousandths.
func fraction(m autoscale.Metric, milli int64) autoscale.Fact {
	return autoscale.Fact{Kind: autoscale.FactSample, Metric: m, Entity: autoscale.Whole, Value: float64(float32(milli) / 1000)}
}

type maestroDelta struct {
	ID      string       `json:"id"`
	Type    string       `json:"type"`
	Usage   int64        `json:"usage"`
	Step    int64        `json:"delta_config,omitempty"`
	Rooms   maestroRooms `json:"rooms"`
	Milli   *int64       `json:"utilization_milli,omitempty"`
	Memory  *int64       `json:"usage_mem_bytes,omitempty"`
	Request *int64       `json:"request_mem_bytes,omitempty"`
	Used    *float32     `json:"expected_utilization,omitempty"`
	Want    int64        `json:"expected_delta"`
}

func checkMaestroDelta(c *maestroDelta, t *tally) {
	t.whole()
	kind, ok := maestroKind(c.Type)
	if !ok {
		t.fault("type", c.Type, "room, cpu, mem or legacy")
		return
	}
	rooms := c.Rooms.rooms()
	usage := maestro.Occupancy(rooms)
	switch {
	case c.Milli != nil:
		usage = float32(*c.Milli) / 1000
	case c.Memory != nil && c.Request != nil:
		usage = mean(*c.Memory, *c.Request, rooms.Available())
	}
	if c.Used != nil {
		expect(t, "expected_utilization", usage, *c.Used)
	}
	expect(t, "expected_delta", maestro.Delta(&maestro.Trigger{Kind: kind, Usage: c.Usage, Delta: c.Step}, rooms, usage), c.Want)
}

type maestroThreshold struct {
	ID        string    `json:"id"`
	Size      int64     `json:"size"`
	Threshold int64     `json:"threshold"`
	Usage     int64     `json:"usage"`
	Points    []float32 `json:"points_pct"`
	Up        *bool     `json:"expected_up,omitempty"`
	Down      *bool     `json:"expected_down,omitempty"`
}

func checkMaestroThreshold(c *maestroThreshold, t *tally) {
	t.whole()
	cfg := maestro.Defaults()
	x := maestro.Trigger{Usage: c.Usage, Threshold: c.Threshold, Time: model.Duration(c.Size) * cfg.Period}
	var list []float32
	for _, v := range c.Points {
		list = append(list, v/100)
	}
	expectWays(t, c.Up, c.Down, func(up bool) bool { return cfg.Beyond(&x, list, up) })
}

// expectWays compares what is expected of growing, of shrinking or of both.
func expectWays[T comparable](t *tally, up, down *T, of func(up bool) T) {
	if up != nil {
		expect(t, "expected_up", of(true), *up)
	}
	if down != nil {
		expect(t, "expected_down", of(false), *down)
	}
	if up == nil && down == nil {
		t.fault("expected", "none", "expected_up or expected_down")
	}
}

type maestroClamp struct {
	ID      string `json:"id"`
	Amount  int64  `json:"amount"`
	Current int64  `json:"current"`
	Min     int64  `json:"min"`
	Max     int64  `json:"max"`
	Up      *int64 `json:"expected_up,omitempty"`
	Down    *int64 `json:"expected_down,omitempty"`
}

func checkMaestroClamp(c *maestroClamp, t *tally) {
	t.whole()
	expectWays(t, c.Up, c.Down, func(up bool) int64 {
		if up {
			return maestro.ClampUp(c.Amount, c.Current, c.Min, c.Max)
		}
		return maestro.ClampDown(c.Amount, c.Current, c.Min, c.Max)
	})
}

type maestroV10 struct {
	ID        string   `json:"id"`
	Policy    string   `json:"policy"`
	Op        string   `json:"op"`
	Target    float64  `json:"ready_target,omitempty"`
	Threshold float64  `json:"down_threshold,omitempty"`
	Running   int64    `json:"running_matches,omitempty"`
	Free      int64    `json:"free_matches,omitempty"`
	Matches   int64    `json:"max_matches,omitempty"`
	Occupied  int64    `json:"occupied,omitempty"`
	Allocated int64    `json:"allocated,omitempty"`
	Amount    int64    `json:"amount,omitempty"`
	Ratio     *float64 `json:"derived_ratio,omitempty"` // how the expectation came about
	Want      any      `json:"expected"`
}

func checkMaestroV10(c *maestroV10, t *tally) {
	t.whole()
	cfg := maestro.V10Config{ReadyTarget: c.Target, DownThreshold: c.Threshold, MaxMatches: c.Matches, Buffer: c.Amount}
	switch want := c.Want.(type) {
	case bool:
		if c.Op == "can_downscale" && c.Matches > 0 {
			expect(t, "expected", cfg.CanShrink(c.Running, c.Free), want)
			return
		}
	case float64:
		switch {
		case c.Op == "desired" && strings.EqualFold(c.Policy, "roomOccupancy") && c.Matches > 0:
			expect(t, "expected", float64(cfg.Occupancy(c.Running)), want)
			return
		case c.Op == "desired" && strings.EqualFold(c.Policy, "fixedBuffer"):
			expect(t, "expected", float64(cfg.Fixed(c.Occupied, c.Allocated)), want)
			return
		}
	}
	t.fault("op", c.Op, "desired or can_downscale, with what belongs to it")
}
