package world

import (
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/scheduler/preempt"
	"orrery/sim/des"
	"orrery/sim/world/internal/storage"
	"orrery/sim/world/translate"
)

// agenda says when what lies ahead of a running attempt is due if nothing comes between: its end, its walltime, the
// next step of its way out, the next look at whether to write a checkpoint. Each is an event, and the instant that
// counts stands with the attempt: an event of another one is out of date.
type agenda struct{ *base }

// scheduleEnd sets when the running attempt under ref ends if nothing comes between.
func (a *agenda) scheduleEnd(ref model.Ref) {
	l := a.jobs.At(ref)
	end := a.finish(l)
	l.ending, l.why = l.outcome, l.cause()
	rank := des.RankEnd
	if expiry := a.expiry(l); end > expiry || l.endless {
		end, rank = min(end, expiry.Add(a.cfg.Exit.KillGrace)), des.RankExpiry
		l.ending, l.why = model.Timeout, model.ReasonWalltimeLimit
	}
	if end = end.Add(a.completionDelay(l)); end == l.ends && rank == l.endRank {
		return // as before
	}
	if l.ends, l.endRank = end, rank; end == model.Never {
		return
	}
	a.events.Push(des.NewEvent(l.ends, rank, l.rec.Job, ref))
}

// finish is when the work of the running attempt is done, if nothing comes between.
func (a *agenda) finish(l *siteJob) model.Time {
	switch {
	case l.truth.Runtime == model.AbsentDuration:
		// The log tells only when it left: started here, it runs until then.
		return max(l.truth.Cancel, l.began)
	case l.endless:
		return a.expiry(l)
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
func (a *agenda) expiry(l *siteJob) model.Time {
	if a.cfg.Rows.Policy.Overrun == translate.Extend {
		return model.Never
	}
	return l.opens.Add(l.limit)
}

// completionDelay is how long after its end the attempt is seen to be over.
func (a *agenda) completionDelay(l *siteJob) model.Duration {
	if a.cfg.Visible == 0 {
		return 0
	}
	src := draw.New(a.cfg.Seed, visibleStream, uint64(l.rec.Job), uint64(l.rec.Attempts))
	return model.Duration(src.IntN(int64(a.cfg.Visible) + 1))
}

// retime sets anew what lies ahead of the attempt under ref as far as that has moved with its rate: its end, the next
// step of its way out, the next look at whether to write a checkpoint.
func (a *agenda) retime(ref model.Ref) {
	l := a.jobs.At(ref)
	if l.rec.State == model.Checkpointing {
		if at := a.nextExitStep(l); at != l.exit.at {
			a.planExitStep(ref)
		}
		return
	}
	a.scheduleEnd(ref)
	if k := &l.ckpt; !k.writes && k.at != a.now { // else it is looked at in any case
		if at := a.nextLook(l); at != k.at {
			a.planCheckpoint(ref)
		}
	}
}

// planExitStep sets the next step of an exit.
func (a *agenda) planExitStep(ref model.Ref) {
	l := a.jobs.At(ref)
	if l.exit.at = a.nextExitStep(l); l.exit.at != model.Never {
		a.events.Push(des.NewEvent(l.exit.at, des.RankCheckpoint, l.rec.Job, ref))
	}
}

// nextExitStep is when the next step of an exit is due.
func (a *agenda) nextExitStep(l *siteJob) model.Time {
	x := &l.exit
	at := min(x.acts, x.expires)
	if x.begun {
		at = min(at, x.machine.Deadline)
	} else {
		at = min(at, x.hint)
	}
	if !x.writes {
		at = min(at, a.finish(l))
	}
	return max(at, a.now)
}

// planCheckpoint sets the next look at a running job, if there is to be one.
func (a *agenda) planCheckpoint(ref model.Ref) {
	l := a.jobs.At(ref)
	if l.ckpt.at = a.nextLook(l); l.ckpt.at != model.AbsentTime {
		a.events.Push(des.NewEvent(l.ckpt.at, des.RankCheckpoint, l.rec.Job, ref))
	}
}

// nextLook is the instant at which a checkpoint of l is due, or may be; AbsentTime for none. One that would not be
// whole before the walltime is over is not begun. Intervals between checkpoints are time, at whatever rate the job
// works: nodes fail in time. A job that stands still has nothing to save, and one that writes the copy of its last
// checkpoint begins no other.
func (a *agenda) nextLook(l *siteJob) model.Time {
	c := a.cfg.Checkpoints
	if c == nil || l.work.Rate() == 0 || l.ckpt.drains {
		return model.AbsentTime
	}
	p := preempt.PolicyOf(l.alloc.Checkpoint, l.alloc.IsSensitive())
	if p.Min == model.Forever {
		return model.AbsentTime
	}
	at := max(l.ckpt.since.Add(p.Min), l.ckpt.tried.Add(checkEvery), a.now)
	if c.Strategy == preempt.ValueOverCost {
		at = nextCheck(at)
		if at == a.now {
			at = at.Add(checkEvery) // this look has been
		}
	} else {
		at = max(at, l.ckpt.since.Add(min(p.Max, a.interval(l))))
	}
	if whole := at.Add(a.writing(l)).Add(a.behind(l)); at < a.finish(l) && whole < a.expiry(l) {
		return at
	}
	return model.AbsentTime
}

// nextCheck is the first look at t or later.
func nextCheck(t model.Time) model.Time {
	const every = model.Time(checkEvery)
	if t > model.Never-every {
		return model.Never
	}
	return (t + every - 1) / every * every
}

// interval is the work between checkpoints by the formulas of Young or Daly: a job meets a failure when any of its
// nodes does.
func (a *agenda) interval(l *siteJob) model.Duration {
	mtbf := a.cfg.Checkpoints.MTBF
	if mtbf != model.Forever {
		mtbf = max(1, mtbf/model.Duration(max(l.holds.nodes, 1)))
	}
	if a.cfg.Checkpoints.Strategy == preempt.DalyInterval {
		return preempt.Daly(a.writing(l), mtbf)
	}
	return preempt.Young(a.writing(l), mtbf)
}

// writing is how long a checkpoint stops l, unless it is slow by a fault or storage is busy.
func (a *agenda) writing(l *siteJob) model.Duration {
	if stop := a.cfg.stop(); stop > 0 {
		return storage.Takes(l.holds.image, stop)
	}
	return storage.Takes(l.holds.image, a.cfg.Exit.Bandwidth)
}

// behind is how long l then writes it while it works, likewise.
func (a *agenda) behind(l *siteJob) model.Duration {
	if a.cfg.stop() == 0 {
		return 0
	}
	return storage.Takes(l.holds.image, a.cfg.Exit.Bandwidth)
}
