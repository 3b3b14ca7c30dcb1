package calibrate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/hwmodel"
	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/traces"
)

// rest adds a GPU that is idle for a time at one row a second.
func (p *planted) rest(node string, gpu int32, seconds int, change func(*traces.Telemetry)) {
	for s := range seconds {
		t := &traces.Telemetry{Node: node, GPU: traces.Some(gpu), Time: epoch.Add(model.Duration(s) * model.Second), SMUtil: traces.Some(0.0), Power: p.watts(70), MemUsed: traces.Some(int64(1 << 20))}
		change(t)
		p.rows = append(p.rows, t)
	}
}

func same(*traces.Telemetry) {}

func put(t *testing.T, p *planted, text string) (*profiles.Cluster, map[string]Outcome) {
	t.Helper()
	c, err := profiles.ParseCluster("site.yaml", []byte(text))
	require.NoError(t, err)
	r, err := Of(p.source(t, c))
	require.NoError(t, err)
	out, outcomes, err := r.Into(Merge{File: "site.yaml", Text: []byte(text), Cluster: c, Bundles: "cap", Failures: true})
	require.NoError(t, err)
	again, err := profiles.ParseCluster("site.yaml", out)
	require.NoError(t, err)
	by := map[string]Outcome{}
	for _, o := range outcomes {
		by[o.Key] = o
	}
	return again, by
}

// TestLongRest: a GPU that is idle for a day says what it draws idle.
func TestLongRest(t *testing.T) {
	p := &planted{rng: rand.New(rand.NewPCG(1, 2))}
	p.rest("b1", 0, 86400, same)
	c, _ := put(t, p, siteText)
	require.InDelta(t, 70, float64(c.NodeTypes[0].GPUIdlePower), 1)
}

// TestUnknownRest: a row without memory and processes does not say that nothing holds the GPU.
func TestUnknownRest(t *testing.T) {
	p := &planted{rng: rand.New(rand.NewPCG(1, 2))}
	p.rest("b1", 0, 7200, func(r *traces.Telemetry) { r.MemUsed = traces.Opt[int64]{} })
	r, err := Of(p.source(t, cluster(t)))
	require.NoError(t, err)
	require.NotNil(t, find(t, r, GPUIdle, -1).Figure.Refused)
	require.Contains(t, r.Counts, Count{"rows of GPUs that do not say whether they work or are held", 7200})
}

// TestForeign: telemetry of other nodes alone is bad input, and the error names one of each.
func TestForeign(t *testing.T) {
	p := &planted{rng: rand.New(rand.NewPCG(1, 2))}
	p.rest("b1", 0, 10, same)
	src := p.source(t, cluster(t))
	src.TypeOf = func(string) int { return -1 }
	_, err := Of(src)
	require.ErrorContains(t, err, "b1")
}

// work adds a job of class train on both GPUs of a node, each with a process, that writes so
// much in each row while its GPUs compute nothing.
func (p *planted) work(id int, at model.Time, watts float64, perRow int64) model.Time {
	node := "b1"
	start := at
	var written [2]int64
	for s := range 120 {
		for g := range 2 {
			util := 0.9
			if s >= 60 && s < 80 {
				util = 0
				written[g] += perRow
			}
			zero, w := int64(0), written[g]
			p.rows = append(p.rows, &traces.Telemetry{Node: node, GPU: traces.Some(int32(g)), Time: at, SMUtil: traces.Some(util), Power: traces.Some(watts), MemUsed: traces.Some(int64(2 << 30)),
				Processes: capture.Encode([]capture.Process{{PID: 10*id + g, Job: fmt.Sprint(id), Read: &zero, Written: &w}})})
		}
		at = at.Add(model.Second)
	}
	p.jobs = append(p.jobs, &traces.Job{ID: int64(id), Name: "train-1", User: "ann", Start: traces.Some(model.Time(start.Sub(epoch))), End: traces.Some(model.Time(at.Sub(epoch))), RecordedNodes: node, GPUsTotal: traces.Some(int32(2)), ExitState: "COMPLETED"})
	for g := range 2 {
		for s := range 20 {
			p.rows = append(p.rows, &traces.Telemetry{Node: node, GPU: traces.Some(int32(g)), Time: at.Add(model.Duration(s) * model.Second), SMUtil: traces.Some(0.0), Power: p.watts(70), MemUsed: traces.Some(int64(1 << 20))})
		}
	}
	return at.Add(20 * model.Second)
}

func (p *planted) train(jobs int, watts float64, perRow int64) {
	at := epoch
	for i := range jobs {
		at = p.work(i+1, at, watts, perRow)
	}
	sortRows(p.rows)
}

func sortRows(rows []*traces.Telemetry) {
	for i := 1; i < len(rows); i++ {
		for j := i; j > 0 && rows[j].Time < rows[j-1].Time; j-- {
			rows[j], rows[j-1] = rows[j-1], rows[j]
		}
	}
}

