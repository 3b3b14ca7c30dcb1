package record

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"orrery/internal/disk"
	"orrery/scheduler/model"
)

// ownAndLibrarys are the bytes of a table of n rows, and those that the Parquet library writes by itself.
func ownAndLibrarys[T any](t *testing.T, name string, n int, row func(i int) T) (own, librarys []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	meta := Meta{Epoch: 7, SpecID: "spec"}
	root, err := disk.OpenRoot(filepath.Dir(path), disk.Anyone)
	require.NoError(t, err)
	table, err := newTable[T](root, path, name, meta)
	require.NoError(t, err)
	var whole bytes.Buffer
	w := parquet.NewGenericWriter[T](&whole, tableOptions(name, meta)...)
	for i := range n {
		*table.next() = row(i)
		if table.full() || i == n-1 {
			_, err := w.Write(table.rows)
			require.NoError(t, err)
		}
		if table.full() {
			require.NoError(t, table.spill())
		}
	}
	require.NoError(t, w.Close())
	require.NoError(t, table.close(map[string]string{}))
	own, err = os.ReadFile(path)
	require.NoError(t, err)
	return own, whole.Bytes()
}

// TestTablesAreThoseOfTheLibrary: what is written as parts has the bytes of what is written at once, with
// no row group, one, all of a part, and some of the next ones.
func TestTablesAreThoseOfTheLibrary(t *testing.T) {
	const part = partGroups * rowGroupRows
	rng := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{0, 1, rowGroupRows, rowGroupRows + 1, part - 1, part, part + 1, 2*part + 3*rowGroupRows + 5} {
		own, librarys := ownAndLibrarys(t, TableSeries, n, func(i int) seriesRow {
			return seriesRow{Time: int64(i) * 60_000_000, Width: 60_000_000, BusyUnitUS: rng.Int64N(1 << 40), QueuedJobsMax: rng.Int32N(9), Ends: int32(i)}
		})
		require.True(t, bytes.Equal(own, librarys), n)
	}
	start := int64(5)
	own, librarys := ownAndLibrarys(t, TableJobs, part+rowGroupRows+9, func(i int) jobRow {
		r := jobRow{Job: int32(i), ID: int64(i), End: int64(i), State: "COMPLETED", Procs: rng.Int32N(64)}
		if i/rowGroupRows%3 > 0 { // row groups without any
			r.User, r.Start = fmt.Sprint("user", rng.IntN(200)), &start
		}
		return r
	})
	require.True(t, bytes.Equal(own, librarys))
	own, librarys = ownAndLibrarys(t, TableAttempts, part+rowGroupRows, func(i int) attemptRow {
		r := attemptRow{Job: int32(i), Attempt: 1, Outcome: "TIMEOUT", Nodes: fmt.Sprint(rng.IntN(1e6), "-", i)}
		if i%5 == 0 {
			r.Shares = fmt.Sprint(i, ":4")
		}
		return r
	})
	require.True(t, bytes.Equal(own, librarys))
}

// TestSealedTableIsReadAsParts: what Seal hands out has the rows of the table, from its first part to its
// last, as often as it is asked.
func TestSealedTableIsReadAsParts(t *testing.T) {
	for _, n := range []int{0, 1, partGroups * rowGroupRows, partGroups*rowGroupRows + 1} {
		dir := filepath.Join(t.TempDir(), "run")
		w, err := Create(dir, Meta{SpecID: "spec"})
		require.NoError(t, err)
		for i := range n {
			w.Job(&model.JobRecord{Job: model.JobID(i), User: -1, ID: int64(i) * 3, End: model.Time(i / 2), State: model.Completed})
		}
		sealed, err := w.Seal()
		require.NoError(t, err)
		for range 2 {
			next := 0
			require.NoError(t, sealed.Scan(func(c *Columns) error {
				for i, job := range c.Job {
					if int(job) != next || c.ID[i] != int64(next)*3 || c.End[i] != int64(next/2) {
						return fmt.Errorf("row %d is job %d", next, job)
					}
					next++
				}
				return nil
			}))
			require.Equal(t, n, next)
		}
		w.Abort()
	}
}
