package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/task"
	"orrery/traces/transform"
)

// Replay is one replay of a run.
type Replay struct {
	Run    string `json:"run"`
	Window int    `json:"window"` // the first of its windows; streams of jobs have windows of their own for each seed
	Seed   uint64 `json:"seed"`
	// Replica says that the gate chose the seed, for paired checks; other checks are
	// not about it.
	Replica bool   `json:"replica,omitempty"`
	Task    string `json:"task"` // its id
	Spec    string `json:"spec"` // the id of its spec
	Jobs    string `json:"jobs"` // that it meets: the content hash of the trace, the jitter
	// Parts are its windows, in words; "" is one window, the whole.
	Parts string `json:"windows,omitempty"`
	// What came out.
	Unheeded    []string `json:"unheeded,omitempty"` // what jobs requested and the replay left unmet
	Fingerprint string   `json:"fingerprint"`
	Verdict     string   `json:"queue"` // on the queue, as in metrics.json
	Submitted   int64    `json:"submitted"`
	Work        sim.Work `json:"work"`
}

// gatePlan is everything that may be replayed.
type gatePlan struct {
	runner *task.Runner
	runs   []planned // as in the file
}

// planned is a run, ready to be replayed.
type planned struct {
	run   *profiles.GateRun
	site  bool
	parts int          // windows of a replay
	own   []errand     // with the seeds that the file states
	trace *replication // nil of streams of jobs
	// measures are those of paired checks about the run.
	measures []profiles.Measure
}

// errand is a replay to be made.
type errand struct {
	Replay
	task     task.Task
	division division
	measures []profiles.Measure
}

// replication makes replicas of a run on a trace.
type replication struct {
	spec plan.Spec // bound
	division
	jitter  model.Duration
	without string // what its scenario leaves out, in a line; "" for nothing
}

// division says where the windows of a run begin and end.
type division struct {
	spans []metric.Span // none of a run that is one window
	small []bool        // with too few jobs to say anything
	// idle is how long before the first window the trace begins, where that is on an
	// idle cluster and shorter than a window; 0 otherwise.
	idle model.Duration
}

// usualJitter is by how much arrivals of replicas move at most where the run does not
// say it: those of users who press a key a little later.
const usualJitter = model.Minute

