package compare

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/reports/internal/reporttest"
	"orrery/reports/page"
	"orrery/reports/plot"
	"orrery/sim/record"
)

func TestGanttOfMoves(t *testing.T) {
	c, err := Runs(reporttest.TempRun(t, reporttest.Tiny("fcfs")), reporttest.TempRun(t, movedTiny()))
	require.NoError(t, err)
	f, _, err := c.ganttOfMoves()
	require.NoError(t, err)
	require.Contains(t, f.Note, "jobs that start earlier in B: 1, later: 1, at the same time: 1")
	var one, two bytes.Buffer
	require.NoError(t, f.WriteSVG(&one))
	again, _, err := c.ganttOfMoves()
	require.NoError(t, err)
	require.NoError(t, again.WriteSVG(&two))
	require.Equal(t, one.String(), two.String())
	for _, col := range []string{"starts earlier in B", "starts later in B"} {
		require.Contains(t, one.String(), col)
	}
	if dir := os.Getenv("ORRERY_LOOK"); dir != "" {
		other := reporttest.Synthetic(400, 64, 0.8, 5)
		for i := range other.Jobs {
			if j := &other.Jobs[i]; i%7 == 3 {
				j.Start, j.End = j.Start+7200*reporttest.Second, j.End+7200*reporttest.Second
			}
		}
		c, err := Runs(reporttest.TempRun(t, reporttest.Synthetic(400, 64, 0.8, 5)), reporttest.TempRun(t, other))
		require.NoError(t, err)
		f, _, err := c.ganttOfMoves()
		require.NoError(t, err)
		require.NoError(t, (&page.Page{Figures: []*plot.Figure{f}}).Write(dir))
	}
}

// TestGanttOfMovesKnowsEachJob looks at how the reader tells jobs apart.
func TestGanttOfMovesKnowsEachJob(t *testing.T) {
	d := shiftReader{}
	for side, fixture := range []*reporttest.Fixture{reporttest.Tiny("fcfs"), movedTiny()} {
		f, err := record.Open(reporttest.TempRun(t, fixture))
		require.NoError(t, err)
		require.NoError(t, d.read(f, side, 0))
		require.NoError(t, f.Close())
	}
	require.Equal(t, []plot.Shift{plot.Unmoved, plot.Later, plot.Earlier, plot.Unmoved, plot.Unmoved}, d.shifts)
	f, err := record.Open(reporttest.TempRun(t, reporttest.Tiny("fcfs")))
	require.NoError(t, err)
	defer f.Close()
	require.Error(t, (&shiftReader{}).read(f, 0, 2), "a job beyond the rows of the trace")
	_, _, err = (&Comparison{A: Side{Dir: filepath.Join(t.TempDir(), "absent")}}).ganttOfMoves()
	require.Error(t, err)
}
