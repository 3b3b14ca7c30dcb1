package preempt

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
)

// at is a machine in a phase, 100 s before its deadline at instant 0 + 100 s.
func at(p Phase) Machine {
	m := Machine{Phase: p, Job: model.Checkpointing, Checkpoint: auto, Deadline: model.Time(100 * model.Second)}
	if p == terminating {
		m.Cause = Unresponsive
	}
	return m
}

// because is a machine that is being terminated, after a hint, for a cause.
func because(cause Event) Machine {
	m := at(terminating)
	m.Cause = cause
	return m
}

// killed is a victim without checkpoints.
func killed() Machine {
	m := because(Preempted)
	m.Checkpoint, m.Job = none, model.Running
	return m
}

// The table of transitions. Seconds are deadlines from now on; the deadline of a
// phase that goes on is 100.
func TestNext(t *testing.T) {
	const keep, ever = 100, -1
	const checkpointing, running, suspended, failed, completed, timeout, cancelled = model.Checkpointing, model.Running,
		model.Suspended, model.Failed, model.Completed, model.Timeout, model.Cancelled
	last := at(hintSent)
	last.Deferrals = 3
	for _, c := range []struct {
		from     Machine
		event    Event
		to       Phase
		job      model.JobState
		do       Action
		deadline int64
	}{
		{at(hintSent), Acked, writing, checkpointing, 0, keep},
		{at(hintSent), Written, Done, suspended, Release, ever},
		{at(hintSent), Defers, deferred, checkpointing, 0, 300},
		{last, Defers, hintSent, checkpointing, 0, keep},
		{at(hintSent), DeadlinePassed, terminating, checkpointing, Term, 30},
		{at(hintSent), Unresponsive, terminating, checkpointing, Term, 30},
		{at(hintSent), WalltimeReached, terminating, checkpointing, Term, 30},
		{at(hintSent), Withdrawn, terminating, checkpointing, Term, 30},
		{at(hintSent), WriteFailed, Done, failed, Kill | DropHint | Release, ever},
		{at(hintSent), NodeLost, Done, failed, Kill | DropHint | Release, ever},
		{at(hintSent), Finished, Done, completed, DropHint | Release, ever},
		{at(hintSent), Gone, Done, failed, DropHint | Release, ever},

		{at(deferred), Acked, writing, checkpointing, 0, 600},
		{at(deferred), Written, Done, suspended, Release, ever},
		{at(deferred), Defers, deferred, checkpointing, 0, keep},
		{at(deferred), DeadlinePassed, hintSent, checkpointing, Hint, 600},
		{at(deferred), Unresponsive, terminating, checkpointing, Term, 30},
		{at(deferred), WalltimeReached, terminating, checkpointing, Term, 30},
		{at(deferred), NodeLost, Done, failed, Kill | DropHint | Release, ever},
		{at(deferred), Finished, Done, completed, DropHint | Release, ever},

		{at(writing), Acked, writing, checkpointing, 0, keep},
		{at(writing), Defers, writing, checkpointing, 0, keep},
		{at(writing), Written, Done, suspended, Release, ever},
		{at(writing), DeadlinePassed, extended, checkpointing, 0, 300},
		{at(writing), Unresponsive, terminating, checkpointing, Term, 30},
		{at(writing), WalltimeReached, terminating, checkpointing, Term, 30},
		{at(writing), WriteFailed, Done, failed, Kill | DropHint | Release, ever},
		{at(writing), NodeLost, Done, failed, Kill | DropHint | Release, ever},
		{at(writing), Finished, Done, completed, DropHint | Release, ever},

		{at(extended), Acked, extended, checkpointing, 0, keep},
		{at(extended), Defers, extended, checkpointing, 0, keep},
		{at(extended), Written, Done, suspended, Release, ever},
		{at(extended), DeadlinePassed, terminating, checkpointing, Term, 30},
		{at(extended), NodeLost, Done, failed, Kill | DropHint | Release, ever},

		{at(terminating), Acked, terminating, checkpointing, 0, keep},
		{at(terminating), Defers, terminating, checkpointing, 0, keep},
		{at(terminating), Unresponsive, terminating, checkpointing, 0, keep},
		{at(terminating), Written, Done, suspended, Release, ever},
		{at(terminating), Gone, Done, failed, Release, ever},
		{at(terminating), Finished, Done, completed, Release, ever},
		{at(terminating), WriteFailed, Done, failed, Kill | Release, ever},
		{at(terminating), NodeLost, Done, failed, Kill | Release, ever},
		{at(terminating), WalltimeReached, terminating, checkpointing, 0, keep},
		{at(terminating), DeadlinePassed, Done, failed, Kill | Release, ever},

		// Walltime beats everything but a checkpoint that is whole within the grace.
		{because(WalltimeReached), Written, Done, suspended, Release, ever},
		{because(WalltimeReached), Gone, Done, timeout, Release, ever},
		{because(WalltimeReached), Finished, Done, timeout, Release, ever},
		{because(WalltimeReached), NodeLost, Done, timeout, Kill | Release, ever},
		{because(WalltimeReached), DeadlinePassed, Done, timeout, Kill | Release, ever},

		{because(Withdrawn), Written, terminating, checkpointing, 0, keep},
		{because(Withdrawn), Gone, Done, cancelled, Release, ever},
		{because(Withdrawn), Finished, Done, cancelled, Release, ever},
		{because(Withdrawn), DeadlinePassed, Done, cancelled, Kill | Release, ever},

		{Machine{}, Acked, unasked, running, 0, ever},
		{Machine{}, Written, unasked, running, 0, ever},
		{Machine{}, Unresponsive, unasked, running, 0, ever},
		{Machine{}, DeadlinePassed, unasked, running, 0, ever},
		{Machine{}, WalltimeReached, terminating, running, Term, 30},
		{Machine{}, Withdrawn, terminating, running, Term, 30},
		{Machine{}, Finished, Done, completed, Release, ever},
		{Machine{}, Gone, Done, failed, Release, ever},
		{Machine{}, NodeLost, Done, failed, Kill | Release, ever},

		{killed(), Written, terminating, running, 0, keep},
		{killed(), WriteFailed, terminating, running, 0, keep},
		{killed(), Gone, Done, failed, Release, ever},
		{killed(), Finished, Done, completed, Release, ever},
		{killed(), NodeLost, Done, failed, Kill | Release, ever},
		{killed(), DeadlinePassed, Done, failed, Kill | Release, ever},
	} {
		cfg := DefaultConfig()
		now := model.Time(0)
		want := model.Time(c.deadline) * model.Time(model.Second)
		if c.deadline == ever {
			want = model.Never
		}
		m, do, deadline := Next(c.from, c.event, &cfg, now)
		what := c.from.Phase.String() + " " + c.event.String()
		require.Equal(t, c.to.String(), m.Phase.String(), what)
		require.Equal(t, c.job.String(), m.Job.String(), what)
		require.Equal(t, c.do, do, what)
		require.Equal(t, want, deadline, what)
		require.Equal(t, deadline, m.Deadline, what)
	}
}

