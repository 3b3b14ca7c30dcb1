package sim

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/world/translate"
	"orrery/tools/refdata"
	"orrery/traces"
	"orrery/traces/importer"
	"orrery/traces/synth"
	"orrery/traces/transform"
)

// lived is what became of the jobs of a run, by id.
type lived struct {
	start, end map[int64]model.Time
	nodes      map[int64]string // of the first attempt
	res        *Result
	sink       *record.Memory
}

func live(t testing.TB, spec plan.Spec, open func() (traces.Source, error)) lived {
	sink := record.NewMemory()
	var kept log
	res, err := Run(context.Background(), spec, open, Options{Sink: sink, Watch: true, Log: kept.recorder()})
	require.NoError(t, err)
	kept.same(t, spec, open, res.Fingerprint)
	require.Empty(t, res.Watch.Breaches, "%v", res.Watch)
	out := lived{map[int64]model.Time{}, map[int64]model.Time{}, map[int64]string{}, res, sink}
	for i, id := range sink.Jobs.ID {
		out.start[id], out.end[id] = model.Time(sink.Jobs.Start[i]), model.Time(sink.Jobs.End[i])
	}
	for i, id := range sink.Attempts.ID {
		if sink.Attempts.Attempt[i] == 1 {
			out.nodes[id] = sink.Attempts.Nodes[i]
		}
	}
	return out
}

// asLived is jobs with the starts and nodes of a run as what was recorded.
func asLived(jobs []traces.Job, l lived, names func(string) string) []traces.Job {
	out := slices.Clone(jobs)
	for i := range out {
		j := &out[i]
		if s, ok := l.start[j.ID]; ok && s != model.AbsentTime {
			j.Start, j.End = traces.Some(s), traces.Some(l.end[j.ID])
			j.Runtime = traces.Some(j.End.V.Sub(s)) // what was killed ran no longer
			if names != nil {
				j.RecordedNodes = names(l.nodes[j.ID])
			}
		}
	}
	return out
}

// at lists which jobs run and which wait at t.
func (l lived) at(jobs []traces.Job, t model.Time) (running, waiting []int64) {
	for i := range jobs {
		j := &jobs[i]
		s, ok := l.start[j.ID]
		switch {
		case !ok || j.Submit >= t || l.end[j.ID] <= t:
		case s < t:
			running = append(running, j.ID)
		default:
			waiting = append(waiting, j.ID)
		}
	}
	return running, waiting
}

// compareWarm replays a window of what a policy did with a log under the same
// policy: what runs and waits at its beginning, and everything after, is as in the
// replay of the whole log.
func compareWarm(t testing.TB, spec plan.Spec, meta traces.Meta, tables traces.Tables, begin, end model.Time, names func(string) string) lived {
	return compareHistory(t, spec, meta, tables, begin, end, 0, names)
}

// compareHistory does so with what was consumed before the window, as far back.
func compareHistory(t testing.TB, spec plan.Spec, meta traces.Meta, tables traces.Tables, begin, end model.Time, history model.Duration, names func(string) string) lived {
	whole, err := traces.NewMemory("whole", meta, tables)
	require.NoError(t, err)
	before := live(t, spec, whole.Open)
	tables.Jobs = asLived(tables.Jobs, before, names)
	set, err := transform.FromTables("log", meta, tables)
	require.NoError(t, err)
	window, err := set.Window(begin, end, true, history)
	require.NoError(t, err)
	m, err := window.Collect()
	require.NoError(t, err)
	after := live(t, spec, m.Open)
	running, waiting := before.at(tables.Jobs, begin)
	c := &after.res.Awkward.Count
	require.EqualValues(t, len(running), c[translate.RuleRanBefore], "running at %s", begin)
	require.EqualValues(t, len(waiting), c[translate.RuleWaitedBefore], "waiting at %s", begin)
	require.Zero(t, c[translate.RuleNotResumed])
	if len(running)+len(waiting) > 0 {
		require.Equal(t, begin, after.res.First)
	}
	for id, start := range after.start {
		if start < end || start == model.AbsentTime {
			require.Equal(t, before.start[id], start, "start of job %d", id)
		}
		if after.end[id] < end {
			require.Equal(t, before.end[id], after.end[id], "end of job %d", id)
		}
		if after.nodes[id] != before.nodes[id] && names != nil && slices.Contains(running, id) {
			t.Errorf("job %d is on %s, and was on %s", id, after.nodes[id], before.nodes[id])
		}
	}
	return after
}

// plainLog is a generated log on 64 processors.
func plainLog(t testing.TB, n int64, seed uint64) (traces.Meta, traces.Tables) {
	p := synth.DefaultLublin(64)
	p.Load = 0.9
	w, err := synth.Lublin(p, n, seed)
	require.NoError(t, err)
	var tables traces.Tables
	for j, err := range w.Rows() {
		require.NoError(t, err)
		tables.Jobs = append(tables.Jobs, *j)
	}
	return traces.Meta{MaxProcs: 64}, tables
}

