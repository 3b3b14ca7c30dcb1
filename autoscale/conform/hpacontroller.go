package conform

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"orrery/autoscale"
	"orrery/autoscale/hpa"
	"orrery/scheduler/model"
)

// hpaController is a row of the controller's own tests: one evaluation, with the pods and
// the metrics of the moment.
type hpaController struct {
	ID string `json:"id"`
	hpaPods
	Spec            int64               `json:"spec"`
	Status          int64               `json:"status"`
	Min             int64               `json:"min"`
	Max             int64               `json:"max"`
	Target          float64             `json:"cpu_target"`
	CPUCurrent      int64               `json:"cpu_current"` // 0: not stated
	Levels          []int64             `json:"levels_milli,omitempty"`
	Requests        []int64             `json:"requests_milli,omitempty"`
	Metrics         []hpaMetricSpec     `json:"metrics,omitempty"`
	Up              *hpaRules           `json:"up_rules,omitempty"`
	Down            *hpaRules           `json:"down_rules,omitempty"`
	Recommendations []hpaRecommendation `json:"recommendations,omitempty"`
	Override        bool                `json:"override_clients,omitempty"`
	Expected        int64               `json:"expected"`
	Action          string              `json:"action"`
	Error           string              `json:"error"`
	Conditions      [][]string          `json:"conditions,omitempty"`
}

type hpaMetricSpec struct {
	Type              string         `json:"type"`
	Resource          *hpaMetricBody `json:"resource,omitempty"`
	ContainerResource *hpaMetricBody `json:"containerResource,omitempty"`
	Pods              *hpaMetricBody `json:"pods,omitempty"`
	Object            *hpaMetricBody `json:"object,omitempty"`
	External          *hpaMetricBody `json:"external,omitempty"`
}

type hpaMetricBody struct {
	Name      string         `json:"name,omitempty"`
	Container string         `json:"container,omitempty"`
	Described map[string]any `json:"describedObject,omitempty"`
	Metric    map[string]any `json:"metric,omitempty"`
	Target    struct {
		Type               string  `json:"type"`
		AverageUtilization float64 `json:"averageUtilization,omitempty"`
		AverageValue       string  `json:"averageValue,omitempty"`
		Value              string  `json:"value,omitempty"`
	} `json:"target"`
}

