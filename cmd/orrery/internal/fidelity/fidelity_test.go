package fidelity_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
	"orrery/tools/refdata"
)

func TestMain(m *testing.M) { clitest.Main(m) }

func TestScripts(t *testing.T) { clitest.Scripts(t) }

// realRun imports a recorded run of a real Slurm and makes a cluster file of its configuration.
func realRun(t *testing.T, run string) (trace, site string) {
	t.Helper()
	from := refdata.Path(t, "traces", "fidelity", "slurm-22.05", run)
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(from, "sacct.txt"))
	require.NoError(t, err)
	// The runs have no arrays, so that the raw id of a job is its id.
	log := filepath.Join(dir, run+".txt")
	require.NoError(t, os.WriteFile(log, []byte(strings.Replace(string(text), "JobIDRaw|", "JobID|", 1)), 0o600))
	trace, site = filepath.Join(dir, run+".trace"), filepath.Join(dir, run+".yaml")
	for _, args := range [][]string{
		{"import", log, "--time-zone", "UTC", "--out", trace, "--quiet"},
		{"profiles", "from-slurm", "--conf", filepath.Join(from, "slurm.conf"), "--sacctmgr", filepath.Join(from, "assoc.txt"),
			"--sacctmgr", filepath.Join(from, "qos.txt"), "--out", site, "--quiet"},
	} {
		got := clitest.Run(t, args...)
		require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	}
	return trace, site
}

// TestFidelityOfRecordedRuns: three runs of one workload on a real Slurm. What is asked for is what the records
// themselves say, and what holds of any replay; how near replays are is in docs/FIDELITY.md.
func TestFidelityOfRecordedRuns(t *testing.T) {
	first, site := realRun(t, "run1")
	second, _ := realRun(t, "run2")
	third, _ := realRun(t, "run5")
	got := clitest.Run(t, "fidelity", first, second, third, "--cluster", site, "--draws", "8", "--quiet", "-o", "json")
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	var figures map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &figures))
	number := func(key string) float64 {
		v, ok := figures[key].(float64)
		require.True(t, ok, "%s is %v", key, figures[key])
		return v
	}
	require.InDelta(t, 200, number("jobs"), 0)
	require.InDelta(t, 1, number("resolution_s"), 0)
	require.InDelta(t, 121.24, number("mean_wait_recorded_s"), 1e-9)
	for _, key := range []string{"mean_wait_replayed_s", "wait_error", "wait_error_s", "rank_correlation_waits", "rank_correlation_starts", "start_error_p90_s",
		"overtakings_reproduced", "wasserstein_over_mean", "makespan_error", "utilisation_rmse"} {
		require.LessOrEqual(t, number(key+"_low"), number(key))
		require.GreaterOrEqual(t, number(key+"_high"), number(key))
	}
	require.InDelta(t, number("mean_wait_replayed_s"), number("mean_wait_recorded_s")+number("wait_error_s"), 1e-9)
	require.InDelta(t, number("wait_error"), number("wait_error_s")/number("mean_wait_recorded_s"), 1e-9)
	require.Greater(t, number("mean_wait_replayed_s_high"), number("mean_wait_replayed_s_low"), "the draws differ")
	require.Len(t, figures["by_user"], 4)
	require.Len(t, figures["conclusions"], 7)

	var spread struct {
		MatchedBy string `json:"matched_by"`
		Runs      []struct {
			Mean float64 `json:"mean_wait_s"`
		}
		Pairs []struct {
			Starts float64 `json:"rank_correlation_starts"`
			PerJob float64 `json:"mean_difference_per_job_s"`
		}
		Replay []struct{ Run string }
	}
	text, err := json.Marshal(figures["real_spread"])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &spread))
	require.Equal(t, "position", spread.MatchedBy)
	require.InDelta(t, 121.24, spread.Runs[0].Mean, 1e-9)
	require.InDelta(t, 95.3, spread.Runs[1].Mean, 1e-9)
	require.InDelta(t, 120.215, spread.Runs[2].Mean, 1e-9)
	require.Len(t, spread.Pairs, 3)
	require.InDelta(t, 0.6995, spread.Pairs[1].Starts, 5e-5, "the first run and the third")
	require.InDelta(t, 97, spread.Pairs[1].PerJob, 0.5)
	require.Len(t, spread.Replay, 3)
}

// TestRecordedWaitsStandBesideReplayed: a replay of a trace with starts says what the record has.
func TestRecordedWaitsStandBesideReplayed(t *testing.T) {
	trace, site := realRun(t, "run1")
	got := clitest.Run(t, "replay", trace, "--cluster", site, "--quiet", "-o", "json")
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	var found struct {
		Waits struct {
			Recorded float64  `json:"mean_wait_recorded_s"`
			Replayed *float64 `json:"mean_wait_replayed_s"`
			Jobs     int64    `json:"jobs_recorded"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &found))
	require.InDelta(t, 121.24, found.Waits.Recorded, 1e-9)
	require.NotNil(t, found.Waits.Replayed)
	require.Positive(t, *found.Waits.Replayed)
	require.EqualValues(t, 200, found.Waits.Jobs)

	got = clitest.Run(t, "trace", "stats", trace, "-o", "json")
	require.Equal(t, cli.ExitOK, got.Code, got.Stderr)
	require.Contains(t, got.Stdout, `"recorded_wait_mean_us": 121240000`)
}
