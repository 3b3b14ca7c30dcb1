package transform

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
	"orrery/traces"
)

// line is a job in seconds; -1 is missing.
type line struct {
	id, submit, start, runtime int64
	user                       string
	procs                      int32
}

func (l line) job() traces.Job {
	at := func(s int64) traces.Opt[model.Time] {
		if s < 0 {
			return traces.Opt[model.Time]{}
		}
		return traces.Some(model.Time(s) * model.Time(model.Second))
	}
	j := traces.Job{ID: l.id, User: l.user, Kind: "bounded", Submit: at(l.submit).V, Start: at(l.start), ProcsRequested: traces.Some(max(l.procs, 1))}
	if l.runtime >= 0 {
		j.Runtime = traces.Some(model.Duration(l.runtime) * model.Second)
		j.Walltime = traces.Some(model.Duration(2*l.runtime) * model.Second)
		if j.Start.OK {
			j.End = traces.Some(j.Start.V.Add(j.Runtime.V))
		}
	}
	return j
}

func setOf(t testing.TB, meta traces.Meta, tables traces.Tables) *Set {
	s, err := FromTables("log", meta, tables)
	require.NoError(t, err)
	return s
}

func log(t testing.TB, lines ...line) *Set {
	var tables traces.Tables
	for _, l := range lines {
		tables.Jobs = append(tables.Jobs, l.job())
	}
	return setOf(t, traces.Meta{MaxProcs: 10}, tables)
}

// done applies a recipe and gives the rows with what the steps said.
func done(t testing.TB, s *Set, text string) (*Set, []traces.Job, []*Account) {
	r, err := ParseRecipe(text)
	require.NoError(t, err)
	out, err := s.Apply(r, nil)
	require.NoError(t, err)
	jobs := rowsIn(t, out)
	for _, a := range out.Accounts() {
		require.True(t, balanced(a), "%+v", a)
	}
	return out, jobs, out.Accounts()
}

func rowsIn(t testing.TB, s *Set) []traces.Job {
	jobs, err := s.jobs()
	require.NoError(t, err)
	require.True(t, slices.IsSortedFunc(jobs, func(a, b traces.Job) int { return int(a.Submit - b.Submit) }))
	return jobs
}

func ids(jobs []traces.Job) string {
	var out []string
	for i := range jobs {
		out = append(out, strconv.FormatInt(jobs[i].ID, 10))
	}
	return strings.Join(out, " ")
}

func said(rules []traces.Rule) string {
	var out []string
	for _, r := range rules {
		out = append(out, fmt.Sprintf("%s: %d", r.Rule, r.Count))
	}
	return strings.Join(out, "; ")
}

// TestWindow: a picture of ten jobs around the window from 100 s to 200 s.
func TestWindow(t *testing.T) {
	s := log(t,
		line{1, 10, 20, 80, "a", 1},   // ends at the beginning
		line{2, 10, 20, 81, "a", 1},   // ends behind it
		line{3, 20, 100, 5, "a", 1},   // starts at the beginning
		line{4, 30, 99, 500, "a", 1},  // runs through
		line{5, 40, -1, 30, "a", 1},   // at an unknown time
		line{6, 50, 150, 30, "b", 1},  // waits
		line{7, 100, 100, 30, "b", 1}, // comes at the beginning
		line{8, 199, 300, 30, "b", 1},
		line{9, 200, 300, 30, "b", 1}, // comes at the end
	)
	for _, c := range []struct{ step, ids, dropped, changed string }{
		{"window begin=100s length=100s", "7 8", "submitted before the window: 6; submitted after the window: 1", ""},
		{
			"window begin=100s end=200s warm=true", "2 3 4 6 7 8",
			"left before the window: 1; submitted before the window, and when it started is not known: 1; submitted after the window: 1",
			"ran when the window began: 2; waited when the window began: 2",
		},
		{"window begin=0s", "1 2 3 4 5 6 7 8 9", "", ""},
	} {
		out, jobs, a := done(t, s, c.step)
		require.Equal(t, c.ids, ids(jobs), c.step)
		require.Equal(t, c.dropped, said(a[0].Dropped), c.step)
		require.Equal(t, c.changed, said(a[0].Changed), c.step)
		require.Equal(t, strings.Contains(c.step, "warm"), out.Meta.WarmStart.OK)
	}
	_, err := ParseStep("window begin=100s end=100s")
	require.ErrorContains(t, err, "empty")
}

