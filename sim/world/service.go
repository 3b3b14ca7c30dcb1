package world

import (
	"orrery/scheduler/model"
	"orrery/sim/world/translate"
)

// SubmitService submits the job of a service that no row of the trace tells of, which leaves
// at end, and puts the fact into f. ok is false when it is rejected because unsatisfiable
// says why it could never run.
func (s *Site) SubmitService(now model.Time, of *model.Allocation, end model.Time, unsatisfiable func(*model.Allocation) model.Reason, f *model.Fact) (why model.Reason) {
	s.dropStale()
	s.advance(now)
	ref := s.ref()
	l, a := s.jobs.At(ref), s.allocs.At(ref)
	deps := a.Deps[:0]
	*a = *of
	a.Deps = deps
	s.rows.ServiceJob(a, now)
	truth := translate.Truth{Runtime: model.AbsentDuration, Cancel: end}
	*l = siteJob{job: job{truth: truth}, alloc: a, outcome: model.Completed, release: model.AbsentTime, limit: a.Walltime}
	r := &l.rec
	r.Job, r.ID, r.Eligible, r.Start, r.Procs, r.Walltime = a.Job, a.ID, a.Eligible, model.AbsentTime, s.rows.Units(a), a.Walltime
	s.State.Submitted++
	if why = unsatisfiable(a); why != model.ReasonNone {
		l.rec.State, l.rec.Reason = model.Rejected, why
		s.leave(s.complete(l), s.now)
		s.unused = append(s.unused, ref)
		return why
	}
	s.enter(ref, f)
	return model.ReasonNone
}
