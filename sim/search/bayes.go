package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"orrery/scheduler/model/draw"
)

// bayes is Bayesian optimisation: a Gaussian process of each objective and one
// of each constraint say what to expect of points that were not tried, and the trials are
// those that promise most of what each aims at. (Jones, Schonlau, Welch:
// Efficient global optimization of expensive black-box functions, 1998; for
// constraints Gardner et al.: Bayesian optimization with inequality constraints,
// 2014.)
//
// It keeps nothing but the history: hyperparameters are fitted anew for each
// batch.
type bayes struct {
	config  *Config
	size    int
	mix     *sobol      // of the weights of several objectives; nil with one
	initial [][]float64 // the design of the first trials, whole batches
	x       [][]float64 // features of all trials told
	unit    [][]float64 // their unit coordinates
	scores  []Score
}

// Numbers of Bayesian optimisation: the size of a batch; the most points that
// hyperparameters are fitted to, that the processes are given which choose where to
// climb from, and those which climb; the points that climbs may begin at, in the
// whole space and around the best points told; how many of these are the best
// points; the climbs, their steps, how far apart they begin as a part of the
// diagonal of the cube, and the rounds of steps of whole numbers and choices after one.
const (
	bayesBatch   = 1
	fitPoints    = 100
	sketchPoints = 256
	modelPoints  = 800
	wide         = 512
	nearBest     = 256
	leaders      = 8
	climbs       = 6
	climbSteps   = 50
	apart        = 0.1
	rounds       = 3
)

func newBayes(c *Config) (method, error) {
	if err := sobolReaches(c); err != nil {
		return nil, err
	}
	b := &bayes{config: c, size: cmp.Or(c.Batch, bayesBatch)}
	if k := len(c.Goal.Objectives); k > 1 {
		var err error
		if b.mix, err = newSobol(k-1, draw.At(c.Seed, draw.StreamOf("search/bayes/weights"), 0, 0, 0)); err != nil {
			return nil, fmt.Errorf("search: %d objectives: %w", k, err)
		}
	}
	n := max(2*(c.Space.Dim()+1), len(c.Start))
	n = (n + b.size - 1) / b.size * b.size
	points, err := Sample(c.Space, "sobol", n-len(c.Start), c.Seed)
	if err != nil {
		return nil, err
	}
	b.initial = append(append(b.initial, c.Start...), points...)
	return b, nil
}

func (b *bayes) batch() int { return b.size }

func (b *bayes) learn(_ int, values [][]float64, scores []Score) {
	for i, v := range values {
		u := b.config.Space.coordinates(v, unitOf)
		b.unit = append(b.unit, u)
		b.x = append(b.x, b.config.Space.features(u))
		b.scores = append(b.scores, scores[i])
	}
}

// propose takes a point for each aim, one after the other, each the best given
// that those before it turn out as expected.
func (b *bayes) propose(first, n int) [][]float64 {
	if first < len(b.initial) {
		return b.initial[first : first+n]
	}
	space, models := b.config.Space, b.models()
	taken := slices.Clone(b.unit)
	candidates := b.candidates(first)
	var values [][]float64
	for k := range n {
		aim := models.aim(b.weights(first + k))
		u := models.best(space, &aim, candidates, taken)
		values, taken = append(values, space.FromUnit(u)), append(taken, u)
		if k < n-1 {
			models = models.believing(space.features(u))
		}
	}
	return values
}

// best is the point of the greatest merit that was found: climbs begin at the
// candidates of greatest merit that lie apart from each other. Points that are taken
// are left out while there are others: a trial has one outcome.
func (m *models) best(s Space, a *aim, candidates, taken [][]float64) []float64 {
	ranked := m.sketch().ranked(s, a, candidates)
	var starts [][]float64
	for _, u := range ranked {
		isClose := func(v []float64) bool {
			return floats.Distance(u, v, 2) < apart*math.Sqrt(float64(len(u)))
		}
		if len(starts) < climbs && !slices.ContainsFunc(starts, isClose) {
			starts = append(starts, u)
		}
	}
	final := slices.Clone(ranked[:min(len(ranked), 4*climbs)])
	for _, u := range starts {
		final = append(final, s.canonical(m.climb(s, a, u)))
	}
	final = m.ranked(s, a, final)
	for range rounds {
		top := final[0]
		around := s.neighbours(top)
		if len(around) == 0 {
			break
		}
		around = m.ranked(s, a, around)
		final = m.ranked(s, a, append(final, around[0], s.canonical(m.climb(s, a, around[0]))))
		if slices.Equal(final[0], top) {
			break
		}
	}
	for _, u := range append(final, ranked...) {
		if !slices.ContainsFunc(taken, func(t []float64) bool { return slices.Equal(t, u) }) {
			return u
		}
	}
	return final[0]
}

// ranked sorts points by merit, the greatest first.
func (m *models) ranked(s Space, a *aim, points [][]float64) [][]float64 {
	return pick(points, descending(m.merits(a, features(s, points))))
}

// candidates are unit coordinates: a fresh scrambled Sobol set, and the
// surroundings of the best points told.
func (b *bayes) candidates(first int) [][]float64 {
	space := b.config.Space
	spread, err := newSobol(space.Dim(), draw.At(b.config.Seed, draw.StreamOf("search/bayes/candidates"), uint64(first), 0, 0))
	if err != nil {
		panic("search: a dimension that was accepted: " + err.Error())
	}
	var tried [][]float64
	for i := range wide {
		u := make([]float64, space.Dim())
		spread.Point(uint32(i), u)
		tried = append(tried, space.canonical(u))
	}
	order := b.ranked()
	d := b.config.draws("near", first)
	for i := range nearBest {
		u := slices.Clone(b.unit[order[i%min(leaders, len(order))]])
		space.nudge(u, []float64{0.2, 0.05, 0.0125}[i/leaders%3], d)
		tried = append(tried, space.canonical(u))
	}
	return tried
}

// ranked lists the trials from the best to the worst; with several objectives
// front by front, those first that stand alone.
func (b *bayes) ranked() []int {
	if len(b.config.Goal.Objectives) == 1 {
		order := countTo(len(b.scores))
		slices.SortStableFunc(order, func(i, j int) int { return better(&b.scores[i], &b.scores[j]) })
		return order
	}
	var order []int
	for _, front := range fronts(b.scores) {
		for _, i := range descending(crowding(b.scores, front)) {
			order = append(order, front[i])
		}
	}
	return order
}

func descending(x []float64) []int {
	order := countTo(len(x))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[b], x[a]) })
	return order
}
