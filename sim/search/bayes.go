package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"orrery/scheduler/model/draw"
)

// bayes is Bayesian optimisation: a Gaussian process of each objective and one
// of each constraint say what to expect where nobody looked, and the trials are
// those that promise most of what each aims at. (Jones, Schonlau, Welch:
// Efficient global optimization of expensive black-box functions, 1998; for
// constraints Gardner et al.: Bayesian optimization with inequality constraints,
// 2014.)
//
// It keeps nothing but the history: hyperparameters are fitted anew for each
// batch, so a search resumes from results alone.
type bayes struct {
	config  *Config
	size    int
	mix     *Sobol      // of the weights of several objectives; nil with one
	initial [][]float64 // the design of the first trials, whole batches
	x       [][]float64 // features of all trials told
	unit    [][]float64 // their unit coordinates
	scores  []Score
}

// Numbers of Bayesian optimisation: the size of a batch; the most points that
// hyperparameters are fitted to, that the processes are given which choose among
// many points, and those which have the last word; the points tried out on the
// model, in the whole space, around the best points told, and around the best
// points tried out.
const (
	bayesBatch   = 4
	fitPoints    = 100
	sketchPoints = 256
	modelPoints  = 800
	wide         = 512
	nearBest     = 256
	refined      = 256
	leaders      = 8
)

