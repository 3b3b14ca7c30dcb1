package agent

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/capture/pods"
)

func TestHolders(t *testing.T) {
	held := func(id, pod string) pods.Device {
		return pods.Device{Resource: "nvidia.com/gpu", ID: id, Namespace: "ml", Pod: pod, Container: "c"}
	}
	by := holding([]pods.Device{held("GPU-a", "one"), held("GPU-b::0", "one"), held("GPU-b::1", "two"), held("GPU-c::0", "two"), held("GPU-c::1", "two")})
	require.Equal(t, map[string]string{"GPU-a": "ml/one/c", "GPU-b": "", "GPU-c": "ml/two/c"}, by)
	h := &holders{}
	part := false
	named := func(uuid string) (out []string) {
		procs := []capture.Process{{PID: 1, Container: "pod-uid/0123"}, {PID: 2, Container: "0123"}, {PID: 3}, {PID: 4, Container: "pod-uid/0123", Instance: "1/0"}}
		h.name(uuid, procs, part)
		for _, p := range procs {
			out = append(out, p.Pod)
		}
		return out
	}
	none := []string{"", "", "", ""}
	require.Equal(t, none, named("GPU-a"), "nothing is known yet")
	h.by.Store(&by)
	require.Equal(t, []string{"ml/one/c", "", "", ""}, named("GPU-a"), "those in a pod, and in no instance of MIG")
	require.Equal(t, none, named("GPU-b"), "two pods share it")
	require.Equal(t, none, named("GPU-d"))
	require.Equal(t, none, named(""))

	part = true
	require.Equal(t, []string{"ml/one/c", "", "", "ml/one/c"}, named("GPU-a"), "of a MIG device it is said by its own UUID")

	v := &capture.Inventory{GPUs: []capture.GPU{{Index: 3, UUID: "GPU-a"}}}
	require.Equal(t, []string{"GPU-a", ""}, []string{uuidOf(v, 3), uuidOf(v, 0)})

	ctx, stop := context.WithCancel(context.Background())
	h.socket = filepath.Join(t.TempDir(), "none")
	h.follow(ctx, slog.New(slog.DiscardHandler), stop)
	require.Nil(t, h.by.Load(), "what was known before is not what holds now")
}
