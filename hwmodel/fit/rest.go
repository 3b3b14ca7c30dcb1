package fit

import (
	"cmp"
	"math"
	"slices"

	"orrery/scheduler/model"
)

const (
	longSpan    = 5 * model.Minute // longer ones are several units
	shortPart   = 5 * model.Second // of the parts of few spans, and ten windows and periods of the sensor
	betweenGPUs = 6                // from so many GPUs on the GPU is the unit
)

// restSpan are the readings of a span without work.
type restSpan struct {
	gpu      int
	from, to int64
	readings []Sample
}

// gpuUnit is the median of a part of a span of a GPU.
type gpuUnit struct {
	gpu   int
	at    int64
	watts float64
}

// units are the medians of parts of a span, each of the length or up to twice as long. Parts with
// fewer than leastReadings are none.
func (s *restSpan) units(length model.Duration) (out []gpuUnit) {
	parts := max(1, (s.to-s.from)/int64(length))
	each := (s.to - s.from) / parts
	part := func(i int) int64 { return min(parts-1, (s.readings[i].At-s.from)/each) }
	for i := 0; i < len(s.readings); {
		first := i
		var watts []float64
		for ; i < len(s.readings) && part(i) == part(first); i++ {
			watts = append(watts, s.readings[i].Watts)
		}
		if len(watts) >= leastReadings {
			out = append(out, gpuUnit{s.gpu, s.from + part(first)*each, Median(watts)})
		}
	}
	return out
}

// restFigure is the median over spans, over GPUs where these are enough, or over parts of few
// spans.
func restFigure(what string, spans []restSpan, sensor *Sensor, obtain string) Figure {
	all, gpus := restValues(spans, longSpan)
	if len(gpus) >= betweenGPUs {
		return Figure{Estimate: sensor.corrected(middle(gpus, "GPUs"))}
	}
	if len(all) >= leastMedian {
		return Figure{Estimate: sensor.corrected(widened(middle(all, "spans"), all))}
	}
	parts, _ := restValues(spans, max(shortPart, 10*(sensor.Window+sensor.Period)))
	if len(parts) < leastMedian {
		return few(all, "spans", fewer(what, len(all), leastMedian, "spans", obtain))
	}
	return Figure{Estimate: sensor.corrected(widened(middle(parts, "parts of spans"), parts))}
}

// restValues are the medians of parts of spans, by GPU and time, and the median of each GPU.
func restValues(spans []restSpan, length model.Duration) (all, gpus []float64) {
	var units []gpuUnit
	for i := range spans {
		units = append(units, spans[i].units(length)...)
	}
	slices.SortStableFunc(units, func(a, b gpuUnit) int {
		return cmp.Or(cmp.Compare(a.gpu, b.gpu), cmp.Compare(a.at, b.at), cmp.Compare(a.watts, b.watts))
	})
	for i := 0; i < len(units); {
		first := i
		for i < len(units) && units[i].gpu == units[first].gpu {
			all = append(all, units[i].watts)
			i++
		}
		gpus = append(gpus, Median(all[first:]))
	}
	return all, gpus
}

// widened is an estimate from units in the order of time that depend on the ones before them:
// n such units are worth n·(1 - r) ÷ (1 + r). The correlation r is that of normal values whose
// signs about the median agree as often, so that wild values do not hide it. One that chance may
// make is none.
func widened(e Estimate, inOrder []float64) Estimate {
	n := float64(len(inOrder))
	m := Median(inOrder)
	agree := 0.0
	for i := 1; i < len(inOrder); i++ {
		agree += float64(cmp.Compare(inOrder[i], m) * cmp.Compare(inOrder[i-1], m))
	}
	agree /= n
	if agree < 1.5/math.Sqrt(n) {
		return e
	}
	r := min(0.95, math.Sin(math.Pi/2*min(1, agree)))
	by := math.Sqrt((1 + r) / (1 - r))
	e.Low, e.High = e.Value-by*(e.Value-e.Low), e.Value+by*(e.High-e.Value)
	return e
}

// MedianInOrder is the median of units in the order of time, which may depend on the ones before
// them; there are six of them at least.
func MedianInOrder(units []float64, name string) Estimate {
	return widened(middle(units, name), units)
}
