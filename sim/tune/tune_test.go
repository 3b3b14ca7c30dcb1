package tune

import (
	"bytes"
	"cmp"
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
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/search"
	"orrery/sim/sensitivity"
	"orrery/sim/stat"
	"orrery/sim/task"
	"orrery/sim/workerpool"
	"orrery/traces"
	"orrery/traces/transform"
)

// world is a small site with a log.
type world struct {
	set     *transform.Set
	spec    plan.Spec
	cluster *profiles.Cluster
	runner  *task.Runner
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
	w := world{set: set, runner: task.NewRunner(nil)}
	m, err := w.runner.Add(set)
	require.NoError(t, err)
	w.cluster, err = profiles.ParseCluster("test", []byte(`
agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}
groups: [{name: a, nodes: 16, fingerprint: x}]
tenants: [{name: red, fair_share: 0.5}, {name: blue, fair_share: 0.3}, {name: green, fair_share: 0.2}]
vclusters: [{name: all, home: all, profile: {`+profile+`}}]`))
	require.NoError(t, err)
	w.spec = plan.DefaultSpec()
	w.spec.Site = w.cluster.JSON()
	src, err := m.Open()
	require.NoError(t, err)
	w.spec, err = w.spec.Bind(src.(plan.Tables))
	require.NoError(t, err)
	return w
}

// real computes tasks by replays.
func (w world) real(workers int) func(context.Context, []task.Task) ([]task.Result, error) {
	return func(ctx context.Context, tasks []task.Task) ([]task.Result, error) {
		out := make([]task.Result, len(tasks))
		_, err := workerpool.Each(ctx, len(tasks), workers, nil, func() func(context.Context, int) error {
			run := w.runner.Worker()
			return func(ctx context.Context, i int) error {
				text, err := run(ctx, tasks[i].JSON())
				if err == nil {
					out[i], err = task.ParseResult(text)
				}
				return err
			}
		})
		return out, err
	}
}

// planted computes tasks by a formula: the metric falls by gain as wait_time grows
// from half to 0.9 of what it and fair_share weigh together, and nothing else
// counts. Every run is off by a draw of its own, of the size noise.
func planted(gain, noise float64) func(context.Context, []task.Task) ([]task.Result, error) {
	return formula(noise, func(part float64) float64 { return 1 - gain*(1-math.Abs(part-0.9)/0.4) })
}

// formula computes tasks by a factor that hangs on the part of wait_time.
func formula(noise float64, factor func(part float64) float64) func(context.Context, []task.Task) ([]task.Result, error) {
	return func(_ context.Context, tasks []task.Task) ([]task.Result, error) {
		out := make([]task.Result, len(tasks))
		for i, k := range tasks {
			f := factor(partOf(k.Spec.Site))
			id, _ := hex.DecodeString(k.ID())
			figures := func(s metric.Span) task.Figures {
				level := draw.New(uint64(s.From), draw.StreamOf("level"), 0, 0)
				jitter := draw.New(binary.LittleEndian.Uint64(id), draw.StreamOf("jitter"), uint64(s.From), uint64(s.To))
				value := (10 + 5*level.Float64()) * f * (1 + noise*(jitter.Float64()+jitter.Float64()+jitter.Float64()-1.5)*2)
				return valued(map[string]float64{"bounded_slowdown_mean": value, "wait_max": 3600, "wait_mean": 60 * value})
			}
			out[i] = task.Result{Task: k.ID(), Figures: figures(metric.Span{})}
			for _, s := range k.Parts {
				out[i].Parts = append(out[i].Parts, figures(s))
			}
			for _, s := range k.Brief {
				out[i].Brief = append(out[i].Brief, figures(s))
			}
		}
		return out, nil
	}
}

// valued are figures with some metrics, each over 100 jobs.
func valued(values map[string]float64) task.Figures {
	f := task.Figures{Verdict: metric.Stable, GroupsOf: metric.Steady, Metrics: map[string]task.Metric{}}
	for name, x := range values {
		f.Metrics[name] = task.Metric{All: &x, Steady: &x, CountAll: 100, CountSteady: 100}
	}
	return f
}

// changed is what computes with its results changed, by task.
func changed(evaluate func(context.Context, []task.Task) ([]task.Result, error), change func(k *task.Task, r *task.Result)) func(context.Context, []task.Task) ([]task.Result, error) {
	return func(ctx context.Context, tasks []task.Task) ([]task.Result, error) {
		out, err := evaluate(ctx, tasks)
		for i := range out {
			change(&tasks[i], &out[i])
		}
		return out, err
	}
}

