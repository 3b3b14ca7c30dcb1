package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPowerCut cuts the power at 50 instants of each verb that writes, on a disk that has
// written all names and on one that has written none that was not asked for. What is left is
// whole or absent, whole once the verb has ended, and the same command goes on.
func TestPowerCut(t *testing.T) {
	whole := func(verb ...string) func(t *testing.T) {
		return func(t *testing.T) {
			got := inProcess(t, verb...)
			require.Zero(t, got.code, "%v: %s", verb, got.stderr)
		}
	}
	log := small(t)
	experiment := filepath.Join(t.TempDir(), "exp.yaml")
	require.NoError(t, os.WriteFile(experiment, []byte("traces: ["+log+"]\nsettings: [{path: weights.wait_time, values: [1, 2, 3]}]\n"), 0o600))
	gate := filepath.Join(t.TempDir(), "gate.yaml")
	require.NoError(t, os.WriteFile(gate, []byte("traces: ["+log+"]\nruns: [{name: a}]\nchecks: [{metric: wait_mean, at_most: 1h}]\n"), 0o600))
	for _, row := range []struct {
		name  string
		verb  []string
		marks string // is there once the result is
		check func(t *testing.T)
	}{
		{"replay", []string{"replay", log, "--out", "run", "--facts", "--quiet", "--force"}, "run/run.json", whole("verify", "run")},
		{"import", []string{"import", log, "--out", "x.trace", "--quiet", "--force"}, "x.trace", whole("trace", "validate", "x.trace")},
		{"table", []string{"import", log, "--out", "x.parquet", "--quiet", "--force"}, "x.parquet", whole("trace", "validate", "x.parquet")},
		{"transform", []string{"trace", "transform", log, "--out", "y.trace", "--step", "jitter by=60s seed=1", "--quiet", "--force"}, "y.trace", whole("trace", "validate", "y.trace")},
		{"sweep", []string{"sweep", experiment, "--out", "study", "--workers", "1", "--lease", "300ms", "--quiet"}, "study/study.json", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			t.Chdir(dir)
			d, stop, err := watchDisk(dir)
			require.NoError(t, err)
			got := inProcess(t, row.verb...)
			stop()
			require.Zero(t, got.code, got.stderr)
			require.NotNil(t, there(row.marks))
			cuts := min(50, d.count())
			for i := 1; i <= cuts; i++ {
				steps := i * d.count() / cuts
				for _, eager := range []bool{true, false} {
					left := filepath.Join(t.TempDir(), "left")
					require.NoError(t, d.leave(steps, eager, left))
					t.Chdir(left)
					_, missing := os.Stat(row.marks)
					require.False(t, missing != nil && i == cuts, "the verb has ended, and there is nothing: eager %v", eager)
					if missing == nil && row.check != nil {
						row.check(t)
					}
					if i%10 == 0 || row.name == "sweep" && i%4 == 0 || i == cuts {
						whole(row.verb...)(t)
						if row.name == "sweep" {
							whole("study", "status", "study")(t)
						}
					}
				}
			}
		})
	}
}
