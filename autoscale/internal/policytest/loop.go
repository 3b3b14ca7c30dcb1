// Package policytest drives a scaling policy for its tests.
package policytest

import (
	"github.com/stretchr/testify/require"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// Loop calls a policy that proposes sizes once every interval, and answers each proposal
// at once.
type Loop[P autoscale.Policy] struct {
	T      require.TestingT
	Policy P
	Every  model.Duration
	Now    model.Time
	Size   int64             // follows the proposals that are accepted
	Answer autoscale.Outcome // to each proposal; 0 leaves it in flight
	// Last is the plan of the last evaluation.
	Last *autoscale.Plan

	reply [1]autoscale.Fact
}

// New is a loop that accepts every proposal.
func New[P autoscale.Policy](t require.TestingT, p P, every model.Duration, size int64) Loop[P] {
	return Loop[P]{T: t, Policy: p, Every: every, Size: size, Answer: autoscale.Accepted}
}

// Tell hands facts to the policy.
func (l *Loop[P]) Tell(f ...autoscale.Fact) { l.Policy.Observe(l.Now, f) }

// Evaluate hands facts to the policy, asks it, answers, and goes on to the next evaluation.
// It allocates nothing.
func (l *Loop[P]) Evaluate(facts []autoscale.Fact) {
	l.Policy.Observe(l.Now, facts)
	l.Last = l.Policy.Plan(l.Now)
	for _, x := range l.Last.Proposals {
		if l.Answer == 0 {
			break
		}
		if l.Answer == autoscale.Accepted {
			l.take(x)
		}
		l.reply[0] = autoscale.Fact{Kind: autoscale.FactResult, Seq: x.Seq, Outcome: l.Answer, N: x.N}
		l.Policy.Observe(l.Now, l.reply[:])
	}
	l.Now = l.Now.Add(l.Every)
}

// take carries a proposal out.
func (l *Loop[P]) take(x autoscale.Proposal) {
	if x.Verb == autoscale.Scale {
		l.Size += x.N
		return
	}
	l.Size = x.N
}

// Step is Evaluate of a policy that has to decide exactly once; it returns what it decided.
func (l *Loop[P]) Step(facts ...autoscale.Fact) autoscale.Decision {
	l.Evaluate(facts)
	require.Len(l.T, l.Last.Decisions, 1)
	d := l.Last.Decisions[0]
	require.Equal(l.T, d.Proposed(), len(l.Last.Proposals) == 1)
	return d
}
