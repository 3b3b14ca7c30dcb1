// Package tune finds better settings for a site and says how sure that is: the
// opinionated path from a trace to a recommendation. It replays the whole trace under the
// settings that people know and under those that a search finds. It recommends only what
// keeps its bounds there, what one joint test of all of them shows to be better than the
// current policy, and what stays better when arrivals are jittered.
//
// It must not know what computes the replays, on how many workers and where
// results are kept: it asks for batches of tasks and gets results. What it asks
// for depends on the problem, the options and the results alone, so the same
// traces give the same recommendation on any number of workers.
package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/advice"
	"orrery/sim/plan"
	"orrery/sim/search"
	"orrery/sim/stat"
	"orrery/sim/task"
	"orrery/traces/transform"
)

// Problem is what is to be tuned.
type Problem struct {
	// Traces are those that one answer is wanted for, one at least.
	Traces []Trace
	// Cluster is the site of their specs with its profiles inlined; nil on a plain
	// machine.
	Cluster *profiles.Cluster
	// VCluster is the one to tune; "" is all, alike.
	VCluster string
	// Scenario is what the scenario of their specs is called; "" for none.
	Scenario string
}

// Trace is a whole log with the current policy.
type Trace struct {
	Set  *transform.Set // its rows are read a few times
	Spec plan.Spec      // the current policy, bound to the trace (sim.Spec.Bind)
}

// Options are how it is tuned. Start from Defaults.
type Options struct {
	// Objectives are to be made small or large; the first one decides. None is
	// DefaultObjective.
	Objectives []search.Objective
	// Constraints must hold in each window and on the whole trace; where the current
	// policy breaks one, it may be broken as far. Nil stands for DefaultConstraints.
	Constraints []search.Constraint
	// Vary names the settings that are searched, see docs/TUNE.md: PATH=LOW..HIGH,
	// PATH=A,B,C, the name of a group of weights, or "default". None is "default".
	Vary []string
	// Budget is how many jobs may be replayed in search of something better: by the
	// current policy, the candidates and the sensitivity. What shows how sure a
	// recommendation is comes on top: replicas, and loads.
	Budget int64
	// Trials is how many points the search tries, where the budget lasts.
	Trials int
	// Method is one of search.Methods; "" chooses by trials and objectives.
	Method string
	// Batch is how many points the search asks for before it looks at results, 0 for the
	// number that suits the method. Trials depend on it, and not on what computes them.
	Batch int
	// Windows is into how many parts of equal numbers of jobs a trace is divided, where
	// each holds enough jobs.
	Windows int
	// Margin is the least gain on the whole trace, as a part, for which a change is
	// recommended.
	Margin float64
	// NoGroupWorse is how much longer, as a part, the mean wait of a group of jobs with
	// leastOfWork of the work may be; 0 is no bound.
	NoGroupWorse float64
	// Replicas are runs with jittered arrivals of the current policy and of each
	// finalist, 2 at least.
	Replicas int
	// JitterBy is how far a submission moves at most.
	JitterBy model.Duration
	// Trajectories of the screening; 0 leaves it out.
	Trajectories int
	// Points that Sobol indices, the parts of the variance that each setting
	// explains, may cost, if they pay for the least sample; 0 leaves them out.
	Points int
	// Loads are those, in thousandths of that of the traces, under which the gain of
	// the recommendation is measured too.
	Loads []int
	Seed  uint64
	// Stat is how sure to be.
	Stat stat.Settings
	// Evaluate computes tasks and gives their results by index.
	Evaluate func(context.Context, []task.Task) ([]task.Result, error)
	// Stage is told what begins, and how many runs it asks for at least; nil is
	// told nothing.
	Stage func(what string)
}

// Defaults are 20 million jobs, 80 windows, a margin of 5 %, 10 replicas, 50 points of
// the search, up to 512 of the Sobol indices, and loads of 0.8, 0.9, 1 and 1.1.
func Defaults() Options {
	return Options{
		Budget: 20_000_000, Trials: 50, Windows: 80, Margin: 0.05, Replicas: 10, JitterBy: model.Minute, Trajectories: 8, Points: 512,
		Loads: []int{800, 900, 1000, 1100}, Seed: 1, Stat: stat.Defaults(),
	}
}

// DefaultObjective is the mean bounded slowdown, which tells short jobs that wait
// from long ones.
var DefaultObjective = search.Objective{Metric: "bounded_slowdown_mean", Direction: search.Minimise}