// TestWindowOfTables: what holds at the beginning moves there, what is over or
// comes later is gone, and a node that is down comes back.
func TestWindowOfTables(t *testing.T) {
	at := func(s int64) model.Time { return model.Time(s) * model.Time(model.Second) }
	s := setOf(t, traces.Meta{}, traces.Tables{
		Jobs: []traces.Job{line{1, 10, 20, 100, "a", 1}.job(), line{2, 110, 120, 1, "a", 1}.job(), line{3, 120, 120, 1, "a", 1}.job()},
		Deps: []traces.Dep{{Job: 3, On: 2, Condition: "any"}, {Job: 2, On: 1, Condition: "any"}},
		Events: []traces.Event{
			{Time: at(10), Kind: "down", Subject: "n1"}, {Time: at(20), Kind: "up", Subject: "n1"}, {Time: at(30), Kind: "down", Subject: "n2"},
			{Time: at(40), Kind: "power_cap", Value: "7"}, {Time: at(50), Kind: "power_cap", Value: "8"},
			{Time: at(60), Kind: "quorum_outage", Value: "10000000"}, {Time: at(90), Kind: "quorum_outage", Value: "30000000"},
			{Time: at(95), Kind: "reservation", Subject: "r", Value: `{"nodes":["n1"],"start":1,"end":99000000}`},
			{Time: at(150), Kind: "drain", Subject: "n3"},
			{Time: at(210), Kind: "up", Subject: "n2"}, {Time: at(220), Kind: "undrain", Subject: "n3"}, {Time: at(230), Kind: "down", Subject: "n2"}, {Time: at(240), Kind: "up", Subject: "n2"},
		},
		Prices: []traces.Price{{Time: at(0), Price: 1}, {Time: at(50), Price: 2}, {Time: at(150), Price: 3}, {Time: at(250), Price: 4}},
	})
	out, jobs, _ := done(t, s, "window begin=100s end=200s warm=true")
	require.Equal(t, "1 2 3", ids(jobs))
	require.Equal(t, []traces.Event{
		{Time: at(100), Kind: "up", Subject: "n1"}, {Time: at(100), Kind: "down", Subject: "n2"}, {Time: at(100), Kind: "power_cap", Value: "8"},
		{Time: at(100), Kind: "quorum_outage", Value: "20000000"}, {Time: at(150), Kind: "drain", Subject: "n3"},
		{Time: at(210), Kind: "up", Subject: "n2"}, {Time: at(220), Kind: "undrain", Subject: "n3"},
	}, out.Events)
	require.Equal(t, []traces.Price{{Time: at(100), Price: 2}, {Time: at(150), Price: 3}}, out.Prices)
	cold, _, _ := done(t, s, "window begin=100s end=200s")
	m, err := cold.Collect()
	require.NoError(t, err)
	require.EqualValues(t, 1, m.Info().Deps, "the dependency on a job that is not there is gone")
}

// TestWindowWithHistory: a job that left less than so long before a warm start is kept, and what
// is known of before a window is no more than the trace knew.
func TestWindowWithHistory(t *testing.T) {
	s := log(t, line{1, 0, 0, 10, "a", 1}, line{2, 1, 20, 30, "b", 2}, line{3, 2, -1, -1, "", 3}, line{4, 60, 60, 40, "c", 4}, line{5, 100, 100, 1, "c", 4}, line{6, 101, 101, 900, "d", 1})
	out, jobs, acc := done(t, s, "window begin=100s warm=true history=60s")
	require.Equal(t, "2 4 5 6", ids(jobs))
	require.EqualValues(t, 60*model.Second, out.Meta.History)
	require.Contains(t, said(acc[0].Changed), "left before the window, and counts in ledgers: 2")
	out, jobs, _ = done(t, out, "window begin=200s warm=true history=500s")
	require.Equal(t, "2 4 5 6", ids(jobs))
	require.EqualValues(t, 160*model.Second, out.Meta.History)
	out, jobs, _ = done(t, s, "window begin=100s warm=true")
	require.Equal(t, "5 6", ids(jobs))
	require.Zero(t, out.Meta.History)
	_, err := ParseRecipe("window begin=100s history=60s")
	require.ErrorContains(t, err, "give warm=true as well")
	m, err := s.Window(model.Time(100*model.Second), model.Never, true, model.Minute)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "h.trace")
	_, err = m.Write(path, nil)
	require.NoError(t, err)
	b, err := traces.Open(path)
	require.NoError(t, err)
	defer b.Close()
	require.EqualValues(t, model.Minute, b.Info().History)
	require.Equal(t, hashOf(t, m), b.Info().Hash)
}

