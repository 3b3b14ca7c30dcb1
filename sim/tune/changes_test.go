package tune

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSettingsThatNoLongerApplyAreOneRow: they are counted by vCluster, from three on.
func TestSettingsThatNoLongerApplyAreOneRow(t *testing.T) {
	all := []SettingChange{
		{VCluster: "batch", Key: "order", Before: "score", After: "dirlab-f4"},
		{VCluster: "batch", Key: "weights.age", Before: "0.15"},
		{VCluster: "batch", Key: "weights.share", Before: "0.5"},
		{VCluster: "batch", Key: "age_limit", Before: "7d"},
		{VCluster: "small", Key: "depth", Before: "100"},
		{VCluster: "small", Key: "backfill", Before: "conservative", After: "easy"},
	}
	require.Equal(t, []SettingChange{
		all[0],
		{VCluster: "batch", Key: "and 3 settings of score", After: "no longer apply"},
		all[4], all[5],
	}, (&Report{Changes: all}).ChangesInShort())
	table := (&Report{Changes: all}).ChangeTable()
	require.Equal(t, 4, table.Len())
	require.Equal(t, "–", table.Rows[1][2].Text)
}