// TestWarmStart: under the policy that made the schedule, a window goes on
// exactly as the whole log did.
func TestWarmStart(t *testing.T) {
	meta, tables := plainLog(t, 600, 3)
	last := tables.Jobs[len(tables.Jobs)-1].Submit
	for _, c := range []struct{ order, backfill, event string }{
		{"fcfs", "none", ""}, {"fcfs", "easy", ""}, {"sjf", "easy", ""}, {"wfp3", "first-fit", ""}, {"fcfs", "conservative", ""},
		{"fcfs", "easy", "sequential"}, {"fcfs", "conservative", "sequential"},
	} {
		for _, part := range []model.Time{last / 3, 2 * last / 3} {
			t.Run(fmt.Sprint(c, part), func(t *testing.T) {
				spec := plan.DefaultSpec()
				spec.Order, spec.Backfill, spec.EventOrder = c.order, c.backfill, c.event
				res := compareWarm(t, spec, meta, tables, part, model.Never, nil)
				require.Positive(t, res.res.Awkward.Count[translate.RuleRanBefore])
				compareWarm(t, spec, meta, tables, part, part.Add(model.Day), nil)
			})
		}
	}
}

// TestWarmStartInCycles: the first pass comes with the grid, those that ran do
// not wait for it, nor for the quorum.
func TestWarmStartInCycles(t *testing.T) {
	meta, tables := plainLog(t, 300, 5)
	spec := plan.DefaultSpec()
	spec.Cycle, spec.QuorumLatency = 30*model.Second, 2*model.Second
	begin := tables.Jobs[200].Submit
	begin -= begin % model.Time(30*model.Second)
	compareWarm(t, spec, meta, tables, begin+1, model.Never, nil)
}

// TestWarmStartOfALog: a month of a real log, under FCFS with EASY.
func TestWarmStartOfALog(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a whole log")
	}
	b := importedLog(t, "KTH-SP2-1996-2.1-cln.swf.gz")
	var tables traces.Tables
	for j, err := range b.Rows() {
		require.NoError(t, err)
		tables.Jobs = append(tables.Jobs, *j)
	}
	ran, waited := int64(0), int64(0)
	for _, part := range []int{5000, 15000, 25000} {
		begin := tables.Jobs[part].Submit
		after := compareWarm(t, plan.DefaultSpec(), b.Meta(), tables, begin, begin.Add(30*model.Day), nil)
		ran += after.res.Awkward.Count[translate.RuleRanBefore]
		waited += after.res.Awkward.Count[translate.RuleWaitedBefore]
	}
	require.Positive(t, ran)
	require.Positive(t, waited)
}

// importedLog is a log of the test data, imported.
func importedLog(t testing.TB, name string) *traces.Bundle {
	out := filepath.Join(t.TempDir(), "log.trace")
	_, err := importer.Import([]string{refdata.Path(t, "traces", "swf", name)}, out, importer.Options{})
	require.NoError(t, err)
	b, err := traces.Open(out)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// TestSteadyLeavesWarmJobsOut: the steady window begins where the replay does,
// and jobs of before are not in it.
func TestSteadyLeavesWarmJobsOut(t *testing.T) {
	meta, tables := plainLog(t, 300, 5)
	begin := tables.Jobs[150].Submit
	after := compareWarm(t, plan.DefaultSpec(), meta, tables, begin, model.Never, nil)
	table, err := metric.Compute(after.sink, after.res.Series)
	require.NoError(t, err)
	came := 0
	for i := range tables.Jobs {
		if tables.Jobs[i].Submit >= begin {
			came++
		}
	}
	all, _ := table.Value("jobs_submitted", metric.All)
	steady, _ := table.Value("jobs_submitted", metric.Steady)
	require.EqualValues(t, after.res.State.Submitted, all)
	require.EqualValues(t, came, steady)
	require.Less(t, steady, all)
}

const warmSite = `
groups: [{name: g, nodes: "n[1-8]", type: a}]
node_types: [{name: a, gpus: 4, gpu: H, gpu_memory: 10GB, cpus: 8, memory: 20GB}]
vclusters: [{name: v, home: "n[1-8]", profile: {order: fcfs, backfill: easy}}]
`

// TestWarmStartOfASite: jobs that ran are on the nodes on which they were.
func TestWarmStartOfASite(t *testing.T) {
	var tables traces.Tables
	for i := range 120 {
		src := int64(i)
		tables.Jobs = append(tables.Jobs, traces.Job{
			ID: src + 1, VCluster: "v", Submit: model.Time(model.Duration(src) * 97 * model.Second),
			Runtime:  traces.Some(model.Duration(300+src*src*37%1500) * model.Second),
			Walltime: traces.Some(model.Duration(2000) * model.Second), NodesMin: traces.Some(int32(1 + src*7%5)),
		})
	}
	c, err := profiles.ParseCluster("site", []byte(warmSite))
	require.NoError(t, err)
	spec := plan.DefaultSpec()
	spec.Site = c.JSON()
	names := func(text string) string {
		var out []string
		for _, w := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
			lo, hi := 0, 0
			if n, _ := fmt.Sscanf(w, "%d-%d", &lo, &hi); n == 1 {
				hi = lo
			}
			for k := lo; k <= hi; k++ {
				out = append(out, fmt.Sprintf("n%d", k+1))
			}
		}
		return strings.Join(out, ",")
	}
	for _, part := range []int{30, 61, 90} {
		compareWarm(t, spec, traces.Meta{}, tables, tables.Jobs[part].Submit+1, model.Never, names)
		compareWarm(t, spec, traces.Meta{}, tables, tables.Jobs[part].Submit+1, model.Never, nil)
	}
}
