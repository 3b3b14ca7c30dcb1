package agent_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/capture/agent"
	"orrery/traces"
)

// fleet is a source of one unit that names very many GPUs, as an exporter of another fleet may.
type fleet struct {
	gpus  []int32
	asked chan struct{}
}

func (f *fleet) Units() [][]int32 { return [][]int32{f.gpus} }

func (f *fleet) Inventory() (*capture.Inventory, error) {
	v := &capture.Inventory{}
	v.Add("gpu.3.mig", "on")
	for _, gpu := range f.gpus {
		v.GPUs = append(v.GPUs, capture.GPU{Index: gpu, Slowdown: 90})
	}
	return v, nil
}

func (f *fleet) Sample(_ int, out []capture.Reading) ([]capture.Reading, error) {
	for _, gpu := range f.gpus {
		out = append(out, capture.Reading{Telemetry: traces.Telemetry{GPU: traces.Some(gpu), Power: traces.Some(100.0)}})
	}
	select {
	case f.asked <- struct{}{}:
	default:
	}
	return out, nil
}

func (f *fleet) Close() error { return nil }

// TestManyGPUs: with 200,000 GPUs an agent begins, samples, and ends when it is told to. One that
// compares each of them with each other does not in minutes.
func TestManyGPUs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	src := &fleet{asked: make(chan struct{}, 1)}
	for gpu := range int32(200_000) {
		src.gpus = append(src.gpus, gpu)
	}
	o := agent.Defaults()
	o.Out, o.Node, o.Root, o.Interval = t.TempDir(), "n1", t.TempDir(), time.Second
	a, err := agent.New(src, o, slog.New(slog.NewTextHandler(io.Discard, nil)))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	late := time.After(2 * time.Minute)
	select {
	case <-src.asked:
	case err := <-done:
		t.Fatal("it ended before it sampled: ", err)
	case <-late:
		t.Fatal("it does not sample")
	}
	cancel()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-late:
		t.Fatal("it does not end when it is told to")
	}
}
