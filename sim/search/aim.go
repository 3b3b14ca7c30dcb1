package search

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat"
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
// spread over the trials. The gaps between sorted uniform numbers are that.
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
// cost, in spans.
const utopia = 0.5

// spanReach is the distance from the best cost, in those of the median, beyond which
// costs count as that far: overloaded runs do not move the span.
const spanReach = 4

// span is the unit of an objective beside others: the standard deviation of its costs.
func span(y []float64) float64 {
	sorted := slices.Sorted(slices.Values(y))
	best, median := sorted[0], sorted[len(sorted)/2]
	if median > best {
		for i := range sorted {
			sorted[i] = min(sorted[i], best+spanReach*(median-best))
		}
	}
	if s := stat.StdDev(sorted, nil); s > 0 {
		return s
	}
	return 1 // of equal costs, and of a single one
}

// scaled is an expected target of objective j as a cost above the ideal, in spans.
func (m *models) scaled(j int, target float64) float64 {
	w := &m.costs[j].warp
	return (w.cost(target)-w.cost(m.least[j]))/m.spans[j] + utopia
}

// unscaled is the way back.
func (m *models) unscaled(j int, cost float64) (target float64) {
	w := &m.costs[j].warp
	return w.target(w.cost(m.least[j]) + (cost-utopia)*m.spans[j])
}

func (m *models) aim(weights []float64) aim {
	a := aim{weights: weights, reached: math.Inf(1)}
	for _, i := range m.tried {
		worst := math.Inf(-1)
		for j, p := range m.costs {
			worst = max(worst, weights[j]*m.scaled(j, p.already[i]))
		}
		a.reached = min(a.reached, worst)
	}
	return a
}

// levels and their weights integrate a smooth function from -1 to 1.
var levels, levelWeights = quadrature(12)

func quadrature(n int) (x, w []float64) {
	x, w = make([]float64, n), make([]float64, n)
	quad.Legendre{}.FixedLocations(x, w, -1, 1)
	return x, w
}

// gain is the logarithm of the improvement on what an aim has reached that is
// expected of a point, and its slopes by the mean and the deviation of each
// objective there. (Ament and others: Unexpected improvements to expected
// improvement for Bayesian optimization, 2023: the logarithm has a slope also where
// the improvement itself is 0 to the precision of the machine.)
func (m *models) gain(a *aim, at []belief) (value float64, byMean, byDeviation []float64) {
	if len(at) > 1 {
		return m.jointGain(a, at)
	}
	b := &at[0]
	value, up, down := logImprovement((m.least[0] - b.mean) / b.deviation)
	return value + math.Log(b.deviation), []float64{-up / b.deviation}, []float64{down / b.deviation}
}

// nothing is the logarithm of an improvement that is too small for a number.
const nothing = -700

// jointGain is gain for several objectives: the integral, over the levels below
// what is reached, of the probability that all weighted costs are below the level.
func (m *models) jointGain(a *aim, at []belief) (value float64, byMean, byDeviation []float64) {
	byMean, byDeviation = make([]float64, len(at)), make([]float64, len(at))
	const never = 6 // deviations
	low := math.Inf(-1)
	for j, b := range at {
		low = max(low, a.weights[j]*m.scaled(j, b.mean-never*b.deviation))
	}
	half := (a.reached - low) / 2
	if !(half > 0) {
		return nothing + 2*half, byMean, byDeviation
	}
	sum, z := 0.0, make([]float64, len(at))
	for i, x := range levels {
		level := low + half*(1+x)
		p := levelWeights[i] * half
		for j, b := range at {
			z[j] = (m.unscaled(j, level/a.weights[j]) - b.mean) / b.deviation
			p *= normal(z[j])
		}
		if p == 0 {
			continue
		}
		sum += p
		for j, b := range at {
			_, steepness := logNormal(z[j])
			byMean[j] -= p * steepness / b.deviation
			byDeviation[j] -= p * steepness * z[j] / b.deviation
		}
	}
	if sum == 0 {
		return nothing, byMean, byDeviation
	}
	for j := range at {
		byMean[j] /= sum
		byDeviation[j] /= sum
	}
	return math.Log(sum), byMean, byDeviation
}

// logNormal is the logarithm of the standard normal distribution function and its
// slope, also far out.
func logNormal(z float64) (value, slope float64) {
	if z < -30 {
		return logDensity(z) - math.Log(-z), -z
	}
	p := normal(z)
	return math.Log(p), density(z) / p
}

func logDensity(z float64) float64 { return -0.5*z*z - 0.5*math.Log(2*math.Pi) }

// logImprovement is the logarithm of the expectation h of max(0, Z + z) for a
// standard normal Z, h = φ(z) + zΦ(z) (Jones et al., equation 15), with Φ/h and φ/h.
// Below 0, h = φ (1 - x M) with x = -z and M = Φ(z)/φ(z), Mills' ratio; far out the
// bracket is its asymptotic series (Abramowitz and Stegun, 26.2.12).
func logImprovement(z float64) (value, up, down float64) {
	if z > -1 {
		cdf, pdf := normal(z), density(z)
		h := pdf + z*cdf
		return math.Log(h), cdf / h, pdf / h
	}
	x := -z
	var mills, bracket float64
	if x < 12 {
		mills = normal(z) / density(z)
		bracket = 1 - x*mills
	} else {
		q := 1 / (x * x)
		bracket = q * (1 - q*(3-q*(15-q*(105-q*945))))
		mills = (1 - bracket) / x
	}
	return logDensity(z) + math.Log(bracket), mills / bracket, 1 / bracket
}
