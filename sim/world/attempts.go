package world

import (
	"math/bits"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
	"orrery/sim/world/translate"
	"orrery/sim/world/work"
)

// Start implements drive.NodeAgents: the job under ref begins on the nodes that
// the quorum granted, or goes on there once its checkpoint is read.
func (s *Site) Start(now model.Time, ref model.Ref) {
	s.advance(now)
	l := s.jobs.At(ref)
	l.rec.Attempts++
	if l.rec.Start == model.AbsentTime {
		l.rec.Start = now
	}
	l.holds = s.measure(ref, l.alloc)
	l.rec.Nodes = l.holds.nodes
	l.began, l.opens = now, now.Add(s.cfg.StartDelay)
	if l.resumes {
		l.opens, l.resumes = now, false
	}
	l.moves = s.first(l)
	l.work = work.Of(l.toDo(), s.begins(l))
	s.setWaiting(l, -1)
	s.account(ref, 1)
	s.State.Started++
	s.beginCheckpoints(ref)
	s.scheduleEnd(ref)
	s.begin(ref)
	s.open(ref)
	s.startPrologues(ref)
	s.holdCap()
}

// scheduleEnd sets when the running attempt under ref ends if nothing comes between.
func (s *Site) scheduleEnd(ref model.Ref) {
	l := s.jobs.At(ref)
	end := s.finish(l)
	l.ending, l.why = l.outcome, l.cause()
	rank := des.RankEnd
	if expiry := s.expiry(l); end > expiry || l.endless {
		end, rank = min(end, expiry.Add(s.cfg.Exit.KillGrace)), des.RankExpiry
		l.ending, l.why = model.Timeout, model.ReasonWalltimeLimit
	}
	if end = end.Add(s.completionDelay(l)); end == l.ends && rank == l.endRank {
		return // as before
	}
	if l.ends, l.endRank = end, rank; end == model.Never {
		return
	}
	s.events.Push(des.NewEvent(l.ends, rank, l.rec.Job, ref))
}

// toDo is the work of the attempt that begins, at speed 1: Forever where it has no end of
// its own.
func (l *siteJob) toDo() model.Duration {
	if l.endless || l.truth.Runtime == model.AbsentDuration {
		return model.Forever
	}
	return l.truth.Runtime - l.kept
}

// finish is when the work of the running attempt is done, if nothing comes
// between.
func (s *Site) finish(l *siteJob) model.Time {
	switch {
	case l.truth.Runtime == model.AbsentDuration:
		// The log tells only when it left: started here, it runs until then.
		return max(l.truth.Cancel, l.began)
	case l.endless:
		return s.expiry(l)
	}
	return l.work.End()
}

// cause is the reason of the job's own end.
func (l *siteJob) cause() model.Reason {
	switch l.outcome {
	case model.Cancelled:
		return model.ReasonCancelled
	case model.Timeout:
		return model.ReasonWalltimeLimit
	}
	return model.ReasonNone
}

// expiry is when the running attempt reaches its walltime.
func (s *Site) expiry(l *siteJob) model.Time {
	if s.cfg.Rows.Policy.Overrun == translate.Extend {
		return model.Never
	}
	return l.opens.Add(l.limit)
}

// completionDelay is how long after its end the attempt is seen to be over.
func (s *Site) completionDelay(l *siteJob) model.Duration {
	if s.cfg.Visible == 0 {
		return 0
	}
	src := draw.New(s.cfg.Seed, visibleStream, uint64(l.rec.Job), uint64(l.rec.Attempts))
	return model.Duration(src.IntN(int64(s.cfg.Visible) + 1))
}

// gained is the work that the running attempt has done by t, at speed 1.
func (l *siteJob) gained(t model.Time) model.Duration { return l.work.Done(t) }

// worked is until when the running attempt has worked: not while it writes a
// checkpoint.
func (l *siteJob) worked(now model.Time) model.Time {
	if l.exit.writes {
		return l.exit.frozen
	}
	return now
}

// transfer is the time that size bytes take at rate B/s, rounded up; a rate of 0
// takes none.
func transfer(size, rate int64) model.Duration {
	if rate <= 0 || size <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(size), uint64(model.Second))
	lo, carry := bits.Add64(lo, uint64(rate-1), 0)
	if hi += carry; hi >= uint64(rate) {
		return model.Forever
	}
	d, _ := bits.Div64(hi, lo, uint64(rate))
	return model.Duration(min(d, uint64(model.Forever)))
}

// end lets the running attempt under ref end by itself, or at its walltime.
func (s *Site) end(ref model.Ref) {
	l := s.jobs.At(ref)
	if l.ending == model.Failed && l.truth.Runtime != model.AbsentDuration {
		s.fail(ref, model.ReasonNone, false)
		return
	}
	s.finishJob(ref, l.ending, l.why, l.gained(s.now))
}

