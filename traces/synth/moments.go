package synth

import (
	"math"

	"orrery/internal/libm"
	"orrery/traces/synth/internal/law"
)

// Expectations of the model, from its formulas and not from samples: they
// scale the load, and tests compare samples with them.

// integrate is Simpson's rule with 4096 intervals, for densities that are
// smooth and not narrower than a hundredth of [a, b].
func integrate(a, b float64, f func(float64) float64) float64 {
	const n = 4096
	h := (b - a) / n
	sum := f(a) + f(b)
	for i := 1; i < n; i++ {
		sum += float64(float64(2+2*(i&1)) * f(a+float64(i)*h))
	}
	return sum * h / 3
}

// gammaDensity is the density of a gamma of a shape of at least 1 at x.
func gammaDensity(shape, scale, x float64) float64 {
	if x <= 0 {
		if x == 0 && shape == 1 {
			return 1 / scale
		}
		return 0
	}
	logGamma, _ := math.Lgamma(shape)
	return libm.Exp((shape-1)*math.Log(x/scale)-x/scale-logGamma) / scale
}

// bounded is, for X gamma and a bound, the probability of X <= bound and the
// expectation of e^X where X <= bound and 0 elsewhere.
func bounded(shape, scale, bound float64) (probability, expectation float64) {
	probability = integrate(0, bound, func(x float64) float64 { return gammaDensity(shape, scale, x) })
	expectation = integrate(0, bound, func(x float64) float64 { return libm.Exp(x) * gammaDensity(shape, scale, x) })
	return probability, expectation
}

// DailyCycle is the daily cycle of the class. The gamma of the published fit counts
// half hours from midnight, and the day it covers begins with the eleventh.
func (c *LublinClass) DailyCycle() *law.Cycle {
	const begin = 11
	var weights [law.DaySlots]float64
	for i := begin; i < begin+law.DaySlots; i++ {
		weights[(i-1)%law.DaySlots] = integrate(float64(i)-0.5, float64(i)+0.5,
			func(x float64) float64 { return gammaDensity(c.ANum, c.BNum, x) })
	}
	return law.NewCycle(weights)
}

// meanGap is the expected number of seconds between two arrivals of the class,
// over whole days.
func (c *LublinClass) meanGap(maxLog float64) float64 {
	p, e := bounded(c.AArr*c.ARAR, c.BArr, maxLog)
	return e / p
}

// sizeProbability lists the probability of each size from 0 up.
func (c *LublinClass) sizeProbability(procs int32) []float64 {
	low, med, hi := c.bounds(procs)
	largest := c.largest(procs)
	p := make([]float64, largest+1)
	p[1] += c.SerialProb
	below := func(x float64) float64 { // probability that the logarithm is below x
		x = min(max(x, low), hi)
		if x < med {
			return c.UProb * (x - low) / (med - low)
		}
		return c.UProb + (1-c.UProb)*(x-med)/(hi-med)
	}
	for k := math.Floor(low + 0.5); k-0.5 < hi; k++ {
		size := min(int32(math.Floor(math.Exp2(k)+0.5)), largest)
		p[size] += c.Pow2Prob * (below(k+0.5) - below(k-0.5))
	}
	other := 1 - c.SerialProb - c.Pow2Prob
	for size := int32(1); size <= largest; size++ {
		from, to := below(math.Log2(float64(size)-0.5)), below(math.Log2(float64(size)+0.5))
		if size == largest {
			to = 1
		}
		p[size] += other * (to - from)
	}
	return p
}

// means are expectations over the jobs of a class: processors, seconds of run
// time, and their product. Run times count before they are rounded down.
func (c *LublinClass) means(p *LublinParams) (size, runtime, area float64) {
	p1, e1 := bounded(c.A1, c.B1, p.MaxRuntimeLog)
	p2, e2 := bounded(c.A2, c.B2, p.MaxRuntimeLog)
	for n, probability := range c.sizeProbability(p.Procs) {
		first := c.first(int32(n))
		run := (first*e1 + (1-first)*e2) / (first*p1 + (1-first)*p2)
		size += probability * float64(n)
		runtime += probability * run
		area += probability * float64(n) * run
	}
	return size, runtime, area
}

// offeredLoad is the expected load that the model offers to its cluster when
// Load does not scale it: processor-seconds of run time by second and
// processor.
func (p *LublinParams) offeredLoad() float64 {
	load := 0.0
	for i := range p.Classes {
		_, _, area := p.Classes[i].means(p)
		load += area / p.Classes[i].meanGap(p.MaxGapLog) / float64(p.Procs)
	}
	return load
}

// stretch is the factor on gaps that gives the load asked for.
func (p *LublinParams) stretch() float64 {
	if p.Load == 0 {
		return 1
	}
	return p.offeredLoad() / p.Load
}
