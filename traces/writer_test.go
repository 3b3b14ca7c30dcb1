package traces_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

// sample is a small trace that uses every column type.
func sample() *content {
	return &content{
		meta: traces.Meta{Source: "sample", Epoch: 1_000_000_000_000_000, EpochKnown: true, TimeZone: "Europe/Zurich", MaxProcs: 64, MaxNodes: 16, Sorted: true},
		jobs: []traces.Job{
			{ID: 1, User: "ann", Kind: "bounded", Submit: 0, Start: traces.Some(model.Time(5)), Runtime: traces.Some(model.Second),
				ProcsRequested: traces.Some(int32(4)), CommFraction: traces.Some(0.25), Exclusive: traces.Some(true)},
			{ID: 2, User: "bob", Kind: "service", Submit: 7, Walltime: traces.Some(model.Hour), Extra: `{"k":1}`},
			{ID: 3, User: "ann", Kind: "bounded", Submit: 7, CancelledAt: traces.Some(model.Time(9)), Priority: traces.Some(int64(-3))},
		},
		deps:  []traces.Dep{{Job: 2, On: 1, Condition: "success"}},
		nodes: []traces.Node{{Name: "n0", CPUs: 4, Memory: 1 << 30, Up: true}, {Name: "n1", CPUs: 4, Group: "rack1"}},
	}
}

// The hash is part of every experiment's identity: a change of this constant
// makes every recorded result look like another one's.
const sampleHash = "3b2e742450105d1a74c4c0283369c33798c283662a996e6ee54d0bef36e62d3c"

func TestContentHashIsStable(t *testing.T) {
	dir := t.TempDir()
	require.Equal(t, sampleHash, write(t, filepath.Join(dir, "a.trace"), sample()))

	// What the hash covers changes it; what it does not cover does not.
	same := sample()
	same.meta.Source, same.meta.MaxProcs, same.meta.Import, same.meta.EpochKnown = "elsewhere", 1, "{}", false
	require.Equal(t, sampleHash, write(t, filepath.Join(dir, "same.trace"), same))
	for name, change := range map[string]func(*content){
		"epoch":       func(c *content) { c.meta.Epoch++ },
		"zone":        func(c *content) { c.meta.TimeZone = "" },
		"a value":     func(c *content) { c.jobs[1].Submit-- },
		"a null":      func(c *content) { c.jobs[2].Priority = traces.Opt[int64]{} },
		"a zero":      func(c *content) { c.jobs[0].Priority = traces.Some(int64(0)) },
		"order":       func(c *content) { c.jobs[1], c.jobs[2] = c.jobs[2], c.jobs[1] },
		"a dep":       func(c *content) { c.deps[0].Condition = "any" },
		"no deps":     func(c *content) { c.deps = nil },
		"a node":      func(c *content) { c.nodes[1].Up = true },
		"node order":  func(c *content) { c.nodes[0], c.nodes[1] = c.nodes[1], c.nodes[0] },
		"a boolean":   func(c *content) { c.jobs[0].Exclusive.V = false },
		"a fraction":  func(c *content) { c.jobs[0].CommFraction.V = 0.5 },
		"moved text":  func(c *content) { c.jobs[1].User, c.jobs[1].Tenant = "", "bob" },
		"a row fewer": func(c *content) { c.jobs = c.jobs[:2] },
	} {
		c := sample()
		change(c)
		require.NotEqual(t, sampleHash, write(t, filepath.Join(dir, "changed.trace"), c), name)
	}
}

