// Package fixed keeps a service at one size: what every other policy has to do better
// than.
package fixed

import (
	"fmt"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// RuleFixed is the only rule.
const RuleFixed autoscale.Rule = "fixed"

// Policy proposes its size whenever the service has another.
type Policy struct {
	target int64
	size   int64
	known  bool
	seq    uint64
	flying uint64
	plan   autoscale.Plan
}

// New makes a policy for a size.
func New(size int64) (*Policy, error) {
	if size < 0 {
		return nil, fmt.Errorf("size %d: want 0 or more", size)
	}
	return &Policy{target: size}, nil
}

// Observe implements autoscale.Policy.
func (p *Policy) Observe(_ model.Time, facts []autoscale.Fact) {
	for i := range facts {
		switch f := &facts[i]; f.Kind {
		case autoscale.FactSize:
			p.size, p.known = f.N, !f.Missing
		case autoscale.FactResult:
			p.answered(f)
		}
	}
}

// answered takes in the result of the proposal in flight.
func (p *Policy) answered(f *autoscale.Fact) {
	if p.flying == 0 || f.Seq != p.flying {
		return
	}
	p.flying = 0
	if f.Outcome == autoscale.Accepted {
		p.size = f.N
	}
}

// Plan implements autoscale.Policy. Only facts can change its answer.
func (p *Policy) Plan(model.Time) *autoscale.Plan {
	p.plan.Reset()
	d := autoscale.Decision{Rule: RuleFixed, Entity: autoscale.Whole}
	switch {
	case !p.known:
		d.Guard = autoscale.GuardNoMetric
	case p.size == p.target:
	case p.flying != 0:
		d.Guard = autoscale.GuardInFlight
	default:
		p.seq++
		p.flying = p.seq
		d.Would = autoscale.Proposal{Verb: autoscale.SetReplicas, Seq: p.seq, N: p.target, Entity: autoscale.Whole}
		p.plan.Proposals = append(p.plan.Proposals, d.Would)
	}
	p.plan.Decisions = append(p.plan.Decisions, d)
	return &p.plan
}
