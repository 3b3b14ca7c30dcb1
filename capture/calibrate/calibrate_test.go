package calibrate

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/hwmodel/fit"
	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/traces"
)

// siteText is the cluster file of the planted site: four nodes of two types.
const siteText = `# our site
name: planted
node_types:
  - {name: big, gpu: h100, gpus: 2, idle_power: 800W, busy_power: 3kW} # new
  - {name: old, gpu: v100, gpus: 2}
groups:
  - {name: a, nodes: "b[1-3]", type: big}
  - {name: b, nodes: "o[1-2]", type: old}
workloads:
  - name: train
    columns: [name=train*]
  - name: infer
    columns: [name=infer*]
`

const epoch = model.Time(1_700_000_000_000_000)

// planted is a site whose truth is known.
type planted struct {
	rows   []*traces.Telemetry
	jobs   []*traces.Job
	events []traces.Event
	rng    *rand.Rand
}

// watts draws readings of a state: 2 % noise, and one in twenty wild.
func (p *planted) watts(mean float64) traces.Opt[float64] {
	if p.rng.Float64() < 0.05 {
		return traces.Some(mean * (0.4 + p.rng.Float64()))
	}
	return traces.Some(mean * (1 + 0.02*p.rng.NormFloat64()))
}

// record has a node with two GPUs of type h100 go through idle time, a load and work of jobs
// one after the other, on GPU 0; GPU 1 is idle all the time.
func (p *planted) record(node string, jobs int, idle, held, active float64) {
	at := epoch
	row := func(gpu int32, watts float64, util float64, procs []capture.Process) {
		p.rows = append(p.rows, &traces.Telemetry{Node: node, GPU: traces.Some(gpu), Time: at, SMUtil: traces.Some(util), Power: p.watts(watts), Processes: capture.Encode(procs), MemUsed: traces.Some(int64(1 << 20))})
	}
	for n := range jobs {
		id := int64(len(p.jobs) + 1)
		own := active * (1 + 0.1*p.rng.NormFloat64())
		for range 60 {
			row(0, idle, 0, nil)
			row(1, idle, 0, nil)
			at = at.Add(model.Second)
		}
		start := at
		read, written := int64(0), int64(0)
		for s := range 240 {
			util, watts := 0.9, own
			switch {
			case s < 60: // loads its model for a minute: 2 GB/s
				util, watts = 0, held
				read += 2 << 30
			case s >= 120 && s < 160: // a checkpoint: 1 GB/s
				util, watts = 0, held
				written += 1 << 30
			case s%10 == 0: // a step without a kernel
				util = 0
			}
			r, w := read, written
			row(0, watts, util, []capture.Process{{PID: 100 + n, Job: fmt.Sprint(id), Read: &r, Written: &w}})
			row(1, idle, 0, nil)
			at = at.Add(model.Second)
		}
		p.jobs = append(p.jobs, &traces.Job{ID: id, Name: "train-1", User: "ann", Kind: "bounded", Start: traces.Some(model.Time(start.Sub(epoch))), End: traces.Some(model.Time(at.Sub(epoch))),
			Runtime: traces.Some(at.Sub(start)), RecordedNodes: node, GPUsTotal: traces.Some(int32(1)), ExitState: "COMPLETED"})
	}
}

func (p *planted) source(t *testing.T, c *profiles.Cluster) Source {
	classes := c.WorkClasses()
	site, err := c.Resolve()
	require.NoError(t, err)
	src := Source{
		Telemetry: func() iter.Seq2[*traces.Telemetry, error] {
			return func(yield func(*traces.Telemetry, error) bool) {
				for _, r := range p.rows {
					if !yield(r, nil) {
						return
					}
				}
			}
		},
		Jobs: func() iter.Seq2[*traces.Job, error] {
			return func(yield func(*traces.Job, error) bool) {
				for _, j := range p.jobs {
					if !yield(j, nil) {
						return
					}
				}
			}
		},
		Epoch: epoch, Events: p.events, SensorOf: func(int) fit.Sensor { return fit.Unmetered(100*model.Millisecond, model.Second) },
		TypeOf: func(node string) int { return map[byte]int{'b': 0, 'o': 1}[node[0]] },
		Types:  []NodeType{{"big", "h100", 2}, {"old", "v100", 2}}, Classes: []string{"train", "infer"},
		ClassOf: func(j *traces.Job) int {
			return classes.Of(func(column string) string { return map[string]string{"name": j.Name, "user": j.User}[column] }, int64(j.GPUsTotal.V))
		},
	}
	for _, n := range site.Nodes {
		src.Nodes = append(src.Nodes, n.Name)
	}
	return src
}

