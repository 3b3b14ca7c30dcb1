package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// estimate is the change from the baseline to the candidate under a reading.
type estimate struct {
	// ratio says that value is the logarithm of the ratio of the means; it is the
	// mean difference otherwise.
	ratio         bool
	value         float64
	standardError float64
	law           law
	// noise is the variance that the replicas at hand leave in value, and single
	// what one run per window and side would; both 0 when none was measured.
	noise, single float64
	freedom       float64 // behind noise
}

// law of an estimate in standard errors.
type law interface {
	// Quantile leaves a share of level beyond it, on both sides together.
	Quantile(level float64) float64
}

// student is Student's t with that many degrees of freedom.
type student float64

func (nu student) Quantile(level float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: float64(nu)}.Quantile(1 - level/2)
}

// estimateOf is false when there is no error to go by: fewer than two windows
// that stand for others, or fixed windows without replicas.
func estimateOf(p *Pairs, reading Reading) (estimate, bool) {
	if len(p.Window) == 0 || reading == RandomWindows && len(p.Window) < 2 {
		return estimate{}, false
	}
	scratch := p.Differences()
	e := estimate{value: Mean(scratch)}
	baseline, candidate, ok := p.sums()
	e.ratio = ok && candidate > 0
	if reading == RandomWindows {
		c := NewCosines(len(p.Window))
		e.law, e.standardError = c, c.StandardError(scratch)
		if _, windows, ok := c.LogRatio(p, scratch); ok {
			e.standardError = windows
		} else {
			e.ratio = false
		}
	}
	factor, unit := 1.0, 1.0
	if e.ratio {
		e.value, factor, unit = math.Log(candidate/baseline), candidate/baseline, candidate/float64(len(p.Window))
	}
	noise, measured := p.luckOf(factor)
	e.noise, e.single, e.freedom = noise.variance/(unit*unit), noise.single/(unit*unit), noise.freedom
	if reading == FixedWindows {
		e.standardError, e.law = math.Sqrt(e.noise), student(noise.freedom)
		return e, measured && Finite(e.value)
	}
	e.standardError = max(e.standardError, math.Sqrt(e.noise))
	return e, Finite(e.value)
}

// interval leaves out a share of level, on both sides together.
func (e *estimate) interval(level float64) Interval {
	reach := 0.0
	if e.standardError > 0 {
		reach = e.law.Quantile(level) * e.standardError
	}
	return Interval{e.value, e.value - reach, e.value + reach, 1 - level}
}
