package watch

import (
	"fmt"
	"maps"
	"slices"

	"orrery/scheduler/model"
)

// reach makes room for what is kept of a job that is over.
func (w *Watcher) reach(id model.JobID) {
	for int(id) >= len(w.past) {
		w.past = append(w.past, past{})
	}
}

// neverComes takes in that a job is over which is never submitted. It checks invariant 2.
func (w *Watcher) neverComes(f *model.Fact) {
	if f.Job < 0 || w.jobs[f.Job] != nil || w.outcome(f.Job) != model.Pending || !f.Outcome.Terminal() {
		w.unknownJob(2, f.Job, "that it is never submitted, "+f.Outcome.String(), "a job that was not submitted, and how it ended")
		return
	}
	w.reach(f.Job)
	w.past[f.Job] = past{state: f.Outcome, group: -1, never: true}
}

// moves checks invariant 34 at the end of a replay: a job waits for others only while one of
// them is not over. whole says that no row is still to come.
func (w *Watcher) moves(whole bool) {
	asked := map[model.JobID]bool{} // to be withdrawn, which is not answered yet
	for _, x := range w.flights {   //detlint:ordered whether any of a job's is a withdrawal
		asked[x.job.Job] = asked[x.job.Job] || x.kind == model.ProposeCancel
	}
	for _, id := range slices.Sorted(maps.Keys(w.jobs)) {
		if j := w.jobs[id]; j.state == model.Pending && len(j.Deps) > 0 && !asked[id] {
			w.unreleased(j, whole)
		}
	}
}

func (w *Watcher) unreleased(j *job, whole bool) {
	open := false
	for _, d := range j.Deps {
		switch on := w.jobs[d.On]; {
		case d.Condition == model.Mutex:
		case on == nil && w.outcome(d.On) == model.Pending && whole:
			w.fail(34, j, fmt.Sprintf("it waits at the end for row %d, of which the log has nothing", d.On), "that a row for which others wait is submitted, or told to be over")
			return
		case on != nil || w.outcome(d.On) == model.Pending:
			open = open || !w.holdsNow(j, d)
		case !w.holdsNow(j, d):
			w.fail(34, j, fmt.Sprintf("it waits at the end, and the job of row %d is %s", d.On, w.outcome(d.On)), "that it is withdrawn, for the condition "+d.Condition.String()+" cannot hold any more")
			return
		}
	}
	if open || j.Hold || j.Eligible > w.now || j.flying != nil || w.cfg.Aside == nil {
		return
	}
	if w.aside == nil {
		w.aside = w.cfg.Aside()
	}
	if w.aside[j.Job] {
		w.fail(34, j, "it is in no queue at the end", "one: all that it waits for is over, and the conditions hold")
	}
}
