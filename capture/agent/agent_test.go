package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/capture/agent"
	"orrery/capture/archive"
	"orrery/capture/review"
	"orrery/scheduler/model"
	"orrery/traces"
)

// source is a node in memory.
type source struct {
	mu     sync.Mutex
	gpus   int32
	calls  int
	hang   map[int]chan struct{} // by unit: calls wait for it
	fail   map[int]error
	change func(*capture.Reading, int)
	driver string
	mig    []int32
}

func (s *source) Inventory() (*capture.Inventory, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := &capture.Inventory{}
	v.Add(capture.FactDriver, s.driver)
	for _, gpu := range s.mig {
		v.Add(fmt.Sprintf("gpu.%d.mig", gpu), "on")
	}
	for i := range s.gpus {
		v.GPUs = append(v.GPUs, capture.GPU{Index: i, Name: "Scripted", Slowdown: 87})
	}
	return v, nil
}

func (s *source) Units() (units [][]int32) {
	for i := range s.gpus {
		units = append(units, []int32{i})
	}
	return units
}

func (s *source) Sample(unit int, out []capture.Reading) ([]capture.Reading, error) {
	s.mu.Lock()
	s.calls++
	n, wait, err, change := s.calls, s.hang[unit], s.fail[unit], s.change
	s.mu.Unlock()
	if wait != nil {
		<-wait
	}
	if err != nil {
		return out, err
	}
	r := capture.Reading{Telemetry: traces.Telemetry{GPU: traces.Some(int32(unit)), Power: traces.Some(100 + float64(unit)), Temperature: traces.Some(50.0), Energy: traces.Some(int64(n))}}
	if change != nil {
		change(&r, n)
	}
	return append(out, r), nil
}

func (s *source) Close() error { return nil }

func options(t *testing.T) agent.Options {
	o := agent.Defaults()
	o.Out, o.Node, o.Root = filepath.Join(t.TempDir(), "out"), "n1", t.TempDir()
	o.Interval, o.Mode, o.Window, o.Audit, o.For = 10*time.Millisecond, agent.Debug, 100*time.Millisecond, 50*time.Millisecond, 400*time.Millisecond
	return o
}

func silent() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func measure(t *testing.T, s *source, o agent.Options) *agent.Agent {
	t.Helper()
	a, err := agent.New(s, o, silent())
	require.NoError(t, err)
	require.NoError(t, a.Run(context.Background()))
	return a
}

// read is what the folder holds. Each bundle is valid.
func read(t *testing.T, dir string) (*archive.Set, *review.Summary) {
	t.Helper()
	found, err := archive.Find(dir)
	require.NoError(t, err)
	for _, path := range found {
		r, err := traces.Validate(path)
		require.NoError(t, err)
		require.Empty(t, r.Dropped)
	}
	s, err := archive.Open(found)
	require.NoError(t, err)
	sum, err := review.Of(review.Source{Nodes: s.Nodes, Events: s.Events, Telemetry: s.Telemetry})
	require.NoError(t, err)
	return s, sum
}

// accounted holds that each sample that was due is a row or in a gap.
func accounted(t *testing.T, sum *review.Summary, interval model.Duration) {
	t.Helper()
	for _, s := range sum.Series {
		require.Zero(t, s.Holes, "%+v", s)
		if s.Rows == 0 {
			continue
		}
		due := float64(s.Until.Sub(s.Due)) / float64(interval)
		require.InDelta(t, due, s.Rows+s.Missing, 1, "rows and gaps of GPU %d are what was due: %+v", s.GPU, s.Gaps) // a start is not on the grid of the one before
	}
}

func records(t *testing.T, s *archive.Set, kind string) (out []capture.Record) {
	t.Helper()
	for i := range s.Events {
		r, err := capture.ReadRecord(&s.Events[i])
		require.NoError(t, err)
		if r.Record == kind {
			out = append(out, *r)
		}
	}
	return out
}

