package workload

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/reports/page"
	"orrery/scheduler/model"
	"orrery/traces"
)

const monday = model.Time(1_795_392_000_000_000) // 2026-11-23 00:00 UTC

func minutes(n int64) model.Time { return model.Time(n * int64(model.Minute)) }

// job ran from one minute to another on GPUs of nodes.
func job(id, submit, start, end int64, gpus int32, nodes, tenant string, walltime int64) traces.Job {
	count := int32(1)
	if nodes == "n[1-2]" {
		count = 2
	}
	return traces.Job{ID: id, Tenant: tenant, Submit: minutes(submit), Start: traces.Some(minutes(start)), End: traces.Some(minutes(end)), Runtime: traces.Some(model.Duration(minutes(end - start))),
		Walltime: traces.Some(model.Duration(minutes(walltime))), NodesMin: traces.Some(count), GPUsPerNode: traces.Some(gpus), GPUsTotal: traces.Some(gpus * count), RecordedNodes: nodes}
}

func measured(t *testing.T, meta traces.Meta, nodes []traces.Node, tenants []traces.Tenant, jobs ...traces.Job) *Stats {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.trace")
	w, err := traces.NewWriter(path, meta)
	require.NoError(t, err)
	for i := range nodes {
		require.NoError(t, w.WriteNode(nodes[i]))
	}
	for i := range tenants {
		require.NoError(t, w.WriteTenant(tenants[i]))
	}
	for i := range jobs {
		require.NoError(t, w.WriteJob(&jobs[i]))
	}
	_, err = w.Close()
	require.NoError(t, err)
	b, err := traces.Open(path)
	require.NoError(t, err)
	defer b.Close()
	s, err := Measure(b, time.UTC)
	require.NoError(t, err)
	return s
}

// small is two nodes of four GPUs on which every figure can be counted by hand:
//
//	minute      0        10       20       30       40
//	n1 of 4     ada 2 ─────────── idle     ada 4 ──
//	n2 of 4     idle     bob 4 ── idle     ada 4 ──
//
// The third job waits from 10 to 30, and a fourth from 20 to 25, when it is withdrawn.
func small(t *testing.T) *Stats {
	t.Helper()
	meta := traces.Meta{Source: "test", Epoch: monday, EpochKnown: true, Sorted: true}
	nodes := []traces.Node{{Name: "n1", GPUs: 4, CPUs: 8, Up: true}, {Name: "n2", GPUs: 4, CPUs: 8, Up: true}}
	withdrawn := traces.Job{ID: 4, Tenant: "bob", Submit: minutes(20), CancelledAt: traces.Some(minutes(25)), NodesMin: traces.Some[int32](1), GPUsPerNode: traces.Some[int32](1), GPUsTotal: traces.Some[int32](1)}
	return measured(t, meta, nodes, []traces.Tenant{{Name: "ada", FairShare: traces.Some(0.25)}},
		job(1, 0, 0, 20, 2, "n1", "ada", 100), job(2, 10, 10, 20, 4, "n2", "bob", 5), job(3, 10, 30, 40, 4, "n[1-2]", "ada", 20), withdrawn)
}

func TestMeasure(t *testing.T) {
	s := small(t)
	require.Equal(t, []any{int64(4), int64(3), "GPUs", int64(8), "the nodes table", int64(8)}, []any{s.Jobs, s.Started, s.Unit, s.Capacity, s.CapacityBy, s.PeakHeld})
	require.Equal(t, int64(4), s.Hours[0])
	require.Equal(t, int64(4), s.Weekdays[0])
	offered, held := 0.0, 0.0
	for _, b := range s.Load {
		offered, held = offered+b.Offered*float64(b.WidthUS), held+b.Held*float64(b.WidthUS)
	}
	all := float64(8 * 40 * model.Minute)
	require.InDelta(t, float64((2*20+4*10+8*10)*model.Minute)/all, offered/float64(40*model.Minute), 1e-9)
	require.InDelta(t, offered, held, 1, "all that was submitted ran")
	require.Equal(t, Distribution{Known: 4, P10: 1, P50: 2, P90: 8, P99: 8, Max: 8, Buckets: []Bucket{{1, 1}, {2, 1}, {4, 1}, {8, 1}}}, s.Sizes)
	require.Equal(t, Accuracy{Jobs: 3, Exceeded: 1, Tenths: [10]int64{2: 1, 5: 1, 9: 1}, Median: 0.5, Mean: (0.2 + 2 + 0.5) / 3}, s.Accuracy)
	require.Equal(t, Distribution{Known: 3, Unknown: 1, P90: int64(20 * model.Minute), P99: int64(20 * model.Minute), Max: int64(20 * model.Minute), Buckets: []Bucket{{int64(model.Second), 2}, {int64(30 * model.Minute), 1}}}, s.Waits)
	require.InDelta(t, float64(20*model.Minute)/3, *s.MeanWait, 1e-6, "of the jobs with a recorded start")
	quarter := 0.25
	require.Equal(t, Tenants{By: "tenant", Rows: []Tenant{{"ada", 2, 2.0, 0.75, &quarter}, {"bob", 2, 2.0 / 3, 0.25, nil}}}, s.Tenants)
	// From 10 to 20 two GPUs are idle and eight wanted; from 20 to 30 all eight, which is enough.
	require.Equal(t, Idle{Known: true, WaitingUS: int64(20 * model.Minute), Share: (2.0*10 + 8*10) / (8 * 20), UnitHours: 100.0 / 60, FitsUS: int64(10 * model.Minute)}, s.Idle)
	// Idle: 6 for 10 min (2 of them on n1, in part use), 2 for 10 min (on n1), 8 for 10 min, none for 10.
	require.True(t, s.GPUs.Known)
	require.InDelta(t, (6.0*10+2*10+8*10)/40, s.GPUs.Idle, 1e-9)
	require.InDelta(t, (2.0*10+2*10)/160, s.GPUs.Scattered, 1e-9)
	require.Equal(t, int64(3), s.GPUs.Jobs)
}

