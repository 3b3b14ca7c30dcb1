package world

import (
	"orrery/scheduler/model"
	"orrery/sim/des"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// arrivals is how rows of the trace, and the jobs of services, become jobs of a site.
type arrivals struct {
	*base
	rows      *translate.Site
	warm      *warmStart
	ledger    *ledger
	transfers *transfers
	hardware  *effects
	services  *services
	endings   *endings
	allocs    model.RefTable[model.Allocation]
	inspected model.Allocation // space of rows that are not submitted
}

// Inspect says whether row i of b could never run, for a reason that unsatisfiable gives; it submits nothing.
func (r *arrivals) Inspect(b *traces.Batch, i int, unsatisfiable func(*model.Allocation) model.Reason) (tooLarge bool, err error) {
	if r.cfg.Rows.Warm.Left(b, i) {
		return false, nil
	}
	_, ok, err := r.rows.Allocation(b, i, &r.inspected)
	return ok && unsatisfiable(&r.inspected) != model.ReasonNone, err
}

// Lacking is what the rows so far name and the site does not have.
func (r *arrivals) Lacking() []translate.Lack { return r.rows.Lacking() }

// Submission turns row i of b into a fact, which it puts into f. ok is false when the row had left before the replay,
// is dropped by a rule, or is rejected because unsatisfiable says why it could never run: f is then FactGone where
// other rows wait for it, else empty. The error is a traces.DataError: the row names what the site does not have.
func (r *arrivals) Submission(b *traces.Batch, i int, unsatisfiable func(*model.Allocation) model.Reason, f *model.Fact) (ok bool, err error) {
	*f = model.Fact{}
	if r.cfg.Rows.Warm.Left(b, i) {
		return false, r.history(b, i, f)
	}
	r.dropStale()
	r.hardware.advance(r.cfg.Rows.Warm.From(b.Submit[i]))
	ref := r.ref()
	l := r.jobs.At(ref)
	a := r.allocs.At(ref)
	truth, met, ok, err := r.rows.Submission(b, i, a)
	if !ok {
		r.Special.Note(met, b.ID[i])
		r.unused = append(r.unused, ref)
		r.gone(b.First+model.JobID(i), model.Rejected, model.ReasonNone, f)
		return false, err
	}
	*l = siteJob{} // and field by field, for what is made elsewhere has to be copied
	l.truth, l.alloc, l.outcome, l.release, l.limit, l.hw = truth.Truth, a, truth.Outcome, truth.Release, a.Walltime, truth.Hardware
	l.input = r.transfers.toStage(l, truth.Input)
	if why := r.admit(ref, unsatisfiable); why != model.ReasonNone {
		r.Special.Note(met.Rejected(), a.ID)
		r.gone(l.rec.Job, model.Rejected, why, f)
		return false, nil
	}
	r.Special.Note(met, a.ID)
	if l.truth.Ran > 0 {
		if err := r.warm.resume(ref, b, i); err != nil {
			return false, err
		}
	}
	r.enter(ref, f)
	return true, nil
}

// SubmitService submits the job of a service that no row of the trace tells of, which leaves at end, and puts the
// fact into f. ok is false when it is rejected because unsatisfiable says why it could never run.
func (r *arrivals) SubmitService(now model.Time, of *model.Allocation, end model.Time, unsatisfiable func(*model.Allocation) model.Reason, f *model.Fact) (why model.Reason) {
	r.dropStale()
	r.hardware.advance(now)
	ref := r.ref()
	l, a := r.jobs.At(ref), r.allocs.At(ref)
	deps := a.Deps[:0]
	*a = *of
	a.Deps = deps
	r.rows.ServiceJob(a, now)
	truth := translate.Truth{Runtime: model.AbsentDuration, Cancel: end}
	*l = siteJob{job: job{truth: truth}, alloc: a, outcome: model.Completed, release: model.AbsentTime, limit: a.Walltime}
	if why = r.admit(ref, unsatisfiable); why == model.ReasonNone {
		r.enter(ref, f)
	}
	return why
}

// admit counts the job under ref, and rejects it if unsatisfiable says why it could never run. Its record is as it was
// made; a warm start changes what the allocation says of some of it.
func (r *arrivals) admit(ref model.Ref, unsatisfiable func(*model.Allocation) model.Reason) (why model.Reason) {
	l, a := r.jobs.At(ref), r.allocs.At(ref)
	rec := &l.rec
	rec.Job, rec.ID, rec.Eligible, rec.Start, rec.Procs, rec.Walltime = a.Job, a.ID, a.Eligible, model.AbsentTime, r.rows.Units(a), a.Walltime
	r.State.Submitted++
	if why = unsatisfiable(a); why != model.ReasonNone {
		rec.State, rec.Reason = model.Rejected, why
		r.leave(r.endings.complete(l), r.now)
		r.unused = append(r.unused, ref)
	}
	return why
}

// history counts row i, which had left when the replay begins, and tells what it consumed and, in f, how it ended if
// other rows wait for it.
func (r *arrivals) history(b *traces.Batch, i int, f *model.Fact) error {
	r.Special.Add(translate.RuleLeftBefore, b.ID[i])
	outcome, err := r.rows.Outcome(b, i)
	if err != nil {
		return err
	}
	r.gone(b.First+model.JobID(i), outcome, model.ReasonNone, f)
	if !r.cfg.History {
		return nil
	}
	met, ok, err := r.rows.Allocation(b, i, &r.inspected)
	r.Special.Note(met&^(1<<translate.RuleNotInCluster), b.ID[i]) // nothing is submitted
	if ok {
		from := max(b.Start[i], b.Submit[i])
		r.warm.used(&r.inspected, from, from.Add(b.Runtime[i]))
	}
	return err
}

// gone puts into f that a job is over which is never submitted, if others wait for it.
func (r *arrivals) gone(job model.JobID, outcome model.JobState, why model.Reason, f *model.Fact) {
	if r.rows.Awaited(job) {
		*f = model.Fact{Kind: model.FactGone, Job: job, Outcome: outcome, Reason: why}
		r.quorum.Apply(f)
	}
}

// ref takes a ref that no job has.
func (r *arrivals) ref() model.Ref {
	ref, ok := r.unusedRef()
	if !ok {
		ref = model.Ref(r.jobs.Len())
		r.jobs.Reach(ref)
		r.allocs.Reach(ref)
	}
	return ref
}

// enter commits the submission of a job, which it puts into f.
func (r *arrivals) enter(ref model.Ref, f *model.Fact) {
	l := r.jobs.At(ref)
	l.present = true
	if l.truth.Cancel != model.AbsentTime {
		r.events.Push(des.NewEvent(l.truth.Cancel, des.RankCancel, l.rec.Job, ref))
	}
	if l.release != model.AbsentTime {
		r.events.Push(des.NewEvent(l.release, des.RankCancel, l.rec.Job, ref))
	}
	r.ledger.setWaiting(l, 1)
	if l.alloc.Kind == model.Reactive {
		r.services.add(ref)
	}
	*f = model.Fact{
		Kind: model.FactSubmitted, Job: l.rec.Job, Ref: ref, Submit: l.alloc.Submit, Walltime: l.rec.Walltime, Alloc: l.alloc,
		Constraint: &r.cfg.Site.Constraints[l.alloc.Constraint],
		Request:    model.Request{Layout: model.PerNode, Nodes: l.alloc.NodesMin, PerNode: max(l.alloc.Cards(), 1), Units: l.rec.Procs},
	}
	r.quorum.Apply(f)
}
