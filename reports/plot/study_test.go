package plot

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	waitMeasure = Measure{Name: "wait_p95", Unit: "s", Better: -1}
	useMeasure  = Measure{Name: "utilisation", Share: true, Better: 1}
)

func unknown() float64 { return math.NaN() }

// sampleCandidates trade waits against utilisation; the axes are four
// weights, a choice, a logarithmic one and two objectives.
func sampleCandidates(n int) (axes []Measure, all []Candidate) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, name := range []string{"wait_time", "job_size", "fair_share", "gpu_locality"} {
		axes = append(axes, Measure{Name: "weights." + name, To: 0.92})
	}
	axes = append(axes, Measure{Name: "backfill", Labels: []string{"easy", "conservative", "none"}},
		Measure{Name: "reference_wait", Unit: "s", Log: true}, waitMeasure, useMeasure)
	for range n {
		w := []float64{rng.ExpFloat64(), rng.ExpFloat64(), rng.ExpFloat64(), rng.ExpFloat64()}
		sum := w[0] + w[1] + w[2] + w[3]
		for i := range w {
			w[i] /= sum
		}
		wait := 3600 * (2 + 6*math.Abs(w[0]-0.4) + rng.ExpFloat64()*2)
		use := 0.9 - 0.15*math.Abs(w[0]-0.7) - 0.03*rng.ExpFloat64()
		c := Candidate{Standing: Tried, At: append(w, float64(rng.IntN(3)), 600*math.Exp(rng.Float64()*5), wait, use)}
		if use < 0.78 {
			c.Standing = Refused
		}
		all = append(all, c)
	}
	for i := range all {
		front := all[i].Standing == Tried
		for k := range all {
			front = front && (all[k].At[6] >= all[i].At[6] || all[k].At[7] <= all[i].At[7])
		}
		if front {
			all[i].Standing = Front
			all[i].Name = fmt.Sprintf("trial %d", i)
		}
	}
	all[3].At[6], all[9].At[6] = 3600*500, unknown()
	base := func(name string, s Standing, wait, use float64) {
		all = append(all, Candidate{name, s, []float64{0.25, 0.25, 0.25, 0.25, 0, 3600, wait * 3600, use}})
	}
	base("FCFS", Baseline, 9.4, 0.80)
	base("SJF", Baseline, 6.2, 0.84)
	base("WFP3", Baseline, 6.1, 0.842)
	base("throughput", Baseline, 6.4, 0.845)
	base("production", Current, 6.3, 0.838)
	base("trial 412", Chosen, 3.2, 0.865)
	return axes, all
}

func pick(all []Candidate, axes ...int) []Candidate {
	out := make([]Candidate, len(all))
	for i, c := range all {
		out[i] = Candidate{Name: c.Name, Standing: c.Standing}
		for _, k := range axes {
			out[i].At = append(out[i].At, c.At[k])
		}
	}
	return out
}

func sampleProgress(name string, n int, seed uint64, from, to float64) Progress {
	rng := rand.New(rand.NewPCG(seed, 1))
	p := Progress{Name: name}
	best := unknown()
	for i := range n {
		each := (to + (from-to)*math.Exp(-6*float64(i)/float64(n))) * (1 + 0.3*rng.ExpFloat64())
		if i > 2 && !(best < each) {
			best = each
		}
		p.Each, p.Best = append(p.Each, each), append(p.Best, best)
		p.Low, p.High = append(p.Low, best*0.97), append(p.High, best*1.04)
	}
	return p
}

func sampleHours(clock Clock) *HourlyWaits {
	rng := rand.New(rand.NewPCG(9, 9))
	h := &HourlyWaits{Clock: clock}
	for range 30000 {
		at := rng.Int64N(60 * 24 * hourUS)
		procs := int32(1) << rng.IntN(8)
		busy := 1 + math.Sin(float64(at%(24*hourUS))/(24*hourUS)*2*math.Pi-1)
		if h.hourOf(at) > 120 && rng.Float64() < 0.8 || procs > 64 && rng.Float64() < 0.9 {
			continue
		}
		h.Add(at, procs, int64(busy*float64(procs)*120*secondUS*rng.ExpFloat64()))
	}
	return h
}

func sampleMoves(t *testing.T) *Moves {
	_, bars := sampleGantt(t, 400)
	end := int64(0)
	for _, b := range bars {
		end = max(end, b.EndUS)
	}
	m, err := NewMoves(Window{0, end}, ones(64))
	require.NoError(t, err)
	for _, b := range bars {
		shift, by := Unmoved, int64(0)
		switch b.Job % 5 {
		case 1:
			shift, by = Earlier, -hourUS
		case 2:
			shift, by = Later, 2*hourUS
		}
		require.NoError(t, m.Add(0, shift, b.StartUS, b.EndUS, b.Lo, b.Hi, 1))
		require.NoError(t, m.Add(1, shift, b.StartUS+by, b.EndUS+by, b.Lo, b.Hi, 1))
	}
	return m
}

