package traces_test

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
	"orrery/traces"
)

// everything reads a source to its end, with attributes.
func everything(t require.TestingT, s traces.Source) (all traces.Batch, users []string) {
	b := traces.Batch{Attr: &traces.Attributes{}}
	for {
		err := s.Next(&b)
		if errors.Is(err, io.EOF) {
			return all, s.Users()
		}
		require.NoError(t, err)
		all.Append(&b)
	}
}

// written writes tables as a bundle and opens it.
func written(t testing.TB, dir string, meta traces.Meta, tables *traces.Tables) *traces.Bundle {
	path := filepath.Join(dir, "x.trace")
	w, err := traces.NewWriter(path, meta)
	require.NoError(t, err)
	for i := range tables.Jobs {
		require.NoError(t, w.WriteJob(&tables.Jobs[i]))
	}
	for _, d := range tables.Deps {
		require.NoError(t, w.WriteDep(d))
	}
	for _, n := range tables.Nodes {
		require.NoError(t, w.WriteNode(n))
	}
	_, err = w.Close()
	require.NoError(t, err)
	b, err := traces.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// TestMemoryIsTheBundle: rows in memory and the same in a bundle are one trace:
// what it says of itself, its content hash, every column, every dependency.
func TestMemoryIsTheBundle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var tables traces.Tables
		submit := model.Time(0)
		for i := range rapid.IntRange(0, 30).Draw(rt, "jobs") {
			j := anyJob(rt)
			submit += model.Time(rapid.Int64Range(0, 1e6).Draw(rt, "gap"))
			j.ID, j.Submit, j.CommFraction = int64(i), submit, traces.Opt[float64]{}
			j.AfterJob = opt(rt, "follows", rapid.Int64Range(0, 30))
			tables.Jobs = append(tables.Jobs, j)
		}
		for range rapid.IntRange(0, 3).Draw(rt, "deps") {
			tables.Deps = append(tables.Deps, traces.Dep{Job: rapid.Int64Range(0, 31).Draw(rt, "job"), On: rapid.Int64Range(0, 31).Draw(rt, "on"), Condition: "any"})
		}
		for range rapid.IntRange(0, 3).Draw(rt, "nodes") {
			tables.Nodes = append(tables.Nodes, anyNode(rt))
		}
		meta := traces.Meta{Epoch: 77, EpochKnown: true, MaxProcs: 3, Sorted: true, WarmStart: opt(rt, "warm", rapid.Map(rapid.Int64Range(0, 2e7), func(n int64) model.Time { return model.Time(n) }))}
		b := written(t, t.TempDir(), meta, &tables)
		m, err := traces.NewMemory("x", meta, tables)
		require.NoError(rt, err)
		require.Equal(rt, b.Info(), m.Info())
		disk, err := b.Jobs()
		require.NoError(rt, err)
		memory, err := m.Open()
		require.NoError(rt, err)
		want, users := everything(rt, disk)
		got, same := everything(rt, memory)
		if len(tables.Jobs) > 0 {
			want.Attr.Texts, got.Attr.Texts = nil, nil
			for i := range want.RanOn {
				if want.Submit[i] >= meta.WarmStart.V {
					want.RanOn = want.RanOn[:i] // a batch has all or none, memory what is needed
					break
				}
			}
			require.Equal(rt, want, got)
			require.Equal(rt, users, same)
		}
		require.Equal(rt, disk.Nodes(), memory.Nodes())
		for _, after := range []bool{false, true} {
			d, err := disk.Dependencies(after)
			require.NoError(rt, err)
			e, err := memory.Dependencies(after)
			require.NoError(rt, err)
			require.Equal(rt, d, e)
		}
		require.NoError(rt, errors.Join(disk.Close(), memory.Close()))
	})
}

// TestRanOnOverBatches: the names of nodes before the warm start come whole, also
// from a dictionary that several batches share, and none behind it.
func TestRanOnOverBatches(t *testing.T) {
	var tables traces.Tables
	for i := range 30_000 {
		tables.Jobs = append(tables.Jobs, traces.Job{ID: int64(i), Submit: model.Time(i), RecordedNodes: fmt.Sprintf("n%d", i%700)})
	}
	meta := traces.Meta{Sorted: true, WarmStart: traces.Some(model.Time(20_000))}
	s, err := written(t, t.TempDir(), meta, &tables).Jobs()
	require.NoError(t, err)
	var b traces.Batch
	row, batches := 0, 0
	for s.Next(&b) == nil {
		batches++
		require.True(t, (len(b.RanOn) == b.Len()) == (b.Submit[0] < 20_000), "batch %d", batches)
		for i, names := range b.RanOn {
			require.Equal(t, tables.Jobs[row+i].RecordedNodes, names)
		}
		row += b.Len()
	}
	require.Equal(t, 30_000, row)
	require.NoError(t, s.Close())
}

// TestWarmStartIsContent: the same rows with a warm start are another trace.
func TestWarmStartIsContent(t *testing.T) {
	tables := traces.Tables{Jobs: []traces.Job{{ID: 1}}}
	cold, err := traces.NewMemory("x", traces.Meta{}, tables)
	require.NoError(t, err)
	warm, err := traces.NewMemory("x", traces.Meta{WarmStart: traces.Some(model.Time(0))}, tables)
	require.NoError(t, err)
	require.NotEqual(t, cold.Info().Hash, warm.Info().Hash)
}

// TestJobFields: each column is read and changed by its name.
func TestJobFields(t *testing.T) {
	for _, f := range traces.JobFields() {
		var j traces.Job
		name := f.Column().Name
		again, ok := traces.JobFieldOf(name)
		require.True(t, ok)
		require.Equal(t, f.Column(), again.Column())
		switch f.Column().Type {
		case traces.String:
			f.SetText(&j, "x")
			require.Equal(t, "x", f.Text(&j), name)
		case traces.Double:
			_, ok := f.Real(&j)
			require.False(t, ok, name)
		default:
			f.SetNumber(&j, 1)
			n, ok := f.Number(&j)
			require.True(t, ok && n == 1, name)
		}
	}
	_, ok := traces.JobFieldOf("colour")
	require.False(t, ok)
}
