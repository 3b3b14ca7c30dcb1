// Package hpa scales replicas as the Horizontal Pod Autoscaler of Kubernetes 1.33 does,
// with and without behaviours. It follows the documented algorithm and, where that is
// silent, the results of the controller's own tests.
package hpa

import (
	"errors"
	"fmt"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// The rules: what determined the number of replicas.
const (
	RuleMetric   autoscale.Rule = "metric"    // the highest demand of the metrics
	RuleTooMany  autoscale.Rule = "above_max" // set to the maximum
	RuleTooFew   autoscale.Rule = "below_min" // set to the minimum
	RuleDisabled autoscale.Rule = "disabled"  // no replicas by intent: the minimum is more than 0
)

// Guards of its own.
const (
	GuardTolerance  autoscale.Guard = "tolerance"   // the demand is what there is, or nearly
	GuardStabilized autoscale.Guard = "stabilized"  // a recommendation within the window differs
	GuardRate       autoscale.Guard = "rate_limit"  // a scaling policy allows less
	GuardNoSize     autoscale.Guard = "size_unread" // the size could not be read
)

// Kind says what a metric describes and what its target is.
type Kind uint8

// The kinds. Values and targets are in the unit of the metric, utilisations in percent.
const (
	Utilization   Kind = iota // of what pods requested: samples per pod, target in percent
	AverageUse                // of a resource, per pod: samples per pod
	PodsAverage               // of a custom metric, per pod: samples per pod
	Total                     // of an object or an external series: a ratio to the target scales what is ready
	TotalPerPod               // of the same, divided by the replicas
	ServiceRatio              // a mean over the ready replicas that the caller has made
	InvalidMetric             // a metric of a type that does not exist: it never has a value
)

// Metric is a series and its target.
type Metric struct {
	Kind   Kind
	Target float64
	CPU    bool // a resource metric of CPU: samples of pods that start are set aside
	Memory bool // a resource metric of memory
}

// Select says which of several scaling policies counts.
type Select uint8

// The choices.
const (
	MaxChange Select = iota // the one that allows the most
	MinChange               // the one that allows the least
	Disabled                // no change in this direction
)

// ScalingPolicy bounds the change within a period.
type ScalingPolicy struct {
	Percent bool // of the replicas at the start of the period; otherwise pods
	Value   int64
	Period  model.Duration
}

// Rules are those of one direction.
type Rules struct {
	Window   model.Duration // of stabilisation
	Select   Select
	Policies []ScalingPolicy
}

// Tolerances are the relative differences from the target that call for no change.
type Tolerances struct{ Up, Down float64 }

// within says whether a ratio of value to target is near enough to 1.
func (t Tolerances) within(ratio float64) bool {
	return 1-t.Down <= ratio && ratio <= 1+t.Up
}

// Config is that of one autoscaler.
type Config struct {
	Min, Max   int64
	Metrics    []Metric
	Tolerance  Tolerances
	Behaviours bool // Up and Down apply; without them there is one window and one limit
	Up, Down   Rules
	DownWindow model.Duration // of stabilisation without behaviours; default 5 min
	UpFactor   float64        // of the replicas that one step may reach without behaviours; default 2
	Interval   model.Duration // between evaluations; default 15 s
	CPUInit    model.Duration // a pod's CPU counts as starting for this long; default 5 min
	ReadyDelay model.Duration // one that was not ready for longer than this after its start never was; default 30 s
	MaxAge     model.Duration // of a sample, beyond which there is none; default 1 min
}

// Defaults are those of Kubernetes with the default behaviours. Bounds and metrics have none.
func Defaults() Config {
	return Config{
		Tolerance: Tolerances{0.1, 0.1}, Behaviours: true, Up: DefaultUp(), Down: DefaultDown(),
		DownWindow: 5 * model.Minute, UpFactor: 2, Interval: 15 * model.Second,
		CPUInit: 5 * model.Minute, ReadyDelay: 30 * model.Second, MaxAge: model.Minute,
	}
}

// DefaultUp are the rules of growth that hold where none are stated: 4 pods or 100 %, what is more, in 15 s.
func DefaultUp() Rules {
	return Rules{Policies: []ScalingPolicy{{Value: 4, Period: 15 * model.Second}, {Percent: true, Value: 100, Period: 15 * model.Second}}}
}

// DefaultDown are the rules of shrinking that hold where none are stated: all at once, after 5 minutes.
func DefaultDown() Rules {
	return Rules{Window: 5 * model.Minute, Policies: []ScalingPolicy{{Percent: true, Value: 100, Period: 15 * model.Second}}}
}

// validate says what is wrong with a configuration.
func (c *Config) validate() error {
	switch {
	case c.Min < 0 || c.Max < c.Min || c.Max == 0:
		return fmt.Errorf("min %d and max %d: want 0 <= min <= max and max > 0", c.Min, c.Max)
	case len(c.Metrics) == 0:
		return errors.New("no metrics")
	case !(c.Tolerance.Up >= 0 && c.Tolerance.Down >= 0):
		return fmt.Errorf("tolerances %v and %v: want none negative", c.Tolerance.Up, c.Tolerance.Down)
	case !(c.UpFactor >= 1):
		return fmt.Errorf("factor %v of one step up: want 1 or more", c.UpFactor)
	case c.Interval <= 0:
		return fmt.Errorf("interval %v: want more than 0", c.Interval)
	}
	for i, m := range c.Metrics {
		if m.Kind != InvalidMetric && !(m.Target > 0) {
			return fmt.Errorf("target %v of metric %d: want more than 0", m.Target, i)
		}
	}
	return nil
}

// Evaluation is all of one decision. It is valid until the next.
type Evaluation struct {
	Current    int64
	Raw        int64 // what the metrics demand; -1 when that is not known
	Stabilized int64
	Desired    int64 // after all limits
	Able       Able
	Limited    Limit
	Use        Use   // of the metric that determined Raw
	Err        error // of the first metric without a value
	Failed     int   // the metric that it is of
}

// Able says whether stabilisation held the demand back.
type Able uint8

// What it did.
const (
	ReadyForNewScale Able = iota
	ScaleUpStabilized
	ScaleDownStabilized
)

// Limit says what limited the demand.
type Limit uint8

// The limits.
const (
	DesiredWithinRange Limit = iota
	TooManyReplicas          // the maximum
	TooFewReplicas           // the minimum
	ScaleUpLimit             // the rate upward
	ScaleDownLimit           // the rate downward
)

// Policy is the autoscaler of one workload.
type Policy struct {
	cfg     Config
	pods    pods
	totals  []sample // per metric, of the whole
	size    int64
	known   bool
	history History
	begun   bool // the history has its first entry
	ups     Changes
	downs   Changes
	last    Evaluation
	ticks   autoscale.Ticks
	seq     uint64
	flying  autoscale.Proposal
	plan    autoscale.Plan
}

// New makes an autoscaler.
func New(cfg Config) (*Policy, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Policy{cfg: cfg, totals: make([]sample, len(cfg.Metrics)), pods: pods{metrics: len(cfg.Metrics)}}, nil
}

// Last is the last evaluation.
func (p *Policy) Last() *Evaluation { return &p.last }

// Observe implements autoscale.Policy.
func (p *Policy) Observe(now model.Time, facts []autoscale.Fact) {
	for i := range facts {
		f := &facts[i]
		switch f.Kind {
		case autoscale.FactSize:
			p.size, p.known = f.N, !f.Missing
		case autoscale.FactEntity:
			p.pods.enter(f)
		case autoscale.FactSample:
			p.sampled(f)
		case autoscale.FactResult:
			p.answered(now, f)
		}
	}
}

func (p *Policy) sampled(f *autoscale.Fact) {
	if f.Metric < 0 || int(f.Metric) >= len(p.totals) {
		return // of another policy
	}
	s := sample{at: f.At, window: f.Window}
	if f.HasValue() {
		s.milli, s.ratio, s.has = toMilli(f.Value), f.Value, true
	}
	if f.Entity == autoscale.Whole {
		p.totals[f.Metric] = s
		return
	}
	p.pods.sampled(f.Entity, int(f.Metric), s)
}

// Restore gives a policy what it knew before it was restarted. Without it the first
// evaluation begins the history with the size of that moment.
func (p *Policy) Restore(history History, ups, downs Changes) {
	p.history = append(p.history[:0], history...)
	p.ups = append(p.ups[:0], ups...)
	p.downs = append(p.downs[:0], downs...)
	p.begun = true
}

// answered notes a change that was made, for the limits of the rates.
func (p *Policy) answered(now model.Time, f *autoscale.Fact) {
	if p.flying.Seq == 0 || f.Seq != p.flying.Seq {
		return
	}
	p.flying = autoscale.Proposal{}
	if f.Outcome != autoscale.Accepted {
		return
	}
	if by := f.N - p.size; by > 0 {
		p.ups.add(Change{by, now}, p.cfg.Up.Policies)
	} else if by < 0 {
		p.downs.add(Change{-by, now}, p.cfg.Down.Policies)
	}
	p.size = f.N
}

// Plan implements autoscale.Policy.
func (p *Policy) Plan(now model.Time) *autoscale.Plan {
	p.plan.Reset()
	if !p.ticks.Due(now, p.cfg.Interval, &p.plan) {
		return &p.plan
	}
	d := p.evaluate(now)
	switch {
	case p.last.Desired == p.size:
	case p.flying.Seq != 0:
		d.Guard = autoscale.GuardInFlight
	default:
		p.seq++
		p.flying = autoscale.Proposal{Verb: autoscale.SetReplicas, Seq: p.seq, N: p.last.Desired, Entity: autoscale.Whole}
		p.plan.Proposals = append(p.plan.Proposals, p.flying)
		d.Would.Seq = p.seq
	}
	p.plan.Decisions = append(p.plan.Decisions, d)
	return &p.plan
}
