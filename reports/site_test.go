package reports

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/internal/disk"
	"orrery/reports/internal/reporttest"
	"orrery/reports/plot"
	"orrery/sim/metric"
	"orrery/sim/record"
)

func TestReportOfASite(t *testing.T) {
	dir := reporttest.GuestSite(t, filepath.Join(t.TempDir(), "run"))
	html, markdown := pages(t, dir, Options{})
	for _, want := range []string{
		"on 12 nodes: 2 vClusters, each with its own profile",
		"1 job ended as FAILED",
		"| batch | hpc-batch | yes | yes | 48 | 48 |",
		"| services | service | no | yes | 48 | 48 |",
		"| ice | 6 | - | 50.0 % |",
		"| fire | - | 9 | 25.0 % |",
		"| earth | - | - | - |",
		"| energy | kWh | 2.40 | 2.38 |",
		"| FAILED | 1 |",
		"| vcluster | batch | 0.8 | 0.67 | 1.07 | 33.3 % | 0.16 |",
		"## Where GPU time went", "| other GPUs than recorded | 0.5 | 0.3 % |", "| power cap | - | - |",
		"figures/power.svg", "figures/energy-by-group.svg", "figures/run-time.svg",
		"figures/nodes-by-vcluster.svg", "figures/shares-by-tenant.svg", "figures/waits-by-group.svg", "figures/usage-by-tenant.svg", "figures/reasons.svg",
	} {
		require.Contains(t, markdown, want)
	}
	for _, want := range []string{`id="site"`, "What each vCluster held over time", "free nodes (RESOURCES)", "share_deviation_max", `id="tenants"`} {
		require.Contains(t, html, want)
	}
}

// Nodes held, layer by layer, are those of the bins.
func TestStackOfASite(t *testing.T) {
	r, err := load(reporttest.GuestSite(t, filepath.Join(t.TempDir(), "run")), 10)
	require.NoError(t, err)
	defer r.close()
	st := r.site.stack()
	require.Equal(t, "nodes", st.Unit)
	require.EqualValues(t, 12, st.Units)
	require.Len(t, st.Layers, 2)
	held, borrowed := 0.0, 0.0
	for i := range st.Layers[1].Held {
		held += st.Layers[1].Held[i] * float64(st.WidthUS)
		borrowed += st.Layers[1].Borrowed[i] * float64(st.WidthUS)
	}
	require.Greater(t, borrowed, 0.0)
	require.Less(t, borrowed, held)
	var lent int64
	for _, g := range r.site.groups(metric.ByVCluster, metric.All) {
		lent += *g.LentUS
	}
	require.InDelta(t, borrowed, float64(lent), 1)
}

// Results that contradict themselves are refused, not drawn.
func TestSiteThatContradictsItself(t *testing.T) {
	dir := reporttest.GuestSite(t, filepath.Join(t.TempDir(), "run"))
	path := filepath.Join(dir, record.FileMetrics)
	text := strings.Replace(string(reporttest.Read(t, path)), `"by": "tenant"`, `"by": "nobody"`, 1)
	require.NoError(t, disk.WriteFile(path, []byte(text)))
	_, err := load(dir, 10)
	var data *record.DataError
	require.ErrorAs(t, err, &data)
	require.ErrorContains(t, err, "other tenants")
}

// A report of another run says nothing of sites.
func TestReportOfNoSite(t *testing.T) {
	html, markdown := pages(t, reporttest.TempRun(t, reporttest.Tiny("fcfs")), Options{})
	require.NotContains(t, strings.ToLower(markdown), "vcluster")
	require.NotContains(t, html, `id="site"`)
}

// Rows and tenants without values, and empty layers, are drawn as nothing.
func TestSiteFiguresOfNothing(t *testing.T) {
	for _, f := range []*plot.Figure{
		plot.NodesByVCluster(plot.Stack{Unit: "nodes"}, plot.Clock{}, plot.Window{}, plot.Shown{}),
		plot.NodesByVCluster(plot.Stack{Unit: "nodes", WidthUS: 1, Layers: []plot.Layer{{Name: "a"}}}, plot.Clock{}, plot.Window{FromUS: 1, ToUS: 2}, plot.Shown{}),
		plot.WaitsByGroup([]plot.WaitRow{{}, {Name: "a"}}),
		plot.Shares([]plot.BarRow{{Name: "a", Target: -1}}, "node time", "whole run"),
		plot.Reasons(nil),
	} {
		require.NoError(t, f.WriteSVG(&strings.Builder{}), fmt.Sprint(f.Name))
	}
}
