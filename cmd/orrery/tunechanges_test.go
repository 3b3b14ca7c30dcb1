package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/gate"
	"orrery/sim/tune"
)

func TestSettingsThatNoLongerApplyAreOneRow(t *testing.T) {
	all := []tune.SettingChange{
		{VCluster: "batch", Key: "order", Before: "score", After: "dirlab-f4"},
		{VCluster: "batch", Key: "weights.age", Before: "0.15"},
		{VCluster: "batch", Key: "weights.share", Before: "0.5"},
		{VCluster: "batch", Key: "age_limit", Before: "7d"},
		{VCluster: "small", Key: "depth", Before: "100"},
		{VCluster: "small", Key: "backfill", Before: "conservative", After: "easy"},
	}
	require.Equal(t, []tune.SettingChange{
		all[0],
		{VCluster: "batch", Key: "and 3 settings of score", After: "no longer apply"},
		all[4], all[5],
	}, changesInShort(all))
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
