package conform

import (
	"fmt"

	"orrery/autoscale"
	"orrery/autoscale/hpa"
	"orrery/scheduler/model"
)

func hpaSchemas() []schema {
	return []schema{

		cases("hpa-controller", checkHPAController),
		cases("hpa-replica-calc", checkHPAReplicas),
		cases("hpa-rate-limit", checkHPARates),
		cases("hpa-stabilize", checkHPAStabilize),
		cases("hpa-trace", checkHPATrace),
	}
}

// hpaRules are those of one direction. What is not stated has its default.
type hpaRules struct {
	Policies      []hpaPolicy `json:"policies"`
	Select        string      `json:"select,omitempty"`
	Stabilization *float64    `json:"stabilization_s,omitempty"`
	Tolerance     string      `json:"tolerance,omitempty"`
}

type hpaPolicy struct {
	Period float64 `json:"period_s"`
	Type   string  `json:"type"`
	Value  int64   `json:"value"`
}

// over puts what is stated in the place of the defaults.
func (r *hpaRules) over(defaults hpa.Rules) (hpa.Rules, error) {
	if r == nil {
		return defaults, nil
	}
	if r.Stabilization != nil {
		defaults.Window = span(*r.Stabilization)
	}
	switch r.Select {
	case "", "Max":
		defaults.Select = hpa.MaxChange
	case "Min":
		defaults.Select = hpa.MinChange
	case "Disabled":
		defaults.Select = hpa.Disabled
	default:
		return defaults, fmt.Errorf("unknown select %q", r.Select)
	}
	if len(r.Policies) == 0 {
		return defaults, nil
	}
	defaults.Policies = nil
	for _, s := range r.Policies {
		if s.Type != "Pods" && s.Type != "Percent" {
			return defaults, fmt.Errorf("unknown type of scaling policy %q", s.Type)
		}
		defaults.Policies = append(defaults.Policies, hpa.ScalingPolicy{Percent: s.Type == "Percent", Value: s.Value, Period: span(s.Period)})
	}
	return defaults, nil
}

// behaviours puts the rules of both directions into a configuration.
func behaviours(cfg *hpa.Config, up, down *hpaRules) error {
	var err error
	if cfg.Up, err = up.over(hpa.DefaultUp()); err != nil {
		return err
	}
	cfg.Down, err = down.over(hpa.DefaultDown())
	return err
}

// The names of limits and of what stabilisation does.
var (
	hpaLimits = map[hpa.Limit]string{
		hpa.DesiredWithinRange: "DesiredWithinRange", hpa.TooManyReplicas: "TooManyReplicas", hpa.TooFewReplicas: "TooFewReplicas",
		hpa.ScaleUpLimit: "ScaleUpLimit", hpa.ScaleDownLimit: "ScaleDownLimit",
	}
	hpaAble = map[hpa.Able]string{
		hpa.ReadyForNewScale: "ReadyForNewScale", hpa.ScaleUpStabilized: "ScaleUpStabilized", hpa.ScaleDownStabilized: "ScaleDownStabilized",
	}
	hpaPaths = map[autoscale.Rule]string{
		hpa.RuleMetric: "metric", hpa.RuleTooMany: "above_max", hpa.RuleTooFew: "below_min", hpa.RuleDisabled: "disabled",
	}
)

type hpaTrace struct {
	ID         string    `json:"id"`
	Behaviour  bool      `json:"behavior"`
	Up         *hpaRules `json:"up_rules"`
	Down       *hpaRules `json:"down_rules"`
	DownWindow float64   `json:"downscale_stabilization_s"`
	Min        int64     `json:"min"`
	Max        int64     `json:"max"`
	Target     float64   `json:"target"`
	Tolerance  float64   `json:"tolerance"`
	Steps      []struct {
		T       float64 `json:"t"`
		Current int64   `json:"current"`
		Value   float64 `json:"utilization"`
		Raw     int64   `json:"raw_desired"`
		Out     int64   `json:"out"`
		Able    string  `json:"able"`
		Limited string  `json:"limited"`
		Path    string  `json:"path"`
	} `json:"steps"`
}