// TestCheckpointOfAJob: the processes of a job write one checkpoint together.
func TestCheckpointOfAJob(t *testing.T) {
	p := &planted{rng: rand.New(rand.NewPCG(1, 2))}
	p.train(12, 500, 500e6)
	c, by := put(t, p, siteText)
	require.InEpsilon(t, 20e9, float64(*c.Workloads[0].CheckpointBytes), 0.02)
	require.InEpsilon(t, 1e9, float64(c.Agents.CheckpointBandwidth), 0.02)
	// Jobs that draw the same have the range of cards that no meter has checked.
	power := c.Workloads[0].Power[0]
	require.InDelta(t, 500, float64(power.Value), 1)
	require.InDelta(t, 500/1.06, float64(power.Low), 2)
	require.InDelta(t, 500/0.94, float64(power.High), 2)
	require.True(t, by["workloads[train].power[h100].value"].Applied)
}

// TestLogsAreNoCheckpoints: a few MB that a job writes meanwhile are none.
func TestLogsAreNoCheckpoints(t *testing.T) {
	p := &planted{rng: rand.New(rand.NewPCG(1, 2))}
	p.train(12, 500, 2<<20)
	_, by := put(t, p, siteText)
	require.False(t, by["agents.checkpoint_bandwidth"].Applied)
	require.NotContains(t, by, "workloads[train].checkpoint_bytes")
}

// runs adds jobs of the same work on both kinds of GPU.
func (p *planted) runs(ratio, sigma float64) {
	for i := range 12 {
		for _, node := range []string{"b1", "o1"} {
			d := 3600 * math.Exp(sigma*p.rng.NormFloat64())
			if node == "o1" {
				d *= ratio
			}
			p.jobs = append(p.jobs, &traces.Job{ID: int64(len(p.jobs) + 1), Name: fmt.Sprint("train-", i), User: "ann", Start: traces.Some(model.Time(0)), Runtime: traces.Some(model.Duration(d * 1e6)), RecordedNodes: node, GPUsTotal: traces.Some(int32(2)), ExitState: "COMPLETED"})
		}
	}
}

// TestNoiseIsNoRatio: run times that do not repeat give no speed.
func TestNoiseIsNoRatio(t *testing.T) {
	p := &planted{rng: rand.New(rand.NewPCG(1, 2))}
	p.runs(2, 1)
	c, by := put(t, p, siteText)
	require.Empty(t, c.Workloads[0].Throughput)
	require.Contains(t, by["workloads[train].throughput[v100].value"].Why, "ratio of run times")
}

// TestRowsOfTheFileStay: fitted rows take the unit of those in the file, and leave the others;
// without a common row they are refused.
func TestRowsOfTheFileStay(t *testing.T) {
	p := &planted{rng: rand.New(rand.NewPCG(1, 2))}
	p.runs(4, 0.01)
	rows := strings.Replace(siteText, "columns: [name=train*]", "columns: [name=train*]\n    throughput: [{gpu: v100, value: 9}, {gpu: h100, value: 2}, {gpu: a40, value: 1.5}]", 1)
	c, _ := put(t, p, rows)
	require.Len(t, c.Workloads[0].Throughput, 3)
	require.InEpsilon(t, 0.5, c.Workloads[0].Throughput[0].Value, 0.02)
	require.Equal(t, 2.0, c.Workloads[0].Throughput[1].Value)
	require.Equal(t, 1.5, c.Workloads[0].Throughput[2].Value)
	rows = strings.Replace(siteText, "columns: [name=train*]", "columns: [name=train*]\n    throughput: [{gpu: a40, value: 1.5}]", 1)
	c, by := put(t, p, rows)
	require.Len(t, c.Workloads[0].Throughput, 1)
	require.Contains(t, by["workloads[train].throughput[v100].value"].Why, "have none of h100")
}

// TestWeibullMean: a replay that draws from the mean and shape that were put in meets as many
// failures as were planted.
func TestWeibullMean(t *testing.T) {
	p := &planted{}
	law := hwmodel.WeibullOf(2000*model.Hour, 0.6)
	text := strings.Replace(siteText, "b[1-3]", "b[1-600]", 1)
	fails := func(law hwmodel.Lifetime, stream string, note func(node string, at, back model.Time)) (n int) {
		for i := range 600 {
			at := epoch
			for k := uint64(0); ; k++ {
				src := draw.New(1, draw.StreamOf(stream), uint64(i), k)
				if at = at.Add(law.Draw(&src)); at.Sub(epoch) > 1000*model.Hour {
					break
				}
				n++
				note(fmt.Sprint("b", i+1), at, at.Add(model.Hour))
				at = at.Add(model.Hour)
			}
		}
		return n
	}
	planted := fails(law, "planted", func(node string, at, back model.Time) {
		p.events = append(p.events, traces.Event{Time: at, Kind: "down", Subject: node}, traces.Event{Time: back, Kind: "up", Subject: node})
	})
	p.events = sorted(p.events)
	c, by := put(t, p, text)
	require.Equal(t, "weibull", c.Failures.Law, "%+v", by)
	fitted := hwmodel.WeibullOf(c.Failures.MTBF, c.Failures.Shape)
	require.InEpsilon(t, planted, fails(fitted, "again", func(string, model.Time, model.Time) {}), 0.12)
}