// TestFilter: conditions, their nulls and their contrary.
func TestFilter(t *testing.T) {
	s := log(t, line{1, 0, 0, 10, "a", 1}, line{2, 1, 1, 20, "b", 2}, line{3, 2, -1, -1, "", 3}, line{4, 3, 3, 40, "c", 4})
	for step, want := range map[string]string{
		"filter user=a,c": "1 4", "filter user!=a,c": "2 3", "filter user=": "3", "filter runtime>=20s": "2 4",
		"filter runtime=": "3", "filter runtime!=": "1 2 4", "filter runtime<20s": "1", "filter procs_requested=1,3": "1 3",
		"filter procs_requested>1 user!=c": "2 3", "filter procs_requested>1 user!=c not=true": "1 4", "filter submit<=2s": "1 2 3", "filter id>3": "4",
	} {
		_, jobs, _ := done(t, s, step)
		require.Equal(t, want, ids(jobs), step)
	}
	for step, want := range map[string]string{
		"filter": "no condition", "filter colour=red": "no column", "filter user>a": "no order", "filter procs_requested=x": "whole number",
		"filter runtime>1h,2h": "one value", "filter sensitive=maybe": "true or false", "filter comm_fraction>x": "a number",
	} {
		_, err := ParseStep(step)
		require.ErrorContains(t, err, want, step)
	}
}

// TestMap changes names, in the tables beside the jobs too.
func TestMap(t *testing.T) {
	jobs := []traces.Job{line{1, 0, 0, 10, "a", 1}.job(), line{2, 1, 1, 10, "b", 1}.job(), line{3, 2, 2, 10, "c", 1}.job()}
	jobs[0].Tenant, jobs[1].Tenant = "x", "y"
	s := setOf(t, traces.Meta{}, traces.Tables{
		Jobs: jobs, Tenants: []traces.Tenant{{Name: "x", FairShare: traces.Some(0.5)}, {Name: "y"}, {Name: "z"}},
		Events: []traces.Event{{Kind: "quota", Subject: "y", Value: `{"max_nodes":1}`}, {Kind: "down", Subject: "y"}},
	})
	out, rows, a := done(t, s, "map column=tenant from=x,y to=w")
	require.Equal(t, []string{"w", "w", ""}, []string{rows[0].Tenant, rows[1].Tenant, rows[2].Tenant})
	require.Equal(t, "tenant changed: 2", said(a[0].Changed))
	require.Equal(t, []traces.Tenant{{Name: "w", FairShare: traces.Some(0.5)}, {Name: "z"}}, out.Tenants)
	require.Equal(t, []string{"w", "y"}, []string{out.Events[0].Subject, out.Events[1].Subject})
	_, rows, _ = done(t, s, "map column=tenant take=user")
	require.Equal(t, []string{"a", "b", "c"}, []string{rows[0].Tenant, rows[1].Tenant, rows[2].Tenant})
	_, rows, _ = done(t, s, "map column=tenant from= to=rest")
	require.Equal(t, []string{"x", "y", "rest"}, []string{rows[0].Tenant, rows[1].Tenant, rows[2].Tenant})
}

// drawn is a random log.
func drawn(t *rapid.T) traces.Tables {
	var tables traces.Tables
	at := int64(0)
	for i := range rapid.IntRange(2, 60).Draw(t, "jobs") {
		at += rapid.Int64Range(0, 40_000).Draw(t, "gap")
		l := line{int64(i) + 1, at, -1, -1, rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(t, "user"), rapid.Int32Range(1, 8).Draw(t, "procs")}
		if rapid.IntRange(0, 9).Draw(t, "ran") > 0 {
			l.start, l.runtime = at+rapid.Int64Range(0, 5000).Draw(t, "wait"), rapid.Int64Range(0, 90_000).Draw(t, "runtime")
		}
		j := l.job()
		if !j.Start.OK {
			j.CancelledAt = traces.Some(j.Submit.Add(model.Hour))
		}
		tables.Jobs = append(tables.Jobs, j)
	}
	for range rapid.IntRange(0, 4).Draw(t, "events") {
		tables.Events = append(tables.Events, traces.Event{Time: model.Time(at) * 500_000, Kind: "quorum_outage", Value: "12346"})
	}
	return tables
}

