// Package tune finds better settings for a site and says how sure it is: the
// opinionated path from a trace to a recommendation. It cuts the trace into
// windows for tuning and others for acceptance, measures the noise, tries the
// settings that people know, searches, races the best over the tuning windows,
// and claims a gain only where the acceptance windows show it beyond the noise.
//
// It must not know who computes the replays, on how many workers and where
// results are kept: it asks for batches of tasks and gets results. What it asks
// for depends on the problem, the options and the results alone, so the same
// trace gives the same recommendation on any number of workers.
package tune

import (
	"context"
	"fmt"
	"slices"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim"
	"orrery/sim/search"
	"orrery/sim/stat"
	"orrery/sim/task"
	"orrery/traces/transform"
)

// Problem is what is to be tuned.
type Problem struct {
	// Trace is the whole log; its rows are read a few times.
	Trace *transform.Set
	// Spec is what runs now, bound to the trace (sim.Spec.Bind).
	Spec sim.Spec
	// Cluster is the site of Spec with its profiles inlined; nil on a plain
	// machine.
	Cluster *profiles.Cluster
	// VCluster is the one to tune; "" is all, alike.
	VCluster string
}

// Options are how it is tuned. Start from Defaults.
type Options struct {
	// Objectives are to be made small or large; the first one decides. None is
	// DefaultObjective.
	Objectives []search.Objective
	// Constraints must hold in each window; where one is broken now on the
	// acceptance windows, it may be broken as far. Nil stands for those of
	// DefaultConstraints.
	Constraints []search.Constraint
	// Vary names the settings that are searched, see docs/TUNE.md: PATH=LOW..HIGH,
	// PATH=A,B,C, the name of a group of weights, or "default". None is "default".
	Vary []string
	// Budget is how many points the search tries.
	Budget int
	// Method is one of search.Methods; "" chooses by budget and objectives.
	Method string
	// Race says who leaves the race over the tuning windows, "" for search.Paired.
	Race search.Rule
	// Tuning and Acceptance are how many windows there are of each.
	Tuning, Acceptance int
	// Length of a window; 0 divides the trace, up to two weeks each.
	Length model.Duration
	// Replicas are runs with shaken arrivals behind the noise floor, 2 at least.
	Replicas int
	// ShakeBy is how far a submission moves at most.
	ShakeBy model.Duration
	// Trajectories of the screening; 0 leaves it out.
	Trajectories int
	// Points that Sobol indices, the parts of the variance that each setting
	// explains, may cost, if they pay for the least sample; 0 leaves them out.
	Points int
	Seed   uint64
	// Stat is how sure to be.
	Stat stat.Settings
	// Evaluate computes tasks and gives their results by index.
	Evaluate func(context.Context, []task.Task) ([]task.Result, error)
	// Stage is told what begins, and how many runs it asks for at least; nil is
	// told nothing.
	Stage func(what string)
}

// Defaults are 10 windows to tune on, 20 to accept on, 10 shaken replicas, 200
// points of the search and up to 512 of the Sobol indices.
func Defaults() Options {
	return Options{
		Budget: 200, Tuning: 10, Acceptance: 20, Replicas: 10, ShakeBy: model.Minute, Trajectories: 8, Points: 512, Seed: 1, Stat: stat.Defaults(),
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
	t := &tuner{ctx: ctx, problem: p, opt: o, known: map[key]*task.Result{}, floors: map[floorKey]stat.Floor{}}
	for _, step := range []func() error{
		t.cut, t.begin, t.bounds, t.tryKnown, t.screen, t.seek, t.race, t.judge, t.settle, t.spread, t.look, t.explain,
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

func (o *Options) check() error {
	if len(o.Objectives) == 0 {
		o.Objectives = []search.Objective{DefaultObjective}
	}
	for _, m := range o.Objectives {
		if err := measured(m.Metric); err != nil {
			return err
		}
	}
	for _, c := range o.Constraints {
		if err := measured(c.Metric); err != nil {
			return err
		}
	}
	goal := search.Goal{Objectives: o.Objectives, Constraints: o.Constraints}
	if err := goal.Validate(); err != nil {
		return usagef("%v", err)
	}
	switch {
	case o.Budget < 1:
		return usagef("a budget of %d points: give 1 or more", o.Budget)
	case o.Tuning < 1 || o.Acceptance < o.Stat.MinWindows:
		return usagef("%d windows to tune on and %d to accept on: give 1 or more, and %d or more", o.Tuning, o.Acceptance, o.Stat.MinWindows)
	case o.Replicas < 2:
		return usagef("%d replicas of shaken arrivals: give 2 or more", o.Replicas)
	case o.ShakeBy < 1:
		return usagef("arrivals shaken by %s: give a span above 0", o.ShakeBy)
	case o.Length < 0 || o.Trajectories < 0 || o.Points < 0:
		return usagef("windows of %s, %d trajectories and %d points of Sobol indices: none may be negative", o.Length, o.Trajectories, o.Points)
	case o.Method != "" && !slices.Contains(search.Methods(), o.Method):
		return usagef("unknown method %q: use one of %v", o.Method, search.Methods())
	case o.Race != "" && !slices.Contains(search.Rules(), string(o.Race)):
		return usagef("unknown rule %q of the race: use one of %v", o.Race, search.Rules())
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

	windows            []Window
	tuning, acceptance []int // windows of each kind that count
	screening          []int // of tuning, those that the search looks at
	known              map[key]*task.Result
	floors             map[floorKey]stat.Floor
	runs               int // computed or found

	goal       goal
	candidates []*candidate // the current one first
	space      space
	history    []Trial
	raced      []int // candidates that are left, the best first
	out        Report
}

// stage says what begins.
func (t *tuner) stage(format string, args ...any) {
	if t.opt.Stage != nil {
		t.opt.Stage(fmt.Sprintf(format, args...))
	}
}
