package conform

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"

	"orrery/autoscale"
	"orrery/autoscale/hpa"
	"orrery/scheduler/model"
)

// hpaPods are the pods of a case. Lists that are shorter than the pods have defaults.
type hpaPods struct {
	Age      []float64 `json:"pod_age_s,omitempty"`
	Deleting []bool    `json:"pod_deleting,omitempty"`
	Phase    []string  `json:"pod_phase,omitempty"`
	Ready    []string  `json:"pod_ready,omitempty"`
}

// longAgo is when pods were started that have no age.
const longAgo = 10 * model.Hour

// facts are those of pod i, which requests so many thousandths of a CPU and bytes.
func (p *hpaPods) facts(i int, requests autoscale.Resources) ([]autoscale.Fact, error) {
	age := longAgo
	if i < len(p.Age) {
		age = span(p.Age[i])
	}
	f := autoscale.Fact{Kind: autoscale.FactEntity, Entity: autoscale.Entity(i), State: autoscale.Ready, At: hpaNow.Add(-age), Resources: requests}
	if i < len(p.Ready) {
		switch p.Ready[i] {
		case "True":
		case "False", "Unknown":
			f.State = autoscale.Starting
		default:
			return nil, fmt.Errorf("unknown readiness %q", p.Ready[i])
		}
	}
	if i < len(p.Phase) {
		switch p.Phase[i] {
		case "Running":
		case "Pending":
			f.State = autoscale.Requested
		case "Failed":
			f.State = autoscale.Failed
		default:
			return nil, fmt.Errorf("unknown phase %q", p.Phase[i])
		}
	}
	if i < len(p.Deleting) && p.Deleting[i] {
		f.State = autoscale.Draining
	}
	return []autoscale.Fact{f}, nil
}

type hpaReplicas struct {
	ID string `json:"id"`
	hpaPods
	Current       int64           `json:"current"`
	Container     string          `json:"container,omitempty"`
	ToleranceUp   float64         `json:"tolerance_up"`
	ToleranceDown float64         `json:"tolerance_down"`
	Resource      *hpaResource    `json:"resource,omitempty"`
	Metric        *hpaOtherMetric `json:"metric,omitempty"`
	Expected      int64           `json:"expected"`
	Error         string          `json:"expected_error,omitempty"`
}

type hpaResource struct {
	Name     string    `json:"name"`
	Levels   [][]int64 `json:"levels_milli_per_container"`
	PodNames []string  `json:"pod_names"`
	Requests []int64   `json:"requests_milli_per_container"`
	Target   float64   `json:"target_utilization"`
	Percent  int64     `json:"expected_utilization"`
	Value    int64     `json:"expected_value"`
}

type hpaOtherMetric struct {
	Type   string  `json:"type"`
	Levels []int64 `json:"levels_milli"`
	Target int64   `json:"target_milli"`
	PerPod int64   `json:"per_pod_target_milli"`
	Usage  int64   `json:"expected_usage_milli"`
}

// Pods of these cases have two containers, by these names.
var hpaContainers = []string{"container1", "container2"}

// level is the sample of a pod: of one container, or of all of them. ok is false when a
// container that counts has none.
func (c *hpaReplicas) level(levels []int64) (sum int64, ok bool, err error) {
	known := c.Container == ""
	for i, name := range hpaContainers {
		if c.Container != "" && c.Container != name {
			continue
		}
		known = true
		if i >= len(levels) {
			return 0, false, nil
		}
		sum += levels[i]
	}
	if !known {
		return 0, false, fmt.Errorf("unknown container %q", c.Container)
	}
	return sum, true, nil
}

// request is what pod i requests for the containers that count.
func (c *hpaReplicas) request(i int) autoscale.Resources {
	if c.Resource == nil || i >= len(c.Resource.Requests) {
		return autoscale.Resources{}
	}
	r := c.Resource.Requests[i]
	if c.Container == "" {
		r *= int64(len(hpaContainers))
	}
	return autoscale.Resources{CPU: r} // the unit does not matter to a share of it
}

// sampleOf is a sample in thousandths; the window is that of a metrics server.
func sampleOf(metric int, e autoscale.Entity, milli int64, at model.Time) autoscale.Fact {
	return autoscale.Fact{Kind: autoscale.FactSample, Metric: autoscale.Metric(metric), Entity: e, Value: float64(milli) / 1000, At: at, Window: model.Minute}
}

// facts are those of the pods and the metric. A pod's sample is as old as the pod: the
// original test leaves both instants zero.
func (c *hpaReplicas) facts() ([]autoscale.Fact, error) {
	facts := []autoscale.Fact{{Kind: autoscale.FactSize, N: c.Current}}
	for i := range max(int(c.Current), len(c.Phase)) {
		f, err := c.hpaPods.facts(i, c.request(i))
		if err != nil {
			return nil, err
		}
		facts = append(facts, f...)
	}
	if c.Resource == nil {
		return append(facts, c.Metric.samples()...), nil
	}
	for i, levels := range c.Resource.Levels {
		e := autoscale.Entity(i)
		if i < len(c.Resource.PodNames) {
			e += 1 << 20 // a pod by another name
		}
		milli, ok, err := c.level(levels)
		if err != nil {
			return nil, err
		}
		at := hpaNow
		if i < len(c.Age) {
			at = hpaNow.Add(-span(c.Age[i]))
		}
		if ok {
			facts = append(facts, sampleOf(0, e, milli, at))
		}
	}
	return facts, nil
}

