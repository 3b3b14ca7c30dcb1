package preempt

import "orrery/scheduler/model"

// Phase is where a victim is on its way out.
type Phase uint8

const (
	unasked     Phase = iota // runs, and no job wants its nodes
	hintSent                 // asked to write, no answer yet
	deferred                 // asked to be left alone for a while
	writing                  // answered, and writes
	extended                 // late, and writes on the second time it was given
	terminating              // TERM sent; KILL follows at the deadline
	Done                     // its nodes are free
)

var phases = [...]string{"unasked", "hint-sent", "deferred", "writing", "extended", "terminating", "done"}

// String is the spelling in logs and tests.
func (p Phase) String() string { return phases[p] }

// Event is what happens to a victim.
type Event uint8

const (
	Preempted       Event = iota // by Begin
	Acked                        // its agents answered the hint, and it writes
	Written                      // the checkpoint is whole, of all its nodes
	Defers                       // it asks for a deferral
	DeadlinePassed               // of the phase it is in
	Unresponsive                 // an agent does not answer any more
	WriteFailed                  // a node could not write its part
	NodeLost                     // a node went down
	Finished                     // the job ended by itself, its work done
	Gone                         // its processes ended, its work not done
	WalltimeReached              // its requested walltime is over
	Withdrawn                    // its owner cancelled it
)

var events = [...]string{"preempted", "acked", "written", "defers", "deadline-passed", "unresponsive", "write-failed", "node-lost",
	"finished", "gone", "walltime-reached", "withdrawn"}

// String is the spelling in logs and tests.
func (e Event) String() string { return events[e] }

// Action is what the caller must do now; a set of bits.
type Action uint8

const (
	Hint     Action = 1 << iota // ask the agents to write a checkpoint
	DropHint                    // tell them that it is not needed any more
	Term                        // send TERM
	Kill                        // send KILL
	Release                     // free its nodes
)

// Machine is a victim on its way out, as Begin makes it. The zero value is a
// running job that may still end or reach its walltime before it is asked.
type Machine struct {
	Phase Phase
	// Job is CHECKPOINTING from the hint on, and RUNNING in a victim that is
	// terminated without one. When Done: SUSPENDED with a checkpoint, COMPLETED
	// when it ended first, TIMEOUT, CANCELLED or FAILED.
	Job        model.JobState
	Checkpoint model.Checkpoint
	Deferrals  int32 // granted
	// Cause is why it is Terminating, or Done: Written with a checkpoint. A
	// requeue policy asks whether it is NodeLost.
	Cause Event
	// Deadline of the phase: the caller brings DeadlinePassed then. None while
	// unasked, and Never when Done.
	Deadline model.Time
}

// Begin preempts a running job at now. With checkpoints it is asked to write;
// without it is terminated at once.
func Begin(ck model.Checkpoint, cfg *Config, now model.Time) (Machine, Action, model.Time) {
	m := Machine{Job: model.Running, Checkpoint: ck}
	if ck == model.CheckpointNone {
		return m.terminate(Preempted, cfg, now)
	}
	m.Job = model.Checkpointing
	return m.enter(hintSent, now.Add(cfg.Timeout), Hint)
}

