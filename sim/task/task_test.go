package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/traces"
	"orrery/traces/transform"
)

const cluster = `agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}
groups: [{name: a, nodes: 8, fingerprint: x}, {name: b, nodes: 8, fingerprint: y}]
tenants: [{name: t0, fair_share: 0.3}, {name: t1, fair_share: 0.2}, {name: t2}]
classes: [{class: 3, target_wait: 1m}]
vclusters: [{name: all, home: all, profile: {cycle: 30s, weights: {wait_time: %s, fair_share: 1, topology: 1}}}]
`

// busy is n jobs on a machine of 16 nodes that is almost full.
func busy(t testing.TB, n int) *transform.Set {
	s, err := transform.FromTables("busy", traces.Meta{MaxProcs: 16, EpochKnown: true}, busyRows(n))
	require.NoError(t, err)
	return s
}

// busyRows are its rows.
func busyRows(n int) (rows traces.Tables) {
	at := model.Time(0)
	for i := range n {
		h := uint64(i+1) * 0x9E3779B97F4A7C15
		at = at.Add(model.Duration(h>>40%200) * model.Second)
		nodes := int32(1 << (h >> 20 % 4))
		run := model.Duration(60+h>>30%1500) * model.Second
		rows.Jobs = append(rows.Jobs, traces.Job{
			ID: int64(i + 1), Submit: at, User: fmt.Sprint("u", i%7), Tenant: fmt.Sprint("t", i%3), Kind: "bounded",
			Start: traces.Some(at.Add(model.Minute)), End: traces.Some(at.Add(model.Minute + run)),
			Runtime: traces.Some(run), Walltime: traces.Some(2 * run), ProcsRequested: traces.Some(nodes), NodesMin: traces.Some(nodes),
			Class: traces.Some(int32(i % 4)),
		})
	}
	return rows
}

// site is a spec of the cluster above for a trace that was added.
func site(t testing.TB, m *traces.Memory, weight string) plan.Spec {
	c, err := profiles.ParseCluster("test", fmt.Appendf(nil, cluster, weight))
	require.NoError(t, err)
	spec := plan.DefaultSpec()
	spec.Site = c.JSON()
	return bound(t, m, spec)
}

func bound(t testing.TB, m *traces.Memory, spec plan.Spec) plan.Spec {
	src, err := m.Open()
	require.NoError(t, err)
	spec, err = spec.Bind(src)
	require.NoError(t, err)
	return spec
}

// some are tasks of every sort.
func some(t testing.TB, r *Runner, n int) []Task {
	m, err := r.Add(busy(t, n))
	require.NoError(t, err)
	lead := model.Hour
	half := &Window{Begin: model.Time(2 * model.Hour), End: model.Time(8 * model.Hour), Lead: &lead, Warm: true, Follow: model.Day}
	var tasks []Task
	for _, spec := range []plan.Spec{site(t, m, "1"), site(t, m, "5"), bound(t, m, plan.DefaultSpec())} {
		tasks = append(tasks, Task{Spec: spec}, Task{Spec: spec, Window: half},
			Task{Spec: spec, Jitter: &Jitter{By: model.Minute, Seed: 3}}, Task{Spec: spec, Window: half, Jitter: &Jitter{By: model.Minute, Seed: 4}},
			Task{Spec: spec, Load: 1100}, Task{Spec: spec, Window: Around(quarters(), model.Day), Parts: quarters(), Jitter: &Jitter{By: model.Minute, Seed: 5}, Load: 900},
			Task{Spec: spec, Parts: quarters()[:1], Brief: quarters()[1:]})
	}
	return tasks
}

// quarters are four windows in a row.
func quarters() []metric.Span {
	var out []metric.Span
	for i := range 4 {
		out = append(out, metric.Span{From: model.Time((2 + model.Duration(i)) * model.Hour), To: model.Time((3 + model.Duration(i)) * model.Hour)})
	}
	return out
}

