package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/gate"
	"orrery/traces"
	"orrery/traces/transform"
)

// files are those of a gate whose workloads are streams of jobs, but for the
// traces that are given by name.
type files struct {
	fs.FS
	traces map[string]*transform.Set
}

func (f files) Trace(_ context.Context, path string) (*transform.Set, error) {
	if s := f.traces[path]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("there is no trace %s", path)
}

func (f files) Cluster(path string, use []string) (*profiles.Cluster, error) {
	text, err := fs.ReadFile(f, path)
	if err != nil {
		return nil, err
	}
	c, err := profiles.ParseCluster(path, text)
	if err != nil {
		return nil, err
	}
	for _, name := range use {
		for i := range c.VClusters {
			if err := c.UseProfile(i, name); err != nil {
				return nil, err
			}
		}
	}
	return c, c.Inline(".")
}

// builtin are the files of the gate of the program, to be changed.
func builtin(t testing.TB) fstest.MapFS {
	out := fstest.MapFS{}
	entries, err := fs.ReadDir(gate.Builtin(), ".")
	require.NoError(t, err)
	for _, e := range entries {
		text, err := fs.ReadFile(gate.Builtin(), e.Name())
		require.NoError(t, err)
		out[e.Name()] = &fstest.MapFile{Data: text}
	}
	return out
}

func parse(t testing.TB, text string) *profiles.Gate {
	g, err := profiles.ParseGate("gate.yaml", []byte(text))
	require.NoError(t, err)
	return g
}

// run replays a gate; without files its workloads are streams on plain clusters.
func run(t testing.TB, g *profiles.Gate, f fs.FS, workers int) *gate.Evidence {
	e, err := gate.Run(context.Background(), g, files{f, nil}, gate.Options{Workers: workers})
	require.NoError(t, err)
	return e
}

func judge(t testing.TB, e *gate.Evidence, base *gate.Baseline) *gate.Report {
	r, err := e.Judge(base)
	require.NoError(t, err)
	return r
}

// only keeps the run of that name and the checks about it.
func only(g *profiles.Gate, name string) *profiles.Gate {
	out := *g
	out.Runs = slices.DeleteFunc(slices.Clone(g.Runs), func(r profiles.GateRun) bool { return r.Name != name })
	out.Bound = slices.DeleteFunc(slices.Clone(g.Bound), func(c profiles.GateBound) bool { return c.Run != name })
	out.Balance = slices.DeleteFunc(slices.Clone(g.Balance), func(c profiles.GateBalance) bool { return c.Run != name })
	out.Steady = slices.DeleteFunc(slices.Clone(g.Steady), func(c profiles.GateSteady) bool { return c.Run != name })
	out.Thrash = slices.DeleteFunc(slices.Clone(g.Thrash), func(c profiles.GateThrash) bool { return c.Run != name })
	return &out
}

// TestBuiltinHolds runs the gate of the program as it is: every scenario has a
// check, and all hold.
func TestBuiltinHolds(t *testing.T) {
	f := builtin(t)
	g := parse(t, string(f[gate.BuiltinFile].Data))
	r := judge(t, run(t, g, f, 2), nil)
	checked := map[string]bool{}
	for _, c := range r.Checks {
		require.Equal(t, gate.Holds, c.Verdict, "%s: found %s, want %s: %s", c.Check, c.Found, c.Want, c.Why)
		checked[c.Run] = true
	}
	require.Equal(t, []string{"burst", "empty-to-full", "preemption-heavy", "sensitive-claim", "steady-state", "unfair"}, slices.Sorted(maps.Keys(checked)))
	require.False(t, gate.NeedsBaseline(g))
}

