package gate

import (
	"context"
	"fmt"

	"orrery/sim"
	"orrery/sim/crew"
	"orrery/sim/metric"
	"orrery/sim/task"
)

// outcome is a replay with what was measured on it.
type outcome struct {
	Replay
	task  task.Task
	table metric.Table
	own   own
}

// replay makes all replays with so many workers. The outcomes are by index,
// whoever made them.
func (p *plan) replay(ctx context.Context, o Options) ([]outcome, error) {
	out := make([]outcome, len(p.tasks))
	tell := func(done int) {
		if o.Progress != nil {
			o.Progress(done, len(p.tasks))
		}
	}
	failed, err := crew.Each(ctx, len(p.tasks), o.Workers, tell, func() func(context.Context, int) error {
		w := &watcher{}
		return func(ctx context.Context, i int) (err error) {
			out[i], err = p.one(ctx, w, i)
			return err
		}
	})
	if failed >= 0 {
		r := &p.replays[failed]
		err = fmt.Errorf("run %s, window %d, seed %d: %w", r.Run, r.Window, r.Seed, err)
	}
	return out, err
}

// one makes replay i.
func (p *plan) one(ctx context.Context, w *watcher, i int) (outcome, error) {
	t := &p.tasks[i]
	out := outcome{Replay: p.replays[i], task: *t}
	m, err := p.runner.Trace(ctx, t)
	if err != nil {
		return out, err
	}
	w.reset(len(t.Spec.Site) > 0)
	res, err := sim.Run(ctx, t.Replay(), m.Open, sim.Options{Sink: w})
	if err != nil {
		return out, err
	}
	if out.table, err = metric.Compute(&w.Memory, res.Series); err != nil {
		return out, err
	}
	out.Fingerprint, out.Verdict, out.Work = res.Fingerprint, string(out.table.Verdict), res.Work
	out.Submitted = res.State.Submitted
	out.own = w.measure(res)
	return out, nil
}
