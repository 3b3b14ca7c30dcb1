package stat

import "math"

// estimate is the change from the baseline to the candidate under a reading.
type estimate struct {
	// ratio says that value is the logarithm of the ratio of the means; it is the
	// mean difference otherwise.
	ratio bool
	value float64
	spread
	law *Law // of random windows; nil of fixed ones, whose only error is the noise
}

// estimateOf is false when there is no error to go by: fewer than two windows
// that stand for others, or fixed windows without replicas.
func estimateOf(p *Pairs, reading Reading) (estimate, bool) {
	if len(p.Window) == 0 || reading == RandomWindows && len(p.Window) < 2 {
		return estimate{}, false
	}
	scratch := p.differences()
	e := estimate{value: Mean(scratch)}
	baseline, candidate, ok := p.sums()
	e.ratio = ok && candidate > 0
	windows := 0.0
	if reading == RandomWindows {
		c := NewCosines(len(p.Window))
		windows, e.law = c.StandardError(scratch), c.lawOf(scratch)
		if _, standardError, ok := c.LogRatio(p, scratch); ok {
			windows, e.law = standardError, c.lawOf(scratch)
		} else {
			e.ratio = false
		}
	}
	factor, unit := 1.0, 1.0
	if e.ratio {
		e.value, factor, unit = math.Log(candidate/baseline), candidate/baseline, candidate/float64(len(p.Window))
	}
	e.spread = spreadOf(windows, p, factor, unit)
	return e, Finite(e.value) && (reading == RandomWindows || p.measured() != NoNoise)
}

// interval leaves out a share of level, on both sides together.
func (e *estimate) interval(level float64) Interval {
	times := 0.0
	if e.law != nil {
		times = e.law.Quantile(level)
	}
	reach := e.reach(times, level)
	return Interval{e.value, e.value - reach, e.value + reach, 1 - level}
}
