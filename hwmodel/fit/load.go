package fit

import (
	"fmt"
	"slices"

	"orrery/scheduler/model"
)

// LoadFit is a recorded run of one load with idle time around it, as a meter sees it.
type LoadFit struct {
	Active Figure // W, mean over the load
	Low    Figure // W, median of the rest
	// AtLoad and AtRest are the times that the readings stand for. Rises is how often the load
	// begins: 1 for one load without a pause.
	AtLoad, AtRest model.Duration
	Rises          int
	// Recorded is the energy of the readings, J, and Modelled is Active · AtLoad + Low · AtRest.
	Recorded, Modelled float64
}

const (
	lowPart, highPart = 0.05, 0.9 // quantiles of readings whose middle parts rest and load
	leastContrast     = 1.2       // of these quantiles, below which there is no load
	leastLoadReadings = 40
	blocks            = 10 // of the load and of the rest, that are taken as independent
	leastWorth        = 4  // independent readings of such a block
)

// Load finds the load of a run in readings of a meter, which ascend: it is where they lie above
// the middle of their 5 and 90 % quantiles. Active and Low rest on tenths of their time, as
// neighbouring readings depend on each other.
func Load(readings []Sample) (LoadFit, error) {
	var out LoadFit
	watts := make([]float64, len(readings))
	for i, r := range readings {
		if !finite(r.Watts) || r.Watts < 0 {
			return out, fmt.Errorf("reading %d: found %v W, want a number from 0", i, r.Watts)
		}
		if i > 0 && r.At <= readings[i-1].At {
			return out, fmt.Errorf("reading %d: found %d µs after %d, want ascending times", i, r.At, readings[i-1].At)
		}
		watts[i] = r.Watts
	}
	low, high := Quantile(lowPart, watts), Quantile(highPart, watts)
	if len(readings) < leastLoadReadings {
		r := fewer("power at load and at rest", len(readings), leastLoadReadings, "readings", "record a minute before the load, the load, and a minute after it")
		out.Active, out.Low = Figure{Refused: r}, Figure{Refused: r}
		return out, nil
	}
	if !(high >= leastContrast*low) {
		r := &Refusal{What: "power at load and at rest", Found: fmt.Sprintf("readings from %.0f to %.0f W", low, high), Want: "two levels that differ by a fifth", Obtain: "record idle time before and after the load"}
		out.Active, out.Low = Figure{Refused: r}, Figure{Refused: r}
		return out, nil
	}
	var at, rest []Sample // with what each stands for in At, µs
	usual := max(1, usualStep(readings))
	loaded := false
	for i, r := range readings {
		step := usual
		if i+1 < len(readings) && readings[i+1].At-r.At <= gapSteps*usual {
			step = readings[i+1].At - r.At
		}
		out.Recorded += r.Watts * model.Duration(step).Seconds()
		if r.Watts > (low+high)/2 {
			if !loaded {
				out.Rises++
			}
			loaded = true
			at = append(at, Sample{step, r.Watts})
			out.AtLoad += model.Duration(step)
			continue
		}
		loaded = false
		rest = append(rest, Sample{step, r.Watts})
		out.AtRest += model.Duration(step)
	}
	const obtain = "record idle time before and after the load, of a minute each"
	if len(at) < blocks || len(rest) < blocks {
		r := fewer("power at load and at rest", min(len(at), len(rest)), blocks, "readings of one of them", obtain)
		out.Active, out.Low = Figure{Refused: r}, Figure{Refused: r}
		return out, nil
	}
	out.Active.Estimate, out.Low.Estimate = blocked(at, weightedMean, average, dependentMean), blocked(rest, medianOf, middle, dependentMedian)
	out.Modelled = out.Active.Value*out.AtLoad.Seconds() + out.Low.Value*out.AtRest.Seconds()
	return out, nil
}

// blocked is an estimate whose value is that of all readings and whose interval is that of
// tenths of them, widened where these depend on each other. Tenths that are worth few independent
// readings do so, and ten of them do not tell it: then the interval is that of the readings, if
// it is wider.
func blocked(x []Sample, of func([]Sample) float64, with func([]float64, string) Estimate, dependent func([]float64) Range) Estimate {
	tenths := make([]float64, blocks)
	for b := range tenths {
		tenths[b] = of(x[len(x)*b/blocks : len(x)*(b+1)/blocks])
	}
	watts := make([]float64, len(x))
	for i, r := range x {
		watts[i] = r.Watts
	}
	e := widened(with(tenths, "tenths of the time"), tenths)
	value := of(x)
	e.Low, e.High, e.Value = min(value, e.Low), max(value, e.High), value
	if by := Widening(watts, Median(watts)); float64(len(x)) < leastWorth*blocks*by*by {
		r := dependent(watts)
		e.Low, e.High = min(e.Low, r.Low), max(e.High, r.High)
	}
	e.Low = max(0, e.Low)
	return e
}

func dependentMean(inOrder []float64) Range {
	e := widened(average(inOrder, "readings"), inOrder)
	return Range{e.Low, e.High}
}

// dependentMedian is between order statistics, so that it is not beyond what was read.
func dependentMedian(inOrder []float64) Range {
	sorted := slices.Sorted(slices.Values(inOrder))
	by := Widening(inOrder, Median(sorted))
	worth := max(leastMedian, int(float64(len(sorted))/by/by))
	low, _ := quantileOf(sorted, worth, 0.5, (1-Confidence)/2)
	high, _ := quantileOf(sorted, worth, 0.5, (1+Confidence)/2)
	return Range{low, high}
}

func weightedMean(x []Sample) float64 {
	sum, time := 0.0, 0.0
	for _, r := range x {
		sum, time = sum+r.Watts*float64(r.At), time+float64(r.At)
	}
	return sum / time
}

func medianOf(x []Sample) float64 {
	watts := make([]float64, len(x))
	for i, r := range x {
		watts[i] = r.Watts
	}
	return Median(watts)
}

// OtherWork is what is known of work that was not measured, from units of other work of its kind:
// the range that holds it with the probability Share, and no figure. A median of other work is
// no estimate of it.
func OtherWork(what string, units []float64, name string) Figure {
	return few(units, name, &Refusal{What: what, Found: fmt.Sprintf("%d %s of other work", len(units), name), Want: "a measurement of this work", Obtain: "record one run of it; until then use the range"})
}