func newBayes(c *Config) (method, error) {
	if err := sobolReaches(c); err != nil {
		return nil, err
	}
	b := &bayes{config: c, size: cmp.Or(c.Batch, bayesBatch)}
	if k := len(c.Goal.Objectives); k > 1 {
		var err error
		if b.mix, err = NewSobol(k-1, draw.At(c.Seed, draw.StreamOf("search/bayes/weights"), 0, 0, 0)); err != nil {
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
func (*bayes) retold() bool { return true }

func (b *bayes) learn(_ int, values [][]float64, scores []Score) {
	for i, v := range values {
		u := b.config.Space.coordinates(v, unitOf)
		b.unit = append(b.unit, u)
		b.x = append(b.x, b.config.Space.features(u))
		b.scores = append(b.scores, scores[i])
	}
}

func (b *bayes) propose(first, n int) [][]float64 {
	if first < len(b.initial) {
		return b.initial[first : first+n]
	}
	models := b.models()
	for i := range n {
		models.aims = append(models.aims, models.aim(b.weights(first+i)))
	}
	tried, fresh := b.split(b.candidates(first), n)
	final := models.sketch().promising(tried, features(b.config.Space, tried[:fresh]))
	final = append(final, tried[fresh:]...)
	best := min(leaders, len(final))
	d := b.config.draws("refine", first)
	for i := range refined {
		u := slices.Clone(final[i%best])
		b.config.Space.nudge(u, []float64{0.1, 0.03, 0.01}[i/leaders%3], d)
		final = append(final, b.config.Space.canonical(u))
	}
	final, fresh = b.split(final, n)
	var values [][]float64
	for _, i := range models.choose(features(b.config.Space, final), fresh) {
		values = append(values, b.config.Space.FromUnit(final[i]))
	}
	return values
}

// candidates are unit coordinates: a fresh scrambled Sobol set, and the
// surroundings of the best points told.
func (b *bayes) candidates(first int) [][]float64 {
	space := b.config.Space
	spread, err := NewSobol(space.Dim(), draw.At(b.config.Seed, draw.StreamOf("search/bayes/candidates"), uint64(first), 0, 0))
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

// split puts the points in front that were not told and are not there twice,
// and says how many they are: a trial has one outcome, to see it again is
// wasted. The others are left out where n fresh ones are there.
func (b *bayes) split(points [][]float64, n int) (sorted [][]float64, fresh int) {
	var fresher, old [][]float64
	for _, p := range points {
		alike := func(u []float64) bool { return slices.Equal(u, p) }
		if slices.ContainsFunc(b.unit, alike) || slices.ContainsFunc(fresher, alike) {
			old = append(old, p)
		} else {
			fresher = append(fresher, p)
		}
	}
	if len(fresher) >= n {
		return fresher, len(fresher)
	}
	return append(fresher, old...), len(fresher)
}

// ranked lists the trials from the best to the worst; with several objectives
// front by front, those first that stand alone.
func (b *bayes) ranked() []int {
	var order []int
	if len(b.config.Goal.Objectives) > 1 {
		for _, front := range Fronts(b.scores) {
			for _, i := range descending(crowding(b.scores, front)) {
				order = append(order, front[i])
			}
		}
		return order
	}
	for i := range b.scores {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(i, j int) int { return better(&b.scores[i], &b.scores[j]) })
	return order
}

// models are the processes given the history.
type models struct {
	costs []*process
	gaps  []*process
	kept  []float64 // the scaled bound of each constraint
	tried []int     // points told that are expected to be feasible
	least []float64 // the least expected cost of any of them, by objective
	aims  []aim     // of the trials of the batch
}

// sketch is the models given a part of the points, chosen as theirs are: what they
// expect costs the square of their number. Hyperparameters are those of all.
func (m *models) sketch() *models {
	rough := *m
	rough.costs, rough.gaps = nil, nil
	for _, p := range m.costs {
		rough.costs = append(rough.costs, p.sketch())
	}
	for _, p := range m.gaps {
		rough.gaps = append(rough.gaps, p.sketch())
	}
	return &rough
}

func (p *process) sketch() *process {
	if len(p.x) <= sketchPoints {
		return p
	}
	order := make([]int, len(p.x)) // the best first
	for i := range order {
		order[i] = i
	}
	var x [][]float64
	var y []float64
	for _, i := range spreadOf(order, sketchPoints) {
		x, y = append(x, p.x[i]), append(y, p.y[i])
	}
	return condition(p.kernel, x, y)
}

// models fits and conditions the processes. Past modelPoints results, the
// better half of them are the best ones and the others are spread evenly over
// the rest.
func (b *bayes) models() *models {
	rows := spreadOf(b.ranked(), modelPoints)
	x := make([][]float64, len(rows))
	for i, r := range rows {
		x[i] = b.x[r]
	}
	m := &models{}
	for o := range b.config.Goal.Objectives {
		cost := make([]float64, len(rows))
		for i, r := range rows {
			cost[i] = b.scores[r].Costs[o]
		}
		process, _ := model(x, squash(imputed(cost)))
		m.costs = append(m.costs, process)
	}
	for c := range b.config.Goal.Constraints {
		gap := make([]float64, len(rows))
		for i, r := range rows {
			gap[i] = b.scores[r].Gaps[c]
		}
		process, zero := model(x, soften(imputed(gap)))
		m.gaps, m.kept = append(m.gaps, process), append(m.kept, zero)
	}
	for i, r := range rows {
		feasible := !b.scores[r].failed()
		for c, p := range m.gaps {
			feasible = feasible && p.already[i] <= m.kept[c]
		}
		if feasible {
			m.tried = append(m.tried, i)
		}
	}
	for _, p := range m.costs {
		least := math.Inf(1)
		for _, i := range m.tried {
			least = min(least, p.already[i])
		}
		m.least = append(m.least, least)
	}
	return m
}

// model standardises targets, fits on a part of the points and conditions on
// all; zero is where the target 0 has gone. The points come best first.
func model(x [][]float64, y []float64) (p *process, zero float64) {
	mean, deviation := stat.MeanStdDev(y, nil)
	if !(deviation > 1e-12*math.Abs(mean)) || len(y) < 2 {
		deviation = 1
	}
	scaled := make([]float64, len(y))
	for i := range y {
		scaled[i] = (y[i] - mean) / deviation
	}
	order := make([]int, len(y))
	for i := range order {
		order[i] = i
	}
	var fitX [][]float64
	var fitY []float64
	for _, i := range spreadOf(order, fitPoints) {
		fitX, fitY = append(fitX, x[i]), append(fitY, scaled[i])
	}
	return condition(fit(fitX, fitY), x, scaled), -mean / deviation
}

// spreadOf takes at most n of ranked indices: the first half of n from the top,
// the others at even distances from the rest.
func spreadOf(ranked []int, n int) []int {
	if len(ranked) <= n {
		return ranked
	}
	top := n / 2
	chosen := slices.Clone(ranked[:top])
	rest := ranked[top:]
	for i := range n - top {
		chosen = append(chosen, rest[i*len(rest)/(n-top)])
	}
	return chosen
}

// imputed replaces the targets of failed trials by the worst of the others.
func imputed(y []float64) []float64 {
	worst := math.Inf(-1)
	for _, v := range y {
		if !math.IsInf(v, 1) {
			worst = max(worst, v)
		}
	}
	if math.IsInf(worst, -1) {
		worst = 0
	}
	for i, v := range y {
		if math.IsInf(v, 1) {
			y[i] = worst
		}
	}
	return y
}

// squash turns costs into log(1 + (y-best)/(median-best)): differences among
// good points stay as they are, disasters come closer. Waits of overloaded runs
// would otherwise be all that the model sees.
func squash(y []float64) []float64 {
	sorted := slices.Sorted(slices.Values(y))
	best, median := sorted[0], sorted[len(sorted)/2]
	if !(median > best) {
		return y
	}
	for i := range y {
		y[i] = math.Log1p((y[i] - best) / (median - best))
	}
	return y
}

// soften turns gaps into asinh(y/scale) with the median size as the scale: the
// sign stays.
func soften(y []float64) []float64 {
	sizes := make([]float64, len(y))
	for i := range y {
		sizes[i] = math.Abs(y[i])
	}
	slices.Sort(sizes)
	scale := sizes[len(sizes)/2]
	if scale == 0 {
		return y
	}
	for i := range y {
		y[i] = math.Asinh(y[i] / scale)
	}
	return y
}

// beliefs are what the models expect at a set of points.
type beliefs struct {
	models *models
	costs  []*belief
	gaps   []*belief
}

func (m *models) expect(at [][]float64) *beliefs {
	b := &beliefs{models: m}
	for _, p := range m.costs {
		b.costs = append(b.costs, p.expect(at))
	}
	for _, p := range m.gaps {
		b.gaps = append(b.gaps, p.expect(at))
	}
	return b
}

// merit is the expected improvement on what an aim has reached times the
// probability of being feasible; the latter alone while no point is expected
// to be feasible.
func (b *beliefs) merit(a *aim, j int) float64 {
	merit := 1.0
	if len(b.models.tried) > 0 {
		merit = b.gain(a, j)
	}
	for c, g := range b.gaps {
		merit *= normal((b.models.kept[c] - g.mean[j]) / max(g.deviation(j), 1e-9))
	}
	return merit
}

// improvement is the expectation of max(0, Z) for a normal Z. (Jones et al.,
// equation 15.)
func improvement(mean, deviation float64) float64 {
	if deviation < 1e-9 {
		return max(0, mean)
	}
	z := mean / deviation
	return max(0, deviation*(z*normal(z)+density(z)))
}

// promising are the points that promise most, those first that do so to an aim.
func (m *models) promising(points, at [][]float64) [][]float64 {
	if len(at) == 0 {
		return nil
	}
	b, aims := m.expect(at), m.aims
	if len(m.costs) == 1 {
		aims = aims[:1] // all are the same
	}
	orders := make([][]int, len(aims))
	for k := range aims {
		merits := make([]float64, len(at))
		for j := range at {
			merits[j] = b.merit(&aims[k], j)
		}
		orders[k] = descending(merits)
	}
	var out [][]float64
	taken := make([]bool, len(at))
	for i := 0; i < len(at) && len(out) < refined; i++ {
		for _, order := range orders {
			if j := order[i]; !taken[j] && len(out) < refined {
				taken[j] = true
				out = append(out, points[j])
			}
		}
	}
	return out
}

// choose takes a point for each aim, one after the other, each the best given
// that those before it turn out as expected, and the fresh points in front
// before the others. Where nothing promises anything, the least known point is
// taken.
func (m *models) choose(at [][]float64, fresh int) []int {
	b := m.expect(at)
	taken := make([]bool, len(at))
	var chosen []int
	for k := range m.aims {
		best, most, unknown := -1, 0.0, -1.0
		open := len(at)
		if len(chosen) < fresh {
			open = fresh
		}
		for j := range open {
			if taken[j] {
				continue
			}
			merit, deviation := b.merit(&m.aims[k], j), b.deviation(j)
			if best < 0 || merit > most || merit == 0 && most == 0 && deviation > unknown {
				best, most, unknown = j, merit, deviation
			}
		}
		taken[best] = true
		chosen = append(chosen, best)
		for _, p := range slices.Concat(b.costs, b.gaps) {
			p.believe(best)
		}
	}
	return chosen
}

func descending(x []float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[b], x[a]) })
	return order
}