func cluster(t *testing.T) *profiles.Cluster {
	c, err := profiles.ParseCluster("site.yaml", []byte(siteText))
	require.NoError(t, err)
	return c
}

// find is the finding of a key.
func find(t *testing.T, r *Result, key string, class int) *Finding {
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Key == key && f.Class == class && f.Type <= 0 {
			return f
		}
	}
	t.Fatalf("nothing is said of %s", key)
	return nil
}

// TestPlantedDraws: draws by state, bandwidth and size of checkpoints are found where they were
// planted, and stand in the file with what they rest on.
func TestPlantedDraws(t *testing.T) {
	p := &planted{rng: rand.New(rand.NewPCG(1, 2))}
	p.record("b1", 12, 70, 110, 500)
	c := cluster(t)
	r, err := Of(p.source(t, c))
	require.NoError(t, err)
	for _, want := range []struct {
		key   string
		class int
		truth float64
		off   float64
	}{{GPUIdle, -1, 70, 0.01}, {GPUHeld, -1, 110, 0.01}, {ClassPower, 0, 500, 0.1}, {CheckpointBandwidth, -1, 1 << 30, 0.05}, {RestoreBandwidth, -1, 2 << 30, 0.05}, {CheckpointBytes, 0, 40 << 30, 0.05}} {
		f := find(t, r, want.key, want.class)
		require.Nil(t, f.Figure.Refused, want.key)
		require.InEpsilon(t, want.truth, f.Figure.Value, want.off, want.key)
		require.LessOrEqual(t, f.Figure.Low, want.truth, want.key)
		require.GreaterOrEqual(t, f.Figure.High, want.truth, want.key)
		require.NotEmpty(t, f.Measured(), want.key)
	}
	require.InEpsilon(t, 60e6, find(t, r, StartDelay, -1).Figure.Value, 0.05, "a minute until the first kernel")

	text, outcomes, err := r.Into(Merge{File: "site.yaml", Text: []byte(siteText), Cluster: c, Bundles: "cap"})
	require.NoError(t, err)
	require.Contains(t, string(text), "# our site")
	require.Contains(t, string(text), "# new")
	again, err := profiles.ParseCluster("site.yaml", text)
	require.NoError(t, err)
	require.InDelta(t, 70, float64(again.NodeTypes[0].GPUIdlePower), 1)
	require.InDelta(t, 110, float64(again.NodeTypes[0].GPUHeldPower), 1)
	require.Zero(t, again.NodeTypes[1].GPUIdlePower, "of the other type nothing was measured")
	require.Len(t, again.Workloads[0].Power, 1)
	require.Equal(t, "h100", again.Workloads[0].Power[0].GPU)
	require.Empty(t, again.Workloads[1].Power)
	var keys []string
	for _, k := range again.Calibration {
		keys = append(keys, k.Key)
		require.Equal(t, "cap", k.From)
		require.Positive(t, k.N)
	}
	require.Contains(t, keys, "node_types[big].gpu_idle_power")
	require.Contains(t, keys, "workloads[train].power[h100].value")
	refused := map[string]string{}
	for _, o := range outcomes {
		if !o.Applied {
			refused[o.Key] = o.Why
		}
	}
	require.Contains(t, refused["node_types[old].gpu_idle_power"], "no rows of nodes of type old")
	require.Contains(t, refused["workloads[infer].power"], "no rows of jobs of class infer")
	require.Contains(t, refused["agents.start_delay"], "count twice")

	// Again on the file that came out: equal bytes.
	r2, err := Of(p.source(t, again))
	require.NoError(t, err)
	twice, _, err := r2.Into(Merge{File: "site.yaml", Text: text, Cluster: again, Bundles: "cap"})
	require.NoError(t, err)
	require.Equal(t, string(text), string(twice))
}

// TestShiftedDraw: a planted shift of a fifth in the active draw moves that figure by a fifth and
// no other.
func TestShiftedDraw(t *testing.T) {
	of := func(active float64) (class, idle float64) {
		p := &planted{rng: rand.New(rand.NewPCG(3, 4))}
		p.record("b1", 10, 70, 110, active)
		r, err := Of(p.source(t, cluster(t)))
		require.NoError(t, err)
		return find(t, r, ClassPower, 0).Figure.Value, find(t, r, GPUIdle, -1).Figure.Value
	}
	class, idle := of(500)
	more, same := of(600)
	require.InEpsilon(t, 1.2*class, more, 0.001)
	require.InEpsilon(t, idle, same, 1e-9)
}

