package gate

import (
	"context"
	"errors"
	"fmt"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim"
	"orrery/sim/task"
	"orrery/traces/transform"
)

// Replay is one replay of a run.
type Replay struct {
	Run    string `json:"run"`
	Window int    `json:"window"` // from 0; streams of jobs have windows of their own for each seed
	Seed   uint64 `json:"seed"`
	Task   string `json:"task"` // its id
	Spec   string `json:"spec"` // the id of its spec
	Jobs   string `json:"jobs"` // that it meets: the content hash of the trace, the window, the shaking
	// What came out.
	Fingerprint string   `json:"fingerprint"`
	Verdict     string   `json:"queue"` // on the queue, as in metrics.json
	Submitted   int64    `json:"submitted"`
	Work        sim.Work `json:"work"`
}

// plan is everything that is to be replayed.
type plan struct {
	runner  *task.Runner
	replays []Replay
	tasks   []task.Task
}

// prepare opens the traces and clusters, and binds them to each other.
func prepare(ctx context.Context, g *profiles.Gate, files Files) (*plan, error) {
	if err := Check(g); err != nil {
		return nil, err
	}
	p := &plan{runner: task.NewRunner(nil)}
	for i := range g.Runs {
		if err := p.run(ctx, g, i, files); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// run adds the replays of one run.
func (p *plan) run(ctx context.Context, g *profiles.Gate, i int, files Files) error {
	r, at := &g.Runs[i], fmt.Sprintf("runs[%d]", i)
	spec := sim.DefaultSpec()
	spec.Warmup, spec.Cooldown, spec.Feedback = r.Warmup, r.Cooldown, r.Feedback
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
	seeds := r.Seeds
	if len(seeds) == 0 {
		seeds = []int64{1}
	}
	var set *transform.Set
	for k, seed := range seeds {
		first := 0
		switch {
		case r.Trace == "":
			var err error
			if set, err = workload(seedName(r.Name, uint64(seed)), r.Jobs, uint64(seed)); err != nil {
				return err
			}
			first = k * max(int(r.Windows.Count), 1)
		case set == nil:
			read, err := files.Trace(ctx, r.Trace)
			if err == nil {
				read, err = read.Hold()
			}
			if err != nil {
				return located(g, at+".trace", err)
			}
			set = read
		}
		if site != nil {
			spec.Seed = uint64(seed)
		}
		if err := p.seed(g, r, at, set, site, spec, first, uint64(seed)); err != nil {
			return err
		}
	}
	return nil
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

// seed adds the replays of a run with one seed.
func (p *plan) seed(g *profiles.Gate, r *profiles.GateRun, at string, set *transform.Set, site *profiles.Cluster, spec sim.Spec, first int, seed uint64) error {
	m, err := p.runner.Add(set)
	if err != nil {
		return err
	}
	src, err := m.Open()
	if err != nil {
		return err
	}
	defer src.Close()
	if spec, err = spec.Bind(src); err != nil {
		if site != nil {
			err = site.Locate(err)
		}
		return located(g, at, err)
	}
	windows, err := cut(set, r.Windows)
	if err != nil {
		return g.Wrong(at+".windows", "%v", err)
	}
	for w, window := range windows {
		t := task.Task{Spec: spec, Window: window}
		if r.Shake > 0 {
			t.Shake = &task.Shake{By: r.Shake, Seed: seed}
		}
		p.tasks = append(p.tasks, t)
		p.replays = append(p.replays, Replay{Run: r.Name, Window: first + w, Seed: seed, Task: t.ID(), Spec: spec.ID(), Jobs: meets(&t)})
	}
	return nil
}

// cut is where windows begin and end; one nil stands for the whole trace.
func cut(set *transform.Set, w profiles.GateWindows) ([]*task.Window, error) {
	if w.Count == 0 {
		return []*task.Window{nil}, nil
	}
	spans, err := set.Spans(w.Length, int(w.Count))
	if err != nil {
		return nil, err
	}
	var out []*task.Window
	for _, s := range spans {
		out = append(out, &task.Window{Begin: s.Begin, End: s.End, Lead: new(model.Duration), Warm: w.Warm, Follow: sim.DefaultFollow})
	}
	return out, nil
}

// meets says in a line which jobs a task meets.
func meets(t *task.Task) string {
	out := t.Spec.Trace
	if w := t.Window; w != nil {
		out += fmt.Sprintf(" from %s to %s", w.Begin, w.End)
		if w.Warm {
			out += " warm"
		}
	}
	if s := t.Shake; s != nil {
		out += fmt.Sprintf(" jittered by %s with seed %d", s.By, s.Seed)
	}
	return out
}
