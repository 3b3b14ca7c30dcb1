package world

import (
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/scheduler/preempt"
	"orrery/sim/world/internal/storage"
)

// exit is how a running job gives its nodes up: the machine that the site's agents follow, and what the job will do
// by itself.
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

// exits is how jobs that were asked to leave their nodes do so.
type exits struct {
	*agenda
	nodes     *nodeStates
	transfers *transfers
	hardware  *effects
	endings   *endings
}

// begin asks the job under ref to leave, after the grace that its vCluster or its quality of service grants it.
func (e *exits) begin(ref model.Ref, why model.Reason) {
	l := e.jobs.At(ref)
	a := l.alloc
	grace := model.Duration(0)
	if why == model.ReasonReclaimed {
		grace = e.cfg.Site.VClusters[a.VCluster].Grace
	}
	if a.QOS >= 0 {
		grace = max(grace, e.cfg.Site.QOS[a.QOS].PreemptGrace)
	}
	e.Meter.Preempted++
	if why == model.ReasonPower {
		e.Meter.Shed++
	}
	l.rec.Preemptions++
	l.rec.State = model.Checkpointing
	l.exit = exit{why: why, hint: e.now.Add(grace), acts: model.Never, expires: e.expiry(l)}
	if faults := &e.cfg.Faults; faults.Slow > 0 || faults.Unresponsive > 0 || faults.Partial > 0 {
		src := draw.New(e.cfg.Seed, exitStream, uint64(l.rec.Job), uint64(l.rec.Attempts))
		l.exit.slow, l.exit.unresponsive, l.exit.partial = src.Bool(faults.Slow), src.Bool(faults.Unresponsive), src.Bool(faults.Partial)
	}
	l.ends = model.AbsentTime // the exit minds it from now on
	if !l.ckpt.writes {
		l.ckpt.at = model.AbsentTime
	}
	e.planExitStep(ref)
}

// step takes the step of an exit that is due. Of several at one instant the job's own end comes first, then its
// checkpoint, the walltime, and deadlines last.
func (e *exits) step(ref model.Ref) {
	l := e.jobs.At(ref)
	x := &l.exit
	var ev preempt.Event
	switch now := e.now; {
	case !x.writes && e.finish(l) <= now:
		ev, x.begun = preempt.Finished, true
	case x.acts <= now && x.copies:
		x.copies, x.acts = false, model.Never
		e.transfers.copied(ref, storage.Leave, e.cfg.slowBy(x.slow))
		e.planExitStep(ref)
		return
	case x.acts <= now:
		ev, x.acts = x.act, model.Never
	case x.expires <= now:
		// A job that has not been told to write yet meets its walltime like any other.
		ev, x.expires, x.begun = preempt.WalltimeReached, model.Never, true
	case !x.begun:
		e.start(ref)
		return
	default:
		ev = preempt.DeadlinePassed
	}
	e.tell(ref, ev)
}

// start sends the hint, or TERM.
func (e *exits) start(ref model.Ref) {
	l := e.jobs.At(ref)
	var do preempt.Action
	l.exit.begun = true
	l.exit.machine, do, _ = preempt.Begin(l.alloc.Checkpoint, &e.cfg.Exit, e.now)
	e.act(ref, do)
}

// tell brings an event to the machine.
func (e *exits) tell(ref model.Ref, ev preempt.Event) {
	x := &e.jobs.At(ref).exit
	var do preempt.Action
	x.machine, do, _ = preempt.Next(x.machine, ev, &e.cfg.Exit, e.now)
	e.act(ref, do)
}

// act does what the machine asks for.
func (e *exits) act(ref model.Ref, do preempt.Action) {
	switch {
	case do&preempt.Release != 0:
		e.leaveNodes(ref)
	case do&preempt.Hint != 0:
		e.answerHint(ref)
	default:
		e.planExitStep(ref)
	}
}

// answerHint is how a job answers the hint: not at all, by a deferral, or by writing its checkpoint, which stops its
// work.
func (e *exits) answerHint(ref model.Ref) {
	l := e.jobs.At(ref)
	x := &l.exit
	if x.unresponsive || e.nodes.standsStill(ref) {
		e.planExitStep(ref)
		return
	}
	if p := e.cfg.Faults.Defers; p > 0 {
		src := draw.New(e.cfg.Seed, exitStream, uint64(l.rec.Job), uint64(l.rec.Attempts)<<32|uint64(x.machine.Deferrals+1))
		if src.Bool(p) {
			before := x.machine.Deferrals
			if e.tell(ref, preempt.Defers); x.machine.Deferrals > before {
				return
			}
		}
	}
	x.writes, x.frozen, x.act = true, e.now, preempt.Written
	e.hardware.setWorks(l, false)
	switch k := &l.ckpt; {
	case k.writes: // the checkpoint that it is asked for is under way
		x.acts, x.copies, x.partial, x.slow = l.work.Resumes(), e.cfg.stop() > 0, k.breaks, k.slow
		k.at = model.AbsentTime
	case k.drains: // this one waits until the last is written
		x.acts = model.Never
	default:
		e.write(ref)
	}
	if x.partial {
		x.act = preempt.WriteFailed
	}
	e.tell(ref, preempt.Acked)
}

// write lets a job write the checkpoint with which it leaves. One that reads or stages ends that; one that has never
// worked has nothing to write.
func (e *exits) write(ref model.Ref) {
	l := e.jobs.At(ref)
	x := &l.exit
	size, by := l.holds.image, e.cfg.slowBy(x.slow)
	if e.cfg.Storage == nil {
		x.acts = e.now.Add(storage.Slower(storage.Takes(size, e.cfg.Exit.Bandwidth), by))
		return
	}
	if l.moves.Kind == storage.Stage {
		size = 0
	}
	e.transfers.cut(ref)
	if e.cfg.stop() > 0 {
		x.acts, x.copies = e.transfers.copyOut(ref, size, by), true
		return
	}
	x.acts = model.Never
	e.transfers.move(ref, storage.Leave, size, e.cfg.Exit.Bandwidth, by)
}

// leaveNodes lets a job leave its nodes as the machine says.
func (e *exits) leaveNodes(ref model.Ref) {
	l := e.jobs.At(ref)
	switch l.exit.machine.Job {
	case model.Suspended:
		e.endings.suspend(ref)
	case model.Completed:
		l.ending, l.why = l.outcome, l.cause()
		e.endings.end(ref)
	case model.Timeout:
		e.endings.finishJob(ref, model.Timeout, model.ReasonWalltimeLimit, l.gained(l.worked(e.now)))
	default:
		e.endings.fail(ref, l.exit.why, true)
	}
}

// written lets a job leave with the checkpoint that is now written.
func (e *exits) written(ref model.Ref) {
	e.jobs.At(ref).exit.acts = e.now
	e.step(ref)
}
