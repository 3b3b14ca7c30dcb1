package app_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
)

// TestPowerCut cuts the power at 25 instants of each verb that writes, on a disk that has
// written all names and on one that has written none that was not asked for. What is left is
// whole or absent, whole once the verb has ended, and the same command goes on.
func TestPowerCut(t *testing.T) {
	if clitest.UnderRace {
		t.Skip("one goroutine at a time: the tests without the race detector run it")
	}
	ended := func(t *testing.T, verb []string, got clitest.Outcome) {
		t.Helper()
		if verb[0] == "tune" && got.Code == cli.ExitEvidence { // what its budget does not pay for may be better
			return
		}
		require.Zero(t, got.Code, "%v: %s", verb, got.Stderr)
	}
	whole := func(verb ...string) func(t *testing.T) {
		return func(t *testing.T) { ended(t, verb, clitest.Run(t, verb...)) }
	}
	log := clitest.Small(t)
	experiment := filepath.Join(t.TempDir(), "exp.yaml")
	require.NoError(t, os.WriteFile(experiment, []byte("traces: ["+log+"]\nsettings: [{path: weights.wait_time, values: [1, 2, 3]}]\n"), 0o600))
	gate := filepath.Join(t.TempDir(), "gate.yaml")
	require.NoError(t, os.WriteFile(gate, []byte("runs: [{name: a, trace: "+log+"}]\nexact: [{run: a}]\n"), 0o600))
	scaling := filepath.Join(t.TempDir(), "scaling.yaml")
	require.NoError(t, os.WriteFile(scaling, []byte("demand: {shape: step, base: 4, peak: 16, at: 10m, length: 1h}\nservice: {work: 500ms, slots: 10, boot: 30s}\npolicies: [{kind: fixed, size: 2}]\nseeds: 2\n"), 0o600))
	nodes := filepath.Join(t.TempDir(), "nodes.txt")
	require.NoError(t, os.WriteFile(nodes, []byte("NodeName=n1 CPUTot=8 RealMemory=8000 State=IDLE\n"), 0o600))
	drawn := filepath.Join(t.TempDir(), "drawn")
	require.Zero(t, clitest.Run(t, "replay", log, "--out", drawn, "--quiet").Code)
	// page asks for a document of JSON, and a page that ends where pages end.
	page := func(dir string, names ...string) func(t *testing.T) {
		return func(t *testing.T) {
			for _, name := range names {
				text, err := os.ReadFile(filepath.Join(dir, name))
				require.NoError(t, err, "pages come before what says that there are some")
				require.True(t, filepath.Ext(name) != ".json" || json.Valid(text), name)
				require.True(t, filepath.Ext(name) != ".html" || strings.HasSuffix(strings.TrimSpace(string(text)), "</html>"), name)
			}
		}
	}
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
		{"gate", []string{"gate", gate, "--baseline", "own.json", "--update-baseline", "--reason", "x", "--by", "a", "--force", "--quiet"}, "own.json", whole("gate", gate, "--baseline", "own.json")},
		{"pages", []string{"report", "drawn", "--quiet", "--force"}, "drawn/report.html", page("drawn", "report.html")},
		{"scale", []string{"scale", scaling, "--out", "scaled", "--quiet", "--force"}, "scaled/result.json", page("scaled", "result.json", "report.html")},
		{"stats", []string{"trace", "stats", log, "--out", "looked", "--force"}, "looked/report.html", page("looked", "report.html")},
		{"cluster", []string{"cluster", "import", nodes, "--out", "site.yaml", "--quiet", "--force"}, "site.yaml", whole("lint", "site.yaml")},
		{"tune", []string{"tune", "--out", "tune", "--budget", "6000", "--replicas", "2", "--loads", "none", "--workers", "1", "--lease", "300ms", "--quiet"}, "tune/tune.json", page("tune", "tune.json")},
		{"sweep", []string{"sweep", experiment, "--out", "study", "--workers", "1", "--lease", "300ms", "--quiet"}, "study/study.json", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			t.Chdir(dir)
			if row.name == "pages" {
				require.NoError(t, os.CopyFS("drawn", os.DirFS(drawn)))
			}
			d, stop, err := watchDisk(dir)
			require.NoError(t, err)
			got := clitest.Run(t, row.verb...)
			stop()
			ended(t, row.verb, got)
			require.NotNil(t, cli.There(row.marks))
			cuts := min(25, d.count())
			if testing.Short() {
				cuts = min(10, cuts)
			}
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