func TestBegin(t *testing.T) {
	cfg := DefaultConfig()
	now := model.Time(model.Hour)
	m, do, deadline := Begin(auto, &cfg, now)
	require.Equal(t, Machine{Phase: hintSent, Job: model.Checkpointing, Checkpoint: auto, Deadline: now.Add(600 * model.Second)}, m)
	require.Equal(t, Hint, do)
	require.Equal(t, m.Deadline, deadline)
	m, do, deadline = Begin(none, &cfg, now)
	require.Equal(t, Machine{Phase: terminating, Job: model.Running, Checkpoint: none, Deadline: now.Add(30 * model.Second)}, m)
	require.Equal(t, Term, do)
	require.Equal(t, m.Deadline, deadline)
}

// run leads a victim through events, each a second after the one before, or at
// its deadline.
func run(t require.TestingT, ck model.Checkpoint, events ...Event) (Machine, model.Time) {
	cfg := DefaultConfig()
	now := model.Time(0)
	m, _, _ := Begin(ck, &cfg, now)
	for _, e := range events {
		now = now.Add(model.Second)
		if e == DeadlinePassed {
			now = m.Deadline
		}
		m, _, _ = Next(m, e, &cfg, now)
	}
	return m, now
}

func TestStories(t *testing.T) {
	for _, c := range []struct {
		what   string
		events []Event
		job    model.JobState
		cause  Event
		after  model.Duration // seconds
	}{
		{"writes in time", []Event{Acked, Written}, model.Suspended, Written, 2},
		{"writes within the extension", []Event{Acked, DeadlinePassed, Written}, model.Suspended, Written, 601},
		{"is late for good", []Event{Acked, DeadlinePassed, DeadlinePassed, DeadlinePassed}, model.Failed, DeadlinePassed, 930},
		{"never answers", []Event{DeadlinePassed, DeadlinePassed}, model.Failed, DeadlinePassed, 630},
		{"defers, writes", []Event{Defers, DeadlinePassed, Acked, Written}, model.Suspended, Written, 303},
		{"defers a fourth time", []Event{Defers, DeadlinePassed, Defers, DeadlinePassed, Defers, DeadlinePassed, Defers,
			DeadlinePassed, DeadlinePassed}, model.Failed, DeadlinePassed, 903 + 600 + 30},
		{"3 of 4 nodes write", []Event{Acked, WriteFailed}, model.Failed, WriteFailed, 2},
		{"loses a node while it writes", []Event{Acked, NodeLost}, model.Failed, NodeLost, 2},
		{"ends while the hint is on its way", []Event{Finished, Acked, Written}, model.Completed, Finished, 3},
		{"reaches its walltime, writes in the grace", []Event{Acked, WalltimeReached, Written}, model.Suspended, Written, 3},
		{"reaches its walltime, is killed", []Event{Acked, WalltimeReached, DeadlinePassed}, model.Timeout, WalltimeReached, 32},
		{"reaches its walltime in the grace", []Event{Unresponsive, WalltimeReached, DeadlinePassed}, model.Timeout, WalltimeReached, 31},
		{"is withdrawn, whatever it writes", []Event{Acked, Withdrawn, Written, WalltimeReached, DeadlinePassed}, model.Cancelled, Withdrawn, 32},
	} {
		m, now := run(t, auto, c.events...)
		require.Equal(t, Done, m.Phase, c.what)
		require.Equal(t, c.job.String(), m.Job.String(), c.what)
		require.Equal(t, c.cause.String(), m.Cause.String(), c.what)
		require.Equal(t, model.Time(c.after*model.Second), now, c.what)
	}
	m, _ := run(t, manual, Defers, DeadlinePassed, Defers, DeadlinePassed, Defers, DeadlinePassed, Defers, DeadlinePassed, Defers)
	require.Equal(t, deferred, m.Phase, "its own checkpoints defer five times")
	m, now := run(t, none, DeadlinePassed)
	require.Equal(t, model.Failed, m.Job)
	require.Equal(t, Preempted, m.Cause)
	require.Equal(t, model.Time(30*model.Second), now)
}

