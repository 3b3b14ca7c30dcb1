package service_test

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/clitest"
	"orrery/scheduler/model"
	"orrery/traces"
)

// TestRecordedDemandOfATrace replays, sweeps and tunes a service whose demand is the load table
// of the trace: each meets the same requests.
func TestRecordedDemandOfATrace(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	w, err := traces.NewWriter("work.trace", traces.Meta{EpochKnown: true, Sorted: true, MaxProcs: 12})
	require.NoError(t, err)
	for i := range 540 {
		span := model.Duration(120+i*37%7*30) * model.Second
		require.NoError(t, w.WriteJob(&traces.Job{
			ID: int64(i + 1), Submit: model.Time(model.Duration(i) * model.Minute), User: "u", Kind: "bounded", Runtime: traces.Some(span), Walltime: traces.Some(10 * model.Minute),
			ProcsRequested: traces.Some(int32(1)), NodesMin: traces.Some(int32(1)),
		}))
	}
	for i := range 540 {
		rate := 5 + float64(i%40)
		require.NoError(t, w.WriteLoad(&traces.Load{Service: "chat", Time: model.Time(model.Duration(i) * model.Minute), Width: model.Minute, Arrivals: traces.Some(60 * rate)}))
	}
	_, err = w.Close()
	require.NoError(t, err)
	site := strings.Replace(clitest.AServedSite, "{shape: sine, base: 5, peak: 40, period: 20m, length: 9h, grain: 30s, noise: 0.2}", "{service: chat}", 1)
	require.NotEqual(t, clitest.AServedSite, site)
	require.NoError(t, os.WriteFile("site.yaml", []byte(site), 0o600))

	run := clitest.Run(t, "replay", "work.trace", "--cluster", "site.yaml", "--out", "run", "-q")
	require.Zero(t, run.Code, run.Stderr)
	replayed := clitest.WholeMetrics(t, "run/metrics.json")["service_node_hours"]
	require.Greater(t, replayed, 9., "more than one replica for nine hours")

	exp := "traces: [work.trace]\ncluster: site.yaml\nsettings: [{path: services.chat.policy.target, values: [0.3, 0.9]}]\nobjectives: [{metric: service_node_hours, window: all}]\n"
	require.NoError(t, os.WriteFile("exp.yaml", []byte(exp), 0o600))
	sweep := clitest.Run(t, "sweep", "exp.yaml", "--out", "study", "-q")
	require.Zero(t, sweep.Code, sweep.Stderr)
	table := clitest.Run(t, "study", "table", "study", "-o", "json")
	require.Zero(t, table.Code, table.Stderr)
	require.Contains(t, table.Stdout, strconv.FormatFloat(replayed, 'g', -1, 64), "the target of 0.3 is that of the file")

	tune := clitest.Run(t, "tune", "work.trace", "--cluster", "site.yaml", "--out", "tuned", "--vary", "services.chat.policy.target=0.3..0.95",
		"--objective", "service_node_hours", "--subject-to", "service_missed <= 20%", "--windows", "20", "--replicas", "3", "--points", "6", "--trajectories", "2", "--sobol", "0", "--loads", "none")
	require.Zero(t, tune.Code, tune.Stderr)
	var report struct {
		Finalists []struct {
			Whole []struct {
				Metric string
				Now    *float64
			}
		}
	}
	text, err := os.ReadFile("tuned/tune.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &report))
	told := 0
	for _, l := range report.Finalists[0].Whole {
		if l.Metric == "service_node_hours" {
			require.InDelta(t, replayed, *l.Now, 0)
			told++
		}
	}
	require.Equal(t, 1, told)
}