// UsageError says what is wrong with the problem or the options.
type UsageError struct{ Text string }

// Error is the text.
func (e *UsageError) Error() string { return e.Text }

func usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// Run tunes. What it finds is in the report; an error is one of the problem, the
// options or the runs.
func Run(ctx context.Context, p Problem, o Options) (*Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	t := &tuner{ctx: ctx, problem: p, opt: o, known: map[key]*task.Result{}}
	for _, step := range []func() error{
		t.start, t.cut, t.begin, t.bounds, t.tryKnown, t.screen, t.seek, t.weigh, t.decide, t.measure, t.load, t.spread, t.look, t.explain,
	} {
		if err := step(); err != nil {
			return nil, err
		}
		if t.stop {
			break
		}
	}
	return t.finish(), nil
}

// mostTrials of a search: each is a candidate of the joint test.
const mostTrials = 1000

func (o *Options) check() error {
	if len(o.Objectives) == 0 {
		o.Objectives = []search.Objective{DefaultObjective}
	}
	for _, m := range o.Objectives {
		if err := errors.Join(known(m.Metric), onWindows(m.Metric)); err != nil {
			return err
		}
	}
	for _, c := range o.Constraints {
		if err := known(c.Metric); err != nil {
			return err
		}
	}
	goal := search.Goal{Objectives: o.Objectives, Constraints: o.Constraints}
	if err := goal.Validate(); err != nil {
		return usagef("%v", err)
	}
	switch {
	case o.Budget < 1:
		return usagef("a budget of %d jobs: give 1 or more", o.Budget)
	case o.Trials < 1 || o.Trials > mostTrials:
		return usagef("%d points of the search: give 1 to %d", o.Trials, mostTrials)
	case o.Windows < leastWindows || o.Windows > mostWindows:
		return usagef("%d windows: give %d to %d", o.Windows, leastWindows, mostWindows)
	case !(o.Margin >= 0 && o.Margin < 1):
		return usagef("a least gain (--least-gain) of %g %%: give 0 %% to below 100 %%", 100*o.Margin)
	case !(o.NoGroupWorse >= 0):
		return usagef("no group worse (--no-group-worse) by %g %%: give 0 %% or more", 100*o.NoGroupWorse)
	case o.Replicas < 2:
		return usagef("%d replicas with jittered arrivals: give 2 or more", o.Replicas)
	case o.JitterBy < 1:
		return usagef("arrivals jittered by %s: give a span above 0", o.JitterBy)
	case o.Trajectories < 0 || o.Points < 0:
		return usagef("%d trajectories and %d points of Sobol indices: none may be negative", o.Trajectories, o.Points)
	case slices.ContainsFunc(o.Loads, func(x int) bool { return x < 100 || x > 10_000 }):
		return usagef("loads of %v thousandths: give 100 to 10,000", o.Loads)
	case o.Batch < 0:
		return usagef("batches of %d points: give 1 or more, or 0 for the number of the method", o.Batch)
	case o.Method != "" && !slices.Contains(search.Methods(), o.Method):
		return usagef("unknown method %q: use one of %v", o.Method, search.Methods())
	case len(o.Objectives) > 1 && o.Method == "cmaes":
		return usagef("the method %s takes one objective: leave out the others, make them constraints, or use bayes or nsga2", o.Method)
	}
	return o.Stat.Validate()
}

// tuner is one run of it. Its steps fill it in their order.
type tuner struct {
	ctx     context.Context //nolint:containedctx // it lives as long as one call of Run
	problem Problem
	opt     Options
	stop    bool // nothing more can be said

	windows   []Window // trace by trace
	counting  []int    // of windows, those that count
	screening []int    // of these, the ones that the sensitivity looks at
	replayed  int64    // jobs, in search of something better
	known     map[key]*task.Result
	runs      int // computed or found

	goal       goal
	slack      float64      // by which a bound that was not asked for may be worse than now
	candidates []*candidate // the current policy first
	space      space
	history    []Trial
	evidence   *advice.Evidence
	noted      []note // by candidate
	replicated []int  // candidates that were replayed with jittered arrivals, the most promising first
	out        Report
}

// stage says what begins.
func (t *tuner) stage(format string, args ...any) {
	if t.opt.Stage != nil {
		t.opt.Stage(fmt.Sprintf(format, args...))
	}
}

// base is the current policy.
func (t *tuner) base() *candidate { return t.candidates[0] }
