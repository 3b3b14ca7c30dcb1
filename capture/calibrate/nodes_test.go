package calibrate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// Of the planted node: what it draws beyond its GPUs, and for each W of these.
const nodeBase, nodeFactor = 700.0, 1.1

// beside has both GPUs of b1 rest and work as a schedule of minutes says, in W of each at work, 0
// for rest, with rows each 10 s. What the node draws, which drifts, is returned by the second.
func (p *planted) beside(minutes [][2]float64) (times []model.Time, watts []float64) {
	drift := 0.0
	for m, work := range minutes {
		drift = 0.5*drift + 8*p.rng.NormFloat64()
		wild := 1.0
		if p.rng.IntN(60) == 0 {
			wild = 0.5 + p.rng.Float64()
		}
		for s := range 60 {
			at := epoch.Grid(model.Minute, 0).Add(model.Duration(60*m+s) * model.Second)
			sum := 0.0
			for g, w := range work {
				util, draws := 0.9, w
				if w == 0 {
					util, draws = 0, 70
				}
				sum += draws
				if s%10 == 0 {
					p.rows = append(p.rows, &traces.Telemetry{Node: "b1", GPU: traces.Some(int32(g)), Time: at, SMUtil: traces.Some(util), Power: traces.Some(draws * (1 + 0.02*p.rng.NormFloat64())), MemUsed: traces.Some(int64(1 << 20))})
				}
			}
			times, watts = append(times, at), append(watts, wild*(nodeBase+nodeFactor*sum+drift)*(1+0.005*p.rng.NormFloat64()))
		}
	}
	return times, watts
}

// bmc adds rows of the node each 10 s by its own sensor, which reads so many times what it draws.
func (p *planted) bmc(times []model.Time, watts []float64, gain float64) {
	for i := 0; i < len(times); i += 10 {
		p.rows = append(p.rows, &traces.Telemetry{Node: "b1", Time: times[i], Power: traces.Some(gain * watts[i])})
	}
	sortByTime(p.rows)
}

func sortByTime(rows []*traces.Telemetry) {
	byTime := map[model.Time][]*traces.Telemetry{}
	var order []model.Time
	for _, r := range rows {
		if byTime[r.Time] == nil {
			order = append(order, r.Time)
		}
		byTime[r.Time] = append(byTime[r.Time], r)
	}
	n := 0
	for _, at := range sortedTimes(order) {
		n += copy(rows[n:], byTime[at])
	}
}

func sortedTimes(times []model.Time) []model.Time {
	for i := 1; i < len(times); i++ {
		for j := i; j > 0 && times[j] < times[j-1]; j-- {
			times[j], times[j-1] = times[j-1], times[j]
		}
	}
	return times
}

// full has spans of rest and of work of all GPUs. few has two minutes of each, three times.
func full() (out [][2]float64) {
	for range 15 {
		for range 4 {
			out = append(out, [2]float64{0, 0})
		}
		for range 4 {
			out = append(out, [2]float64{500, 0})
		}
		for range 4 {
			out = append(out, [2]float64{500, 500})
		}
	}
	return out
}

func few() (out [][2]float64) {
	for i := range 180 {
		switch i {
		case 30, 31, 90, 91, 150, 151:
			out = append(out, [2]float64{0, 0})
		case 50, 51, 110, 111, 170, 171:
			out = append(out, [2]float64{500, 500})
		default:
			out = append(out, [2]float64{150 + float64(i/10*97%350), 0})
		}
	}
	return out
}

func byMeter(t *testing.T, p *planted, times []model.Time, watts []float64) *Result {
	src := p.source(t, cluster(t))
	src.Meters = []Meter{{Node: "b1", Times: times, Watts: watts}}
	r, err := Of(src)
	require.NoError(t, err)
	return r
}

// TestPlantedNodes: what a node draws idle and with all GPUs at work, its base and its factor lie
// in their intervals, by a meter. Wrong is a node that draws a multiple of its GPUs.
func TestPlantedNodes(t *testing.T) {
	const seeds = 30
	truth := map[string]float64{NodeIdle: nodeBase + nodeFactor*140, NodeBusy: nodeBase + nodeFactor*1000, NodeBase: nodeBase}
	held, wrong := map[string]int{}, 0
	for seed := uint64(1); seed <= seeds; seed++ {
		p := &planted{rng: rand.New(rand.NewPCG(seed, 9))}
		times, watts := p.beside(few())
		r := byMeter(t, p, times, watts)
		for key, want := range truth {
			f := find(t, r, key, -1)
			require.Nil(t, f.Figure.Refused, key)
			if f.Figure.Low <= want && want <= f.Figure.High {
				held[key]++
			}
			require.InEpsilon(t, want, f.Figure.Value, 0.03, key)
		}
		require.Contains(t, find(t, r, NodeIdle, -1).Valid, "by the line of its draw by that of its GPUs, as 3 spans are too few")
		busy := find(t, r, NodeBusy, -1).Figure
		if one := busy.Value / 1000 * 140; one < truth[NodeIdle]*0.7 {
			wrong++
		}
		factor := find(t, r, NodeFactor, -1).Figure
		require.Less(t, factor.Low, nodeFactor*0.95, "the gain of the GPUs is not known")
		require.Greater(t, factor.High, nodeFactor*1.05)
	}
	t.Logf("%v of %d intervals hold the truth", held, seeds)
	for key := range truth {
		require.GreaterOrEqual(t, held[key], seeds*9/10, key)
	}
	require.Equal(t, seeds, wrong)
}