func studyFigures(t *testing.T) []*Figure {
	clock := Clock{EpochUS: 828_000_000 * secondUS, Known: true}
	axes, all := sampleCandidates(900)
	_, many := sampleCandidates(5000)
	best := []Candidate{}
	for _, c := range all {
		if c.Standing >= Front {
			best = append(best, c)
		}
	}
	grid := Lattice{First: axes[0], Second: axes[1], Joint: 0.23, Floor: 60}
	for i := range 6 {
		grid.FirstAt, grid.SecondAt = append(grid.FirstAt, float64(i)/6), append(grid.SecondAt, float64(i)/6)
		row := []float64{}
		for k := range 6 {
			row = append(row, 3600*(3+math.Abs(float64(i-3))+0.4*float64(k*i)))
		}
		grid.Values = append(grid.Values, row)
	}
	grid.Values[5][5] = unknown()
	var tenants []Tenant
	for i, name := range []string{"physics", "nlp-team", "vision", "bio", "ops", "t5", "t6", "t7", "t8", "t9"} {
		tn := Tenant{Name: name, Target: 0.1}
		for k := range 300 {
			v := 0.1 + 0.05*math.Sin(float64(k)/20+float64(i)*2*math.Pi/10)
			if k > 200 && k < 215 {
				v = unknown()
			}
			tn.Shares = append(tn.Shares, v)
		}
		tenants = append(tenants, tn)
	}
	tenants[2].Target = unknown()
	return []*Figure{
		TradeOff("pareto", waitMeasure, useMeasure, pick(all, 6, 7), true),
		TradeOff("pareto-many", waitMeasure, useMeasure, pick(many, 6, 7), true),
		Parallel("parallel", axes, all), Parallel("parallel-many", axes, many),
		SearchHistory("history", waitMeasure, []Progress{sampleProgress("cma-es", 600, 1, 30000, 9000), sampleProgress("random", 600, 2, 30000, 12000)},
			[]Line{{"production", 14000}, {"FCFS", 34000}, {"SJF", 14100}, {"WFP3", 14050}, {"far", 900000}}),
		Table("settings", axes, best),
		Sensitivity("sensitivity", "wait_p95", Measure{Name: "effect", Unit: "s"}, "mean change when a setting moves by half its range",
			[]Effect{{"weights.wait_time", 5400, 4800, 6100, "active"}, {"weights.job_size", 120, 30, 240, "inert"},
				{"weights.gpu_locality", 1800, 400, 3600, "unclear"}, {"reference_wait", 2500, unknown(), unknown(), "active"}, {"backfill", unknown(), unknown(), unknown(), "unclear"}}, 600),
		Interaction("interaction", waitMeasure, grid),
		SharesOverTime("shares", "What each tenant held over time", "GPU", 0, 3600*secondUS*2, tenants, nil, clock),
		WaitsByHour(sampleHours(clock)),
		GanttMoves(sampleMoves(t), [2]string{"A: easy", "B: conservative"}, 80, 80, 240, clock),
	}
}

func TestStudyFigures(t *testing.T) { checkFigures(t, studyFigures(t), studyFigures(t)) }

// TestTicksEnd asks for ticks where steps are lost in rounding.
func TestTicksEnd(t *testing.T) {
	for _, c := range [][2]float64{{1, 1 + 1e-15}, {-1e308, 1e308}, {1e300, 1e300}, {math.Inf(-1), 0}, {unknown(), 1}, {-1 - 1e-16, -1}} {
		require.LessOrEqual(t, len(niceTicks(c[0], c[1], 8)), 20, "%v", c)
	}
}

func TestStudyFiguresOfNothing(t *testing.T) {
	m, err := NewMoves(Window{0, 10}, ones(1))
	require.NoError(t, err)
	nowhere := []Candidate{{At: []float64{unknown(), unknown()}}}
	for _, f := range []*Figure{
		TradeOff("a", waitMeasure, useMeasure, nil, true), TradeOff("b", waitMeasure, useMeasure, nowhere, true),
		Parallel("c", nil, nil), Parallel("d", []Measure{waitMeasure}, []Candidate{{At: []float64{1}}}),
		SearchHistory("e", waitMeasure, nil, nil), SearchHistory("f", waitMeasure, []Progress{{Best: []float64{unknown()}}}, []Line{{"x", unknown()}, {"y", 3}}),
		Table("g", nil, nil), Sensitivity("h", "x", Measure{}, "", nil, unknown()),
		Interaction("i", waitMeasure, Lattice{FirstAt: []float64{1}, SecondAt: []float64{1}, Values: [][]float64{{unknown()}}}),
		SharesOverTime("j", "", "node", 0, 1, nil, nil, Clock{}), SharesOverTime("k", "", "node", 0, 1, []Tenant{{Name: "a"}}, nil, Clock{}),
		WaitsByHour(&HourlyWaits{}), GanttMoves(m, [2]string{"A", "B"}, 0, 0, 0, Clock{}),
	} {
		require.NoError(t, f.WriteSVG(&bytes.Buffer{}), f.Name)
	}
}