// samples of a metric that is no resource: per pod, or summed over the series.
func (m *hpaOtherMetric) samples() []autoscale.Fact {
	if m.Type != "pods" {
		sum := int64(0)
		for _, v := range m.Levels {
			sum += v
		}
		return []autoscale.Fact{sampleOf(0, autoscale.Whole, sum, hpaNow)}
	}
	var facts []autoscale.Fact
	for i, v := range m.Levels {
		facts = append(facts, sampleOf(0, autoscale.Entity(i), v, hpaNow))
	}
	return facts
}

// metric is the configuration of the metric.
func (c *hpaReplicas) metric() (hpa.Metric, error) {
	if c.Resource != nil {
		return hpa.Metric{Kind: hpa.Utilization, Target: c.Resource.Target, CPU: c.Resource.Name == "cpu"}, nil
	}
	if c.Metric == nil {
		return hpa.Metric{}, errors.New("neither resource nor metric")
	}
	target, perPod := float64(c.Metric.Target)/1000, float64(c.Metric.PerPod)/1000
	switch c.Metric.Type {
	case "pods":
		return hpa.Metric{Kind: hpa.PodsAverage, Target: target}, nil
	case "object", "external":
		return hpa.Metric{Kind: hpa.Total, Target: target}, nil
	case "object_per_pod", "external_per_pod":
		return hpa.Metric{Kind: hpa.TotalPerPod, Target: perPod}, nil
	}
	return hpa.Metric{}, fmt.Errorf("unknown type of metric %q", c.Metric.Type)
}

// checkHPAReplicas compares what the metric alone demands.
func checkHPAReplicas(c *hpaReplicas, t *tally) {
	t.whole()
	cfg := hpa.Defaults()
	cfg.Max = math.MaxInt32
	cfg.Tolerance = hpa.Tolerances{Up: c.ToleranceUp, Down: c.ToleranceDown}
	cfg.CPUInit, cfg.ReadyDelay, cfg.MaxAge = 2*model.Minute, 10*model.Second, model.Forever
	m, err := c.metric()
	if err != nil {
		t.fault("metric", err.Error(), "valid")
		return
	}
	cfg.Metrics = []hpa.Metric{m}
	p, err := hpa.New(cfg)
	if err != nil {
		t.fault("metric", err.Error(), "valid")
		return
	}
	facts, err := c.facts()
	if err != nil {
		t.fault("pods", err.Error(), "valid")
		return
	}
	p.Observe(hpaNow, facts)
	p.Plan(hpaNow)
	e := p.Last()
	raw := e.Raw
	if c.Error != "" || e.Err != nil {
		c.expectError(t, e.Err)
		raw = 0 // as the original answers beside an error
	}
	expect(t, "expected", raw, c.Expected)
	if c.Resource != nil {
		expect(t, "expected_utilization", e.Use.Percent, c.Resource.Percent)
		expect(t, "expected_value", e.Use.Average, c.Resource.Value)
	} else {
		expect(t, "expected_usage_milli", e.Use.Average, c.Metric.Usage)
	}
}

// hpaErrors are the messages of the original for each error, with the parts that differ
// between pods and metrics open. A case states a message, or that from a part of it on
// which is the same for all.
var hpaErrors = []struct {
	err     error
	message *regexp.Regexp
}{
	{hpa.ErrNoMetrics, regexp.MustCompile(`^(unable to get (metrics for resource|metric|external metric) [^ :]+: )?no metrics returned from (resource|custom|external) metrics API$`)},
	{hpa.ErrNoPods, regexp.MustCompile(`^no pods returned by selector( while calculating replica count)?$`)},
	{hpa.ErrUnready, regexp.MustCompile(`^did not receive metrics for( targeted)?( any ready)? pods( \(pods might be unready\))?$`)},
	{hpa.ErrNoRequest, regexp.MustCompile(`^missing request for( (cpu|memory)( in container \S+ of Pod \S+)?)?$`)},
	{hpa.ErrOtherPods, regexp.MustCompile(`^no metrics returned matched known pods$`)},
}

func (c *hpaReplicas) expectError(t *tally, err error) {
	for _, x := range hpaErrors {
		if errors.Is(err, x.err) && x.message.MatchString(c.Error) && (c.Resource == nil || c.ofResource()) {
			return
		}
	}
	got := any(nil)
	if err != nil {
		got = err.Error()
	}
	t.fault("expected_error", got, c.Error)
}

// ofResource says whether the message names the resource of the case, if it names one.
func (c *hpaReplicas) ofResource() bool {
	_, rest, ok := strings.Cut(c.Error, "for resource ")
	return !ok || strings.HasPrefix(rest, c.Resource.Name+":")
}