// TestFailuresThatDoNotFit: keys of the file that exclude what was fitted refuse the failures, and
// the rest is put in.
func TestFailuresThatDoNotFit(t *testing.T) {
	p := &planted{rng: rand.New(rand.NewPCG(1, 2))}
	p.rest("b1", 0, 7200, same)
	for i := range 40 {
		at := epoch.Add(model.Duration(i) * model.Hour)
		p.events = append(p.events, traces.Event{Time: at, Kind: "down", Subject: "b1"}, traces.Event{Time: at.Add(model.Duration(600+i) * model.Second), Kind: "up", Subject: "b1"})
	}
	c, by := put(t, p, siteText+"failures: {mtbf: 10d, mttr: 5h}\n")
	require.InDelta(t, 70, float64(c.NodeTypes[0].GPUIdlePower), 1)
	require.Equal(t, 10*model.Day, c.Failures.MTBF)
	require.Contains(t, by["failures.repair_median"].Why, "mttr")
}

// TestBundleTwice: rows of one series and instant count once.
func TestBundleTwice(t *testing.T) {
	p := &planted{rng: rand.New(rand.NewPCG(1, 2))}
	p.rest("b1", 0, 7200, same)
	one, err := Of(p.source(t, cluster(t)))
	require.NoError(t, err)
	var rows []*traces.Telemetry
	for _, r := range p.rows {
		rows = append(rows, r, r)
	}
	p.rows = rows
	two, err := Of(p.source(t, cluster(t)))
	require.NoError(t, err)
	require.Equal(t, find(t, one, GPUIdle, -1).Figure, find(t, two, GPUIdle, -1).Figure)
	require.Contains(t, two.Counts, Count{"rows of one series and instant a second time", 7200})
}

// TestCaps: jobs that ran again under lower limits give the throughput of their class under caps,
// by their own draw; jobs that their limit binds from the beginning say nothing.
func TestCaps(t *testing.T) {
	p := &planted{rng: rand.New(rand.NewPCG(1, 2))}
	at := epoch
	speed := func(x float64) float64 { return 1 - 0.9*math.Pow(max(0, 1.05-x), 2) }
	limit := func(watts int) {
		v := &capture.Inventory{GPUs: []capture.GPU{{Index: 0}, {Index: 1}}}
		v.Add("gpu.0.power.limit_w", fmt.Sprint(watts))
		v.Add("gpu.1.power.limit_w", fmt.Sprint(watts))
		r := capture.Record{Record: capture.RecordInventory, Inventory: v}
		p.events = append(p.events, r.Event(at, "b1"))
	}
	id := 0
	for _, watts := range []int{700, 460, 410, 360, 320} {
		limit(watts)
		for name := range 12 {
			id++
			begin := at
			draw := min(500, float64(watts))
			at = p.work(id, at, draw, 0)
			j := p.jobs[len(p.jobs)-1]
			j.Name = fmt.Sprint("train-", name)
			j.Runtime = traces.Some(model.Duration(100e6 * (1 + 0.01*p.rng.NormFloat64()) / speed(float64(watts)/500)))
			require.Less(t, begin, at)
		}
	}
	sortRows(p.rows)
	c, _ := put(t, p, siteText)
	caps := c.Workloads[0].Caps
	require.NotEmpty(t, caps)
	for _, r := range caps {
		require.InDelta(t, speed(r.Draw), r.Throughput, 0.02, "at %g of the draw", r.Draw)
	}
	require.InDelta(t, 0.64, caps[0].Draw, 0.001)

	p.events, at = p.events[:0], epoch
	limit(500)
	_, by := put(t, p, siteText)
	for key := range by {
		require.NotContains(t, key, "caps")
	}
}

// TestWorkOfNoJob: what a GPU does for no known job is counted, and no figure rests on it.
func TestWorkOfNoJob(t *testing.T) {
	of := func(change func(*planted)) (int64, *Result) {
		p := &planted{rng: rand.New(rand.NewPCG(1, 2))}
		p.train(12, 500, 0)
		change(p)
		sortRows(p.rows)
		r, err := Of(p.source(t, cluster(t)))
		require.NoError(t, err)
		return find(t, r, ClassPower, 0).Rows, r
	}
	own, _ := of(func(*planted) {})
	with, r := of(func(p *planted) {
		p.rest("b2", 0, 600, func(row *traces.Telemetry) { row.SMUtil, row.Power = traces.Some(0.9), traces.Some(300.0) })
	})
	require.Equal(t, own, with)
	require.Contains(t, r.Counts, Count{"rows of GPUs at work for no known job", 600})
}
