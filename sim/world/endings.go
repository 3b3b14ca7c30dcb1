package world

import (
	"orrery/scheduler/model"
	"orrery/sim/world/internal/bill"
	"orrery/sim/world/internal/storage"
)

// endings is how attempts end, and what becomes of their jobs then.
type endings struct {
	*base
	ledger    *ledger
	nodes     *nodeStates
	transfers *transfers
	hardware  *effects
	prices    *bill.Prices
	services  *services
	spare     model.FreeList[attempt]
	freed     []model.NodeID // space
}

// newAttempt is an attempt that has not begun.
func (e *endings) newAttempt() *attempt {
	a := e.spare.Take()
	a.ends, a.exit.at, a.ckpt.at = model.AbsentTime, model.AbsentTime, model.AbsentTime
	return a
}

// end lets the running attempt under ref end by itself, or at its walltime.
func (e *endings) end(ref model.Ref) {
	l := e.jobs.At(ref)
	if l.ending == model.Failed && l.truth.Runtime != model.AbsentDuration {
		e.fail(ref, model.ReasonNone, false)
		return
	}
	e.finishJob(ref, l.ending, l.why, l.gained(e.now))
}

// finishJob ends the job with its running attempt, of whose work kept counts: of one that failed what a checkpoint
// has saved at most.
func (e *endings) finishJob(ref model.Ref, outcome model.JobState, why model.Reason, kept model.Duration) {
	l := e.jobs.At(ref)
	l.rec.Runtime = l.kept + l.gained(l.worked(e.now))
	if outcome == model.Failed {
		kept = min(kept, l.ckpt.safe)
	}
	e.endAttempt(ref, outcome, why, kept)
	l.rec.State, l.rec.Reason = outcome, why
	if outcome == model.Failed && l.alloc.OutOfRequeues(why != model.ReasonNone, l.rec.Requeues) {
		l.rec.Reason = model.ReasonMaxRequeue // of the job; the attempt has its own
	}
	if outcome == model.Failed {
		e.Meter.Failed++
	}
	e.release(ref, &model.Fact{Kind: model.FactEnded, Job: l.rec.Job, Ref: ref, Seq: l.seq, Outcome: outcome, Reason: l.rec.Reason})
	e.depart(ref)
}

// fail ends the running attempt because it crashed or lost its nodes; hardware says that the job is not to blame. It
// goes back to the queue by its requeue policy, to begin at its last checkpoint.
func (e *endings) fail(ref model.Ref, why model.Reason, hardware bool) {
	l := e.jobs.At(ref)
	if !l.alloc.Requeues(hardware, l.rec.Requeues) {
		e.finishJob(ref, model.Failed, why, l.ckpt.safe)
		return
	}
	e.countRequeue(ref, why)
	e.release(ref, &model.Fact{Kind: model.FactRequeued, Job: l.rec.Job, Ref: ref, Seq: l.seq, Reason: why})
}

// countRequeue counts that the running attempt failed and its job waits once more.
func (e *endings) countRequeue(ref model.Ref, why model.Reason) {
	l := e.jobs.At(ref)
	l.rec.Requeues++
	e.Meter.Requeued++
	safe := l.ckpt.safe
	l.used += l.ckpt.took
	e.endAttempt(ref, model.Failed, why, safe)
	l.kept += safe
	l.limit = l.rec.Walltime
	l.rec.State = model.Pending
	e.ledger.setWaiting(l, 1)
}

// suspend lets the running attempt go with a checkpoint of what it had done when it began to write. What is left of
// its request is what the time leaves that its saved work took, at whatever rate it was done.
func (e *endings) suspend(ref model.Ref) {
	l := e.jobs.At(ref)
	gained := l.gained(l.exit.frozen)
	l.used += l.work.Took(l.exit.frozen)
	l.saved = l.holds.image
	e.endAttempt(ref, model.Suspended, l.exit.why, gained)
	e.Meter.Suspended++
	l.kept += gained
	if l.rec.Walltime != model.Forever {
		l.limit = max(0, l.rec.Walltime-l.used) + storage.Takes(l.saved, e.cfg.ReadBandwidth)
	}
	l.rec.State = model.Pending
	e.ledger.setWaiting(l, 1)
	e.release(ref, &model.Fact{Kind: model.FactSuspended, Job: l.rec.Job, Ref: ref, Seq: l.seq, Value: int64(l.limit)})
}

