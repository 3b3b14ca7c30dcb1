package tune

import (
	"fmt"
	"math"
	"slices"

	"orrery/profiles"
	"orrery/sim/metric"
	"orrery/sim/search"
)

// Trial is a point of the search, with what came of it on the whole traces.
type Trial struct {
	ID       int             `json:"id"`
	Values   []metric.Number `json:"values"`   // by setting of the search
	Metrics  []metric.Number `json:"metrics"`  // by objective
	Feasible bool            `json:"feasible"` // keeps the constraints, and is not overloaded
	Best     metric.Number   `json:"best"`     // of the first objective, feasible ones so far
}

// method is that which suits the number of trials where none was asked for.
func (t *tuner) method() string {
	switch {
	case t.opt.Method != "":
		return t.opt.Method
	case t.opt.Trials <= 400:
		return "bayes"
	case len(t.goal.Objectives) > 1:
		return "nsga2"
	}
	return "cmaes"
}

// bayesBatch is the batch of "bayes" where none was asked for. Points of a batch do not
// know of each other's results, and those of a batch of one wait for each other
// (docs/SEARCH.md has what a batch costs).
const bayesBatch = 2

// batchSize is the number of points in a batch, 0 for the method's own.
func (t *tuner) batchSize() int {
	if t.opt.Batch == 0 && t.method() == "bayes" {
		return bayesBatch
	}
	return t.opt.Batch
}

// seek searches the space. The batch is a setting, so the trials do not depend on what
// computes them.
func (t *tuner) seek() error {
	if len(t.space.Space) == 0 {
		return nil
	}
	trials := min(t.opt.Trials, t.affordable(wholeScope))
	if trials < t.opt.Trials {
		t.out.LeftOut = append(t.out.LeftOut, fmt.Sprintf("points of the search: the budget pays for %d of %d", trials, t.opt.Trials))
	}
	if trials == 0 {
		return nil
	}
	starts, err := t.starts(trials)
	if err != nil {
		return err
	}
	s, err := search.New(search.Config{
		Space: t.space.Space, Goal: t.goal.Goal, Method: t.method(), Trials: trials, Batch: t.batchSize(), Seed: t.opt.Seed, Start: starts,
	})
	if err != nil {
		return err
	}
	t.out.Method, t.out.Batch = t.method(), s.Batch()
	t.stage("searching with %s: replaying %s under %d points", t.out.Method, t.traceWords(), trials)
	for !s.Done() {
		if err := t.batch(s); err != nil {
			return err
		}
	}
	best := metric.Number(math.NaN())
	for i := range t.history {
		h := &t.history[i]
		cost := float64(h.Metrics[0])
		maximise := t.goal.Objectives[0].Direction == search.Maximise
		if h.Feasible && (!best.Defined() || (cost < float64(best)) != maximise) {
			best = h.Metrics[0]
		}
		h.Best = best
	}
	return nil
}

// batch runs what the search asks for next.
func (t *tuner) batch(s *search.Search) error {
	trials := s.Ask(math.MaxInt)
	var asked []runRequest
	var from []*candidate
	for _, trial := range trials {
		c, err := t.found(fmt.Sprintf("found %d", trial.ID+1), t.space, trial.Values, false)
		if err != nil {
			return err
		}
		from = append(from, c)
		asked = append(asked, t.on(c, wholeScope)...)
	}
	if err := t.run(asked); err != nil {
		return err
	}
	told := make([]search.Result, len(trials))
	for i, trial := range trials {
		metrics, failed := t.read(from[i])
		told[i] = search.Result{ID: trial.ID, Metrics: metrics, Failed: failed}
		score, err := t.goal.Score(told[i])
		if err != nil {
			return err
		}
		h := Trial{ID: trial.ID, Feasible: score.Feasible()}
		for _, v := range trial.Values {
			h.Values = append(h.Values, metric.Number(v))
		}
		for _, o := range t.goal.Objectives {
			h.Metrics = append(h.Metrics, metric.Number(metrics[o.Metric]))
		}
		t.history = append(t.history, h)
		t.add(from[i])
	}
	return s.Tell(told)
}

// starts are the current policy and the profiles that people know, as points.
func (t *tuner) starts(most int) ([][]float64, error) {
	now, err := t.leading()
	if err != nil {
		return nil, err
	}
	known := []profiles.Profile{now}
	for _, name := range named {
		p, err := profiles.Load(name)
		if err != nil {
			return nil, err
		}
		if groupOf(&p) == t.space.group {
			known = append(known, p)
		}
	}
	var points [][]float64
	for i := range known {
		v, err := t.space.pointOf(&known[i])
		if err != nil {
			return nil, err
		}
		points = append(points, v)
	}
	var out [][]float64
	for _, v := range points {
		alike := func(o []float64) bool { return slices.Equal(o, v) }
		if t.space.Check(v) == nil && !slices.ContainsFunc(out, alike) && len(out) < most {
			out = append(out, v)
		}
	}
	return out, nil
}