func checkHPATrace(c *hpaTrace, t *tally) {
	cfg := hpa.Defaults()
	cfg.Min, cfg.Max, cfg.Behaviours = c.Min, c.Max, c.Behaviour
	cfg.Tolerance = hpa.Tolerances{Up: c.Tolerance, Down: c.Tolerance}
	cfg.DownWindow = span(c.DownWindow)
	cfg.Metrics = []hpa.Metric{{Kind: hpa.ServiceRatio, Target: c.Target}}
	err := behaviours(&cfg, c.Up, c.Down)
	if err == nil && c.Down != nil && c.Down.Stabilization == nil {
		cfg.Down.Window = cfg.DownWindow
	}
	p, bad := hpa.New(cfg)
	if err != nil || bad != nil {
		t.whole()
		t.fault("config", fmt.Sprint(err, bad), "valid")
		return
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		t.check(i)
		now := seconds(s.T)
		p.Observe(now, []autoscale.Fact{
			{Kind: autoscale.FactSize, N: s.Current},
			{Kind: autoscale.FactSample, Entity: autoscale.Whole, Value: s.Value, At: now},
		})
		plan := p.Plan(now)
		if len(plan.Decisions) == 0 {
			t.fault("out", "not evaluated", fmt.Sprint(s.Out))
			continue
		}
		out, path := s.Current, hpaPaths[plan.Decisions[0].Rule]
		if len(plan.Proposals) > 0 {
			out = plan.Proposals[0].N
			p.Observe(now, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: plan.Proposals[0].Seq, Outcome: autoscale.Accepted, N: out}})
		}
		e := p.Last()
		expect(t, "path", path, s.Path)
		expect(t, "raw_desired", e.Raw, s.Raw)
		expect(t, "able", hpaAble[e.Able], s.Able)
		expect(t, "limited", hpaLimits[e.Limited], s.Limited)
		expect(t, "out", out, s.Out)
	}
}

type hpaChange struct {
	Age    float64 `json:"age_s"`
	Change int64   `json:"change"`
}

type hpaRates struct {
	ID        string      `json:"id"`
	Current   int64       `json:"current"`
	Desired   int64       `json:"desired"`
	Min       int64       `json:"min"`
	Max       int64       `json:"max"`
	Up        *hpaRules   `json:"up_rules"`
	Down      *hpaRules   `json:"down_rules"`
	Ups       []hpaChange `json:"up_events"`
	Downs     []hpaChange `json:"down_events"`
	Expected  int64       `json:"expected"`
	Condition string      `json:"condition"`
}

// hpaNow is the instant of cases that tell ages.
const hpaNow = model.Time(10 * model.Day)

func changes(list []hpaChange) hpa.Changes {
	var c hpa.Changes
	for _, x := range list {
		c = append(c, hpa.Change{By: x.Change, At: hpaNow.Add(-span(x.Age))})
	}
	return c
}

func checkHPARates(c *hpaRates, t *tally) {
	t.whole()
	cfg := hpa.Defaults()
	cfg.Min, cfg.Max = c.Min, c.Max
	if err := behaviours(&cfg, c.Up, c.Down); err != nil {
		t.fault("rules", err.Error(), "valid")
		return
	}
	got, limit := cfg.Limit(hpaNow, c.Current, c.Desired, changes(c.Ups), changes(c.Downs))
	expect(t, "expected", got, c.Expected)
	expect(t, "condition", hpaLimits[limit], c.Condition)
}

type hpaRecommendation struct {
	Age   float64 `json:"age_s"`
	Value int64   `json:"value"`
}

func history(list []hpaRecommendation) hpa.History {
	h := hpa.History{}
	for _, r := range list {
		h = append(h, hpa.Recommendation{N: r.Value, At: hpaNow.Add(-span(r.Age))})
	}
	return h
}

type hpaStabilize struct {
	ID              string              `json:"id"`
	Op              string              `json:"op"`
	Current         int64               `json:"current,omitempty"`
	Proposed        int64               `json:"proposed,omitempty"`
	Desired         int64               `json:"desired,omitempty"`
	Min             int64               `json:"min,omitempty"`
	Max             int64               `json:"max,omitempty"`
	Window          float64             `json:"window_s,omitempty"`
	UpWindow        float64             `json:"up_window_s,omitempty"`
	DownWindow      float64             `json:"down_window_s,omitempty"`
	Recommendations []hpaRecommendation `json:"recommendations,omitempty"`
	Expected        int64               `json:"expected"`
	Log             []int64             `json:"expected_log,omitempty"` // empty: not stated, for a log never is
	LogLength       *int                `json:"expected_log_len,omitempty"`
	Condition       *string             `json:"condition,omitempty"`
}

// testFactor is the limit of one step up in the files made from the controller's own
// tests; in production it is 2.
const testFactor = 8

func checkHPAStabilize(c *hpaStabilize, t *tally) {
	t.whole()
	h := history(c.Recommendations)
	var got int64
	switch c.Op {
	case "stabilize":
		got = h.StabilizeDown(hpaNow, c.Proposed, span(c.Window))
	case "stabilize_behavior":
		got = h.Stabilize(hpaNow, c.Current, c.Proposed, span(c.UpWindow), span(c.DownWindow))
	case "rules":
		cfg := hpa.Config{Min: c.Min, Max: c.Max, UpFactor: testFactor}
		var limit hpa.Limit
		got, limit = cfg.LimitPlainly(c.Current, c.Desired)
		if c.Condition != nil {
			expect(t, "condition", hpaLimits[limit], *c.Condition)
		}
	default:
		t.fault("op", "unknown", c.Op)
		return
	}
	expect(t, "expected", got, c.Expected)
	if len(c.Log) > 0 {
		var log []int64
		for _, r := range h {
			log = append(log, r.N)
		}
		expectList(t, "expected_log", log, c.Log)
	}
	if c.LogLength != nil {
		expect(t, "expected_log_len", len(h), *c.LogLength)
	}
}
