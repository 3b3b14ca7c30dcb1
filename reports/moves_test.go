package reports

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/reports/plot"
	"orrery/sim/record"
)

func TestGanttOfMoves(t *testing.T) {
	c, err := Compare(tempRun(t, tiny("fcfs")), tempRun(t, movedTiny()))
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
		other := synthetic(400, 64, 0.8, 5)
		for i := range other.jobs {
			if j := &other.jobs[i]; i%7 == 3 {
				j.Start, j.End = j.Start+7200*second, j.End+7200*second
			}
		}
		c, err := Compare(tempRun(t, synthetic(400, 64, 0.8, 5)), tempRun(t, other))
		require.NoError(t, err)
		f, _, err := c.ganttOfMoves()
		require.NoError(t, err)
		require.NoError(t, writeFigures(dir, f))
	}
}

// TestGanttOfMovesKnowsEachJob looks at how the reader tells jobs apart.
func TestGanttOfMovesKnowsEachJob(t *testing.T) {
	d := shiftReader{}
	for side, fixture := range []*fixture{tiny("fcfs"), movedTiny()} {
		f, err := record.Open(tempRun(t, fixture))
		require.NoError(t, err)
		require.NoError(t, d.read(f, side, 0))
		require.NoError(t, f.Close())
	}
	require.Equal(t, []plot.Shift{plot.Unmoved, plot.Later, plot.Earlier, plot.Unmoved, plot.Unmoved}, d.shifts)
	f, err := record.Open(tempRun(t, tiny("fcfs")))
	require.NoError(t, err)
	defer f.Close()
	require.Error(t, (&shiftReader{}).read(f, 0, 2), "a job beyond the rows of the trace")
	_, _, err = (&Comparison{A: Side{Dir: filepath.Join(t.TempDir(), "absent")}}).ganttOfMoves()
	require.Error(t, err)
}
