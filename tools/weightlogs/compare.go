package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	gonum "gonum.org/v1/gonum/stat"

	"orrery/internal/doc"
	"orrery/reports/table"
	"orrery/sim/search"
	"orrery/sim/task"
)

// truthSeed is the seed of the random points that say what is there.
const truthSeed = 1_000_003

// waitBar is the regret of the mean wait, as a part, that a search should keep within.
const waitBar = 0.02

// study is what is done on one log.
type study struct {
	o     *options
	log   *log
	space search.Space
	kept  *replays
	truth [][]float64
	tried []tried // all points that were replayed, in the order of the first time
}

// tried is a point with what came of it.
type tried struct {
	values  []float64
	metrics map[string]float64
}

// found is what a search ended with.
type found struct {
	method, objective string
	seed              int
	values            []float64
}

func (o *options) run(ctx context.Context, logs []string) error {
	if len(logs) == 0 {
		return errors.New("name logs in the Standard Workload Format")
	}
	space, err := spaceOf(o.weights, o.backfill)
	if err != nil {
		return err
	}
	for _, name := range logs {
		l, err := openLog(name, o.backfill)
		if err != nil {
			return err
		}
		s := study{o: o, log: l, space: space}
		if s.kept, err = openReplays(o.replays, l.runner, o.objectives, o.workers); err != nil {
			return err
		}
		err = errors.Join(s.run(ctx), s.kept.close())
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

// run replays the truth, searches, and writes the tables of one log.
func (s *study) run(ctx context.Context) (err error) {
	if s.truth, err = search.Sample(s.space, "random", s.o.truth, truthSeed); err != nil {
		return err
	}
	if _, err := s.replayed(ctx, s.truth); err != nil {
		return err
	}
	var ends []found
	for _, objective := range s.o.objectives {
		for _, method := range s.o.methods {
			for seed := range s.searches(method) {
				values, err := s.search(ctx, method, objective, seed)
				if err != nil {
					return fmt.Errorf("%s: %w", method, err)
				}
				ends = append(ends, found{method, objective, seed, values})
			}
		}
	}
	t := doc.New("log", "objective", "method", "searches", "mean regret of one replay, %", "mean regret over replicas, %", "worst, %", "within 2 %", "within the bar", "bar, %")
	for _, objective := range s.o.objectives {
		if err := s.judge(ctx, t, objective, ends); err != nil {
			return err
		}
	}
	fmt.Fprintln(s.o.out, s.cost())
	return table.Write(s.o.out, t, table.Markdown, table.Options{})
}

// searches is how many a method makes: those of random points come from the truth.
func (s *study) searches(method string) int {
	if method == "random" {
		return len(s.truth) / s.o.trials
	}
	return s.o.seeds
}

// search is the best point of one search.
func (s *study) search(ctx context.Context, method, objective string, seed int) ([]float64, error) {
	if method == "random" {
		return s.best(ctx, objective, s.truth[seed*s.o.trials:(seed+1)*s.o.trials])
	}
	name, batch, _ := strings.Cut(method, ":")
	c := search.Config{
		Space: s.space, Method: name, Trials: s.o.trials, Seed: uint64(seed + 1),
		Goal: search.Goal{Objectives: []search.Objective{{Metric: objective, Direction: search.Minimise}}},
	}
	if batch != "" {
		n, err := strconv.Atoi(batch)
		if err != nil {
			return nil, fmt.Errorf("found %q, want a batch", batch)
		}
		c.Batch = n
	}
	one, err := search.New(c)
	if err != nil {
		return nil, err
	}
	var all [][]float64
	for !one.Done() {
		var asked [][]float64
		trials := one.Ask(math.MaxInt)
		for _, t := range trials {
			asked = append(asked, t.Values)
		}
		got, err := s.replayed(ctx, asked)
		if err != nil {
			return nil, err
		}
		told := make([]search.Result, len(trials))
		for i, t := range trials {
			told[i] = search.Result{ID: t.ID, Metrics: got[i].Metrics}
		}
		if err := one.Tell(told); err != nil {
			return nil, err
		}
		all = append(all, asked...)
	}
	return s.best(ctx, objective, all)
}

// best is the first of the points with the least objective. With several finalists it is
// that of so many best ones which is the best under jittered arrivals, others than those
// that tell how good a point is.
func (s *study) best(ctx context.Context, objective string, points [][]float64) ([]float64, error) {
	got, err := s.replayed(ctx, points)
	if err != nil {
		return nil, err
	}
	order := make([]int, len(points))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(got[a].Metrics[objective], got[b].Metrics[objective]) })
	best := points[order[0]]
	if s.o.finalists < 2 {
		return best, nil
	}
	least := math.Inf(1)
	for _, i := range order[:min(s.o.finalists, len(order))] {
		x, err := s.jittered(ctx, objective, points[i], s.o.replicas)
		if err != nil {
			return nil, err
		}
		if mean := gonum.Mean(x, nil); mean < least {
			best, least = points[i], mean
		}
	}
	return best, nil
}

