package lattice

import (
	"fmt"
	"math"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// The series that Coded samples.
const (
	Utilisation autoscale.Metric = iota // running allocations per node
	QueueDepth                          // pending allocations
)

// CodedConfig is that of the evaluator in the public sources.
type CodedConfig struct {
	UpThreshold   float64        // utilisation from which a node is added; default 0.8
	DownThreshold float64        // utilisation down to which one is removed; default 0.2
	Cooldown      model.Duration // between decisions; default 300 s
	Min           int64          // default 1
	Max           int64          // default 2^32-1

	// What the sources could do as well. Both are off there.
	Interval          model.Duration // between evaluations; 0 evaluates at every call
	CooldownOnSuccess bool           // an accepted proposal starts the cooldown, not the decision
}

// CodedDefaults are those of the public sources.
func CodedDefaults() CodedConfig {
	return CodedConfig{UpThreshold: 0.8, DownThreshold: 0.2, Cooldown: 300 * model.Second, Min: 1, Max: math.MaxUint32}
}

// Coded is the evaluator in the public sources: it looks at a whole vCluster, has no
// windows, includes the thresholds themselves, adds a node for any job in the queue, and
// its decisions start the cooldown, whatever becomes of them. It evaluates whenever it is
// called; the evaluation interval of its configuration is not honoured there, so there is
// none here.
type Coded struct {
	cfg         CodedConfig
	nodes       int64
	headroom    int64
	utilisation float64
	queue       float64
	sampled     bool // a utilisation has been sampled since the last evaluation
	scaled      bool
	last        model.Time // of the last decision to scale
	seq         uint64
	ticks       autoscale.Ticks
	plan        autoscale.Plan
}

// NewCoded makes the evaluator.
func NewCoded(cfg CodedConfig) (*Coded, error) {
	switch {
	case cfg.Min < 0 || cfg.Max < cfg.Min:
		return nil, fmt.Errorf("min %d and max %d: want 0 <= min <= max", cfg.Min, cfg.Max)
	case cfg.Cooldown < 0 || cfg.Interval < 0:
		return nil, fmt.Errorf("cooldown %v and interval %v: want none negative", cfg.Cooldown, cfg.Interval)
	}
	return &Coded{cfg: cfg, headroom: autoscale.NoLimit}, nil
}

// Observe implements autoscale.Policy.
func (c *Coded) Observe(now model.Time, facts []autoscale.Fact) {
	for i := range facts {
		switch f := &facts[i]; {
		case f.Kind == autoscale.FactCount && f.State == autoscale.Ready:
			c.nodes = f.N
		case f.Kind == autoscale.FactLimit:
			c.headroom = f.N
		case f.Kind == autoscale.FactSample && f.Metric == Utilisation:
			c.utilisation, c.sampled = f.Value, f.HasValue()
		case f.Kind == autoscale.FactSample && f.Metric == QueueDepth && f.HasValue():
			c.queue = f.Value
		case c.cfg.CooldownOnSuccess && f.Kind == autoscale.FactResult && f.Seq == c.seq && f.Outcome == autoscale.Accepted:
			c.last, c.scaled = now, true
		}
	}
}

// Plan implements autoscale.Policy.
func (c *Coded) Plan(now model.Time) *autoscale.Plan {
	c.plan.Reset()
	if !c.ticks.Due(now, c.cfg.Interval, &c.plan) {
		return &c.plan
	}
	d := c.evaluate(now)
	if d.Guard == autoscale.GuardNone && d.Would.Verb != autoscale.Stay {
		c.seq++
		d.Would.Seq = c.seq
		if !c.cfg.CooldownOnSuccess {
			c.last, c.scaled = now, true
		}
		c.plan.Proposals = append(c.plan.Proposals, d.Would)
	}
	c.sampled = false
	c.plan.Decisions = append(c.plan.Decisions, d)
	return &c.plan
}

// evaluate is one decision. A cooldown comes before all else in the original; here the
// rule is found first, so that the decision can say what it would have been.
func (c *Coded) evaluate(now model.Time) autoscale.Decision {
	if !c.sampled {
		return autoscale.Decision{Rule: RuleNone, Guard: autoscale.GuardNoMetric, Entity: autoscale.Whole}
	}
	d := c.wanted()
	if c.scaled && now.Sub(c.last) < c.cfg.Cooldown && d.Would.Verb != autoscale.Stay {
		d.Guard = autoscale.GuardCooldown
	}
	return d
}

// wanted is the decision as it would be without the cooldown.
func (c *Coded) wanted() autoscale.Decision {
	d := autoscale.Decision{Rule: RuleInBand, Entity: autoscale.Whole}
	if c.utilisation >= c.cfg.UpThreshold || c.queue > 0 {
		d.Rule = RuleUp
		most, guard := c.cfg.Max, autoscale.GuardMax
		if c.headroom != autoscale.NoLimit && c.nodes+c.headroom < most {
			most, guard = c.nodes+c.headroom, autoscale.GuardQuota
		}
		d.Would = autoscale.Proposal{Verb: autoscale.Scale, N: 1, Entity: autoscale.Whole}
		if c.nodes < most {
			return d
		}
		d.Guard = guard
	}
	// One that may not grow is looked at for removal as well, should the thresholds overlap.
	if c.utilisation <= c.cfg.DownThreshold && c.queue == 0 {
		d = autoscale.Decision{Rule: RuleDown, Entity: autoscale.Whole, Would: autoscale.Proposal{Verb: autoscale.Scale, N: -1, Entity: autoscale.Whole}}
		if max(c.nodes-1, c.cfg.Min) >= c.nodes {
			d.Guard = autoscale.GuardMin
		}
	}
	return d
}