func hashOf(t testing.TB, s *Set) string {
	m, err := s.Collect()
	require.NoError(t, err)
	return m.Info().Hash
}

// TestStretchBack: by 2 and by 1/2 is as before.
func TestStretchBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, err := FromTables("log", traces.Meta{MaxProcs: 8}, drawn(rt))
		require.NoError(rt, err)
		out, err := s.Apply(Recipe{{"stretch", []Arg{{"by", "=", "2"}}}, {"stretch", []Arg{{"by", "=", "50%"}}}}, nil)
		require.NoError(rt, err)
		require.Equal(rt, hashOf(t, s), hashOf(t, out))
		arrivals, err := s.Apply(Recipe{{"stretch", []Arg{{"by", "=", "3"}, {"what", "=", "arrivals"}}}, {"stretch", []Arg{{"by", "=", "1/3"}, {"what", "=", "arrivals"}}}}, nil)
		require.NoError(rt, err)
		require.Equal(rt, hashOf(t, s), hashOf(t, arrivals))
	})
}

// TestMergeOfASplit: two filters that share out the jobs, merged, are the log.
func TestMergeOfASplit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, err := FromTables("log", traces.Meta{MaxProcs: 8}, drawn(rt))
		require.NoError(rt, err)
		where := Arg{"user", "=", "a,c"}
		yes, err := s.Apply(Recipe{{"filter", []Arg{where}}}, nil)
		require.NoError(rt, err)
		no, err := s.Apply(Recipe{{"filter", []Arg{where, {"not", "=", "true"}}}}, nil)
		require.NoError(rt, err)
		both, err := mergeOpen(yes, no)
		require.NoError(rt, err)
		require.Equal(rt, hashOf(t, s), hashOf(t, both))
	})
}

// TestMergeRaisesIDs: two traces with the same ids, of different epochs.
func TestMergeRaisesIDs(t *testing.T) {
	a := setOf(t, traces.Meta{EpochKnown: true, Epoch: 5_000_000}, traces.Tables{Jobs: []traces.Job{line{1, 0, 0, 1, "a", 1}.job(), line{7, 9, 9, 1, "a", 1}.job()}})
	j := line{7, 8, 8, 1, "b", 1}.job()
	j.AfterJob = traces.Some[int64](1)
	b := setOf(t, traces.Meta{EpochKnown: true, Epoch: 2_000_000}, traces.Tables{Jobs: []traces.Job{line{1, 0, 0, 1, "b", 1}.job(), j}, Deps: []traces.Dep{{Job: 7, On: 1, Condition: "any"}}})
	m, err := mergeOpen(a, b)
	require.NoError(t, err)
	rows := rowsIn(t, m)
	require.Equal(t, "11 1 17 7", ids(rows))
	require.EqualValues(t, 11, rows[2].AfterJob.V)
	require.Equal(t, []traces.Dep{{Job: 17, On: 11, Condition: "any"}}, m.Deps)
	require.EqualValues(t, 2_000_000, m.Meta.Epoch)
	require.EqualValues(t, 12_000_000, rows[3].Submit)
	acc := m.Accounts()[0]
	require.True(t, balanced(acc))
	require.EqualValues(t, 2, acc.Added)
}

// TestJitter: no job moves farther than asked, warm jobs stay, the seed decides,
// and a draw depends on the job alone.
func TestJitter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, err := FromTables("log", traces.Meta{MaxProcs: 8}, drawn(rt))
		require.NoError(rt, err)
		was := map[int64]traces.Job{}
		for _, j := range rowsIn(t, s) {
			was[j.ID] = j
		}
		jittered, err := s.Jitter(10*model.Minute, 7)
		require.NoError(rt, err)
		again, err := s.Jitter(10*model.Minute, 7)
		require.NoError(rt, err)
		require.Equal(rt, hashOf(t, jittered), hashOf(t, again))
		now := map[int64]traces.Job{}
		for _, j := range rowsIn(t, jittered) {
			by := j.Submit.Sub(was[j.ID].Submit)
			require.LessOrEqual(rt, max(by, -by), 10*model.Minute)
			if j.Start.OK {
				require.Equal(rt, by, j.Start.V.Sub(was[j.ID].Start.V))
			}
			now[j.ID] = j
		}
		require.Len(rt, now, len(was))
		half, err := s.Apply(Recipe{{"filter", []Arg{{"user", "!=", "a"}}}, {"jitter", []Arg{{"by", "=", "10m"}, {"seed", "=", "7"}}}}, nil)
		require.NoError(rt, err)
		for _, j := range rowsIn(t, half) {
			require.Equal(rt, now[j.ID].Submit, j.Submit, "other jobs do not matter")
		}
		still, err := s.Jitter(0, 7)
		require.NoError(rt, err)
		require.Equal(rt, hashOf(t, s), hashOf(t, still))
	})
}

