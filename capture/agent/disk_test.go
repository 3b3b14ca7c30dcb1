package agent_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
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

// heard keeps a log, and notes when something was said.
type heard struct {
	bytes.Buffer
	what string
	told atomic.Bool
}

func (h *heard) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(h.what)) {
		h.told.Store(true)
	}
	return h.Buffer.Write(p)
}

// Alerts and XIDs of the time in which no bundle can be begun, or none can be written, are told at once, and are in the next bundle.
// Those that memory has no room for are counted there.
func TestAlertsWithoutADisk(t *testing.T) {
	for _, c := range []struct {
		refused []disk.Kind // nil for all
		xids    int
	}{{nil, 1}, {[]disk.Kind{disk.Write}, 1}, {nil, 3000}} {
		o := options(t)
		o.Rotate, o.For = 100*time.Millisecond, 0
		var full atomic.Bool
		var refused atomic.Int64
		restore := disk.Through(func(step *disk.Step, do func() error) error {
			if full.Load() && strings.HasPrefix(step.Path, o.Out) && (c.refused == nil || slices.Contains(c.refused, step.Kind)) {
				refused.Add(1)
				return syscall.ENOSPC
			}
			return do()
		})
		defer restore()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		s := &source{gpus: 2, driver: "1", fail: map[int]error{}}
		said := &heard{what: "the driver reports XID 79"}
		stage, before := 0, int64(0)
		s.change = func(r *capture.Reading, n int) { // two in 10 ms, until the other GPU is lost
			s.mu.Lock()
			defer s.mu.Unlock()
			switch {
			case n > 1500:
				cancel()
			case stage == 0 && n >= 60:
				full.Store(true)
				stage = 1
			case stage == 1 && refused.Load() > 0:
				r.XIDs, r.Temperature.V = slices.Repeat([]uint64{79}, c.xids), 95
				s.fail[1-int(r.GPU.V)] = capture.ErrLost
				stage = 2
			case stage == 2 && said.told.Load():
				stage, before = 3, refused.Load()
			case stage == 3 && refused.Load() > before:
				full.Store(false)
				stage, before = 4, int64(n)
			case stage == 4 && int64(n) > before+40:
				cancel()
			}
		}
		a, err := agent.New(s, o, slog.New(slog.NewTextHandler(said, nil)))
		require.NoError(t, err)
		require.NoError(t, a.Run(ctx))
		restore()
		set, sum := read(t, o.Out)
		accounted(t, sum, 10*model.Millisecond)
		require.Positive(t, gap(sum, capture.GapUnwritten))
		require.True(t, said.told.Load())
		found := map[string]int{}
		for _, a := range sum.Alerts {
			found[a.Kind]++
		}
		w := httptest.NewRecorder()
		a.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		require.Contains(t, w.Body.String(), fmt.Sprintf(`orrery_capture_alerts_total{alert="xid",node="n1"} %d`, c.xids))
		require.Contains(t, w.Body.String(), `orrery_capture_alerts_total{alert="temperature",node="n1"} 1`)
		require.Contains(t, w.Body.String(), `orrery_capture_alerts_total{alert="lost",node="n1"} 1`)
		if c.xids == 1 {
			require.Equal(t, map[string]int{"xid": 1, "temperature": 1, "lost": 1}, found)
			continue
		}
		beyond := 0.0
		for _, r := range records(t, set, capture.RecordAlert) {
			if r.Alert == "records" {
				beyond = r.Value
			}
		}
		require.Equal(t, 1024, found["xid"]+found["temperature"]+found["lost"])
		require.Equal(t, float64(c.xids+2-1024), beyond)
		require.Contains(t, said.String(), "records of alerts had no room in memory")
	}
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
