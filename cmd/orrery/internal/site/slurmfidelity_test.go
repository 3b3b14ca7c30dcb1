package site_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/clitest"
	"orrery/tools/refdata"
	"orrery/traces"
)

// TestRecordedSlurm replays what sacct says of 200 jobs of a real Slurm 22.05 on the cluster file made of its files. The phases of
// its clocks are in no log and are drawn by the seed, so the mean over seeds is compared. Without the weight of the fair share, which decides there,
// the mean has to be off by more: else the comparison tells no model from another.
func TestRecordedSlurm(t *testing.T) {
	const seeds = 8
	from := filepath.Dir(refdata.Path(t, "traces/fidelity/slurm-22.05/run1/sacct.txt"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	done := func(args ...string) string {
		got := clitest.Run(t, args...)
		require.Zero(t, got.Code, "%v: %s", args, got.Stderr)
		return got.Stdout
	}
	done("import", filepath.Join(from, "sacct.txt"), "--time-zone", "UTC", "--out", "log.trace")
	done("profiles", "from-slurm", "--conf", filepath.Join(from, "slurm.conf"), "--sacctmgr", filepath.Join(from, "assoc.txt"), "--sacctmgr", filepath.Join(from, "qos.txt"), "--out", "site.yaml")
	text, err := os.ReadFile("site.yaml")
	require.NoError(t, err)
	unshared := strings.Replace(string(text), "fairshare: 2000", "fairshare: 0", 1)
	require.NotEqual(t, string(text), unshared)
	require.NoError(t, os.WriteFile("unshared.yaml", []byte(unshared), 0o600))

	log, err := traces.Open("log.trace")
	require.NoError(t, err)
	defer log.Close()
	recorded, jobs := 0.0, 0
	for j, err := range log.Rows() {
		require.NoError(t, err)
		recorded, jobs = recorded+float64(j.Start.V-j.Submit)/1e6, jobs+1
	}
	require.Equal(t, 200, jobs)
	recorded /= float64(jobs)

	off := func(cluster string) float64 {
		sum := 0.0
		for seed := 1; seed <= seeds; seed++ {
			wait, completed := meanWait(t, done("replay", "log.trace", "--cluster", cluster, "--seed", fmt.Sprint(seed), "-o", "json"))
			require.Equal(t, jobs, completed, "%s, seed %d: none is refused", cluster, seed)
			sum += wait
		}
		t.Logf("%s: mean wait %.1f s recorded, %.1f s replayed over %d seeds", cluster, recorded, sum/seeds, seeds)
		return sum/seeds/recorded - 1
	}
	asConverted, without := off("site.yaml"), off("unshared.yaml")
	require.InDelta(t, 0, asConverted, 0.25)
	require.Greater(t, math.Abs(without), 0.25, "without the weight of the fair share")
}

// meanWait is the mean wait of a replay in seconds, and how many jobs it completed.
func meanWait(t *testing.T, result string) (wait float64, completed int) {
	t.Helper()
	var r struct {
		Metrics []struct {
			Name, Window string
			Value        float64
		}
	}
	require.NoError(t, json.Unmarshal([]byte(result), &r))
	for _, m := range r.Metrics {
		switch {
		case m.Window != "all":
		case m.Name == "wait_mean":
			wait = m.Value
		case m.Name == "jobs_completed":
			completed = int(m.Value)
		}
	}
	require.Positive(t, wait)
	return wait, completed
}
