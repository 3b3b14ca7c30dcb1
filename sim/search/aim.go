package search

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"
)

// aim is what Bayesian optimisation wants of a trial: less cost. With several
// objectives it wants a smaller greatest weighted cost,
//
//	max over j of weight_j (cost_j - ideal_j)
//
// with weights of its own for each trial. Every point of a Pareto front, whatever
// the shape of the front, is the best one for some weights. The ideal is better
// than anything expected: were it the best that is known, no weights would ask
// for less than that, and the ends of the front would not be sought. (Knowles: ParEGO: a
// hybrid algorithm with on-line landscape approximation for expensive
// multiobjective optimization problems, 2006, which fits one process to the
// weighted costs; here each objective has its own for all weights.)
type aim struct {
	weights []float64
	reached float64 // the least expected at a point told that is expected to be feasible
}

// leastWeight keeps an eye on every objective: with a weight of 0 any cost of it
// would be as good as any other.
const leastWeight = 0.001

// weights of the objectives for a trial: uniform on the simplex, and evenly
// spread over the trials of a batch. The gaps between sorted uniform numbers are
// that.
func (b *bayes) weights(trial int) []float64 {
	if b.mix == nil {
		return []float64{1}
	}
	cuts := make([]float64, len(b.config.Goal.Objectives)-1)
	b.mix.Point(uint32(trial), cuts)
	slices.Sort(cuts)
	var weights []float64
	before := 0.0
	for _, c := range append(cuts, 1) {
		weights = append(weights, max(c-before, leastWeight))
		before = c
	}
	return weights
}

// utopia is how far the ideal of several objectives is below the least expected
// cost, in standard deviations of the costs told.
const utopia = 0.5

func (m *models) aim(weights []float64) aim {
	a := aim{weights: weights, reached: math.Inf(1)}
	for _, i := range m.tried {
		worst := math.Inf(-1)
		for j, p := range m.costs {
			worst = max(worst, weights[j]*(p.already[i]-m.least[j]+utopia))
		}
		a.reached = min(a.reached, worst)
	}
	return a
}

// levels and their weights integrate a smooth function from -1 to 1.
var levels, levelWeights = legendre(12)

func legendre(n int) (x, w []float64) {
	x, w = make([]float64, n), make([]float64, n)
	quad.Legendre{}.FixedLocations(x, w, -1, 1)
	return x, w
}

// gain is the improvement on what an aim has reached that is expected of point j.
// With several objectives it is the integral, over the levels below what is
// reached, of the probability that all weighted costs are below the level.
func (b *beliefs) gain(a *aim, j int) float64 {
	least := b.models.least
	if len(b.costs) == 1 {
		return improvement(least[0]-b.costs[0].mean[j], b.costs[0].deviation(j))
	}
	const never = 6 // deviations
	low := math.Inf(-1)
	for k, c := range b.costs {
		low = max(low, a.weights[k]*(c.mean[j]-never*c.deviation(j)-least[k]+utopia))
	}
	half := (a.reached - low) / 2
	if !(half > 0) {
		return 0
	}
	sum := 0.0
	for i, x := range levels {
		level := low + half*(1+x)
		p := levelWeights[i] * half
		for k, c := range b.costs {
			p *= normal((level/a.weights[k] + least[k] - utopia - c.mean[j]) / max(c.deviation(j), 1e-9))
		}
		sum += p
	}
	return sum
}

// deviation at point j is the largest of the objectives.
func (b *beliefs) deviation(j int) float64 {
	most := 0.0
	for _, c := range b.costs {
		most = max(most, c.deviation(j))
	}
	return most
}