func TestEverySampleIsARowOrInAGap(t *testing.T) {
	o := options(t)
	o.Rotate = 100 * time.Millisecond
	measure(t, &source{gpus: 4, driver: "1"}, o)
	set, sum := read(t, o.Out)
	require.GreaterOrEqual(t, set.Bundles(), 3)
	require.Len(t, sum.Series, 4)
	accounted(t, sum, 10*model.Millisecond)
	require.InDelta(t, 103, sum.Series[3].Power.V, 1e-6)
	require.NotEmpty(t, records(t, set, capture.RecordClock))
	found, err := archive.Find(o.Out) // on a busy machine one may hold gaps alone
	require.NoError(t, err)
	require.Len(t, records(t, set, capture.RecordInventory), len(found))
	require.Equal(t, capture.Fingerprint(records(t, set, capture.RecordInventory)[0].Inventory), set.Nodes[0].Fingerprint)
}

// One GPU that does not answer holds no other up, one goroutine waits for it, and it is reported.
func TestHungGPU(t *testing.T) {
	o := options(t)
	o.HungAfter = 100 * time.Millisecond
	before := runtime.NumGoroutine()
	release := make(chan struct{})
	s := &source{gpus: 4, driver: "1", hang: map[int]chan struct{}{2: release}}
	a, err := agent.New(s, o, silent())
	require.NoError(t, err)
	require.NoError(t, a.Run(context.Background()))
	for began := time.Now(); runtime.NumGoroutine() > before+1; time.Sleep(time.Millisecond) {
		require.Less(t, time.Since(began), 5*time.Second, "all but the one that waits for the GPU have ended")
	}
	_, sum := read(t, o.Out)
	accounted(t, sum, 10*model.Millisecond)
	for _, one := range sum.Series {
		if one.GPU == 2 {
			require.Zero(t, one.Rows)
			require.Equal(t, "hung", one.Gaps[0].Reason)
			require.InDelta(t, 40, one.Missing, 15)
			continue
		}
		require.Positive(t, one.Rows, "GPU %d goes on", one.GPU)
	}
	require.Equal(t, "hang", sum.Alerts[0].Kind)
	require.Equal(t, "n1/2", sum.Alerts[0].Subject)
	w := httptest.NewRecorder()
	a.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	require.Contains(t, w.Body.String(), `orrery_capture_alerts_total{alert="hang",node="n1"} 1`)
	require.Contains(t, w.Body.String(), `orrery_gpu_power_watts{gpu="3",node="n1"} 103`)
	require.Contains(t, w.Body.String(), "process_cpu_seconds_total")
	close(release)
}

func TestLostAndFailingGPUs(t *testing.T) {
	o := options(t)
	measure(t, &source{gpus: 3, driver: "1", fail: map[int]error{0: capture.ErrLost, 1: errors.New("odd")}}, o)
	_, sum := read(t, o.Out)
	require.Equal(t, []string{"lost", "failed"}, []string{sum.Series[0].Gaps[0].Reason, sum.Series[1].Gaps[0].Reason})
	require.Positive(t, sum.Series[2].Rows)
	require.Equal(t, "lost", sum.Alerts[0].Kind)
	require.Len(t, sum.Alerts, 1, "once, and not with each sample")
}

// A source that answers with errors is reported as one that hangs is, and what it said before is no metric any more.
func TestFailingSourceIsReported(t *testing.T) {
	o := options(t)
	o.HungAfter = 100 * time.Millisecond
	var said bytes.Buffer
	s := &source{gpus: 2, driver: "1", fail: map[int]error{}}
	a, err := agent.New(s, o, slog.New(slog.NewTextHandler(&said, nil)))
	require.NoError(t, err)
	time.AfterFunc(150*time.Millisecond, func() {
		s.mu.Lock()
		s.fail = map[int]error{1: errors.New("the driver is gone")}
		s.mu.Unlock()
	})
	require.NoError(t, a.Run(context.Background()))
	_, sum := read(t, o.Out)
	accounted(t, sum, 10*model.Millisecond)
	require.Len(t, sum.Alerts, 1)
	require.Equal(t, []string{"failed", "n1/1"}, []string{sum.Alerts[0].Kind, sum.Alerts[0].Subject})
	require.Equal(t, 1, strings.Count(said.String(), "the driver is gone"), "once, and not with each sample: %s", said.String())
	w := httptest.NewRecorder()
	a.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	require.Contains(t, w.Body.String(), `orrery_gpu_power_watts{gpu="0",node="n1"}`)
	require.NotContains(t, w.Body.String(), `orrery_gpu_power_watts{gpu="1",node="n1"}`)
}