// TestStepsOfEarlierVersions: recipes of earlier versions call the step shake; it does the same, and
// a recipe that is renewed has the name of today.
func TestStepsOfEarlierVersions(t *testing.T) {
	old, err := ParseRecipe("window begin=100s warm=true\nshake by=1h seed=3")
	require.NoError(t, err)
	now, remarks := old.Renewed()
	require.Equal(t, []string{"the step shake is called jitter now: write jitter in its place"}, remarks)
	require.Equal(t, Recipe{old[0], {Name: "jitter", Args: old[1].Args}}, now)
	_, remarks = now.Renewed()
	require.Empty(t, remarks)
	for _, r := range []Recipe{old, now} {
		_, err := r[1].compile()
		require.NoError(t, err)
	}
}

// TestJitterKeepsTheWarmStart: jobs of before stay, the others do not go there.
func TestJitterKeepsTheWarmStart(t *testing.T) {
	s := log(t, line{1, 10, 20, 200, "a", 1}, line{2, 90, 150, 10, "a", 1}, line{3, 101, 150, 10, "a", 1}, line{4, 102, 150, 10, "a", 1})
	out, rows, _ := done(t, s, "window begin=100s warm=true\njitter by=1h seed=3")
	require.Equal(t, model.Time(10*model.Second), rows[0].Submit)
	require.Equal(t, model.Time(90*model.Second), rows[1].Submit)
	for _, j := range rows[2:] {
		require.GreaterOrEqual(t, j.Submit, out.Meta.WarmStart.V)
	}
}

// TestLoad: the load asked for is the load achieved, to the precision of the way.
func TestLoad(t *testing.T) {
	var lines []line
	for i := range int64(400) {
		lines = append(lines, line{i + 1, 3600 * i, 3600*i + 60, 1000 + 37*i%4000, fmt.Sprintf("u%d", i%23), int32(1 + i%7)})
	}
	s := log(t, lines...)
	before, err := s.Load("", 0)
	require.NoError(t, err)
	for _, c := range []struct {
		by    string
		to    string
		close float64
	}{{"interarrival", "0.9", 1e-6}, {"interarrival", "0.1", 1e-6}, {"runtime", "0.9", 1e-6}, {"users", "0.1", 0.02}, {"users", "0.9", 0.02}} {
		out, rows, _ := done(t, s, "load to="+c.to+" by="+c.by)
		l, err := out.Load("", 0)
		require.NoError(t, err)
		got, _ := l.Value().Float64()
		want, _ := strconv.ParseFloat(c.to, 64)
		require.InDelta(t, want, got, c.close, "%+v", c)
		require.Contains(t, out.Accounts()[0].Notes[len(out.Accounts()[0].Notes)-1], "asked for")
		seen := map[int64]bool{}
		for _, j := range rows {
			require.False(t, seen[j.ID])
			seen[j.ID] = true
			require.True(t, !j.Start.OK || j.Start.V >= j.Submit)
		}
	}
	v, _ := before.Value().Float64()
	require.Greater(t, v, 0.1)
	_, err = log(t, line{1, 0, 0, 10, "", 1}, line{2, 9, 9, 10, "", 1}).Apply(Recipe{{"load", []Arg{{"to", "=", "2"}, {"by", "=", "users"}}}}, nil)
	require.ErrorContains(t, err, "no job names its user")
	_, err = setOf(t, traces.Meta{}, traces.Tables{Jobs: []traces.Job{line{1, 0, 0, 10, "", 1}.job()}}).Load("", 0)
	require.ErrorContains(t, err, "capacity=N")
}

