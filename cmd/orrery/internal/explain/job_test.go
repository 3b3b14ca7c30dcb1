package explain

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/explain"
)

// Where words show some of many changes, they say how many more there are.
func TestExplainSaysWhatItLeavesOut(t *testing.T) {
	for _, row := range []struct {
		intervals           int
		scores, sets, waits string
	}{
		{1, "", "", ""},
		{4, "", "", ""},
		{11, " (4 of 11 changes: the first and the latest 3; 7 more with -o json)", " (8 of 11 changes: the latest; 3 more with -o json)", " (1 more with -o json, which took no time)"},
	} {
		var e explain.Explanation
		for i := range row.intervals {
			e.Intervals = append(e.Intervals, explain.Interval{
				Seconds: 1, Reason: "RESOURCES", Score: &explain.Score{Order: "score", Factors: []explain.Factor{{Name: "wait_time"}}},
				Rejected: []explain.RejectedSet{{Nodes: fmt.Sprint("n", i), Why: "only 1 of the 2 that it needs"}},
			})
		}
		if row.waits != "" {
			e.Intervals = append(e.Intervals, explain.Interval{Reason: "PRIORITY"}, explain.Interval{Proposed: true})
		}
		_, _, left := scores(&e)
		require.Equal(t, row.scores, left)
		_, left = rejected(&e)
		require.Equal(t, row.sets, left)
		_, left = waits(&e)
		require.Equal(t, row.waits, left)
	}
}