// TestPartsOfAWindow: parts that are measured in one replay are what a replay of each
// tells, groups and all, and the load goes on behind them.
func TestPartsOfAWindow(t *testing.T) {
	ctx := context.Background()
	r := NewRunner(nil)
	m, err := r.Add(busy(t, 600))
	require.NoError(t, err)
	for _, spec := range []plan.Spec{site(t, m, "1"), bound(t, m, plan.DefaultSpec())} {
		tasks := []Task{{Spec: spec, Window: Around(quarters(), 100*model.Day), Parts: quarters()}, {Spec: spec, Brief: quarters()}}
		for _, p := range quarters() {
			tasks = append(tasks, Task{Spec: spec, Window: Around([]metric.Span{p}, 100*model.Day), Parts: []metric.Span{p}})
		}
		got, err := Evaluate(ctx, r, tasks, 2)
		require.NoError(t, err)
		jobs := 0.0
		for i, alone := range got[2:] {
			part := got[0].Parts[i]
			require.Equal(t, alone.Parts[0].Fingerprint, part.Fingerprint)
			require.Equal(t, alone.Verdict, part.Verdict)
			brief := got[1].Brief[i]
			delete(brief.Metrics, "queue_growth") // from time bins, whose width is that of the run
			delete(part.Metrics, "queue_growth")
			require.Equal(t, part.Metrics, brief.Metrics, "the whole trace leaves the window as it is")
			require.Empty(t, brief.Groups)
			for _, by := range []string{metric.ByRuntime, metric.BySize, metric.ByUser} {
				want, err := json.Marshal(alone.Groups[by])
				require.NoError(t, err)
				got, err := json.Marshal(part.Groups[by])
				require.NoError(t, err)
				require.Equal(t, string(want), string(got))
			}
			for name, want := range alone.Metrics {
				if want.Steady == nil || name == "queue_growth" {
					continue
				}
				require.Equal(t, want.Steady, part.Metrics[name].Steady, name)
			}
			n, ok := part.Value("jobs_submitted", metric.Steady)
			require.True(t, ok)
			jobs += n
		}
		all, _ := got[0].Value("jobs_submitted", metric.Steady)
		require.Equal(t, all, jobs)
		require.NotEqual(t, got[0].Parts[0].Fingerprint, got[0].Parts[1].Fingerprint)
	}
}

// TestLoad: with more load the same jobs come in less time.
func TestLoad(t *testing.T) {
	ctx := context.Background()
	r := NewRunner(nil)
	m, err := r.Add(busy(t, 300))
	require.NoError(t, err)
	spec := bound(t, m, plan.DefaultSpec())
	var waits []float64
	for _, load := range []int{500, 0, 2000} {
		x := Task{Spec: spec, Load: load}
		derived, err := r.Trace(ctx, &x)
		require.NoError(t, err)
		require.Equal(t, m.Info().Rows, derived.Info().Rows)
		got, err := Evaluate(ctx, r, []Task{x}, 1)
		require.NoError(t, err)
		wait, _ := got[0].Value("wait_mean", metric.All)
		waits = append(waits, wait)
	}
	require.True(t, slices.IsSorted(waits), "%v", waits)
	require.Less(t, waits[0], waits[2])
}

// TestBytes: a result is the same by any worker, in any order, alone or among
// others, and reads back.
func TestBytes(t *testing.T) {
	ctx := context.Background()
	r := NewRunner(nil)
	tasks := some(t, r, 600)
	want := map[string]string{}
	w := r.Worker()
	for i := range tasks {
		b, err := w(ctx, tasks[i].JSON())
		require.NoError(t, err)
		want[tasks[i].ID()] = string(b)
		res, err := ParseResult(b)
		require.NoError(t, err)
		require.Equal(t, string(b), string(res.json()))
		require.Equal(t, tasks[i].ID(), res.Task)
	}
	require.Len(t, want, len(tasks))
	slices.Reverse(tasks)
	for _, workers := range []int{1, 3} {
		fresh := NewRunner(nil)
		_, err := fresh.Add(busy(t, 600))
		require.NoError(t, err)
		got, err := Evaluate(ctx, fresh, tasks, workers)
		require.NoError(t, err)
		for i := range got {
			require.Equal(t, want[tasks[i].ID()], string(got[i].json()))
		}
	}
}