// TestLoadOfNodes counts nodes where there is a table of them.
func TestLoadOfNodes(t *testing.T) {
	a, b := line{1, 0, 0, 50, "a", 5}.job(), line{2, 100, 100, 50, "a", 9}.job()
	b.NodesMin, b.GPUsPerNode = traces.Some[int32](1), traces.Some[int32](3)
	s := setOf(t, traces.Meta{MaxProcs: 99}, traces.Tables{Jobs: []traces.Job{a, b}, Nodes: []traces.Node{{Name: "x", CPUs: 4, GPUs: 4}, {Name: "y", CPUs: 4, GPUs: 4}}})
	for unit, want := range map[string]string{"": "0.7500", "nodes": "0.7500", "processors": "0.8750", "gpus": "0.1875"} {
		l, err := s.Load(unit, 0)
		require.NoError(t, err)
		require.Equal(t, want, decimal(l.Value()), unit)
	}
}

// TestLoadOfGPUs counts GPUs where most jobs ask for them, and asks how many there are
// where the trace does not say.
func TestLoadOfGPUs(t *testing.T) {
	var jobs []traces.Job
	for i := range int64(3) {
		j := line{i + 1, 50 * i, 50 * i, 50, "a", 5}.job()
		j.NodesMin = traces.Some[int32](1)
		if i > 0 {
			j.GPUsPerNode = traces.Some[int32](3)
		}
		jobs = append(jobs, j)
	}
	nodes := []traces.Node{{Name: "x", CPUs: 4, GPUs: 4}, {Name: "y", CPUs: 4, GPUs: 4}}
	s := setOf(t, traces.Meta{MaxProcs: 99}, traces.Tables{Jobs: jobs, Nodes: nodes})
	l, err := s.Load("", 0)
	require.NoError(t, err)
	require.Equal(t, "gpus", l.Unit)
	require.Equal(t, "0.3750", decimal(l.Value())) // 2·3·50 of 8·100 GPU·s
	require.Equal(t, int64(1), l.Silent)

	bare := setOf(t, traces.Meta{MaxProcs: 99}, traces.Tables{Jobs: jobs})
	_, err = bare.Load("", 0)
	require.ErrorContains(t, err, "most jobs ask for GPUs, and the trace does not say how many there are: give capacity=N")
	l, err = bare.Load("", 6)
	require.NoError(t, err)
	require.Equal(t, "0.5000", decimal(l.Value()))
	l, err = bare.Load("processors", 0)
	require.NoError(t, err)
	require.Equal(t, int64(99), l.Capacity)
}

// TestResample: weeks are those of the same users, the work of a week is that of
// the log on average, and a follower follows a job of its user.
func TestResample(t *testing.T) {
	var lines []line
	id := int64(0)
	for w := range int64(20) {
		for k := range int64(30) {
			id++
			user := fmt.Sprintf("long%d", k%5)
			if k%6 == 0 {
				user = fmt.Sprintf("guest%d", w/2)
			}
			at := w*7*86400 + k*1200
			lines = append(lines, line{id, at, at + 5, 5400, user, 1})
		}
	}
	s := log(t, lines...)
	out, rows, acc := done(t, s, "resample weeks=60 seed=4")
	require.InDelta(t, 1800, len(rows), 250)
	byID := map[int64]traces.Job{}
	follows := 0
	for i, j := range rows {
		require.EqualValues(t, i+1, j.ID)
		byID[j.ID] = j
		if j.AfterJob.OK {
			o := byID[j.AfterJob.V]
			require.Equal(t, o.User, j.User)
			require.Equal(t, j.ThinkTime.V, j.Submit.Sub(o.End.V))
			require.LessOrEqual(t, j.ThinkTime.V, 20*model.Minute)
			follows++
		}
	}
	require.Positive(t, follows)
	require.Less(t, rows[len(rows)-1].Submit, model.Time(60*week))
	require.False(t, out.Meta.WarmStart.OK)
	require.Contains(t, acc[0].Notes[0], "60 weeks of 15 users made of 20 weeks")
	_, again, _ := done(t, s, "resample weeks=60 seed=4")
	require.Equal(t, rows, again)
	_, other, _ := done(t, s, "resample weeks=60 seed=5 feedback=0s")
	require.NotEqual(t, len(rows), 0)
	require.False(t, slices.ContainsFunc(other, func(j traces.Job) bool { return j.AfterJob.OK }))
}

