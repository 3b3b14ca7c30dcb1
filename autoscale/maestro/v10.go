package maestro

import (
	"fmt"
	"math"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// The series of version 10, of Whole.
const (
	RunningMatches autoscale.Metric = iota
	FreeMatches
)

// V10Config is that of one scheduler of version 10.
type V10Config struct {
	Min, Max int64 // Max 0 for none

	// ReadyTarget is the share of the matches that are to be free; 0 for a fixed Buffer of
	// rooms instead.
	ReadyTarget   float64
	MaxMatches    int64   // of one room; default 1
	DownThreshold float64 // share of the free matches that must be left; default 0.99
	Buffer        int64   // rooms

	DownCooldown model.Duration // between two changes down; default 0
	Period       model.Duration // default 10 s
}

// V10Defaults are those of the original. Bounds and targets have none.
func V10Defaults() V10Config {
	return V10Config{MaxMatches: 1, DownThreshold: 0.99, Period: 10 * model.Second}
}

func (c *V10Config) validate() error {
	switch {
	case c.Min < 0 || c.Max != 0 && c.Max < c.Min:
		return fmt.Errorf("min %d and max %d: want 0 <= min <= max, or max 0 for none", c.Min, c.Max)
	case !(c.ReadyTarget >= 0 && c.ReadyTarget < 1) || !(c.DownThreshold >= 0) || c.MaxMatches <= 0 || c.Buffer < 0:
		return fmt.Errorf("ready target %v, down threshold %v, %d matches and buffer %d: want a share below 1, none negative, and some matches", c.ReadyTarget, c.DownThreshold, c.MaxMatches, c.Buffer)
	case c.DownCooldown < 0 || c.Period <= 0:
		return fmt.Errorf("down cooldown %v and period %v: want none negative, and some period", c.DownCooldown, c.Period)
	}
	return nil
}

// Occupancy is the number of rooms in which so many matches run that the target is free.
func (c *V10Config) Occupancy(running int64) int64 {
	matches := int64(math.Ceil(float64(running) / (1 - c.ReadyTarget)))
	return (matches + c.MaxMatches - 1) / c.MaxMatches
}

// CanShrink says whether the free matches allow fewer rooms: what is to be free is at most
// the threshold's share of what is.
func (c *V10Config) CanShrink(running, free int64) bool {
	target := math.Ceil(float64(float64(c.Occupancy(running)*c.MaxMatches) * c.ReadyTarget))
	return target/float64(free) <= c.DownThreshold
}

// Fixed is the number of rooms of a fixed buffer.
func (c *V10Config) Fixed(occupied, allocated int64) int64 { return occupied + allocated + c.Buffer }

// V10 is version 10. Requested rooms are those that are allocated to a match and not yet
// occupied.
type V10 struct {
	cfg       V10Config
	rooms     Rooms
	allocated int64
	matches   [2]float64
	has       [2]bool
	down      model.Time // the last change down, Never for none
	flying    autoscale.Proposal
	ticks     autoscale.Ticks
	seq       uint64
	plan      autoscale.Plan
}

// NewV10 makes the policy of a scheduler.
func NewV10(cfg V10Config) (*V10, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &V10{cfg: cfg, down: model.Never}, nil
}

// Observe implements autoscale.Policy.
func (p *V10) Observe(now model.Time, facts []autoscale.Fact) {
	for i := range facts {
		f := &facts[i]
		switch {
		case f.Kind == autoscale.FactCount && f.State == autoscale.Requested:
			p.allocated = f.N
		case f.Kind == autoscale.FactCount:
			if n := p.rooms.of(f.State); n != nil {
				*n = f.N
			}
		case f.Kind == autoscale.FactSample && f.Entity == autoscale.Whole && (f.Metric == RunningMatches || f.Metric == FreeMatches):
			p.matches[f.Metric], p.has[f.Metric] = f.Value, f.HasValue()
		case f.Kind == autoscale.FactResult && p.flying.Seq != 0 && f.Seq == p.flying.Seq:
			if f.Outcome == autoscale.Accepted && p.flying.N < p.size() {
				p.down = now
			}
			p.flying = autoscale.Proposal{}
		}
	}
}

// size is the number of rooms that there are.
func (p *V10) size() int64 { return p.rooms.Available() + p.allocated }

// Plan implements autoscale.Policy.
func (p *V10) Plan(now model.Time) *autoscale.Plan {
	p.plan.Reset()
	if p.ticks.Due(now, p.cfg.Period, &p.plan) {
		d := p.evaluate(now)
		if d.Guard == autoscale.GuardNone && d.Would.Verb != autoscale.Stay {
			p.seq++
			d.Would.Seq = p.seq
			p.flying = d.Would
			p.plan.Proposals = append(p.plan.Proposals, d.Would)
		}
		p.plan.Decisions = append(p.plan.Decisions, d)
	}
	return &p.plan
}

// evaluate is one decision.
func (p *V10) evaluate(now model.Time) autoscale.Decision {
	d := autoscale.Decision{Rule: RuleBuffer, Entity: autoscale.Whole}
	want := p.cfg.Fixed(p.rooms.Occupied, p.allocated)
	running, free := whole(max(0, p.matches[RunningMatches])), whole(max(0, p.matches[FreeMatches]))
	if p.cfg.ReadyTarget > 0 {
		d.Rule = RuleOccupancy
		if !p.has[RunningMatches] || !p.has[FreeMatches] {
			d.Guard = autoscale.GuardNoMetric
			return d
		}
		want = p.cfg.Occupancy(running)
	}
	if want < p.cfg.Min {
		want, d.Rule = p.cfg.Min, RuleMinimum
	}
	if p.cfg.Max > 0 && want > p.cfg.Max {
		want, d.Rule = p.cfg.Max, RuleMaximum
	}
	n := p.size()
	switch {
	case want > n: // growth has neither cooldown nor threshold
	case want == n:
		return d
	case p.down != model.Never && now.Sub(p.down) < p.cfg.DownCooldown:
		d.Guard = autoscale.GuardCooldown
	case p.cfg.ReadyTarget > 0 && !p.cfg.CanShrink(running, free):
		d.Guard = GuardNoRatio
	}
	if p.flying.Seq != 0 {
		d.Guard = autoscale.GuardInFlight
	}
	d.Would = autoscale.Proposal{Verb: autoscale.SetReplicas, N: want, Entity: autoscale.Whole}
	return d
}