// TestAsReplay: metrics and fingerprint are those of orrery replay.
func TestAsReplay(t *testing.T) {
	ctx := context.Background()
	r := NewRunner(nil)
	for _, task := range some(t, r, 600) {
		got, err := Evaluate(ctx, r, []Task{task}, 1)
		require.NoError(t, err)
		m, err := r.Trace(ctx, &task)
		require.NoError(t, err)
		spec := task.Replay()
		spec.Trace = m.Info().Hash
		out, err := sim.Replay(ctx, spec, sim.Input{Open: m.Open}, sim.ReplayOptions{})
		require.NoError(t, err)
		require.Equal(t, out.Result.Fingerprint, got[0].Fingerprint)
		require.Equal(t, out.Table.Verdict, got[0].Verdict)
		for _, x := range out.Table.Metrics {
			v, ok := got[0].Value(x.Name, x.Window)
			require.Equal(t, x.Value != nil, ok, x.Name)
			if ok {
				require.Equal(t, *x.Value, v, x.Name)
			}
		}
		mean, ok := got[0].Value("bounded_slowdown_mean", got[0].GroupsOf)
		require.True(t, ok)
		for by, groups := range got[0].Groups { // the parts make up the whole
			sum, jobs := 0.0, 0.0
			for _, g := range groups {
				slow, ok := g.Value("bounded_slowdown_mean")
				require.True(t, ok)
				n, _ := g.Value("jobs")
				sum += slow * n
				jobs += n
			}
			require.InDelta(t, mean, sum/jobs, 1e-9*mean, by)
		}
	}
}

// TestGroups: what a result tells of groups is what the table of metrics does, and
// of sizes and kinds what their jobs say one by one.
func TestGroups(t *testing.T) {
	ctx := context.Background()
	r := NewRunner(nil)
	for _, task := range some(t, r, 600)[:4] {
		got, err := Evaluate(ctx, r, []Task{task}, 1)
		require.NoError(t, err)
		m, err := r.Trace(ctx, &task)
		require.NoError(t, err)
		var jobs sink
		jobs.Jobs.OfSite = true
		res, err := sim.Run(ctx, task.Replay(), m.Open, sim.Options{Sink: &jobs})
		require.NoError(t, err)
		table, err := metric.Compute(&jobs, res.Series)
		require.NoError(t, err)
		seen := 0
		for _, g := range table.Groups {
			if g.Window != got[0].GroupsOf {
				continue
			}
			for _, c := range metric.Columns() {
				if !c.InTables() {
					continue
				}
				seen++
				want, _ := c.Read(&g)
				v, ok := got[0].Of(metric.Measure{Metric: c.Name, By: g.By, Group: g.Name}, got[0].GroupsOf)
				require.Equal(t, want != nil, ok, "%s of %s %s", c.Name, g.By, g.Name)
				if ok {
					require.Equal(t, *want, v)
				}
			}
		}
		require.Greater(t, seen, 100)
		within, ok := got[0].Of(metric.Measure{Metric: "within_target", By: metric.ByClass, Group: "3"}, got[0].GroupsOf)
		require.True(t, ok)
		require.Less(t, within, 1.0)
		_, ok = got[0].Of(metric.Measure{Metric: "within_target", By: metric.ByClass, Group: "2"}, got[0].GroupsOf)
		require.False(t, ok, "nothing is promised to it")

		from, to, _ := res.Series.Steady()
		var waits []float64
		for i, at := range jobs.Jobs.Submit {
			if jobs.Jobs.Procs[i] >= 5 && jobs.Jobs.Procs[i] <= 16 && model.Time(at) >= from && model.Time(at) <= to && jobs.Jobs.Wait[i] >= 0 {
				waits = append(waits, float64(jobs.Jobs.Wait[i])/1e6)
			}
		}
		slices.Sort(waits)
		for name, want := range map[string]float64{"wait_p50": waits[(len(waits)+1)/2-1], "wait_max": waits[len(waits)-1], "started": float64(len(waits))} {
			v, ok := got[0].Of(metric.Measure{Metric: name, By: metric.BySize, Group: "5-16"}, got[0].GroupsOf)
			require.True(t, ok)
			require.Equal(t, want, v, name)
		}
		all, _ := got[0].Value("wait_p95", got[0].GroupsOf)
		bounded, _ := got[0].Of(metric.Measure{Metric: "wait_p95", By: metric.ByKind, Group: "bounded"}, got[0].GroupsOf)
		require.Equal(t, all, bounded, "all jobs are of one kind")
	}
}