// TestWorsenedOnPurpose makes each scenario worse in a way of its own, and asks
// for the check that has to notice.
func TestWorsenedOnPurpose(t *testing.T) {
	for _, row := range []struct{ scenario, file, from, to, check string }{
		{"steady-state", "steady-state.yaml", "profile: hpc-batch", "profile: {cycle: 2h}", "steady-state: utilisation above 85 %"},
		{"burst", "plain-64.yaml", "profile: hpc-batch", "profile: {order: ljf, backfill: none, cycle: 30m}", "burst: 99 of 100 wait less than 4 h"},
		{"unfair", "unfair.yaml", "profile: fairness-boost", "profile: {order: fcfs}", "unfair: shares within 10 % of their targets"},
		{"sensitive-claim", "sensitive-claim.yaml", "preemption: {enabled: true}}", "preemption: {enabled: true}, cycle: 2m}", "sensitive-claim: claims never wait"},
		{"preemption-heavy", "preemption-heavy.yaml", "checkpoint_bandwidth: 10GB/s", "checkpoint_bandwidth: 1GB/s", "preemption-heavy: checkpoints succeed"},
		{"empty-to-full", "plain-64.yaml", "profile: hpc-batch", "profile: {cycle: 5m}", "empty-to-full: full within a minute"},
	} {
		t.Run(row.scenario, func(t *testing.T) {
			f := builtin(t)
			require.Contains(t, string(f[row.file].Data), row.from)
			f[row.file] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(string(f[row.file].Data), row.from, row.to))}
			r := judge(t, run(t, only(parse(t, string(f[gate.BuiltinFile].Data)), row.scenario), f, 2), nil)
			require.Equal(t, gate.Regression, r.Verdict)
			i := slices.IndexFunc(r.Checks, func(c gate.Finding) bool { return c.Check == row.check })
			require.GreaterOrEqual(t, i, 0)
			require.Equal(t, gate.Regression, r.Checks[i].Verdict, "found %s, want %s", r.Checks[i].Found, r.Checks[i].Want)
			require.NotEmpty(t, r.Checks[i].Why)
		})
	}
}

// TestUnchangedPassesAlways runs gates again and again, with other numbers of
// workers each time: every check holds, and the report is the same to the byte.
// ORRERY_LONG=1 makes it a hundred times, -short as many as it takes to have one
// worker and two.
func TestUnchangedPassesAlways(t *testing.T) {
	times := 4
	switch {
	case os.Getenv("ORRERY_LONG") != "":
		times = 100
	case testing.Short():
		times = 2
	}
	f := builtin(t)
	for name, g := range map[string]*profiles.Gate{"builtin": parse(t, string(f[gate.BuiltinFile].Data)), "all kinds": parse(t, allKinds)} {
		t.Run(name, func(t *testing.T) {
			base, _, err := run(t, g, f, 1).Update(nil, gate.Provenance{Reason: "first"})
			require.NoError(t, err)
			first := ""
			for n := range times {
				r := judge(t, run(t, g, f, 1+n%7), base)
				text, err := json.Marshal(r)
				require.NoError(t, err)
				if first == "" {
					first = string(text)
				}
				require.Equal(t, gate.Holds, r.Verdict, "time %d: %s", n, text)
				require.Equal(t, first, string(text), "time %d", n)
			}
		})
	}
}

// allKinds is a gate with a check of each kind on a small plain cluster, and on a
// small site.
const allKinds = `
name: all-kinds
runs:
  - name: plain
    procs: 16
    windows: {count: 12, length: 6h}
    jobs:
      - {name: small, count: 600, over: 6d, arrivals: random, nodes: [1, 2, 4], runtime: 10m, longest: 2h}
      - {name: large, count: 60, over: 6d, arrivals: random, nodes: [8, 16], runtime: 10m, longest: 1h}
  - {name: shortest, like: plain, order: sjf}
  - {name: longest, like: plain, order: ljf, backfill: none}
  - name: site
    cluster: sensitive-claim.yaml
    seeds: [3, 4]
    jobs:
      - {name: claims, vcluster: sensitive, tenant: clinic, count: 20, over: 1d, runtime: 1h, class: 10, sensitive: true}
      - {name: batch, vcluster: batch, tenant: research, count: 100, over: 1d, arrivals: random, nodes: [1, 2, 4], runtime: 30m, longest: 2h}
exact:
  - {run: plain}
  - {run: site}
banded:
  - {run: plain, of: {metric: wait_mean}, relative: 0.1}
  - {run: site, of: {metric: wait_mean, over: all, by: tenant, group: research}, relative: 0.1, absolute: 5s}
paired:
  - {run: plain, of: {metric: bounded_slowdown_mean}, relative: 0.05}
  - {run: shortest, against: plain, of: {metric: bounded_slowdown_mean, over: all}, relative: 100%}
counted:
  - {run: plain}
  - {run: site, of: [passes, examined], relative: 0.1, side: both}
bound:
  - {run: plain, of: {metric: utilisation, over: all}, at_least: 0.1, at_most: 1}
balance:
  - {run: site, over: all, within: 0.9, jain: 0.1}
steady:
  - {run: site, backlog: true}
thrash:
  - {run: site, preemptions_per_job: 1, preemptions_of_one: 5, flaps: 0.5, soon: 5m}
`

