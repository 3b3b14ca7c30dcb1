package fit

import (
	"math"
	"slices"

	"orrery/scheduler/model"
)

// readingsOf are what a sensor has shown in a span, each reading once, without those whose
// window reaches back before the span and those that stand alone against their neighbours.
func readingsOf(s *Span, sensor *Sensor, counts *StateCounts) []Sample {
	settled := s.From + int64(sensor.Window) + int64(sensor.Period)
	var out []Sample
	shown := int64(0) // when the last reading was first seen
	for _, r := range s.Samples {
		if r.At < s.From || r.At > s.To {
			continue
		}
		counts.Samples++
		switch n := len(out); {
		case !finite(r.Watts) || r.Watts < 0:
			counts.Invalid++
		case r.At < settled:
			counts.Settling++
		case n > 0 && r.Watts == out[n-1].Watts && r.At-shown < int64(sensor.Period):
			counts.Repeated++
		default:
			out, shown = append(out, r), r.At
		}
	}
	return withoutOutliers(out, counts)
}

const (
	neighbours   = 3 // on each side
	outlierScale = 6 // robust standard deviations
	normalMAD    = 1.4826
)

// withoutOutliers drops readings that are far from the median of the seven around them, by what
// is usual of the series (a filter of Hampel). Phases of a job that last four readings stay, and
// a series that jumps at each reading loses none.
func withoutOutliers(x []Sample, counts *StateCounts) []Sample {
	if len(x) < leastReadings {
		return x
	}
	off := make([]float64, len(x))
	var window [2*neighbours + 1]float64
	for i := range x {
		n := 0
		for j := max(0, i-neighbours); j <= min(len(x)-1, i+neighbours); j++ {
			at := n
			for ; at > 0 && window[at-1] > x[j].Watts; at-- {
				window[at] = window[at-1]
			}
			window[at] = x[j].Watts
			n++
		}
		off[i] = math.Abs(x[i].Watts - (window[(n-1)/2]+window[n/2])/2)
	}
	most := outlierScale * normalMAD * Median(off)
	out := x[:0:0]
	for i := range x {
		if off[i] > most && most > 0 {
			counts.Outliers++
			continue
		}
		out = append(out, x[i])
	}
	// Gaps are counted here as energy has to step over them.
	step := usualStep(out)
	for i := 1; i < len(out); i++ {
		if out[i].At-out[i-1].At > gapSteps*step {
			counts.Gaps++
		}
	}
	return out
}

// usualStep is the median time between readings, 0 of fewer than two.
func usualStep(x []Sample) int64 {
	if len(x) < 2 {
		return 0
	}
	steps := make([]int64, 0, len(x)-1)
	for i := 1; i < len(x); i++ {
		steps = append(steps, x[i].At-x[i-1].At)
	}
	slices.Sort(steps)
	return steps[len(steps)/2]
}

// energy is that of readings and the time that they stand for. A reading holds until the next
// one, and over a gap for one usual step.
func energy(x []Sample) (joules, seconds float64) {
	usual := max(1, usualStep(x))
	for i, r := range x {
		step := usual
		if i+1 < len(x) && x[i+1].At-r.At <= gapSteps*usual {
			step = x[i+1].At - r.At
		}
		s := model.Duration(step).Seconds()
		joules, seconds = joules+r.Watts*s, seconds+s
	}
	return joules, seconds
}

// Count is a reading of a counter of energy.
type Count struct {
	At         int64 // µs
	Millijoule uint64
}

// OfCounter are the mean powers between readings of a counter, at the end of each interval. It
// steps over resets, where the counter falls, and counts them: the energy since the last reading
// is lost there. Readings at one instant are one.
func OfCounter(readings []Count) (out []Sample, resets int) {
	for i := 1; i < len(readings); i++ {
		a, b := readings[i-1], readings[i]
		switch {
		case b.Millijoule < a.Millijoule:
			resets++
		case b.At > a.At:
			out = append(out, Sample{b.At, float64(b.Millijoule-a.Millijoule) * 1000 / float64(b.At-a.At)})
		}
	}
	return out, resets
}