func TestAlerts(t *testing.T) {
	o := options(t)
	measure(t, &source{gpus: 1, driver: "1", change: func(r *capture.Reading, n int) {
		switch {
		case n > 5 && n < 10:
			r.Temperature.V = 90
		case n == 15:
			r.XIDs = []uint64{79}
		case n == 12:
			r.Energy.V = 0 // once: it goes on where it was
		case n >= 20:
			r.Energy.V = int64(n - 20) // the counter begins anew
		}
		r.ECCUncorrected = traces.Some(int64(n / 12))
	}}, o)
	set, sum := read(t, o.Out)
	kinds := map[string]int{}
	for _, a := range sum.Alerts {
		kinds[a.Kind]++
	}
	require.Equal(t, 1, kinds["temperature"])
	require.Equal(t, 1, kinds["xid"])
	require.GreaterOrEqual(t, kinds["ecc"], 1)
	require.Len(t, records(t, set, capture.RecordRestart), 1)
	require.Equal(t, int64(2), sum.Series[0].Restarts, "how often it went back")
}

// What cannot be raises no alert, is in no row and no metric, and is counted in the bundle.
func TestValuesThatCannotBe(t *testing.T) {
	o := options(t)
	samples := 0 // of GPU 0, which one goroutine reads: the calls in all may be even whenever it is its turn
	a := measure(t, &source{gpus: 2, driver: "1", change: func(r *capture.Reading, _ int) {
		if r.GPU.V == 1 {
			return
		}
		if samples++; samples%2 == 1 {
			r.Temperature.V, r.Power.V, r.ECCUncorrected = 2147483632, 140737488355328, traces.Some(int64(-1))
		}
		r.SMUtil = traces.Some(42949672.95)
	}}, o)
	set, sum := read(t, o.Out)
	require.Empty(t, sum.Alerts)
	for g, err := range set.Telemetry() {
		require.NoError(t, err)
		require.False(t, g.SMUtil.OK)
		require.True(t, !g.Power.OK || g.Power.V < 102)
	}
	require.Empty(t, set.LeftOut, "they are not in the bundle")
	columns := map[string]bool{}
	for _, r := range records(t, set, capture.RecordLeftOut) {
		column, _, _ := strings.Cut(r.Reason, ":")
		columns[column] = true
		require.Positive(t, r.Samples)
	}
	require.Equal(t, map[string]bool{"temperature": true, "power": true, "ecc_uncorrected": true, "sm_util": true}, columns)
	require.Len(t, sum.LeftOut, 4)
	require.True(t, strings.HasPrefix(sum.LeftOut[0].Rule, "n1/0, "), sum.LeftOut[0].Rule)
	w := httptest.NewRecorder()
	a.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	require.Contains(t, w.Body.String(), `orrery_capture_left_out_values_total{column="temperature",node="n1"}`)
	require.NotContains(t, w.Body.String(), `orrery_gpu_utilization_ratio{gpu="0"`)
}

// An error of a GPU is told although it held up the sample that would have said so.
func TestErrorOfALateSample(t *testing.T) {
	o := options(t)
	measure(t, &source{gpus: 1, driver: "1", change: func(r *capture.Reading, n int) {
		if n == 15 {
			time.Sleep(3 * o.Interval)
			r.XIDs = []uint64{31}
		}
	}}, o)
	_, sum := read(t, o.Out)
	require.Positive(t, sum.Series[0].Missing)
	require.Len(t, sum.Alerts, 1)
	require.Equal(t, []string{"xid", "XID 31"}, []string{sum.Alerts[0].Kind, sum.Alerts[0].Text})
}

// Also when the agent is stopped before it answers.
func TestErrorOfTheLastSample(t *testing.T) {
	o := options(t)
	o.For = 0
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a, err := agent.New(&source{gpus: 1, driver: "1", change: func(r *capture.Reading, n int) {
		if n == 15 {
			time.Sleep(3 * o.Interval)
			cancel()
			time.Sleep(3 * o.Interval)
			r.XIDs = []uint64{31}
		}
	}}, o, silent())
	require.NoError(t, err)
	require.NoError(t, a.Run(ctx))
	_, sum := read(t, o.Out)
	require.Len(t, sum.Alerts, 1)
	require.Equal(t, "XID 31", sum.Alerts[0].Text)
}