// changed is allKinds with one thing replaced.
func changed(t testing.TB, from, to string) *profiles.Gate {
	require.Contains(t, allKinds, from)
	return parse(t, strings.ReplaceAll(allKinds, from, to))
}

// TestEachKindNotices changes one thing at a time, and asks which kinds of checks
// notice, and how.
func TestEachKindNotices(t *testing.T) {
	f := builtin(t)
	base, changes, err := run(t, parse(t, allKinds), f, 2).Update(nil, gate.Provenance{Reason: "first"})
	require.NoError(t, err)
	require.Equal(t, []string{"plain", "shortest", "longest", "site"}, changes)
	for _, row := range []struct {
		name, from, to string
		verdict        gate.Verdict
		kinds          []string
	}{
		{"another order", "    procs: 16", "    procs: 16\n    order: ljf\n    backfill: none", gate.Regression, []string{gate.Exact, gate.Banded, gate.Paired}},
		{"more work", "    procs: 16", "    procs: 16\n    backfill: conservative", gate.Regression, []string{gate.Exact, gate.Counted}},
		{"a worse candidate", "{name: shortest, like: plain, order: sjf}", "{name: shortest, like: plain, order: ljf, backfill: none}", gate.Regression, []string{gate.Paired}},
		{"other jobs", "longest: 2h}\n      - {name: large", "longest: 3h}\n      - {name: large", gate.Undecided, []string{gate.Exact, gate.Banded, gate.Paired, gate.Counted}},
		{"too few windows", "count: 12, length: 6h", "count: 5, length: 6h", gate.Undecided, []string{gate.Paired}},
		{"a limit", "at_least: 0.1, at_most: 1}", "at_least: 0.99}", gate.Regression, []string{gate.Bound}},
		{"a limit without a number", "metric: utilisation, over: all}, at_least: 0.1, at_most: 1", "metric: wait_mean, over: all}, at_most: 10000d, jobs: 1000", gate.Undecided, []string{gate.Bound}},
		{"shares", "within: 0.9, jain: 0.1", "within: 0.01", gate.Regression, []string{gate.Balance}},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := judge(t, run(t, changed(t, row.from, row.to), f, 2), base)
			require.Equal(t, row.verdict, r.Verdict)
			var kinds []string
			for _, c := range r.Checks {
				if c.Verdict != gate.Holds && !slices.Contains(kinds, c.Kind) {
					kinds = append(kinds, c.Kind)
				}
			}
			require.Equal(t, row.kinds, kinds)
		})
	}
}

// TestTooFewWindows asks a paired check of two runs of the gate with five windows.
func TestTooFewWindows(t *testing.T) {
	g := changed(t, "count: 12, length: 6h", "count: 5, length: 6h")
	g.Exact, g.Banded, g.Counted, g.Paired = nil, nil, nil, g.Paired[1:]
	r := judge(t, run(t, g, builtin(t), 2), nil)
	require.Equal(t, gate.Undecided, r.Verdict)
	require.Contains(t, r.Checks[0].Why, "5 windows, 8 needed")
}

// TestWithoutBaseline asks for checks against nothing.
func TestWithoutBaseline(t *testing.T) {
	r := judge(t, run(t, parse(t, allKinds), builtin(t), 2), nil)
	require.Equal(t, gate.Undecided, r.Verdict)
	for _, c := range r.Checks {
		against := c.Kind == gate.Exact || c.Kind == gate.Banded || c.Kind == gate.Counted || c.Kind == gate.Paired && strings.HasSuffix(c.Check, "baseline")
		require.Equal(t, against, c.Verdict == gate.Undecided, c.Check)
	}
}

