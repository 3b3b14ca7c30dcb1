package tunepage

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/metric"
	"orrery/sim/tune"
)

// TestGroupsNameTheirLog: of several logs the table of groups says of which.
func TestGroupsNameTheirLog(t *testing.T) {
	r := &tune.Report{Traces: []tune.TraceInfo{{Name: "may"}, {Name: "june"}}}
	for k := range r.Traces {
		g := tune.GroupLine{Trace: k, By: metric.ByRuntime, Name: "0-10m"}
		for _, name := range []string{"wait_mean", "wait_p95", "wait_p99", "wait_max", "bounded_slowdown_mean"} {
			g.Whole = append(g.Whole, tune.WholeLine{Metric: name, Now: 60, Then: 30})
		}
		r.Groups = append(r.Groups, g)
	}
	rows := Groups(r).Rows()
	require.Equal(t, []string{"may", "june"}, []string{rows[0][0].Text, rows[1][0].Text})
	r.Traces, r.Groups = r.Traces[:1], r.Groups[:1]
	require.Equal(t, metric.ByRuntime, Groups(r).Rows()[0][0].Text)
}

func TestSettingsThatNoLongerApplyAreOneRow(t *testing.T) {
	all := []tune.SettingChange{
		{VCluster: "batch", Key: "order", Before: "score", After: "dirlab-f4"},
		{VCluster: "batch", Key: "weights.age", Before: "0.15"},
		{VCluster: "batch", Key: "weights.share", Before: "0.5"},
		{VCluster: "batch", Key: "age_limit", Before: "7d"},
		{VCluster: "small", Key: "depth", Before: "100"},
		{VCluster: "small", Key: "backfill", Before: "conservative", After: "easy"},
	}
	table := Changes(&tune.Report{Changes: all})
	require.Equal(t, 4, table.Len())
	require.Equal(t, "–", table.Rows()[1][2].Text)
}
