package main

import (
	"context"
	"runtime"

	"orrery/scheduler/model"
	"orrery/sim"
	"orrery/sim/crew"
	"orrery/sim/record"
	"orrery/sim/stat"
	"orrery/sim/task"
)

// noise says how the noise of a trace is measured.
type noise struct {
	log      string // that the runs replayed; "" measures none
	by       model.Duration
	replicas int
	orders   string // what is said of the orders of events
}

// sampleLog is the word for the log that is part of the program.
const sampleLog = "sample"

// check refuses flags that do not apply, or measure nothing.
func (n *noise) check(byWindows bool, given func(flag string) bool) error {
	switch {
	case n.log == "" && (given("replicas") || given("shake")):
		return usagef("--replicas and --shake go with --noise LOG")
	case n.log != "" && !byWindows:
		return usagef("--noise goes with --windows N: verdicts are by windows")
	case n.replicas < 2:
		return usagef("--replicas %d: want 2 or more, 10 as a rule", n.replicas)
	case n.by < 1:
		return usagef("--shake %s: want a span above 0", n.by)
	}
	return nil
}

// floors replays the settings of the first run with shaken arrivals, and where it
// can be with the events of an instant one by one, and measures how far the runs
// lie apart: for each division the figures in their order.
func (v *compareVerb) floors(ctx context.Context, dir string, divisions []*division) ([]stat.Floor, error) {
	spec, err := readSpec(dir)
	if err != nil {
		return nil, err
	}
	var args []string
	if v.noise.log != sampleLog {
		args = []string{v.noise.log}
	}
	set, err := v.m.holdTrace(ctx, args, true)
	if err != nil {
		return nil, err
	}
	runner := task.NewRunner(nil)
	whole, err := runner.Add(set)
	if err != nil {
		return nil, input(err)
	}
	if found := whole.Info().Hash; found != spec.Trace {
		return nil, usagef("--noise %s: its content is %.12s, and the runs replayed %.12s: name the log of the runs", v.noise.log, found, spec.Trace)
	}
	return v.measure(ctx, v.variants(spec), runner, divisions)
}

// variants are the runs of the first settings: the shaken ones, then the plain one
// and its other order of events, where there is one.
func (v *compareVerb) variants(spec sim.Spec) []task.Task {
	var out []task.Task
	for r := range v.noise.replicas {
		out = append(out, task.Task{Spec: spec, Shake: &task.Shake{By: v.noise.by, Seed: uint64(r) + 1}})
	}
	if len(spec.Site) == 0 && spec.Cycle == 0 && spec.QuorumLatency+spec.QuorumJitter == 0 {
		other := spec
		if other.EventOrder = "sequential"; spec.EventOrder == other.EventOrder {
			other.EventOrder = ""
		}
		out = append(out, task.Task{Spec: spec}, task.Task{Spec: other})
		v.noise.orders = ", and two that take the events of an instant together and one by one"
	}
	return out
}

// measure makes the runs, several at a time, and compares them.
func (v *compareVerb) measure(ctx context.Context, tasks []task.Task, runner *task.Runner, divisions []*division) ([]stat.Floor, error) {
	bar := v.m.progress("measuring the noise", "runs", false)
	defer bar.done()
	values := make([][][]float64, len(tasks)) // by run, then figure, then window
	tell := func(done int) { bar.draw(int64(done), int64(len(tasks)), "") }
	_, err := crew.Each(ctx, len(tasks), runtime.GOMAXPROCS(0), tell, func() func(context.Context, int) error {
		return func(ctx context.Context, i int) (err error) {
			values[i], err = figuresOf(ctx, runner, &tasks[i], divisions)
			return err
		}
	})
	if err != nil {
		return nil, err
	}
	return v.apart(values)
}

// figuresOf makes a run, and takes the figures of each division by windows: those
// of the jobs that are in it and started here too.
func figuresOf(ctx context.Context, runner *task.Runner, t *task.Task, divisions []*division) ([][]float64, error) {
	m, err := runner.Trace(ctx, t)
	if err != nil {
		return nil, input(err)
	}
	sink := record.NewMemory()
	if _, err := sim.Run(ctx, t.Spec, m.Open, sim.Options{Sink: sink}); err != nil {
		return nil, err
	}
	var out [][]float64
	for _, d := range divisions {
		sums, counts := make([][]float64, len(windowFigures)), make([]float64, d.windows)
		for f := range sums {
			sums[f] = make([]float64, d.windows)
		}
		for i := range sink.Jobs.Len() {
			k, in := d.window[sink.Jobs.ID[i]]
			j, ran := startedAt(&sink.Jobs, i)
			if !in || !ran {
				continue
			}
			counts[k]++
			for f := range sums {
				sums[f][k] += windowFigures[f].of(j)
			}
		}
		for f := range sums {
			for k, n := range counts {
				sums[f][k] /= n // no number where there is no job: windows without are left out
			}
		}
		out = append(out, sums...)
	}
	return out, nil
}

// apart is the noise floor of each figure.
func (v *compareVerb) apart(values [][][]float64) ([]stat.Floor, error) {
	s := stat.Defaults()
	out := make([]stat.Floor, len(values[0]))
	for f := range out {
		var figure [][]float64
		for _, run := range values {
			figure = append(figure, run[f])
		}
		floor, err := stat.ReplicaFloor(figure[:v.noise.replicas], s.Centre, s.Confidence, s.Confidence)
		if err != nil {
			return nil, err
		}
		if orders := figure[v.noise.replicas:]; len(orders) > 0 {
			other, err := stat.VariantFloor(orders, s.Centre)
			if err != nil {
				return nil, err
			}
			floor = stat.Larger(floor, other)
		}
		out[f] = floor
	}
	return out, nil
}