// telling is a source that is told errors after the last sample.
type telling struct{ *source }

func (telling) Errors(unit int) []capture.Reading {
	return []capture.Reading{{Telemetry: traces.Telemetry{GPU: traces.Some(int32(unit))}, XIDs: []uint64{79}}}
}

// Also when the GPU reports it after the last sample, as shortly before a node is shut down for it.
func TestErrorAfterTheLastSample(t *testing.T) {
	o := options(t)
	var log bytes.Buffer
	a, err := agent.New(telling{&source{gpus: 2, driver: "1"}}, o, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	require.NoError(t, a.Run(context.Background()))
	_, sum := read(t, o.Out)
	require.Len(t, sum.Alerts, 2)
	require.Equal(t, "XID 79", sum.Alerts[1].Text)
	require.Contains(t, log.String(), "hung=0")
}

// ending is a source that is over after some samples, and has an error of the GPU to tell then.
type ending struct{ *source }

func (e ending) Sample(unit int, out []capture.Reading) ([]capture.Reading, error) {
	out, err := e.source.Sample(unit, out)
	if out[0].Energy.V == 15 {
		out[0].XIDs, err = []uint64{31}, capture.ErrEnd
	}
	return out, err
}

// Also when no sample follows.
func TestErrorAtTheEnd(t *testing.T) {
	o := options(t)
	o.For = 0
	a, err := agent.New(ending{&source{gpus: 1, driver: "1"}}, o, silent())
	require.NoError(t, err)
	require.NoError(t, a.Run(context.Background()))
	_, sum := read(t, o.Out)
	require.Len(t, sum.Alerts, 1)
	require.Equal(t, "XID 31", sum.Alerts[0].Text)
}

// A source that takes longer than the interval gives a row with each answer, and the rest is gaps.
func TestSlowSource(t *testing.T) {
	for _, slow := range []struct{ takes, hungAfter, rows int }{{3, 1000, 12}, {7, 1000, 5}, {20, 1, 0}} { // the last one is as one that hangs
		o := options(t)
		o.Interval, o.HungAfter, o.For = 20*time.Millisecond, time.Duration(slow.hungAfter)*20*time.Millisecond, 1200*time.Millisecond
		o.Window, o.Audit = 100*time.Millisecond, 100*time.Millisecond
		measure(t, &source{gpus: 2, driver: "1", change: func(*capture.Reading, int) {
			time.Sleep(time.Duration(slow.takes)*o.Interval/2 + o.Interval/4)
		}}, o)
		_, sum := read(t, o.Out)
		accounted(t, sum, 20*model.Millisecond)
		for _, s := range sum.Series {
			require.GreaterOrEqual(t, s.Rows, int64(slow.rows), "%+v", s)
			require.Positive(t, s.Missing)
		}
		if slow.rows > 0 {
			require.Empty(t, sum.Alerts)
			continue
		}
		require.Zero(t, sum.Series[0].Rows)
		require.Equal(t, "hang", sum.Alerts[0].Kind)
	}
}

// Windows hold mean, quantiles and the largest value of what was measured in them.
func TestWindows(t *testing.T) {
	o := options(t)
	o.Mode = agent.Prod
	measure(t, &source{gpus: 1, driver: "1", change: func(r *capture.Reading, n int) { r.Power.V, r.Throttle = float64(n), traces.Some(int64(n%2)*4) }}, o)
	set, sum := read(t, o.Out)
	rows := map[model.Time]map[string]traces.Telemetry{}
	for g, err := range set.Telemetry() {
		require.NoError(t, err)
		if rows[g.Time] == nil {
			rows[g.Time] = map[string]traces.Telemetry{}
		}
		rows[g.Time][g.Stat] = *g
	}
	require.GreaterOrEqual(t, len(rows), 3)
	for _, w := range rows {
		require.Len(t, w, 5)
		require.LessOrEqual(t, w["p50"].Power.V, w["p95"].Power.V)
		require.LessOrEqual(t, w["p99"].Power.V, w["max"].Power.V)
		require.LessOrEqual(t, w["max"].Width.V, 100*model.Millisecond)
		require.False(t, w["max"].Energy.OK, "a counter is in the row of the mean alone")
	}
	require.Zero(t, sum.Series[0].Holes)
}

// Debug writes every sample and ends by itself.
func TestDebugEnds(t *testing.T) {
	o := options(t)
	o.Mode, o.DebugFor, o.For = agent.Prod, 150*time.Millisecond, time.Second
	a, err := agent.New(&source{gpus: 1, driver: "1"}, o, silent())
	require.NoError(t, err)
	time.AfterFunc(200*time.Millisecond, func() { a.SetMode(agent.Debug) })
	require.NoError(t, a.Run(context.Background()))
	set, sum := read(t, o.Out)
	var modes []string
	for _, r := range records(t, set, capture.RecordMode) {
		modes = append(modes, r.Mode)
	}
	require.Equal(t, []string{"prod", "debug", "prod"}, modes)
	raw := 0
	for g, err := range set.Telemetry() {
		require.NoError(t, err)
		if g.Stat == "" {
			raw++
		}
	}
	require.LessOrEqual(t, raw, 18)
	require.Positive(t, raw)
	require.Zero(t, sum.Series[0].Holes)
}

// The oldest bundles go when the folder is full, and the next one says so.
func TestDiskIsBounded(t *testing.T) {
	o := options(t)
	o.MaxDisk, o.Rotate, o.For = 4<<20, 20*time.Millisecond, 800*time.Millisecond
	text := strings.Repeat("x", 60_000)
	measure(t, &source{gpus: 2, driver: "1", change: func(r *capture.Reading, n int) {
		for i := range 4 { // text that does not compress
			r.Procs = append(r.Procs, capture.Process{PID: 1 << 30, Name: fmt.Sprintf("%d%s", i, scrambled(text, n*4+i))})
		}
	}}, o)
	total := int64(0)
	require.NoError(t, filepath.Walk(o.Out, func(_ string, st os.FileInfo, err error) error {
		require.NoError(t, err)
		total += st.Size()
		return nil
	}))
	require.LessOrEqual(t, total, o.MaxDisk)
	set, _ := read(t, o.Out)
	gone := records(t, set, capture.RecordRemoved)
	require.NotEmpty(t, gone)
	require.NotEmpty(t, gone[0].Bundle)
}

func scrambled(text string, seed int) string {
	out := []byte(text)
	x := uint64(seed)*0x9e3779b97f4a7c15 + 1
	for i := range out {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		out[i] = 'a' + byte(x%26)
	}
	return string(out)
}

// A start after a stop says for how long none ran, and two agents do not share a folder.
func TestStartsAgain(t *testing.T) {
	o := options(t)
	o.For = 100 * time.Millisecond
	measure(t, &source{gpus: 2, driver: "1"}, o)
	time.Sleep(60 * time.Millisecond)
	measure(t, &source{gpus: 2, driver: "1"}, o)
	set, sum := read(t, o.Out)
	require.Equal(t, 2, set.Bundles())
	accounted(t, sum, 10*model.Millisecond)
	require.Equal(t, "stopped", sum.Series[0].Gaps[len(sum.Series[0].Gaps)-1].Reason)
	o.For = 0
	a, err := agent.New(&source{gpus: 1, driver: "1"}, o, silent())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- a.Run(ctx) }()
	time.Sleep(300 * time.Millisecond)
	b, err := agent.New(&source{gpus: 1, driver: "1"}, o, silent())
	require.NoError(t, err)
	require.ErrorContains(t, b.Run(context.Background()), "another agent writes to")
	cancel()
	require.NoError(t, <-done)
}

