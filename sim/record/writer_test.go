package record

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

var testUsers = []string{"ada", "grace", "edsger", "", "barbara"}

// testRows makes n jobs that leave in order, with every kind of missing value.
func testRows(n int) ([]model.JobRecord, []model.AttemptRecord) {
	r := rand.New(rand.NewPCG(1, 2))
	jobs, attempts := make([]model.JobRecord, n), make([]model.AttemptRecord, 0, n)
	end := model.Time(-5_000_000)
	for i := range jobs {
		end += model.Time(r.IntN(3)) * model.Time(7*model.Second)
		wait, run := model.Duration(r.IntN(5))*model.Minute, model.Duration(r.IntN(90))*model.Second
		j := model.JobRecord{
			Job: model.JobID(i), ID: int64(i)*3 - 7, User: int32(r.IntN(4)) - 1,
			Submit: end.Add(-run - wait), Eligible: end.Add(-run - wait), Start: end.Add(-run), End: end,
			Runtime: run, Walltime: model.Duration(r.IntN(3)) * model.Hour, Procs: 1 + int32(r.IntN(60)),
			Nodes: 1 + int32(r.IntN(60)), Attempts: 1, State: model.Completed,
		}
		switch r.IntN(8) {
		case 0:
			j.Start, j.Runtime, j.Attempts, j.Nodes, j.State, j.Reason = model.AbsentTime, 0, 0, 0, model.Cancelled, model.ReasonCancelled
		case 1:
			j.Walltime = model.Forever
		case 2:
			j.Start, j.Submit, j.Eligible, j.Runtime = j.End, j.End, j.End, 0
		case 3:
			j.State, j.Reason = model.Timeout, model.ReasonWalltimeLimit
		}
		jobs[i] = j
		if j.Attempts > 0 {
			attempts = append(attempts, model.AttemptRecord{
				Job: j.Job, ID: j.ID, Attempt: 1, Start: j.Start, End: j.End, Outcome: j.State, Procs: j.Procs,
				Placement: testPlacement(r, i),
			})
		}
	}
	return jobs, attempts
}

func testPlacement(r *rand.Rand, i int) model.Placement {
	if i%2 == 0 {
		return model.Placement{Words: []model.NodeWord{{Word: int32(r.IntN(3)), Mask: r.Uint64() | 1}, {Word: 5, Mask: 0xff}}}
	}
	return model.Placement{Shares: []model.NodeShare{{Node: 3, Units: 4}, {Node: 4, Units: 4}, {Node: model.NodeID(9 + r.IntN(100)), Units: 1}}}
}

var testBins = []Bin{
	{Time: -5_000_000, Width: 1_000_000, BusyUnitUS: 3, QueuedJobUS: 4, QueuedUnitUS: 5, RunningJobUS: 6, QueuedJobsMax: 7, BusyUnitsMax: 8, QueuedUnitsMax: 9, Starts: 10, Ends: 11, Submits: 12},
	{Time: -4_000_000, Width: 1_000_000},
}

const testEpoch model.Time = 1_000_000_000_000_000

func testMeta() Meta {
	return Meta{Epoch: testEpoch, SpecID: "abc", Users: func() []string { return testUsers }, Facts: true}
}

// writeRun writes a whole run to dir.
func writeRun(t *testing.T, dir string, n int) {
	t.Helper()
	w, err := Create(dir, testMeta())
	require.NoError(t, err)
	jobs, attempts := testRows(n)
	for i := range jobs {
		w.Job(&jobs[i])
	}
	for i := range attempts {
		w.Attempt(&attempts[i])
	}
	log := w.Log()
	log.Fact(5, &model.Fact{Kind: model.FactSubmitted, Job: 1, Ref: 2, Walltime: 0, Request: model.Request{Units: 4}})
	log.Fact(6, &model.Fact{Kind: model.FactAssigned, Job: 1, Ref: 2, Seq: 9, Placement: &model.Placement{Words: []model.NodeWord{{Mask: 0b1011}}}})
	_, err = w.Seal()
	require.NoError(t, err)
	require.NoError(t, w.WriteSeries(testBins))
	require.NoError(t, w.WriteJSON(FileRun, map[string]any{"b": 1, "a": []float64{0.1, 1e21, 3}}))
	require.NoError(t, w.WriteJSON(FileMetrics, map[string]any{"schema": 1}))
	require.NoError(t, w.Close())
}

