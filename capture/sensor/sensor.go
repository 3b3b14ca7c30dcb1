// Package sensor finds out what a GPU's reading of power is: how often the driver renews it, over which time it averages, and, beside a
// meter, its gain and offset and how far energy by it is off (docs/CALIBRATION.md). It takes series and gives figures: it must not know
// files, nor whose readings they are.
package sensor

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"orrery/scheduler/model"
)

// Series is power over time: instants in µs since 1970, ascending, each once, and W.
type Series struct {
	Times []model.Time
	Watts []float64
}

// Range is what the measurements allow.
type Range struct{ Low, High float64 }

// Input is what a sensor is judged by.
type Input struct {
	Readings Series
	Meter    Series       // empty where there is none
	Load     []model.Time // instants at which the load toggles, first on; empty where they are not known
	Kind     Kind         // what is published of such a reading
}

// From says what a window was found by.
type From string

// Where a window comes from.
const (
	ByMeter     From = "meter"     // fitted
	ByLoad      From = "load"      // fitted to the instants of the load alone: a hint
	ByPublished From = "published" // by others, of such a card
	Unknown     From = "unknown"
)

// Result says what a sensor is. Figures that are not known are NaN.
type Result struct {
	Readings int
	Span     float64 // s, of the readings
	Interval float64 // s, the median between readings

	Period  float64 // s
	Renewed int     // instants at which the value changed

	Window      float64 // s
	WindowRange Range
	WindowFrom  From
	Identified  bool    // the range is narrow
	Lag         float64 // s, from the end of the window to the instant of the reading, the difference of the clocks included

	Gain, Offset float64
	GainRange    Range
	OffsetRange  Range // NaN where the power was steady at one level alone
	Levels       int   // of steady power that gain and offset were found at
	Overlap      float64
	LoadPeriod   float64 // s: period of the load near that of the sensor, NaN without such a load
	Aliasing     float64 // share by which energy may be off, as the sensor does not see all of the time
	Scatter      float64 // share: half of the range of nine tenths of the readings under load
	Energy       Energy  // of the load where its instants are known, else of all the time that is compared
	All          Energy  // of all the time that is compared
	Warnings     []string
}

// Energy is that of a time by the sensor and by the meter.
type Energy struct {
	Seconds        float64
	Raw, Corrected float64 // J; Corrected is NaN without a meter
	Meter          float64 // J
	Band           Range   // J: where the truth is
}

// Best is the corrected energy, or the raw one.
func (e *Energy) Best() float64 {
	if math.IsNaN(e.Corrected) {
		return e.Raw
	}
	return e.Corrected
}

// CardBand is how far the gain of a card is from 1 where no meter says it: hardware differs by about so much, of unknown sign.
const CardBand = 0.06

// ErrTooFew is that of readings that say nothing.
var ErrTooFew = errors.New("too few readings")

// leastReadings are needed to say anything of a sensor.
const leastReadings = 16

// Analyse finds out what it can. What it cannot find is NaN, and a warning says why.
func Analyse(in *Input) (*Result, error) {
	n := len(in.Readings.Times)
	if n < leastReadings {
		return nil, fmt.Errorf("found %d readings of power, want %d at least: %w", n, leastReadings, ErrTooFew)
	}
	nan := math.NaN()
	r := &Result{
		Readings: n, Span: in.Readings.Times[n-1].Sub(in.Readings.Times[0]).Seconds(),
		Period: nan, Window: nan, WindowRange: Range{nan, nan}, WindowFrom: Unknown, Lag: nan, Gain: nan, Offset: nan, GainRange: Range{nan, nan}, OffsetRange: Range{nan, nan}, Overlap: nan, LoadPeriod: nan, Aliasing: nan, Scatter: nan,
	}
	r.Interval = medianStep(in.Readings.Times)
	p := findPeriod(in.Readings, r.Interval)
	r.Period, r.Renewed = p.period, p.changes
	if p.why != "" {
		r.warn("%s", p.why)
	}
	a := &analysis{in: in, r: r, updates: updatesOf(in.Readings, p, r.Interval)}
	if err := a.overlap(); err != nil {
		return nil, err
	}
	a.window()
	a.gain()
	a.aliasing()
	a.energies()
	return r, nil
}

