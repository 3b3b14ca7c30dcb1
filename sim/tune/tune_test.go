package tune

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim"
	"orrery/sim/metric"
	"orrery/sim/search"
	"orrery/sim/sensitivity"
	"orrery/sim/stat"
	"orrery/sim/task"
	"orrery/traces"
	"orrery/traces/transform"
)

// world is a small site with a log.
type world struct {
	set     *transform.Set
	spec    sim.Spec
	cluster *profiles.Cluster
	runner  *task.Runner
	begins  map[int]model.Time
}

const nodes = 16

// newWorld is a log of n jobs, drawn with a seed, on a site under a profile. load
// is the part of the machine that they ask for.
func newWorld(t *testing.T, n int, load float64, profile string) world {
	t.Helper()
	var jobs []traces.Job
	r := draw.New(7, draw.StreamOf("tune test"), 0, 0)
	now := 0.0
	for i := range n {
		run, size := 60+math.Floor(r.Float64()*600), 1+r.IntN(4)
		if r.Bool(0.15) {
			run, size = 3600+math.Floor(r.Float64()*14400), 1+r.IntN(8)
		}
		jobs = append(jobs, traces.Job{
			ID: int64(i + 1), Submit: model.Time(now) * model.Time(model.Second), Runtime: traces.Some(model.Duration(run) * model.Second),
			Walltime: traces.Some(model.Duration(run*(1+r.Float64())) * model.Second), NodesMin: traces.Some(int32(size)), ProcsRequested: traces.Some(int32(size)),
			Tenant: []string{"red", "blue", "green"}[r.IntN(3)],
		})
		now += math.Floor(-math.Log(r.Open()) * 500 / load) // a job asks for about 8,000 node seconds
	}
	set, err := transform.FromTables("a log of a test", traces.Meta{}, traces.Tables{Jobs: jobs})
	require.NoError(t, err)
	w := world{set: set, runner: task.NewRunner(nil), begins: map[int]model.Time{}}
	m, err := w.runner.Add(set)
	require.NoError(t, err)
	w.cluster, err = profiles.ParseCluster("test", []byte(`
agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}
groups: [{name: a, nodes: 16, fingerprint: x}]
tenants: [{name: red, fair_share: 0.5}, {name: blue, fair_share: 0.3}, {name: green, fair_share: 0.2}]
vclusters: [{name: all, home: all, profile: {`+profile+`}}]`))
	require.NoError(t, err)
	w.spec = sim.DefaultSpec()
	w.spec.Site = w.cluster.JSON()
	src, err := m.Open()
	require.NoError(t, err)
	w.spec, err = w.spec.Bind(src.(sim.Tables))
	require.NoError(t, err)
	return w
}

// real computes tasks by replays.
func (w world) real(workers int) func(context.Context, []task.Task) ([]task.Result, error) {
	return func(ctx context.Context, tasks []task.Task) ([]task.Result, error) {
		return task.Evaluate(ctx, w.runner, tasks, workers)
	}
}

// planted computes tasks by a formula: the metric falls by gain as wait_time grows
// from half to 0.9 of what it and fair_share weigh together, and nothing else
// counts. Every run is off by its own luck of the size noise.
func planted(gain, noise float64) func(context.Context, []task.Task) ([]task.Result, error) {
	return func(_ context.Context, tasks []task.Task) ([]task.Result, error) {
		out := make([]task.Result, len(tasks))
		for i, k := range tasks {
			part := partOf(k.Spec.Site)
			busy := draw.New(uint64(k.Window.Begin), draw.StreamOf("level"), 0, 0)
			level := 10 + 5*busy.Float64()
			value := level * (1 - gain*(1-math.Abs(part-0.9)/0.4))
			id, _ := hex.DecodeString(k.ID())
			luck := draw.New(binary.LittleEndian.Uint64(id), draw.StreamOf("luck"), 0, 0)
			value *= 1 + noise*(luck.Float64()+luck.Float64()+luck.Float64()-1.5)*2
			one := func(x float64) task.Metric { return task.Metric{All: &x, Steady: &x} }
			out[i] = task.Result{Verdict: metric.Stable, Metrics: map[string]task.Metric{
				"bounded_slowdown_mean": one(value), "wait_max": one(3600), "wait_mean": one(60 * value),
			}}
		}
		return out, nil
	}
}

