// Package lattice scales the nodes of one reactive allocation by one metric and its
// target, as the autoscaling document of Lattice describes (Policy), and as the
// evaluator in its public sources does (Coded). The two are different algorithms.
//
// What the document leaves open is read as follows. A condition must hold at every
// sample since its first, and for the whole window; a missing sample restarts both
// windows; windows run on during the cooldown; being equal to the target is neither
// above nor below; only an accepted change starts the cooldown, and so do a reclaim and
// a resume; the back-off counts from the third rejection; the count of rejections is
// cleared by an acceptance, by a back-off, and once the metric is not above the target.
package lattice

import (
	"fmt"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// The rules of both policies.
const (
	RuleNone    autoscale.Rule = "none"      // nothing to evaluate by
	RuleInBand  autoscale.Rule = "in_band"   // between the targets
	RuleUp      autoscale.Rule = "above"     // above the target: one node more
	RuleDown    autoscale.Rule = "below"     // below the lower target: one node less
	RuleReplace autoscale.Rule = "below_min" // fewer than the minimum: replacements, from home
	RuleCancel  autoscale.Rule = "preempted" // what was in flight is withdrawn
)

// Limits that the document fixes.
const (
	failuresToAlert = 3 // missing samples in a row
	rejectionsToEnd = 3 // rejections in a row until the back-off
	backOffs        = 2 // cooldowns that it lasts
	alternations    = 5 // changes of direction in a row that raise no alert
)

// Aggregation makes one value of those of the nodes.
type Aggregation uint8

// The aggregations.
const (
	Mean Aggregation = iota // of a utilisation
	Sum                     // of a queue depth or a rate
)

// Leaving says which node a service gives up.
type Leaving uint8

// The choices.
const (
	Newest      Leaving = iota // started last
	LeastLoaded                // with the smallest sample
)

// Config is that of one allocation.
type Config struct {
	Min, Max      int64
	Target        float64        // of the metric
	DownThreshold float64        // share of the target below which a node is given up; default 0.5
	UpWindow      model.Duration // default 2 min
	DownWindow    model.Duration // default 5 min
	Cooldown      model.Duration // default 3 min
	Interval      model.Duration // between evaluations; default 60 s
	MaxAge        model.Duration // of a sample, beyond which there is none; default 2 min
	Aggregation   Aggregation
	Leaving       Leaving

	// Other readings of what the document leaves open; all false by default.
	MissingKeepsWindows   bool // a missing sample is skipped, and the windows go on
	ChangeRestartsWindows bool // a change begins both windows anew
	CooldownPerDirection  bool // growth waits for the last growth only, shrinking for the last shrinking
}

// Defaults are those of the document. Bounds and target have none.
func Defaults() Config {
	return Config{DownThreshold: 0.5, UpWindow: 2 * model.Minute, DownWindow: 5 * model.Minute, Cooldown: 3 * model.Minute, Interval: model.Minute, MaxAge: 2 * model.Minute}
}

// validate says what is wrong with a configuration.
func (c *Config) validate() error {
	switch {
	case c.Min < 0 || c.Max < c.Min:
		return fmt.Errorf("min %d and max %d: want 0 <= min <= max", c.Min, c.Max)
	case !(c.Target > 0):
		return fmt.Errorf("target %v: want more than 0", c.Target)
	case !(c.DownThreshold >= 0 && c.DownThreshold <= 1):
		return fmt.Errorf("down threshold %v: want a share of the target, 0 to 1", c.DownThreshold)
	case c.UpWindow < 0 || c.DownWindow < 0 || c.Cooldown < 0 || c.MaxAge < 0:
		return fmt.Errorf("windows %v and %v, cooldown %v and age %v: want none negative", c.UpWindow, c.DownWindow, c.Cooldown, c.MaxAge)
	case c.Interval <= 0:
		return fmt.Errorf("interval %v: want more than 0", c.Interval)
	}
	return nil
}

// Counters count what an operator watches.
type Counters struct {
	QueryFailures int64 // evaluations without a metric
	Blind         int64 // those of them that raise the alert: the third in a row and later ones
	Rejections    int64
	BackOffs      int64
	Oscillations  int64 // changes of direction beyond five in a row
	BelowMin      int64 // evaluations below the minimum
}

// Policy is the documented loop.
type Policy struct {
	cfg      Config
	counters Counters
	nodes    int64
	headroom int64
	series   series

	above, below model.Time // since when, Never for not
	grown        model.Time // the last change upward, Never for none
	shrunk       model.Time // and downward
	backOff      model.Time // until when, 0 for none
	missing      int64      // samples in a row
	rejected     int64      // proposals in a row
	direction    int64      // of the last change
	turns        int64      // changes of direction in a row
	suspended    bool

	ticks  autoscale.Ticks
	seq    uint64
	flying autoscale.Proposal // in flight; Seq 0 for none
	cancel uint64             // the proposal to be withdrawn, 0 for none
	plan   autoscale.Plan
}

// New makes the policy of an allocation that has its minimum of nodes.
func New(cfg Config) (*Policy, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Policy{cfg: cfg, nodes: cfg.Min, headroom: autoscale.NoLimit, above: model.Never, below: model.Never, grown: model.Never, shrunk: model.Never}, nil
}

// Counters are what has been counted so far.
func (p *Policy) Counters() Counters { return p.counters }

// Alerting says that the metric has been missing three times in a row or more.
func (p *Policy) Alerting() bool { return p.missing >= failuresToAlert }

// Observe implements autoscale.Policy.
func (p *Policy) Observe(now model.Time, facts []autoscale.Fact) {
	for i := range facts {
		f := &facts[i]
		switch f.Kind {
		case autoscale.FactSample, autoscale.FactEntity:
			p.series.observe(f)
		case autoscale.FactSize:
			p.nodes = f.N
		case autoscale.FactLimit:
			p.headroom = f.N
		case autoscale.FactResult:
			p.answered(now, f)
		case autoscale.FactReclaimed:
			p.nodes = max(0, p.nodes-f.N)
			p.changed(now, -f.N)
		case autoscale.FactSuspended:
			p.suspend()
		case autoscale.FactResumed:
			p.resume(now, f.N)
		}
	}
}

// suspend withdraws what is in flight.
func (p *Policy) suspend() {
	p.suspended = true
	if p.flying.Seq != 0 {
		p.cancel, p.flying = p.flying.Seq, autoscale.Proposal{}
	}
}

// resume begins anew, as after a start, but for the cooldown.
func (p *Policy) resume(now model.Time, nodes int64) {
	p.suspended, p.nodes, p.grown, p.shrunk = false, nodes, now, now
	p.above, p.below = model.Never, model.Never
	p.missing, p.rejected, p.backOff = 0, 0, 0
	p.series.forget()
}

// answered takes in the result of the proposal in flight.
func (p *Policy) answered(now model.Time, f *autoscale.Fact) {
	if p.flying.Seq == 0 || f.Seq != p.flying.Seq {
		return // withdrawn by a suspension
	}
	asked := p.flying
	p.flying = autoscale.Proposal{}
	switch f.Outcome {
	case autoscale.Accepted:
		step := int64(-1)
		if asked.N > 0 {
			step = min(asked.N, f.N)
		}
		p.rejected = 0
		p.nodes += step
		p.changed(now, step)
	case autoscale.Rejected:
		p.counters.Rejections++
		if p.rejected++; p.rejected >= rejectionsToEnd {
			p.rejected, p.backOff = 0, now.Add(backOffs*p.cfg.Cooldown)
			p.counters.BackOffs++
		}
	}
}

// changed notes a change of size, which is none where nothing was granted or reclaimed.
func (p *Policy) changed(now model.Time, step int64) {
	direction := int64(1)
	switch {
	case step > 0:
		p.grown = now
	case step < 0:
		p.shrunk, direction = now, -1
	default:
		return
	}
	if p.cfg.ChangeRestartsWindows {
		p.above, p.below = model.Never, model.Never
	}
	switch {
	case p.direction == -direction:
		if p.turns++; p.turns > alternations {
			p.counters.Oscillations++
		}
	default:
		p.turns = 0
	}
	p.direction = direction
}

// Plan implements autoscale.Policy.
func (p *Policy) Plan(now model.Time) *autoscale.Plan {
	p.plan.Reset()
	if p.cancel != 0 {
		x := autoscale.Proposal{Verb: autoscale.Cancel, Seq: p.cancel, Entity: autoscale.Whole}
		p.plan.Proposals = append(p.plan.Proposals, x)
		p.plan.Decisions = append(p.plan.Decisions, autoscale.Decision{Rule: RuleCancel, Entity: autoscale.Whole, Would: x})
		p.cancel = 0
	}
	if !p.ticks.Due(now, p.cfg.Interval, &p.plan) {
		return &p.plan
	}
	d := p.evaluate(now)
	if d.Guard == autoscale.GuardNone && d.Would.Verb != autoscale.Stay {
		p.seq++
		d.Would.Seq = p.seq
		p.flying = d.Would
		p.plan.Proposals = append(p.plan.Proposals, d.Would)
	}
	p.plan.Decisions = append(p.plan.Decisions, d)
	return &p.plan
}

// evaluate is one evaluation.
func (p *Policy) evaluate(now model.Time) autoscale.Decision {
	d := autoscale.Decision{Rule: RuleNone, Entity: autoscale.Whole}
	if p.suspended {
		d.Guard = autoscale.GuardSuspended
		return d
	}
	value, ok := p.series.value(now, p.cfg.MaxAge, p.cfg.Aggregation)
	p.window(now, value, ok)
	if p.nodes < p.cfg.Min {
		p.counters.BelowMin++
		d.Rule, d.Would = RuleReplace, autoscale.Proposal{Verb: autoscale.Scale, N: p.cfg.Min - p.nodes, Entity: autoscale.Whole, Home: true}
		d.Guard = p.stopped(now, &d)
		return d
	}
	if !ok {
		d.Guard = autoscale.GuardNoMetric
		return d
	}
	since, window := p.above, p.cfg.UpWindow
	switch {
	case p.above != model.Never:
		d.Rule, d.Would = RuleUp, autoscale.Proposal{Verb: autoscale.Scale, N: 1, Entity: autoscale.Whole}
	case p.below != model.Never:
		since, window = p.below, p.cfg.DownWindow
		d.Rule, d.Would = RuleDown, p.leave()
	default:
		d.Rule = RuleInBand
		return d
	}
	if now == since || now.Sub(since) < window { // one sample is no window
		d.Guard = autoscale.GuardWindow
		return d
	}
	d.Guard = p.stopped(now, &d)
	return d
}

// window takes in the sample of an evaluation.
func (p *Policy) window(now model.Time, value float64, ok bool) {
	if !ok {
		if !p.cfg.MissingKeepsWindows {
			p.above, p.below = model.Never, model.Never
		}
		p.counters.QueryFailures++
		if p.missing++; p.Alerting() {
			p.counters.Blind++
		}
		return
	}
	p.missing = 0
	switch {
	case value > p.cfg.Target:
		p.above, p.below = min(p.above, now), model.Never
	case value < float64(p.cfg.Target*p.cfg.DownThreshold):
		p.above, p.below = model.Never, min(p.below, now)
	default:
		p.above, p.below = model.Never, model.Never
	}
	if p.above == model.Never {
		p.rejected = 0
	}
}

// stopped is the guard that keeps what a decision found to do from being proposed.
// Replacements below the minimum do not wait for the cooldown.
func (p *Policy) stopped(now model.Time, d *autoscale.Decision) autoscale.Guard {
	down := d.Rule == RuleDown
	switch {
	case p.flying.Seq != 0:
		return autoscale.GuardInFlight
	case d.Rule != RuleReplace && p.cooling(now, down):
		return autoscale.GuardCooldown
	case now < p.backOff:
		return autoscale.GuardBackOff
	case down && p.nodes <= p.cfg.Min:
		return autoscale.GuardMin
	case !down && p.nodes+d.Would.N > p.cfg.Max:
		return autoscale.GuardMax
	case !down && p.headroom != autoscale.NoLimit && d.Would.N > p.headroom:
		return autoscale.GuardQuota
	}
	return autoscale.GuardNone
}

// cooling says that too little time has passed since the last change.
func (p *Policy) cooling(now model.Time, down bool) bool {
	within := func(last model.Time) bool { return last != model.Never && now.Sub(last) < p.cfg.Cooldown }
	switch {
	case !p.cfg.CooldownPerDirection:
		return within(p.grown) || within(p.shrunk)
	case down:
		return within(p.shrunk)
	}
	return within(p.grown)
}

// leave is the proposal to give up a node: a certain one where nodes are known.
func (p *Policy) leave() autoscale.Proposal {
	if e, ok := p.series.leaving(p.cfg.Leaving); ok {
		return autoscale.Proposal{Verb: autoscale.Drain, Entity: e}
	}
	return autoscale.Proposal{Verb: autoscale.Scale, N: -1, Entity: autoscale.Whole}
}
