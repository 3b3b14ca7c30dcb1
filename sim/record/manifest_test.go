package record

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// sealedRun writes a small run of a spec.
func sealedRun(t *testing.T, spec string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	meta := testMeta()
	meta.SpecID = spec
	w, err := Create(dir, meta)
	require.NoError(t, err)
	jobs, _ := testRows(40)
	for i := range jobs {
		w.Job(&jobs[i])
	}
	_, err = w.Seal()
	require.NoError(t, err)
	require.NoError(t, w.WriteSeries(nil))
	require.NoError(t, w.WriteJSON(FileMetrics, map[string]any{"value": 1}))
	require.NoError(t, w.WriteJSON(FileHost, map[string]any{"host": "n1"}))
	require.NoError(t, w.WriteJSON(FileRun, map[string]any{"schema": RunVersion, "spec_id": spec}))
	require.NoError(t, w.Close())
	return dir
}

// TestManifest alters each file of a run, one at a time: readers name it, and say what to do.
func TestManifest(t *testing.T) {
	dir := sealedRun(t, "aa")
	names, err := Check(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"attempts.parquet", "facts.parquet", "jobs.parquet", "metrics.json", "series.parquet"}, names)
	other := sealedRun(t, "bb")
	for _, row := range []struct {
		file   string
		change func(text []byte) []byte
		want   string
	}{
		{FileMetrics, func(b []byte) []byte { return bytes.Replace(b, []byte("1"), []byte("2"), 1) }, "as run.json says; it was altered"},
		{FileRun, func(b []byte) []byte { return bytes.Replace(b, []byte(`"aa"`), []byte(`"ab"`), 1) }, "run.json: found content with the SHA-256"},
		{FileRun, func(b []byte) []byte { return bytes.Replace(b, []byte(`"schema": 2`), []byte(`"schema": 77`), 1) }, "column schema: found version 77"},
		{FileRun, func([]byte) []byte { return []byte(`{"schema":2}`) }, "as run.json says"},
		{"jobs.parquet", func(b []byte) []byte { b[len(b)/3] ^= 1; return b }, "jobs.parquet: found content"},
		{"attempts.parquet", func([]byte) []byte { return read(t, filepath.Join(other, "attempts.parquet")) }, "attempts.parquet: found content"},
	} {
		path := filepath.Join(dir, row.file)
		sound := read(t, path)
		require.NoError(t, os.WriteFile(path, row.change(bytes.Clone(sound)), 0o644))
		_, err := Check(dir)
		var data *DataError
		require.ErrorAs(t, err, &data, row.file)
		require.ErrorContains(t, err, row.want)
		require.ErrorContains(t, err, MendReplay)
		require.NoError(t, os.WriteFile(path, sound, 0o644))
	}
	require.NoError(t, os.Rename(filepath.Join(dir, "series.parquet"), filepath.Join(dir, "away")))
	run, err := Open(dir)
	require.NoError(t, err)
	defer run.Close()
	_, err = run.Series()
	require.ErrorContains(t, err, "series.parquet: found no such file, expected one, for run.json lists it")
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "series.parquet"), 0o600))
	_, err = run.Series()
	require.ErrorContains(t, err, "series.parquet: found a named pipe")
}

// TestTableOfAnotherRun holds of runs of before there were digests that a table names the
// spec of its run.
func TestTableOfAnotherRun(t *testing.T) {
	dir, other := sealedRun(t, "aa"), sealedRun(t, "bb")
	require.NoError(t, os.WriteFile(filepath.Join(dir, FileRun), []byte(`{"schema":1,"spec_id":"aa"}`), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "jobs.parquet"), read(t, filepath.Join(other, "jobs.parquet")), 0o644))
	_, err := Open(dir)
	require.ErrorContains(t, err, "jobs.parquet: found a table of another run, with the spec bb")
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}