// Next is what becomes of m when e happens at now: the machine, what to do, and
// its deadline.
//
//	HintSent --acked--> Writing --deadline--> Extended --deadline--> Terminating
//	HintSent --defers, some left--> Deferred --deadline--> HintSent
//	HintSent --deadline--> Terminating
//	any --written--> SUSPENDED
//	any --unresponsive, walltime reached, withdrawn--> Terminating
//	any --write failed, node lost, gone--> FAILED
//	any --finished--> COMPLETED
//	Terminating --deadline--> FAILED
//	Unasked --walltime reached, withdrawn--> Terminating
//	Unasked --finished, node lost, gone--> as above
//
// A checkpoint that is whole before KILL counts. Once the walltime is reached or
// the job withdrawn, what else would have been FAILED or COMPLETED is TIMEOUT or
// CANCELLED; a withdrawn job is not suspended either. Whatever the table does not
// name changes nothing, so late and repeated answers do no harm. From Begin to
// Done it takes at most cfg.Longest when deadlines are kept.
func Next(m Machine, e Event, cfg *Config, now model.Time) (Machine, Action, model.Time) {
	switch m.Phase {
	case Done:
		return m.stay()
	case unasked:
		m.Job, m.Deadline = model.Running, model.Never
		if e == Unresponsive {
			return m.stay()
		}
	}
	switch e {
	case Written:
		return m.written()
	case Finished:
		return m.end(model.Completed, e, 0)
	case NodeLost:
		return m.end(model.Failed, e, Kill)
	case WriteFailed:
		if m.Job == model.Checkpointing {
			return m.end(model.Failed, e, Kill)
		}
	case Gone:
		return m.end(model.Failed, e, 0)
	case Unresponsive, WalltimeReached, Withdrawn:
		return m.terminate(e, cfg, now)
	}
	switch m.Phase {
	case hintSent:
		return m.hinted(e, cfg, now)
	case deferred:
		return m.deferred(e, cfg, now)
	case writing:
		if e == DeadlinePassed {
			return m.enter(extended, now.Add(cfg.extension()), 0)
		}
	case extended:
		if e == DeadlinePassed {
			return m.terminate(e, cfg, now)
		}
	case terminating:
		if e == DeadlinePassed {
			return m.end(model.Failed, m.Cause, Kill)
		}
	}
	return m.stay()
}

func (m Machine) hinted(e Event, cfg *Config, now model.Time) (Machine, Action, model.Time) {
	switch {
	case e == Acked:
		return m.enter(writing, m.Deadline, 0)
	case e == Defers && m.Deferrals < cfg.deferrals(m.Checkpoint):
		m.Deferrals++
		return m.enter(deferred, now.Add(cfg.Deferral), 0)
	case e == DeadlinePassed:
		return m.terminate(e, cfg, now)
	}
	return m.stay()
}

func (m Machine) deferred(e Event, cfg *Config, now model.Time) (Machine, Action, model.Time) {
	switch e {
	case Acked:
		return m.enter(writing, now.Add(cfg.Timeout), 0)
	case DeadlinePassed:
		return m.enter(hintSent, now.Add(cfg.Timeout), Hint)
	}
	return m.stay()
}

// written suspends a job that was asked to write.
func (m Machine) written() (Machine, Action, model.Time) {
	if m.Job != model.Checkpointing || m.is(Withdrawn) {
		return m.stay()
	}
	m.Job, m.Cause = model.Suspended, Written
	return m.enter(Done, model.Never, Release)
}

// terminate sends TERM once. Later causes move no deadline; of those only
// reaching the walltime and being withdrawn change what becomes of the job, and
// the first of these two stands.
func (m Machine) terminate(cause Event, cfg *Config, now model.Time) (Machine, Action, model.Time) {
	if m.Phase == terminating {
		final := cause == WalltimeReached || cause == Withdrawn
		if final && !m.is(WalltimeReached) && !m.is(Withdrawn) {
			m.Cause = cause
		}
		return m.stay()
	}
	m.Cause = cause
	return m.enter(terminating, now.Add(cfg.KillGrace), Term)
}

// end is the end without a checkpoint.
func (m Machine) end(state model.JobState, cause Event, do Action) (Machine, Action, model.Time) {
	switch {
	case m.is(WalltimeReached):
		state = model.Timeout
	case m.is(Withdrawn):
		state = model.Cancelled
	default:
		m.Cause = cause
	}
	if m.Phase != terminating && m.Phase != unasked {
		do |= DropHint
	}
	m.Job = state
	return m.enter(Done, model.Never, do|Release)
}

// is says whether m is being terminated because of cause.
func (m Machine) is(cause Event) bool { return m.Phase == terminating && m.Cause == cause }

func (m Machine) enter(p Phase, deadline model.Time, do Action) (Machine, Action, model.Time) {
	m.Phase, m.Deadline = p, deadline
	return m, do, deadline
}

func (m Machine) stay() (Machine, Action, model.Time) { return m, 0, m.Deadline }
