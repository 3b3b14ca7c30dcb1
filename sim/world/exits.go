package world

import (
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/scheduler/preempt"
	"orrery/sim/des"
)

// exit is how a running job gives its nodes up: the machine that the site's
// agents follow, and what the job will do by itself.
type exit struct {
	machine preempt.Machine
	why     model.Reason
	at      model.Time // the next step; AbsentTime when the job is not asked to leave
	hint    model.Time // when the machine begins
	begun   bool
	acts    model.Time // when the job does what follows; Never
	act     preempt.Event
	expires model.Time // its walltime, until the machine has heard of it
	frozen  model.Time // when it began to write, and did no work any more
	writes  bool
	copies  bool // at acts the copy in memory is whole, and is written from then on

	slow, unresponsive, partial bool // faults drawn for this exit
}

// preempt asks the job under ref to leave, after the grace that its vCluster or
// its quality of service grants it.
func (s *Site) preempt(ref model.Ref, why model.Reason) {
	l := s.jobs.At(ref)
	a := l.alloc
	grace := model.Duration(0)
	if why == model.ReasonReclaimed {
		grace = s.site.VClusters[a.VCluster].Grace
	}
	if a.QOS >= 0 {
		grace = max(grace, s.site.QOS[a.QOS].PreemptGrace)
	}
	s.Meter.Preempted++
	if why == model.ReasonPower {
		s.Meter.Shed++
	}
	l.rec.Preemptions++
	l.rec.State = model.Checkpointing
	l.exit = exit{why: why, hint: s.now.Add(grace), acts: model.Never, expires: s.expiry(l)}
	if faults := &s.cfg.Faults; faults.Slow > 0 || faults.Unresponsive > 0 || faults.Partial > 0 {
		src := draw.New(s.cfg.Seed, exitStream, uint64(l.rec.Job), uint64(l.rec.Attempts))
		l.exit.slow, l.exit.unresponsive, l.exit.partial = src.Bool(faults.Slow), src.Bool(faults.Unresponsive), src.Bool(faults.Partial)
	}
	l.ends = model.AbsentTime // the exit minds it from now on
	if !l.ckpt.writes {
		l.ckpt.at = model.AbsentTime
	}
	s.planExitStep(ref)
}

// planExitStep sets the next step of an exit.
func (s *Site) planExitStep(ref model.Ref) {
	l := s.jobs.At(ref)
	if l.exit.at = s.nextExitStep(l); l.exit.at != model.Never {
		s.events.Push(des.NewEvent(l.exit.at, des.RankCheckpoint, l.rec.Job, ref))
	}
}

// nextExitStep is when the next step of an exit is due.
func (s *Site) nextExitStep(l *siteJob) model.Time {
	x := &l.exit
	at := min(x.acts, x.expires)
	if x.begun {
		at = min(at, x.machine.Deadline)
	} else {
		at = min(at, x.hint)
	}
	if !x.writes {
		at = min(at, s.finish(l))
	}
	return max(at, s.now)
}

// exitStep takes the step of an exit that is due. Of several at one instant the
// job's own end comes first, then its checkpoint, the walltime, and deadlines
// last.
func (s *Site) exitStep(ref model.Ref) {
	l := s.jobs.At(ref)
	x := &l.exit
	var e preempt.Event
	switch now := s.now; {
	case !x.writes && s.finish(l) <= now:
		e, x.begun = preempt.Finished, true
	case x.acts <= now && x.copies:
		x.copies, x.acts = false, model.Never
		s.copied(ref, Leave, s.slowBy(x.slow))
		s.planExitStep(ref)
		return
	case x.acts <= now:
		e, x.acts = x.act, model.Never
	case x.expires <= now:
		// A job that has not been told to write yet meets its walltime like any
		// other.
		e, x.expires, x.begun = preempt.WalltimeReached, model.Never, true
	case !x.begun:
		s.startExit(ref)
		return
	default:
		e = preempt.DeadlinePassed
	}
	s.stepExit(ref, e)
}

