package calibrate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/traces"
)

// clockTruth is the response that is planted: about that of an A100 (docs/HARDWARE.md).
func clockTruth(mhz float64) (throughput, power float64) {
	z := mhz / 1410
	return 1 / (1 + 0.86*max(0, 0.96/z-1)), 0.39 + 0.61*math.Pow(z, 4.1)
}

// atClock adds a run of a work on a node of type big, with rows of its GPU each 10 s.
func (p *planted) atClock(node, name string, start model.Time, slower, watts float64, mhz int32, bits int64) model.Time {
	id := int64(len(p.jobs) + 1)
	ran := model.Duration(400 * slower * math.Exp(0.01*p.rng.NormFloat64()) * 1e6)
	watts *= math.Exp(0.02 * p.rng.NormFloat64())
	for at := start; at < start.Add(ran); at = at.Add(10 * model.Second) {
		shown := mhz
		if at == start {
			shown = 345 // it comes from rest
		}
		p.rows = append(p.rows, &traces.Telemetry{Node: node, GPU: traces.Some(int32(0)), Time: at, SMUtil: traces.Some(0.9), SMClock: traces.Some(shown), Throttle: traces.Some(bits), Power: p.watts(watts),
			MemUsed: traces.Some(int64(2 << 30)), Processes: capture.Encode([]capture.Process{{PID: int(id), Job: fmt.Sprint(id)}})})
	}
	end := start.Add(ran)
	p.jobs = append(p.jobs, &traces.Job{ID: id, Name: name, User: "ann", Start: traces.Some(model.Time(start.Sub(epoch))), End: traces.Some(model.Time(end.Sub(epoch))), Runtime: traces.Some(ran), RecordedNodes: node, GPUsTotal: traces.Some(int32(1)), ExitState: "COMPLETED"})
	return end.Add(model.Minute)
}

// answersClocks has works of a class run at each clock. Works differ in how they answer.
func answersClocks(seed uint64, works int, lower ...int32) *planted {
	p := &planted{rng: rand.New(rand.NewPCG(seed, 7))}
	at := epoch
	for w := range works {
		name, own, of := fmt.Sprint("train-", w), math.Exp(0.1*p.rng.NormFloat64()), 400*math.Exp(0.1*p.rng.NormFloat64())
		for _, mhz := range append([]int32{1410}, lower...) {
			speed, power := clockTruth(float64(mhz))
			at = p.atClock("b1", name, at, 1+own*(1/speed-1), of*power, mhz, 0)
		}
	}
	return p
}

var lowerClocks = []int32{885, 960, 1110, 1260}

// held adds runs whose clock falls for heat and for power, to clocks that others are set to.
func (p *planted) held(works int) {
	at := epoch.Add(30 * model.Day)
	for w := range works {
		at = p.atClock("b2", fmt.Sprint("train-", w), at, 2, 300, 1110, 0x20)
		at = p.atClock("b2", fmt.Sprint("train-", w), at, 1.6, 390, 1260, 0x4)
	}
}

func clockFindings(r *Result) (out []*Finding) {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Key == Clocks {
			out = append(out, f)
		}
	}
	return out
}

// TestPlantedClocks: throughput and draw at each clock lie in their intervals. Runs that heat or a
// limit on power slowed are left out, counted: they would put the figures outside.
func TestPlantedClocks(t *testing.T) {
	const seeds = 40
	held, all, wrong := 0, 0, 0
	for seed := uint64(1); seed <= seeds; seed++ {
		p := answersClocks(seed, 8, lowerClocks...)
		p.held(8)
		r, err := Of(p.source(t, cluster(t)))
		require.NoError(t, err)
		require.Contains(t, r.Counts, Count{clockHot + ", left out of what clocks do", 8})
		require.Contains(t, r.Counts, Count{clockPowered + ", left out of what clocks do", 8})
		require.Contains(t, r.Counts, Count{"jobs at a lower clock than the same work elsewhere, of which no draw, speed or cap is fitted", 32})
		list := clockFindings(r)
		require.Len(t, list, 8)
		a, n := clocksCovered(t, list)
		held, all = held+a, all+n
		for i := range p.rows {
			p.rows[i].Throttle.V = 0 // as if it were not said
		}
		r, err = Of(p.source(t, cluster(t)))
		require.NoError(t, err)
		a, n = clocksCovered(t, clockFindings(r))
		wrong += n - a
	}
	t.Logf("%d of %d intervals hold the truth; with what slowed them not said %d", held, all, all-wrong)
	require.InDelta(t, 0.95, float64(held)/float64(all), 0.03)
	require.Greater(t, float64(wrong)/float64(all), 0.2)
}