// TestProvenanceStays updates a baseline twice: only the run that changed gets
// the new reason.
func TestProvenanceStays(t *testing.T) {
	f := builtin(t)
	first, _, err := run(t, parse(t, allKinds), f, 2).Update(nil, gate.Provenance{Reason: "first", By: "ann", At: "2026-01-01T00:00:00Z"})
	require.NoError(t, err)
	again, err := gate.ParseBaseline(first.JSON())
	require.NoError(t, err)
	require.Equal(t, first, again)
	second, changes, err := run(t, changed(t, "order: sjf", "order: saf"), f, 2).Update(again, gate.Provenance{Reason: "smallest area first"})
	require.NoError(t, err)
	require.Equal(t, []string{"shortest"}, changes)
	for i, reason := range []string{"first", "smallest area first", "first", "first"} {
		require.Equal(t, reason, second.Runs[i].Provenance.Reason)
	}
	third, changes, err := run(t, changed(t, "order: sjf", "order: saf"), f, 2).Update(second, gate.Provenance{Reason: "none"})
	require.NoError(t, err)
	require.Empty(t, changes)
	require.Equal(t, second, third)
}

func TestBaselinesThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "reading a baseline: found nothing in it, expected the JSON that --update-baseline writes; restore",
		`{"schema":2,"runs":[{"replays":7}]}`: "found number at the key runs.replays, expected",
		`{"schema":2,`:                        "found the beginning of one alone",
		"{}":                                  "found no schema, expected the JSON that --update-baseline writes",
		`{"schema":1,"old":true}`:             "found schema 1, want 2 to 4: make it anew with --update-baseline",
		`{"schema":2,"runs":[],"x":1}`:        `unknown field "x"`,
		`{"schema":2,"runs":[]}{}`:            "found more behind its end",
	} {
		_, err := gate.ParseBaseline([]byte(text))
		require.ErrorContains(t, err, want)
	}
}

// TestWrongNames asks for what there is not: told by the place in the gate file,
// and before anything is replayed where that can be.
func TestWrongNames(t *testing.T) {
	for _, row := range []struct{ from, to, want string }{
		{"metric: utilisation", "metric: utilization", `bound[0].of.metric: found "utilization", which is no metric`},
		{"metric: utilisation, over: all", "metric: makespan", `bound[0].of.metric: makespan is not measured over the window steady: write over: all`},
		{"metric: utilisation, over: all", "metric: goodput, over: all", `bound[0]: found "goodput", which is a metric of sites: this run is of a plain cluster`},
		{"metric: wait_mean, over: all, by: tenant", "metric: wait_sd, over: all, by: tenant", `banded[1].of.metric: found "wait_sd", which is no number of a tenant: want one of jobs, started`},
		{"group: research", "group: reserch", `found "reserch", which is no tenant of this run`},
		{"metric: bounded_slowdown_mean, over: all}", "metric: window_length, over: all}", "paired[1].of.metric: it is not known which way window_length is better"},
	} {
		e, err := gate.Run(context.Background(), changed(t, row.from, row.to), files{builtin(t), nil}, gate.Options{Workers: 2})
		if err == nil {
			_, err = e.Judge(nil)
		}
		require.ErrorContains(t, err, row.want)
	}
}

// rows is a log on a machine of twelve processors.
func rows(t testing.TB) *transform.Set {
	var rows []traces.Job
	for i := range int64(400) {
		rows = append(rows, traces.Job{
			ID: i + 1, Submit: model.Time(i * 10 * int64(model.Minute)), Runtime: traces.Some(model.Duration(20+i*37%50) * model.Minute),
			Walltime: traces.Some(2 * model.Hour), ProcsRequested: traces.Some(int32(1 + i*i%4)),
		})
		if i%3 == 2 { // a user who looks at one result before asking for the next
			rows[i].AfterJob, rows[i].ThinkTime = traces.Some(i), traces.Some(5*model.Minute)
		}
	}
	set, err := transform.FromTables("rows", traces.Meta{Sorted: true, MaxProcs: 12}, traces.Tables{Jobs: rows})
	require.NoError(t, err)
	return set
}

