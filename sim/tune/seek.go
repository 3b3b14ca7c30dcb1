package tune

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"orrery/profiles"
	"orrery/sim/metric"
	"orrery/sim/search"
)

// Trial is a point of the search, with what came of it on the windows that the
// search looks at.
type Trial struct {
	ID       int             `json:"id"`
	Values   []metric.Number `json:"values"`   // by setting of the search
	Metrics  []metric.Number `json:"metrics"`  // by objective
	Feasible bool            `json:"feasible"` // keeps the constraints, and is not overloaded
	Best     metric.Number   `json:"best"`     // of the first objective, feasible ones so far

	score search.Score
	from  *candidate
}

// method is that which suits the budget where none was asked for.
func (t *tuner) method() string {
	switch {
	case t.opt.Method != "":
		return t.opt.Method
	case t.opt.Budget <= 400:
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
	starts, err := t.starts()
	if err != nil {
		return err
	}
	s, err := search.New(search.Config{
		Space: t.space.Space, Goal: t.goal.Goal, Method: t.method(), Trials: t.opt.Budget, Batch: t.batchSize(), Seed: t.opt.Seed, Start: starts,
	})
	if err != nil {
		return err
	}
	t.out.Method, t.out.Batch = t.method(), s.Batch()
	t.stage("searching with %s: %d points on %d windows", t.out.Method, t.opt.Budget, len(t.screening))
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
	trials := s.Ask(t.opt.Budget)
	var asked []runRequest
	var from []*candidate
	for _, trial := range trials {
		c, err := t.found(fmt.Sprintf("found %d", trial.ID+1), t.space, trial.Values, false)
		if err != nil {
			return err
		}
		from = append(from, c)
		asked = append(asked, t.on(c, screeningScope)...)
	}
	if err := t.run(asked); err != nil {
		return err
	}
	told := make([]search.Result, len(trials))
	for i, trial := range trials {
		metrics, failed := t.read(from[i], screeningScope, t.screening)
		told[i] = search.Result{ID: trial.ID, Metrics: metrics, Failed: failed}
		score, err := t.goal.Score(told[i])
		if err != nil {
			return err
		}
		h := Trial{ID: trial.ID, Feasible: score.Feasible(), score: score, from: from[i]}
		for _, v := range trial.Values {
			h.Values = append(h.Values, metric.Number(v))
		}
		for _, o := range t.goal.Objectives {
			h.Metrics = append(h.Metrics, metric.Number(metrics[o.Metric]))
		}
		t.history = append(t.history, h)
	}
	return s.Tell(told)
}

// starts are the current policy and the profiles that people know, as points.
func (t *tuner) starts() ([][]float64, error) {
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
		if t.space.Check(v) == nil && !slices.ContainsFunc(out, alike) && len(out) < t.opt.Budget {
			out = append(out, v)
		}
	}
	return out, nil
}

// racers is how many points of the search enter the race.
const racers = 12

// race holds the best points and all baselines against each other on all tuning
// windows, and drops the poor ones on the way.
func (t *tuner) race() error {
	for _, h := range t.leaders() {
		t.add(h.from)
	}
	windows := t.raceWindows()
	config := t.raceConfig(len(windows))
	race, err := search.NewRace(config)
	if err != nil {
		return err
	}
	for !race.Done() {
		heats := race.Ask(math.MaxInt)
		if len(heats) > 0 { // rungs are the windows of a scope
			t.stage("racing %d candidates over %d windows", len(race.Alive()), heats[len(heats)-1].Window+1)
		}
		told, err := t.heats(heats, windows)
		if err != nil {
			return err
		}
		if err := race.Tell(told); err != nil {
			return err
		}
	}
	t.raced, t.out.Race = race.Alive(), config.Rule
	for _, d := range race.Dropped() {
		t.out.Dropped = append(t.out.Dropped, Dropped{
			Name: t.candidates[d.Candidate].name, Windows: d.Windows, Worse: metric.Number(d.Worse), Excess: d.Excess, Failed: d.Against < 0, P: metric.Number(d.P),
		})
	}
	return nil
}

// heats runs candidates on windows. Those that the search has looked at are in the
// runs that it has made.
func (t *tuner) heats(heats []search.Heat, windows []int) ([]search.HeatResult, error) {
	scopeOf := func(h search.Heat) scope {
		if h.Window < len(t.screening) {
			return screeningScope
		}
		return tuningScope
	}
	var asked []runRequest
	for _, h := range heats {
		for _, c := range []*candidate{t.candidates[h.Candidate], t.base()} { // the latter although it may be eliminated
			asked = append(asked, t.on(c, scopeOf(h))...)
		}
	}
	if err := t.run(asked); err != nil {
		return nil, err
	}
	var of []reading
	for _, o := range t.goal.Objectives {
		of = append(of, t.reading(o.Metric, windows))
	}
	told := make([]search.HeatResult, len(heats))
	for i, h := range heats {
		c, s := t.candidates[h.Candidate], scopeOf(h)
		metrics := map[string]float64{}
		for k, o := range t.goal.Objectives {
			metrics[o.Metric] = of[k].of(t.figures(c, s, windows[h.Window], 0)) * of[k].factor[h.Window]
		}
		failed := t.constrain(metrics, c, s, windows[h.Window:h.Window+1])
		told[i] = search.HeatResult{Candidate: h.Candidate, Window: h.Window, Metrics: metrics, Failed: failed}
	}
	return told, nil
}

// raceWindows are all tuning windows, those that the search has looked at first.
func (t *tuner) raceWindows() []int {
	out := slices.Clone(t.screening)
	for _, w := range t.tuning {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

func (t *tuner) raceConfig(windows int) search.RaceConfig {
	goal := t.goal.Goal
	goal.Objectives = goal.Objectives[:1]
	c := search.RaceConfig{Goal: goal, Rule: cmp.Or(t.opt.Race, search.Rule(search.Rules()[0]))}
	for i := range t.candidates {
		c.Candidates = append(c.Candidates, []float64{float64(i)})
	}
	for _, n := range []int{len(t.screening), windows} {
		if len(c.Rungs) == 0 || n > c.Rungs[len(c.Rungs)-1] {
			c.Rungs = append(c.Rungs, n)
		}
	}
	return c
}

// Dropped says why a candidate was eliminated.
type Dropped struct {
	Name    string `json:"name"`
	Windows int    `json:"windows"` // it had run
	// Worse is its mean difference to the leader, of the first objective or, when
	// Excess is set, of what it is beyond the constraints.
	Worse  metric.Number `json:"worse"`
	Excess bool          `json:"excess,omitempty"`
	Failed bool          `json:"failed,omitempty"` // overloaded, or without a value
	P      metric.Number `json:"p"`
}

// leaders are the best trials that differ as they would be written.
func (t *tuner) leaders() []Trial {
	sorted := slices.Clone(t.history)
	slices.SortStableFunc(sorted, func(a, b Trial) int {
		return cmp.Or(cmp.Compare(a.score.Excess, b.score.Excess), cmp.Compare(a.score.Costs[0], b.score.Costs[0]), cmp.Compare(a.ID, b.ID))
	})
	var out []Trial
	seen := map[string]bool{}
	for _, h := range sorted {
		if id := h.from.id; !seen[id] && len(out) < racers && !math.IsInf(h.score.Excess, 1) {
			seen[id] = true
			out = append(out, h)
		}
	}
	return out
}
