package watch

import (
	"fmt"

	"orrery/scheduler/model"
)

// Attempt takes the record of an attempt, which comes before the fact that ends it. It checks invariants 2 and 30.
func (w *Watcher) Attempt(r *model.AttemptRecord) {
	w.Records++
	j := w.system.jobs[r.Job]
	if j == nil || j.state != model.Running && j.state != model.Checkpointing {
		w.unknownJob(2, r.Job, "the record of an attempt", "a job that runs")
		return
	}
	if r.Start != j.start || r.End < w.now || r.Attempt != j.attempts || r.Nodes != j.nodes {
		w.fail(2, j, fmt.Sprintf("attempt %d on %d nodes from %s to %s", r.Attempt, r.Nodes, r.Start, r.End),
			fmt.Sprintf("attempt %d on %d nodes from %s", j.attempts, j.nodes, j.start))
	}
	if r.Kept < 0 || r.Lost < 0 || r.Kept+r.Lost > r.End.Sub(r.Start) {
		w.fail(30, j, fmt.Sprintf("work of %s kept and of %s lost", r.Kept, r.Lost), "no more than the attempt of "+r.End.Sub(r.Start).String())
	}
	j.ended = r.End
	j.kept, j.last = j.kept+r.Kept, r.Lost
}

// Job takes the record of a job that left, or was refused, or is left over when nothing can happen any more. It
// checks invariants 2, 4, 29 and 30.
func (w *Watcher) Job(r *model.JobRecord) {
	w.Records++
	w.left++
	switch {
	case r.State == model.Rejected && w.system.leavers[r.Job] == nil:
		if w.system.jobs[r.Job] != nil || w.system.outcome(r.Job) != model.Pending && !w.system.gone(r.Job).never {
			w.unknownJob(2, r.Job, "it is rejected and submitted", "one of both")
		}
		return
	case !r.State.Terminal() && r.Reason == model.ReasonEndOfRun:
		w.open++
		if j := w.system.jobs[r.Job]; j == nil || j.state != r.State {
			w.unknownJob(2, r.Job, "it is unfinished, "+r.State.String(), "that it is in the system in this state")
		}
		return
	}
	j := w.system.leavers[r.Job]
	if j == nil {
		w.unknownJob(2, r.Job, "it is recorded as "+r.State.String(), "a job that has just left")
		return
	}
	delete(w.system.leavers, r.Job)
	if r.State != j.state || r.Attempts != j.attempts || r.Requeues != j.requeues {
		w.fail(2, j, fmt.Sprintf("%s after %d attempts and %d requeues", r.State, r.Attempts, r.Requeues),
			fmt.Sprintf("%s after %d and %d", j.state, j.attempts, j.requeues))
	}
	if r.Submit != j.Submit || r.Eligible < r.Submit || r.Start != model.AbsentTime && r.Start < r.Eligible || r.End < r.Submit {
		w.fail(4, j, fmt.Sprintf("submitted %s, eligible %s, started %s, left %s", r.Submit, r.Eligible, r.Start, r.End), "these in order")
	}
	if r.Allocated.Nodes != j.nodeTime {
		w.fail(29, j, model.Duration(r.Allocated.Nodes).String()+" of node time recorded", model.Duration(j.nodeTime).String())
	}
	before := model.Duration(0) // worked off before a warm start
	switch more := r.Runtime - j.kept - j.last; {
	case more <= 0 || r.Submit >= w.cfg.Begin:
	case r.Start != model.AbsentTime && r.Start < w.cfg.Begin:
		before = w.cfg.Begin.Sub(r.Start)
	case more <= w.cfg.Begin.Sub(r.Submit): // it found no place then, and when it had started is in no record
		before = more
	}
	if j.attempts > 0 && r.Runtime != before+j.kept+j.last {
		w.fail(30, j, "work of "+r.Runtime.String()+" recorded", fmt.Sprintf("the %s kept by its attempts and the %s lost in the one that it left with", j.kept, j.last))
	}
}

// Flush does nothing; it makes the watcher a sink.
func (w *Watcher) Flush() error { return nil }

// End is what a replay counted.
type End struct {
	Rows, Dropped, Unfinished int64
	Whole                     bool // no row is still to come, nor held back
}

// Finish checks at the end of a replay that every row is accounted for, and that no job waits for one that is over:
// invariants 2 and 34. Some rows are dropped, some jobs are unfinished.
func (w *Watcher) Finish(e End) {
	rows, dropped, unfinished := e.Rows, e.Dropped, e.Unfinished
	w.states.vacated()
	w.releases.moves(e.Whole)
	if w.cfg.Records && w.left-w.open+dropped+unfinished != rows {
		w.fail(2, nil, fmt.Sprintf("%d rows", rows), fmt.Sprintf("the %d that left, %d that were dropped and %d that are unfinished", w.left-w.open, dropped, unfinished))
	}
	if int64(len(w.system.jobs)) != unfinished {
		w.fail(2, nil, fmt.Sprintf("%d jobs in the system at the end", len(w.system.jobs)), fmt.Sprintf("the %d that are unfinished", unfinished))
	}
	if unfinished == 0 {
		for i := range w.ledger.nodes {
			if n := &w.ledger.nodes[i]; n.jobs != 0 || n.taken != 0 {
				w.fail(5, n.whole, fmt.Sprintf("%d jobs on node %s at the end", n.jobs, w.site.Nodes[i].Name), "none")
			}
		}
	}
}
