package paired

import (
	"context"

	"orrery/scheduler/model"
	"orrery/sim"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/task"
	"orrery/sim/workerpool"
)

// Replica is a run that is to be made: a spec on its trace, with arrivals jittered by
// up to By in either direction with a seed above 0.
type Replica struct {
	Spec plan.Spec
	By   model.Duration
	Seed int
}

// Replay makes replicas, several at a time, and takes their jobs; runs are by index.
// The runner has the trace that the specs name. tell is told how many are done, one
// call at a time; nil is told nothing.
func Replay(ctx context.Context, runner *task.Runner, list []Replica, workers int, tell func(done int)) ([]Run, error) {
	out := make([]Run, len(list))
	_, err := workerpool.Each(ctx, len(list), workers, tell, func() func(context.Context, int) error {
		sink := &jobsOnly{}
		return func(ctx context.Context, i int) error {
			sink.Reset()
			jobs, err := list[i].run(ctx, runner, sink)
			out[i] = Run{list[i].Seed, jobs}
			return err
		}
	})
	return out, err
}

// jobsOnly keeps the jobs of a run, and no attempts.
type jobsOnly struct{ record.Memory }

// Attempt implements record.Sink.
func (*jobsOnly) Attempt(*model.AttemptRecord) {}

func (r *Replica) run(ctx context.Context, runner *task.Runner, sink *jobsOnly) (Jobs, error) {
	t := task.Task{Spec: r.Spec, Jitter: &task.Jitter{By: r.By, Seed: uint64(r.Seed)}}
	trace, err := runner.Trace(ctx, &t)
	if err != nil {
		return nil, err
	}
	if _, err := sim.Run(ctx, r.Spec, trace.Open, sim.Options{Sink: sink}); err != nil {
		return nil, err
	}
	return Read(&sink.Memory)
}
