package watch

import (
	"cmp"
	"fmt"
	"slices"

	"orrery/scheduler/drive"
	"orrery/scheduler/model"
)

// PlainConfig is what the invariants need to know of a plain cluster and of how
// it is scheduled.
type PlainConfig struct {
	Units   []int32 // of each node
	Overrun bool    // jobs may outlive their request
	// FCFS says that the queue is in the order of submission and that what the
	// scheduler predicts is what this watcher predicts: one-core nodes, jobs that
	// are gone when their request is over, answers at once, a pass for all facts of
	// an instant.
	FCFS bool
	// Prompt says that a pass follows every fact at once, on one-core nodes.
	Prompt   bool
	Backfill string     // none, first-fit, easy or conservative
	Begin    model.Time // submissions of before are observed then
	// Reserved is the start of the reservation of a waiting job, by the scheduler's own word, Never
	// without one; nil where reservations may move to a later instant, or are not known.
	Reserved func(ref model.Ref) model.Time
}

// Plain checks the log of a plain cluster. It implements the recorder port and
// the sink of records. Cost: each fact what it names; a start behind a blocked
// job the running jobs, and an instant the waiting ones, where the policy is one
// to check.
type Plain struct {
	drive.Unrecorded // but for facts, passes and proposals
	Report
	cfg  PlainConfig
	now  model.Time
	free []int32
	idle int64 // units

	jobs    map[model.JobID]*plainJob // in the system, or left and not recorded
	waiting []*plainJob               // not proposed, in order of their rows
	flying  []*plainJob               // proposed
	running []*plainJob
	left    int64
	ends    []end
	steps   []step // of invariant 11
}

// plainJob is what the log says about a job.
type plainJob struct {
	id       model.JobID
	state    model.JobState
	submit   model.Time
	walltime model.Duration
	request  model.Request
	proposed bool
	recorded bool
	held     []model.NodeShare
	start    model.Time
	ref      model.Ref
	slot     model.Time // its reservation
	reserved bool       // it has one
}

// NewPlain returns the watcher of an idle machine.
func NewPlain(cfg PlainConfig) *Plain {
	w := &Plain{cfg: cfg, now: model.AbsentTime, free: slices.Clone(cfg.Units), jobs: map[model.JobID]*plainJob{}}
	for _, u := range cfg.Units {
		w.idle += int64(u)
	}
	return w
}

func (w *Plain) fail(invariant int, id model.JobID, found, expected string) {
	w.Report.fail(Breach{Invariant: invariant, At: w.now, Job: id, Found: found, Expected: expected})
}

// clock checks invariant 1, and 10 when an instant is over.
func (w *Plain) clock(now model.Time) {
	if now < w.now {
		w.fail(1, -1, "an entry at "+now.String(), "none before "+w.now.String())
	}
	if now > w.now {
		w.settled()
	}
	w.now = now
}

// settled checks invariant 10: no job that could start is left waiting.
func (w *Plain) settled() {
	if !w.cfg.Prompt {
		return
	}
	for i, j := range w.waiting {
		if w.cfg.Backfill != "first-fit" && (i > 0 || !w.cfg.FCFS || w.cfg.Backfill == "conservative") {
			return
		}
		if int64(j.request.Units) <= w.idle {
			w.fail(10, j.id, fmt.Sprintf("it waits for %d of %d free units", j.request.Units, w.idle), "a start")
		}
	}
}

func plainByRow(j *plainJob, id model.JobID) int { return cmp.Compare(j.id, id) }

func plainInsert(list []*plainJob, j *plainJob) []*plainJob {
	i, _ := slices.BinarySearchFunc(list, j.id, plainByRow)
	return slices.Insert(list, i, j)
}