// slowInventory is a source whose inventory waits.
type slowInventory struct {
	*source
	wait  []chan struct{} // by call; none for the ones after
	asked chan struct{}
	state sync.Mutex
	calls int
	open  int // calls that have not come back
	bad   int // how many of them were under way when the source was closed
}

// untilStopped are options of an agent that takes its inventory each second.
func untilStopped(t *testing.T) agent.Options {
	o := options(t)
	o.For, o.Again = 0, time.Second
	return o
}

// newSlowInventory is such a source, and its agent.
func newSlowInventory(t *testing.T, o agent.Options, wait ...chan struct{}) (*slowInventory, *agent.Agent) {
	t.Helper()
	s := &slowInventory{source: &source{gpus: 1, driver: "1"}, wait: wait, asked: make(chan struct{}, 16)}
	a, err := agent.New(s, o, silent())
	require.NoError(t, err)
	return s, a
}

func (s *slowInventory) Inventory() (*capture.Inventory, error) {
	s.state.Lock()
	var wait chan struct{}
	if s.calls < len(s.wait) {
		wait = s.wait[s.calls]
	}
	s.calls++
	s.open++
	s.state.Unlock()
	if wait != nil {
		s.asked <- struct{}{}
		<-wait
	}
	s.state.Lock()
	s.open--
	s.state.Unlock()
	return s.source.Inventory()
}

