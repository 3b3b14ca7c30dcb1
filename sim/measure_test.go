package sim

import (
	"context"
	"iter"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/traces"
	"orrery/traces/synth/site"
	"orrery/traces/transform"
)

// measured replays a part of a trace, and checks the invariants.
func measured(t testing.TB, spec plan.Spec, m *traces.Memory, part plan.Measure, parts ...metric.Span) (*Result, *record.Memory) {
	spec.Measure = &part
	sink := record.NewMemory()
	sink.Jobs.OfSite = len(spec.Site) > 0
	res, err := Run(context.Background(), spec, m.Open, Options{Sink: sink, Watch: true, Parts: parts})
	require.NoError(t, err)
	require.Empty(t, res.Watch.Breaches, "%v", res.Watch)
	return res, sink
}

// measuredSpecs are a plain cluster and a site, each with a trace that keeps it busy;
// services, which are not waited for, are part of it if asked for.
func measuredSpecs(t testing.TB, services bool) map[string]struct {
	spec plan.Spec
	m    *traces.Memory
} {
	meta, tables := plainLog(t, 600, 3)
	log, err := traces.NewMemory("log", meta, tables)
	require.NoError(t, err)
	plain := plan.DefaultSpec()
	plain.Order = "saf"
	p := site.Default(64)
	p.Days, p.Load = 3, 0.9
	w, err := site.Generate(p, 5)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "site.trace")
	_, err = w.Write(path, func(int64) error { return nil })
	require.NoError(t, err)
	b, err := traces.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	set, err := transform.Open(b)
	require.NoError(t, err)
	rows := set.Rows
	set.Rows = func() iter.Seq2[*traces.Job, error] {
		return func(yield func(*traces.Job, error) bool) {
			for j, err := range rows() {
				if (services || err != nil || j.Kind == model.Bounded.String()) && !yield(j, err) {
					return
				}
			}
		}
	}
	month, err := set.Collect()
	require.NoError(t, err)
	c, err := profiles.LoadCluster("month")
	require.NoError(t, err)
	require.NoError(t, c.Inline("."))
	site := plan.DefaultSpec()
	site.Site = c.JSON()
	return map[string]struct {
		spec plan.Spec
		m    *traces.Memory
	}{"plain": {plain, log}, "site": {site, month}}
}

// TestMeasuredPart: the jobs of a part fare as they do when the whole trace is
// replayed, the run stops once they have left, and the metrics are of them alone.
func TestMeasuredPart(t *testing.T) {
	for name, c := range measuredSpecs(t, true) {
		t.Run(name, func(t *testing.T) {
			whole := record.NewMemory()
			whole.Jobs.OfSite = len(c.spec.Site) > 0
			all, err := Run(context.Background(), c.spec, c.m.Open, Options{Sink: whole})
			require.NoError(t, err)
			first, last := whole.Jobs.Submit[0], whole.Jobs.Submit[0]
			for _, at := range whole.Jobs.Submit {
				first, last = min(first, at), max(last, at)
			}
			third := model.Time((last - first) / 3)
			part := plan.Measure{From: model.Time(first) + third, To: model.Time(first) + 2*third, Follow: 1000 * model.Day}
			res, sink := measured(t, c.spec, c.m, part)
			require.Less(t, res.Last, all.Last, "it need not go on to the end")
			type fate struct{ start, end, runtime int64 }
			want := map[int64]fate{}
			for i, id := range whole.Jobs.ID {
				want[id] = fate{whole.Jobs.Start[i], whole.Jobs.End[i], whole.Jobs.Runtime[i]}
			}
			n, waits := 0, int64(0)
			for i, id := range sink.Jobs.ID {
				at := model.Time(sink.Jobs.Submit[i])
				if at < part.From || at >= part.To || model.Kind(kindOf(&sink.Jobs, i)) != model.Bounded {
					continue
				}
				n++
				waits += sink.Jobs.Wait[i]
				require.Equal(t, want[id], fate{sink.Jobs.Start[i], sink.Jobs.End[i], sink.Jobs.Runtime[i]}, "job %d", id)
			}
			require.Greater(t, n, 50)
			table, err := metric.Compute(sink, res.Series)
			require.NoError(t, err)
			jobs, _ := table.Value("jobs_submitted", metric.Steady)
			length, _ := table.Value("window_length", metric.Steady)
			require.InDelta(t, part.To.Sub(part.From).Seconds(), length, 1e-6)
			if name == "plain" {
				mean, _ := table.Value("wait_mean", metric.Steady)
				require.EqualValues(t, n, jobs)
				require.InDelta(t, float64(waits)/float64(n)/1e6, mean, 1e-6)
			}
		})
	}
}

func kindOf(c *record.Columns, i int) uint8 {
	if c.OfSite {
		return c.Kind[i]
	}
	return uint8(model.Bounded)
}