// finishJob ends the job with its running attempt, of whose work kept counts: of one that failed
// what a checkpoint has saved at most.
func (s *Site) finishJob(ref model.Ref, outcome model.JobState, why model.Reason, kept model.Duration) {
	l := s.jobs.At(ref)
	l.rec.Runtime = l.kept + l.gained(l.worked(s.now))
	if outcome == model.Failed {
		kept = min(kept, l.ckpt.safe)
	}
	s.endAttempt(ref, outcome, why, kept)
	l.rec.State, l.rec.Reason = outcome, why
	if outcome == model.Failed && l.alloc.OutOfRequeues(why != model.ReasonNone, l.rec.Requeues) {
		l.rec.Reason = model.ReasonMaxRequeue // of the job; the attempt has its own
	}
	if outcome == model.Failed {
		s.Meter.Failed++
	}
	s.release(ref, &model.Fact{Kind: model.FactEnded, Job: l.rec.Job, Ref: ref, Seq: l.seq, Outcome: outcome, Reason: l.rec.Reason})
	s.depart(ref)
}

// fail ends the running attempt because it crashed or lost its nodes; hardware
// says that the job is not to blame. It goes back to the queue by its requeue
// policy, to begin at its last checkpoint.
func (s *Site) fail(ref model.Ref, why model.Reason, hardware bool) {
	l := s.jobs.At(ref)
	if !l.alloc.Requeues(hardware, l.rec.Requeues) {
		s.finishJob(ref, model.Failed, why, l.ckpt.safe)
		return
	}
	s.countRequeue(ref, why)
	s.release(ref, &model.Fact{Kind: model.FactRequeued, Job: l.rec.Job, Ref: ref, Seq: l.seq, Reason: why})
}

// countRequeue counts that the running attempt failed and its job waits once more.
func (s *Site) countRequeue(ref model.Ref, why model.Reason) {
	l := s.jobs.At(ref)
	l.rec.Requeues++
	s.Meter.Requeued++
	safe := l.ckpt.safe
	l.used += l.ckpt.took
	s.endAttempt(ref, model.Failed, why, safe)
	l.kept += safe
	l.limit = l.rec.Walltime
	l.rec.State = model.Pending
	s.setWaiting(l, 1)
}

// suspend lets the running attempt go with a checkpoint of what it had done
// when it began to write. What is left of its request is what the time leaves that
// its saved work took, at whatever rate it was done.
func (s *Site) suspend(ref model.Ref) {
	l := s.jobs.At(ref)
	gained := l.gained(l.exit.frozen)
	l.used += l.work.Took(l.exit.frozen)
	l.saved = l.holds.image
	s.endAttempt(ref, model.Suspended, l.exit.why, gained)
	s.Meter.Suspended++
	l.kept += gained
	if l.rec.Walltime != model.Forever {
		l.limit = max(0, l.rec.Walltime-l.used) + transfer(l.saved, s.cfg.ReadBandwidth)
	}
	l.rec.State = model.Pending
	s.setWaiting(l, 1)
	s.release(ref, &model.Fact{Kind: model.FactSuspended, Job: l.rec.Job, Ref: ref, Seq: l.seq, Value: int64(l.limit)})
}

// endAttempt writes the record of the running attempt, of whose work kept counts, and
// takes it off the ledger.
func (s *Site) endAttempt(ref model.Ref, outcome model.JobState, why model.Reason, kept model.Duration) {
	l := s.jobs.At(ref)
	lost := l.gained(l.worked(s.now)) - kept
	s.Meter.Lost = model.Plus(s.Meter.Lost, l.holds.gpuTime(lost))
	l.rec.KeptGPU = model.Plus(l.rec.KeptGPU, l.holds.gpuTime(kept))
	l.rec.LostGPU = model.Plus(l.rec.LostGPU, l.holds.gpuTime(lost))
	s.attempt = model.AttemptRecord{
		Job: l.rec.Job, ID: l.rec.ID, Attempt: l.rec.Attempts, Start: l.began, End: s.now,
		Outcome: outcome, Procs: l.rec.Procs, Placement: *s.quorum.Held(ref), Kept: kept, Lost: lost,
		Reason: why, Nodes: l.holds.nodes, GPUs: l.holds.cards(), Borrowed: l.holds.borrowed,
	}
	s.sink.Attempt(&s.attempt)
	s.stopTransfer(ref)
	s.State.Ended++
	s.account(ref, -1)
	s.spare.Give(l.attempt)
	l.attempt = nil
}

// release commits the fact that frees the nodes under ref, and lets those that
// were waiting for that be wiped or count as drained.
func (s *Site) release(ref model.Ref, f *model.Fact) {
	sensitive := s.jobs.At(ref).alloc.IsSensitive()
	freed := s.nodesBuf[:0]
	switch {
	case sensitive && s.cfg.Wipe > 0:
		freed = appendNodes(freed, s.quorum.Held(ref), nil)
	case s.drains > 0:
		freed = appendNodes(freed, s.quorum.Held(ref), s.draining)
	}
	s.nodesBuf = freed
	s.emit(f)
	for _, n := range freed {
		s.nodeFreed(n, sensitive)
	}
}