// TestSpansBesideTheLine: where both are known spans count, unless the line is clearly nearer to
// minutes which were held back; both distances are said.
func TestSpansBesideTheLine(t *testing.T) {
	taken := map[string]int{}
	for seed := uint64(1); seed <= 8; seed++ {
		p := &planted{rng: rand.New(rand.NewPCG(seed, 9))}
		times, watts := p.beside(full())
		p.bmc(times, watts, 1)
		r, err := Of(p.source(t, cluster(t)))
		require.NoError(t, err)
		for key, want := range map[string]float64{NodeIdle: nodeBase + nodeFactor*140, NodeBusy: nodeBase + nodeFactor*1000} {
			f := find(t, r, key, -1)
			require.InEpsilon(t, want, f.Figure.Value, 0.02)
			require.Less(t, f.Figure.Low, 0.96*f.Figure.Value, "its sensor is not checked")
			says := f.Valid[strings.Index(f.Valid, ": of "):]
			var n int
			var spans, line float64
			_, err := fmt.Sscanf(says, ": of %d minutes held back spans are off by %f %%, the line by %f %%", &n, &spans, &line)
			require.NoError(t, err, says)
			require.Equal(t, 60, n)
			if strings.Contains(f.Valid, "by the line of its draw") {
				require.Equal(t, "minutes", f.Figure.Units)
				require.LessOrEqual(t, line, 0.9*spans+0.1)
				taken["line"]++
			} else {
				require.Equal(t, "spans", f.Figure.Units)
				require.GreaterOrEqual(t, line, 0.9*spans-0.1)
				taken["spans"]++
			}
		}
	}
	t.Log(taken)
	require.Len(t, taken, 2, "each is taken at times")
}

// TestMeterBeatsSensor: figures are those of the meter where both are there, and how far the own
// sensor of the node is from it is said.
func TestMeterBeatsSensor(t *testing.T) {
	p := &planted{rng: rand.New(rand.NewPCG(1, 9))}
	times, watts := p.beside(full())
	p.bmc(times, watts, 1.08)
	r := byMeter(t, p, times, watts)
	idle := find(t, r, NodeIdle, -1)
	require.InEpsilon(t, nodeBase+nodeFactor*140, idle.Figure.Value, 0.01)
	require.Contains(t, idle.Valid, "power of one node by a meter")
	own := find(t, r, OwnSensor, -1)
	require.InDelta(t, 1.08, own.Figure.Value, 0.005)
	require.LessOrEqual(t, own.Figure.Low, 1.08)
	require.GreaterOrEqual(t, own.Figure.High, 1.08)
	c := cluster(t)
	text, outcomes, err := r.Into(Merge{File: "site.yaml", Text: []byte(siteText), Cluster: c, Bundles: "cap"})
	require.NoError(t, err)
	require.Contains(t, string(text), "idle_power: 85")
	for _, o := range outcomes {
		if o.Finding.Key == OwnSensor || o.Finding.Key == NodeFactor {
			require.False(t, o.Applied)
			require.NotEmpty(t, o.Value)
		}
	}
}

// TestMeterOfAnotherTime: a meter that does not follow the GPUs of its node, or is of another
// time, is bad input.
func TestMeterOfAnotherTime(t *testing.T) {
	p := &planted{rng: rand.New(rand.NewPCG(1, 9))}
	times, watts := p.beside(full())
	src := p.source(t, cluster(t))
	moved := make([]model.Time, len(times))
	for by, want := range map[model.Duration]string{6 * model.Minute: "does not follow its GPUs", 24 * model.Hour: "no minute with rows of all GPUs"} {
		for i := range times {
			moved[i] = times[i].Add(by)
		}
		src.Meters = []Meter{{Node: "b1", Times: moved, Watts: watts}}
		_, err := Of(src)
		var data *traces.DataError
		require.ErrorAs(t, err, &data)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "--meter-zone")
	}
	still := &planted{rng: rand.New(rand.NewPCG(1, 9))}
	times, watts = still.beside(make([][2]float64, 40))
	r := byMeter(t, still, times, watts)
	found := false
	for _, c := range r.Counts {
		found = found || c.N == 40 && strings.Contains(c.What, "too steady to tell")
	}
	require.True(t, found, "a node at rest does not tell whose meter it is")
	require.InEpsilon(t, nodeBase+nodeFactor*140, find(t, r, NodeIdle, -1).Figure.Value, 0.02)
}