// endAttempt writes the record of the running attempt, of whose work kept counts, and takes it off the ledger.
func (e *endings) endAttempt(ref model.Ref, outcome model.JobState, why model.Reason, kept model.Duration) {
	l := e.jobs.At(ref)
	lost := l.gained(l.worked(e.now)) - kept
	e.Meter.Lost = model.Plus(e.Meter.Lost, l.holds.gpuTime(lost))
	l.rec.KeptGPU = model.Plus(l.rec.KeptGPU, l.holds.gpuTime(kept))
	l.rec.LostGPU = model.Plus(l.rec.LostGPU, l.holds.gpuTime(lost))
	e.attempt = model.AttemptRecord{
		Job: l.rec.Job, ID: l.rec.ID, Attempt: l.rec.Attempts, Start: l.began, End: e.now,
		Outcome: outcome, Procs: l.rec.Procs, Placement: *e.quorum.Held(ref), Kept: kept, Lost: lost,
		Reason: why, Nodes: l.holds.nodes, GPUs: l.holds.cards(), Borrowed: l.holds.borrowed,
	}
	e.sink.Attempt(&e.attempt)
	e.transfers.cut(ref)
	e.State.Ended++
	e.hardware.unplug(ref)
	e.ledger.account(ref, -1)
	e.spare.Give(l.attempt)
	l.attempt = nil
}

// release commits the fact that frees the nodes under ref, and lets those that were waiting for that be wiped or
// count as drained.
func (e *endings) release(ref model.Ref, f *model.Fact) {
	sensitive := e.jobs.At(ref).alloc.IsSensitive()
	freed := e.freed[:0]
	switch {
	case sensitive && e.cfg.Wipe > 0:
		freed = appendNodes(freed, e.quorum.Held(ref), nil)
	case e.nodes.drains > 0:
		freed = appendNodes(freed, e.quorum.Held(ref), e.nodes.draining)
	}
	e.freed = freed
	e.emit(f)
	for _, n := range freed {
		e.nodes.left(n, sensitive)
	}
}

// withdraw takes out a job that waits.
func (e *endings) withdraw(ref model.Ref, why model.Reason) {
	l := e.jobs.At(ref)
	e.ledger.setWaiting(l, -1)
	l.rec.State, l.rec.Reason, l.rec.Runtime = model.Cancelled, why, l.kept
	e.emit(&model.Fact{Kind: model.FactCancelled, Job: l.rec.Job, Ref: ref, Seq: l.seq, Reason: why})
	e.depart(ref)
}

// depart hands in the record of a job that left, and vacates its ref once no proposal names it any more.
func (e *endings) depart(ref model.Ref) {
	l := e.jobs.At(ref)
	e.leave(e.complete(l), e.now)
	if l.alloc.Kind == model.Reactive {
		delete(e.services.refs, l.rec.ID)
	}
	e.vacate(ref, &l.job)
}

// complete enters what the allocation says into the record of a job that leaves.
func (e *endings) complete(l *siteJob) *job {
	r, a := &l.rec, l.alloc
	r.Bill, l.bill = e.prices.Close(l.bill, r.Source != model.PowerUnknown), nil
	r.User, r.Submit, r.GPUs, r.VCluster, r.Tenant, r.Class, r.Kind = a.User, a.Submit, a.Cards(), a.VCluster, a.Tenant, a.Class, a.Kind
	return &l.job
}

// toDo is the work of the attempt that begins, at speed 1: Forever where it has no end of its own.
func (l *siteJob) toDo() model.Duration {
	if l.endless || l.truth.Runtime == model.AbsentDuration {
		return model.Forever
	}
	return l.truth.Runtime - l.kept
}

// gained is the work that the running attempt has done by t, at speed 1.
func (l *siteJob) gained(t model.Time) model.Duration { return l.work.Done(t) }

// worked is until when the running attempt has worked: not while it writes a checkpoint.
func (l *siteJob) worked(now model.Time) model.Time {
	if l.exit.writes {
		return l.exit.frozen
	}
	return now
}
