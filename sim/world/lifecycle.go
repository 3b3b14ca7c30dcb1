package world

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/des"
	"orrery/sim/world/translate"
)

// lifecycle is what the worlds of a plain cluster and of a site share: the events
// ahead, proposals under way to the quorum and jobs on their way out. A job keeps its
// ref until the instant at which it left is over and no proposal names it any more.
type lifecycle struct {
	Special translate.SpecialRows
	State   State

	sink      Sink
	events    des.Queue
	batch     []des.Event
	facts     []model.Fact      // of the Take under way
	left      []model.JobRecord // at this instant
	attempt   model.AttemptRecord
	unused    []model.Ref
	vacated   []model.Ref // become unused when the instant is over
	proposals []proposal  // under way to the quorum
	answered  []model.Ref // rows of proposals that are unused
	immediate bool        // the quorum answers at once, at a warm start
}

// State counts what the world holds now, of a site in the units of Rows.Shared.
type State struct {
	BusyUnits   int64 // units of allocated nodes
	QueuedUnits int64 // units asked for by waiting jobs
	Waiting     int32
	Running     int32
	Started     int64 // jobs, since the beginning
	Ended       int64 // running jobs that came to an end
	Submitted   int64 // rejected ones included
	Left        int64 // jobs that left the system in any way
}

// job is the truth about a job in the system.
type job struct {
	rec      model.JobRecord // what changes; on a site what the request says comes when it leaves
	truth    translate.Truth
	seq      uint64 // of the granted proposal
	tries    uint32 // proposals so far
	inFlight int32  // proposals that wait for an answer
	present  bool   // in the system
}

// proposal is one that waits for its answer.
type proposal struct {
	model.Proposal
	// Its job and its victim keep their refs until the answer, if they were in
	// the system when it was made.
	keepsJob, keepsVictim bool
}

var latencyStream = draw.StreamOf("quorum latency")

// latency is how long the quorum takes to answer the next proposal of j: fixed, and a
// uniform part of jitter.
func (j *job) latency(fixed, jitter model.Duration, seed uint64) model.Duration {
	if jitter > 0 {
		src := draw.New(seed, latencyStream, uint64(j.rec.Job), uint64(j.tries))
		fixed += model.Duration(src.IntN(int64(jitter) + 1))
	}
	j.tries++
	return fixed
}

// unusedRef takes a ref that no job has; ok is false when there is none.
func (c *lifecycle) unusedRef() (ref model.Ref, ok bool) {
	n := len(c.unused)
	if n == 0 {
		return 0, false
	}
	ref = c.unused[n-1]
	c.unused = c.unused[:n-1]
	return ref, true
}

// send puts a proposal of j, which would preempt victim unless that is nil, under way.
// It returns the row of the proposal, which takes the place of a ref in the event of
// its answer.
func (c *lifecycle) send(p *model.Proposal, j, victim *job) (row model.Ref) {
	if n := len(c.answered); n > 0 {
		row = c.answered[n-1]
		c.answered = c.answered[:n-1]
	} else {
		row = model.Ref(len(c.proposals))
		c.proposals = append(c.proposals, proposal{})
	}
	f := &c.proposals[row]
	placement := f.Placement // keeps its space
	placement.Set(&p.Placement)
	f.Proposal = *p
	f.Placement = placement
	if f.keepsJob = j.present && j.rec.Job == p.Job; f.keepsJob {
		j.inFlight++
	}
	if f.keepsVictim = victim != nil && victim.present; f.keepsVictim {
		victim.inFlight++
	}
	return row
}

// namesNone says whether a proposal names a ref that none of so many jobs ever had.
func namesNone(p *model.Proposal, jobs int) bool {
	return p.Ref < 0 || int(p.Ref) >= jobs || p.Kind == model.ProposePreempt && (p.Victim < 0 || int(p.Victim) >= jobs)
}

// receive ends the wait of a job for an answer. One that left in the meantime has
// kept its ref for it.
func (c *lifecycle) receive(ref model.Ref, j *job) {
	if j.inFlight--; !j.present && j.inFlight == 0 {
		c.vacated = append(c.vacated, ref)
	}
}

// leave hands in the record of a job that left at t.
func (c *lifecycle) leave(j *job, t model.Time) {
	j.rec.End = t
	c.State.Left++
	c.left = append(c.left, j.rec)
}

// vacate takes the job under ref out of the system.
func (c *lifecycle) vacate(ref model.Ref, j *job) {
	j.present = false
	if j.inFlight == 0 {
		c.vacated = append(c.vacated, ref)
	}
}

// abandon hands in the record of a job that is in the system when the replay ends. Its
// run time is the one that it would have come to, where expected is set and that is
// known, else ran.
func (c *lifecycle) abandon(j *job, now model.Time, ran model.Duration, expected bool, o translate.Overrun) {
	j.rec.Reason, j.rec.Runtime = model.ReasonEndOfRun, ran
	if expected && j.truth.Runtime != model.AbsentDuration {
		if j.rec.Runtime = j.truth.Runtime; o == translate.Kill {
			j.rec.Runtime = min(j.truth.Runtime, j.rec.Walltime)
		}
	}
	c.leave(j, now)
}

// Leavers are the jobs that have left at this instant so far, in the order in which
// they did; valid until the world is asked to do anything.
func (c *lifecycle) Leavers() []model.JobRecord { return c.left }

// Close ends an instant: it hands the jobs that left at it to the recorder, by
// id, and lets their refs be used again.
func (c *lifecycle) Close() {
	if len(c.left) == 0 && len(c.vacated) == 0 {
		return
	}
	if len(c.left) > 1 {
		//detlint:total a job leaves once
		slices.SortFunc(c.left, func(a, b model.JobRecord) int { return int(a.Job) - int(b.Job) })
	}
	for i := range c.left {
		c.sink.Job(&c.left[i])
	}
	c.left = c.left[:0]
	c.unused = append(c.unused, c.vacated...)
	c.vacated = c.vacated[:0]
}
