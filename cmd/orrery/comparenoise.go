package main

import (
	"context"
	"runtime"

	"orrery/scheduler/model"
	"orrery/sim/paired"
	"orrery/sim/task"
)

// noise says how the noise of a trace is measured.
type noise struct {
	log         string // that the runs replayed; "" measures none
	by          model.Duration
	replicas    int
	seed        int // of the first replica
	independent bool
}

// sampleLog is the word for the log that is part of the program.
const sampleLog = "sample"

// check refuses flags that do not apply, or measure nothing.
func (n *noise) check(given func(flag string) bool) error {
	for _, flag := range []string{"replicas", "jitter", "seed", "independent", "time-zone", "bad-rows", "arrival", "xz-dictionary"} {
		if n.log == "" && given(flag) {
			return usagef("--%s goes with --noise LOG", flag)
		}
	}
	switch {
	case n.replicas < 1:
		return usagef("--replicas %d: want 1 or more, 5 as a rule", n.replicas)
	case n.by < 1:
		return usagef("--jitter %s: want a span above 0", n.by)
	case n.seed < 1:
		return usagef("--seed %d: want 1 or more", n.seed)
	}
	return nil
}

// seeding says which seeds the replicas of the two sides have.
func (n *noise) seeding() string {
	if n.independent {
		return "seeds of its own for each side"
	}
	return "the same seeds for each side"
}

// replicas adds replays of the settings of each side, with jittered arrivals.
func (v *compareVerb) replicas(ctx context.Context, sides []paired.Side) error {
	var args []string
	if v.noise.log != sampleLog {
		args = []string{v.noise.log}
	}
	set, err := v.m.holdTrace(ctx, args, true)
	if err != nil {
		return err
	}
	runner := task.NewRunner(nil)
	whole, err := runner.Add(set)
	if err != nil {
		return input(err)
	}
	var list []paired.Replica
	for i := range sides {
		if err := sameSemantics(sides[i].Name); err != nil {
			return err
		}
		spec, err := readSpec(sides[i].Name)
		if err != nil {
			return err
		}
		if found := whole.Info().Hash; found != spec.Trace {
			return usagef("--noise %s: its content is %.12s, and the runs replayed %.12s: name the log of the runs", v.noise.log, found, spec.Trace)
		}
		seed := v.noise.seed
		if v.noise.independent {
			seed += i * v.noise.replicas
		}
		for r := range v.noise.replicas {
			list = append(list, paired.Replica{Spec: spec, By: v.noise.by, Seed: seed + r})
		}
	}
	bar := v.m.progress("measuring the noise", "runs", false)
	defer bar.done()
	tell := func(done int) { bar.draw(int64(done), int64(len(list)), "") }
	runs, err := paired.Replay(ctx, runner, list, runtime.GOMAXPROCS(0), tell)
	if err != nil {
		return err
	}
	for i := range sides {
		sides[i].Runs = append(sides[i].Runs, runs[i*v.noise.replicas:(i+1)*v.noise.replicas]...)
	}
	return nil
}
