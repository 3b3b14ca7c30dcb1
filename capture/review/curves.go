package review

import (
	"orrery/scheduler/model"
	"orrery/traces"
)

// Curve is a series over time, summed up in equal steps. What no step has is null.
type Curve struct {
	GPU       int32
	Values    [len(Quantities)][]traces.Opt[float64] // by quantity and step: the mean
	Throttled []bool                                 // by step: clocks were held down in it
}

// Quantity is what a figure shows.
type Quantity struct {
	Name, Title, Unit string
	read              func(*traces.Telemetry) traces.Opt[float64]
}

// Quantities are those that curves hold.
var Quantities = [...]Quantity{
	{"power", "Power drawn", "W", func(t *traces.Telemetry) traces.Opt[float64] { return t.Power }},
	{"sm_util", "Utilisation: share of the time in which a kernel ran", "%", func(t *traces.Telemetry) traces.Opt[float64] { return times(t.SMUtil, 100) }},
	{"sm_active", "SM activity: share of the multiprocessors that had work", "%", func(t *traces.Telemetry) traces.Opt[float64] { return times(t.SMActive, 100) }},
	{"tensor_active", "Tensor activity: share of the cycles in which the tensor cores worked", "%", func(t *traces.Telemetry) traces.Opt[float64] { return times(t.TensorActive, 100) }},
	{"dram_active", "Bandwidth of the memory, of the most", "%", func(t *traces.Telemetry) traces.Opt[float64] { return times(t.DRAMActive, 100) }},
	{"cpu_util", "Processors: share of the time in which they worked", "%", func(t *traces.Telemetry) traces.Opt[float64] { return times(t.CPUUtil, 100) }},
	{"mem_used", "Memory in use", "GiB", func(t *traces.Telemetry) traces.Opt[float64] {
		return traces.Opt[float64]{V: float64(t.MemUsed.V) / (1 << 30), OK: t.MemUsed.OK}
	}},
	{"temperature", "Temperature of the chip", "°C", func(t *traces.Telemetry) traces.Opt[float64] { return t.Temperature }},
	{"sm_clock", "Clock of the multiprocessors", "MHz", func(t *traces.Telemetry) traces.Opt[float64] {
		return traces.Opt[float64]{V: float64(t.SMClock.V), OK: t.SMClock.OK}
	}},
	{"mem_clock", "Clock of the memory", "MHz", func(t *traces.Telemetry) traces.Opt[float64] {
		return traces.Opt[float64]{V: float64(t.MemClock.V), OK: t.MemClock.OK}
	}},
}

func times(v traces.Opt[float64], by float64) traces.Opt[float64] {
	return traces.Opt[float64]{V: v.V * by, OK: v.OK}
}

// Curves are those of one node between two instants, in so many steps, by GPU ascending. Memory is that of the steps,
// however many rows there are.
func Curves(src Source, s *Summary, node string, from, to model.Time, steps int) ([]Curve, error) {
	var curves []Curve
	at := map[int32]int{}
	for i := range s.Series {
		if one := &s.Series[i]; one.Node == node && one.Rows > 0 {
			at[one.GPU] = len(curves)
			c := Curve{GPU: one.GPU, Throttled: make([]bool, steps)}
			for q := range c.Values {
				c.Values[q] = make([]traces.Opt[float64], steps)
			}
			curves = append(curves, c)
		}
	}
	counts := make([][len(Quantities)][]int32, len(curves))
	for i := range counts {
		for q := range counts[i] {
			counts[i][q] = make([]int32, steps)
		}
	}
	span := max(to.Sub(from), 1)
	for t, err := range src.Telemetry() {
		if err != nil {
			return nil, err
		}
		if t.Node != node || t.Stat != "" && t.Stat != "mean" || t.Time < from || t.Time > to {
			continue
		}
		i := at[Index(t)]
		first := step(t.Time.Sub(from), span, steps)
		last := max(first, step(min(t.Time.Add(t.Width.V), to).Sub(from)-1, span, steps)) // a window fills all its steps
		for k := first; k <= last; k++ {
			curves[i].Throttled[k] = curves[i].Throttled[k] || Throttled(t).V > 0
			for q := range Quantities {
				v := Quantities[q].read(t)
				if !v.OK {
					continue
				}
				cell, n := &curves[i].Values[q][k], &counts[i][q][k]
				*n++
				cell.V, cell.OK = cell.V+(v.V-cell.V)/float64(*n), true
			}
		}
	}
	return curves, nil
}

// step is the place of a distance from the beginning.
func step(d, span model.Duration, steps int) int {
	return min(max(int(float64(d)/float64(span)*float64(steps)), 0), steps-1)
}