func (s *slowInventory) Close() error {
	s.state.Lock()
	defer s.state.Unlock()
	s.bad += s.open
	return nil
}

// An inventory that does not come back holds up no stop, and the source is not closed meanwhile.
func TestStopsWhileTheInventoryHangs(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	s, a := newSlowInventory(t, untilStopped(t), release)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	<-s.asked
	cancel()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
	require.Zero(t, s.bad)
}

// At the end of --for nothing was measured, unless the inventory takes longer than that and comes.
func TestEndsWhileTheInventoryHangs(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	o := options(t)
	o.For, o.HungAfter = 50*time.Millisecond, 100*time.Millisecond
	_, a := newSlowInventory(t, o, release)
	require.EqualError(t, a.Run(context.Background()), "the source has not said within 100ms what GPUs there are: nothing was measured")
	require.NoDirExists(t, o.Out)

	slow := make(chan struct{})
	o.HungAfter = time.Minute
	_, a = newSlowInventory(t, o, slow)
	time.AfterFunc(2*o.For, func() { close(slow) })
	require.NoError(t, a.Run(context.Background()))
	_, sum := read(t, o.Out)
	require.NotEmpty(t, sum.Nodes)
}

// Likewise one that is taken again.
func TestStopsWhileTheInventoryIsTakenAgain(t *testing.T) {
	release := make(chan struct{})
	s, a := newSlowInventory(t, untilStopped(t), nil, release)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { <-s.asked; cancel() }()
	require.NoError(t, a.Run(ctx))
	require.Zero(t, s.bad, "no source is closed while it is asked")
	close(release)
}

// TestJitterKeepsTheRows: samples that are asked for later are rows of the instants at which they were due.
func TestJitterKeepsTheRows(t *testing.T) {
	o := options(t)
	o.Interval, o.Audit, o.Jitter = 20*time.Millisecond, 100*time.Millisecond, 0.5
	measure(t, &source{gpus: 2, driver: "1"}, o)
	set, sum := read(t, o.Out)
	accounted(t, sum, 20*model.Millisecond)
	require.Positive(t, sum.Series[0].Rows)
	require.Equal(t, 10*model.Millisecond, records(t, set, capture.RecordMode)[0].Jitter)
	for row, err := range set.Telemetry() {
		require.NoError(t, err)
		require.Zero(t, row.Time%model.Time(20*model.Millisecond))
	}
	o.Jitter = 0.6
	require.ErrorContains(t, o.Validate(), "jitter 0.6")
}

func TestOptionsSayWhatIsWrong(t *testing.T) {
	o := agent.Defaults()
	o.Out, o.Node, o.Interval, o.Window, o.MaxDisk, o.Mode = "x", "../n", 7*time.Millisecond, time.Second, 5, "fast"
	err := o.Validate()
	for _, part := range []string{"node name", "interval 7ms", "multiple of the interval", "disk bound", `mode "fast"`} {
		require.ErrorContains(t, err, part)
	}
}

// The agent says at its start of which GPUs the samples are of all instances together.
func TestMIGIsSaid(t *testing.T) {
	for _, on := range [][]int32{nil, {1}} {
		var said bytes.Buffer
		a, err := agent.New(&source{gpus: 2, mig: on}, options(t), slog.New(slog.NewTextHandler(&said, nil)))
		require.NoError(t, err)
		require.NoError(t, a.Run(context.Background()))
		require.Contains(t, said.String(), "msg=measuring")
		require.Equal(t, len(on) > 0, strings.Contains(said.String(), `level=WARN msg="MIG is on: power, clocks, temperatures and errors are of whole GPUs; GPU instances have memory, activity and processes of their own where the source tells them" gpus=[1]`), said.String())
	}
}