// TestPartsOfARun: the metrics of parts, which may overlap, are those of runs that
// measure each by itself.
func TestPartsOfARun(t *testing.T) {
	for name, c := range measuredSpecs(t, false) {
		t.Run(name, func(t *testing.T) {
			begin, day := model.Time(0), model.Day
			if name == "plain" {
				day *= 3
			}
			parts := []metric.Span{
				{From: begin.Add(day), To: begin.Add(day + day/2)}, {From: begin.Add(day + day/2), To: begin.Add(2 * day)}, {From: begin.Add(day), To: begin.Add(2 * day)},
			}
			res, sink := measured(t, c.spec, c.m, plan.Measure{From: parts[2].From, To: parts[2].To, Follow: 1000 * model.Day}, parts...)
			got, err := metric.ComputeParts(sink, res.Series, parts)
			require.NoError(t, err)
			for i, p := range parts {
				alone, jobs := measured(t, c.spec, c.m, plan.Measure{From: p.From, To: p.To, Follow: 1000 * model.Day})
				want, err := metric.Compute(jobs, alone.Series)
				require.NoError(t, err)
				require.Equal(t, want.Verdict, got[i].Verdict)
				submitted, _ := want.Value("jobs_submitted", metric.Steady)
				require.Greater(t, submitted, 20.0)
				seen := 0
				for _, m := range want.Metrics {
					if m.Window != metric.Steady || m.Name == "queue_growth" { // from the time bins, whose width is that of the run
						continue
					}
					g, ok := got[i].Get(m.Name, metric.Steady)
					require.True(t, ok)
					require.Equal(t, m, g)
					seen++
				}
				require.Greater(t, seen, 40)
				k := 0
				for _, g := range want.Groups {
					if g.Window == metric.Steady {
						require.Equal(t, g, got[i].Groups[k])
						k++
					}
				}
				require.Len(t, got[i].Groups, k)
			}
			_, err = metric.ComputeParts(sink, res.Series, []metric.Span{{From: parts[0].From, To: parts[0].To + 1}})
			require.ErrorContains(t, err, "marks")
		})
	}
}

// On a machine of 4 processors, in hours: A holds all of it until 4, B and D ask for
// all of it, C for one. Part [1, 2) has B, C and D; the run is followed until 5.
//
//	A 0-4 | B submitted 1, 4-6, runs at the limit | C submitted 1, refused: 9 processors
//	D submitted 1.5, waits at the limit | E submitted 3, not of the part
func TestStillWaitingAtTheLimit(t *testing.T) {
	at := func(hours float64) model.Time { return model.Time(hours * float64(model.Hour)) }
	row := func(id int64, submit, runtime float64, procs int32) traces.Job {
		return traces.Job{
			ID: id, Submit: at(submit), Runtime: traces.Some(model.Duration(at(runtime))), Walltime: traces.Some(model.Duration(at(runtime))),
			ProcsRequested: traces.Some(procs),
		}
	}
	m, err := traces.NewMemory("four", traces.Meta{MaxProcs: 4}, traces.Tables{Jobs: []traces.Job{
		row(1, 0, 4, 4), row(2, 1, 2, 4), row(3, 1, 1, 9), row(4, 1.5, 1, 4), row(5, 3, 1, 4),
	}})
	require.NoError(t, err)
	res, sink := measured(t, plan.DefaultSpec(), m, plan.Measure{From: at(1), To: at(2), Follow: 3 * model.Hour})
	require.Equal(t, at(5), res.Last)
	table, err := metric.Compute(sink, res.Series)
	require.NoError(t, err)
	for name, want := range map[string]float64{
		"jobs_submitted": 3, "jobs_rejected": 1, "jobs_unfinished": 2, "jobs_completed": 0,
		// B waited for 3 h and runs for 2; D has waited for 3.5 h and would run for 1
		"wait_mean": 3.25 * 3600, "wait_max": 3.5 * 3600, "turnaround_mean": (5 + 4.5) / 2 * 3600, "bounded_slowdown_mean": (2.5 + 4.5) / 2,
		"throughput": 0, "utilisation": 1,
	} {
		got, ok := table.Value(name, metric.Steady)
		require.True(t, ok, name)
		require.InDelta(t, want, got, 1e-6, name)
	}
	wait, _ := table.Get("wait_mean", metric.Steady)
	require.Equal(t, "without 1 job that never started, with the wait so far of 1 jobs that still waited", wait.Note)
}

// A part in which no job comes, before one that comes long after it, is over at once.
func TestMeasureOfNothing(t *testing.T) {
	at := func(days int) model.Time { return model.Time(0).Add(model.Duration(days) * model.Day) }
	m, err := traces.NewMemory("gap", traces.Meta{MaxProcs: 4}, traces.Tables{Jobs: []traces.Job{
		{ID: 1, Submit: at(90), Runtime: traces.Some(model.Hour), Walltime: traces.Some(model.Hour), ProcsRequested: traces.Some(int32(1))},
	}})
	require.NoError(t, err)
	res, sink := measured(t, plan.DefaultSpec(), m, plan.Measure{From: at(1), To: at(2), Follow: model.Day})
	require.Zero(t, sink.Jobs.Len())
	_, err = metric.Compute(sink, res.Series)
	require.NoError(t, err)
}
