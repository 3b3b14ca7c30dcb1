// Package kpa scales replicas by concurrency or by requests per second as the Pod
// Autoscaler of Knative does: by the average over a stable window, and over a short
// window in panic.
package kpa

import (
	"fmt"
	"math"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// The series: averages over all replicas together, made by the caller.
const (
	Stable autoscale.Metric = iota // over the stable window
	Panic                          // over the panic window
)

// largest is what a float64 can count to.
const largest = 1 << 53

// The rules.
const (
	RuleStable autoscale.Rule = "stable" // the stable window determined the size
	RulePanic  autoscale.Rule = "panic"  // in panic: the higher of both windows, and never down
)

// Guards of its own.
const (
	GuardUpRate   autoscale.Guard = "max_scale_up_rate"
	GuardDownRate autoscale.Guard = "max_scale_down_rate"
	GuardPanic    autoscale.Guard = "panic"            // no way down in panic
	GuardDelay    autoscale.Guard = "scale_down_delay" // more was demanded within the delay
	GuardGrace    autoscale.Guard = "scale_to_zero_grace"
)

// Config is that of one revision.
type Config struct {
	Target         float64        // of the metric per replica, at the utilisation aimed at; default 70
	Total          float64        // that a replica can take; default 100
	BurstCapacity  float64        // kept free at all times; default 211, -1 for without limit, 0 for none
	PanicThreshold float64        // demand of the panic window over what is ready that begins a panic; default 2
	MaxUp          float64        // factor of growth in one step; default 1000
	MaxDown        float64        // factor of shrinking in one step; default 2
	StableWindow   model.Duration // a panic ends when it has passed since the last breach; default 60 s
	DownDelay      model.Duration // the size is the largest demanded within it; default 0
	Activation     int64          // the least size other than 0; default 1
	Reachable      bool           // requests are routed here: otherwise it may shrink at once; default true
	Min, Max       int64          // Max 0 is no limit
	ZeroGrace      model.Duration // the last replica stays for so long; default 30 s
	Interval       model.Duration // between evaluations; default 2 s; 0 evaluates at every call
	MaxAge         model.Duration // of a sample, beyond which there is none; default 10 s
}

// Defaults are those of Knative for concurrency.
func Defaults() Config {
	return Config{
		Target: 70, Total: 100, BurstCapacity: 211, PanicThreshold: 2, MaxUp: 1000, MaxDown: 2, StableWindow: model.Minute,
		Activation: 1, Reachable: true, ZeroGrace: 30 * model.Second, Interval: 2 * model.Second, MaxAge: 10 * model.Second,
	}
}

// validate says what is wrong with a configuration.
func (c *Config) validate() error {
	switch {
	case !(c.Target > 0):
		return fmt.Errorf("target %v: want more than 0", c.Target)
	case !(c.MaxUp > 1 && c.MaxDown > 1):
		return fmt.Errorf("rates %v up and %v down: want more than 1", c.MaxUp, c.MaxDown)
	case !(c.PanicThreshold > 1):
		return fmt.Errorf("panic threshold %v: want more than 1", c.PanicThreshold)
	case c.Min < 0 || c.Max != 0 && c.Max < c.Min:
		return fmt.Errorf("min %d and max %d: want 0 <= min <= max, or max 0", c.Min, c.Max)
	case c.StableWindow < 0 || c.DownDelay < 0 || c.Interval < 0:
		return fmt.Errorf("stable window %v, delay %v and interval %v: want none negative", c.StableWindow, c.DownDelay, c.Interval)
	}
	return nil
}

// Evaluation is all of one decision.
type Evaluation struct {
	Valid     bool
	Desired   int64 // before the bounds
	Burst     int64 // capacity beyond the burst capacity kept, which may be negative
	Panicking bool
}

// Policy is the autoscaler of one revision.
type Policy struct {
	cfg      Config
	samples  [2]sample
	ready    int64
	size     int64
	panicAt  model.Time // of the last breach, Never outside a panic
	maxPanic int64
	delay    window
	zeroAt   model.Time // since when the demand has been zero, Never for not
	begun    bool
	last     Evaluation
	ticks    autoscale.Ticks
	seq      uint64
	flying   uint64
	plan     autoscale.Plan
}

type sample struct {
	value float64
	at    model.Time
	has   bool
}

// New makes an autoscaler.
func New(cfg Config) (*Policy, error) {
	p := &Policy{panicAt: model.Never, zeroAt: model.Never}
	return p, p.Update(cfg)
}

// Update changes the configuration and keeps what has been observed.
func (p *Policy) Update(cfg Config) error {
	if err := cfg.validate(); err != nil {
		return err
	}
	p.cfg = cfg
	p.delay.resize(cfg.DownDelay)
	return nil
}

// Restore gives a policy what it knew before it was restarted. Without it one that finds
// more than one replica begins in panic, so that a restart takes none away.
func (p *Policy) Restore(now model.Time, panicking bool, most int64) {
	switch {
	case !panicking:
		p.panicAt = model.Never
	case p.panicAt == model.Never:
		p.panicAt = now
	}
	p.maxPanic, p.begun = most, true
}

// Last is the last evaluation.
func (p *Policy) Last() *Evaluation { return &p.last }

// Observe implements autoscale.Policy.
func (p *Policy) Observe(_ model.Time, facts []autoscale.Fact) {
	for i := range facts {
		f := &facts[i]
		switch {
		case f.Kind == autoscale.FactSample && (f.Metric == Stable || f.Metric == Panic):
			p.samples[f.Metric] = sample{f.Value, f.At, f.HasValue()}
		case f.Kind == autoscale.FactCount && f.State == autoscale.Ready:
			p.ready = f.N
		case f.Kind == autoscale.FactSize:
			p.size = f.N
		case f.Kind == autoscale.FactResult && p.flying != 0 && f.Seq == p.flying:
			p.flying = 0
			if f.Outcome == autoscale.Accepted {
				p.size = f.N
			}
		}
	}
}

// Plan implements autoscale.Policy.
func (p *Policy) Plan(now model.Time) *autoscale.Plan {
	p.plan.Reset()
	if !p.ticks.Due(now, p.cfg.Interval, &p.plan) {
		return &p.plan
	}
	d := p.evaluate(now)
	if p.last.Valid {
		n := p.bounded(now, &d)
		switch {
		case n == p.size:
		case p.flying != 0:
			d.Guard = autoscale.GuardInFlight
		default:
			p.seq++
			p.flying, d.Would.Seq = p.seq, p.seq
			p.plan.Proposals = append(p.plan.Proposals, autoscale.Proposal{Verb: autoscale.SetReplicas, Seq: p.seq, N: n, Entity: autoscale.Whole})
		}
	}
	p.plan.Decisions = append(p.plan.Decisions, d)
	return &p.plan
}

// bounded is the size that is proposed: the demand within the bounds, and not zero before
// the grace has passed.
func (p *Policy) bounded(now model.Time, d *autoscale.Decision) int64 {
	n := p.last.Desired
	switch {
	case n < p.cfg.Min:
		n, d.Guard = p.cfg.Min, autoscale.GuardMin
	case p.cfg.Max > 0 && n > p.cfg.Max:
		n, d.Guard = p.cfg.Max, autoscale.GuardMax
	}
	if n == 0 && p.size > 0 && now.Sub(p.zeroAt) < p.cfg.ZeroGrace {
		n, d.Guard = 1, GuardGrace
	}
	return n
}

// evaluate is one decision before the bounds.
func (p *Policy) evaluate(now model.Time) autoscale.Decision {
	p.last = Evaluation{Panicking: p.panicAt != model.Never}
	d := autoscale.Decision{Rule: RuleStable, Entity: autoscale.Whole}
	stable, panicking := &p.samples[Stable], &p.samples[Panic]
	if !stable.fresh(now, p.cfg.MaxAge) || !panicking.fresh(now, p.cfg.MaxAge) {
		d.Guard = autoscale.GuardNoMetric
		return d
	}
	p.begin(now)
	ready := math.Max(1, float64(p.ready))
	wantStable, wantPanic := math.Ceil(stable.value/p.cfg.Target), math.Ceil(panicking.value/p.cfg.Target)
	p.alarm(now, wantPanic/ready >= p.cfg.PanicThreshold)
	n, guard := p.limited(ready, wantStable)
	if p.panicAt != model.Never {
		d.Rule = RulePanic
		if m, g := p.limited(ready, wantPanic); m > n {
			n, guard = m, g
		}
		if n < p.maxPanic {
			guard = GuardPanic
		}
		p.maxPanic = max(p.maxPanic, n)
		n = p.maxPanic
	}
	if p.cfg.Reachable {
		if most := p.delay.record(now, n); most != n {
			n, guard = most, GuardDelay
		}
	}
	p.last = Evaluation{Valid: true, Desired: n, Burst: p.burst(panicking.value), Panicking: p.panicAt != model.Never}
	if n > 0 {
		p.zeroAt = model.Never
	} else {
		p.zeroAt = min(p.zeroAt, now)
	}
	d.Guard = guard
	d.Would = autoscale.Proposal{Verb: autoscale.SetReplicas, N: n, Entity: autoscale.Whole}
	return d
}

// begin makes the first evaluation one in panic where there is more than one replica.
func (p *Policy) begin(now model.Time) {
	if p.begun {
		return
	}
	p.begun = true
	p.maxPanic = p.ready
	if p.ready > 1 {
		p.panicAt = now
	}
}

// alarm begins, extends or ends a panic.
func (p *Policy) alarm(now model.Time, breach bool) {
	switch {
	case breach:
		p.panicAt = now
	case p.panicAt != model.Never && p.panicAt.Add(p.cfg.StableWindow) < now:
		p.panicAt, p.maxPanic = model.Never, 0
	}
}

// limited is a demand within what one step may change, and not below the activation size
// while there is any.
func (p *Policy) limited(ready, want float64) (int64, autoscale.Guard) {
	most, least := math.Ceil(float64(p.cfg.MaxUp*ready)), 0.0
	if p.cfg.Reachable {
		least = math.Floor(ready / p.cfg.MaxDown)
	}
	guard, active := autoscale.GuardNone, want > 0
	switch {
	case want > most:
		want, guard = most, GuardUpRate
	case want < least:
		want, guard = least, GuardDownRate
	}
	n := int64(want)
	if active {
		n = max(n, p.cfg.Activation)
	}
	return n, guard
}

// burst is what is ready beyond the burst capacity to be kept and the load of the moment.
func (p *Policy) burst(load float64) int64 {
	switch {
	case p.cfg.BurstCapacity < 0:
		return -1
	case p.cfg.BurstCapacity == 0:
		return 0
	}
	return int64(max(math.Floor(float64(float64(p.ready)*p.cfg.Total)-p.cfg.BurstCapacity-load), -largest))
}

// fresh says whether there is a value that is not too old.
func (s *sample) fresh(now model.Time, age model.Duration) bool {
	return s.has && (age == model.Forever || now.Sub(s.at) <= age)
}
