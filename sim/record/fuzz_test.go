package record

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// FuzzReadJobs feeds the reader any bytes in the place of jobs.parquet: it
// must end with rows or with a DataError that names the file.
func FuzzReadJobs(f *testing.F) {
	w, err := Create(filepath.Join(f.TempDir(), "run"), testMeta())
	if err != nil {
		f.Fatal(err)
	}
	jobs, _ := testRows(40)
	for i := range jobs {
		w.Job(&jobs[i])
	}
	if err := errors.Join(w.WriteJSON(FileRun, 1), w.Close()); err != nil {
		f.Fatal(err)
	}
	sound, err := os.ReadFile(filepath.Join(w.dir, "jobs.parquet"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sound)
	f.Add(sound[:len(sound)/2])
	f.Add([]byte("PAR1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "jobs.parquet")
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		table, err := openTable(&manifest{dir: filepath.Dir(path)}, TableJobs)
		if err == nil {
			err = table.Scan(func(*Columns) error { return nil })
			_ = table.Close()
		}
		var data *DataError
		if err != nil && (!errors.As(err, &data) || data.File != path) {
			t.Fatalf("%T: %v", err, err)
		}
	})
}

// FuzzInstants writes rows at instants and of spans as far apart as they can be, and reads them
// back: what comes is what was written.
func FuzzInstants(f *testing.F) {
	for _, t := range []int64{0, 1, -1, 1 << 40, 1 << 61, -1 << 61, math.MaxInt64, math.MinInt64} {
		f.Add(t, t, int64(0))
		f.Add(-t, t, t/2)
	}
	f.Fuzz(func(t *testing.T, submit, end, epoch int64) {
		meta := testMeta()
		meta.Epoch = model.Time(epoch / 4)                 // with it the instants are those of a calendar
		from, to := min(submit, end)/4, max(submit, end)/4 // and their distance is a span
		start := from + (to-from)/2
		w, err := Create(filepath.Join(t.TempDir(), "run"), meta)
		require.NoError(t, err)
		defer w.Abort()
		job := model.JobRecord{
			ID: end, User: -1, Submit: model.Time(from), Eligible: model.Time(from), Start: model.Time(start), End: model.Time(to),
			Runtime: model.Duration(to - start), Walltime: model.Duration(to - from), Procs: 1, Nodes: 1, Attempts: 1, State: model.Completed,
		}
		attempt := model.AttemptRecord{ID: end, Attempt: 1, Start: job.Start, End: job.End, Outcome: job.State, Procs: 1}
		attempt.Placement.Words = []model.NodeWord{{Mask: 1}}
		bins := []Bin{{Time: job.Submit, Width: job.Walltime, BusyUnitUS: submit, QueuedJobUS: end}}
		w.Job(&job)
		w.Attempt(&attempt)
		_, err = w.Seal()
		require.NoError(t, err)
		require.NoError(t, errors.Join(w.WriteSeries(bins), w.WriteJSON(FileRun, 1), w.Close()))

		run, err := Open(w.dir)
		require.NoError(t, err)
		defer run.Close()
		want, got := NewMemory(), NewMemory()
		want.Job(&job)
		want.Attempt(&attempt)
		require.NoError(t, run.Scan(func(c *Columns) error { appendColumns(&got.Jobs, c); return nil }))
		require.NoError(t, run.ScanAttempts(func(c *AttemptColumns) error { appendColumns(&got.Attempts, c); return nil }))
		require.Equal(t, want.Jobs, got.Jobs)
		require.Equal(t, want.Attempts, got.Attempts)
		read, err := run.Series()
		require.NoError(t, err)
		require.Equal(t, bins, read)
	})
}
