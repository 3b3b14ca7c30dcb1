package tune

import (
	"bytes"
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
			out[i] = wholeOf(k, figures)
		}
		return out, nil
	}
}

// byWindow computes tasks by the figures of each window.
func byWindow(figures func(k *task.Task, s metric.Span) task.Figures) func(context.Context, []task.Task) ([]task.Result, error) {
	return func(_ context.Context, tasks []task.Task) ([]task.Result, error) {
		out := make([]task.Result, len(tasks))
		for i := range tasks {
			out[i] = wholeOf(tasks[i], func(s metric.Span) task.Figures { return figures(&tasks[i], s) })
		}
		return out, nil
	}
}

// wholeOf is a result of which each metric over all jobs is the mean over the parts.
func wholeOf(k task.Task, figures func(metric.Span) task.Figures) task.Result {
	r := task.Result{Task: k.ID()}
	for _, s := range k.Parts {
		r.Parts = append(r.Parts, figures(s))
	}
	for _, s := range k.Brief {
		r.Brief = append(r.Brief, figures(s))
	}
	all := slices.Concat(r.Parts, r.Brief)
	if len(all) == 0 {
		r.Figures = figures(metric.Span{})
		return r
	}
	means := map[string]float64{}
	for _, f := range all {
		for name, m := range f.Metrics {
			means[name] += *m.All / float64(len(all))
		}
	}
	r.Figures = valued(means)
	return r
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
	o.Windows, o.Trials, o.Replicas, o.Trajectories, o.Points = 40, 24, 6, 4, 0
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
	o.Evaluate = planted(0.15, 0.01)
	r := w.tune(t, o)
	require.Equal(t, Change, r.Verdict, r.Why)
	require.InDelta(t, 0.15, float64(r.Gain), 0.02)
	require.Less(t, float64(r.P), 0.001)
	f := r.about()
	require.InDelta(t, -0.15, float64(f.Lines[0].Relative.Estimate), 0.02)
	require.InDelta(t, -0.15, float64(f.Windows), 0.02)
	require.InDelta(t, -0.15, float64(f.Sums), 0.02)
	require.InDelta(t, 0.15, float64(f.Replicas.Mean), 0.02)
	require.Less(t, float64(f.Replicas.SD), 0.02)
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

// TestBatchIsASetting: another batch makes another search, of the same size.
func TestBatchIsASetting(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Evaluate, o.Trajectories, o.Batch = planted(0.15, 0.01), 0, 8
	r := w.tune(t, o)
	require.Equal(t, 8, r.Batch)
	require.Len(t, r.Search, o.Trials)
	require.Contains(t, markdown(t, r), "bayes, batches of 8")
}

func TestADifferenceBelowTheNoiseIsNoGain(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	for seed := range 2 {
		o := small()
		o.Evaluate, o.Seed, o.Replicas = planted(0.01, 0.05), uint64(seed+1), 10
		r := w.tune(t, o)
		require.NotEqual(t, Change, r.Verdict, "seed %d", seed)
		require.Empty(t, r.Profiles())
		require.Nil(t, r.Recommended)
		for _, f := range r.Finalists {
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
	require.Contains(t, markdown(t, r), "Change nothing here, whatever their value: weights.priority")
	require.Equal(t, 1, strings.Count(markdown(t, r), "## Which settings matter"))
	require.Equal(t, Change, r.Verdict)
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
		require.Equal(t, r.About, r.Around)
		require.NotEmpty(t, r.Slopes)
		require.Len(t, r.Joint, 1, "two settings matter")
		require.Len(t, r.Joint[0].Values, side)
		page := markdown(t, r)
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
		require.NotEqual(t, Change, r.Verdict, "noise %v", noise)
		require.Equal(t, Keep, r.Verdict, "noise %v", noise)
		require.Equal(t, noise > 0, len(r.Finalists) > 0, "the best of them, if one is better")
	}
	w = newWorld(t, 1500, 0.02, halves) // no job ever waits
	o := small()
	o.Evaluate = w.real(2)
	r := w.tune(t, o)
	require.Equal(t, Keep, r.Verdict)
	require.Equal(t, "Keep the current policy: the current policy", r.Title())
}

// In a real replay of short and long jobs an order by length is better than one
// by age, and weights of a factor that all jobs share do nothing.
func TestSmallWorld(t *testing.T) {
	w := newWorld(t, 8000, 0.75, "weights: {wait_time: 1, energy: 0.2}, backfill: easy")
	o := small()
	o.Trials, o.Trajectories = 8, 3
	var pages [][]byte
	for _, workers := range []int{1, 3} {
		o.Evaluate = w.real(workers)
		r := w.tune(t, o)
		require.Equal(t, Change, r.Verdict, "%s", markdown(t, r))
		require.Contains(t, inert(r), "weights.energy")
		require.Contains(t, inert(r), "weights.backlog")
		require.NotEmpty(t, r.Losers)
		b, err := json.Marshal(r)
		require.NoError(t, err)
		pages = append(pages, b, []byte(markdown(t, r)))
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
	require.Equal(t, Change, r.Verdict, "%s", markdown(t, r))
	require.NotContains(t, r.About, "fcfs")
	require.Empty(t, r.Profiles())
	require.Equal(t, "order", r.Changes[0].Key)
	require.Equal(t, r.About, r.Recommended.Order+" with "+r.Recommended.Backfill)
	require.Equal(t, "Change to "+r.About, r.Title())
	require.Contains(t, namesOf(r.Tried), "ljf with easy")
}

func namesOf(tried []Tried) (out []string) {
	for i := range tried {
		out = append(out, tried[i].Name)
	}
	return out
}

func TestConstraintsAreKept(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Constraints = []search.Constraint{{Metric: "wait_max", Relation: search.AtMost, Value: 4000}}
	// More gain costs a longer wait: 4,000 s are reached half way.
	o.Evaluate = changed(planted(0.2, 0.005), func(k *task.Task, r *task.Result) {
		set(&r.Figures, "wait_max", 3000+5000*(partOf(k.Spec.Site)-0.5))
	})
	r := w.tune(t, o)
	require.Equal(t, Change, r.Verdict)
	p := r.Profiles()[0].Profile.Weights
	require.LessOrEqual(t, p.WaitTime/(p.WaitTime+p.FairShare), 0.7005)
	require.Contains(t, strings.Join(r.Summary(), "\n"), "Bound wait_max <= 01:06:40: kept (")
	require.True(t, r.Bounds[0].Kept)
	require.Negative(t, float64(r.Bounds[0].Beyond))
}

// Where everything that gains breaks its bound, the nearest is named.
func TestTheNearestIsNamed(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Constraints = []search.Constraint{{Metric: "wait_max", Relation: search.AtMost, Value: 4000}}
	o.Evaluate = changed(planted(0.2, 0.005), func(k *task.Task, r *task.Result) {
		if !bytes.Equal(k.Spec.Site, w.spec.Site) {
			set(&r.Figures, "wait_max", 97*86400+1000*partOf(k.Spec.Site))
		}
	})
	r := w.tune(t, o)
	require.Equal(t, Keep, r.Verdict, "%s", markdown(t, r))
	require.Zero(t, r.Tested)
	require.Contains(t, r.Why, "no candidate stays within its bounds. Of ")
	require.Contains(t, r.Why, "that gain as much and break a bound, "+r.About+" comes nearest (bounded_slowdown_mean -")
	require.Contains(t, r.Why, "and <= 01:06:40 was to hold")
	require.Contains(t, r.Summary()[0], "stays within its bounds", "it is said first")
	require.False(t, r.Bounds[0].Kept)
	require.NotContains(t, strings.Join(r.Summary(), " "), ": kept")
	require.NotEmpty(t, r.about().Out)
}

// A gain on the log as it is that jittered arrivals do not show is none.
func TestReplicasMustShowTheGain(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Evaluate = changed(planted(0.2, 0.005), func(k *task.Task, r *task.Result) {
		if k.Jitter != nil {
			set(&r.Figures, "bounded_slowdown_mean", 12)
		}
	})
	r := w.tune(t, o)
	require.Equal(t, Unsure, r.Verdict, "%s", markdown(t, r))
	require.Contains(t, r.Why, "passes the test, and over 6 replicas with jittered arrivals it gains +0.0 % on average")
	require.Nil(t, r.Recommended)
}

// Candidates that jittered arrivals do not tell apart are equally good, and all of them
// are named.
func TestEqualsAreNamed(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Evaluate = byWindow(func(k *task.Task, s metric.Span) task.Figures {
		turn := draw.New(uint64(s.From), draw.StreamOf("turn"), 0, 0)
		gain := 0.0
		if slices.Contains([]string{"saf", "sjf"}, k.Spec.Order) {
			gain = 0.3 + 0.01*turn.Float64()
		}
		if k.Spec.Order == "saf" && k.Jitter != nil && k.Jitter.Seed%2 == 0 { // better and worse in turns
			gain += 0.01
		} else if k.Spec.Order == "saf" {
			gain -= 0.01
		}
		return valued(map[string]float64{"bounded_slowdown_mean": 10 * (1 - gain), "wait_max": 90000, "wait_mean": 600})
	})
	r, err := Run(context.Background(), w.plain(), o)
	require.NoError(t, err)
	require.Equal(t, Change, r.Verdict, "%s", markdown(t, r))
	require.Equal(t, "sjf with easy", r.About)
	require.Contains(t, r.Equal, "saf with easy")
	require.Contains(t, strings.Join(r.Summary(), "\n"), "Equally good, as far as jittered arrivals can tell: ")
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
	require.Equal(t, Change, r.Verdict, "%s", markdown(t, r))
	require.Len(t, r.Traces, 2)
	require.Equal(t, 80, r.Finalists[0].Lines[0].Windows)
	require.InDelta(t, 1, float64(r.Finalists[0].Lines[0].Now.Estimate), 1e-2, "a part of the current policy")
	require.InDelta(t, -0.1, float64(r.Finalists[0].Lines[0].Relative.Estimate), 0.03)
	require.Regexp(t, `a gain of \d+.* in bounded_slowdown_mean over 2 logs, -\d+\.\d % on `+r.Traces[0].Name, r.Trade(), "no levels: they are parts of those of each trace")
	require.Regexp(t, ` the longest wait on `+r.Traces[0].Name+` goes from`, r.Trade(), "figures name their trace")

	// On the second trace the bound breaks.
	o.Evaluate = changed(planted(0.1, 0.005), func(k *task.Task, r *task.Result) {
		if k.Window == nil && k.Spec.Trace == second.Trace && partOf(k.Spec.Site) > 0.5 {
			set(&r.Figures, "wait_max", 40*86400)
		}
	})
	r, err = Run(context.Background(), p, o)
	require.NoError(t, err)
	require.Equal(t, Keep, r.Verdict)
	require.Contains(t, r.Why, "wait_max is 40d00:00:00 on "+b.set.Name+", and")
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
		o.Trials, o.Trajectories = 12, 2
		o.Evaluate = planted(0.1, 0.01)
		require.NoError(t, o.check())
		tn := &tuner{ctx: context.Background(), problem: w.problem(), opt: o, known: map[key]*task.Result{}}
		for _, step := range []func() error{tn.start, tn.cut, tn.begin, tn.bounds, tn.tryKnown, tn.screen, tn.seek} {
			require.NoError(t, step(), profile)
		}
		require.Greater(t, len(tn.candidates), 8, profile)
		now := tn.base().cluster.VClusters[0].Profile.Inline
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
// stops after the windows of the sensitivity or goes on to the end of the trace.
func TestWindowsAreParts(t *testing.T) {
	w := newWorld(t, 3000, 0.9, halves)
	o := small()
	o.Evaluate = w.real(2)
	require.NoError(t, o.check())
	tn := &tuner{ctx: context.Background(), problem: w.plain(), opt: o, known: map[key]*task.Result{}}
	for _, step := range []func() error{tn.start, tn.cut, tn.begin, tn.bounds, tn.tryKnown} {
		require.NoError(t, step())
	}
	waited := false
	for _, c := range tn.candidates {
		require.NoError(t, tn.run(tn.on(c, screeningScope)))
		for _, i := range tn.screening {
			short, long := tn.figures(c, screeningScope, i, 0), tn.figures(c, wholeScope, i, 0)
			require.Equal(t, long.Fingerprint, short.Fingerprint, "%s, window %d", c.name, i)
			x, _ := short.Value("wait_mean", metric.Steady)
			waited = waited || x > 60
		}
	}
	require.True(t, waited)
}

// TestGroupObjective: a goal about a group of jobs is judged as others are, with replicas
// and noise.
func TestGroupObjective(t *testing.T) {
	w := newWorld(t, 3000, 0.9, halves)
	o := small()
	o.Evaluate, o.Trajectories, o.Points, o.Trials, o.Windows = w.real(2), 2, 16, 6, 30
	o.Objectives = []search.Objective{{Metric: "wait_mean of tenant red", Direction: search.Minimise}}
	r := w.tune(t, o)
	require.NotEmpty(t, r.Floors, "%s", markdown(t, r))
	require.NotEmpty(t, r.Sensitivity)
	require.NotEmpty(t, r.Finalists)
	for _, f := range r.Finalists {
		require.Greater(t, f.Lines[0].Runs, 2*f.Lines[0].Windows, "replicas are in it")
	}
}

// TestTooShort: a log that does not hold the windows that are needed is not replayed, and
// the report says what is missing.
func TestTooShort(t *testing.T) {
	w := newWorld(t, 599, 0.8, halves)
	o := small()
	o.Evaluate = func(context.Context, []task.Task) ([]task.Result, error) { panic("computed") }
	r := w.tune(t, o)
	require.Equal(t, Unsure, r.Verdict)
	require.Contains(t, r.Why, "has 599 jobs, and 20 windows of 30 jobs need 600: take a longer log")
	require.NotEmpty(t, r.Current)
	require.Contains(t, markdown(t, r), "need 600")
}

func TestRefusals(t *testing.T) {
	w := newWorld(t, 300, 0.8, halves)
	for text, spoil := range map[string]func(*Options){
		"there is no metric \"wait_p42\"":            func(o *Options) { o.Objectives = []search.Objective{{Metric: "wait_p42", Direction: search.Minimise}} },
		"measured over whole runs only":              func(o *Options) { o.Objectives = []search.Objective{{Metric: "goodput", Direction: search.Maximise}} },
		"a budget of 0 jobs":                         func(o *Options) { o.Budget = 0 },
		"0 points of the search":                     func(o *Options) { o.Trials = 0 },
		"batches of -1 points":                       func(o *Options) { o.Batch = -1 },
		"unknown method \"guess\"":                   func(o *Options) { o.Method = "guess" },
		"19 windows: give 20 to 200":                 func(o *Options) { o.Windows = 19 },
		"a least gain (--least-gain) of 100 %":       func(o *Options) { o.Margin = 1 },
		"no group worse (--no-group-worse) by -10 %": func(o *Options) { o.NoGroupWorse = -0.1 },
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

// Windows share no instant, hold equal numbers of jobs, and together all of them.
func TestWindows(t *testing.T) {
	w := newWorld(t, 3000, 0.8, halves)
	o := small()
	o.Evaluate, o.Windows = planted(0, 0), 80
	r := w.tune(t, o)
	require.Len(t, r.Windows, 80)
	first, last, _, err := w.set.Bounds()
	require.NoError(t, err)
	require.Equal(t, first, r.Windows[0].Begin)
	require.Equal(t, last+1, r.Windows[79].End)
	sum := int64(0)
	for i, x := range r.Windows {
		if i > 0 {
			require.Equal(t, r.Windows[i-1].End, x.Begin)
		}
		n := int64(0)
		for job, err := range w.set.Rows() {
			require.NoError(t, err)
			if job.Submit >= x.Begin && job.Submit < x.End {
				n++
			}
		}
		require.Equal(t, n, x.Jobs)
		require.InDelta(t, 3000/80, n, 3, "jobs of one submission stay together")
		sum += n
	}
	require.EqualValues(t, 3000, sum)
	require.EqualValues(t, 3000, r.Traces[0].Jobs)
	require.Len(t, newWorld(t, 1000, 0.8, halves).tune(t, o).Windows, 33, "of 30 jobs at least")

	together := []model.Time{0, 0, 0, 0, 0, 5, 6, 7}
	require.Equal(t, []Window{{Begin: 0, End: 5, Jobs: 5}, {Begin: 5, End: 6, Jobs: 1}, {Begin: 6, End: 7, Jobs: 1}, {Begin: 7, End: 8, Jobs: 1}}, counted(task.EqualJobs(together, 8), together))
	require.Equal(t, []Window{{Begin: 0, End: 8, Jobs: 8}}, counted(task.EqualJobs(together, 2), together), "half of them come at once")
	require.Empty(t, counted(task.EqualJobs(nil, 0), nil))
}
