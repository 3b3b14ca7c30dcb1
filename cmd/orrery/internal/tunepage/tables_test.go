package tunepage

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/losers"
	"orrery/sim/tune"
)

// TestPayersNameTheirLog: of several logs the table of groups says of which, and those that
// wait longer stand before those that wait less.
func TestPayersNameTheirLog(t *testing.T) {
	r := &tune.Report{Traces: []tune.TraceInfo{{Name: "may"}, {Name: "june"}}}
	for k := range r.Traces {
		r.Losers = append(r.Losers, tune.LoserLine{Trace: k, Loser: losers.Loser{By: "runtime", Name: "6h+", Hours: 12.4, WaitNow: 60, WaitThen: 300}})
	}
	r.Gainers = []tune.LoserLine{{Loser: losers.Loser{By: "user", Name: "u1", Hours: -3, WaitNow: 300, WaitThen: 60}}}
	rows := Payers(r).Rows
	require.Equal(t, []string{"may", "june", "may"}, []string{rows[0][0].Text, rows[1][0].Text, rows[2][0].Text})
	require.Equal(t, "+12", rows[0][7].Text)
	require.Equal(t, "-3", rows[2][7].Text)
	r.Traces, r.Losers = r.Traces[:1], r.Losers[:1]
	require.Equal(t, "runtime", Payers(r).Rows[0][0].Text)
}