// TestPlantedSpeeds: what jobs of one name, user and size took on two GPUs and on one and two
// nodes becomes rows of their class; a job that did not complete says nothing.
func TestPlantedSpeeds(t *testing.T) {
	p := &planted{rng: rand.New(rand.NewPCG(5, 6))}
	add := func(name, nodes string, seconds float64, state string) {
		d := model.Duration(seconds * (1 + 0.01*p.rng.NormFloat64()) * 1e6)
		p.jobs = append(p.jobs, &traces.Job{ID: int64(len(p.jobs) + 1), Name: name, User: "ann", Start: traces.Some(model.Time(0)), Runtime: traces.Some(d), RecordedNodes: nodes, GPUsTotal: traces.Some(int32(2)), ExitState: state})
	}
	for i := range 8 {
		name := fmt.Sprintf("train-%d", i)
		work := float64(1000 * (i + 1))
		add(name, "b1", work, "COMPLETED")
		add(name, "b2", work, "COMPLETED")
		add(name, "b[1-2]", 1.3*work, "COMPLETED")
		add(name, "o1", 4*work, "COMPLETED")
		add(name, "o1", 0.1*work, "FAILED")
	}
	c := cluster(t)
	src := p.source(t, c)
	src.Telemetry = nil
	r, err := Of(src)
	require.NoError(t, err)
	text, _, err := r.Into(Merge{File: "site.yaml", Text: []byte(siteText), Cluster: c, Bundles: "cap"})
	require.NoError(t, err)
	again, err := profiles.ParseCluster("site.yaml", text)
	require.NoError(t, err)
	w := again.Workloads[0]
	require.Len(t, w.Throughput, 2)
	require.Equal(t, "h100", w.Throughput[0].GPU)
	require.Equal(t, 1.0, w.Throughput[0].Value)
	require.InEpsilon(t, 0.25, w.Throughput[1].Value, 0.02)
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Key == Throughput && !f.Base {
			require.Len(t, f.Measured(), 8)
			require.InEpsilon(t, 0.25, f.Measured()[0], 0.05, "in the unit of the figure")
		}
	}
	require.Len(t, w.Steps, 2)
	require.Equal(t, int32(2), w.Steps[1].Nodes)
	require.InEpsilon(t, 1.3, w.Steps[1].Time, 0.02)
}

// TestPlantedFailures: a rate of failures and a log-normal repair are found, with the nodes that
// never failed counted in; they are put in when asked for.
func TestPlantedFailures(t *testing.T) {
	p := &planted{rng: rand.New(rand.NewPCG(7, 8))}
	c := cluster(t)
	src := p.source(t, c)
	src.Telemetry, src.Jobs = nil, nil
	for _, node := range src.Nodes {
		at := epoch
		for {
			at = at.Add(model.Duration(p.rng.ExpFloat64() * 100 * float64(model.Hour)))
			if at.Sub(epoch) > 5000*model.Hour {
				break
			}
			back := at.Add(model.Duration(float64(model.Hour) * p.rng.ExpFloat64()))
			src.Events = append(src.Events, traces.Event{Time: at, Kind: "down", Subject: node}, traces.Event{Time: back, Kind: "up", Subject: node})
			at = back
		}
	}
	src.Events = sorted(src.Events)
	r, err := Of(src)
	require.NoError(t, err)
	f := find(t, r, MTBF, -1)
	require.InEpsilon(t, 100*float64(model.Hour), f.Figure.Value, 0.15)
	without, _, err := r.Into(Merge{File: "site.yaml", Text: []byte(siteText), Cluster: c, Bundles: "cap"})
	require.NoError(t, err)
	require.NotContains(t, string(without), "mtbf")
	with, _, err := r.Into(Merge{File: "site.yaml", Text: []byte(siteText), Cluster: c, Bundles: "cap", Failures: true})
	require.NoError(t, err)
	again, err := profiles.ParseCluster("site.yaml", with)
	require.NoError(t, err)
	require.InEpsilon(t, f.Figure.Value, float64(again.Failures.MTBF), 0.01)
	require.Equal(t, "log-normal", again.Failures.Repair)
}

func sorted(events []traces.Event) []traces.Event {
	for i := 1; i < len(events); i++ {
		for j := i; j > 0 && events[j].Time < events[j-1].Time; j-- {
			events[j], events[j-1] = events[j-1], events[j]
		}
	}
	return events
}

// TestNothing: without rows, jobs and events each figure is refused with what is missing.
func TestNothing(t *testing.T) {
	p := &planted{}
	r, err := Of(p.source(t, cluster(t)))
	require.NoError(t, err)
	require.NotEmpty(t, r.Findings)
	for _, f := range r.Findings {
		require.NotNil(t, f.Figure.Refused, f.Key)
		require.NotEmpty(t, strings.TrimSpace(f.Figure.Refused.Obtain))
	}
}