// TestAnonymise: no name is left anywhere, equal names stay equal, and the bundle
// does not say what it was made of.
func TestAnonymise(t *testing.T) {
	jobs := []traces.Job{line{1, 0, 0, 10, "secret-ann", 1}.job(), line{2, 1, 1, 10, "secret-bob", 1}.job(), line{3, 2, 2, 10, "secret-ann", 1}.job()}
	for i := range jobs {
		jobs[i].Name, jobs[i].Account, jobs[i].Tenant, jobs[i].Extra = "secret-job", "secret-acc", "secret-org", `{"dir":"secret-home"}`
	}
	s := setOf(t, traces.Meta{Source: "secret.swf", Import: `{"file":"secret"}`, Recipe: "secret"}, traces.Tables{
		Jobs: jobs, Tenants: []traces.Tenant{{Name: "secret-org"}}, Events: []traces.Event{{Kind: "quota", Subject: "secret-org", Value: `{"max_nodes":1}`}},
	})
	s.Rename("secret-log")
	for _, step := range []string{"anonymise", "anonymise key=secret-key"} {
		out, rows, _ := done(t, s, "filter user!=secret-eve\n"+step)
		require.Equal(t, rows[0].User, rows[2].User)
		require.NotEqual(t, rows[0].User, rows[1].User)
		require.Equal(t, rows[0].Tenant, out.Tenants[0].Name)
		path := filepath.Join(t.TempDir(), "x.trace")
		res, err := out.Write(path, nil)
		require.NoError(t, err)
		b, err := traces.Open(path)
		require.NoError(t, err)
		text, err := json.Marshal([]any{rows, out.Tenants, out.Events, b.Meta(), res})
		require.NoError(t, err)
		require.NotContains(t, string(text), "secret")
		require.NoError(t, b.Close())
	}
}

// TestWriteAndCollectAgree: the trace in memory is the one on disk, and the
// recipe says how it was made.
func TestWriteAndCollectAgree(t *testing.T) {
	s := log(t, line{1, 10, 20, 80, "a", 1}, line{2, 60, 90, 80, "b", 2}, line{3, 120, 130, 80, "b", 2})
	out, _, _ := done(t, s, "# a week\nwindow begin=100s warm=true # from then on\n\njitter by=1s seed=2")
	m, err := out.Collect()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "x.trace")
	res, err := out.Write(path, nil)
	require.NoError(t, err)
	require.Equal(t, m.Info().Hash, res.Hash)
	report, err := traces.Validate(path)
	require.NoError(t, err)
	require.EqualValues(t, 2, report.Kept)
	b, err := traces.Open(path)
	require.NoError(t, err)
	defer b.Close()
	info := m.Info()
	info.Name = b.Info().Name
	require.Equal(t, b.Info(), info)
	doc, ok := Made(b.Meta())
	require.True(t, ok)
	require.Equal(t, []string{"window begin=100s warm=true", "jitter by=1s seed=2"}, doc.Steps)
	require.Equal(t, doc.digest(), doc.Hash)
	require.Equal(t, res.Recipe, doc.Hash)
	require.Len(t, doc.Accounts, 2)
	again, err := Open(b)
	require.NoError(t, err)
	require.Equal(t, res.Hash, hashOf(t, again), "the warm start is kept")
}

// TestWindows: disjoint, of equal length, inside the log.
func TestWindows(t *testing.T) {
	var lines []line
	for i := range int64(100) {
		lines = append(lines, line{i + 1, 10 * i, 10*i + 25, 60, "a", 1})
	}
	s := log(t, lines...)
	all, err := windows(s, 100*model.Second, 5, true)
	require.NoError(t, err)
	require.Len(t, all, 5)
	end := model.Time(0)
	for _, w := range all {
		begin := w.Meta.WarmStart.V
		require.GreaterOrEqual(t, begin, end)
		end = begin.Add(100 * model.Second)
		own := 0
		for _, j := range rowsIn(t, w) {
			require.Less(t, j.Submit, end)
			if j.Submit >= begin {
				own++
			}
		}
		require.Equal(t, 10, own)
	}
	require.LessOrEqual(t, end, model.Time(991*model.Second))
	_, err = windows(s, 500*model.Second, 2, true)
	require.ErrorContains(t, err, "do not fit")
}
