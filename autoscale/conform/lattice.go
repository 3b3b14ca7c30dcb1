package conform

import (
	"orrery/autoscale"
	"orrery/autoscale/lattice"
	"orrery/scheduler/model"
)

func latticeSchemas() []schema {
	return []schema{
		cases("lattice-autoscale-doc", checkLattice),
		cases("lattice-autoscale-code", checkLatticeCode),
		cases("lattice-borrowing", checkLatticeBorrowing),
	}
}

// headroom is the fact of what a tenant has left, null for no quota.
func headroom(n *int64) autoscale.Fact {
	f := autoscale.Fact{Kind: autoscale.FactLimit, N: autoscale.NoLimit}
	if n != nil {
		f.N = *n
	}
	return f
}

type latticeCase struct {
	ID     string `json:"id"`
	Config struct {
		Min           int64   `json:"min"`
		Max           int64   `json:"max"`
		Target        float64 `json:"target"`
		DownThreshold float64 `json:"down_threshold"`
		UpWindow      float64 `json:"up_window_s"`
		DownWindow    float64 `json:"down_window_s"`
		Cooldown      float64 `json:"cooldown_s"`
		Interval      float64 `json:"evaluation_interval_s"` // the steps are on it
	} `json:"config"`
	Nodes       int64         `json:"initial_nodes"`
	Ambiguities []string      `json:"ambiguities,omitempty"`
	Steps       []latticeStep `json:"steps"`
}

type latticeStep struct {
	T         float64  `json:"t"`
	Metric    *float64 `json:"metric"`
	Remaining *int64   `json:"tenant_remaining"`
	Verdict   string   `json:"verdict"`
	Action    string   `json:"expected_action"`
	Reason    string   `json:"expected_reason"`
	Nodes     int64    `json:"expected_nodes_after"`
	Alert     *bool    `json:"expected_alert,omitempty"`
}

// checkLattice feeds the documented loop its own size: the verdicts of the quorum decide.
func checkLattice(c *latticeCase, t *tally) {
	g := &c.Config
	p, err := lattice.New(lattice.Config{
		Min: g.Min, Max: g.Max, Target: g.Target, DownThreshold: g.DownThreshold, UpWindow: span(g.UpWindow),
		DownWindow: span(g.DownWindow), Cooldown: span(g.Cooldown), Interval: model.Microsecond, // each step is an evaluation
	})
	if err != nil {
		t.whole()
		t.fault("config", err.Error(), "valid")
		return
	}
	nodes := c.Nodes
	for i := range c.Steps {
		s := &c.Steps[i]
		t.check(i)
		now := seconds(s.T)
		sample := autoscale.Fact{Kind: autoscale.FactSample, Entity: autoscale.Whole, At: now, Missing: s.Metric == nil}
		if s.Metric != nil {
			sample.Value = *s.Metric
		}
		p.Observe(now, []autoscale.Fact{{Kind: autoscale.FactSize, N: nodes}, headroom(s.Remaining), sample})
		action, reason := s.answer(p, now, &nodes)
		expect(t, "expected_action", action, s.Action)
		expect(t, "expected_reason", reason, s.Reason)
		expect(t, "expected_nodes_after", nodes, s.Nodes)
		if s.Alert != nil {
			expect(t, "expected_alert", p.Alerting(), *s.Alert)
		}
	}
}

// answer makes the evaluation of a step and gives what it proposes its verdict.
func (s *latticeStep) answer(p *lattice.Policy, now model.Time, nodes *int64) (action, reason string) {
	plan := p.Plan(now)
	if len(plan.Decisions) == 0 {
		return "none", "not evaluated"
	}
	d := plan.Decisions[0]
	if !d.Proposed() {
		if d.Guard == autoscale.GuardNone {
			return "none", string(d.Rule)
		}
		return "none", string(d.Guard)
	}
	action = "propose_up"
	if d.Would.N < 0 {
		action = "propose_down"
	}
	if s.Verdict == "accept" {
		*nodes += d.Would.N
		p.Observe(now, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: d.Would.Seq, Outcome: autoscale.Accepted, N: d.Would.N}})
		return action, "accepted"
	}
	before := p.Counters().BackOffs
	p.Observe(now, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: d.Would.Seq, Outcome: autoscale.Rejected}})
	if p.Counters().BackOffs > before {
		return action, "rejected_backoff_started"
	}
	return action, "rejected"
}

type latticeCodeCase struct {
	ID     string `json:"id"`
	Config struct {
		Up       float64 `json:"scale_up_threshold"`
		Down     float64 `json:"scale_down_threshold"`
		Cooldown float64 `json:"cooldown_s"`
		Min      int64   `json:"min_nodes"`
		Max      int64   `json:"max_nodes"`
	} `json:"config"`
	Period float64 `json:"period_s,omitempty"` // the steps tell their instants
	Steps  []struct {
		T         float64 `json:"t"`
		Nodes     int64   `json:"nodes"`
		Util      float64 `json:"utilization"`
		Queue     float64 `json:"queue_depth"`
		Remaining *int64  `json:"tenant_remaining"`
		Action    string  `json:"expected_action"`
		Count     int64   `json:"expected_count"`
	} `json:"steps"`
}

func checkLatticeCode(c *latticeCodeCase, t *tally) {
	g := &c.Config
	p, err := lattice.NewCoded(lattice.CodedConfig{UpThreshold: g.Up, DownThreshold: g.Down, Cooldown: span(g.Cooldown), Min: g.Min, Max: g.Max})
	if err != nil {
		t.whole()
		t.fault("config", err.Error(), "valid")
		return
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		t.check(i)
		now := seconds(s.T)
		p.Observe(now, []autoscale.Fact{
			{Kind: autoscale.FactCount, State: autoscale.Ready, N: s.Nodes}, headroom(s.Remaining),
			{Kind: autoscale.FactSample, Metric: lattice.Utilisation, Entity: autoscale.Whole, Value: s.Util, At: now},
			{Kind: autoscale.FactSample, Metric: lattice.QueueDepth, Entity: autoscale.Whole, Value: s.Queue, At: now},
		})
		action, count := "none", int64(0)
		if plan := p.Plan(now); len(plan.Proposals) > 0 {
			action, count = "up", plan.Proposals[0].N
			if count < 0 {
				action, count = "down", -count
			}
		}
		expect(t, "expected_action", action, s.Action)
		expect(t, "expected_count", count, s.Count)
	}
}

type latticeBorrowing struct {
	ID        string  `json:"id"`
	Total     int64   `json:"lender_total"`
	Idle      int64   `json:"lender_idle"`
	Requested int64   `json:"requested"`
	Share     float64 `json:"max_borrow_pct"`
	Lends     bool    `json:"lending_enabled"`
	Borrows   bool    `json:"borrowing_enabled"`
	Granted   int64   `json:"expected_granted"`
}

func checkLatticeBorrowing(c *latticeBorrowing, t *tally) {
	t.whole()
	l := lattice.Lending{Total: c.Total, Idle: c.Idle, Share: c.Share, Lends: c.Lends, Borrows: c.Borrows}
	expect(t, "expected_granted", l.Grant(c.Requested), c.Granted)
}