// parted remembers partOf, since a cluster file takes long to read.
var parted = map[string]float64{}

// partOf is the share of wait_time in what it and fair_share weigh together.
func partOf(site []byte) float64 {
	part, ok := parted[string(site)]
	if ok {
		return part
	}
	c, err := profiles.ParseCluster("", site)
	if err != nil {
		panic(err)
	}
	part = 0.5
	p := c.VClusters[0].Profile.Inline
	if w := p.Weights; p.Order == "score" && w.WaitTime+w.FairShare > 0 {
		part = w.WaitTime / (w.WaitTime + w.FairShare)
	}
	parted[string(site)] = part
	return part
}

// half of the weights that count is where the formula has its zero.
const halves = "weights: {priority: 0.2, wait_time: 0.2, fair_share: 0.2, topology: 0.4}"

func (w world) problem() Problem { return Problem{Trace: w.set, Spec: w.spec, Cluster: w.cluster} }

func small() Options {
	o := Defaults()
	o.Budget, o.Stat.Draws, o.Replicas, o.Trajectories, o.Points = 24, 999, 6, 4, 0
	return o
}

func (w world) tune(t *testing.T, o Options) *Report {
	t.Helper()
	r, err := Run(context.Background(), w.problem(), o)
	require.NoError(t, err)
	return r
}

func TestAPlantedGainIsFoundAndRecommended(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Evaluate = planted(0.05, 0.01)
	r := w.tune(t, o)
	require.Equal(t, Change, r.Decision, r.Why)
	line := r.Finalists[slices.IndexFunc(r.Finalists, func(f Finalist) bool { return f.Name == r.Chosen })].Lines[0]
	require.Equal(t, stat.Better, line.Verdict)
	require.InDelta(t, -0.05, float64(line.Relative.Estimate), 0.02)
	require.Less(t, float64(line.Relative.Low), -0.03)
	require.Len(t, r.Profiles(), 1)
	p := r.Profiles()[0].Profile
	require.InDelta(t, 0.9, p.Weights.WaitTime/(p.Weights.WaitTime+p.Weights.FairShare), 0.15)
	again, err := profiles.Parse("tuned.yaml", p.YAML())
	require.NoError(t, err)
	require.Equal(t, string(p.JSON()), string(again.JSON()), "the file says what was judged")
}

// TestHalving: a race in which most must leave runs fewer windows and says so.
func TestHalving(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Evaluate = planted(0.05, 0.01)
	paired := w.tune(t, o)
	o.Race = search.Halving
	r := w.tune(t, o)
	require.Equal(t, Change, r.Decision, r.Why)
	require.Equal(t, []search.Rule{search.Paired, search.Halving}, []search.Rule{paired.Race, r.Race})
	require.Less(t, r.Runs, paired.Runs)
	require.Len(t, r.Dropped, len(r.Tried)-(len(r.Tried)+8)/9, "a third of a third is left")
	require.Contains(t, string(r.Markdown()), "left the race when two thirds had to")
	require.Contains(t, string(paired.Markdown()), "left the race when it was worse than the leader beyond doubt")
}

func TestADifferenceBelowTheNoiseIsNoGain(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	for seed := range 2 {
		o := small()
		o.Evaluate, o.Seed = planted(0.01, 0.05), uint64(seed+1)
		r := w.tune(t, o)
		require.NotEqual(t, Change, r.Decision, "seed %d", seed)
		require.Empty(t, r.Profiles())
		for _, f := range r.Finalists {
			require.NotEqual(t, stat.Better, f.Lines[0].Verdict)
			require.Greater(t, float64(f.Lines[0].Floor), 0.01*float64(f.Lines[0].Now.Estimate), "the planted gain lies below the floor")
		}
	}
}

