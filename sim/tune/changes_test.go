package tune

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/losers"
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

// TestPayersNameTheirLog: of several logs the table of groups says of which, and those that
// wait longer stand before those that wait less.
func TestPayersNameTheirLog(t *testing.T) {
	r := &Report{Traces: []TraceInfo{{Name: "may"}, {Name: "june"}}}
	for k := range r.Traces {
		r.Losers = append(r.Losers, LoserLine{Trace: k, Loser: losers.Loser{By: "runtime", Name: "6h+", Hours: 12.4, WaitNow: 60, WaitThen: 300}})
	}
	r.Gainers = []LoserLine{{Loser: losers.Loser{By: "user", Name: "u1", Hours: -3, WaitNow: 300, WaitThen: 60}}}
	rows := r.Payers(8, r.Losers, r.Gainers).Rows
	require.Equal(t, []string{"may", "june", "may"}, []string{rows[0][0].Text, rows[1][0].Text, rows[2][0].Text})
	require.Equal(t, "+12", rows[0][9].Text)
	require.Equal(t, "-3", rows[2][9].Text)
	r.Traces, r.Losers = r.Traces[:1], r.Losers[:1]
	require.Equal(t, "run time", r.Payers(8, r.Losers, r.Gainers).Rows[0][0].Text)
}
