package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/task"
)

// data is the folder of the logs; without them the test is skipped.
func data(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("ORRERY_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	if _, err := os.Stat(filepath.Join(dir, "traces", "swf", gated[0].file)); err != nil {
		t.Skip("needs the logs of ORRERY_DATA")
	}
	return dir
}

// TestSlowdowns: the windows of a replica are those that a gate measures.
func TestSlowdowns(t *testing.T) {
	o := &options{data: data(t), workers: 2}
	theta := gated[2]
	log, err := o.gatedLog(theta.file, theta.nodes)
	require.NoError(t, err)
	pool, err := log.pool("", 2)
	require.NoError(t, err)
	spec, err := log.spec("")
	require.NoError(t, err)
	text, err := log.runner.Worker()(context.Background(), task.Task{Spec: spec, Jitter: &task.Jitter{By: model.Minute, Seed: 3}, Brief: log.spans}.JSON())
	require.NoError(t, err)
	want, err := task.ParseResult(text)
	require.NoError(t, err)
	longer := 0
	for w := range log.spans {
		x, ok := want.Brief[w].Of(metric.Measure{Metric: "bounded_slowdown_mean"}, metric.Steady)
		require.True(t, ok)
		require.InEpsilon(t, x, pool[0][1].Values[w], 1e-5)
		if pool[2][1].Values[w] > pool[1][1].Values[w] && pool[1][1].Values[w] > x {
			longer++
		}
	}
	require.Greater(t, longer, 15)
	require.NotEqual(t, pool[0][0].Schedule, pool[0][1].Schedule)
	require.NotEqual(t, pool[0][0].Schedule, pool[1][0].Schedule)
}

// TestGatesOfTheDocument: the table of the document has the rows of the command, and
// what is promised of gates.
func TestGatesOfTheDocument(t *testing.T) {
	block := blockOf(t, "gates")
	rows := map[string]int{}
	for _, line := range block[2:] {
		cells := cellsOf(line)
		number := func(i int) float64 {
			x, err := strconv.ParseFloat(cells[i], 64)
			require.NoError(t, err, line)
			return x
		}
		size, hold, regression, unknown := number(2), number(4), number(5), number(6)
		require.InDelta(t, 100, hold+regression+unknown, 0.11, line)
		require.LessOrEqual(t, number(7), number(8))
		theta := strings.HasPrefix(cells[0], "Theta")
		switch {
		case cells[1] == "none":
			require.Equal(t, 100.0, hold, line)
			require.GreaterOrEqual(t, number(3), 300.0)
		case size == 0:
			require.LessOrEqual(t, regression, 5.0, line)
			require.True(t, theta || hold >= 90, line)
		case theta:
			require.Greater(t, number(9), 5.0, "it says that it does not see them: %s", line)
		case size > 9:
			require.GreaterOrEqual(t, regression, 98.0, line)
		default:
			require.GreaterOrEqual(t, regression, 80.0, line)
		}
		rows[cells[0]]++
	}
	require.Equal(t, map[string]int{"KTH-SP2": 6, "SDSC-SP2": 6, "Theta, January 2023": 4}, rows)
	if testing.Short() {
		t.Skip("replays three logs")
	}
	text, err := (&options{data: data(t), workers: 2, comparisons: 3, pool: 6}).markdown(ofGates[0])
	require.NoError(t, err)
	got := strings.Split(strings.TrimSpace(text), "\n")
	require.Len(t, got, len(block))
	for i := range got {
		a, b := cellsOf(block[i]), cellsOf(got[i])
		require.Len(t, b, len(a))
		require.Equal(t, a[:2], b[:2])
	}
	require.Equal(t, block[0], got[0])
}

// TestProgramOfTheDocument holds the comparisons by the program against what is promised.
func TestProgramOfTheDocument(t *testing.T) {
	block := blockOf(t, "a policy with itself by the program")
	cells := cellsOf(block[2])
	require.Equal(t, []string{selfName, "20"}, cells[:2])
	n, err := strconv.Atoi(cells[2])
	require.NoError(t, err)
	claims, err := strconv.Atoi(cells[4])
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, 500)
	require.LessOrEqual(t, claims*20, n, "5 per cent")
	require.Equal(t, percent(claims, n), cells[5])
}