func TestInertWeightsAreNamed(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Evaluate, o.Points = planted(0.3, 0), 256
	r := w.tune(t, o)
	influence := map[string]sensitivity.Influence{}
	for _, p := range r.Sensitivity[0].Parts {
		influence[p.Setting] = p.Influence
	}
	require.Equal(t, sensitivity.Active, influence["weights.wait_time"])
	require.Equal(t, sensitivity.Active, influence["weights.fair_share"])
	for _, name := range []string{"weights.priority", "weights.topology", "weights.energy", "weights.conformance", "reference_wait", "backfill"} {
		require.Equal(t, sensitivity.Inert, influence[name], name)
		require.Contains(t, r.Inert(), name)
		require.NotContains(t, r.Settings, name, "what does nothing is not searched")
	}
	require.Contains(t, string(r.Markdown()), "Inert here, whatever their value: weights.priority")
	require.Equal(t, 1, strings.Count(string(r.Markdown()), "## Which settings matter"))
	require.Equal(t, Change, r.Decision)
	for _, c := range r.Changes {
		require.Contains(t, []string{"weights.wait_time", "weights.fair_share"}, c.Key, "what does nothing does not change")
	}
}

// The formula is one of wait_time over what it and fair_share weigh together: what
// one does alone and in all is known, and the others do nothing.
func TestSobolIndicesPartTheVariance(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	for _, trajectories := range []int{0, 4} {
		o := small()
		o.Evaluate, o.Trajectories, o.Points = planted(0.3, 0), trajectories, 1000
		r := w.tune(t, o)
		s := r.Sensitivity[0]
		require.Len(t, s.Parts, 11)
		require.Equal(t, 1<<(6+trajectories/4), s.Spread.Rows, "fewer settings leave more rows")
		for _, p := range s.Parts {
			if p.Setting == "weights.wait_time" || p.Setting == "weights.fair_share" {
				require.Equal(t, sensitivity.Active, p.Influence, p.Setting)
				require.InDelta(t, 0.5, float64(p.First.Estimate), 0.3, p.Setting)
				require.GreaterOrEqual(t, float64(p.Total.High), float64(p.First.Estimate), p.Setting)
				continue
			}
			require.Equal(t, sensitivity.Inert, p.Influence, p.Setting)
			require.InDelta(t, 0, float64(p.Total.High), 1e-9, p.Setting)
		}
		require.Equal(t, r.Chosen, r.Around)
		require.NotEmpty(t, r.Slopes)
		require.Len(t, r.Joint, 1, "two settings matter")
		require.Len(t, r.Joint[0].Values, side)
		page := string(r.Markdown())
		require.Contains(t, page, "Sobol indices from")
		require.Contains(t, page, "over weights.")
	}
	for points, rows := range map[int]int{1: 8, 207: 8, 208: 16, 512: 32} {
		require.Equal(t, rows, rowsOf(points, 11))
	}
}

// Where everything comes to the same there is nothing to change, and that is no
// lack of evidence.
func TestEqualsAreKept(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	for _, noise := range []float64{0, 0.05} {
		o := small()
		o.Evaluate = planted(0, noise)
		r := w.tune(t, o)
		require.NotEqual(t, Change, r.Decision, "noise %v", noise)
		if noise == 0 {
			require.Equal(t, Keep, r.Decision)
			require.Empty(t, r.Finalists)
		}
	}
	w = newWorld(t, 1500, 0.02, halves) // nobody ever waits
	o := small()
	o.Evaluate = w.real(2)
	r := w.tune(t, o)
	require.Equal(t, Keep, r.Decision)
	require.Equal(t, "Keep what you have", r.Title())
}

