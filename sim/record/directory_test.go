package record

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestNothingAppearsBeforeClose(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, testMeta())
	require.NoError(t, err)
	require.NoError(t, w.WriteJSON(FileRun, 1))
	require.Len(t, names(t, dir), 1)
	require.Contains(t, names(t, dir)[0], stagePrefix)
	_, err = Open(dir)
	var data *DataError
	require.ErrorAs(t, err, &data)
	require.NoError(t, w.Close())
	require.NoError(t, w.Close(), "closing again does nothing")
	w.Abort() // nor does this
	require.Equal(t, []string{"attempts.parquet", "facts.parquet", "jobs.parquet", "run.json"}, names(t, dir))
}

func TestAbortLeavesNothing(t *testing.T) {
	root := t.TempDir()
	jobs, _ := testRows(3000)
	for _, seal := range []bool{false, true} {
		w, err := Create(filepath.Join(root, "deep", "run"), testMeta())
		require.NoError(t, err)
		for i := range jobs {
			w.Job(&jobs[i])
		}
		if seal {
			_, err = w.Seal()
			require.NoError(t, err)
		}
		w.Abort()
		require.Empty(t, names(t, root))
		require.Error(t, w.Close())
	}
}

func TestAbortKeepsAnEarlierRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	writeRun(t, dir, 10)
	before := names(t, dir)
	w, err := Create(dir, testMeta())
	require.NoError(t, err)
	w.Abort()
	require.Equal(t, before, names(t, dir))
	run, err := Open(dir)
	require.NoError(t, err)
	defer run.Close()
	require.EqualValues(t, 10, run.Rows())
}

func TestANewRunReplacesAnOldOne(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	writeRun(t, dir, 10)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "report.html"), nil, 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o666))
	w, err := Create(dir, Meta{})
	require.NoError(t, err)
	require.NoError(t, w.WriteJSON(FileRun, 1))
	require.NoError(t, w.Close())
	require.Equal(t, []string{"attempts.parquet", "jobs.parquet", "notes.txt", "run.json"}, names(t, dir),
		"what belongs to the old run goes, what does not stays")
}

func TestOtherDataIsNotOverwritten(t *testing.T) {
	dir := t.TempDir()
	bundle := filepath.Join(dir, "jobs.parquet")
	require.NoError(t, os.WriteFile(bundle, []byte("a trace"), 0o666))
	_, err := Create(dir, testMeta())
	require.ErrorContains(t, err, "jobs.parquet")
	require.ErrorContains(t, err, "choose a new or empty directory")
	require.Equal(t, []string{"jobs.parquet"}, names(t, dir))
	_, err = Create(bundle, testMeta())
	require.Error(t, err, "a file is no directory")
}

func TestTheLaterOfTwoWritersWins(t *testing.T) {
	for _, sooner := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "run")
		first, err := Create(dir, testMeta())
		require.NoError(t, err)
		require.NoError(t, first.WriteJSON(FileRun, "first"))
		_, err = first.Seal()
		require.NoError(t, err)
		second, err := Create(dir, testMeta())
		require.NoError(t, err)
		require.NoError(t, second.WriteJSON(FileRun, "second"))
		if sooner {
			require.ErrorContains(t, first.Close(), "another run")
			require.NoError(t, second.Close())
		} else {
			require.NoError(t, second.Close())
			require.ErrorContains(t, first.Close(), "another run")
		}
		require.Len(t, names(t, dir), 4)
		run, err := Open(dir)
		require.NoError(t, err)
		require.JSONEq(t, `"second"`, string(run.Info()))
		require.NoError(t, run.Close())
	}
}

func TestJobsThatLeaveTogetherAreSorted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, Meta{})
	require.NoError(t, err)
	for _, j := range []struct {
		job model.JobID
		end model.Time
	}{{4, 1}, {2, 1}, {9, 1}, {1, 2}, {0, 2}} {
		w.Job(&model.JobRecord{Job: j.job, User: -1, Start: model.AbsentTime, End: j.end})
	}
	sc, err := w.Seal()
	require.NoError(t, err)
	require.NoError(t, sc.Scan(func(c *Columns) error {
		require.Equal(t, []int32{2, 4, 9, 0, 1}, c.Job)
		return nil
	}))
	w.Abort()
}

func TestWrongUseIsSaid(t *testing.T) {
	dir := t.TempDir()
	start := func() *Writer {
		w, err := Create(filepath.Join(dir, "run"), testMeta())
		require.NoError(t, err)
		return w
	}
	w := start()
	require.ErrorContains(t, w.Close(), "without run.json")
	require.Empty(t, names(t, dir))

	w = start()
	w.Job(&model.JobRecord{Job: 1, End: 5, User: -1})
	w.Job(&model.JobRecord{Job: 2, End: 4, User: -1})
	require.ErrorContains(t, w.Flush(), "job 2 left")
	require.ErrorContains(t, w.Close(), "job 2 left")
	require.Empty(t, names(t, dir))

	w = start()
	w.Job(&model.JobRecord{Job: 1, End: 5, User: 77})
	_, err := w.Seal()
	require.ErrorContains(t, err, "user 77")
	w.Abort()

	w = start()
	require.ErrorContains(t, w.WriteJSON("other.json", 1), "other.json")
	require.ErrorContains(t, w.WriteJSON(FileRun, math.NaN()), "NaN")
	require.Error(t, w.Close())
}

func TestCanonicalJSON(t *testing.T) {
	type inner struct {
		Z int64   `json:"z"`
		A float64 `json:"a"`
	}
	b, err := AppendJSON(nil, map[string]any{"y": inner{math.MaxInt64, 0.1}, "x": "<&>", "e": []int{}})
	require.NoError(t, err)
	require.Equal(t, "{\n  \"e\": [],\n  \"x\": \"<&>\",\n  \"y\": {\n    \"a\": 0.1,\n    \"z\": 9223372036854775807\n  }\n}\n", string(b))
	again, err := AppendJSON(nil, json.RawMessage(b))
	require.NoError(t, err)
	require.Equal(t, string(b), string(again))

	_, err = AppendJSON(nil, math.Inf(1))
	require.Error(t, err)
}

func TestOpenErrors(t *testing.T) {
	_, err := Open(filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, FileRun), []byte("{"), 0o666))
	_, err = Open(dir)
	var data *DataError
	require.True(t, errors.As(err, &data))
	require.ErrorContains(t, err, "expected a JSON object")
}
