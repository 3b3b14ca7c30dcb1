package record

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// The recorder may not take the scheduler's time: about 500 ns for the two
// rows of a job. Run with
//
//	go test ./sim/record -run xxx -bench Writer -benchtime 1000000x
func BenchmarkWriter(b *testing.B) {
	jobs, attempts := testRows(1 << 16)
	for i := range jobs { // as in most logs, few values are missing
		j := &jobs[i]
		if j.User = int32(i % 3); i%100 != 0 && j.Attempts == 0 {
			j.Start, j.Attempts, j.State, j.Reason = j.End, 1, model.Completed, model.ReasonNone
		}
		if i%20 != 0 {
			j.State, j.Reason = model.Completed, model.ReasonNone
		}
		if i%50 != 0 {
			j.Walltime = model.Duration(1+i%7) * model.Hour
		}
	}
	for i := range attempts { // one to three ranges of nodes, as packing leaves them
		lo := i % 40
		attempts[i].Placement = model.Placement{Words: []model.NodeWord{{Word: int32(i % 4), Mask: 0xf << lo}}}
		if i%3 == 0 {
			attempts[i].Placement.Words = append(attempts[i].Placement.Words, model.NodeWord{Word: 4, Mask: 0b11000001 << lo})
		}
	}
	w, err := Create(filepath.Join(b.TempDir(), "run"), testMeta())
	require.NoError(b, err)
	defer w.Abort()
	b.ReportAllocs()
	b.ResetTimer()
	shift := jobs[len(jobs)-1].End - jobs[0].End
	for i := range b.N {
		k := i % len(jobs)
		if k == 0 && i > 0 {
			for j := range jobs {
				jobs[j].Submit += shift
				jobs[j].End += shift
			}
		}
		w.Job(&jobs[k])
		w.Attempt(&attempts[i%len(attempts)])
	}
	_, err = w.Seal()
	require.NoError(b, err)
}

func BenchmarkScan(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "run")
	w, err := Create(dir, testMeta())
	require.NoError(b, err)
	jobs, _ := testRows(1 << 18)
	for i := range jobs {
		w.Job(&jobs[i])
	}
	require.NoError(b, w.WriteJSON(FileRun, struct{}{}))
	require.NoError(b, w.Close())
	run, err := Open(dir)
	require.NoError(b, err)
	defer run.Close()
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += len(jobs) {
		require.NoError(b, run.Scan(func(*Columns) error { return nil }))
	}
}