// startExit sends the hint, or TERM.
func (s *Site) startExit(ref model.Ref) {
	l := s.jobs.At(ref)
	var do preempt.Action
	l.exit.begun = true
	l.exit.machine, do, _ = preempt.Begin(l.alloc.Checkpoint, &s.cfg.Exit, s.now)
	s.act(ref, do)
}

// stepExit brings an event to the machine.
func (s *Site) stepExit(ref model.Ref, e preempt.Event) {
	x := &s.jobs.At(ref).exit
	var do preempt.Action
	x.machine, do, _ = preempt.Next(x.machine, e, &s.cfg.Exit, s.now)
	s.act(ref, do)
}

// act does what the machine asks for.
func (s *Site) act(ref model.Ref, do preempt.Action) {
	switch {
	case do&preempt.Release != 0:
		s.leaveNodes(ref)
	case do&preempt.Hint != 0:
		s.answerHint(ref)
	default:
		s.planExitStep(ref)
	}
}

// answerHint is how a job answers the hint: not at all, by a deferral, or by writing
// its checkpoint, which stops its work.
func (s *Site) answerHint(ref model.Ref) {
	l := s.jobs.At(ref)
	x := &l.exit
	if x.unresponsive || s.standsStill(ref) {
		s.planExitStep(ref)
		return
	}
	if p := s.cfg.Faults.Defers; p > 0 {
		src := draw.New(s.cfg.Seed, exitStream, uint64(l.rec.Job), uint64(l.rec.Attempts)<<32|uint64(x.machine.Deferrals+1))
		if src.Bool(p) {
			before := x.machine.Deferrals
			if s.stepExit(ref, preempt.Defers); x.machine.Deferrals > before {
				return
			}
		}
	}
	x.writes, x.frozen, x.act = true, s.now, preempt.Written
	s.setWorks(l, false)
	switch k := &l.ckpt; {
	case k.writes: // the checkpoint that it is asked for is under way
		x.acts, x.copies, x.partial, x.slow = l.work.Resumes(), s.cfg.stop() > 0, k.breaks, k.slow
		k.at = model.AbsentTime
	case k.drains: // this one waits until the last is written
		x.acts = model.Never
	default:
		s.writeExit(ref)
	}
	if x.partial {
		x.act = preempt.WriteFailed
	}
	s.stepExit(ref, preempt.Acked)
}

// writeExit lets a job write the checkpoint with which it leaves. One that reads or stages
// ends that; one that has never worked has nothing to write.
func (s *Site) writeExit(ref model.Ref) {
	l := s.jobs.At(ref)
	x := &l.exit
	size, by := l.holds.image, s.slowBy(x.slow)
	if s.storage == nil {
		x.acts = s.now.Add(slower(transfer(size, s.cfg.Exit.Bandwidth), by))
		return
	}
	if l.moves.kind == Stage {
		size = 0
	}
	s.stopTransfer(ref)
	if s.cfg.stop() > 0 {
		x.acts, x.copies = s.copyOut(ref, size, by), true
		return
	}
	x.acts = model.Never
	s.move(ref, Leave, size, s.cfg.Exit.Bandwidth, by)
}

// written lets a job leave with the checkpoint that is now written.
func (s *Site) written(ref model.Ref) {
	s.jobs.At(ref).exit.acts = s.now
	s.exitStep(ref)
}

// leaveNodes lets a job leave its nodes as the machine says.
func (s *Site) leaveNodes(ref model.Ref) {
	l := s.jobs.At(ref)
	switch l.exit.machine.Job {
	case model.Suspended:
		s.suspend(ref)
	case model.Completed:
		l.ending, l.why = l.outcome, l.cause()
		s.end(ref)
	case model.Timeout:
		s.finishJob(ref, model.Timeout, model.ReasonWalltimeLimit, l.gained(l.worked(s.now)))
	default:
		s.fail(ref, l.exit.why, true)
	}
}
