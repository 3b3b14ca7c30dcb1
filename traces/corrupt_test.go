package traces_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"orrery/traces"
)

// damage changes a copy of the file in one of the ways in which files break.
func damage(r *rand.Rand, whole []byte) []byte {
	b := bytes.Clone(whole)
	switch r.IntN(6) {
	case 0: // cut short
		return b[:r.IntN(len(b))]
	case 1: // a lost middle
		i := r.IntN(len(b))
		j := min(len(b), i+1+r.IntN(64))
		return append(b[:i], b[j:]...)
	case 2: // zeroed sectors
		i := r.IntN(len(b))
		clear(b[i:min(len(b), i+1+r.IntN(128))])
	case 3: // flipped bits in the footer, where the lengths are
		for range 1 + r.IntN(3) {
			b[len(b)-1-r.IntN(min(len(b), 4000))] ^= 1 << r.IntN(8)
		}
	default: // flipped bits anywhere
		for range 1 + r.IntN(6) {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
	}
	return b
}

// readEverything goes through all that a command may do with a file. It
// returns the rows if nothing was amiss, else the first error.
func readEverything(path string) ([]traces.Job, error) {
	b, err := traces.Open(path)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	var jobs []traces.Job
	for j, err := range b.Rows() {
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, *j)
	}
	for _, attr := range []*traces.Attributes{nil, {}} {
		src, err := b.Jobs()
		if err != nil {
			return nil, err
		}
		defer src.Close()
		for batch := (traces.Batch{Attr: attr}); ; {
			if err := src.Next(&batch); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
		}
	}
	_, err = traces.Validate(path)
	return jobs, err
}

// victims are the files that the tests damage: one of ours and files as other
// writers make them, without checksums.
func victims(t testing.TB, n int) map[string]string {
	t.Helper()
	ours := filepath.Join(t.TempDir(), "ours.parquet")
	writeMany(t, ours, n)
	out := map[string]string{"ours": ours}
	type job struct {
		ID     *int64  `parquet:"id"`
		User   *string `parquet:"user,dict"`
		Submit *int64  `parquet:"submit,timestamp(millisecond)"`
		Procs  *int32  `parquet:"procs_requested,dict"`
		Name   *string `parquet:"name"`
	}
	rows := make([]job, n)
	for i := range rows {
		rows[i] = job{ID: p(int64(i)), Submit: p(int64(i * 1000))}
		if i%3 > 0 {
			rows[i].User, rows[i].Name, rows[i].Procs = p([]string{"ann", "bob"}[i%2]), p("job"), p(int32(i%5))
		}
	}
	for name, options := range map[string][]parquet.WriterOption{
		"plain v1":  {parquet.DataPageVersion(1), parquet.Compression(&parquet.Uncompressed)},
		"snappy v2": {parquet.DataPageVersion(2), parquet.Compression(&parquet.Snappy), parquet.MaxRowsPerRowGroup(100)},
		"zstd v1": {parquet.DataPageVersion(1), parquet.Compression(&parquet.Zstd), parquet.DefaultEncodingFor(parquet.Int64, &parquet.DeltaBinaryPacked),
			parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.DeltaLengthByteArray)},
	} {
		path := filepath.Join(t.TempDir(), "other.parquet")
		f, err := os.Create(path)
		require.NoError(t, err)
		w := parquet.NewGenericWriter[job](f, options...)
		_, err = w.Write(rows)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.NoError(t, f.Close())
		withoutChecksums(t, path)
		out[name] = path
	}
	return out
}

// Five hundred damaged copies of each file, eighty in a hurry: none may panic, hang or take
// memory beyond reason, every complaint is a DataError, and what Validate
// lets pass is the original.
func TestDamagedFiles(t *testing.T) {
	damages := uint64(500) // of each file
	if testing.Short() {
		damages = 80
	}
	for name, victim := range victims(t, 300) {
		t.Run(name, func(t *testing.T) {
			whole, err := os.ReadFile(victim)
			require.NoError(t, err)
			want, err := readEverything(victim)
			require.NoError(t, err)
			path := filepath.Join(t.TempDir(), "damaged.parquet")
			refused := 0
			for seed := range damages {
				b := damage(rand.New(rand.NewPCG(seed, 1)), whole)
				require.NoError(t, os.WriteFile(path, b, 0o644))
				got, err := guarded(t, path, seed)
				switch {
				case err != nil:
					var data *traces.DataError
					require.ErrorAs(t, err, &data, "seed %d", seed)
					refused++
				case name == "ours":
					require.Equal(t, want, got, "seed %d", seed)
				}
			}
			t.Logf("%d of %d refused", refused, damages)
			require.Greater(t, refused, int(damages)/2)
		})
	}
}

// guarded reads with a limit on time and on memory.
func guarded(t testing.TB, path string, seed uint64) (jobs []traces.Job, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan struct{})
	go func() {
		defer close(done)
		jobs, err = readEverything(path)
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		require.FailNow(t, "hangs", "seed %d", seed)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<30), "seed %d", seed)
	return jobs, err
}

// FuzzOpen feeds arbitrary bytes to everything that reads a file. Minimising
// is slow on files: run it with -fuzzminimizetime 10x.
func FuzzOpen(f *testing.F) {
	for _, victim := range victims(f, 20) {
		whole, err := os.ReadFile(victim)
		require.NoError(f, err)
		f.Add(whole)
		f.Add(whole[:len(whole)/2])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "x.parquet")
		require.NoError(t, os.WriteFile(path, b, 0o644))
		if _, err := guarded(t, path, 0); err != nil {
			var data *traces.DataError
			require.ErrorAs(t, err, &data)
		}
	})
}
