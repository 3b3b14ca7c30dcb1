package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/search"
	"orrery/sim/stat"
	"orrery/sim/task"
)

// small is a log of eighty jobs on 64 processors, in the Standard Workload Format.
func small(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for i := range 80 {
		run, procs := 600+i*7919%7200, 1+i*31%48
		fmt.Fprintln(&text, i+1, i*600, -1, run, procs, -1, -1, procs, 2*run, -1, 1, 1+i%5, 1, 1, 1, 1, -1, -1)
	}
	path := filepath.Join(t.TempDir(), "small.swf")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	return path + "=64"
}

// TestRun: searches of all kinds end in a table, and a second run replays nothing.
func TestRun(t *testing.T) {
	log, kept := small(t), filepath.Join(t.TempDir(), "kept.jsonl")
	var pages []string
	for range 2 {
		var out strings.Builder
		o := options{
			methods: []string{"random", "sobol", "bayes:2"}, objectives: []string{"bounded_slowdown_mean", "wait_mean"},
			trials: 6, seeds: 1, truth: 12, leaders: 2, replicas: 2, workers: 2, replays: kept, by: model.Minute, out: &out,
		}
		require.NoError(t, o.run(context.Background(), []string{log}))
		pages = append(pages, out.String())
	}
	require.Equal(t, pages[0], pages[1])
	require.Contains(t, pages[0], "| small | wait_mean | bayes:2 | 1 |")
	require.Contains(t, pages[0], "| small | bounded_slowdown_mean | random | 2 |")
	text, err := os.ReadFile(kept)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	tasks := map[string]bool{}
	for _, line := range lines {
		tasks[line[:80]] = true
	}
	require.Len(t, tasks, len(lines), "each replay is made once")
}

// TestAPointIsItsProfile: what a point says stands in the profile of its replay.
func TestAPointIsItsProfile(t *testing.T) {
	l, err := openLog(small(t), "")
	require.NoError(t, err)
	space, err := spaceOf([]string{"wait_time", "conformance"}, "")
	require.NoError(t, err)
	spec, err := l.at(space, []float64{0.25, 0.75, 7230, 1})
	require.NoError(t, err)
	c, err := profiles.ParseCluster("", spec.Site)
	require.NoError(t, err)
	p := c.VClusters[0].Profile.Inline
	require.Equal(t, 0.25, p.Weights.WaitTime)
	require.Equal(t, 0.75, p.Weights.Conformance)
	require.Zero(t, p.Weights.Priority)
	require.Equal(t, 120*model.Minute, p.ReferenceWait)
	require.Equal(t, "conservative", p.Backfill)

	l, err = openLog(small(t), "conservative")
	require.NoError(t, err)
	space, err = spaceOf(nil, "conservative")
	require.NoError(t, err)
	require.Equal(t, 9, space.Dim())
	spec, err = l.at(space, []float64{1, 0, 0, 0, 0, 0, 0, 0, 0, 300})
	require.NoError(t, err)
	require.Contains(t, string(spec.Site), `"backfill":"conservative"`)

	full, err := spaceOf(nil, "")
	require.NoError(t, err)
	require.Equal(t, 10, full.Dim())
	_, err = spaceOf([]string{"age"}, "")
	require.ErrorContains(t, err, `no weight "age"`)
}

// TestBestIsTheLeast: a search ends with the point of the least objective.
func TestBestIsTheLeast(t *testing.T) {
	ctx := context.Background()
	l, err := openLog(small(t), "")
	require.NoError(t, err)
	o := options{trials: 4, truth: 4, replicas: 2, by: model.Minute}
	s := study{o: &o, log: l}
	s.space, err = spaceOf(nil, "")
	require.NoError(t, err)
	s.kept, err = openReplays("", l.runner, []string{"wait_mean"}, 1)
	require.NoError(t, err)
	points, err := search.Sample(s.space, "random", 4, 1)
	require.NoError(t, err)
	best, err := s.best(ctx, "wait_mean", points)
	require.NoError(t, err)
	at := func(v []float64) float64 {
		spec, err := l.at(s.space, v)
		require.NoError(t, err)
		got, err := s.kept.of(ctx, []task.Task{{Spec: spec}})
		require.NoError(t, err)
		return got[0].Metrics["wait_mean"]
	}
	for _, v := range points {
		require.LessOrEqual(t, at(best), at(v))
	}
	require.Positive(t, at(best), "jobs wait")

	o.finalists = 3
	jittered := func(v []float64) float64 {
		x, err := s.jittered(ctx, "wait_mean", v, o.replicas)
		require.NoError(t, err)
		return stat.Mean(x)
	}
	slices.SortFunc(points, func(a, b []float64) int { return cmp.Compare(at(a), at(b)) })
	chosen, err := s.best(ctx, "wait_mean", points)
	require.NoError(t, err)
	require.Contains(t, points[:3], chosen, "one of the three best of one replay")
	for _, v := range points[:3] {
		require.LessOrEqual(t, jittered(chosen), jittered(v))
	}
}