// analysis is the work on one column.
type analysis struct {
	in       *Input
	r        *Result
	updates  []update
	explains Range // windows with which the readings of this load are as they are
	meter    *grid // nil without a meter
	square   *grid // the load as 0 and 1, nil where its instants are not known
	from, to model.Time
	load     [2]model.Time // within from and to; empty where not known
}

func (r *Result) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// NoOverlapError is that of a meter or a load of another time than the readings.
type NoOverlapError struct {
	What         string
	Times        [2]model.Time
	ReadingTimes [2]model.Time
}

func (e *NoOverlapError) Error() string {
	return fmt.Sprintf("the %s is of %s to %s UTC, the readings are of %s to %s UTC: they have no time in common", e.What, clock(e.Times[0]), clock(e.Times[1]), clock(e.ReadingTimes[0]), clock(e.ReadingTimes[1]))
}

// overlap finds the time that is compared.
func (a *analysis) overlap() error {
	t := a.in.Readings.Times
	a.from, a.to = t[0], t[len(t)-1]
	all := [2]model.Time{a.from, a.to}
	if m := a.in.Meter.Times; len(m) > 0 {
		a.from, a.to = max(a.from, m[0]), min(a.to, m[len(m)-1])
		if a.to.Sub(a.from) < leastOverlap {
			return &NoOverlapError{"series of the meter", [2]model.Time{m[0], m[len(m)-1]}, all}
		}
		a.meter = newGrid(a.in.Meter, a.from.Add(-gridMargin), a.to.Add(gridMargin))
		a.r.Overlap = a.to.Sub(a.from).Seconds()
	}
	if l := a.in.Load; len(l) > 0 {
		from, to := max(a.from, l[0]), min(a.to, l[len(l)-1])
		if to <= from {
			return &NoOverlapError{"load", [2]model.Time{l[0], l[len(l)-1]}, all}
		}
		a.load = [2]model.Time{from, to}
		if from > l[0] || to < l[len(l)-1] {
			a.r.warn("the load lasts longer than what is compared: it is cut to %s s", seconds(to.Sub(from).Seconds()))
		}
		a.square = squareGrid(l, a.from.Add(-gridMargin), a.to.Add(gridMargin))
	}
	return nil
}

const (
	leastOverlap = model.Second
	gridMargin   = 2 * model.Second
)

func medianStep(t []model.Time) float64 {
	steps := make([]model.Duration, len(t)-1)
	for i := range steps {
		steps[i] = t[i+1].Sub(t[i])
	}
	slices.Sort(steps)
	return steps[len(steps)/2].Seconds()
}

// Add appends a reading that is later than the ones before.
func (s *Series) Add(at model.Time, watts float64) {
	if n := len(s.Times); n == 0 || at > s.Times[n-1] {
		s.Times, s.Watts = append(s.Times, at), append(s.Watts, watts)
	}
}

// OfCounter is power by a counter of energy in J, read at instants: between two of its steps what it rose by over the time, held until the
// next. Where it falls it began anew.
func OfCounter(joules Series) Series {
	var out Series
	stepped, whole, power := 0, false, math.NaN()
	for i := 1; i < len(joules.Times); i++ {
		if rise := joules.Watts[i] - joules.Watts[stepped]; rise != 0 {
			if rise > 0 && whole { // not so the first step, which began before the first reading
				power = rise / joules.Times[i].Sub(joules.Times[stepped]).Seconds()
			}
			stepped, whole = i, rise > 0
		}
		if !math.IsNaN(power) {
			out.Add(joules.Times[i], power)
		}
	}
	return out
}
