package lcm

import (
	"fmt"
	"slices"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// Activity is the series of a worker that tells when it was last used: At of its samples.
const Activity autoscale.Metric = 0

// ReconcilerConfig is that of the side that drains.
type ReconcilerConfig struct {
	Enabled    bool           // off by default
	MinWorkers int64          // that keep running; default 0
	Cooldown   model.Duration // between two drains; default 10 min
	Interval   model.Duration // between cycles; default 30 s
	IdleAfter  model.Duration // without activity; default 60 min
	Snooze     model.Duration // after a resume; default 60 min

	// AutoPause is whether the control plane pauses eligible workers by itself, as it does
	// in the sources: then no guard but those of idleness is asked, and nothing is left to
	// drain.
	AutoPause bool
}

// ReconcilerDefaults are those of the document and, for idleness, of the sources.
func ReconcilerDefaults() ReconcilerConfig {
	return ReconcilerConfig{Cooldown: 600 * model.Second, Interval: 30 * model.Second, IdleAfter: model.Hour, Snooze: model.Hour}
}

func (c *ReconcilerConfig) validate() error {
	switch {
	case c.MinWorkers < 0:
		return fmt.Errorf("min workers %d: want none negative", c.MinWorkers)
	case c.Cooldown < 0 || c.IdleAfter < 0 || c.Snooze < 0:
		return fmt.Errorf("cooldown %v, idle %v and snooze %v: want none negative", c.Cooldown, c.IdleAfter, c.Snooze)
	case c.Interval <= 0:
		return fmt.Errorf("interval %v: want more than 0", c.Interval)
	}
	return nil
}

// Idleness is what is known of one worker.
type Idleness struct {
	AutoPaused bool // the control plane has acted already
	Idle       bool
	Eligible   bool // neither snoozed nor kept by an operator
}

// machine is a worker of the reconciler.
type machine struct {
	entity  autoscale.Entity
	state   autoscale.State
	active  model.Time // last activity, or its start
	resumed model.Time // Never for not since it was created
	kept    bool       // by an operator
	known   bool       // whether its activity can be read
}

// flight is a drain without a result.
type flight struct {
	seq    uint64
	entity autoscale.Entity
	pause  bool // by the control plane
}

// Reconciler drains idle workers.
type Reconciler struct {
	cfg      ReconcilerConfig
	events   [Events]int64
	machines []machine // by entity
	running  int64     // recounted at each cycle
	drained  model.Time
	drains   int64
	flying   []flight

	ticks autoscale.Ticks
	seq   uint64
	plan  autoscale.Plan
}

// NewReconciler makes one.
func NewReconciler(cfg ReconcilerConfig) (*Reconciler, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Reconciler{cfg: cfg, drained: model.Never}, nil
}

// Restore gives back the number of running workers and the last drain, Never for none.
func (r *Reconciler) Restore(running int64, drained model.Time) {
	r.running, r.drained = running, drained
}

// Running is the number of workers that run, less those that are being drained.
func (r *Reconciler) Running() int64 { return r.running }

// Drains is the number of drains that succeeded.
func (r *Reconciler) Drains() int64 { return r.drains }

// Count is how often an audit event was recorded.
func (r *Reconciler) Count(e Event) int64 { return r.events[e] }

// Guards are the five guards of a drain, in their order.
func (r *Reconciler) Guards(now model.Time, i Idleness) (autoscale.Guard, Event) {
	switch {
	case i.AutoPaused:
		return GuardAutoPause, SkippedAutoPause
	case !i.Idle:
		return GuardNotIdle, SkippedNotIdle
	case !i.Eligible:
		return GuardNotEligible, SkippedNotEligible
	case r.running <= r.cfg.MinWorkers:
		return GuardMinWorkers, SkippedMinWorkers
	case r.drained != model.Never && now.Sub(r.drained) < r.cfg.Cooldown:
		return GuardCoolingDown, SkippedCooldown
	}
	return autoscale.GuardNone, ScaleDownInitiated
}

// Finish takes in how a drain went. One that failed is as if it had not been tried.
func (r *Reconciler) Finish(now model.Time, ok bool) Event {
	if !ok {
		r.events[ScaleDownFailed]++
		return ScaleDownFailed
	}
	r.events[ScaleDownInitiated]++
	r.drained = now
	r.running--
	r.drains++
	return ScaleDownInitiated
}

func (r *Reconciler) find(e autoscale.Entity) (int, bool) {
	return slices.BinarySearchFunc(r.machines, e, func(m machine, e autoscale.Entity) int { return int(m.entity) - int(e) })
}

// Observe implements autoscale.Policy.
func (r *Reconciler) Observe(now model.Time, facts []autoscale.Fact) {
	for k := range facts {
		f := &facts[k]
		i, ok := r.find(f.Entity)
		switch f.Kind {
		case autoscale.FactEntity:
			r.entered(f, i, ok)
		case autoscale.FactSample:
			if ok && f.Metric == Activity {
				if r.machines[i].known = !f.Missing; !f.Missing {
					r.machines[i].active = max(r.machines[i].active, f.At)
				}
			}
		case autoscale.FactPaused:
			if ok {
				r.machines[i].kept = f.N != 0
			}
		case autoscale.FactResult:
			r.answered(now, f)
		}
	}
}

// entered takes in that a worker has entered a state.
func (r *Reconciler) entered(f *autoscale.Fact, i int, ok bool) {
	if f.State == autoscale.Stopped || f.State == autoscale.Failed {
		if ok {
			if r.machines[i].state == autoscale.Draining {
				r.events[Drained]++
			}
			r.machines[i].state = f.State
		}
		return
	}
	if !ok {
		r.machines = slices.Insert(r.machines, i, machine{entity: f.Entity, active: f.At, resumed: model.Never, known: true})
	}
	m := &r.machines[i]
	switch {
	case f.State == autoscale.Starting && m.state != autoscale.Starting:
		r.events[Provisioned]++
	case f.State == autoscale.Ready && m.state != autoscale.Ready && ok:
		m.active = f.At
	}
	if ok && m.state == autoscale.Stopped {
		m.resumed, m.active = f.At, f.At
	}
	m.state = f.State
}

func (r *Reconciler) answered(now model.Time, f *autoscale.Fact) {
	i := slices.IndexFunc(r.flying, func(x flight) bool { return x.seq == f.Seq })
	if i < 0 {
		return
	}
	x := r.flying[i]
	r.flying = slices.Delete(r.flying, i, i+1)
	if x.pause {
		if f.Outcome == autoscale.Accepted {
			r.running--
		}
		return
	}
	r.Finish(now, f.Outcome == autoscale.Accepted)
}

// idleness of a worker at now.
func (r *Reconciler) idleness(now model.Time, m *machine) Idleness {
	snoozed := m.resumed != model.Never && now.Sub(m.resumed) < r.cfg.Snooze
	idle := m.known && now.Sub(m.active) > r.cfg.IdleAfter
	return Idleness{Idle: idle, Eligible: idle && !snoozed && !m.kept}
}

// Plan implements autoscale.Policy: one decision for each worker that runs. A drain counts
// as made until its result says otherwise.
func (r *Reconciler) Plan(now model.Time) *autoscale.Plan {
	r.plan.Reset()
	if !r.ticks.Due(now, r.cfg.Interval, &r.plan) {
		return &r.plan
	}
	r.running = -int64(len(r.flying))
	for i := range r.machines {
		if r.machines[i].state == autoscale.Ready {
			r.running++
		}
	}
	for i := range r.machines {
		if m := &r.machines[i]; m.state == autoscale.Ready {
			r.evaluate(now, m)
		}
	}
	return &r.plan
}

func (r *Reconciler) evaluate(now model.Time, m *machine) {
	d := autoscale.Decision{Rule: RuleBusy, Entity: m.entity}
	move := autoscale.Proposal{Verb: autoscale.Drain, Entity: m.entity}
	x := r.idleness(now, m)
	if x.Idle {
		d.Rule, d.Would = RuleIdle, move
	}
	flying := slices.ContainsFunc(r.flying, func(f flight) bool { return f.entity == m.entity })
	switch {
	case flying:
		d.Guard = autoscale.GuardInFlight
	case !m.known:
		d.Guard = autoscale.GuardNoMetric
	case r.cfg.AutoPause && x.Eligible:
		p := d
		p.Rule = RuleAutoPause
		r.propose(&p, true)
		r.plan.Decisions = append(r.plan.Decisions, p)
		x.AutoPaused = true
		fallthrough
	default:
		if d.Guard = GuardOff; r.cfg.Enabled {
			var e Event
			if d.Guard, e = r.Guards(now, x); d.Guard != autoscale.GuardNone {
				r.events[e]++
			}
		}
		// One drain is enough until it is known whether it starts the cooldown.
		if d.Guard == autoscale.GuardNone && r.cfg.Cooldown > 0 && slices.ContainsFunc(r.flying, func(f flight) bool { return !f.pause }) {
			d.Guard = autoscale.GuardInFlight
		}
		// Running does not know of the proposals of this cycle yet.
		if d.Guard == autoscale.GuardNone && r.running-int64(len(r.plan.Proposals)) <= r.cfg.MinWorkers {
			d.Guard = GuardMinWorkers
			r.events[SkippedMinWorkers]++
		}
	}
	if d.Guard == autoscale.GuardNone {
		r.propose(&d, false)
	}
	r.plan.Decisions = append(r.plan.Decisions, d)
}

func (r *Reconciler) propose(d *autoscale.Decision, pause bool) {
	r.seq++
	d.Would.Seq = r.seq
	r.flying = append(r.flying, flight{r.seq, d.Entity, pause})
	r.plan.Proposals = append(r.plan.Proposals, d.Would)
}
