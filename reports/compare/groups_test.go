package compare

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/reports/internal/reporttest"
	"orrery/reports/internal/rundata"
	"orrery/sim/metric"
	"orrery/sim/record"
)

// Groups are matched by what they are of, their name and their window; one that
// only one of the runs has stands alone.
func TestGroupDifferences(t *testing.T) {
	of := func(by, name string, wait float64, jobs int64) record.Group {
		return record.Group{By: by, Name: name, Window: "all", Jobs: jobs, Started: jobs, WaitMean: &wait, LostUS: 7_200_000_000}
	}
	d := diffGroups(
		&metric.Table{Groups: []record.Group{of("vcluster", "ml", 10, 4), of("tenant", "ice", 8, 2)}},
		&metric.Table{Groups: []record.Group{of("tenant", "ml", 3, 1), of("vcluster", "ml", 5, 4)}})
	require.Len(t, d, 3)
	ml, ice, other := &d[0], &d[1], &d[2]
	require.Equal(t, []string{"vcluster", "ml", "tenant", "ice", "tenant", "ml"}, []string{ml.By, ml.Name, ice.By, ice.Name, other.By, other.Name})
	require.Equal(t, -5.0, *ml.metric("wait_mean").Diff)
	require.Equal(t, "differs", ml.metric("wait_mean").Change)
	require.Equal(t, 2.0, *ml.metric("lost_gpu_hours").A)
	require.EqualValues(t, 2, *ice.JobsA)
	require.Nil(t, ice.JobsB)
	require.Nil(t, ice.metric("wait_mean").Diff)
	require.Nil(t, other.JobsA)
	require.Equal(t, 3.0, *other.metric("wait_mean").B)
	require.Nil(t, other.metric("share").B)
	require.Equal(t, 3, (&Comparison{Groups: d}).GroupTable().Len())
}

func TestCompareOfSites(t *testing.T) {
	dir := reporttest.GuestSite(t, filepath.Join(t.TempDir(), "run"))
	f, err := record.Open(dir)
	require.NoError(t, err)
	defer f.Close()
	tab, err := rundata.ReadMetrics(f)
	require.NoError(t, err)
	d := diffGroups(&tab, &tab)
	require.Len(t, d, len(tab.Groups))
	for i := range d {
		require.Equal(t, d[i].JobsA, d[i].JobsB)
		for _, m := range d[i].Metrics {
			require.Equal(t, m.A, m.B)
			require.Contains(t, []string{"", "same"}, m.Change)
		}
	}
	require.Empty(t, diffGroups(&metric.Table{}, &metric.Table{}))
}
