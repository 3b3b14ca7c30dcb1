package rundir

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/record"
)

// Units are listed where nodes differ, and nodes are named where all have a name.
func TestClusterOf(t *testing.T) {
	require.Equal(t, Cluster{Nodes: 3, Units: 12}, ClusterOf(model.UniformCluster(3, 4, false), nil))
	mixed := model.Cluster{Units: []int32{4, 8}, Whole: true}
	site := &model.Site{Nodes: []model.Node{{Name: "n1"}, {Name: "n2"}}}
	require.Equal(t, Cluster{Nodes: 2, Units: 12, Whole: true, NodeUnits: []int32{4, 8}, NodeNames: "n[1-2]"}, ClusterOf(mixed, site))
	site.Nodes[1].Name = ""
	require.Empty(t, ClusterOf(mixed, site).NodeNames)
}

// The document is written with the rest, and host.json only where there is a host.
func TestWrite(t *testing.T) {
	for _, host := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "run")
		w, err := record.Create(dir, record.Meta{SpecID: "s"})
		require.NoError(t, err)
		jobs, err := w.Seal()
		require.NoError(t, err)
		series, err := metric.NewSeries(metric.Config{Units: 4, LastSubmit: model.AbsentTime})
		require.NoError(t, err)
		table, err := metric.Compute(jobs, series)
		require.NoError(t, err)
		c := Contents{Document: Document{Fingerprint: "f", Verdict: table.Verdict}, Metrics: table, Series: series, Work: 5}
		if host {
			c.Host = func() any { return "here" }
		}
		require.NoFileExists(t, filepath.Join(dir, record.FileRun), "the directory appears whole")
		require.NoError(t, Write(w, &c))
		text, err := os.ReadFile(filepath.Join(dir, record.FileRun))
		require.NoError(t, err)
		var d Document
		require.NoError(t, json.Unmarshal(text, &d))
		require.Equal(t, "f", d.Fingerprint)
		_, err = os.Stat(filepath.Join(dir, record.FileHost))
		require.Equal(t, host, err == nil)
		require.FileExists(t, filepath.Join(dir, record.FileWork))
		require.NoFileExists(t, filepath.Join(dir, "tenants.parquet"), "of a site alone")
	}
}
