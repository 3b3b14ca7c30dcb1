package agent

import (
	"math"
	"slices"

	"orrery/capture"
	"orrery/scheduler/model"
	"orrery/traces"
)

// gauge is a series of which a window keeps quantiles.
type gauge struct {
	read  func(*traces.Telemetry) (float64, bool)
	write func(*traces.Telemetry, float64)
}

func float(at func(*traces.Telemetry) *traces.Opt[float64]) gauge {
	return gauge{
		func(t *traces.Telemetry) (float64, bool) { o := at(t); return o.V, o.OK },
		func(t *traces.Telemetry, v float64) { *at(t) = traces.Some(v) },
	}
}

func whole[T int32 | int64](at func(*traces.Telemetry) *traces.Opt[T]) gauge {
	return gauge{
		func(t *traces.Telemetry) (float64, bool) { o := at(t); return float64(o.V), o.OK },
		func(t *traces.Telemetry, v float64) { *at(t) = traces.Some(T(math.Round(v))) },
	}
}

var gauges = []gauge{
	float(func(t *traces.Telemetry) *traces.Opt[float64] { return &t.SMUtil }),
	float(func(t *traces.Telemetry) *traces.Opt[float64] { return &t.SMActive }),
	float(func(t *traces.Telemetry) *traces.Opt[float64] { return &t.MemUtil }),
	float(func(t *traces.Telemetry) *traces.Opt[float64] { return &t.Power }),
	float(func(t *traces.Telemetry) *traces.Opt[float64] { return &t.Temperature }),
	float(func(t *traces.Telemetry) *traces.Opt[float64] { return &t.MemTemperature }),
	whole(func(t *traces.Telemetry) *traces.Opt[int64] { return &t.MemUsed }),
	whole(func(t *traces.Telemetry) *traces.Opt[int32] { return &t.SMClock }),
	whole(func(t *traces.Telemetry) *traces.Opt[int32] { return &t.MemClock }),
	float(func(t *traces.Telemetry) *traces.Opt[float64] { return &t.TensorActive }),
	float(func(t *traces.Telemetry) *traces.Opt[float64] { return &t.DRAMActive }),
	float(func(t *traces.Telemetry) *traces.Opt[float64] { return &t.CPUUtil }),
}

// window sums up the samples of one GPU.
type window struct {
	values [][]float64 // by gauge
	last   traces.Telemetry
	reason int64 // all throttle reasons met
	slowed bool  // the GPU says its throttle reasons
	procs  []capture.Process
	n      int
}

func (w *window) add(r *capture.Reading) {
	if w.values == nil {
		w.values = make([][]float64, len(gauges))
	}
	for i := range gauges {
		if v, ok := gauges[i].read(&r.Telemetry); ok {
			w.values[i] = append(w.values[i], v)
		}
	}
	if r.Throttle.OK {
		w.slowed, w.reason = true, w.reason|r.Throttle.V
	}
	for _, p := range r.Procs {
		at := slices.IndexFunc(w.procs, func(q capture.Process) bool { return q.PID == p.PID && q.Name == p.Name })
		if at < 0 {
			w.procs = append(w.procs, p)
			continue
		}
		w.procs[at] = p
	}
	w.last = r.Telemetry
	w.n++
}

// rows are what the window says, none without samples, and empties it: the mean, in whose row are also
// counters and processes (the last ones) and throttle reasons (all that were met), and the quantiles.
func (w *window) rows(from model.Time, width model.Duration) []traces.Telemetry {
	if w.n == 0 {
		return nil
	}
	out := make([]traces.Telemetry, len(traces.Stats))
	for k, stat := range traces.Stats {
		row := &out[k]
		if stat == "mean" {
			*row = w.last
			row.Processes = capture.Encode(w.procs)
			row.Throttle = traces.Opt[int64]{V: w.reason, OK: w.slowed}
		}
		row.Node, row.GPU, row.Time, row.Stat, row.Width = w.last.Node, w.last.GPU, from, stat, traces.Some(width)
	}
	for i := range gauges {
		values := w.values[i]
		if len(values) == 0 {
			continue
		}
		slices.Sort(values)
		for k, stat := range traces.Stats {
			gauges[i].write(&out[k], summary(stat, values))
		}
		w.values[i] = values[:0]
	}
	clear(w.procs)
	w.procs, w.n, w.reason, w.slowed = w.procs[:0], 0, 0, false
	return out
}

// summary is a statistic of ascending values. A quantile q of n values is the one at place ceil(q n):
// one that was measured.
func summary(stat string, values []float64) float64 {
	place := func(percent int) float64 { return values[(percent*len(values)+99)/100-1] }
	switch stat {
	case "p50":
		return place(50)
	case "p95":
		return place(95)
	case "p99":
		return place(99)
	case "max":
		return values[len(values)-1]
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return min(sum/float64(len(values)), values[len(values)-1]) // rounding must not pass the largest
}