// Lattice's sink asks for RUNNING to SUSPENDED, which its table refuses. Here a
// job is suspended out of CHECKPOINTING, and one without checkpoints never is.
func TestDefectD10SuspendWithoutCheckpointing(t *testing.T) {
	require.False(t, model.Running.CanBecome(model.Suspended))
	cfg := DefaultConfig()
	for _, ck := range []model.Checkpoint{auto, manual} {
		m, _, _ := Begin(ck, &cfg, 0)
		require.True(t, model.Running.CanBecome(m.Job))
		next, _, _ := Next(m, Written, &cfg, 1)
		require.True(t, m.Job.CanBecome(next.Job))
		require.Equal(t, model.Suspended, next.Job)
	}
	m, _, _ := Begin(none, &cfg, 0)
	m, _, _ = Next(m, Written, &cfg, 1)
	require.Equal(t, model.Running, m.Job)
}

// Whatever happens, a victim is gone within the longest time, takes legal steps
// only, is asked to write at most once more than it defers, and is told TERM and
// to release its nodes once.
func TestEveryVictimLeaves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := DefaultConfig()
		cfg.Extension = model.Fixed(rapid.Int64Range(0, int64(2*model.One)).Draw(t, "extension"))
		cfg.DeferralsAuto = rapid.Int32Range(0, 4).Draw(t, "deferrals")
		ck := model.Checkpoint(rapid.IntRange(0, 2).Draw(t, "checkpoint"))
		now := model.Time(0)
		m, do, _ := Begin(ck, &cfg, now)
		require.True(t, m.Job == model.Running || model.Running.CanBecome(m.Job))
		told := map[Action]int32{}
		tell := func(do Action) {
			for bit := Hint; bit <= Release; bit <<= 1 {
				if do&bit != 0 {
					told[bit]++
				}
			}
		}
		tell(do)
		for m.Phase != Done {
			before := m
			e := Event(rapid.IntRange(int(Preempted), int(Withdrawn)).Draw(t, "event"))
			left := m.Deadline.Sub(now)
			wait := model.Duration(rapid.Int64Range(0, int64(left)).Draw(t, "wait"))
			if wait == left || rapid.IntRange(0, 2).Draw(t, "idle") == 0 {
				e, wait = DeadlinePassed, left
			}
			if e == DeadlinePassed {
				wait = left
			}
			now = now.Add(wait)
			m, do, _ = Next(m, e, &cfg, now)
			tell(do)
			if m.Job != before.Job {
				require.True(t, before.Job.CanBecome(m.Job), "%s %s: %s to %s", before.Phase, e, before.Job, m.Job)
			}
			require.Equal(t, m.Phase == Done, m.Deadline == model.Never)
			require.False(t, m.Deadline < now)
		}
		require.True(t, m.Job == model.Suspended || m.Job.Terminal(), m.Job)
		require.LessOrEqual(t, now, model.Time(0).Add(cfg.Longest(ck)))
		require.LessOrEqual(t, told[Hint], 1+m.Deferrals)
		require.LessOrEqual(t, told[Term], int32(1))
		require.LessOrEqual(t, told[Kill], int32(1))
		require.Equal(t, int32(1), told[Release])
		for e := Preempted; e <= Withdrawn; e++ {
			still, do, deadline := Next(m, e, &cfg, now)
			require.Equal(t, m, still, "nothing leads out")
			require.Zero(t, do)
			require.Equal(t, model.Never, deadline)
		}
	})
}