// prepare opens the traces and clusters, and binds them to each other.
func prepare(ctx context.Context, g *profiles.Gate, files Files) (*gatePlan, error) {
	if err := Check(g); err != nil {
		return nil, err
	}
	p := &gatePlan{runner: task.NewRunner(nil)}
	for i := range g.Runs {
		if err := p.run(ctx, g, i, files); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// run plans the replays of one run.
func (p *gatePlan) run(ctx context.Context, g *profiles.Gate, i int, files Files) error {
	r, at := &g.Runs[i], fmt.Sprintf("runs[%d]", i)
	spec := plan.DefaultSpec()
	spec.SetWarmup(r.Warmup)
	spec.Cooldown, spec.Feedback, spec.AllowUnheeded = r.Cooldown, r.Feedback, r.AllowUnheeded
	var site *profiles.Cluster
	if r.Cluster != "" {
		var err error
		if site, err = files.Cluster(r.Cluster, r.Profile); err != nil {
			return located(g, at+".cluster", err)
		}
		spec.Site = site.JSON()
	} else {
		spec.Cluster.Procs, spec.Order, spec.Backfill = r.Procs, r.Order, r.Backfill
	}
	asked, err := scenarioOf(g, i, files)
	if err != nil {
		return err
	}
	spec.Scenario = asked.JSON()
	out := planned{run: r, site: site != nil, parts: 1, measures: pairedMeasures(g, r.Name)}
	if len(out.measures) > 0 {
		out.parts = r.Parts()
	}
	seeds := r.Seeds
	if len(seeds) == 0 {
		seeds = []int64{1}
	}
	var set *transform.Set
	var divided division
	for k, seed := range seeds {
		if set == nil || r.Trace == "" {
			var err error
			if set, err = p.workload(ctx, g, i, files, uint64(seed)); err != nil {
				return err
			}
			if divided, err = divide(set, r, out.parts); err != nil {
				return g.Wrong(at+".windows", "%v", err)
			}
		}
		first := 0
		if r.Trace == "" {
			first = k * out.parts
		}
		if site != nil {
			spec.Seed = uint64(seed)
		}
		bound, err := p.bind(g, at, set, site, asked, spec)
		if err != nil {
			return err
		}
		from := replication{bound, divided, r.Jitter, asked.without()}
		out.own = append(out.own, from.errand(r, out.measures, first, uint64(seed)))
		if r.Trace != "" && len(r.Seeds) == 0 && len(out.measures) > 0 {
			from.jitter = cmp.Or(r.Jitter, usualJitter)
			out.trace = &from
		}
	}
	p.runs = append(p.runs, out)
	return nil
}

// workload is the trace of a run, or what its streams of jobs make with a seed.
func (p *gatePlan) workload(ctx context.Context, g *profiles.Gate, i int, files Files, seed uint64) (*transform.Set, error) {
	r := &g.Runs[i]
	if r.Trace == "" {
		return workload(seedName(r.Name, seed), r.Jobs, seed)
	}
	set, err := files.Trace(ctx, r.Trace)
	if err == nil {
		set, err = set.Hold()
	}
	if err != nil {
		return nil, located(g, fmt.Sprintf("runs[%d].trace", i), err)
	}
	return set, nil
}

// located tells an error by the place of the key that led to it, unless it names
// a place itself, or is none of the file.
func located(g *profiles.Gate, at string, err error) error {
	var own *profiles.Error
	if errors.As(err, &own) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w\n%w", g.Wrong(at, "cannot be used"), err)
}

// bind gives the runner a trace, and binds a spec to it.
func (p *gatePlan) bind(g *profiles.Gate, at string, set *transform.Set, site *profiles.Cluster, asked asked, spec plan.Spec) (plan.Spec, error) {
	m, err := p.runner.Add(set)
	if err != nil {
		return spec, err
	}
	src, err := m.Open()
	if err != nil {
		return spec, err
	}
	defer src.Close()
	if spec, err = spec.Bind(src); err != nil {
		err = asked.located(err)
		if site != nil {
			err = site.Locate(err)
		}
		return spec, located(g, at, err)
	}
	return spec, nil
}

// divide places the windows of a run.
func divide(set *transform.Set, r *profiles.GateRun, parts int) (out division, err error) {
	if parts == 1 {
		return division{small: []bool{false}}, nil
	}
	if out.spans, err = task.Divide(set, parts, r.Windows.Length); err != nil {
		return out, err
	}
	jobs, err := task.Submitted(set, out.spans)
	if err != nil {
		return out, err
	}
	for _, n := range jobs {
		out.small = append(out.small, n < task.LeastJobs)
	}
	first, _, _, err := set.Bounds()
	if lead, w := out.spans[0].From.Sub(first), out.spans[0]; r.Trace != "" && !set.Meta.WarmStart.OK && lead < w.To.Sub(w.From) {
		out.idle = max(lead, 1)
	}
	return out, err
}

// errand is the replay with a seed.
func (from *replication) errand(r *profiles.GateRun, measures []profiles.Measure, first int, seed uint64) errand {
	t := task.Task{Spec: from.spec, Parts: from.spans}
	if from.jitter > 0 {
		t.Jitter = &task.Jitter{By: from.jitter, Seed: seed}
	}
	return errand{
		Replay: Replay{Run: r.Name, Window: first, Seed: seed, Task: t.ID(), Spec: t.Spec.ID(), Jobs: meets(&t) + from.without, Parts: partsOf(&t)},
		task:   t, division: from.division, measures: measures,
	}
}

// replica is the replay of a run with a seed that the gate chose, from 1. Seeds of
// replicas come behind that of the run itself, which is 1.
func (p *planned) replica(k int) errand {
	from := *p.trace
	seed := uint64(k + 1)
	if p.site {
		from.spec.Seed = seed
	}
	out := from.errand(p.run, p.measures, 0, seed)
	out.Replica = true
	return out
}

// meets says in a line which jobs a task meets.
func meets(t *task.Task) string {
	out := t.Spec.Trace
	if s := t.Jitter; s != nil {
		out += fmt.Sprintf(" jittered by %s with seed %d", s.By, s.Seed)
	}
	return out
}

// partsOf says in a line which windows a task has.
func partsOf(t *task.Task) string {
	n := len(t.Parts)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s from %s", n, t.Parts[0].To.Sub(t.Parts[0].From), t.Parts[0].From)
}

// pairedMeasures are those of the paired checks that a run is a side of, each once.
func pairedMeasures(g *profiles.Gate, run string) []profiles.Measure {
	var out []profiles.Measure
	for i := range g.Paired {
		p := &g.Paired[i]
		if (p.Run == run || p.Against == run) && !slices.Contains(out, p.Of) {
			out = append(out, p.Of)
		}
	}
	return out
}
