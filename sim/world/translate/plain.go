// Package translate turns the rows of a trace into submissions: what a row asks for
// in the words of the cluster, what the job truly does once it runs, and which rules
// the row met. It keeps no account: rules are returned, and the caller counts them.
package translate

import (
	"orrery/scheduler/model"
	"orrery/traces"
)

// Truth is what a row tells of its job that no scheduler knows.
type Truth struct {
	Runtime model.Duration // AbsentDuration when it never ran in the log
	Cancel  model.Time     // AbsentTime when it is not withdrawn
	Ran     model.Duration // before the replay began
}

// Plain is how rows become jobs of a cluster whose units are all alike.
type Plain struct {
	Units  Units
	Policy Policy
	Warm   Warm // when the replay begins, if not with the first row
}

// Submission is a row as a job of a plain cluster.
type Submission struct {
	Request  model.Request
	Walltime model.Duration
	Start    model.Time // before the replay began, AbsentTime for none
	Truth
}

// Submission turns row i of b into s. ok is false when one of the rules met drops it.
func (p *Plain) Submission(b *traces.Batch, i int, s *Submission) (met RuleSet, ok bool) {
	request, met, asked := p.Units.request(b, i)
	runtime, cancel := b.Runtime[i], b.CancelledAt[i]
	switch {
	case !asked:
		return 1 << RuleNoProcessors, false
	case impossible(b, i):
		return 1 << RuleImpossible, false
	case p.Warm.Left(b, i):
		return 1 << RuleLeftBefore, false
	case runtime == model.AbsentDuration && cancel == model.AbsentTime:
		return 1 << RuleNeverRan, false
	}
	s.Request, s.Start = request, model.AbsentTime
	s.Walltime = p.Policy.walltime(b.Walltime[i], runtime, &met)
	s.Truth = Truth{Runtime: runtime, Cancel: model.AbsentTime}
	if runtime == model.AbsentDuration {
		met.Add(RuleWithdrawn)
		s.Cancel = max(cancel, p.Warm.From(b.Submit[i]))
	}
	if runtime == 0 {
		met.Add(RuleZeroRuntime)
	}
	if runtime > s.Walltime {
		met.Add(RuleOverrun)
	}
	ran := p.Warm.ran(b, i)
	if runtime == model.AbsentDuration {
		ran = 0
	}
	if s.Ran = ran; ran > 0 {
		s.Start = max(b.Start[i], b.Submit[i])
	}
	p.Warm.before(b, i, ran, &met)
	return met, true
}

// Request is what row i of b asks for; ok is false when that is nothing.
func (p *Plain) Request(b *traces.Batch, i int) (r model.Request, ok bool) {
	r, _, ok = p.Units.request(b, i)
	return r, ok
}

// impossible says whether row i states what cannot be. Importers drop such
// rows by rules of their own; a table that others wrote has seen none.
func impossible(b *traces.Batch, i int) bool {
	return b.Submit[i] < 0 || (b.Runtime[i] < 0 && b.Runtime[i] != model.AbsentDuration) ||
		(b.Walltime[i] < 0 && b.Walltime[i] != model.AbsentDuration) || negative(b.GPUsPerNode[i]) || negative(b.NodesMin[i])
}

// negative says whether a count is stated and cannot be.
func negative(n int32) bool { return n < 0 && n != traces.Absent }
