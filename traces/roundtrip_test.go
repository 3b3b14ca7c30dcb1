package traces_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/traces"
)

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "small.trace")
	w, err := traces.NewWriter(path, traces.Meta{Source: "test", Epoch: 1_000_000_000_000_000, EpochKnown: true, Sorted: true})
	require.NoError(t, err)
	jobs := []traces.Job{
		{ID: 7, User: "ann", Submit: 5, Runtime: traces.Some(model.Second), ProcsRequested: traces.Some(int32(4))},
		{ID: 8, Submit: 6, Kind: "service", CommFraction: traces.Some(0.5), Exclusive: traces.Some(false), Extra: `{"a":1}`},
	}
	for i := range jobs {
		require.NoError(t, w.WriteJob(&jobs[i]))
	}
	require.NoError(t, w.WriteDep(traces.Dep{Job: 8, On: 7, Condition: "success"}))
	require.NoError(t, w.WriteNode(traces.Node{Name: "n0", CPUs: 4, Up: true}))
	hash, err := w.Close()
	require.NoError(t, err)

	b, err := traces.Open(path)
	require.NoError(t, err)
	defer b.Close()
	require.Equal(t, hash, b.Info().Hash)
	require.True(t, b.Info().Sorted)
	jobs[0].Kind = "bounded"
	var got []traces.Job
	for j, err := range b.Rows() {
		require.NoError(t, err)
		got = append(got, *j)
	}
	require.Equal(t, jobs, got)
	require.Equal(t, []traces.Node{{Name: "n0", CPUs: 4, Up: true}}, b.Nodes())
	src, err := b.Jobs()
	require.NoError(t, err)
	var batch traces.Batch
	require.NoError(t, src.Next(&batch))
	require.Equal(t, []int32{0, -1}, batch.User)
}