// In a real replay of short and long jobs an order by length is better than one
// by age, and weights of a factor that all jobs share do nothing.
func TestSmallWorld(t *testing.T) {
	w := newWorld(t, 8000, 0.75, "weights: {wait_time: 1, energy: 0.2}, backfill: easy")
	o := small()
	o.Budget, o.Tuning, o.Acceptance, o.Trajectories = 8, 6, 40, 3
	var pages [][]byte
	for _, workers := range []int{1, 3} {
		o.Evaluate = w.real(workers)
		r := w.tune(t, o)
		require.Equal(t, Change, r.Decision, "%s", r.Markdown())
		require.Contains(t, r.Inert(), "weights.energy")
		require.Contains(t, r.Inert(), "weights.backlog")
		require.NotEmpty(t, r.Groups)
		b, err := json.Marshal(r)
		require.NoError(t, err)
		pages = append(pages, b, r.Markdown())
	}
	require.Equal(t, string(pages[0]), string(pages[2]), "workers")
	require.Equal(t, string(pages[1]), string(pages[3]), "workers")
	t.Logf("%s", pages[1])
}

func TestPlainMachine(t *testing.T) {
	w := newWorld(t, 5000, 0.75, halves)
	p := w.problem()
	p.Cluster, p.Spec = nil, sim.DefaultSpec()
	p.Spec.Cluster.Procs, p.Spec.Trace = nodes, w.spec.Trace
	o := small()
	o.Evaluate = w.real(2)
	r, err := Run(context.Background(), p, o)
	require.NoError(t, err)
	require.Equal(t, Change, r.Decision, "%s", r.Markdown())
	require.NotContains(t, r.Chosen, "fcfs")
	require.Empty(t, r.Profiles())
	require.Equal(t, "order", r.Changes[0].Key)
}

func TestConstraintsAreKept(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	formula := planted(0.2, 0.005)
	o.Constraints = []search.Constraint{{Metric: "wait_max", Relation: search.AtMost, Value: 4000}}
	// More gain costs someone a longer wait: 4,000 s are reached half way.
	o.Evaluate = func(ctx context.Context, tasks []task.Task) ([]task.Result, error) {
		out, err := formula(ctx, tasks)
		for i := range out {
			longest := 3000 + 5000*(partOf(tasks[i].Spec.Site)-0.5)
			out[i].Metrics["wait_max"] = task.Metric{Steady: &longest}
		}
		return out, err
	}
	r := w.tune(t, o)
	require.Equal(t, Change, r.Decision)
	p := r.Profiles()[0].Profile.Weights
	require.LessOrEqual(t, p.WaitTime/(p.WaitTime+p.FairShare), 0.7005)
}

func TestOverloadedCandidatesHaveNoRank(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	formula := planted(0.2, 0.005)
	o.Evaluate = func(ctx context.Context, tasks []task.Task) ([]task.Result, error) {
		out, err := formula(ctx, tasks)
		for i := range out {
			if partOf(tasks[i].Spec.Site) > 0.51 {
				out[i].Verdict = metric.Overloaded
			}
		}
		return out, err
	}
	r := w.tune(t, o)
	require.NotEqual(t, Change, r.Decision)
	o.Evaluate = func(ctx context.Context, tasks []task.Task) ([]task.Result, error) {
		out, err := formula(ctx, tasks)
		for i := range out {
			out[i].Verdict = metric.Overloaded
		}
		return out, err
	}
	r = w.tune(t, o)
	require.Equal(t, Unsure, r.Decision)
	require.Contains(t, r.Why, "only 0 windows")
	require.NotEmpty(t, r.Markdown())
}

