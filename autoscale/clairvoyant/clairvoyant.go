// Package clairvoyant gives a service the sizes that it is told it needs, each a lead ahead.
// It knows those of the whole run, which no policy in production does: a reference. How good
// a one depends on the needs: those of a steady state are near the least cost of meeting the
// goal where work is short against a step and demand steady within it, and no bound elsewhere.
package clairvoyant

import (
	"fmt"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// RuleDemand is the only rule.
const RuleDemand autoscale.Rule = "demand"

// Need is the size that is needed from an instant on.
type Need struct {
	At model.Time
	N  int64
}

// Policy sets the size to the most that is needed until a replica ordered now is ready.
type Policy struct {
	needs  []Need
	lead   model.Duration
	at     int // the need that holds now
	size   int64
	seq    uint64
	flying uint64
	plan   autoscale.Plan
}

// New makes a policy from the needs in order of time and the time from a proposal to a
// ready replica. Before the first need none is needed.
func New(needs []Need, lead model.Duration) (*Policy, error) {
	if lead < 0 {
		return nil, fmt.Errorf("lead %v: want none negative", lead)
	}
	for i := range needs {
		if needs[i].N < 0 || i > 0 && needs[i].At <= needs[i-1].At {
			return nil, fmt.Errorf("need %d at %v: want sizes of 0 or more at increasing instants", i, needs[i].At)
		}
	}
	return &Policy{needs: needs, lead: lead, at: -1}, nil
}

// Observe implements autoscale.Policy.
func (p *Policy) Observe(_ model.Time, facts []autoscale.Fact) {
	for i := range facts {
		switch f := &facts[i]; f.Kind {
		case autoscale.FactSize:
			p.size = f.N
		case autoscale.FactResult:
			if p.flying == 0 || f.Seq != p.flying {
				continue
			}
			p.flying = 0
			if f.Outcome == autoscale.Accepted {
				p.size = f.N
			}
		}
	}
}

// Plan implements autoscale.Policy. It is called again when the first need enters the
// time that it looks ahead, or when the one that holds has passed.
func (p *Policy) Plan(now model.Time) *autoscale.Plan {
	p.plan.Reset()
	for p.at+1 < len(p.needs) && p.needs[p.at+1].At <= now {
		p.at++
	}
	n := int64(0)
	if p.at >= 0 {
		n = p.needs[p.at].N
	}
	horizon := now.Add(p.lead)
	next := p.at + 1
	if next < len(p.needs) {
		p.plan.Wake = p.needs[next].At
	}
	for ; next < len(p.needs) && p.needs[next].At <= horizon; next++ {
		n = max(n, p.needs[next].N)
	}
	if next < len(p.needs) {
		p.plan.Wake = min(p.plan.Wake, p.needs[next].At.Add(-p.lead))
	}
	d := autoscale.Decision{Rule: RuleDemand, Entity: autoscale.Whole}
	switch {
	case n == p.size:
	case p.flying != 0:
		d.Guard = autoscale.GuardInFlight
	default:
		p.seq++
		p.flying = p.seq
		d.Would = autoscale.Proposal{Verb: autoscale.SetReplicas, Seq: p.seq, N: n, Entity: autoscale.Whole}
		p.plan.Proposals = append(p.plan.Proposals, d.Would)
	}
	p.plan.Decisions = append(p.plan.Decisions, d)
	return &p.plan
}