// set changes a metric of figures.
func set(f *task.Figures, name string, x float64) {
	f.Metrics[name] = task.Metric{All: &x, Steady: &x, CountAll: 100, CountSteady: 100}
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

func (w world) problem() Problem {
	return Problem{Traces: []Trace{{Set: w.set, Spec: w.spec}}, Cluster: w.cluster}
}

// plain is the log on a machine without a profile.
func (w world) plain() Problem {
	spec := plan.DefaultSpec()
	spec.Cluster.Procs, spec.Trace = nodes, w.spec.Trace
	return Problem{Traces: []Trace{{Set: w.set, Spec: spec}}}
}

func small() Options {
	o := Defaults()
	o.Budget, o.Replicas, o.Trajectories, o.Points = 24, 6, 4, 0
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

// inert are the settings that move no objective by more than the noise.
func inert(r *Report) []string {
	idle, withinNoise := r.inertSettings()
	return append(idle, withinNoise...)
}

// TestRaceSavesRuns: by halving, which is the default, two thirds of the candidates are
// eliminated after half of the windows, by ranks as many as differ by more than the noise;
// the one that is chosen does not.
func TestRaceSavesRuns(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	for _, rule := range []search.Rule{"", search.Friedman} {
		o := small()
		o.Evaluate, o.Race = planted(0.3, 0.02), rule
		r := w.tune(t, o)
		require.Equal(t, cmp.Or(rule, search.Halving), r.Race)
		require.Equal(t, bayesBatch, r.Batch)
		early := 0
		for _, d := range r.Dropped {
			require.NotEqual(t, r.Chosen, d.Name)
			if d.Windows == 5 {
				early++
			}
		}
		t.Logf("%s: %d of %d leave early", r.Race, early, len(r.Tried))
		require.GreaterOrEqual(t, 3*early, 2*(len(r.Tried)-1))
		require.Equal(t, Change, r.Decision, r.Why)
	}
}

// TestBatchIsASetting: another batch makes another search, of the same size.
func TestBatchIsASetting(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Evaluate, o.Trajectories, o.Batch = planted(0.05, 0.01), 0, 8
	r := w.tune(t, o)
	require.Equal(t, 8, r.Batch)
	require.Len(t, r.Search, o.Budget)
	require.Contains(t, string(r.Markdown()), "bayes, batches of 8")
}

// TestHalving: a race in which most must leave runs fewer windows and says so.
func TestHalving(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Evaluate = planted(0.05, 0.01)
	o.Race = search.Halving
	r := w.tune(t, o)
	require.Equal(t, Change, r.Decision, r.Why)
	require.Equal(t, search.Halving, r.Race)
	require.Len(t, r.Dropped, len(r.Tried)-(len(r.Tried)+2)/3, "a third is left")
	require.Contains(t, string(r.Markdown()), "eliminated early")
}

func TestADifferenceBelowTheNoiseIsNoGain(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	for seed := range 2 {
		o := small()
		o.Evaluate, o.Seed, o.Replicas = planted(0.01, 0.05), uint64(seed+1), 10
		r := w.tune(t, o)
		require.NotEqual(t, Change, r.Decision, "seed %d", seed)
		require.Empty(t, r.Profiles())
		for _, f := range r.Finalists {
			require.NotEqual(t, stat.Better, f.Lines[0].Verdict)
			require.Greater(t, float64(f.Lines[0].Noise), 0.3, "most of the variance is that of the jitter")
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
		require.Contains(t, inert(r), name)
		require.NotContains(t, r.Settings, name, "what does nothing is not searched")
	}
	require.Contains(t, string(r.Markdown()), "Change nothing here, whatever their value: weights.priority")
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

// TestSecondLook: a setting whose effect repeats with the step of the screening, which
// therefore sees none of it, is searched all the same.
func TestSecondLook(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	waves := map[string]float64{}
	o.Evaluate = changed(planted(0.3, 0), func(k *task.Task, r *task.Result) {
		wave, ok := waves[string(k.Spec.Site)]
		if !ok {
			c, err := profiles.ParseCluster("", k.Spec.Site)
			require.NoError(t, err)
			low, high := float64(5*model.Minute), float64(7*model.Day)
			u := math.Log(float64(c.VClusters[0].Profile.Inline.ReferenceWait)/low) / math.Log(high/low)
			if _, phase := math.Modf(1.5*u + 0.1); phase > 0.25 && phase < 0.75 {
				wave = 0.5
			}
			waves[string(k.Spec.Site)] = wave
		}
		for _, f := range [][]task.Figures{{r.Figures}, r.Parts, r.Brief} {
			for i := range f {
				set(&f[i], "bounded_slowdown_mean", *f[i].Metrics["bounded_slowdown_mean"].All*(1+wave))
			}
		}
	})
	r := w.tune(t, o)
	for _, p := range r.Sensitivity[0].Parts {
		if p.Setting == "reference_wait" {
			require.Zero(t, p.Change.High, "the screening sees nothing")
			require.Equal(t, sensitivity.Unclear, p.Influence)
		}
	}
	require.Contains(t, r.Settings, "reference_wait")
	require.NotContains(t, r.Settings, "weights.energy")
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
	w = newWorld(t, 1500, 0.02, halves) // no job ever waits
	o := small()
	o.Evaluate = w.real(2)
	r := w.tune(t, o)
	require.Equal(t, Keep, r.Decision)
	require.Equal(t, "Keep the current policy: the current policy", r.Title())
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
		require.Contains(t, inert(r), "weights.energy")
		require.Contains(t, inert(r), "weights.backlog")
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
	o := small()
	o.Evaluate = w.real(2)
	r, err := Run(context.Background(), w.plain(), o)
	require.NoError(t, err)
	require.Equal(t, Change, r.Decision, "%s", r.Markdown())
	require.NotContains(t, r.Chosen, "fcfs")
	require.Empty(t, r.Profiles())
	require.Equal(t, "order", r.Changes[0].Key)
}

func TestConstraintsAreKept(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Constraints = []search.Constraint{{Metric: "wait_max", Relation: search.AtMost, Value: 4000}}
	// More gain costs a longer wait: 4,000 s are reached half way.
	o.Evaluate = changed(planted(0.2, 0.005), func(k *task.Task, r *task.Result) {
		longest := 3000 + 5000*(partOf(k.Spec.Site)-0.5)
		set(&r.Figures, "wait_max", longest)
		for i := range r.Parts {
			set(&r.Parts[i], "wait_max", longest)
		}
	})
	r := w.tune(t, o)
	require.Equal(t, Change, r.Decision)
	p := r.Profiles()[0].Profile.Weights
	require.LessOrEqual(t, p.WaitTime/(p.WaitTime+p.FairShare), 0.7005)
	require.Contains(t, strings.Join(r.Summary(), "\n"), "Bound wait_max <= 01:06:40: kept on the whole trace")
}

// What keeps its bound in every window, and breaks it when the whole trace is
// replayed, is not recommended, and "kept" is not said of it.
func TestTheWholeTraceDecidesAboutBounds(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Constraints = []search.Constraint{{Metric: "wait_max", Relation: search.AtMost, Value: 4000}}
	spoilt := func(limit float64) func(k *task.Task, r *task.Result) {
		return func(k *task.Task, r *task.Result) {
			if k.Window == nil && partOf(k.Spec.Site) > limit {
				set(&r.Figures, "wait_max", 97*86400)
			}
		}
	}
	o.Evaluate = changed(planted(0.2, 0.005), spoilt(0.7))
	r := w.tune(t, o)
	require.Equal(t, Change, r.Decision, "%s", r.Markdown())
	p := r.Profiles()[0].Profile.Weights
	require.LessOrEqual(t, p.WaitTime/(p.WaitTime+p.FairShare), 0.7)
	require.Contains(t, r.Finalists[0].Broken, "wait_max is 97d00:00:00 on the whole trace, and <= 01:06:40 was to hold")
	require.Contains(t, string(r.Markdown()), "| whole trace | 01:06:40 | 01:00:00 | 97d00:00:00 |")

	o.Evaluate = changed(planted(0.2, 0.005), func(k *task.Task, r *task.Result) { // all candidates
		if k.Window == nil && !bytes.Equal(k.Spec.Site, w.spec.Site) {
			set(&r.Figures, "wait_max", 97*86400)
		}
	})
	r = w.tune(t, o)
	require.Equal(t, Keep, r.Decision, "%s", r.Markdown())
	require.Contains(t, r.Why, "no candidate that is better on the tuning windows keeps its bounds on the whole trace")
	require.Contains(t, r.Summary()[0], "keeps its bounds on the whole trace", "it is said first")
	require.NotContains(t, strings.Join(r.Summary(), " "), "kept on the whole trace")

	// The same where no candidate keeps it on the tuning windows.
	o.Evaluate = changed(planted(0.2, 0.005), func(k *task.Task, r *task.Result) {
		for i := range r.Parts {
			if !bytes.Equal(k.Spec.Site, w.spec.Site) {
				set(&r.Parts[i], "wait_max", 5000)
			}
		}
	})
	r = w.tune(t, o)
	require.Equal(t, Keep, r.Decision)
	require.Contains(t, r.Why, "no candidate with a better bounded_slowdown_mean keeps the bounds on the tuning windows")
	require.Contains(t, r.Why, "wait_max comes to 01:23:20, and <= 01:06:40 is to hold")
}

// What is better on the windows and worse from end to end is not recommended.
func TestTheWholeTraceDecidesAboutTheGain(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Evaluate = changed(planted(0.2, 0.005), func(k *task.Task, r *task.Result) {
		if k.Window == nil && partOf(k.Spec.Site) > 0.5 {
			set(&r.Figures, "bounded_slowdown_mean", 100)
		}
	})
	r := w.tune(t, o)
	require.Equal(t, Unsure, r.Decision)
	require.Contains(t, r.Why, "the replay of the whole trace says otherwise")
}

// Where two candidates are as good, and which is best hangs on the windows, both are
// named, and the one with the shorter longest wait comes first.
func TestEqualsAreNamed(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	p := w.plain()
	// saf and sjf gain in turns by window, with the same mean.
	o.Evaluate = func(_ context.Context, tasks []task.Task) ([]task.Result, error) {
		out := make([]task.Result, len(tasks))
		for i, k := range tasks {
			figures := func(s metric.Span) task.Figures {
				odd := draw.New(uint64(s.From), draw.StreamOf("turn"), 0, 0)
				gain, longest := 0.0, 86400.0
				switch turn := odd.Float64() - 0.5; k.Spec.Order {
				case "saf":
					gain, longest = 0.3+0.02*turn, 90000
				case "sjf":
					gain, longest = 0.3-0.02*turn, 88000
				}
				return valued(map[string]float64{"bounded_slowdown_mean": 10 * (1 - gain), "wait_max": longest, "wait_mean": 600})
			}
			out[i] = task.Result{Task: k.ID(), Figures: figures(metric.Span{})}
			for _, s := range k.Parts {
				out[i].Parts = append(out[i].Parts, figures(s))
			}
			for _, s := range k.Brief {
				out[i].Brief = append(out[i].Brief, figures(s))
			}
		}
		return out, nil
	}
	r, err := Run(context.Background(), p, o)
	require.NoError(t, err)
	require.Equal(t, Change, r.Decision, "%s", r.Markdown())
	require.Len(t, r.Equal, 2)
	require.Contains(t, r.Chosen, "sjf", "the longest wait under it is shorter")
	require.Equal(t, "Leave fcfs with easy: "+r.Equal[0]+" and "+r.Equal[1]+" are equally good", r.Title())
	require.Contains(t, strings.Join(r.Summary(), "\n"), "Decided again over")
}

// A gain that most repetitions do not find is none.
func TestAnUnstableGainIsNotClaimed(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Evaluate = changed(planted(0.05, 0.002), func(k *task.Task, r *task.Result) {
		for i := range r.Brief { // replicas, and other windows: no gain
			if k.Jitter == nil && i >= 0 || k.Jitter != nil && i >= 30 {
				set(&r.Brief[i], "bounded_slowdown_mean", 12)
			}
		}
	})
	r := w.tune(t, o)
	require.Equal(t, Unsure, r.Decision, "%s", r.Markdown())
	require.Contains(t, r.Why, "repetitions over other windows and replicas no candidate is")
}

// The recommendation for several traces holds on each of them.
func TestSeveralTraces(t *testing.T) {
	a, b := newWorld(t, 3000, 0.8, halves), newWorld(t, 2500, 0.8, halves)
	p := a.problem()
	second := b.spec
	p.Traces = append(p.Traces, Trace{Set: b.set, Spec: second})
	o := small()
	o.Evaluate = planted(0.1, 0.005)
	r, err := Run(context.Background(), p, o)
	require.NoError(t, err)
	require.Equal(t, Change, r.Decision, "%s", r.Markdown())
	require.Len(t, r.Traces, 2)
	require.Equal(t, 40, r.Finalists[0].Lines[0].Windows)
	require.InDelta(t, 1, float64(r.Finalists[0].Lines[0].Now.Estimate), 1e-2, "a part of the current policy")
	require.InDelta(t, -0.1, float64(r.Finalists[0].Lines[0].Relative.Estimate), 0.03)
	require.Regexp(t, `bounded_slowdown_mean -\d+\.\d % on 40 acceptance windows`, r.Trade(), "no levels: they are parts of those of each trace")
	require.Regexp(t, ` from end to end on `+r.Traces[0].Name+`;.* the longest wait on `+r.Traces[0].Name+` goes from`, r.Trade(), "figures name their trace")

	// On the second trace the bound breaks.
	o.Evaluate = changed(planted(0.1, 0.005), func(k *task.Task, r *task.Result) {
		if k.Window == nil && k.Spec.Trace == second.Trace && partOf(k.Spec.Site) > 0.5 {
			set(&r.Figures, "wait_max", 40*86400)
		}
	})
	r, err = Run(context.Background(), p, o)
	require.NoError(t, err)
	require.Equal(t, Keep, r.Decision)
	require.Contains(t, r.Why, "wait_max is 40d00:00:00 on the whole trace")
}

// TestNothingElseIsRewritten: candidates differ from the current policy in what is
// said to be searched, in the order of the queue, and in keys that a new order makes
// idle; never in preemption, cycle, mode or accounting.
func TestNothingElseIsRewritten(t *testing.T) {
	for _, profile := range []string{
		halves + ", cycle: 45s, phase: 5s, accounting_tick: 10m, preemption: {enabled: true, max_victims: 2, timeout: 20m}, min_score: 0.01, selection: conformance-first",
		"order: fcfs, backfill: conservative, depth: 30, bf_interval: 30s, cycle: 1m, preemption: {enabled: true, rule: banded}",
		"order: multifactor, multifactor: {age: 1000, fairshare: 500, half_life: 3d}, cycle: 30s, bf_window: 2d, backfill: conservative",
		"mode: as-coded, cycle: 20s, weights: {wait_time: 2, fair_share: 1}",
	} {
		w := newWorld(t, 2500, 0.7, profile)
		o := small()
		o.Budget, o.Trajectories = 12, 2
		o.Evaluate = planted(0.1, 0.01)
		require.NoError(t, o.check())
		tn := &tuner{ctx: context.Background(), problem: w.problem(), opt: o, known: map[key]*task.Result{}}
		for _, step := range []func() error{tn.start, tn.cut, tn.begin, tn.bounds, tn.tryKnown, tn.screen, tn.seek, tn.race} {
			require.NoError(t, step(), profile)
		}
		require.Greater(t, len(tn.candidates), 8, profile)
		now := tn.base().cluster.VClusters[0].Profile.Inline
		for _, h := range tn.history {
			tn.add(h.from)
		}
		for _, c := range tn.candidates[1:] {
			for _, d := range profiles.Diff(now, c.cluster.VClusters[0].Profile.Inline) {
				require.True(t, tn.mayChange(d.Key) || (d.After == "" || d.Before == "") && mayIdle(d.Key), "%s: %s changes %s from %q to %q", profile, c.name, d.Key, d.Before, d.After)
				require.NotContains(t, []string{"cycle", "phase", "mode"}, d.Key, "%s: %s", profile, c.name)
				require.False(t, strings.HasPrefix(d.Key, "preemption.") && d.Key != "preemption.max_victims", "%s: %s changes %s", profile, c.name, d.Key)
			}
		}
	}
}

// mayIdle says whether a key has no effect under some order or way to backfill, so that
// it goes where these change.
func mayIdle(path string) bool {
	return slices.ContainsFunc([]string{
		"weights", "reference_wait", "min_score", "usage", "accounting_tick", "energy", "multifactor", // of orders by score and priority
		"depth", "bf_interval", "bf_window", "bf_resolution", "bf_max_job_test", "bf_max_job_user", // of conservative backfilling
	}, func(key string) bool { return path == key || strings.HasPrefix(path, key+".") })
}

// mayChange says whether a key is searched, or the order.
func (t *tuner) mayChange(path string) bool {
	return path == "order" || slices.ContainsFunc(t.out.Varied, func(text string) bool {
		name, _, _ := strings.Cut(text, " ")
		return path == name || strings.HasPrefix(path, name+".")
	})
}

// TestWindowsAreParts: a window measures the same under a candidate whether the run
// stops after the tuning windows or goes on to the end of the trace, and the jobs in
// it are in the backlog that the candidate has left.
func TestWindowsAreParts(t *testing.T) {
	w := newWorld(t, 3000, 0.9, halves)
	o := small()
	o.Evaluate = w.real(2)
	require.NoError(t, o.check())
	tn := &tuner{ctx: context.Background(), problem: w.plain(), opt: o, known: map[key]*task.Result{}}
	require.NoError(t, tn.start())
	require.NoError(t, tn.cut())
	require.NoError(t, tn.begin())
	require.NoError(t, tn.bounds())
	require.NoError(t, tn.tryKnown())
	waited := false
	for _, c := range tn.candidates {
		require.NoError(t, tn.run(append(tn.on(c, tuningScope), tn.on(c, wholeScope)...)))
		for _, i := range tn.tuning {
			short, long := tn.figures(c, tuningScope, i, 0), tn.figures(c, wholeScope, i, 0)
			require.Equal(t, long.Fingerprint, short.Fingerprint, "%s, window %d", c.name, i)
			x, _ := short.Value("wait_mean", metric.Steady)
			waited = waited || x > 60
		}
	}
	require.True(t, waited)
}

// TestGroupObjective: a goal about a group of jobs is judged as others are, with replicas,
// noise and repetitions.
func TestGroupObjective(t *testing.T) {
	w := newWorld(t, 3000, 0.9, halves)
	o := small()
	o.Evaluate, o.Trajectories, o.Points, o.Budget = w.real(2), 2, 16, 6
	o.Objectives = []search.Objective{{Metric: "wait_mean of tenant red", Direction: search.Minimise}}
	r := w.tune(t, o)
	require.NotEmpty(t, r.Floors, "%s", r.Markdown())
	require.NotEmpty(t, r.Sensitivity)
	for _, f := range r.Finalists {
		if len(f.Lines) > 0 {
			require.Greater(t, f.Lines[0].Runs, 2*f.Lines[0].Windows, "replicas are in it")
		}
	}
	if r.Decision == Change {
		require.NotEmpty(t, r.Again)
	}
}

// TestTooFewWindows: where too few windows hold jobs enough nothing is computed, and the
// report says what is missing.
func TestTooFewWindows(t *testing.T) {
	w := newWorld(t, 300, 0.8, halves)
	o := small()
	o.Tuning, o.Acceptance = 100, 200
	o.Evaluate = func(context.Context, []task.Task) ([]task.Result, error) { panic("computed") }
	r := w.tune(t, o)
	require.Equal(t, Unsure, r.Decision)
	require.Contains(t, r.Why, "windows to tune on and 0 to accept on count")
	require.NotEmpty(t, r.Current)
	require.Contains(t, string(r.Markdown()), "20 needed")
	o.Tuning = 10_000
	_, err := Run(context.Background(), w.problem(), o)
	require.ErrorContains(t, err, "give 10000 or fewer")
}

func TestRefusals(t *testing.T) {
	w := newWorld(t, 300, 0.8, halves)
	for text, spoil := range map[string]func(*Options){
		"there is no metric \"wait_p42\"":       func(o *Options) { o.Objectives = []search.Objective{{Metric: "wait_p42", Direction: search.Minimise}} },
		"measured over whole runs only":         func(o *Options) { o.Objectives = []search.Objective{{Metric: "goodput", Direction: search.Maximise}} },
		"a budget of 0 points":                  func(o *Options) { o.Budget = 0 },
		"batches of -1 points":                  func(o *Options) { o.Batch = -1 },
		"unknown method \"guess\"":              func(o *Options) { o.Method = "guess" },
		"windows of 365d00:00:00 do not fit":    func(o *Options) { o.Length = 365 * model.Day },
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
		require.Equal(t, x.Begin, r.Windows[i].End)
		require.Equal(t, i+1 >= 10, x.Set == ForAcceptance)
	}
	first, last, _, err := w.set.Bounds()
	require.NoError(t, err)
	require.Greater(t, r.Windows[0].Begin, first, "the beginning warms the cluster up")
	require.Less(t, r.Windows[29].End, last, "the load goes on behind the last")
	require.EqualValues(t, r.Windows[0].Begin.Sub(first), r.Traces[0].LeadUS)
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
	require.Greater(t, sum, int64(2500))
	require.Equal(t, 20, strings.Count(string(r.Markdown()), "| acceptance |"))
}
