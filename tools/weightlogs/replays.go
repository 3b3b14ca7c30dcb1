package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"orrery/sim/metric"
	"orrery/sim/task"
	"orrery/sim/workerpool"
)

// replay is what is kept of one: the metrics that are objectives, over all jobs.
type replay struct {
	Task    string             `json:"task"`
	Metrics map[string]float64 `json:"metrics"`
	Seconds float64            `json:"seconds"`
}

// replays makes replays once each and keeps them in a file.
type replays struct {
	runner  *task.Runner
	metrics []string
	workers int
	lock    sync.Mutex // of the file
	file    *os.File   // nil where they are not kept
	known   map[string]replay
}

// openReplays reads those that a file has.
func openReplays(path string, runner *task.Runner, metrics []string, workers int) (*replays, error) {
	r := &replays{runner: runner, metrics: metrics, workers: workers, known: map[string]replay{}}
	if path == "" {
		return r, nil
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var one replay
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		r.known[one.Task] = one
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	r.file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	return r, err
}

// close ends the file.
func (r *replays) close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// of gives the replays of tasks by index, and makes those that are not known.
func (r *replays) of(ctx context.Context, tasks []task.Task) ([]replay, error) {
	out := make([]replay, len(tasks))
	var fresh []int
	asked := map[string]bool{}
	for i := range tasks {
		id := tasks[i].ID()
		if _, known := r.known[id]; !known && !asked[id] {
			fresh, asked[id] = append(fresh, i), true
		}
	}
	made := make([]replay, len(fresh))
	_, err := workerpool.Each(ctx, len(fresh), r.workers, nil, func() func(context.Context, int) error {
		run := r.runner.Worker()
		return func(ctx context.Context, k int) error {
			one, err := r.make(ctx, run, &tasks[fresh[k]])
			made[k] = one
			return err
		}
	})
	if err != nil {
		return nil, err
	}
	for _, one := range made {
		r.known[one.Task] = one
	}
	for i := range tasks {
		out[i] = r.known[tasks[i].ID()]
	}
	return out, nil
}

// make computes one and writes it down.
func (r *replays) make(ctx context.Context, run task.Run, t *task.Task) (replay, error) {
	begin := time.Now()
	text, err := run(ctx, t.JSON())
	if err != nil {
		return replay{}, err
	}
	got, err := task.ParseResult(text)
	if err != nil {
		return replay{}, err
	}
	one := replay{Task: t.ID(), Metrics: map[string]float64{}, Seconds: time.Since(begin).Seconds()}
	for _, name := range r.metrics {
		x, known := got.Value(name, metric.All)
		if !known {
			return replay{}, fmt.Errorf("a replay has no %s", name)
		}
		one.Metrics[name] = x
	}
	if r.file == nil {
		return one, nil
	}
	line, err := json.Marshal(one)
	if err != nil {
		return replay{}, err
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	_, err = r.file.Write(append(line, '\n'))
	return one, err
}