// TestMeasureLittle has a log without sizes, dates and starts.
func TestMeasureLittle(t *testing.T) {
	s := measured(t, traces.Meta{Source: "test", Sorted: true}, nil, nil, traces.Job{ID: 1, Submit: 5}, traces.Job{ID: 2, Submit: model.Time(8 * model.Day), ProcsRequested: traces.Some[int32](3)})
	require.Nil(t, s.EpochUS)
	require.Equal(t, [7]int64{1, 1}, s.Weekdays)
	require.False(t, s.Idle.Known)
	require.Nil(t, s.MeanWait)
	require.Equal(t, "the trace has no nodes with GPUs", s.GPUs.Why)
	require.Empty(t, s.Tenants.By)
	require.LessOrEqual(t, len(s.Load), mostBins)
	require.NoError(t, Write(t.TempDir(), s, page.Made{}))
	var what []string
	for _, o := range Check(s) {
		require.NotEmpty(t, o.Effect)
		what = append(what, o.What)
	}
	require.Equal(t, []string{"the date of the log is not known", "the log does not say how large the machine was; at most 0 processors were held at once", "jobs without a requested time",
		"jobs without a recorded start and end", "most jobs name no tenant, account or user"}, what)
}

func TestCheck(t *testing.T) {
	report := traces.Report{Dropped: []traces.Rule{{Rule: "job-step", Count: 7, Example: "line 3"}}, Assumed: []traces.Assumption{{What: "jobs.x", Value: "1", Why: "because"}}}
	found := map[string]Odd{}
	for _, o := range Check(small(t), report) {
		found[o.What] = o
	}
	require.Equal(t, Odd{"dropped: job-step", 7, "line 3", "none: steps are parts of jobs"}, found["dropped: job-step"])
	require.Equal(t, int64(1), found["jobs ran longer than they requested"].Count)
	require.Contains(t, found, "assumed: jobs.x 1")
	require.Contains(t, found, "tenant ada holds 75.0 % of what was held")
	require.Contains(t, found, "submissions span 20 min")
	require.NotContains(t, found, "jobs larger than the machine")
}

func TestPage(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, Write(dir, small(t), page.Made{Version: "1", Command: "orrery", Date: "d"}))
	text, err := os.ReadFile(filepath.Join(dir, page.FileHTML))
	require.NoError(t, err)
	for _, part := range []string{"<svg", "Jobs waited in 50.0", "By tenant", "ada", "Submissions by weekday"} {
		require.Contains(t, string(text), part)
	}
	for _, name := range []string{"load", "arrivals-by-hour", "arrivals-by-weekday", "sizes", "runtimes", "accuracy"} {
		require.FileExists(t, filepath.Join(dir, page.DirFigures, name+".svg"))
	}
}

// TestEndOfTheLogIsNoOutage: nothing is submitted while the last job runs on, for most of the log.
func TestEndOfTheLogIsNoOutage(t *testing.T) {
	ran := func(id, submit int64, runs model.Duration) traces.Job {
		at := model.Time(submit) * model.Time(model.Hour)
		return traces.Job{ID: id, Submit: at, Start: traces.Some(at), Runtime: traces.Some(runs), End: traces.Some(at.Add(runs)), ProcsRequested: traces.Some[int32](2)}
	}
	meta := traces.Meta{Source: "test", Sorted: true}
	tail := []traces.Job{ran(1, 0, model.Hour), ran(2, 1, model.Hour), ran(3, 2, 300*model.Hour)}
	gap := append(slices.Clone(tail), ran(4, 250, model.Hour))
	for name, c := range map[string]struct {
		jobs []traces.Job
		want bool
	}{"a tail": {tail, false}, "a gap": {gap, true}} {
		told := slices.ContainsFunc(Check(measured(t, meta, nil, nil, c.jobs...)), func(o Odd) bool { return strings.HasPrefix(o.Effect, "an outage") })
		require.Equal(t, c.want, told, name)
	}
}

// TestCheckHeld: 12 GPUs at once from the third job on, on a cluster of 8; what is not known is
// not compared.
func TestCheckHeld(t *testing.T) {
	p := &traces.Peaks{}
	for i := range model.Time(3) {
		p.Add(i, i, i.Add(model.Hour), traces.Held{4, 1, 4000, 1 << 30})
	}
	p.Finish()
	found := CheckHeld(traces.Info{}, p, Capacity{By: "site.yaml", Has: traces.Held{64, 0, 8000, 0}})
	require.Len(t, found, 1)
	require.Equal(t, int64(4), found[0].Count)
	require.Contains(t, found[0].What, "more GPUs were held at once than there are (8): 12, from ")
	require.Contains(t, found[0].What, ", by site.yaml")
}
