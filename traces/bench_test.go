package traces_test

import (
	"errors"
	"io"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// writeMany writes n plausible jobs: sorted, 200 users, some nulls in every
// optional column that a replay reads.
func writeMany(t testing.TB, path string, n int) string {
	w, err := traces.NewWriter(path, traces.Meta{Epoch: 946_684_800_000_000, EpochKnown: true, Sorted: true})
	require.NoError(t, err)
	state, now := uint64(1), model.Time(0)
	next := func(k uint64) int64 { // SplitMix64
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return int64((z ^ z>>31) % k)
	}
	for i := range n {
		now = now.Add(model.Duration(next(120)) * model.Second)
		procs := int32(1) << next(8)
		j := traces.Job{
			ID: int64(i) + 1, User: "user" + strconv.FormatInt(next(200), 10), Submit: now,
			Walltime:       traces.Some(model.Duration(1+next(48)) * 30 * model.Minute),
			ProcsRequested: traces.Some(procs), ProcsAllocated: traces.Some(procs),
			ExitState: "COMPLETED", Partition: "batch",
		}
		if next(20) > 0 {
			j.Runtime = traces.Some(model.Duration(1+next(80_000)) * model.Second)
			j.Start = traces.Some(now.Add(model.Duration(next(3600)) * model.Second))
		} else {
			j.CancelledAt = traces.Some(now.Add(model.Hour))
			j.ExitState = "CANCELLED"
		}
		require.NoError(t, w.WriteJob(&j))
	}
	hash, err := w.Close()
	require.NoError(t, err)
	return hash
}

// BenchmarkSource reports the cost of a row of a zstd bundle through the
// column path, all columns of a Batch.
func BenchmarkSource(b *testing.B) {
	const rows = 1_000_000
	path := filepath.Join(b.TempDir(), "many.trace")
	writeMany(b, path, rows)
	b.ReportAllocs()
	b.ResetTimer()
	cpu := cpuTime(b)
	for range b.N {
		drain(b, path)
	}
	b.ReportMetric(float64((cpuTime(b)-cpu).Nanoseconds())/float64(b.N)/rows, "cpu-ns/row")
}

// cpuTime is what the process has used so far; on a busy machine it says more
// than the clock.
func cpuTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func drain(t testing.TB, path string) (rows int64) {
	bundle, err := traces.Open(path)
	require.NoError(t, err)
	defer bundle.Close()
	src, err := bundle.Jobs()
	require.NoError(t, err)
	defer src.Close()
	var batch traces.Batch
	for {
		err := src.Next(&batch)
		if errors.Is(err, io.EOF) {
			return rows
		}
		require.NoError(t, err)
		rows += int64(batch.Len())
	}
}

// BenchmarkRows is the same through whole rows.
func BenchmarkRows(b *testing.B) {
	const rows = 100_000
	path := filepath.Join(b.TempDir(), "many.trace")
	writeMany(b, path, rows)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		bundle, err := traces.Open(path)
		require.NoError(b, err)
		n := 0
		for _, err := range bundle.Rows() {
			require.NoError(b, err)
			n++
		}
		require.Equal(b, rows, n)
		require.NoError(b, bundle.Close())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
}

// BenchmarkWriter is the cost of writing a row.
func BenchmarkWriter(b *testing.B) {
	const rows = 100_000
	b.ReportAllocs()
	for i := range b.N {
		writeMany(b, filepath.Join(b.TempDir(), strconv.Itoa(i)+".trace"), rows)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
}

// BenchmarkAttributes is BenchmarkSource with the attributes asked for.
func BenchmarkAttributes(b *testing.B) {
	const rows = 200_000
	path := filepath.Join(b.TempDir(), "busy.trace")
	w, err := traces.NewWriter(path, traces.Meta{Sorted: true})
	require.NoError(b, err)
	for i := range rows {
		j := busy(i)
		require.NoError(b, w.WriteJob(&j))
	}
	_, err = w.Close()
	require.NoError(b, err)
	b.ReportAllocs()
	b.ResetTimer()
	cpu := cpuTime(b)
	for range b.N {
		bundle, err := traces.Open(path)
		require.NoError(b, err)
		src, err := bundle.Jobs()
		require.NoError(b, err)
		batch := traces.Batch{Attr: &traces.Attributes{}}
		for err == nil {
			err = src.Next(&batch)
		}
		require.ErrorIs(b, err, io.EOF)
		require.NoError(b, bundle.Close())
	}
	b.ReportMetric(float64((cpuTime(b)-cpu).Nanoseconds())/float64(b.N)/rows, "cpu-ns/row")
}