// Two of the 20 acceptance windows, as many as chance explains, in which a
// candidate is overloaded and its jobs that are done waited a hundredth: they are
// counted as no gain, and not left out.
func TestAnOverloadedWindowIsNoGain(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	formula := planted(0.1, 0.002)
	o.Evaluate = func(ctx context.Context, tasks []task.Task) ([]task.Result, error) {
		out, err := formula(ctx, tasks)
		for i := range out {
			begin := tasks[i].Window.Begin
			if partOf(tasks[i].Spec.Site) > 0.51 && (begin == w.windowAt(t, 12) || begin == w.windowAt(t, 25)) {
				out[i].Verdict = metric.Overloaded
				for name, m := range out[i].Metrics {
					less := *m.Steady / 100
					out[i].Metrics[name] = task.Metric{All: &less, Steady: &less}
				}
			}
		}
		return out, err
	}
	r := w.tune(t, o)
	require.Equal(t, Change, r.Decision, r.Why)
	line := r.Finalists[slices.IndexFunc(r.Finalists, func(f Finalist) bool { return f.Name == r.Chosen })].Lines[0]
	require.Equal(t, 20, line.Windows)
	require.InDelta(t, -0.1*18/20, float64(line.Relative.Estimate), 0.02, "the two windows as they are would make it -0.19")

	one := func(verdict metric.Verdict, x float64) *task.Result {
		return &task.Result{Verdict: verdict, Metrics: map[string]task.Metric{"wait_mean": {Steady: &x}, "utilisation": {Steady: &x}, "none": {}}}
	}
	now := []*task.Result{one(metric.Stable, 10), one(metric.Stable, 10), one(metric.Stable, 10)}
	then := []*task.Result{one(metric.Stable, 3), one(metric.Overloaded, 3), one(metric.Overloaded, 30)}
	require.Equal(t, []float64{3, 10, 30}, read("wait_mean").beside(now, then))
	require.Equal(t, []float64{3, 3, 30}, read("utilisation").beside(now, then), "what does not grow with the log is as measured")
}

// windowAt is the beginning of a window of the default kind, from 0.
func (w world) windowAt(t *testing.T, k int) model.Time {
	if len(w.begins) == 0 {
		tuner := &tuner{ctx: context.Background(), problem: w.problem(), opt: small()}
		require.NoError(t, tuner.cut())
		for i := range tuner.windows {
			w.begins[i] = tuner.windows[i].Begin
		}
	}
	return w.begins[k]
}

func TestRefusals(t *testing.T) {
	w := newWorld(t, 300, 0.8, halves)
	for text, spoil := range map[string]func(*Options){
		"there is no metric \"wait_p42\"":       func(o *Options) { o.Objectives = []search.Objective{{Metric: "wait_p42", Direction: search.Minimise}} },
		"measured over whole runs only":         func(o *Options) { o.Objectives = []search.Objective{{Metric: "goodput", Direction: search.Maximise}} },
		"a budget of 0 points":                  func(o *Options) { o.Budget = 0 },
		"unknown method \"guess\"":              func(o *Options) { o.Method = "guess" },
		"do not fit into the trace":             func(o *Options) { o.Length = 365 * model.Day },
		"windows to tune on and 3 to accept on": func(o *Options) { o.Acceptance = 3 },
	} {
		o := small()
		o.Evaluate = w.real(1)
		spoil(&o)
		_, err := Run(context.Background(), w.problem(), o)
		var usage *UsageError
		require.ErrorAs(t, err, &usage, text)
		require.ErrorContains(t, err, text)
	}
}

// Windows share no instant, and those for acceptance come last.
func TestWindows(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Evaluate = planted(0, 0)
	r := w.tune(t, o)
	require.Len(t, r.Windows, 30)
	for i, x := range r.Windows[1:] {
		require.Greater(t, x.Begin, r.Windows[i].End)
		require.Equal(t, i+1 >= 10, x.Set == ForAcceptance)
	}
	sum := int64(0)
	for _, x := range r.Windows {
		n := int64(0)
		for job, err := range w.set.Rows() {
			require.NoError(t, err)
			if job.Submit >= x.Begin && job.Submit < x.End {
				n++
			}
		}
		require.Equal(t, n, x.Jobs)
		sum += n
	}
	require.Greater(t, sum, int64(1500))
	require.Equal(t, 20, strings.Count(string(r.Markdown()), "| acceptance |"))
}
