package main

import (
	"context"
	"math"
	"slices"
	"sync"

	"orrery/sim/search"
	"orrery/sim/task"
)

// methods that seek the least slowdown, random search first. Their order is that
// of the colours.
var methods = []string{"random", "sobol", "bayes", "cmaes"}

// ofTwo are the methods for two objectives, bayes in the same place.
var ofTwo = []string{"random", "nsga2", "bayes"}

// contest is all searches on one log.
type contest struct {
	bench   *bench
	options options

	curves map[string][][]float64       // by method and seed: the best slowdown by trial, NaN before there is one
	fronts map[string][][]search.Result // with two objectives, by method and seed
	missed map[string][][]float64       // by method and seed: the part of the volume that is missed, by trial
	races  []float64                    // slowdown of the winners, by seed
	best   float64                      // least slowdown of all
	noise  float64                      // of the slowdown, as a part of it
	start  reading                      // of what the site begins with
}

var (
	one = search.Goal{Objectives: []search.Objective{{Metric: slowdown, Direction: search.Minimise}}}
	two = search.Goal{Objectives: []search.Objective{{Metric: slowdown, Direction: search.Minimise}, {Metric: byArea, Direction: search.Minimise}}}
)

// job is one search.
type job struct {
	do func(ctx context.Context, run task.Run) error
}

func (c *contest) run(ctx context.Context) error {
	var err error
	if c.start, err = c.bench.begin(ctx, nil); err != nil {
		return err
	}
	if c.noise, err = c.bench.noise(ctx); err != nil {
		return err
	}
	if err := c.all(ctx, c.jobs()); err != nil {
		return err
	}
	c.best = math.Inf(1)
	for _, m := range methods {
		for _, curve := range c.curves[m] {
			c.best = math.Min(c.best, curve[len(curve)-1])
		}
	}
	return c.miss()
}

func (c *contest) jobs() []job {
	c.curves, c.fronts, c.races = map[string][][]float64{}, map[string][][]search.Result{}, make([]float64, c.options.seeds)
	var jobs []job
	for _, m := range methods {
		c.curves[m] = make([][]float64, c.options.seeds)
	}
	for _, m := range ofTwo {
		c.fronts[m] = make([][]search.Result, c.options.seeds)
	}
	for seed := range c.options.seeds {
		for _, m := range methods {
			jobs = append(jobs, job{func(ctx context.Context, run task.Run) error {
				results, err := c.search(ctx, run, search.Config{Goal: one, Method: m, Trials: c.options.trials, Seed: uint64(seed)})
				c.curves[m][seed] = bestSoFar(results)
				return err
			}})
		}
		for _, m := range ofTwo {
			jobs = append(jobs, job{func(ctx context.Context, run task.Run) error {
				results, err := c.search(ctx, run, search.Config{Goal: two, Method: m, Trials: c.options.fronts, Seed: uint64(seed)})
				c.fronts[m][seed] = results
				return err
			}})
		}
		jobs = append(jobs, job{func(ctx context.Context, run task.Run) (err error) {
			c.races[seed], err = c.race(ctx, run, seed)
			return err
		}})
	}
	return jobs
}

// all does the jobs, some at a time. Each is a function of its own, whoever does
// it; the first error in their order is returned.
func (c *contest) all(ctx context.Context, jobs []job) error {
	next, errs := make(chan int, len(jobs)), make([]error, len(jobs))
	for i := range jobs {
		next <- i
	}
	close(next)
	var group sync.WaitGroup
	for range max(c.options.workers, 1) {
		group.Go(func() {
			run := c.bench.runner.Worker()
			for i := range next {
				errs[i] = jobs[i].do(ctx, run)
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// search runs one search to its end.
func (c *contest) search(ctx context.Context, run task.Run, config search.Config) ([]search.Result, error) {
	config.Space = space
	s, err := search.New(config)
	if err != nil {
		return nil, err
	}
	for !s.Done() {
		for _, trial := range s.Ask(config.Trials) {
			r, err := c.bench.over(ctx, run, trial.Values)
			if err != nil {
				return nil, err
			}
			if err := s.Tell([]search.Result{told(trial.ID, r)}); err != nil {
				return nil, err
			}
		}
	}
	return s.Results(), nil
}

func told(id int, r reading) search.Result {
	return search.Result{ID: id, Failed: math.IsNaN(r.slowdown + r.byArea), Metrics: map[string]float64{slowdown: r.slowdown, byArea: r.byArea}}
}

func bestSoFar(results []search.Result) []float64 {
	best, out := math.NaN(), make([]float64, len(results))
	for i, r := range results {
		if v := r.Metrics[slowdown]; !r.Failed && !(v >= best) {
			best = v
		}
		out[i] = best
	}
	return out
}

// volume that results dominate, of the rectangle between the origin and what the
// site begins with, times reach.
func (c *contest) volume(results []search.Result) (float64, error) {
	const reach = 1.5
	var costs [][]float64
	for _, r := range results {
		if !r.Failed {
			costs = append(costs, []float64{r.Metrics[slowdown] / c.start.slowdown, r.Metrics[byArea] / c.start.byArea})
		}
	}
	return search.Hypervolume(costs, []float64{reach, reach})
}

// miss works out which part of the volume that the points of all searches dominate
// together each search lacks, by trial.
func (c *contest) miss() error {
	var all []search.Result
	for _, m := range ofTwo {
		all = append(all, slices.Concat(c.fronts[m]...)...)
	}
	whole, err := c.volume(all)
	if err != nil {
		return err
	}
	c.missed = map[string][][]float64{}
	for _, m := range ofTwo {
		for _, results := range c.fronts[m] {
			curve := make([]float64, len(results))
			for i := range results {
				v, err := c.volume(results[:i+1])
				if err != nil {
					return err
				}
				curve[i] = 1 - v/whole
			}
			c.missed[m] = append(c.missed[m], curve)
		}
	}
	return nil
}

// race takes random points, as many as bring it to the same number of replays as a
// search, through halving: on one window all of them, on two the best third, and
// so on up to all windows. It returns the slowdown of the winner.
func (c *contest) race(ctx context.Context, run task.Run, seed int) (float64, error) {
	windows := len(c.bench.windows)
	config := search.RaceConfig{Goal: one, Rule: search.Halving}
	cost, part := 0.0, 1.0 // of a candidate, in replays
	for n := 1; ; n = min(2*n, windows) {
		before := 0
		if k := len(config.Rungs); k > 0 {
			before = config.Rungs[k-1]
		}
		config.Rungs = append(config.Rungs, n)
		cost += part * float64(n-before)
		part /= 3
		if n == windows {
			break
		}
	}
	var err error
	config.Candidates, err = search.Sample(space, "random", int(float64(c.options.trials*windows)/cost), uint64(seed))
	if err != nil {
		return 0, err
	}
	r, err := search.NewRace(config)
	if err != nil {
		return 0, err
	}
	for !r.Done() {
		for _, h := range r.Ask(1) {
			got, err := c.bench.on(ctx, run, pointOf(h.Values), h.Window)
			if err != nil {
				return 0, err
			}
			one := told(0, got)
			if err := r.Tell([]search.HeatResult{{Candidate: h.Candidate, Window: h.Window, Metrics: one.Metrics, Failed: one.Failed}}); err != nil {
				return 0, err
			}
		}
	}
	winner, err := c.bench.over(ctx, run, config.Candidates[r.Alive()[0]])
	return winner.slowdown, err
}
