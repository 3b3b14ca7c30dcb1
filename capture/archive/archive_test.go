package archive_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/capture/archive"
	"orrery/scheduler/model"
	"orrery/traces"
)

const day = model.Time(1_795_000_000_000_000) // µs since 1970

// bundle writes samples of a node at the seconds after day.
func bundle(t *testing.T, dir, name, node string, seconds ...int) string {
	t.Helper()
	path := filepath.Join(dir, name+".trace")
	w, err := traces.NewWriter(path, traces.Meta{Source: "test", Epoch: day.Add(model.Duration(seconds[0]) * model.Second), EpochKnown: true})
	require.NoError(t, err)
	require.NoError(t, w.WriteNode(traces.Node{Name: node, GPUs: 1, GPUModel: "X", Fingerprint: "f-" + node, Up: true}))
	v := &capture.Inventory{GPUs: []capture.GPU{{UUID: "GPU-secret"}}}
	v.Add("gpu.0.name", "X")
	v.Add("gpu.0.serial", "165secret")
	v.Add(capture.FactParameters, "root=UUID=secret")
	r := capture.Record{Record: capture.RecordInventory, Fingerprint: "f-" + node, Inventory: v}
	require.NoError(t, w.WriteEvent(r.Event(0, node)))
	for _, s := range seconds {
		require.NoError(t, w.WriteTelemetry(&traces.Telemetry{Node: node, GPU: traces.Some[int32](0), Time: model.Time(model.Duration(s-seconds[0]) * model.Second),
			Power: traces.Some(float64(s)), Processes: `[{"pid":77,"name":"secret.py","job":"4711","container":"secretpod"}]`}))
		require.NoError(t, w.WriteInstance(&traces.Instance{Node: node, GPUInstance: 3, UUID: "MIG-secret", GPUUUID: "GPU-secret", Profile: "1g.10gb", Time: model.Time(model.Duration(s-seconds[0]) * model.Second),
			SMActive: traces.Some(float64(s) / 10), Processes: `[{"pid":77,"name":"secret.py","job":"4711"}]`}))
	}
	_, err = w.Close()
	require.NoError(t, err)
	return path
}

func TestMerge(t *testing.T) {
	dir := t.TempDir()
	bundle(t, dir, "b", "n2", 3, 5, 7)
	bundle(t, dir, "a", "n1", 0, 1, 2, 5)
	bundle(t, dir, "c", "n1", 5, 6, 9) // 5 once more
	found, err := archive.Find(dir)
	require.NoError(t, err)
	require.Len(t, found, 3)
	s, err := archive.Open(found)
	require.NoError(t, err)
	require.Equal(t, int64(10), s.Rows())
	out := filepath.Join(dir, "all.trace")
	done, err := s.Write(out, traces.Meta{Source: "merged"}, archive.Edit{})
	require.NoError(t, err)
	require.Equal(t, int64(9), done.Rows)
	require.Equal(t, int64(2), done.Doubled)
	r, err := traces.Validate(out)
	require.NoError(t, err)
	require.Empty(t, r.Dropped)
	b, err := traces.Open(out)
	require.NoError(t, err)
	defer b.Close()
	require.Equal(t, day, b.Meta().Epoch)
	var at []float64
	for g, err := range b.Telemetry() {
		require.NoError(t, err)
		require.Equal(t, model.Time(g.Power.V*1e6), g.Time)
		at = append(at, g.Power.V)
	}
	require.Equal(t, []float64{0, 1, 2, 3, 5, 5, 6, 7, 9}, at)
	require.Len(t, b.Nodes(), 2)
	require.Len(t, b.Events(), 3)
	at = nil
	for i, err := range b.Instances() {
		require.NoError(t, err)
		require.Equal(t, model.Time(i.SMActive.V*1e7), i.Time)
		at = append(at, 10*i.SMActive.V)
	}
	require.Equal(t, []float64{0, 1, 2, 3, 5, 5, 6, 7, 9}, at, "of GPU instances in the same way, and apart from their GPUs")
	require.Equal(t, int64(9), done.Instances)
}

func TestAnonymise(t *testing.T) {
	dir := t.TempDir()
	bundle(t, dir, "a", "gpu-secret-17", 0, 1)
	found, err := archive.Find(dir)
	require.NoError(t, err)
	write := func(name, key string) *traces.Bundle {
		s, err := archive.Open(found)
		require.NoError(t, err)
		edit := archive.NewHidden([]byte(key)).Apply(s)
		path := filepath.Join(t.TempDir(), name+".trace")
		_, err = s.Write(path, traces.Meta{}, edit)
		require.NoError(t, err)
		b, err := traces.Open(path)
		require.NoError(t, err)
		t.Cleanup(func() { b.Close() })
		return b
	}
	text := func(b *traces.Bundle) string {
		var all strings.Builder
		for _, n := range b.Nodes() {
			all.WriteString(n.Name + " " + n.Fingerprint + " ")
		}
		for _, e := range b.Events() {
			all.WriteString(e.Subject + " " + e.Value + " ")
		}
		for g, err := range b.Telemetry() {
			require.NoError(t, err)
			all.WriteString(g.Node + " " + g.Processes + " ")
		}
		for i, err := range b.Instances() {
			require.NoError(t, err)
			require.Equal(t, "1g.10gb", i.Profile)
			require.Len(t, i.UUID, 12)
			all.WriteString(i.Node + " " + i.UUID + " " + i.GPUUUID + " " + i.Processes + " ")
		}
		return all.String()
	}
	one, same, other := text(write("one", "k")), text(write("same", "k")), text(write("other", "l"))
	require.NotContains(t, one, "secret")
	require.NotContains(t, one, "4711")
	require.NotContains(t, one, "f-gpu")
	require.Contains(t, one, "n0001")
	require.Contains(t, one, `"gpu.0.name"`)
	require.Equal(t, one, same)
	require.NotEqual(t, one, other)
}