func TestTaskReads(t *testing.T) {
	r := NewRunner(nil)
	for _, task := range some(t, r, 60) {
		back, err := Parse(task.JSON())
		require.NoError(t, err)
		require.Equal(t, task.ID(), back.ID())
	}
	for _, text := range []string{``, `{}`, `{"spec":{},"seed":1}`, `{"spec":{"semantic":1}}`, `{"spec":{}} 1`, `{"spec":{},"window":{"begin_us":5,"end_us":5}}`} {
		_, err := Parse([]byte(text))
		require.Error(t, err, text)
	}
}

func TestRefuses(t *testing.T) {
	ctx := context.Background()
	calls := 0
	r := NewRunner(func(string) (*transform.Set, error) {
		if calls++; calls == 1 {
			return nil, fs.ErrNotExist
		}
		return busy(t, 50), nil
	})
	m, err := busy(t, 50).Collect()
	require.NoError(t, err)
	good := Task{Spec: site(t, m, "1")}
	_, err = Evaluate(ctx, r, []Task{good}, 2)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = Evaluate(ctx, r, []Task{good}, 2)
	require.NoError(t, err, "the file is there by now")

	other := good
	other.Spec.Trace = "00"
	_, err = Evaluate(ctx, r, []Task{other}, 1)
	require.ErrorContains(t, err, "the file was changed")

	empty := good
	empty.Window = &Window{Begin: model.Time(300 * model.Day), End: model.Time(301 * model.Day)}
	var data *traces.DataError
	results, err := Evaluate(ctx, r, []Task{good, empty, good}, 1)
	require.ErrorAs(t, err, &data)
	require.ErrorContains(t, err, "task 2 of 3")
	require.Equal(t, good.ID(), results[0].Task)

	wrong := good
	wrong.Spec.Overrun = "perhaps"
	var usage *plan.UsageError
	_, err = Evaluate(ctx, r, []Task{wrong}, 1)
	require.ErrorAs(t, err, &usage)

	stopped, cancel := context.WithCancel(ctx)
	cancel()
	_, err = Evaluate(stopped, r, []Task{good}, 1)
	require.ErrorIs(t, err, context.Canceled)
	_, err = Evaluate(ctx, NewRunner(nil), []Task{good}, 1)
	require.ErrorContains(t, err, "not among those at hand")
}

// TestVariantsAreReleased: what is kept is bounded, and what was released comes back.
func TestVariantsAreReleased(t *testing.T) {
	ctx := context.Background()
	r := NewRunner(nil)
	m, err := r.Add(busy(t, 100))
	require.NoError(t, err)
	r.traces.rows += keepRows - 250 // room for two more
	task := Task{Spec: bound(t, m, plan.DefaultSpec())}
	for _, seed := range []uint64{1, 2, 3, 1} {
		task.Jitter = &Jitter{By: model.Minute, Seed: seed}
		_, err := r.Trace(ctx, &task)
		require.NoError(t, err)
		require.LessOrEqual(t, len(r.traces.made), 3)
		require.Len(t, r.traces.line, len(r.traces.made))
		require.Less(t, r.traces.rows, int64(keepRows)+1)
	}
}

