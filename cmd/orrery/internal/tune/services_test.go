package tune_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
	"orrery/profiles"
	"orrery/sim/tune"
)

// TestTheCommandOfTunedServices runs the command that tune prints for a policy of a service: it
// gives the figures of the recommendation. Then the tune goes on with what is there.
func TestTheCommandOfTunedServices(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	var log strings.Builder
	for i := range 540 {
		fmt.Fprintf(&log, "%d %d 0 %d 1 -1 -1 1 600 -1 1 1 1 -1 1 -1 -1 -1\n", i+1, i*60, 120+i*37%7*30)
	}
	require.NoError(t, os.WriteFile("work.swf", []byte(log.String()), 0o600))
	require.NoError(t, os.WriteFile("site.yaml", []byte(clitest.AServedSite), 0o600))
	command := []string{
		"tune", "work.swf", "--cluster", "site.yaml", "--out", "tuned", "--vary", "services.chat.policy.target=0.3..0.95", "--vary", "services.chat.policy.down_window=30s..15m",
		"--vary", "weights=wait_time,fair_share", "--objective", "service_node_hours", "--subject-to", "service_missed <= 20%",
		"--windows", "20", "--replicas", "3", "--points", "12", "--trajectories", "2", "--sobol", "0", "--loads", "none",
	}
	out := clitest.Run(t, command...)
	require.Zero(t, out.Code, out.Stderr)
	require.Contains(t, out.Stdout, "services.chat.policy.target")
	next := regexp.MustCompile(`Next: orrery (replay work\.swf --cluster \./tuned/cluster\.yaml)\n`).FindStringSubmatch(out.Stdout)
	require.NotNil(t, next, out.Stdout)
	var report struct {
		Schema         int
		Verdict, About string
		Finalists      []struct {
			Name  string
			Whole []struct {
				Metric string
				Then   *float64
			}
		}
	}
	text, err := os.ReadFile("tuned/tune.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &report))
	require.Equal(t, tune.Change, report.Verdict)
	require.Equal(t, 5, report.Schema)

	c, err := profiles.LoadCluster("tuned/cluster.yaml")
	require.NoError(t, err)
	require.Greater(t, c.Services[0].Policy.Target, 0.3)
	rerun := clitest.Run(t, append(strings.Fields(next[1]), "--out", "run", "-q")...)
	require.Zero(t, rerun.Code, rerun.Stderr)
	have := clitest.WholeMetrics(t, "run/metrics.json")
	told := 0
	for _, f := range report.Finalists {
		if f.Name != report.About {
			continue
		}
		for _, l := range f.Whole {
			if want, ok := have[l.Metric]; ok && l.Then != nil {
				require.InDelta(t, want, *l.Then, 0, l.Metric)
				told++
			}
		}
	}
	require.GreaterOrEqual(t, told, 5, "the objective, the bound and numbers of the jobs")

	again := clitest.Run(t, command...)
	require.Equal(t, out.Stdout, again.Stdout)
	require.Contains(t, again.Stderr, "not to be computed again")
	page, err := os.ReadFile("tuned/report.html")
	require.NoError(t, err)
	require.Contains(t, string(page), "services.chat.policy.target")
	theClusterFilesOfTheRows(t)

	require.Equal(t, cli.ExitUsage, clitest.Run(t, "tune", "work.swf", "--cluster", "site.yaml", "--out", ".", "--vary", "services.chat.min=5..9").Code)
	require.NoError(t, os.MkdirAll("mine", 0o700))
	require.NoError(t, os.WriteFile(filepath.Join("mine", "cluster.yaml"), []byte(clitest.AServedSite), 0o600))
	foreign := clitest.Run(t, "tune", "work.swf", "--cluster", "mine/cluster.yaml", "--out", "mine")
	require.Equal(t, cli.ExitUsage, foreign.Code)
	require.Contains(t, foreign.Stderr, "found cluster.yaml there", "a cluster file of the user is not written over")
}

// theClusterFilesOfTheRows writes the cluster files of what is current and of what is
// recommended by the commands of their rows: they have the values of their rows, and the
// second the services of the file that tune wrote.
func theClusterFilesOfTheRows(t *testing.T) {
	t.Helper()
	var doc struct {
		Parameters []struct{ Name string }
		Rows       []struct {
			Role     string
			Values   []*float64
			Commands []string
		}
	}
	text, err := os.ReadFile("tuned/report.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &doc))
	at := -1
	for j, p := range doc.Parameters {
		if p.Name == "services.chat.policy.target" {
			at = j
		}
	}
	require.GreaterOrEqual(t, at, 0)
	t.Chdir("tuned")
	seen := map[string]bool{}
	for _, row := range doc.Rows {
		if row.Role != "chosen" && row.Role != "current" {
			continue
		}
		seen[row.Role] = true
		require.Contains(t, row.Commands[1], "orrery study cluster study ")
		words := strings.Fields(strings.TrimSuffix(row.Commands[1], " --out cluster.yaml"))[1:]
		got := clitest.Run(t, append(words, "--out", "../row-"+row.Role+".yaml")...)
		require.Zero(t, got.Code, got.Stderr)
		c, err := profiles.LoadCluster("../row-" + row.Role + ".yaml")
		require.NoError(t, err)
		require.NotNil(t, row.Values[at], row.Role)
		require.InDelta(t, c.Services[0].Policy.Target, *row.Values[at], 0.0005, row.Role)
	}
	require.Equal(t, map[string]bool{"chosen": true, "current": true}, seen)
	chosen, err := profiles.LoadCluster("../row-chosen.yaml")
	require.NoError(t, err)
	told, err := profiles.LoadCluster("cluster.yaml")
	require.NoError(t, err)
	require.Equal(t, told.Services, chosen.Services)
	t.Chdir("..")
}
