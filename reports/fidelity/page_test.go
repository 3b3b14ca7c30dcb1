package fidelity

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/reports/page"
	"orrery/scheduler/model"
	"orrery/sim/fidelity"
)

// reported are 80 jobs of two users, of which a replay starts each a second late and in its own order, and a
// second run of the site.
func reported(t *testing.T) *fidelity.Report {
	t.Helper()
	record := func(name string, late int64) *fidelity.Record {
		r := &fidelity.Record{Name: name, Resolution: model.Second}
		for i := range int64(80) {
			start := model.Time((10*i + i*7919%97 + late*(i%3)) * int64(model.Second))
			r.Jobs = append(r.Jobs, fidelity.Job{
				User: []string{"ann", "<bob>"}[i%2], Submit: model.Time(i * int64(model.Second)), Start: start, End: start.Add(20 * model.Second),
				CPUs: int32(1 + i%2), Walltime: model.Minute,
			})
		}
		return r
	}
	first := record("first", 0)
	var d fidelity.Draw
	for i := range first.Jobs {
		d.Times = append(d.Times, fidelity.Times{Start: first.Jobs[i].Start.Add(model.Second), End: first.Jobs[i].End.Add(model.Second)})
	}
	r, err := fidelity.Compare(context.Background(), []*fidelity.Record{first, record("second", 5)}, []fidelity.Draw{d}, 1)
	require.NoError(t, err)
	return r
}

func TestPage(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, Write(dir, reported(t), page.Made{Version: "1", Command: "orrery", Date: "d"}))
	text, err := os.ReadFile(filepath.Join(dir, page.FileHTML))
	require.NoError(t, err)
	for _, part := range []string{"What may be concluded", "Between real runs", "&lt;bob&gt;", "By size", "wasserstein", "<svg"} {
		require.Contains(t, string(text), part)
	}
	require.NotContains(t, string(text), "<bob>")
	for _, name := range []string{"waits-per-job", "error-by-size"} {
		require.FileExists(t, filepath.Join(dir, page.DirFigures, name+".svg"))
		require.FileExists(t, filepath.Join(dir, page.DirFigures, name+".png"))
	}
}

func TestTables(t *testing.T) {
	r := reported(t)
	require.Contains(t, Lead(r), "80 jobs waited")
	require.Contains(t, About(r), "1 draw of the replay")
	require.Contains(t, About(r), "with fewer than 40 the least and the largest")
	table := Table(r)
	require.Len(t, table.Rows, 3+len(fidelity.Definitions()))
	require.Equal(t, "mean_wait_recorded_s", table.Rows[0][0].Text)
	require.Nil(t, table.Rows[0][2].JSON, "what is recorded has no interval")
	groups := Groups(r)
	require.Equal(t, []string{"size", "user"}, []string{groups[0].Of, groups[1].Of}, "of what the record knows")
	require.Len(t, groups[1].Table.Rows, 2)
	require.Len(t, ConclusionTable(r).Rows, 7)
	require.Contains(t, AboutSpread(r.Spread), "2 recorded runs of the same jobs, matched by position in the order of submission")
	require.Len(t, PairTable(r.Spread).Rows, 1)
	require.Len(t, AgainstTable(r.Spread).Rows, 2)
	require.Equal(t, "an error of +5.0 % (-1.0 % to +12.0 % over the draws)", errorWords(fidelity.Interval{Value: 0.05, Low: -0.01, High: 0.12}))
	none := *r
	none.All.Measures[fidelity.WaitError] = fidelity.Interval{}
	none.LeftOut = []fidelity.LeftOut{{Why: "why", Jobs: 2}}
	require.Contains(t, About(&none), "Not compared: 2 jobs, why.")
}