func plainRemove(list []*plainJob, j *plainJob) []*plainJob {
	if i, found := slices.BinarySearchFunc(list, j.id, plainByRow); found {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// Fact implements drive.Recorder.
func (w *Plain) Fact(now model.Time, f *model.Fact) {
	w.Facts++
	w.clock(now)
	if f.Kind == model.FactRestoringBegan || f.Kind == model.FactRestoringEnded {
		return
	}
	j := w.jobs[f.Job]
	if f.Kind == model.FactSubmitted {
		if j != nil {
			w.fail(2, f.Job, "a second submission", "one")
		}
		if max(f.Submit, w.cfg.Begin) != now {
			w.fail(4, f.Job, "it is observed at "+now.String(), "its submission, "+f.Submit.String())
		}
		j = &plainJob{id: f.Job, ref: f.Ref, submit: f.Submit, walltime: f.Walltime, request: f.Request}
		w.jobs[f.Job] = j
		w.waiting = plainInsert(w.waiting, j)
		return
	}
	if j == nil {
		w.fail(2, f.Job, "the fact "+f.Kind.String(), "a job in the system")
		return
	}
	switch f.Kind {
	case model.FactAssigned:
		w.assigned(j)
		j.proposed = false
	case model.FactEnded:
		w.become(j, model.Completed) // how a run ended is known to the record alone
		w.ended(j)
	case model.FactCancelled:
		w.become(j, model.Cancelled)
		w.waiting = plainRemove(w.waiting, j)
	case model.FactRefused:
		if j.state != model.Cancelled {
			w.fail(6, j.id, "a refusal: "+f.Reason.String(), "a start")
			w.waiting = plainInsert(w.waiting, j)
		}
		j.proposed = false
		w.flying = plainRemove(w.flying, j)
		if j.recorded {
			delete(w.jobs, j.id)
		}
	}
}

// become checks invariant 3.
func (w *Plain) become(j *plainJob, next model.JobState) {
	if !j.state.CanBecome(next) {
		w.fail(3, j.id, "it goes from "+j.state.String()+" to "+next.String(), "a legal transition")
	}
	j.state = next
}

func (w *Plain) assigned(j *plainJob) {
	w.become(j, model.Running)
	if !j.proposed {
		w.fail(6, j.id, "a start", "a proposal for it")
	}
	j.start = w.now
	w.flying = plainRemove(w.flying, j)
	w.running = plainInsert(w.running, j)
	for _, h := range j.held {
		if int(h.Node) >= len(w.free) {
			continue
		}
		w.idle -= int64(h.Units)
		if w.free[h.Node] -= h.Units; w.free[h.Node] < 0 {
			w.fail(5, j.id, fmt.Sprintf("%d units too many of node %d", -w.free[h.Node], h.Node), fmt.Sprintf("at most its %d in all", w.cfg.Units[h.Node]))
		}
	}
	if j.start < j.submit {
		w.fail(4, j.id, "a start", "none before its submission, "+j.submit.String())
	}
}

func (w *Plain) ended(j *plainJob) {
	w.running = plainRemove(w.running, j)
	for _, h := range j.held {
		if int(h.Node) < len(w.free) {
			w.free[h.Node] += h.Units
			w.idle += int64(h.Units)
		}
	}
	if span := w.now.Sub(j.start); !w.cfg.Overrun && span > j.walltime {
		w.fail(7, j.id, "it ran for "+span.String(), "at most "+j.walltime.String())
	}
}

// Proposed implements drive.Recorder. It checks invariants 6, 8 and 9.
func (w *Plain) Proposed(now model.Time, p *model.Proposal) {
	w.Proposals++
	w.clock(now)
	j := w.jobs[p.Job]
	if j == nil || j.state != model.Pending || j.proposed {
		w.fail(6, p.Job, "a proposal to start it", "that it waits, and that no such proposal is under way")
		return
	}
	var head *plainJob
	before := model.Never
	if len(w.waiting) > 0 && w.cfg.FCFS {
		head = w.waiting[0]
	}
	if head != nil && head != j && w.cfg.Backfill == "easy" {
		before = w.shadow(head)
	}
	w.waiting = plainRemove(w.waiting, j)
	w.flying = plainInsert(w.flying, j)
	j.proposed = true
	w.hold(j, &p.Placement)
	w.shape(j)
	if head == nil || head == j {
		return
	}
	switch w.cfg.Backfill {
	case "none":
		w.fail(8, j.id, fmt.Sprintf("it overtakes job of row %d", head.id), "starts in the order of the queue")
	case "easy":
		// A job that asks for no time is gone at once by its own word.
		w.Slips++
		if after := w.shadow(head); after > before && j.walltime > 0 {
			w.fail(9, j.id, fmt.Sprintf("its start puts the job of row %d off until %s", head.id, after), "no later than "+before.String())
		}
	}
}

// hold notes what a proposal gives to j, in units.
func (w *Plain) hold(j *plainJob, p *model.Placement) {
	j.held = slices.Clone(p.Shares)
	for _, x := range p.Words {
		for n := range x.Nodes {
			u := int32(0)
			if int(n) < len(w.cfg.Units) {
				u = w.cfg.Units[n]
			}
			j.held = append(j.held, model.NodeShare{Node: n, Units: u})
		}
	}
}

// shape checks that a job gets what it asks for, invariant 6.
func (w *Plain) shape(j *plainJob) {
	units, last := int32(0), model.NodeID(-1)
	for _, h := range j.held {
		if h.Node <= last || int(h.Node) >= len(w.cfg.Units) || h.Units < 1 || h.Units > w.cfg.Units[h.Node] ||
			j.request.Layout == model.PerNode && h.Units < j.request.PerNode {
			w.fail(6, j.id, fmt.Sprintf("%d units of node %d", h.Units, h.Node), fmt.Sprintf("distinct nodes of the cluster, and %d units on each", j.request.PerNode))
		}
		units, last = units+h.Units, h.Node
	}
	if units < j.request.Units || j.request.Layout == model.PerNode && len(j.held) != int(j.request.Nodes) {
		w.fail(6, j.id, fmt.Sprintf("%d units on %d nodes", units, len(j.held)), fmt.Sprintf("%d units, on %d nodes where it says so", j.request.Units, j.request.Nodes))
	}
}

// shadow is when a job is predicted to fit by count, on one-core nodes; what is
// overdue is predicted to end a second from now.
func (w *Plain) shadow(j *plainJob) model.Time {
	free := int32(len(w.cfg.Units))
	w.ends = w.ends[:0]
	add := func(o *plainJob, at model.Time) {
		if at <= w.now {
			at = w.now.Add(model.Second)
		}
		free -= o.request.Units
		w.ends = append(w.ends, end{at, o.request.Units})
	}
	for _, o := range w.running {
		add(o, o.start.Add(o.walltime))
	}
	for _, o := range w.flying {
		add(o, w.now.Add(o.walltime))
	}
	return room(w.now, free, j.request.Units, w.ends)
}

// room is the instant from now on at which so many of what is free and of what
// ends give back are enough.
func room(now model.Time, free, enough int32, ends []end) model.Time {
	slices.SortFunc(ends, func(a, b end) int { //detlint:total equal ends are summed before they are read
		return cmp.Compare(a.at, b.at)
	})
	at := now
	for i := 0; ; {
		if free >= enough {
			return at
		}
		if i == len(ends) {
			return model.Never
		}
		for at = ends[i].at; i < len(ends) && ends[i].at == at; i++ {
			free += ends[i].nodes
		}
	}
}

// Flush does nothing; it makes the watcher a sink.
func (w *Plain) Flush() error { return nil }

// Attempt takes the record of an attempt. It checks invariant 2.
func (w *Plain) Attempt(r *model.AttemptRecord) {
	w.Records++
	if j := w.jobs[r.Job]; j == nil || r.Start != j.start || r.End < w.now {
		w.fail(2, r.Job, fmt.Sprintf("an attempt from %s to %s", r.Start, r.End), "one of a job that runs, from its start")
	}
}

// Job takes the record of a job that left, or was refused, or had not left when
// the replay stopped. It checks invariants 2 and 4.
func (w *Plain) Job(r *model.JobRecord) {
	w.Records++
	j := w.jobs[r.Job]
	if !r.State.Terminal() && r.Reason == model.ReasonEndOfRun {
		if j == nil || j.recorded || j.state != r.State {
			w.fail(2, r.Job, "it is unfinished, "+r.State.String(), "that it is in the system in this state")
		}
		return
	}
	w.left++
	if r.State == model.Rejected {
		if j != nil {
			w.fail(2, r.Job, "it is rejected and submitted", "one of both")
		}
		return
	}
	if j == nil || j.recorded || !j.state.Terminal() || !r.State.Terminal() {
		w.fail(2, r.Job, "it is recorded as "+r.State.String(), "a job that has just left")
		return
	}
	if j.recorded = true; !j.proposed { // else its refusal is still to come
		delete(w.jobs, r.Job)
	}
	if r.Submit > r.Eligible || r.Start != model.AbsentTime && r.Start < r.Eligible || r.End < r.Submit {
		w.fail(4, r.Job, fmt.Sprintf("submitted %s, eligible %s, started %s, left %s", r.Submit, r.Eligible, r.Start, r.End), "these in order")
	}
}

// Finish checks at the end of a replay that nothing is held and that every row
// is accounted for: invariants 2 and 5.
func (w *Plain) Finish(e End) {
	rows, dropped, unfinished := e.Rows, e.Dropped, e.Unfinished
	for n, f := range w.free {
		if len(w.running) == 0 && f != w.cfg.Units[n] {
			w.fail(5, -1, fmt.Sprintf("%d of %d units of node %d free at the end", f, w.cfg.Units[n], n), "all")
		}
	}
	if w.left+dropped+unfinished != rows {
		w.fail(2, -1, fmt.Sprintf("%d rows", rows), fmt.Sprintf("the %d that left, %d that were dropped and %d that are unfinished", w.left, dropped, unfinished))
	}
}

type end struct {
	at    model.Time
	nodes int32
}