func TestRowsMatchSchemas(t *testing.T) {
	for name, row := range map[string]any{TableJobs: jobRow{}, TableAttempts: attemptRow{}, TableSeries: seriesRow{}, TableFacts: logRow{}} {
		require.True(t, parquet.EqualNodes(schemas[name], parquet.SchemaOf(row)), "rows of %s take the slow path", name)
	}
	require.True(t, parquet.EqualNodes(wholeAttempts, parquet.SchemaOf(siteAttemptRow{})))
	for name, row := range map[string]any{
		TableJobs: siteJobRow{}, TableAttempts: sharedAttemptRow{}, TableTenants: groupRow{}, TableVClusters: groupRow{},
		TableShares: shareRow{}, TableDecisions: decisionRow{},
	} {
		require.True(t, parquet.EqualNodes(schemaOf(name), parquet.SchemaOf(row)), "rows of %s take the slow path", name)
	}
}

func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, batchRows, batchRows + 1, rowGroupRows + 70} {
		dir := filepath.Join(t.TempDir(), "deep", "run")
		writeRun(t, dir, n)
		run, err := Open(dir)
		require.NoError(t, err)
		defer run.Close()
		require.EqualValues(t, n, run.Rows())
		require.Equal(t, testEpoch, run.Epoch())
		require.Equal(t, "abc", run.SpecID())

		jobs, attempts := testRows(n)
		want := NewMemory()
		for i := range jobs {
			want.Job(&jobs[i])
		}
		for i := range attempts {
			want.Attempt(&attempts[i])
		}
		for range 2 { // Scan may be called again
			got := NewMemory()
			require.NoError(t, run.Scan(func(c *Columns) error {
				for i := range c.User {
					if c.User[i] >= 0 { // back to the index in testUsers
						name := run.Users()[c.User[i]]
						for k, u := range testUsers {
							if u == name {
								c.User[i] = int32(k)
							}
						}
					}
				}
				appendColumns(&got.Jobs, c)
				return nil
			}))
			require.Equal(t, want.Jobs, got.Jobs)
			require.NoError(t, run.ScanAttempts(func(c *AttemptColumns) error {
				appendColumns(&got.Attempts, c)
				return nil
			}))
			require.Equal(t, want.Attempts, got.Attempts)
		}
		bins, err := run.Series()
		require.NoError(t, err)
		require.Equal(t, testBins, bins)
	}
}

// appendColumns appends every column of src to dst.
func appendColumns[T any](dst, src *T) {
	d, s := reflect.ValueOf(dst).Elem(), reflect.ValueOf(src).Elem()
	for i := range d.NumField() {
		switch d.Field(i).Kind() {
		case reflect.Bool:
			d.Field(i).Set(s.Field(i))
			continue
		case reflect.Struct:
			for k := range d.Field(i).NumField() {
				d.Field(i).Field(k).Set(reflect.AppendSlice(d.Field(i).Field(k), s.Field(i).Field(k)))
			}
			continue
		}
		d.Field(i).Set(reflect.AppendSlice(d.Field(i), s.Field(i)))
	}
}

func TestBytesAreReproducible(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	writeRun(t, a, 5000)
	writeRun(t, b, 5000)
	entries, err := os.ReadDir(a)
	require.NoError(t, err)
	require.Len(t, entries, 6)
	for _, e := range entries {
		x, err := os.ReadFile(filepath.Join(a, e.Name()))
		require.NoError(t, err)
		y, err := os.ReadFile(filepath.Join(b, e.Name()))
		require.NoError(t, err)
		require.True(t, bytes.Equal(x, y), "%s differs", e.Name())
	}
}