func TestBytesAreReproducible(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{0, 1, 70_000} {
		a, b := filepath.Join(dir, "a.parquet"), filepath.Join(dir, "b.parquet")
		require.Equal(t, writeMany(t, a, n), writeMany(t, b, n))
		x, err := os.ReadFile(a)
		require.NoError(t, err)
		y, err := os.ReadFile(b)
		require.NoError(t, err)
		require.Equal(t, x, y)
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"x.trace", "x.parquet"} {
		w, err := traces.NewWriter(filepath.Join(dir, name), traces.Meta{})
		require.NoError(t, err)
		for i := range 1000 {
			require.NoError(t, w.WriteJob(&traces.Job{ID: int64(i)}))
		}
		w.Abort()
		w.Abort()
		_, err = w.Close()
		require.Error(t, err)
		require.Error(t, w.WriteJob(&traces.Job{}))
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestWriterReplacesOnCloseOnly(t *testing.T) {
	for _, name := range []string{"x.trace", "x.parquet"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		first := sample()
		first.deps, first.nodes = nil, nil
		write(t, path, first)
		w, err := traces.NewWriter(path, traces.Meta{})
		require.NoError(t, err)
		require.Len(t, read(t, path).jobs, 3)
		_, err = w.Close()
		require.NoError(t, err)
		require.Empty(t, read(t, path).jobs)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, left, 1)
	}
}

func TestWriterRefusals(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.trace")
	add := func(meta traces.Meta, jobs ...traces.Job) error {
		w, err := traces.NewWriter(path, meta)
		require.NoError(t, err)
		for i := range jobs {
			if err := w.WriteJob(&jobs[i]); err != nil {
				_, again := w.Close()
				require.Equal(t, err, again)
				return err
			}
		}
		_, err = w.Close()
		require.NoError(t, err)
		return nil
	}
	require.NoError(t, add(traces.Meta{}, traces.Job{Submit: 2}, traces.Job{Submit: 1}))
	require.False(t, read(t, path).meta.Sorted)
	require.NoError(t, os.RemoveAll(path))

	for want, err := range map[string]error{
		"row 2, column submit: found 00:00:00.000001, expected no earlier": add(traces.Meta{Sorted: true}, traces.Job{Submit: 2}, traces.Job{Submit: 1}),
		"column nodes_min: found the reserved number -2147483648":          add(traces.Meta{}, traces.Job{NodesMin: traces.Some(traces.Absent)}),
		"column runtime: found the reserved number":                        add(traces.Meta{}, traces.Job{Runtime: traces.Some(model.AbsentDuration)}),
		"column submit: found the instant":                                 add(traces.Meta{}, traces.Job{Submit: model.Never}),
		"column start: found the instant":                                  add(traces.Meta{Epoch: -1 << 60}, traces.Job{Submit: 1 << 60, Start: traces.Some(model.Time(-1 << 60))}),
	} {
		require.ErrorContains(t, err, want)
		var data *traces.DataError
		require.ErrorAs(t, err, &data)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestWriterPaths(t *testing.T) {
	dir := t.TempDir()
	full := filepath.Join(dir, "full.trace")
	require.NoError(t, os.Mkdir(full, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(full, "thesis.tex"), nil, 0o644))
	for path, want := range map[string]string{
		filepath.Join(dir, "x"):                  "must end in .trace",
		full:                                     "holds thesis.tex",
		filepath.Join(dir, "no", "such.trace"):   "no such file or directory",
		filepath.Join(dir, "no", "such.parquet"): "no such file or directory",
	} {
		_, err := traces.NewWriter(path, traces.Meta{})
		require.ErrorContains(t, err, want)
	}
	_, err := traces.NewWriter(filepath.Join(dir, "x.trace"), traces.Meta{Epoch: math.MaxInt64})
	require.ErrorContains(t, err, "epoch")
	w, err := traces.NewWriter(filepath.Join(dir, "x.parquet"), traces.Meta{})
	require.NoError(t, err)
	defer w.Abort()
	require.ErrorContains(t, w.WriteNode(traces.Node{Name: "n"}), "one file holds jobs only")
}

// An importer learns the header after it has made the writer.
func TestSetMeta(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.trace")
	w, err := traces.NewWriter(path, traces.Meta{})
	require.NoError(t, err)
	defer w.Abort()
	m := traces.Meta{Epoch: 77, EpochKnown: true}
	require.NoError(t, w.SetMeta(m))
	require.NoError(t, w.WriteJob(&traces.Job{ID: 1, Submit: 1}))
	m.Import = `{"read":1}`
	require.NoError(t, w.SetMeta(m))
	require.EqualValues(t, 1, w.Jobs())
	_, err = w.Close()
	require.NoError(t, err)
	got := read(t, path)
	require.Equal(t, m.Epoch, got.meta.Epoch)
	require.Equal(t, m.Import, got.meta.Import)
	require.Equal(t, model.Time(1), got.jobs[0].Submit)

	w, err = traces.NewWriter(path, traces.Meta{})
	require.NoError(t, err)
	defer w.Abort()
	require.NoError(t, w.WriteJob(&traces.Job{}))
	require.ErrorContains(t, w.SetMeta(m), "epoch")
}

func TestReportBalances(t *testing.T) {
	var r traces.Report
	r.Read, r.Kept = 3, 1
	require.False(t, r.Balanced())
	r.Drop("no processors", "line 4")
	r.Drop("no processors", "line 9")
	r.Repair("runtime rounded", "line 5")
	require.True(t, r.Balanced())
	require.Equal(t, []traces.Rule{{Rule: "no processors", Count: 2, Example: "line 4"}}, r.Dropped)
}

func TestDataErrorReads(t *testing.T) {
	err := &traces.DataError{File: "a.swf", Line: 3, Column: "run time", Found: `"x"`, Expected: "a number", Mend: "correct the line"}
	require.EqualError(t, err, `a.swf: line 3, column run time: found "x", expected a number; correct the line`)
	cause := errors.New("why")
	wrapped := &traces.CorruptError{Data: traces.DataError{File: "b", Found: "damage", Cause: cause}}
	require.EqualError(t, wrapped, "b: found damage: why")
	require.ErrorIs(t, wrapped, cause)
}
