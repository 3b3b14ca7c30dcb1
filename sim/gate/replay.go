package gate

import (
	"context"
	"fmt"
	"math"

	"orrery/sim"
	"orrery/sim/metric"
	"orrery/sim/workerpool"
)

// outcome is a replay with what was measured on it. A replica keeps no table: there
// may be many.
type outcome struct {
	Replay
	table metric.Table
	own   own
	// windows are the measures of paired checks, by name and window; NaN where one is
	// undefined or the window has too few jobs.
	windows map[string][]float64
	division
	wrong map[string]error // measures that the run does not have
}

// replay makes replays with so many workers. The outcomes are by index, whichever worker made
// them. done is how many were made before.
func (p *gatePlan) replay(ctx context.Context, jobs []errand, done int, o Options) ([]outcome, error) {
	out := make([]outcome, len(jobs))
	tell := func(now int) {
		if o.Progress != nil {
			o.Progress(done+now, done+len(jobs))
		}
	}
	failed, err := workerpool.Each(ctx, len(jobs), o.Workers, tell, func() func(context.Context, int) error {
		w := &watcher{}
		return func(ctx context.Context, i int) (err error) {
			out[i], err = p.one(ctx, w, &jobs[i])
			return err
		}
	})
	if failed >= 0 {
		err = fmt.Errorf("run %s, %s: %w", jobs[failed].Run, placeOf(&jobs[failed].Replay), err)
	}
	return out, err
}

// one makes a replay.
func (p *gatePlan) one(ctx context.Context, w *watcher, j *errand) (outcome, error) {
	t := &j.task
	out := outcome{Replay: j.Replay, division: j.division}
	m, err := p.runner.Trace(ctx, t)
	if err != nil {
		return out, err
	}
	w.reset(len(t.Spec.Site) > 0)
	res, err := sim.Run(ctx, t.Replay(), m.Open, sim.Options{Sink: w, Parts: t.Parts})
	if err != nil {
		return out, err
	}
	if out.table, err = metric.Compute(&w.Memory, res.Series); err != nil {
		return out, err
	}
	out.Fingerprint, out.Verdict, out.Work = res.Fingerprint, string(out.table.Verdict), res.Work
	out.Submitted, out.Unheeded = res.State.Submitted, res.UnheededWords()
	out.own = w.measure(res)
	if err := out.divide(w, res, j); err != nil {
		return out, err
	}
	if out.Replica {
		out.table, out.own = metric.Table{}, own{}
	}
	return out, nil
}

// divide takes the measures of paired checks, by window.
func (x *outcome) divide(w *watcher, res *sim.Result, j *errand) error {
	x.windows = make(map[string][]float64, len(j.measures))
	var tables []metric.Table
	if len(j.task.Parts) > 0 {
		var err error
		if tables, err = metric.ComputeParts(&w.Memory, res.Series, j.task.Parts); err != nil {
			return err
		}
	}
	for i := range j.measures {
		m := j.measures[i]
		name := nameOf(&m)
		whole, err := x.numberOf(&m)
		if err != nil {
			if x.wrong == nil {
				x.wrong = map[string]error{}
			}
			x.wrong[name] = err
			continue
		}
		if tables == nil {
			x.windows[name] = []float64{orNaN(whole.v)}
			continue
		}
		m.Over = metric.Steady // tables of parts have no other
		for k := range tables {
			part := outcome{table: tables[k]}
			n, err := part.numberOf(&m)
			if err != nil || j.division.small[k] { // a group without a job in the part is not in its table
				n.v = nil
			}
			x.windows[name] = append(x.windows[name], orNaN(n.v))
		}
	}
	return nil
}

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