// TestTraces replays windows of a trace that is given by name, with jittered
// arrivals: the seeds of a window are averaged.
func TestTraces(t *testing.T) {
	set := rows(t)
	g := parse(t, `
runs:
  - {name: now, trace: rows, windows: {count: 8, length: 8h}, jitter: 5m, seeds: [1, 2, 3]}
  - {name: next, like: now, order: sjf}
paired:
  - {run: next, against: now, of: {metric: wait_mean, over: all}, absolute: 1h}
`)
	f := files{builtin(t), map[string]*transform.Set{"rows": set}}
	e, err := gate.Run(context.Background(), g, f, gate.Options{Workers: 3})
	require.NoError(t, err)
	r := judge(t, e, nil)
	require.Equal(t, gate.Holds, r.Verdict, r.Checks[0].Why)
	require.Contains(t, r.Checks[0].Why, "8 windows")
	require.Contains(t, r.Checks[0].Why, "; the trace begins on an idle cluster ")
	require.Len(t, r.Replays, 6, "one for each seed, of all windows")
	require.Equal(t, []any{0, uint64(2), 0, uint64(1)}, []any{r.Replays[1].Window, r.Replays[1].Seed, r.Replays[3].Window, r.Replays[3].Seed})
	require.Contains(t, r.Replays[1].Parts, "8 of 08:00:00 from ")
	require.Contains(t, r.Replays[1].Jobs, " jittered by 00:05:00 with seed 2")

	e, err = gate.Run(context.Background(), parse(t, `
runs: [{name: log, trace: rows}, {name: users, like: log, feedback: true}]
steady: [{run: log, backlog: true}]
`), f, gate.Options{Workers: 2})
	require.NoError(t, err)
	r = judge(t, e, nil)
	require.NotEqual(t, r.Replays[0].Fingerprint, r.Replays[1].Fingerprint, "they come when the one before has left")
	require.Equal(t, r.Replays[0].Jobs, r.Replays[1].Jobs)

	f.traces = nil
	_, err = gate.Run(context.Background(), g, f, gate.Options{})
	require.ErrorContains(t, err, "gate.yaml:3:24: runs[0].trace: cannot be used")
	require.ErrorContains(t, err, "there is no trace rows")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = gate.Run(ctx, parse(t, allKinds), files{builtin(t), nil}, gate.Options{})
	require.ErrorIs(t, err, context.Canceled)
}