func clocksCovered(t *testing.T, list []*Finding) (held, all int) {
	for _, f := range list {
		require.Nil(t, f.Figure.Refused)
		speed, power := clockTruth(1410 * f.Clock)
		truth := map[string]float64{ClockThroughput: speed, ClockPower: power}[f.Part]
		if all++; f.Figure.Low <= truth && truth <= f.Figure.High {
			held++
		}
	}
	return held, all
}

// TestClocksInTheFile: rows of the card that was measured take the place of those of the file,
// those of other cards stay, and the draw of the class is that at the top clock.
func TestClocksInTheFile(t *testing.T) {
	p := answersClocks(1, 8, lowerClocks...)
	text := strings.Replace(siteText, "columns: [name=train*]", "columns: [name=train*]\n    clocks: [{gpu: v100, clock: 0.5, throughput: 0.6, power: 0.4}, {gpu: h100, clock: 0.3, throughput: 0.9, power: 0.9}]", 1)
	text = strings.Replace(text, "gpus: 2, idle_power: 800W", "gpus: 2, gpu_idle_power: 50W, idle_power: 800W", 1)
	c, by := put(t, p, text)
	w := c.Workloads[0]
	require.Len(t, w.Clocks, 5)
	require.Equal(t, profiles.ClockResponse{GPU: "v100", Clock: 0.5, Throughput: 0.6, Power: 0.4}, w.Clocks[0])
	require.InDelta(t, 0.6277, w.Clocks[1].Clock, 1e-4)
	require.InDelta(t, 400, float64(w.Power[0].Value), 40, "as at 1410 MHz")
	require.True(t, by["workloads[train].clocks[h100, clock 0.6277].throughput"].Applied)
	again, _ := put(t, p, text)
	require.Equal(t, c, again)
}

// TestClocksRefused: too few works, runs that are all locked, and clocks that nothing explains.
func TestClocksRefused(t *testing.T) {
	of := func(p *planted) *Result {
		r, err := Of(p.source(t, cluster(t)))
		require.NoError(t, err)
		return r
	}
	list := clockFindings(of(answersClocks(1, 4, 960)))
	require.Len(t, list, 1)
	require.ErrorContains(t, list[0].Figure.Refused, "4 pairs of runs")

	require.Empty(t, clockFindings(of(answersClocks(1, 8))), "they ran at one clock")

	locked := answersClocks(1, 8, 960)
	for _, row := range locked.rows {
		row.Throttle.V = 2
	}
	list = clockFindings(of(locked))
	require.Len(t, list, 1)
	require.ErrorContains(t, list[0].Figure.Refused, "which a setting held there")

	target := answersClocks(1, 8, 960)
	v := &capture.Inventory{GPUs: []capture.GPU{{Index: 0}}}
	v.Add("gpu.0."+capture.FactTopClock, "1980")
	v.Add("gpu.0."+capture.FactClockTarget, "1410")
	record := capture.Record{Record: capture.RecordInventory, Inventory: v}
	target.events = append(target.events, record.Event(epoch, "b1"))
	list = clockFindings(of(target))
	require.Len(t, list, 1)
	require.ErrorContains(t, list[0].Figure.Refused, "applications clock of 1410 of 1980 MHz")

	silent := answersClocks(1, 8, 960)
	for _, row := range silent.rows {
		row.Throttle.OK = false
	}
	r := of(silent)
	require.Empty(t, clockFindings(r))
	require.Contains(t, r.Counts, Count{clockUnsaid + ", left out of what clocks do", 16})

	moved := answersClocks(1, 8, 960)
	for i, row := range moved.rows {
		row.SMClock.V -= int32(i%2) * 100
	}
	require.Contains(t, of(moved).Counts, Count{clockMoved + ", left out of what clocks do", 16})

	bound := answersClocks(1, 8, 960)
	v = &capture.Inventory{GPUs: []capture.GPU{{Index: 0}}}
	v.Add("gpu.0."+capture.FactPowerLimit, "300")
	record = capture.Record{Record: capture.RecordInventory, Inventory: v}
	bound.events = append(bound.events, record.Event(epoch, "b1"))
	require.Contains(t, of(bound).Counts, Count{clockPowered + ", left out of what clocks do", 8}, "at the top clock their limit binds them")
}

// TestClocksAscend: a throughput that noise puts above that of a higher clock is pooled with it.
func TestClocksAscend(t *testing.T) {
	points := make([]Finding, 4)
	for i, v := range []float64{0.5, 0.8, 0.7, 1.1} {
		points[i].Figure.Band.Value, points[i].Figure.Band.Low, points[i].Figure.Band.High = v, v-0.01, v+0.01
	}
	ascending(points)
	for i, want := range []float64{0.5, 0.75, 0.75, 1} {
		b := points[i].Figure.Band
		require.InDelta(t, want, b.Value, 1e-12)
		require.LessOrEqual(t, b.Low, b.Value)
		require.GreaterOrEqual(t, b.High, b.Value)
	}
}
