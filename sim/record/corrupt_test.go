package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

// readAll reads everything that a run directory holds.
func readAll(dir string) error {
	run, err := Open(dir)
	if err != nil {
		return err
	}
	defer run.Close()
	if err := run.Scan(func(*Columns) error { return nil }); err != nil {
		return err
	}
	if err := run.ScanAttempts(func(*AttemptColumns) error { return nil }); err != nil {
		return err
	}
	_, err = run.Series()
	return err
}

// Whatever happens to the bytes, reading ends with the rows or with a
// DataError, never with a panic.
func TestDamagedFilesAreErrors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	writeRun(t, dir, 300)
	r := rand.New(rand.NewPCG(3, 4))
	for _, name := range []string{"jobs.parquet", "attempts.parquet", "series.parquet"} {
		path := filepath.Join(dir, name)
		sound, err := os.ReadFile(path)
		require.NoError(t, err)
		for i := range 400 {
			bad := bytes.Clone(sound)
			if i%4 == 0 {
				bad = bad[:r.IntN(len(bad))]
			} else {
				for range 1 + r.IntN(8) {
					bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
				}
			}
			require.NoError(t, os.WriteFile(path, bad, 0o666))
			if err := readAll(dir); err != nil {
				var data *DataError
				require.True(t, errors.As(err, &data), "%T: %v", err, err)
				require.Equal(t, path, data.File)
			}
		}
		require.NoError(t, os.WriteFile(path, sound, 0o666))
		require.NoError(t, readAll(dir))
	}
}

// TestDeclaredSizes: a table that claims more than it has is refused before the library makes room
// for it, in the footer as in a page.
func TestDeclaredSizes(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, FileRun), []byte("{}"), 0o666))
	groups := binary.AppendUvarint([]byte{0x15, 2, 3<<4 | 9, 0xfc}, 1<<20) // so many row groups, each an empty structure
	groups = append(groups, make([]byte, 1<<20)...)
	file := binary.LittleEndian.AppendUint32(append([]byte("PAR1"), groups...), uint32(len(groups)))
	file = append(file, "PAR1"...)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "jobs.parquet"), file, 0o666))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Open(dir)
	runtime.ReadMemStats(&after)
	var data *DataError
	require.ErrorAs(t, err, &data)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
}

// foreign writes rows of any type as jobs.parquet of a run directory.
func foreign[T any](t *testing.T, rows []T, opts ...parquet.WriterOption) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, FileRun), []byte("{}"), 0o666))
	f, err := os.Create(filepath.Join(dir, "jobs.parquet"))
	require.NoError(t, err)
	defer f.Close()
	w := parquet.NewGenericWriter[T](f, opts...)
	_, err = w.Write(rows)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return dir
}

func TestSchemaIsCheckedFirst(t *testing.T) {
	version := parquet.KeyValueMetadata(keySchema, "1")
	epoch := parquet.KeyValueMetadata(keyEpoch, "0")
	type fewer struct {
		Job int32 `parquet:"job"`
	}
	type other struct {
		Job string `parquet:"job"`
	}
	type optional struct {
		Job *int32 `parquet:"job,optional"`
	}
	row := jobRow{State: "SLEEPING"}
	for _, c := range []struct {
		dir  string
		want string
	}{
		{foreign(t, []fewer{{1}}), `found schema version "" in the metadata, expected 1`},
		{foreign(t, []fewer{{1}}, parquet.KeyValueMetadata(keySchema, "2")), `found schema version "2"`},
		{foreign(t, []fewer{{1}}, version), `found orrery.epoch_us ""`},
		{foreign(t, []fewer{{1}}, version, epoch), "column id: found no such column among job, expected required INT(64,true)"},
		{foreign(t, []other{{"x"}}, version, epoch), "column job: found required STRING, expected required INT(32,true)"},
		{foreign(t, []optional{{nil}}, version, epoch), "column job: found optional INT(32,true), expected required INT(32,true)"},
		{foreign(t, []jobRow{row}, version, epoch), `column state: found "SLEEPING", expected one of PENDING, RUNNING`},
	} {
		err := readAll(c.dir)
		var data *DataError
		require.ErrorAs(t, err, &data)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, filepath.Join(c.dir, "jobs.parquet"))
		require.NotEmpty(t, data.Mend)
	}
}

// The encodings are ours to choose, not the reader's to assume: plain columns
// read the same.
func TestPlainColumnsAreRead(t *testing.T) {
	x := int64(7)
	rows := []jobRow{{Job: 3, User: "u", State: "TIMEOUT", Procs: 4, Start: &x, Reason: "WALLTIME_LIMIT"}, {Job: 4, State: "CANCELLED"}}
	dir := foreign(t, rows, parquet.KeyValueMetadata(keySchema, "1"), parquet.KeyValueMetadata(keyEpoch, "5"))
	run, err := Open(dir)
	require.NoError(t, err)
	defer run.Close()
	require.NoError(t, run.Scan(func(c *Columns) error {
		require.Equal(t, []int32{3, 4}, c.Job)
		require.Equal(t, []int32{4, 0}, c.Procs)
		require.Equal(t, []int32{0, -1}, c.User)
		require.Equal(t, []int64{2, Absent}, c.Start)
		require.Equal(t, []uint8{3, 4}, c.State)
		require.Equal(t, []uint8{2, 0}, c.Reason)
		return nil
	}))
	require.Equal(t, []string{"u"}, run.Users())
}

func TestCallerErrorsPassThrough(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	writeRun(t, dir, 10)
	run, err := Open(dir)
	require.NoError(t, err)
	defer run.Close()
	stop := errors.New("enough")
	require.ErrorIs(t, run.Scan(func(*Columns) error { return stop }), stop)
	require.Panics(t, func() { _ = run.Scan(func(*Columns) error { panic("the caller's") }) })
}