// TestChosenSeeds: without seeds a paired check on a trace takes as many replicas as it
// needs. A run like the other needs the first few, one that is held against the baseline
// those that were stored, and no other check is about them.
func TestChosenSeeds(t *testing.T) {
	f := files{builtin(t), map[string]*transform.Set{"rows": rows(t)}}
	text := `
replicas: 30
runs:
  - {name: now, trace: rows, procs: 7, windows: {count: 12}}
  - {name: same, like: now}
  - {name: next, like: now, order: saf}
exact: [{run: now}]
paired:
  - {run: now, of: {metric: bounded_slowdown_mean}}
  - {run: same, against: now, of: {metric: wait_mean}}
  - {run: next, against: now, of: {metric: wait_mean, over: all}, relative: 50%}
`
	made := func(text string, base *gate.Baseline, workers int) (*gate.Evidence, *gate.Report) {
		e, err := gate.Run(context.Background(), parse(t, text), f, gate.Options{Workers: workers, Baseline: base})
		require.NoError(t, err)
		return e, judge(t, e, base)
	}
	replicas := func(r *gate.Report, run string) (n int) {
		for _, x := range r.Replays {
			if x.Run == run && x.Replica {
				n++
				require.Contains(t, x.Jobs, "jittered by 00:01:00")
			}
		}
		return n
	}
	e, r := made(text, nil, 2)
	require.Equal(t, gate.Undecided, r.Checks[1].Verdict, "nothing is stored")
	require.Equal(t, gate.Holds, r.Checks[2].Verdict)
	require.Contains(t, r.Checks[2].Why, "scheduled alike on both sides")
	require.Equal(t, 5, replicas(r, "same"))
	require.Equal(t, replicas(r, "next"), r.Checks[3].Replicas)
	require.GreaterOrEqual(t, r.Checks[3].Replicas, 10)
	require.Equal(t, "detectable", r.Checks[3].Numbers[1].Name)
	require.Greater(t, *r.Checks[3].Numbers[1].Value, 0.5)
	require.Contains(t, r.Checks[3].Why, "is found in 8 of 10 cases")
	_, again := made(text, nil, 5)
	require.Equal(t, r, again, "on any number of workers")

	base, _, err := e.Update(nil, gate.Provenance{Reason: "first"})
	require.NoError(t, err)
	base, err = gate.ParseBaseline(base.JSON())
	require.NoError(t, err)
	sight := base.Runs[0].Sight
	require.Len(t, sight, 1)
	require.Greater(t, *sight[0].Detectable, 0.03)
	require.InDelta(t, 0.03, sight[0].Margin, 1e-12)
	require.Contains(t, sight[0].String(), "windows and "+fmt.Sprint(sight[0].Replicas)+" seeds a regression of")
	require.Empty(t, base.Runs[1].Sight)

	text = strings.Replace(text, "{name: next, like: now, order: saf}", "{name: next, like: now, order: ljf, backfill: none}", 1)
	_, r = made(text, base, 2)
	require.Equal(t, []gate.Verdict{gate.Holds, gate.Holds, gate.Holds, gate.Regression}, []gate.Verdict{r.Checks[0].Verdict, r.Checks[1].Verdict, r.Checks[2].Verdict, r.Checks[3].Verdict})
	require.Contains(t, r.Checks[0].Found, "1 of 1 fingerprints")

	_, r = made(strings.Replace(text, "trace: rows,", "trace: rows, backfill: none, order: ljf,", 1), base, 2)
	require.Equal(t, gate.Regression, r.Checks[1].Verdict, r.Checks[1].Why)
	require.Equal(t, sight[0].Replicas, r.Checks[1].Replicas, "those that were stored")
	_, r = made(strings.Replace(text, "{count: 12}", "{count: 10}", 1), base, 2)
	require.Equal(t, "no pair of windows", r.Checks[1].Found)

	_, err = gate.Run(context.Background(), parse(t, strings.Replace(text, "wait_mean, over: all", "ramp_up, over: all", 1)), f, gate.Options{Workers: 2})
	require.ErrorContains(t, err, "paired[2].of.metric: ramp_up is measured on the whole replay only, and the run has 12 windows")
}

// TestBandedQueues: of one trace a single replay does not tell a growing queue from
// chance, six do.
func TestBandedQueues(t *testing.T) {
	f := files{builtin(t), map[string]*transform.Set{"rows": rows(t)}}
	for seeds, want := range map[string]gate.Verdict{"[1]": gate.Holds, "[1, 2, 3, 4, 5, 6]": gate.Regression} {
		g := parse(t, `
runs: [{name: now, trace: rows, procs: 7, jitter: 1m, seeds: `+seeds+`}]
banded: [{run: now, of: {metric: wait_mean}, relative: 1%}]
`)
		e, err := gate.Run(context.Background(), g, f, gate.Options{Workers: 2})
		require.NoError(t, err)
		base, _, err := e.Update(nil, gate.Provenance{Reason: "first"})
		require.NoError(t, err)
		gate.Overload(e, "now", 1)
		for i := range base.Runs[0].Replays {
			base.Runs[0].Replays[i].Fingerprint = "another"
		}
		c := judge(t, e, base).Checks[0]
		require.Equal(t, want, c.Verdict, "%+v", c)
		if want == gate.Regression {
			require.Contains(t, c.Why, "in 6 of 6 replicas, and in 0 of 6 of the other side")
		}
	}
}