// TestSlowdown: long jobs take the wide product.
func TestSlowdown(t *testing.T) {
	var s slow
	var c = sinkOf(model.JobRecord{Start: model.Time(math.MaxInt64 / 4), End: model.Time(math.MaxInt64/4) + model.Time(model.Second), Runtime: model.Second, State: model.Completed})
	long := shareOf(&c.Jobs, 0, false)
	s.add(&long)
	require.InEpsilon(t, float64(math.MaxInt64/4)/1e7, *s.slowdown(), 1e-6)
	require.Nil(t, (&slow{}).slowdown())
}

func sinkOf(rows ...model.JobRecord) *sink {
	var s sink
	for i := range rows {
		s.Job(&rows[i])
	}
	return &s
}

func TestResultRefuses(t *testing.T) {
	_, err := ParseResult([]byte(`{"tasks":1}`))
	require.Error(t, err)
	_, err = ParseResult([]byte(`{"groups":{"class":{"1":{"wait":1,"wait_p95":2}}}}`))
	require.ErrorContains(t, err, `found "wait" among the numbers of a group`)
	var r Result
	_, ok := r.Value("wait_mean", metric.Steady)
	require.False(t, ok)
	require.True(t, json.Valid(r.json()))
	require.False(t, errors.Is(err, fs.ErrNotExist))
}

// TestWarmWindowsKnowWhatWasConsumed, as far back as it moves the order of the site; and
// nothing but that is no window.
func TestWarmWindowsKnowWhatWasConsumed(t *testing.T) {
	ctx := context.Background()
	r := NewRunner(nil)
	m, err := r.Add(busy(t, 400))
	require.NoError(t, err)
	warm := &Window{Begin: model.Time(4 * model.Hour), End: model.Time(8 * model.Hour), Lead: new(model.Duration), Warm: true}
	plain := plan.DefaultSpec()
	plain.Cluster.Procs = 16
	budgets := strings.Replace(cluster, "{name: t2}", "{name: t2, node_hours: 5}", 1)
	c, err := profiles.ParseCluster("test", fmt.Appendf(nil, budgets, "1"))
	require.NoError(t, err)
	limited := plan.DefaultSpec()
	limited.Site = c.JSON()
	for _, row := range []struct {
		spec plan.Spec
		warm bool
		want model.Duration
	}{
		{bound(t, m, plain), true, 0}, {site(t, m, "1"), true, 0}, {bound(t, m, limited), true, 128 * model.Day}, {bound(t, m, limited), false, 0},
	} {
		w := *warm
		w.Warm = row.warm
		got, err := r.Trace(ctx, &Task{Spec: row.spec, Window: &w})
		require.NoError(t, err)
		require.Equal(t, row.want, got.Info().History)
	}
	for days, want := range map[model.Duration]model.Duration{0: 0, 1: 1, 2: 2, 3: 4, 90: 128, 128: 128} {
		require.Equal(t, want*model.Day, coarse(days*model.Day))
	}
	require.Equal(t, model.Day, coarse(1))
	late := Task{Spec: bound(t, m, limited), Window: &Window{Begin: model.Time(20 * model.Hour), End: model.Time(24 * model.Hour), Lead: new(model.Duration), Warm: true}}
	_, err = Evaluate(ctx, r, []Task{late}, 1)
	var data *traces.DataError
	require.ErrorAs(t, err, &data)
}

// TestParseReadsTheJitterOfBefore: tasks of before call it shake.
func TestParseReadsTheJitterOfBefore(t *testing.T) {
	before, err := Parse([]byte(`{"spec":{"semantics":1,"trace":"t","cluster":{}},"shake":{"by_us":60000000,"seed":3}}`))
	require.NoError(t, err)
	require.Equal(t, &Jitter{By: model.Minute, Seed: 3}, before.Jitter)
	require.Contains(t, string(before.JSON()), `"jitter":{"by_us":60000000,"seed":3}`)
	require.NotContains(t, string(before.JSON()), "shake")
	now, err := Parse(before.JSON())
	require.NoError(t, err)
	require.Equal(t, before, now)
}
