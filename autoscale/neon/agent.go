package neon

import (
	"errors"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// moment is an instant that may not have been.
type moment struct {
	at model.Time
	is bool
}

// left is how long a span since the moment still lasts, 0 for none.
func (m moment) left(now model.Time, span model.Duration) model.Duration {
	if !m.is {
		return 0
	}
	return max(0, m.at.Add(span).Sub(now))
}

// amount is an amount that may not be known.
type amount struct {
	autoscale.Resources
	is bool
}

// request is what an actuator has been asked for and has not answered.
type request struct {
	target amount
	seq    uint64
	up     bool // of the monitor: it is told, not asked
}

// wish of the monitor for more than the base.
type wish struct {
	moment
	base        autoscale.Resources
	cpu, memory bool
}

// refusal of the monitor to give back, from what to what.
type refusal struct {
	moment
	from, asked autoscale.Resources
}

// Agent decides for one virtual machine.
type Agent struct {
	cfg     Config
	using   autoscale.Resources
	metrics metrics

	flying   [actuators]request
	permit   amount
	asked    amount // of the scheduler, last
	askedAt  model.Time
	approved amount // by the monitor; known while it is connected
	wished   wish
	refused  refusal

	permitFailed, vmFailed, upFailed, downFailed moment

	seq  uint64
	plan autoscale.Plan
}

// NewAgent makes the agent of a machine that has an amount of resources.
func NewAgent(cfg Config, using autoscale.Resources) (*Agent, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Agent{cfg: cfg, using: using}, nil
}

// Update changes the configuration: the bounds of a machine may change while it runs.
func (a *Agent) Update(cfg Config) error {
	if err := cfg.validate(); err != nil {
		return err
	}
	if a.cfg = cfg; !cfg.CacheMetrics {
		a.metrics.pages = a.metrics.pages[:0]
	}
	return nil
}

// Using is what the machine has.
func (a *Agent) Using() autoscale.Resources { return a.using }

// Goal is what it is to have at now, as far as it depends on nothing else.
func (a *Agent) Goal(now model.Time) autoscale.Resources { return a.goal(now).give }

// Measured is the load average as it was sampled last, which goes with requests for permits;
// false where the last sample is missing, or there is none yet.
func (a *Agent) Measured() (load float64, known bool) {
	return a.metrics.system[Load], a.metrics.has[Load]
}

// Observe implements autoscale.Policy.
func (a *Agent) Observe(now model.Time, facts []autoscale.Fact) {
	for i := range facts {
		f := &facts[i]
		switch f.Kind {
		case autoscale.FactSample:
			a.sample(f)
		case autoscale.FactActive:
			a.wish(now, f)
		case autoscale.FactEntity:
			if f.Entity == Monitor {
				a.connected(f.State == autoscale.Ready)
			}
		case autoscale.FactResult:
			for e := range a.flying {
				if r := &a.flying[e]; r.target.is && r.seq == f.Seq {
					// A permit that cannot be is as good as none: it counts as a failure.
					_ = a.Answer(now, autoscale.Entity(e), f.Outcome, f.Resources)
					break
				}
			}
		}
	}
}

// sample takes in a value of a series. A missing one is forgotten, so that nothing is
// given back by a value that may no longer hold.
func (a *Agent) sample(f *autoscale.Fact) {
	m := &a.metrics
	switch f.Metric {
	case Load, MemoryUsage, MemoryCache:
		m.system[f.Metric], m.has[f.Metric] = f.Value, f.HasValue()
	case WorkingSet:
		minutes := int(f.Window / model.Minute)
		switch {
		case !f.HasValue():
			m.pages = m.pages[:0]
		case minutes <= 0 || minutes > len(m.pages)+1:
		case minutes == len(m.pages)+1:
			m.pages = append(m.pages, f.Value)
		default:
			m.pages[minutes-1] = f.Value
		}
	}
}

// wish takes in that the monitor wants more. What it wants of both resources at one
// instant is one wish.
func (a *Agent) wish(now model.Time, f *autoscale.Fact) {
	if !a.approved.is || f.N == 0 || f.Missing {
		return
	}
	if !a.wished.is || a.wished.at != now {
		a.wished = wish{moment: moment{now, true}}
	}
	a.wished.base = a.approved.Resources
	a.wished.cpu = a.wished.cpu || f.Metric == MoreCPU
	a.wished.memory = a.wished.memory || f.Metric == MoreMemory
}

// connected says that the monitor can be reached, or no longer: then all that is known
// of it is forgotten.
func (a *Agent) connected(is bool) {
	if is {
		a.approved = amount{a.using, true}
		return
	}
	a.approved, a.wished, a.refused, a.flying[Monitor] = amount{}, wish{}, refusal{}, request{}
	a.upFailed, a.downFailed = moment{}, moment{}
}

// Start notes that an actuator has been asked for an amount.
func (a *Agent) Start(now model.Time, e autoscale.Entity, target autoscale.Resources) {
	r := &a.flying[e]
	r.target = amount{target, true}
	switch e {
	case Scheduler:
		a.asked, a.askedAt = r.target, now
	case Monitor:
		if r.up = !anyLess(target, a.approved.Resources); r.up {
			a.upFailed = moment{}
		} else {
			a.downFailed = moment{}
		}
	}
}

var errPermit = errors.New("a permit for more than was asked for, or for less than is used")

// Answer takes in what an actuator answered: a permit may be for less than was asked for;
// a monitor rejects a step down; an error and what was overtaken count as failures.
func (a *Agent) Answer(now model.Time, e autoscale.Entity, outcome autoscale.Outcome, granted autoscale.Resources) error {
	r := a.flying[e]
	if !r.target.is {
		return nil
	}
	a.flying[e] = request{}
	done := outcome == autoscale.Accepted
	failed := moment{now, true}
	switch e {
	case Scheduler:
		switch {
		case done && granted.CPU > 0 && granted.Memory > 0 && !anyLess(r.target.Resources, granted) && !anyLess(granted, a.using):
			a.permit = amount{granted, true}
		case done:
			a.permitFailed = failed
			return errPermit
		default:
			a.permitFailed = failed
		}
	case VM:
		if done {
			a.using = r.target.Resources
		} else {
			a.vmFailed = failed
		}
	case Monitor:
		switch {
		case done:
			a.approved = r.target
		case outcome == autoscale.Rejected && !r.up:
			a.refused = refusal{failed, a.approved.Resources, r.target.Resources}
		case r.up:
			a.upFailed = failed
		default:
			a.downFailed = failed
		}
	}
	return nil
}

// Plan implements autoscale.Policy. Proposals are SetResources of an actuator and in
// flight from now on.
func (a *Agent) Plan(now model.Time) *autoscale.Plan {
	a.plan.Reset()
	x := a.Next(now)
	a.plan.Decisions = append(a.plan.Decisions, autoscale.Decision{Rule: x.goal.rule, Guard: x.goal.guard, Entity: autoscale.Whole, Would: autoscale.Proposal{
		Verb: autoscale.SetResources, Entity: autoscale.Whole, Resources: x.goal.want,
	}})
	for _, s := range [...]*Step{&x.Permit, &x.Resize, &x.Up, &x.Down} {
		if s.wanted {
			a.decide(now, s)
		}
	}
	a.plan.Wake = now.Add(x.Wait)
	return &a.plan
}

// decide makes the decision about a step, and the proposal if nothing stops it.
func (a *Agent) decide(now model.Time, s *Step) {
	d := autoscale.Decision{Rule: s.rule, Guard: s.guard, Entity: s.entity, Would: autoscale.Proposal{Verb: autoscale.SetResources, Entity: s.entity, Resources: s.Target}}
	if s.Do {
		a.seq++
		d.Would.Seq = a.seq
		a.Start(now, s.entity, s.Target)
		a.flying[s.entity].seq = a.seq
		a.plan.Proposals = append(a.plan.Proposals, d.Would)
	}
	a.plan.Decisions = append(a.plan.Decisions, d)
}