// TestAssertionsNotice tightens the assertions of the gate of the program until
// what its replays do is too much.
func TestAssertionsNotice(t *testing.T) {
	for _, row := range []struct{ scenario, from, to, why string }{
		{"steady-state", "flaps: 20%", "flaps: 0.01", "flaps: regression, window 1, seed 2"},
		{"steady-state", "flaps: 20%", "flaps: 20%, soon: 1s", ""},
		{"preemption-heavy", "preemptions_of_one: 18", "preemptions_of_one: 3", "preemptions of one job: regression, window 1, seed 2"},
		{"preemption-heavy", "preemptions_per_job: 0.9", "preemptions_per_job: 0.5", "preemptions per job: regression"},
		{"preemption-heavy", "over: all}, at_least: 20m", "over: all}, at_least: 40m", "window 1, seed 2"},
		{"burst", "{metric: wait_p99, over: all}, at_most: 4h", "{metric: work_between_preemptions, over: all}, at_least: 1s", "no job was asked to leave its nodes"},
		{"unfair", "{run: sensitive-claim, backlog: true}", "{run: unfair, backlog: true}", "window 0, seed 1"},
		{"empty-to-full", "at_most: 1m}", "at_most: 1m, jobs: 401}", "window 0, seed 1: 400 jobs, want 401"},
		{"empty-to-full", "{metric: ramp_up, over: all}, at_most: 1m", `{metric: wait_max, over: all, by: class, group: "9"}, at_most: 0s`, "no job of this class"},
	} {
		f := builtin(t)
		text := string(f[gate.BuiltinFile].Data)
		require.Contains(t, text, row.from)
		r := judge(t, run(t, only(parse(t, strings.ReplaceAll(text, row.from, row.to)), row.scenario), f, 2), nil)
		require.Equal(t, row.why == "", r.Verdict == gate.Holds, row.to)
		require.True(t, slices.ContainsFunc(r.Checks, func(c gate.Finding) bool {
			return (c.Verdict != gate.Holds || row.why == "") && strings.Contains(c.Why, row.why)
		}), "%s: %v", row.to, r.Checks)
	}
}

// TestOverloadedWindows: twenty windows of a machine that is overloaded in all of
// them are as good as the same ones, say nothing beside others, and a candidate
// may be overloaded in two more.
func TestOverloadedWindows(t *testing.T) {
	text := `
runs:
  - name: now
    procs: 8
    jobs: [{name: x, count: 1000, over: 5d, arrivals: random, nodes: [1, 2, 4], runtime: 30m, longest: 2h}]
    seeds: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]
  - {name: same, like: now}
  - {name: other, like: now, order: ljf}
  - {name: enough, like: now, procs: 40}
paired:
  - {run: same, against: now, of: {metric: wait_mean}}
  - {run: other, against: now, of: {metric: wait_mean}}
  - {run: enough, against: now, of: {metric: wait_mean}}
  - {run: now, against: enough, of: {metric: wait_mean}, absolute: 10000d}
`
	g := parse(t, text)
	r := judge(t, run(t, g, builtin(t), 2), nil)
	for _, x := range r.Replays {
		require.Equal(t, x.Run != "enough", x.Verdict == "OVERLOADED", "%s %d", x.Run, x.Window)
	}
	require.Equal(t, gate.Holds, r.Checks[0].Verdict, "%+v", r.Checks[0])
	require.Contains(t, r.Checks[0].Why, "scheduled alike on both sides: 20 windows")
	for _, c := range r.Checks[1:3] {
		require.Equal(t, gate.Undecided, c.Verdict)
		require.Equal(t, "OVERLOADED on the other side", c.Found)
		require.Contains(t, c.Why, "20 of 20 windows are set aside")
	}
	require.Equal(t, gate.Regression, r.Checks[3].Verdict)
	require.Contains(t, r.Checks[3].Why, "overloaded in 20 of 20 windows, and 2 may be chance")

	e := run(t, g, builtin(t), 2)
	gate.Overload(e, "now", 0)
	gate.Overload(e, "other", 2)
	c := judge(t, e, nil).Checks[1]
	require.NotEqual(t, "OVERLOADED", c.Found)
	require.Contains(t, c.Why, "overloaded in 2 of 20 windows, and 2 may be chance: no gain there")
	gate.Overload(e, "other", 3)
	c = judge(t, e, nil).Checks[1]
	require.Equal(t, gate.Regression, c.Verdict)
	require.Equal(t, "OVERLOADED", c.Found)
}

