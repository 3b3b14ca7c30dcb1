// Package world is the simulated world behind the scheduler's ports: it runs the jobs that the quorum granted for
// as long as they truly run, delays the quorum's answers, and hands what has
// ended to the recorder. It makes no scheduling decision.
package world

import (
	"math/bits"

	"orrery/scheduler/model"
	"orrery/scheduler/quorum"
	"orrery/sim/des"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// Config of a world.
type Config struct {
	Cluster         model.Cluster
	translate.Plain // how rows of the trace are read
	// The answer to a proposal comes after Latency and a uniform part of
	// Jitter, drawn by Seed, job and try; 0 and 0 answer at once.
	Latency model.Duration
	Jitter  model.Duration
	Seed    uint64
	// Expected says that jobs which have not left at the end are recorded with the
	// run time that they would have come to, where that is known.
	Expected bool
}

// Sink takes what has ended. A record is valid during the call only; a sink
// that fails says so when it is closed.
type Sink interface {
	Job(*model.JobRecord)
	Attempt(*model.AttemptRecord)
}

// World is the simulated world of a plain cluster. It implements drive.Quorum and
// drive.NodeAgents. Its units are all alike and no hardware is known of them, so jobs work
// at the speed at which they were recorded: only those of a Site have a rate.
type World struct {
	lifecycle
	cfg    Config
	quorum *quorum.State
	jobs   []plainJob // by Ref
}

// plainJob is a job in the system.
type plainJob struct {
	job
	busy int32        // units of the nodes held
	why  model.Reason // for which it ends by itself
}

// New returns a world with an idle cluster that reports to sink.
func New(cfg Config, sink Sink) *World {
	return &World{lifecycle: lifecycle{sink: sink}, cfg: cfg, quorum: quorum.New(cfg.Cluster)}
}

// Next is the instant of the next event, model.Never when nothing is under way.
func (w *World) Next() model.Time { return w.events.Next() }

// Submission turns row i of b into a fact, which it puts into f. ok is false when the
// row is dropped by a rule or rejected because possible says that it can never fit.
func (w *World) Submission(b *traces.Batch, i int, possible func(model.Request) bool, f *model.Fact) (ok bool) {
	*f = model.Fact{} // no job of a plain cluster waits for another
	var s translate.Submission
	id := b.ID[i]
	met, ok := w.cfg.Plain.Submission(b, i, &s)
	if !ok {
		w.Special.Note(met, id)
		return false
	}
	j := job{
		truth: s.Truth,
		rec: model.JobRecord{
			Job: b.First + model.JobID(i), ID: id, User: b.User[i], Submit: b.Submit[i], Eligible: b.Submit[i],
			Start: s.Start, Procs: s.Request.Units, Walltime: s.Walltime,
		},
	}
	w.State.Submitted++
	if !possible(s.Request) {
		w.Special.Note(met.Rejected(), id)
		j.rec.State, j.rec.Reason, j.rec.Start = model.Rejected, model.ReasonTooLarge, model.AbsentTime
		w.leave(&j, w.cfg.Warm.From(b.Submit[i]))
		return false
	}
	w.Special.Note(met, id)
	w.enter(&j, s.Request, f)
	return true
}

// Inspect says whether row i of b could never fit; it submits nothing.
func (w *World) Inspect(b *traces.Batch, i int, possible func(model.Request) bool) (tooLarge bool) {
	req, asked := w.cfg.Request(b, i)
	return asked && !possible(req)
}

// enter gives a job a ref and commits its submission, which it puts into f.
func (w *World) enter(j *job, request model.Request, f *model.Fact) {
	ref, ok := w.unusedRef()
	if !ok {
		ref = model.Ref(len(w.jobs))
		w.jobs = append(w.jobs, plainJob{})
	}
	j.present = true
	w.jobs[ref] = plainJob{job: *j}
	if j.truth.Cancel != model.AbsentTime {
		w.events.Push(des.NewEvent(j.truth.Cancel, des.RankCancel, j.rec.Job, ref))
	}
	w.State.Waiting++
	w.State.QueuedUnits += int64(j.rec.Procs)
	*f = model.Fact{
		Kind: model.FactSubmitted, Job: j.rec.Job, Ref: ref,
		Submit: j.rec.Submit, Walltime: translate.Remaining(j.rec.Walltime, j.truth.Ran), Request: request,
	}
	w.quorum.Apply(f)
}

// Take appends the facts of the instant t to dst in order: ends, answers of the
// quorum, withdrawals.
func (w *World) Take(t model.Time, dst []model.Fact) []model.Fact {
	w.batch = w.events.Take(t, des.RankChange, w.batch[:0])
	w.facts = dst
	for _, e := range w.batch {
		switch e.Rank() {
		case des.RankEnd, des.RankExpiry:
			w.end(t, e.Ref())
		case des.RankQuorum:
			w.answer(e.Ref())
		case des.RankCancel:
			// The job may have started, or left and its ref been used again.
			if j := &w.jobs[e.Ref()]; j.rec.Job == e.Job() && j.rec.State == model.Pending {
				w.withdraw(t, e.Ref())
			}
		}
	}
	return w.facts
}

// Submit implements drive.Quorum.
func (w *World) Submit(now model.Time, proposals []model.Proposal, dst []model.Fact) []model.Fact {
	for i := range proposals {
		p := &proposals[i]
		if namesNone(p, len(w.jobs)) {
			dst = append(dst, w.quorum.Decide(p)) // which refuses it
			continue
		}
		if w.cfg.Latency == 0 && w.cfg.Jitter == 0 || w.immediate {
			dst = append(dst, w.decide(p))
			continue
		}
		j := &w.jobs[p.Ref].job
		at := now.Add(j.latency(w.cfg.Latency, w.cfg.Jitter, w.cfg.Seed))
		w.events.Push(des.NewEvent(at, des.RankQuorum, p.Job, w.send(p, j, nil)))
	}
	return dst
}

// answer lets the quorum decide a proposal that was under way.
func (w *World) answer(row model.Ref) {
	f := &w.proposals[row]
	if f.keepsJob {
		w.receive(f.Ref, &w.jobs[f.Ref].job)
	}
	w.facts = append(w.facts, w.decide(&f.Proposal))
	w.answered = append(w.answered, row)
}

func (w *World) decide(p *model.Proposal) model.Fact {
	f := w.quorum.Decide(p)
	if f.Kind == model.FactAssigned {
		j := &w.jobs[p.Ref]
		j.seq, j.rec.State = p.Seq, model.Running // a withdrawal at this instant comes too late
	}
	return f
}

// Start implements drive.NodeAgents: the job under ref begins on the nodes that
// the quorum granted, and its end becomes an event.
func (w *World) Start(now model.Time, ref model.Ref) {
	j := &w.jobs[ref]
	j.rec.Attempts++
	if j.rec.Start == model.AbsentTime {
		j.rec.Start = now
	}
	j.rec.Nodes, j.busy = w.extent(w.quorum.Held(ref))
	w.State.Waiting--
	w.State.Running++
	w.State.Started++
	w.State.QueuedUnits -= int64(j.rec.Procs)
	w.State.BusyUnits += int64(j.busy)
	d, why := w.lasts(now, j)
	j.why = why
	end, rank := now.Add(d), des.RankEnd
	if why == model.ReasonWalltimeLimit {
		rank = des.RankExpiry
	}
	w.events.Push(des.NewEvent(end, rank, j.rec.Job, ref))
}

// lasts says for how long the job runs from now on, and why it ends then.
func (w *World) lasts(now model.Time, j *plainJob) (d model.Duration, why model.Reason) {
	d = translate.Remaining(j.truth.Runtime, j.truth.Ran)
	if d == model.AbsentDuration {
		// It never ran in the log and its owner withdrew it then: started
		// here, it runs until its owner does the same.
		d, why = j.truth.Cancel.Sub(now), model.ReasonCancelled
	}
	if most := translate.Remaining(j.rec.Walltime, j.truth.Ran); w.cfg.Policy.Overrun == translate.Kill && d > most {
		d, why = most, model.ReasonWalltimeLimit
	}
	return d, why
}

// extent counts the nodes of a placement and the units they take up.
func (w *World) extent(p *model.Placement) (nodes, units int32) {
	for _, m := range p.Words {
		nodes += int32(bits.OnesCount64(m.Mask))
	}
	units = nodes * w.cfg.Cluster.Units[0]
	for _, s := range p.Shares {
		nodes++
		units += s.Units
	}
	return nodes, units
}

func (w *World) end(t model.Time, ref model.Ref) {
	j := &w.jobs[ref]
	outcome := model.Completed
	switch j.why {
	case model.ReasonWalltimeLimit:
		outcome = model.Timeout
	case model.ReasonCancelled:
		outcome = model.Cancelled
	}
	start := j.rec.Start
	w.attempt = model.AttemptRecord{
		Job: j.rec.Job, ID: j.rec.ID, Attempt: j.rec.Attempts, Start: w.cfg.Warm.From(start), End: t,
		Outcome: outcome, Procs: j.rec.Procs, Placement: *w.quorum.Held(ref),
	}
	w.sink.Attempt(&w.attempt)
	j.rec.State, j.rec.Reason, j.rec.Runtime = outcome, j.why, t.Sub(start)
	w.State.Running--
	w.State.Ended++
	w.State.BusyUnits -= int64(j.busy)
	w.depart(t, ref, model.FactEnded)
}

func (w *World) withdraw(t model.Time, ref model.Ref) {
	j := &w.jobs[ref]
	j.rec.State, j.rec.Reason = model.Cancelled, model.ReasonCancelled
	w.State.Waiting--
	w.State.QueuedUnits -= int64(j.rec.Procs)
	w.depart(t, ref, model.FactCancelled)
}

// depart commits that the job under ref left, and vacates the ref.
func (w *World) depart(t model.Time, ref model.Ref, kind model.FactKind) {
	j := &w.jobs[ref]
	f := model.Fact{Kind: kind, Job: j.rec.Job, Ref: ref, Seq: j.seq, Reason: j.rec.Reason}
	w.quorum.Apply(&f)
	w.facts = append(w.facts, f)
	w.leave(&j.job, t)
	w.vacate(ref, &j.job)
}

// Abandon hands the jobs that are still in the system to the recorder, as they
// are, because nothing can happen any more. It returns their number.
func (w *World) Abandon(now model.Time) int64 {
	n := int64(0)
	for ref := range w.jobs {
		j := &w.jobs[ref]
		if !j.present {
			continue
		}
		n++
		ran := j.rec.Runtime
		if j.rec.State == model.Running {
			ran = now.Sub(j.rec.Start)
		}
		w.abandon(&j.job, now, ran, w.cfg.Expected, w.cfg.Policy.Overrun)
	}
	w.Close()
	return n
}
