package gate

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"orrery/sim"
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
// whoever made them; of several errors the first by index is returned.
func (p *plan) replay(ctx context.Context, o Options) ([]outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out, errs := make([]outcome, len(p.tasks)), make([]error, len(p.tasks))
	next := make(chan int, len(p.tasks))
	for i := range p.tasks {
		next <- i
	}
	close(next)
	var told sync.Mutex
	done := 0
	var crew sync.WaitGroup
	for range min(max(o.Workers, 1), len(p.tasks)) {
		crew.Go(func() {
			w := &watcher{}
			for i := range next {
				if errs[i] = ctx.Err(); errs[i] != nil {
					return
				}
				if out[i], errs[i] = p.one(ctx, w, i); errs[i] != nil {
					cancel()
					return
				}
				if o.Progress != nil {
					told.Lock()
					done++
					o.Progress(done, len(p.tasks))
					told.Unlock()
				}
			}
		})
	}
	crew.Wait()
	return out, p.firstCause(errs)
}

// firstCause is the first error that is not only the echo of another one.
func (p *plan) firstCause(errs []error) error {
	var echo error
	for i, err := range errs {
		switch {
		case err == nil:
		case errors.Is(err, context.Canceled):
			echo = err
		default:
			r := &p.replays[i]
			return fmt.Errorf("run %s, window %d, seed %d: %w", r.Run, r.Window, r.Seed, err)
		}
	}
	return echo
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
	res, err := sim.Run(ctx, t.Spec, m.Open, sim.Options{Sink: w})
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
