package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/gate"
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
	rows := tuneGroups(r).Rows()
	require.Equal(t, []string{"may", "june"}, []string{rows[0][0].Text, rows[1][0].Text})
	r.Traces, r.Groups = r.Traces[:1], r.Groups[:1]
	require.Equal(t, metric.ByRuntime, tuneGroups(r).Rows()[0][0].Text)
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
	table := tuneChanges(&tune.Report{Changes: all})
	require.Equal(t, 4, table.Len())
	require.Equal(t, "–", table.Rows()[1][2].Text)
}

func TestBoundsAreSaidWithTheirUnits(t *testing.T) {
	found := tuneSettings{Settings: []tuneSetting{{"--subject-to", "wait_max <= 1.2096e+06, utilisation >= 0.5"}}}
	given := tuneSettings{Settings: []tuneSetting{{"--subject-to", "default"}}}
	require.Equal(t, "--subject-to wait_max <= 14d00:00:00, utilisation >= 0.5, not default", found.others(&given))
	given.Settings[0].Value = "wait_max <= 1.2096000001e+06, utilisation >= 0.5"
	require.Contains(t, found.others(&given), "1.2096e+06", "where people would see no difference")
}

func TestGateSaysWhatAHoldingCheckFinds(t *testing.T) {
	part := 0.0571
	require.Equal(t, "(finds 5.7 %)", findsText(&gate.Finding{Numbers: []gate.Quantity{{Name: "gain"}, {Name: "detectable", Value: &part}}}))
	require.Empty(t, findsText(&gate.Finding{Numbers: []gate.Quantity{{Name: "gain", Value: &part}}}))
}
