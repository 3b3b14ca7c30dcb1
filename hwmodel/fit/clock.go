package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"orrery/hwmodel"
	"orrery/internal/libm"
)

// ClockRow is a measurement of a job at a clock.
type ClockRow struct {
	Clock float64 // clock ÷ top clock
	Time  float64 // relative to the top clock
	Power float64 // relative to the top clock
}

const leastClocks = 5

// Clocks fits the response of one card and one kind of work to its clock.
func Clocks(rows []ClockRow) (hwmodel.ClockResponse, error) {
	if len(rows) < leastClocks {
		return hwmodel.ClockResponse{}, tooFew("clocks", len(rows), leastClocks)
	}
	var z, time, power []float64
	for i, r := range rows {
		if !(r.Clock > 0 && r.Clock <= 1) || !(r.Time > 0) || !finite(r.Time) || !(r.Power > 0) || !finite(r.Power) {
			return hwmodel.ClockResponse{}, fmt.Errorf("row %d: found time %v and power %v at clock %v, want positive numbers and a clock up to 1", i, r.Time, r.Power, r.Clock)
		}
		z, time, power = append(z, r.Clock), append(time, r.Time), append(power, r.Power)
	}
	out := hwmodel.ClockResponse{Least: slices.Min(z)}
	var lost line
	out.Knee, lost = nearest(0.5, 1, 0.01, z, time, func(knee, z float64) float64 { return max(0, knee/z-1) })
	out.Slowdown = min(10, max(0, lost.slope))
	var dynamic line
	out.Exponent, dynamic = nearest(1, 9, 0.1, z, power, func(a, z float64) float64 { return libm.Pow(z, a) - 1 })
	out.Static = min(1, max(0, 1-dynamic.slope))
	timeErrors, powerErrors := ClockErrors(out, rows)
	out.TimeError, out.PowerError = min(1, Quantile(errorPart, timeErrors)), min(1, Quantile(errorPart, powerErrors))
	return out, out.Validate()
}

// ClockTable is a response as a table: the median of the rows at each clock, of which the top
// clock is one. It follows a card that its power limit holds back at the top clocks, where the
// formula does not.
func ClockTable(rows []ClockRow) (hwmodel.ClockResponse, error) {
	if _, err := Clocks(rows); err != nil {
		return hwmodel.ClockResponse{}, err
	}
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(a, b ClockRow) int { return cmp.Compare(a.Clock, b.Clock) })
	out := hwmodel.ClockResponse{Least: sorted[0].Clock}
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n].Clock == sorted[0].Clock {
			n++
		}
		var time, power []float64
		for _, r := range sorted[:n] {
			time, power = append(time, r.Time), append(power, r.Power)
		}
		out.Table = append(out.Table, hwmodel.ClockPoint{Clock: sorted[0].Clock, Time: Median(time), Power: Median(power)})
		sorted = sorted[n:]
	}
	time, power := ClockErrors(out, rows)
	out.TimeError, out.PowerError = min(1, Quantile(errorPart, time)), min(1, Quantile(errorPart, power))
	return out, out.Validate()
}

// line is 1 + slope · f with its sum of distances from measurements.
type line struct{ slope, distance float64 }

// nearest is the parameter from low to high whose line 1 + slope · f(parameter, x) is nearest to y.
func nearest(low, high, step float64, x, y []float64, f func(parameter, x float64) float64) (float64, line) {
	parameter, best := low, line{0, math.Inf(1)}
	for i := 0; ; i++ {
		p := math.Round((low+float64(i)*step)/1e-6) * 1e-6
		if p > high+step/2 {
			return parameter, best
		}
		by, left := make([]float64, len(x)), make([]float64, len(x))
		for j := range x {
			by[j], left[j] = f(p, x[j]), y[j]-1
		}
		s, known := slope(by, left)
		if !known {
			continue
		}
		if sum := absolute(by, left, func(by float64) float64 { return s * by }); sum < best.distance {
			parameter, best = p, line{s, sum}
		}
	}
}

// ClockErrors are how far a response is off at rows that it answers, parts of the measurement.
func ClockErrors(c hwmodel.ClockResponse, rows []ClockRow) (time, power []float64) {
	for _, r := range rows {
		if b, known := c.Time(r.Clock); known {
			time = append(time, math.Abs(b.Value-r.Time)/r.Time)
		}
		if b, known := c.Power(r.Clock); known {
			power = append(power, math.Abs(b.Value-r.Power)/r.Power)
		}
	}
	return time, power
}