// quantity reads an amount like 15 or 6666m, in thousandths.
func quantity(s string) (int64, error) {
	if m, ok := strings.CutSuffix(s, "m"); ok {
		return strconv.ParseInt(m, 10, 64)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n * 1000, err
}

// unrecorded are inputs of the original test that its row does not tell. A row holds when
// the policy answers all of it under one choice of them.
type unrecorded struct {
	tolerances bool // the feature gate by which rules may have a tolerance
	begun      bool // the history is there and empty; otherwise it begins with the size
}

// choices are those that can matter to a row.
func (c *hpaController) choices() []unrecorded {
	list := []unrecorded{{tolerances: true, begun: true}}
	if len(c.Recommendations) == 0 {
		list = append(list, unrecorded{tolerances: true})
	}
	if c.Up != nil && c.Up.Tolerance != "" || c.Down != nil && c.Down.Tolerance != "" {
		for _, u := range slices.Clone(list) {
			list = append(list, unrecorded{begun: u.begun})
		}
	}
	return list
}

// checkHPAController reports the differences under the first choice if none holds.
func checkHPAController(c *hpaController, t *tally) {
	var first tally
	for i, u := range c.choices() {
		trial := tally{nulls: slices.Clone(t.nulls)}
		trial.whole()
		c.run(u, &trial)
		trial.close()
		if trial.failed == 0 {
			t.whole()
			t.nulls = trial.nulls
			return
		}
		if i == 0 {
			first = trial
		}
	}
	t.whole()
	t.nulls = first.nulls
	t.fault(first.first.Field, first.first.Got, first.first.Want)
}

// condition is the reason of the condition of a type that the row states.
func (c *hpaController) condition(kind string) string {
	for _, x := range c.Conditions {
		if len(x) == 3 && x[0] == kind {
			return x[2]
		}
	}
	return ""
}

// faults of the world around the controller, which only the conditions of a row tell.
type faults struct {
	size, update, selector bool
	resource, object, external,
	pods bool
}

// The reasons for which a selector selects no pods, which the policy is told and does not
// find. One that cannot be read comes of a client that is overridden; one that others select
// by too comes with the clients as they are.
const (
	invalidSelector   = "InvalidSelector"
	ambiguousSelector = "AmbiguousSelector"
)

// faults are inputs that stand in the conditions. Clients that are overridden without a
// condition lose the metrics that are no resources.
func (c *hpaController) faults() faults {
	able, active := c.condition("AbleToScale"), c.condition("ScalingActive")
	f := faults{size: able == "FailedGetScale", update: able == "FailedUpdateScale", selector: active == invalidSelector || active == ambiguousSelector}
	if !c.Override {
		return f
	}
	f.resource = active == "FailedGetResourceMetric"
	f.object = active == "FailedGetObjectMetric" || len(c.Conditions) == 0
	f.external = active == "FailedGetExternalMetric" || len(c.Conditions) == 0
	f.pods = active == "FailedGetPodsMetric" || len(c.Conditions) == 0
	return f
}

// config is the autoscaler of a row.
func (c *hpaController) config(u unrecorded) (hpa.Config, error) {
	cfg := hpa.Defaults()
	cfg.Min, cfg.Max, cfg.UpFactor = c.Min, c.Max, testFactor
	cfg.CPUInit, cfg.ReadyDelay, cfg.MaxAge = 2*model.Minute, 10*model.Second, model.Forever
	cfg.Behaviours = c.Up != nil || c.Down != nil
	if err := behaviours(&cfg, c.Up, c.Down); err != nil {
		return cfg, err
	}
	for _, x := range []struct {
		rules *hpaRules
		to    *float64
	}{{c.Up, &cfg.Tolerance.Up}, {c.Down, &cfg.Tolerance.Down}} {
		if x.rules != nil && x.rules.Tolerance != "" && u.tolerances {
			milli, err := quantity(x.rules.Tolerance)
			if err != nil {
				return cfg, err
			}
			*x.to = float64(milli) / 1000
		}
	}
	if c.Target > 0 {
		cfg.Metrics = append(cfg.Metrics, hpa.Metric{Kind: hpa.Utilization, Target: c.Target, CPU: true})
	}
	for i := range c.Metrics {
		m, err := c.Metrics[i].metric()
		if err != nil {
			return cfg, err
		}
		cfg.Metrics = append(cfg.Metrics, m)
	}
	if len(cfg.Metrics) == 0 {
		cfg.Metrics = []hpa.Metric{{Kind: hpa.InvalidMetric}} // CPU without a target
	}
	return cfg, nil
}

// metric is the configuration of one.
func (s *hpaMetricSpec) metric() (hpa.Metric, error) {
	body := cmp.Or(s.Resource, s.ContainerResource, s.Pods, s.Object, s.External)
	if body == nil {
		return hpa.Metric{Kind: hpa.InvalidMetric}, nil
	}
	resource := s.Resource != nil || s.ContainerResource != nil
	if resource && body.Target.AverageUtilization > 0 {
		return hpa.Metric{Kind: hpa.Utilization, Target: body.Target.AverageUtilization, CPU: body.Name == "cpu"}, nil
	}
	amount, perPod := body.Target.Value, body.Target.AverageValue != ""
	if perPod {
		amount = body.Target.AverageValue
	}
	milli, err := quantity(amount)
	if err != nil {
		return hpa.Metric{}, fmt.Errorf("target of a metric: %w", err)
	}
	m := hpa.Metric{Kind: hpa.Total, Target: float64(milli) / 1000}
	switch {
	case resource:
		m.Kind, m.CPU = hpa.AverageUse, body.Name == "cpu"
	case s.Pods != nil:
		m.Kind = hpa.PodsAverage
	case perPod:
		m.Kind = hpa.TotalPerPod
	}
	return m, nil
}

// facts are the pods and the samples of all metrics.
func (c *hpaController) facts(cfg *hpa.Config) ([]autoscale.Fact, error) {
	broken := c.faults()
	facts := []autoscale.Fact{{Kind: autoscale.FactSize, N: c.Spec, Missing: broken.size}}
	pods := int(c.Status)
	if len(c.Requests) > 0 {
		pods = len(c.Requests)
	}
	for i := range pods {
		var r autoscale.Resources
		if i < len(c.Requests) {
			r.CPU = c.Requests[i]
		}
		f, err := c.hpaPods.facts(i, r)
		if err != nil {
			return nil, err
		}
		facts = append(facts, f...)
	}
	if broken.selector {
		return facts, nil
	}
	for i, m := range cfg.Metrics {
		facts = append(facts, c.samples(i, m, broken)...)
	}
	return facts, nil
}

// samples are those of one metric; all metrics of a row have the same levels.
func (c *hpaController) samples(i int, m hpa.Metric, broken faults) []autoscale.Fact {
	var facts []autoscale.Fact
	switch m.Kind {
	case hpa.InvalidMetric:
	case hpa.Total, hpa.TotalPerPod:
		spec := c.spec(i)
		if spec.Object != nil && broken.object || spec.External != nil && broken.external || len(c.Levels) == 0 {
			return nil
		}
		sum := int64(0)
		for _, v := range c.Levels {
			sum += v
		}
		if spec.Object != nil {
			sum = c.Levels[0]
		}
		facts = append(facts, sampleOf(i, autoscale.Whole, sum, hpaNow))
	default:
		if m.Kind == hpa.PodsAverage && broken.pods || m.Kind != hpa.PodsAverage && broken.resource {
			return nil
		}
		for j, v := range c.Levels {
			facts = append(facts, sampleOf(i, autoscale.Entity(j), v, hpaNow))
		}
	}
	return facts
}

// spec is metric i of the configuration as the row tells it, nil for the CPU, which comes
// first where it has a target.
func (c *hpaController) spec(i int) *hpaMetricSpec {
	if c.Target > 0 {
		i--
	}
	if i < 0 || i >= len(c.Metrics) {
		return nil
	}
	return &c.Metrics[i]
}

// evaluate makes the evaluation of a row; it has none where the row cannot be one, which is
// a fault.
func (c *hpaController) evaluate(u unrecorded, t *tally) (*hpa.Policy, *autoscale.Plan) {
	cfg, err := c.config(u)
	if err != nil {
		t.fault("config", err.Error(), "valid")
		return nil, nil
	}
	p, err := hpa.New(cfg)
	if err != nil {
		t.fault("config", err.Error(), "valid")
		return nil, nil
	}
	if u.begun {
		p.Restore(history(c.Recommendations), nil, nil)
	}
	facts, err := c.facts(&cfg)
	if err != nil {
		t.fault("pods", err.Error(), "valid")
		return nil, nil
	}
	p.Observe(hpaNow, facts)
	return p, p.Plan(hpaNow)
}

// run makes the evaluation of a row and compares all that it tells.
func (c *hpaController) run(u unrecorded, t *tally) {
	p, plan := c.evaluate(u, t)
	if p == nil {
		return
	}
	d, got := plan.Decisions[0], c.Spec
	rescaled := len(plan.Proposals) > 0 && !c.faults().update
	if rescaled {
		got = plan.Proposals[0].N
	}
	action := "none"
	if got != c.Spec {
		action = map[bool]string{true: "scale_up", false: "scale_down"}[got > c.Spec]
	}
	broken := c.faults()
	fault := "none"
	if p.Last().Err != nil || broken.size || broken.selector || broken.update {
		fault = "internal"
	}
	expect(t, "expected", got, c.Expected)
	expect(t, "action", action, c.Action)
	expect(t, "error", fault, c.Error)
	if len(c.Conditions) > 0 {
		c.expectConditions(t, p, d, rescaled)
	}
	switch {
	case c.CPUCurrent == 0 && !slices.Contains(t.nulls, "cpu_current"):
	case c.Target > 0 && len(c.Metrics) == 0 && p.Last().Err == nil && d.Rule == hpa.RuleMetric && d.Guard != hpa.GuardNoSize:
		expect(t, "cpu_current", p.Last().Use.Percent, c.CPUCurrent)
	default:
		c.expectUse(t)
	}
}

// expectUse compares the use of the CPU where the evaluation of a row did not come to it,
// or had other metrics: it is that of an evaluation of the same pods by the CPU alone, in
// which nothing fails.
func (c *hpaController) expectUse(t *tally) {
	alone := *c
	alone.Metrics, alone.Conditions, alone.Override = nil, nil, false
	alone.Target, alone.Spec, alone.Min, alone.Max = max(1, c.Target), max(1, c.Status), 1, max(1, c.Status)
	p, _ := alone.evaluate(unrecorded{}, t)
	if p == nil {
		return
	}
	if err := p.Last().Err; err != nil {
		t.fault("cpu_current", err.Error(), c.CPUCurrent)
		return
	}
	expect(t, "cpu_current", p.Last().Use.Percent, c.CPUCurrent)
}

// expectConditions compares the conditions that the controller would set.
func (c *hpaController) expectConditions(t *tally, p *hpa.Policy, d autoscale.Decision, rescaled bool) {
	var got [][]string
	e := p.Last()
	broken := c.faults()
	switch {
	case broken.size:
		got = [][]string{{"AbleToScale", "False", "FailedGetScale"}}
	case d.Rule == hpa.RuleDisabled:
		got = [][]string{{"AbleToScale", "True", "SucceededGetScale"}, {"ScalingActive", "False", "ScalingDisabled"}}
	case d.Rule != hpa.RuleMetric:
		got = [][]string{{"AbleToScale", "True", "SucceededRescale"}}
	case d.Guard == autoscale.GuardNoMetric:
		got = [][]string{{"AbleToScale", "True", "SucceededGetScale"}, {"ScalingActive", "False", c.failed(e)}}
	default:
		able := []string{"AbleToScale", "True", hpaAble[e.Able]}
		if rescaled {
			able[2] = "SucceededRescale"
		}
		if broken.update {
			able[1], able[2] = "False", "FailedUpdateScale"
		}
		limited := []string{"ScalingLimited", "True", hpaLimits[e.Limited]}
		if e.Limited == hpa.DesiredWithinRange {
			limited[1] = "False"
		}
		got = [][]string{able, {"ScalingActive", "True", "ValidMetricFound"}, limited}
	}
	expect(t, "conditions", fmt.Sprint(got), fmt.Sprint(c.Conditions))
}

// failed is the reason of a metric without a value.
func (c *hpaController) failed(e *hpa.Evaluation) string {
	if c.faults().selector {
		if c.Override {
			return invalidSelector
		}
		return ambiguousSelector
	}
	switch s := c.spec(e.Failed); {
	case s == nil:
		return "FailedGetResourceMetric"
	case s.Object != nil:
		return "FailedGetObjectMetric"
	case s.External != nil:
		return "FailedGetExternalMetric"
	case s.Pods != nil:
		return "FailedGetPodsMetric"
	case s.ContainerResource != nil:
		return "FailedGetContainerResourceMetric"
	case s.Resource != nil:
		return "FailedGetResourceMetric"
	}
	return "InvalidMetricSourceType"
}
