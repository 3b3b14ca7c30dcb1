package fit

import (
	"cmp"
	"slices"

	"orrery/scheduler/model"
)

const (
	longSpan    = 5 * model.Minute // longer ones are several units
	shortPart   = 5 * model.Second // of the parts of few spans, and ten windows and periods of the sensor
	betweenGPUs = 6                // from so many GPUs on their median is the figure
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

// restFigure is the median over spans of one GPU, over GPUs where these are enough, or over parts of
// few spans. Between two and five GPUs it is their mean by Student's law, as spans of a GPU are alike
// and say nothing of other GPUs.
func restFigure(what string, spans []restSpan, sensor *Sensor, obtain string) Figure {
	all, gpus := restValues(spans, longSpan)
	if len(gpus) >= betweenGPUs {
		return Figure{Estimate: sensor.corrected(middle(gpus, "GPUs"))}
	}
	if len(all) >= leastMedian && len(gpus) > 1 {
		return Figure{Estimate: sensor.corrected(average(gpus, "GPUs"))}
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
