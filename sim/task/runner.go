package task

import (
	"context"
	"fmt"
	"slices"

	"orrery/scheduler/model"
	"orrery/sim"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/traces"
	"orrery/traces/transform"
)

// Runner computes tasks. The traces that they replay are in memory once, whatever
// the number of workers.
type Runner struct{ traces variants }

// NewRunner makes a runner that gets traces by their content hash from load,
// once each; load may be nil where Add names them all. What tasks derive from a
// trace reads its rows anew: a Set that reads a file should be held
// (transform.Set.Hold).
func NewRunner(load func(hash string) (*transform.Set, error)) *Runner {
	return &Runner{variants{load: load, sets: map[string]*base{}, made: map[variant]*made{}, memory: map[string]model.Duration{}}}
}

// Add gives the runner a trace, and returns it as tasks without a window replay
// it: Info().Hash is what they name, and its tables are what specs are bound to
// (sim.Spec.Bind, by way of Open).
func (r *Runner) Add(s *transform.Set) (*traces.Memory, error) { return r.traces.add(s) }

// Trace is the trace that a task replays, derived from the one that its spec
// names.
func (r *Runner) Trace(ctx context.Context, t *Task) (*traces.Memory, error) {
	v, err := r.traces.variantOf(t)
	if err != nil {
		return nil, err
	}
	return r.traces.get(ctx, v)
}

// Run is the form in which sim/sweep takes work: the bytes of a task in, the bytes
// of its Result out.
type Run = func(ctx context.Context, task []byte) (result []byte, err error)

// Worker makes a Run with state of its own, that is reused from task to task: one
// goroutine may call it. Errors are the task's own, but those of reading a trace
// and that of ctx.
func (r *Runner) Worker() Run {
	w := r.worker()
	return func(ctx context.Context, spec []byte) ([]byte, error) {
		t, err := Parse(spec)
		if err != nil {
			return nil, err
		}
		res, err := w.run(ctx, &t, spec)
		if err != nil {
			return nil, err
		}
		return res.json(), nil
	}
}

// worker is what one goroutine computes tasks with.
type worker struct {
	from *Runner
	jobs sink
	prep *plan.Prepared // of the last spec; tasks of one spec come in a row
	// tally and rows are reused from run to run.
	tally tally
	rows  []int32 // of the steady window, by submission
}

func (r *Runner) worker() *worker { return &worker{from: r} }

// sink keeps the jobs of a run, which metrics are computed from, and no attempts.
type sink struct{ record.Memory }

// Attempt implements record.Sink.
func (*sink) Attempt(*model.AttemptRecord) {}

// prepare makes w.prep that of s.
func (w *worker) prepare(s plan.Spec) error {
	if w.prep != nil && w.prep.Of(s) {
		return nil
	}
	var err error
	w.prep, err = plan.Prepare(s)
	return err
}

// run computes t, of which spec is the text.
func (w *worker) run(ctx context.Context, t *Task, spec []byte) (*Result, error) {
	m, err := w.from.Trace(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := w.prepare(t.Spec); err != nil {
		return nil, err
	}
	if name := w.prep.CutsLoad(); name != "" && cutOf(t.Window).from > 0 {
		return nil, fmt.Errorf("the demand of the service %s is a part of the load table from its first sample on (from, length), and a window that begins later has another first sample: cut the trace by orrery trace transform, or measure windows without a lead", name)
	}
	w.jobs.Reset()
	w.jobs.Jobs.OfSite = len(t.Spec.Site) > 0
	prep := w.prep
	if t.Window != nil {
		prep = prep.Measuring(t.Replay().Measure)
	}
	res, err := sim.RunPrepared(ctx, prep, m.Open, sim.Options{Sink: &w.jobs, Parts: slices.Concat(t.Parts, t.Brief)})
	if err != nil {
		return nil, err
	}
	if res.State.Submitted == 0 {
		return nil, &traces.DataError{
			File: m.Info().Name, Found: fmt.Sprintf("%d rows, of which none can be replayed", m.Info().Rows),
			Expected: "jobs with a submission, a size and a runtime", Mend: "take another window",
		}
	}
	return w.measure(t, digest(spec), m, res)
}