// replayed are whole replays of points, which are remembered.
func (s *study) replayed(ctx context.Context, points [][]float64) ([]replay, error) {
	tasks := make([]task.Task, len(points))
	for i, values := range points {
		spec, err := s.log.at(s.space, values)
		if err != nil {
			return nil, err
		}
		tasks[i] = task.Task{Spec: spec}
	}
	got, err := s.kept.of(ctx, tasks)
	for i := range got {
		s.tried = append(s.tried, tried{points[i], got[i].Metrics})
	}
	return got, err
}

// jittered are the objective's values of a point under jittered arrivals, the same for
// all points; so many seeds are passed over.
func (s *study) jittered(ctx context.Context, objective string, values []float64, over int) ([]float64, error) {
	spec, err := s.log.at(s.space, values)
	if err != nil {
		return nil, err
	}
	var tasks []task.Task
	for k := range s.o.replicas {
		tasks = append(tasks, task.Task{Spec: spec, Jitter: &task.Jitter{By: s.o.by, Seed: uint64(over + k + 1)}})
	}
	got, err := s.kept.of(ctx, tasks)
	var out []float64
	for i := range got {
		out = append(out, got[i].Metrics[objective])
	}
	return out, err
}

// judge adds a row for each method. Regret is that to the best point known by the mean of
// the replicas, among the best of all points by one replay and all that searches end with.
func (s *study) judge(ctx context.Context, t *doc.Table, objective string, ends []found) error {
	order := slices.Clone(s.tried)
	slices.SortStableFunc(order, func(a, b tried) int {
		return cmp.Compare(a.metrics[objective], b.metrics[objective])
	})
	order = slices.CompactFunc(order, func(a, b tried) bool { return a.metrics[objective] == b.metrics[objective] })
	least := math.Inf(1)
	var noises []float64
	look := func(values []float64) (float64, error) {
		x, err := s.jittered(ctx, objective, values, 0)
		if err != nil {
			return 0, err
		}
		mean, deviation := gonum.MeanStdDev(x, nil)
		least, noises = min(least, mean), append(noises, deviation/mean)
		return mean, nil
	}
	for _, one := range order[:min(s.o.leaders, len(order))] {
		if _, err := look(one.values); err != nil {
			return err
		}
	}
	means := make([]float64, len(ends))
	single := make([]float64, len(ends))
	for i, e := range ends {
		if e.objective != objective {
			continue
		}
		var err error
		if means[i], err = look(e.values); err != nil {
			return err
		}
		got, err := s.replayed(ctx, [][]float64{e.values})
		if err != nil {
			return err
		}
		single[i] = got[0].Metrics[objective]
	}
	noise := gonum.Mean(noises, nil)
	bar := s.o.bar / 100
	if objective == "wait_mean" {
		bar = waitBar
	}
	for _, method := range s.o.methods {
		var one, all []float64
		within2, within := 0, 0
		for i, e := range ends {
			if e.objective != objective || e.method != method {
				continue
			}
			one = append(one, single[i]/order[0].metrics[objective]-1)
			regret := means[i]/least - 1
			all = append(all, regret)
			if regret <= 0.02 {
				within2++
			}
			if regret <= bar {
				within++
			}
		}
		if len(all) == 0 {
			continue
		}
		part := func(n int) string { return fmt.Sprintf("%d of %d", n, len(all)) }
		t.Row(s.log.name, objective, method, len(all), percent(gonum.Mean(one, nil)), percent(gonum.Mean(all, nil)), percent(slices.Max(all)), part(within2), part(within), percent(bar))
	}
	fmt.Fprintf(s.o.out, "%s, %s: best of one replay %.4g; best over replicas %.4g, one standard deviation %s %%\n", s.log.name, objective, order[0].metrics[objective], least, percent(noise))
	return nil
}

// cost says what the replays of all points took.
func (s *study) cost() string {
	seconds := 0.0
	for _, id := range slices.Sorted(maps.Keys(s.kept.known)) {
		seconds += s.kept.known[id].Seconds
	}
	n := len(s.kept.known)
	return fmt.Sprintf("%d replays are kept, of %.2f s each in the mean, %.0f min in all", n, seconds/float64(max(n, 1)), seconds/60)
}

func percent(x float64) string { return fmt.Sprintf("%.1f", 100*x) }
