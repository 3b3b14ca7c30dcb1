package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	gonum "gonum.org/v1/gonum/stat"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/task"
	"orrery/sim/workerpool"
	"orrery/tools/internal/logfile"
	"orrery/traces/transform"
)

// mostWindows is into how many parts of equal numbers of jobs a log is divided. Fewer
// windows are several of these together.
const mostWindows = 80

// objective is the metric that is to be lowered: the default of orrery tune.
const objective = "bounded_slowdown_mean"

// replica is the objective in one replay with jittered arrivals: on the whole log, and by
// window with the jobs behind it.
type replica struct {
	Whole        float64
	Values, Jobs []float64
}

// replicas are those of one log under one policy, all with other arrivals.
type replicas []replica

// sd is the standard deviation of the objective of one replay, as a part of its mean.
func (p replicas) sd() float64 {
	whole := make([]float64, len(p))
	for i := range p {
		whole[i] = p[i].Whole
	}
	mean, sd := gonum.MeanStdDev(whole, nil)
	return sd / mean
}

// merged has n windows, a part of those there are.
func (p replicas) merged(n int) replicas {
	out := make(replicas, len(p))
	for i, r := range p {
		out[i] = replica{Whole: r.Whole, Values: make([]float64, n), Jobs: make([]float64, n)}
		for k, jobs := range r.Jobs {
			at := k * n / len(r.Jobs)
			out[i].Values[at] += r.Values[k] * jobs
			out[i].Jobs[at] += jobs
		}
		for k, jobs := range out[i].Jobs {
			out[i].Values[k] /= jobs
		}
	}
	return out
}

// pool are the replicas of a log, replayed or from the folder.
func (o *options) pool(ctx context.Context, l log) (replicas, error) {
	name := filepath.Join(o.keep, fmt.Sprintf("%s-%d.json", l.file, o.replicas))
	if o.keep != "" {
		text, err := os.ReadFile(name)
		if err == nil {
			var out replicas
			return out, json.Unmarshal(text, &out)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	out, err := o.replay(ctx, l)
	if err != nil || o.keep == "" {
		return out, err
	}
	return out, keep(name, out)
}

func keep(name string, pool replicas) error {
	text, err := json.Marshal(pool)
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}

// replay replays a log under first come first served with EASY backfilling.
func (o *options) replay(ctx context.Context, l log) (replicas, error) {
	set, err := logfile.Read(filepath.Join(o.data, "traces", "swf", l.file))
	if err != nil {
		return nil, err
	}
	spans, err := cut(set)
	if err != nil {
		return nil, err
	}
	runner := task.NewRunner(nil)
	rows, err := runner.Add(set)
	if err != nil {
		return nil, err
	}
	source, err := rows.Open()
	if err != nil {
		return nil, err
	}
	defer source.Close()
	spec := plan.DefaultSpec()
	spec.Cluster.Procs, spec.WarmupJobs, spec.MissingRequest = l.procs, plan.NoWarmup, l.missing
	if spec, err = spec.Bind(source); err != nil {
		return nil, err
	}
	out := make(replicas, o.replicas)
	_, err = workerpool.Each(ctx, len(out), o.workers, nil, func() func(context.Context, int) error {
		work := runner.Worker()
		return func(ctx context.Context, i int) error {
			t := task.Task{Spec: spec, Brief: spans, Jitter: &task.Jitter{By: model.Minute, Seed: uint64(i + 1)}}
			text, err := work(ctx, t.JSON())
			if err != nil {
				return err
			}
			r, err := task.ParseResult(text)
			if err == nil {
				out[i], err = replicaOf(&r)
			}
			return err
		}
	})
	return out, err
}

// replicaOf reads the objective from a result.
func replicaOf(r *task.Result) (out replica, err error) {
	var ok bool
	if out.Whole, ok = r.Value(objective, metric.All); !ok {
		return out, errors.New("the log has no " + objective)
	}
	for k := range r.Brief {
		value, ok := r.Brief[k].Value(objective, metric.Steady)
		if !ok {
			return out, fmt.Errorf("window %d has no %s", k, objective)
		}
		out.Values = append(out.Values, value)
		out.Jobs = append(out.Jobs, float64(r.Brief[k].Metrics[objective].CountSteady))
	}
	return out, nil
}

// cut divides a log into windows of equal numbers of jobs, as orrery tune does. Logs of which
// so many jobs were submitted together that there are fewer windows are refused.
func cut(set *transform.Set) ([]metric.Span, error) {
	at, err := task.Submissions(set)
	if err != nil {
		return nil, err
	}
	out := task.EqualJobs(at, mostWindows)
	if len(at) < mostWindows || len(out) < mostWindows {
		return nil, fmt.Errorf("%d jobs make %d windows of %d", len(at), len(out), mostWindows)
	}
	return out, nil
}
