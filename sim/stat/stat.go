// Package stat says how sure a comparison of two configurations is. It pairs
// runs of the same windows of a trace, puts intervals and p-values on the mean
// difference and on the ratio of the means, measures what jittered replicas add
// to the error, and turns all of it into a verdict. The formulas, their sources
// and what they were measured to cover are in docs/STATISTICS.md.
//
// It must not know what a metric means, how a run is made or where results are
// kept: it takes numbers and returns numbers. The same numbers and the same
// Settings give the same answer, whatever was asked before.
//
// The unit of evidence is the window. Replicas of a window replay the same jobs
// and are averaged; windows next to each other share a queue, so their differences
// are taken as a series in the order of time (Cosines).
package stat

import (
	"math"

	gonum "gonum.org/v1/gonum/stat"
)

// Direction says which way a metric is better.
type Direction int

// The directions.
const (
	Lower  Direction = iota // less is better: waits, slowdowns, cost
	Higher                  // more is better: utilisation, throughput
)

// Gain turns a difference, candidate minus baseline, into a gain: positive
// when the candidate is better.
func (d Direction) Gain(difference float64) float64 {
	if d == Higher {
		return difference
	}
	return -difference
}

func (d Direction) String() string {
	if d == Higher {
		return "higher is better"
	}
	return "lower is better"
}

// Interval is an estimate with the range that holds the true value with a
// probability of Confidence, in the unit of what was estimated. An interval of
// nothing is NaN throughout; one value alone has an estimate and no ends.
type Interval struct {
	Estimate, Low, High float64
	Confidence          float64
}

// Known says whether the interval is one of numbers.
func (i Interval) Known() bool { return Finite(i.Estimate) && Finite(i.Low) && Finite(i.High) }

// Times is the interval in another unit, one of which is 1/factor of the old.
// A negative factor swaps its ends.
func (i Interval) Times(factor float64) Interval {
	if factor < 0 { // 0 - x, so that zero does not become -0
		return Interval{0 - i.Estimate*-factor, 0 - i.High*-factor, 0 - i.Low*-factor, i.Confidence}
	}
	return Interval{i.Estimate * factor, i.Low * factor, i.High * factor, i.Confidence}
}

// side says on which side of 0 the whole interval lies: -1, +1, or 0 of one that
// holds 0 or is not known.
func (i Interval) side() int {
	switch {
	case i.Low > 0:
		return 1
	case i.High < 0:
		return -1
	}
	return 0
}

func unknown(confidence float64) Interval {
	return Interval{math.NaN(), math.NaN(), math.NaN(), confidence}
}

// Mean is the arithmetic mean of values, NaN of none.
func Mean(values []float64) float64 { return gonum.Mean(values, nil) }

// Finite says whether x is a number: neither NaN nor infinite.
func Finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
