package agent

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// dashboard is what the test reads of one of Grafana.
type dashboard struct {
	Templating struct {
		List []struct{ Name, Definition string }
	}
	Panels []struct {
		ID      int
		Type    string
		Title   string
		GridPos struct{ H, W, X, Y int }
		Targets []struct{ Expr string }
	}
}

// Each metric that the dashboard names is one that the agent gives, and sums by labels that it has, and each metric of a GPU or node is on it.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../deploy/grafana.json")
	require.NoError(t, err)
	var d dashboard
	require.NoError(t, json.Unmarshal(text, &d))
	described := make(chan *prometheus.Desc, 200)
	newStats("n1").registry.Describe(described)
	close(described)
	fact := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	labels := map[string][]string{}
	for desc := range described {
		m := fact.FindStringSubmatch(desc.String())
		require.NotNil(t, m, desc)
		labels[m[1]] = append(regexp.MustCompile(`\w+`).FindAllString(m[2], -1), "node")
	}
	named := map[string]bool{}
	metric := regexp.MustCompile(`\b(?:orrery|process|go)_\w+`)
	by := regexp.MustCompile(`by \(([^)]*)\)`)
	check := func(where, expr string) {
		found := metric.FindAllString(expr, -1)
		require.NotEmpty(t, found, where)
		for _, name := range found {
			require.Contains(t, labels, name, where)
			named[name] = true
			for _, m := range by.FindAllStringSubmatch(expr, -1) {
				for _, label := range regexp.MustCompile(`\w+`).FindAllString(m[1], -1) {
					require.Contains(t, labels[name], label, "%s: %s", where, expr)
				}
			}
		}
	}
	for _, v := range d.Templating.List {
		if v.Definition != "" {
			check(v.Name, v.Definition)
		}
	}
	ids := map[int]bool{}
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		require.False(t, ids[p.ID], "%s: its id is that of another", p.Title)
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				require.Empty(t, taken[[2]int{x, y}], "%s lies over another", p.Title)
				taken[[2]int{x, y}] = p.Title
			}
		}
		require.Equal(t, p.Type == "row", len(p.Targets) == 0, p.Title)
		for _, target := range p.Targets {
			check(p.Title, target.Expr)
		}
	}
	for _, m := range slices.Concat(gpuMetrics, nodeMetrics) {
		name := fact.FindStringSubmatch(m.desc.String())[1]
		require.True(t, named[name] || name == "orrery_gpu_throttle_reasons", "%s is on no panel", name)
	}
}
