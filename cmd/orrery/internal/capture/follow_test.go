package capture_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/cmd/orrery/internal/app"
	"orrery/cmd/orrery/internal/cli"
	"orrery/cmd/orrery/internal/clitest"
	"orrery/scheduler/model"
	"orrery/traces"
)

// said is what a verb prints while it runs.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestFollow shows the samples of an agent that is at work, each once, and says when there are none any more.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var out, errs said
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan int, 1)
	m := &cli.App{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: os.Getenv}
	go func() { done <- app.Run(ctx, m, []string{"capture", "inspect", dir, "--follow", "--every", "10ms"}) }()
	eventually := func(s *said, part string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(s.String(), part) }, 30*time.Second, 5*time.Millisecond, "%s in %s", part, s)
	}
	eventually(&errs, "no agent at work yet")

	live := capture.Live{Node: "gpu7", Interval: model.Second, Mode: "prod", GPUs: []capture.LiveGPU{{GPU: 0}, {GPU: 1}}}
	put := func(at time.Time, watts float64) {
		r := capture.Reading{Telemetry: traces.Telemetry{Time: model.Time(at.UnixMicro()), Power: traces.Some(watts), SMUtil: traces.Some(0.73), Throttle: traces.Some(int64(4))},
			Procs: []capture.Process{{PID: 1}, {PID: 2}}}
		live.At = r.Time
		live.GPUs[0].Show(&r)
		live.GPUs[1].Silent = capture.GapHung
		require.NoError(t, os.WriteFile(filepath.Join(dir, capture.LiveName("gpu7")), append(live.Append(nil), "   "...), 0o600))
	}
	put(time.Now(), 512.5)
	eventually(&out, "512.5")
	first := out.String()
	for _, part := range []string{"live", "gpu7", "73", "yes", "hung"} {
		require.Contains(t, first, part)
	}
	put(time.Now(), 612.5)
	eventually(&out, "612.5")
	require.Contains(t, out.String(), "▁█", "the curve of power")
	clitest.TelemetryFolder(t, dir)
	eventually(&out, "energy (kWh)")
	put(time.Now().Add(-time.Hour), 412.5)
	eventually(&out, "no sample since")
	require.NoError(t, os.WriteFile(filepath.Join(dir, capture.LiveName("gpu7")), []byte("0badc0de {torn"), 0o600))
	before := out.String()
	time.Sleep(50 * time.Millisecond)
	require.Equal(t, before, out.String(), "what is half written is not shown")
	cancel()
	require.Equal(t, cli.ExitInterrupted, <-done)
}
