package tune

import (
	"slices"

	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/search"
	"orrery/sim/task"
)

// runRequest is one run: a candidate on a part of a trace. Replica counts those with
// jittered arrivals from 1, 0 is the trace as it is; load is in thousandths, 0 for
// that of the trace.
type runRequest struct {
	of      *candidate
	trace   int
	scope   scope
	replica int
	load    int
}

// key names a run: candidates that are alike share theirs.
type key struct {
	id      string
	trace   int
	scope   scope
	replica int
	load    int
}

func (a runRequest) key() key { return key{a.of.id, a.trace, a.scope, a.replica, a.load} }

// task is the run to be computed.
func (t *tuner) task(a runRequest) task.Task {
	out := task.Task{Spec: a.of.specs[a.trace], Load: a.load}
	if a.replica > 0 {
		out.Jitter = &task.Jitter{By: t.opt.JitterBy, Seed: t.opt.Seed*1000 + uint64(a.replica)}
		if c := a.of.cluster; c != nil && len(c.Services) > 0 { // whose requests are drawn, too
			out.Spec.Seed = out.Jitter.Seed
		}
	}
	spans := a.scope.spans(t, a.trace)
	switch {
	case a.scope == screeningScope:
		out.Window, out.Brief = task.Around(spans, plan.DefaultFollow), spans
	case a.load > 0: // its windows are no windows of the trace
		out.Spec.WarmupJobs = plan.NoWarmup
	default:
		out.Spec.WarmupJobs, out.Brief = plan.NoWarmup, spans
		out.Cells = a.scope == wholeScope && a.replica == 0
	}
	if a.scope == detailScope || t.aboutGroups() { // of groups brief parts do not tell
		out.Parts, out.Brief = out.Brief, nil
	}
	return out
}

// cost is how many jobs a run replays, as counted by the budget: the jobs that are submitted
// in it. What shows how sure a recommendation is counts for nothing.
func (t *tuner) cost(a runRequest) (jobs int64) {
	if a.replica > 0 || a.load > 0 || a.scope == detailScope {
		return 0
	}
	for _, w := range a.scope.windows(t, a.trace) {
		jobs += w.Jobs
	}
	return jobs
}

// jobsIn is how many jobs a candidate replays in a scope, over all traces.
func (t *tuner) jobsIn(s scope) (jobs int64) {
	for _, a := range t.on(t.base(), s) {
		jobs += t.cost(a)
	}
	return jobs
}

// affordable is how many candidates more the budget pays for in a scope.
func (t *tuner) affordable(s scope) int {
	return int(max(t.opt.Budget-t.replayed, 0) / max(t.jobsIn(s), 1))
}

// run makes the runs that are asked for, of which those that are known are not
// computed again.
func (t *tuner) run(asked []runRequest) error {
	var fresh []task.Task
	var keys []key
	due := map[key]bool{}
	for _, a := range asked {
		if k := a.key(); t.known[k] == nil && !due[k] {
			due[k] = true
			t.replayed += t.cost(a)
			fresh, keys = append(fresh, t.task(a)), append(keys, k)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	results, err := t.opt.Evaluate(t.ctx, fresh)
	if err != nil {
		return err
	}
	for i := range results {
		t.known[keys[i]] = &results[i]
		if k := keys[i]; k.scope == screeningScope || k.load > 0 { // windows and other loads say the same of another part
			continue
		}
		for _, text := range results[i].Unheeded {
			if !slices.Contains(t.out.Unheeded, text) {
				t.out.Unheeded = append(t.out.Unheeded, text)
			}
		}
	}
	t.runs += len(fresh)
	return nil
}

// on are the runs of a candidate on all traces.
func (t *tuner) on(c *candidate, s scope) []runRequest {
	var out []runRequest
	for k := range t.problem.Traces {
		out = append(out, runRequest{of: c, trace: k, scope: s})
	}
	return out
}

// result is that of a run that was made.
func (t *tuner) result(c *candidate, s scope, trace, replica int) *task.Result {
	return t.known[runRequest{of: c, trace: trace, scope: s, replica: replica}.key()]
}

// figures are those of a window in a run that was made, the window by its place
// among all.
func (t *tuner) figures(c *candidate, s scope, window, replica int) *task.Figures {
	return partAt(t.result(c, s, t.windows[window].Trace, replica), t.inTrace(window))
}

// partAt is a part of a run by its place: all of a run are with groups, or none.
func partAt(r *task.Result, i int) *task.Figures {
	if len(r.Parts) > 0 {
		return &r.Parts[i]
	}
	return &r.Brief[i]
}

// aboutGroups says whether an objective is about a group of jobs.
func (t *tuner) aboutGroups() bool {
	return slices.ContainsFunc(t.opt.Objectives, func(o search.Objective) bool { return measureOf(o.Metric).By != "" })
}

// aboutWaits says whether an objective is made of waits, which say nothing of a queue
// that grows without end.
func (t *tuner) aboutWaits() bool {
	return slices.ContainsFunc(t.opt.Objectives, func(o search.Objective) bool { return metric.Lengthens(o.Metric) })
}

// all are the figures of several windows.
func (t *tuner) all(c *candidate, s scope, windows []int) []*task.Figures {
	var out []*task.Figures
	for _, w := range windows {
		out = append(out, t.figures(c, s, w, 0))
	}
	return out
}
