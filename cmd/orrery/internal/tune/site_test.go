package tune_test

import (
	"encoding/json"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/clitest"
	"orrery/profiles"
	"orrery/sim/losers"
	"orrery/sim/tune"
)

// chatOfASite is a service beside the jobs of the built-in site.
const chatOfASite = `
services:
- name: chat
  vcluster: service
  min: 1
  max: 2
  demand: {shape: sine, base: 2, peak: 8, period: 6h, length: 10d}
  service: {slots: 10, work: 800ms, mode: fluid}
  policy: {kind: hpa, target: 0.6}
`

// TestTuneOfASite tunes a site of GPU nodes, tenants and a service: who pays is told by tenant
// and by vCluster, and the command that tune prints gives its figures to the digit.
func TestTuneOfASite(t *testing.T) {
	if testing.Short() {
		t.Skip("makes some forty replays of a site")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	made := clitest.Run(t, "synth", "site", "--days", "10", "--nodes", "64", "--load", "0.8", "--seed", "1", "--out", "site.trace", "-q")
	require.Zero(t, made.Code, made.Stderr)
	c, err := profiles.LoadCluster("month")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("site.yaml", append(c.YAML(), chatOfASite...), 0o600))
	got := clitest.Run(t, "tune", "site.trace", "--cluster", "site.yaml", "--out", "tuned", "--objective", "bounded_slowdown_mean", "--subject-to", "service_missed <= 30%",
		"--subject-to", "wait_max <= 30d", "--replicas", "2", "--points", "1", "--trajectories", "0", "--sobol", "0", "--loads", "none", "-q")
	require.Zero(t, got.Code, got.Stderr)
	text, err := os.ReadFile("tuned/tune.json")
	require.NoError(t, err)
	var r tune.Report
	require.NoError(t, json.Unmarshal(text, &r))
	require.Equal(t, tune.Change, r.Verdict, r.Why)
	require.True(t, r.Bounds[0].Kept && r.Bounds[1].Kept)

	next := regexp.MustCompile(`Next: orrery (replay .*)\n`).FindStringSubmatch(got.Stdout)
	require.NotNil(t, next, got.Stdout)
	for name, args := range map[string][]string{"then": strings.Fields(next[1]), "now": {"replay", "site.trace", "--cluster", "site.yaml"}} { //detlint:ordered each by itself
		run := clitest.Run(t, append(args, "--out", name, "-q")...)
		require.Zero(t, run.Code, run.Stderr)
	}
	now, then := clitest.WholeMetrics(t, "now/metrics.json"), clitest.WholeMetrics(t, "then/metrics.json")
	f := r.Finalists[slices.IndexFunc(r.Finalists, func(f tune.Finalist) bool { return f.Name == r.About })]
	told := 0
	for _, l := range f.Whole {
		if want, ok := then[l.Metric]; ok && !math.IsNaN(float64(l.Then)) {
			require.InDelta(t, want, float64(l.Then), 0, l.Metric)
			require.InDelta(t, now[l.Metric], float64(l.Now), 0, l.Metric)
			told++
		}
	}
	require.GreaterOrEqual(t, told, 5)
	require.InDelta(t, 1-then["bounded_slowdown_mean"]/now["bounded_slowdown_mean"], float64(r.Gain), 1e-12)

	var kinds []string
	for _, l := range append(slices.Clone(r.Losers), r.Gainers...) {
		kinds = append(kinds, l.By)
	}
	require.Contains(t, strings.Join(kinds, " "), "tenant")
	require.Contains(t, strings.Join(kinds, " "), "vcluster")
	require.Positive(t, losers.Growth(r.Losers[0].Loser))
}
