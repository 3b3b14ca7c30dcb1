// Package keda scales between none and some as the scale executor of KEDA does: by
// whether any trigger is active. Between the first replica and the maximum another
// policy decides, as a Horizontal Pod Autoscaler does there.
package keda

import (
	"fmt"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// The rules.
const (
	RuleActivate   autoscale.Rule = "activate"   // a trigger is active and there are too few replicas
	RuleDeactivate autoscale.Rule = "deactivate" // none is, and there are replicas beyond the idle ones
	RuleMinimum    autoscale.Rule = "minimum"    // none is, and there are fewer than the minimum
	RuleStay       autoscale.Rule = "stay"       // the other policy decides
)

// Guards of its own.
const (
	GuardPaused  autoscale.Guard = "paused"           // by an operator
	GuardError   autoscale.Guard = "trigger_error"    // whether there is demand is not known
	GuardInitial autoscale.Guard = "initial_cooldown" // never active, and not there for long enough
)

// Config is that of one scaled object.
type Config struct {
	Min      int64          // default 0
	Idle     int64          // replicas while nothing is active; fewer than Min, or it does nothing; -1 for none stated
	Triggers int            // series whose activity counts, 1 or more
	Cooldown model.Duration // after the last activity, before replicas go; default 300 s
	Initial  model.Duration // the same after the creation, where there was no activity yet; default 0
	Created  model.Time
	Interval model.Duration // between evaluations; default 30 s; 0 evaluates at every call
}

// Defaults are those of KEDA.
func Defaults() Config {
	return Config{Idle: -1, Triggers: 1, Cooldown: 300 * model.Second, Interval: 30 * model.Second}
}

// validate says what is wrong with a configuration.
func (c *Config) validate() error {
	switch {
	case c.Min < 0:
		return fmt.Errorf("min %d: want 0 or more", c.Min)
	case c.Triggers < 1:
		return fmt.Errorf("%d triggers: want 1 or more", c.Triggers)
	case c.Cooldown < 0 || c.Initial < 0 || c.Interval < 0:
		return fmt.Errorf("cooldown %v, initial cooldown %v and interval %v: want none negative", c.Cooldown, c.Initial, c.Interval)
	}
	return nil
}

// trigger is what is known of a series.
type trigger struct{ active, failed bool }

// Policy is the activation of one scaled object, with the policy beyond it.
type Policy struct {
	cfg      Config
	inner    autoscale.Policy // nil for none
	triggers []trigger
	size     int64
	paused   bool
	active   model.Time // the last activity, Never for none yet
	ticks    autoscale.Ticks
	seq      uint64
	flying   uint64
	innerSeq uint64 // the proposal of the inner policy that is in flight, 0 for its own
	result   [1]autoscale.Fact
	plan     autoscale.Plan
}

// New makes a policy. inner decides while there are replicas; with nil only activation does.
func New(cfg Config, inner autoscale.Policy) (*Policy, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p := &Policy{cfg: cfg, inner: inner, triggers: make([]trigger, cfg.Triggers), active: model.Never}
	for i := range p.triggers {
		p.triggers[i].failed = true // not known until a fact says so
	}
	return p, nil
}

// LastActive is when a trigger was last known to be active, Never for not yet.
func (p *Policy) LastActive() model.Time { return p.active }

// Restore gives a policy what it knew before it was restarted.
func (p *Policy) Restore(lastActive model.Time) { p.active = lastActive }

// Observe implements autoscale.Policy.
func (p *Policy) Observe(now model.Time, facts []autoscale.Fact) {
	for i := range facts {
		f := &facts[i]
		switch f.Kind {
		case autoscale.FactResult:
			p.answered(now, *f)
			continue
		case autoscale.FactSize:
			p.size = f.N
		case autoscale.FactPaused:
			p.paused = f.N != 0
		case autoscale.FactActive:
			if f.Metric >= 0 && int(f.Metric) < len(p.triggers) {
				p.triggers[f.Metric] = trigger{f.N != 0, f.Missing}
			}
		}
		if p.inner != nil {
			p.inner.Observe(now, facts[i:i+1])
		}
	}
}

// answered takes in the result of the proposal in flight, which may be of the inner policy.
func (p *Policy) answered(now model.Time, f autoscale.Fact) {
	if p.flying == 0 || f.Seq != p.flying {
		return
	}
	p.flying = 0
	if f.Outcome == autoscale.Accepted {
		p.size = f.N
	}
	if p.innerSeq != 0 {
		f.Seq = p.innerSeq // as the inner policy numbered it
		p.result[0] = f
		p.inner.Observe(now, p.result[:])
	}
}

// Plan implements autoscale.Policy.
func (p *Policy) Plan(now model.Time) *autoscale.Plan {
	p.plan.Reset()
	if p.ticks.Due(now, p.cfg.Interval, &p.plan) {
		d := p.evaluate(now)
		if d.Guard == autoscale.GuardNone && d.Would.Verb != autoscale.Stay {
			if p.flying != 0 {
				d.Guard = autoscale.GuardInFlight
			} else {
				p.propose(&d.Would, 0)
			}
		}
		p.plan.Decisions = append(p.plan.Decisions, d)
	}
	p.beyond(now)
	return &p.plan
}

// propose puts a proposal into the plan under a number of its own.
func (p *Policy) propose(x *autoscale.Proposal, inner uint64) {
	p.seq++
	x.Seq, p.flying, p.innerSeq = p.seq, p.seq, inner
	p.plan.Proposals = append(p.plan.Proposals, *x)
}

// beyond lets the inner policy decide while there are replicas and no pause.
func (p *Policy) beyond(now model.Time) {
	if p.inner == nil || p.paused || p.size == 0 || p.flying != 0 {
		return
	}
	in := p.inner.Plan(now)
	p.plan.Wake = min(p.plan.Wake, in.Wake)
	p.plan.Decisions = append(p.plan.Decisions, in.Decisions...)
	for i := range in.Proposals {
		x := in.Proposals[i]
		p.propose(&x, x.Seq)
	}
}

// activity says whether any trigger is active and whether any is not known.
func (p *Policy) activity() (active, failed bool) {
	for _, t := range p.triggers {
		active = active || t.active
		failed = failed || t.failed
	}
	return active, failed
}

// evaluate is one decision about activation.
func (p *Policy) evaluate(now model.Time) autoscale.Decision {
	d := autoscale.Decision{Rule: RuleStay, Entity: autoscale.Whole}
	active, failed := p.activity()
	idle, idles := max(0, p.cfg.Idle), p.cfg.Idle >= 0
	switch {
	case p.paused:
		d.Guard = GuardPaused
	case active && (p.size == 0 || idles && p.size < p.cfg.Min):
		p.active = now
		d.Rule, d.Would = RuleActivate, setTo(max(1, p.cfg.Min))
	case active && failed:
		d.Guard = GuardError // the time of the last activity stays as well
	case active:
		p.active = now
	case failed:
		d.Guard = GuardError
	case idles && p.size > idle, p.size > 0 && p.cfg.Min == 0:
		d.Rule, d.Would = RuleDeactivate, setTo(idle)
		d.Guard = p.cooling(now)
	case p.size < p.cfg.Min && !idles:
		d.Rule, d.Would = RuleMinimum, setTo(p.cfg.Min)
	}
	return d
}

// cooling is the guard that holds until enough time has passed. It must be more than the
// cooldown.
func (p *Policy) cooling(now model.Time) autoscale.Guard {
	switch {
	case p.active != model.Never && now.Sub(p.active) <= p.cfg.Cooldown:
		return autoscale.GuardCooldown
	case p.active == model.Never && now.Sub(p.cfg.Created) <= p.cfg.Initial:
		return GuardInitial
	}
	return autoscale.GuardNone
}

func setTo(n int64) autoscale.Proposal {
	return autoscale.Proposal{Verb: autoscale.SetReplicas, N: n, Entity: autoscale.Whole}
}