// TestOverloaded compares a machine with one on which the same jobs pile up: that
// is worse, however the waits compare, and nothing can be said of two such.
func TestOverloaded(t *testing.T) {
	g := parse(t, `
runs:
  - name: enough
    procs: 40
    jobs: [{name: x, count: 1000, over: 5d, arrivals: random, nodes: [1, 2, 4], runtime: 30m, longest: 2h}]
  - {name: few, like: enough, procs: 8}
  - {name: fewer, like: enough, procs: 6}
paired:
  - {run: few, against: enough, of: {metric: wait_mean}, absolute: 10000d}
  - {run: fewer, against: few, of: {metric: wait_mean}, absolute: 10000d}
  - {run: few, against: enough, of: {metric: utilisation}, absolute: 1}
`)
	e := run(t, g, builtin(t), 2)
	r := judge(t, e, nil)
	require.Equal(t, []gate.Verdict{gate.Regression, gate.Undecided, gate.Undecided}, []gate.Verdict{r.Checks[0].Verdict, r.Checks[1].Verdict, r.Checks[2].Verdict})
	require.Contains(t, r.Checks[0].Why, "the queue grows without end in them, and does not on the other side")
	require.Contains(t, r.Checks[1].Why, "waits say nothing")
	require.Contains(t, r.Checks[2].Why, "1 windows, 8 needed")

	// The same against what was stored.
	base, _, err := e.Update(nil, gate.Provenance{Reason: "first"})
	require.NoError(t, err)
	require.Nil(t, base.Runs[0].Replays[0].Metrics, "no check is against what is stored of it")
	banded := "banded: [{run: enough, of: {metric: wait_mean}, absolute: 10000d}]\n"
	text := `
runs:
  - name: enough
    procs: 40
    jobs: [{name: x, count: 1000, over: 5d, arrivals: random, nodes: [1, 2, 4], runtime: 30m, longest: 2h}]
` + banded
	base, _, err = run(t, parse(t, text), builtin(t), 2).Update(nil, gate.Provenance{Reason: "first"})
	require.NoError(t, err)
	r = judge(t, run(t, parse(t, strings.Replace(text, "procs: 40", "procs: 8", 1)), builtin(t), 2), base)
	require.Equal(t, gate.Regression, r.Verdict)
	require.Equal(t, "OVERLOADED", r.Checks[0].Found)
}

func (f files) Scenario(path string) (*profiles.Scenario, error) {
	text, err := fs.ReadFile(f, path)
	if err != nil {
		return nil, err
	}
	return profiles.ParseScenario(path, text)
}

// TestScenario: a run is replayed under its scenario, one like it may take it back, and one that leaves
// jobs out is not compared window by window with one that does not.
func TestScenario(t *testing.T) {
	const text = `
runs:
  - {name: whole, jobs: [{name: a, count: 400, runtime: 10m, longest: 20m, over: 3d}], procs: 2, windows: {count: 10}, order: sjf}
  - {name: later, like: whole, scenario: later.yaml}
  - {name: back, like: later, scenario: none}
  - {name: fewer, like: whole, scenario: fewer.yaml}
exact: [{run: whole}, {run: later}, {run: back}]
paired:
  - {run: back, against: whole, of: {metric: wait_mean}}
  - {run: fewer, against: whole, of: {metric: wait_mean}}
`
	f := fstest.MapFS{
		"later.yaml": {Data: []byte("events: [{time: 6h, kind: order, value: ljf}]\n")},
		"fewer.yaml": {Data: []byte("without: {jobs: [3, 7]}\n")},
	}
	g := parse(t, text)
	e := run(t, g, f, 1)
	r := judge(t, e, nil)
	spec := map[string]string{}
	for _, x := range r.Replays {
		spec[x.Run] = x.Spec
	}
	require.Equal(t, spec["whole"], spec["back"])
	require.NotEqual(t, spec["whole"], spec["later"])
	require.Equal(t, gate.Holds, r.Checks[3].Verdict, r.Checks[3].Why)
	require.Equal(t, gate.Undecided, r.Checks[4].Verdict, "the two met other jobs")
	for name, want := range map[string]string{
		"gone.yaml":  "runs[1].scenario: ",
		"nodes.yaml": "nodes.yaml:1:10: events[0]: found the kind down, which is for a site",
	} {
		f["nodes.yaml"] = &fstest.MapFile{Data: []byte("events: [{time: 6h, kind: down, subject: all}]\n")}
		_, err := gate.Run(context.Background(), parse(t, strings.Replace(text, "later.yaml", name, 1)), files{f, nil}, gate.Options{Workers: 1})
		require.ErrorContains(t, err, want)
	}
}
