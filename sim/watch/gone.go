package watch

import (
	"fmt"
	"maps"
	"slices"

	"orrery/scheduler/model"
)

// releases is that jobs which wait for others go on when these are over: invariant 34.
type releases struct {
	*base
	system  *system
	flights *flights
	aside   map[model.JobID]bool // as Config.Aside says, once asked for
}

// moves checks invariant 34 at the end of a replay: a job waits for others only while one of them is not over. whole
// says that no row is still to come.
func (rl *releases) moves(whole bool) {
	asked := map[model.JobID]bool{}         // to be withdrawn, which is not answered yet
	for _, x := range rl.flights.underWay { //detlint:ordered whether any of a job's is a withdrawal
		asked[x.job.Job] = asked[x.job.Job] || x.kind == model.ProposeCancel
	}
	for _, id := range slices.Sorted(maps.Keys(rl.system.jobs)) {
		if j := rl.system.jobs[id]; j.state == model.Pending && len(j.Deps) > 0 && !asked[id] {
			rl.unreleased(j, whole)
		}
	}
}

func (rl *releases) unreleased(j *job, whole bool) {
	open := false
	for _, d := range j.Deps {
		switch on := rl.system.jobs[d.On]; {
		case d.Condition == model.Mutex:
		case on == nil && rl.system.outcome(d.On) == model.Pending && whole:
			rl.fail(34, j, fmt.Sprintf("it waits at the end for row %d, of which the log has nothing", d.On), "that a row for which others wait is submitted, or told to be over")
			return
		case on != nil || rl.system.outcome(d.On) == model.Pending:
			open = open || !rl.system.holdsNow(j, d)
		case !rl.system.holdsNow(j, d):
			rl.fail(34, j, fmt.Sprintf("it waits at the end, and the job of row %d is %s", d.On, rl.system.outcome(d.On)), "that it is withdrawn, for the condition "+d.Condition.String()+" cannot hold any more")
			return
		}
	}
	if open || j.Hold || j.Eligible > rl.now || j.flying != nil || rl.cfg.Aside == nil {
		return
	}
	if rl.aside == nil {
		rl.aside = rl.cfg.Aside()
	}
	if rl.aside[j.Job] {
		rl.fail(34, j, "it is in no queue at the end", "one: all that it waits for is over, and the conditions hold")
	}
}
