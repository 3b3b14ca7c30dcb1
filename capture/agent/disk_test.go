package agent_test

import (
	"context"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/capture/agent"
	"orrery/capture/archive"
	"orrery/capture/review"
	"orrery/internal/disk"
	"orrery/scheduler/model"
)

// gap is how many samples of GPU 0 are missing for a reason.
func gap(sum *review.Summary, reason string) (n int64) {
	for _, g := range sum.Series[0].Gaps {
		if g.Reason == reason {
			n += g.Samples
		}
	}
	return n
}

// On a full disk the agent goes on, and when there is room again the next bundle says what is not there.
func TestFullDisk(t *testing.T) {
	o := options(t)
	o.Rotate, o.For = 100*time.Millisecond, 1200*time.Millisecond
	var full atomic.Bool
	restore := disk.Through(func(step *disk.Step, do func() error) error {
		if full.Load() && step.Kind == disk.Write && strings.HasPrefix(step.Path, o.Out) {
			return syscall.ENOSPC
		}
		return do()
	})
	defer restore()
	time.AfterFunc(300*time.Millisecond, func() { full.Store(true) })
	time.AfterFunc(700*time.Millisecond, func() { full.Store(false) })
	measure(t, &source{gpus: 2, driver: "1"}, o)
	set, sum := read(t, o.Out)
	accounted(t, sum, 10*model.Millisecond)
	require.Positive(t, gap(sum, capture.GapUnwritten), "%+v", sum.Series[0].Gaps)
	require.GreaterOrEqual(t, set.Bundles(), 3, "before and after")
	require.Greater(t, sum.Series[0].Rows, int64(20))
}

// A disk that stalls holds no sampling up: what has no room in memory is a gap, and nothing else is.
func TestStalledDisk(t *testing.T) {
	o := options(t)
	o.Rotate, o.For = 100*time.Millisecond, 6200*time.Millisecond
	var stalled atomic.Bool
	restore := disk.Through(func(step *disk.Step, do func() error) error {
		if step.Kind == disk.Sync && strings.HasPrefix(step.Path, o.Out) && stalled.CompareAndSwap(false, true) {
			time.Sleep(5 * time.Second)
		}
		return do()
	})
	defer restore()
	s := &source{gpus: 1, driver: "1"}
	measure(t, s, o)
	_, sum := read(t, o.Out)
	accounted(t, sum, 10*model.Millisecond)
	require.Positive(t, gap(sum, capture.GapBehind), "256 samples wait, the ones after that do not: %+v", sum.Series[0].Gaps)
	require.Greater(t, sum.Series[0].Rows, int64(150), "those that waited are there")
}

// A firmware that changes while the agent runs is an event and an alert, once.
func TestDrift(t *testing.T) {
	o := options(t)
	o.Again, o.For = time.Second, 3400*time.Millisecond
	s := &source{gpus: 1, driver: "550.54.14"}
	a, err := agent.New(s, o, silent())
	require.NoError(t, err)
	time.AfterFunc(500*time.Millisecond, func() {
		s.mu.Lock()
		s.driver = "550.54.15"
		s.mu.Unlock()
	})
	require.NoError(t, a.Run(context.Background()))
	set, sum := read(t, o.Out)
	drifts := records(t, set, capture.RecordFingerprint)
	require.Len(t, drifts, 1)
	require.Equal(t, []string{"-driver.version=550.54.14", "+driver.version=550.54.15"}, drifts[0].Changed)
	require.Equal(t, 1, sum.Nodes[0].Drifts)
	require.Equal(t, drifts[0].Fingerprint, sum.Nodes[0].Fingerprint)
	shown, err := archive.Live(o.Out)
	require.NoError(t, err)
	require.Empty(t, shown, "the agent has ended")
}
