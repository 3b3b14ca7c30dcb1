package experiment

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/task"
	"orrery/traces"
	"orrery/traces/transform"
)

// logOf is a small log that queues on 8 nodes.
func logOf(t testing.TB, name string, jobs int) (*task.Runner, Trace) {
	var rows traces.Tables
	for i := range jobs {
		run := model.Duration(300+i*7919%600) * model.Second
		rows.Jobs = append(rows.Jobs, traces.Job{
			ID: int64(i + 1), Submit: model.Time(model.Duration(i*120) * model.Second), User: fmt.Sprint("u", i%5), Kind: "bounded",
			Runtime: traces.Some(run), Walltime: traces.Some(2 * run), ProcsRequested: traces.Some(int32(1 + i*31%8)),
		})
	}
	set, err := transform.FromTables(name, traces.Meta{MaxProcs: 8, EpochKnown: true}, rows)
	require.NoError(t, err)
	r := task.NewRunner(nil)
	m, err := r.Add(set)
	require.NoError(t, err)
	src, err := m.Open()
	require.NoError(t, err)
	return r, Trace{Name: name, Hash: m.Info().Hash, Jobs: m.Info().Rows, Set: set, Tab: src}
}

func expand(t testing.TB, text string, list ...Trace) (*Plan, []task.Task) {
	e, err := profiles.ParseExperiment("e.yaml", []byte(text))
	require.NoError(t, err)
	p, made, err := Expand(context.Background(), e, ".", list)
	require.NoError(t, err)
	require.Len(t, made, p.Size())
	var tasks []task.Task
	for i := range made {
		one, err := task.Parse(made[i].JSON())
		require.NoError(t, err)
		require.Equal(t, string(one.JSON()), string(made[i].JSON()), "it is canonical")
		tasks = append(tasks, one)
	}
	back, err := ParsePlan(p.JSON())
	require.NoError(t, err)
	require.Equal(t, string(p.JSON()), string(back.JSON()))
	return p, tasks
}

func TestCartesian(t *testing.T) {
	_, a := logOf(t, "a", 100)
	_, b := logOf(t, "b", 60)
	p, tasks := expand(t, `
traces: [a, b]
windows: [{count: 2, length: 45m}, {name: start, length: 1h}, {name: late, begin: 1h, length: 40m, lead: 20m}]
jitter: {seeds: [4]}
profiles: [default, hpc-batch]
settings: [{path: backfill, values: [easy, none]}, {path: weights.wait_time, values: [1, 2, 3]}]
`, a, b)
	require.Len(t, p.Points, 12)
	require.Len(t, p.Scenarios, 2*4*2)
	require.Equal(t, "b, late, seed 4", p.Scenarios[15].Name)
	ids := map[string]bool{}
	for i := range tasks {
		ids[tasks[i].ID()] = true
	}
	require.Len(t, ids, len(tasks), "each pair is a task of its own, but that windows of one replay share theirs")
	require.Len(t, tasks, 12*2*3*2)
	require.Equal(t, p.Points[0].Tasks[0], tasks[0].ID())
	require.Equal(t, p.Points[0].Tasks[0], p.Points[0].Tasks[1], "w1 and w2 are parts of one replay")
	require.Equal(t, []int{1, 2, 1, 2, 1, 1, 0, 0}, []int{p.Scenarios[0].Part, p.Scenarios[1].Part, p.Scenarios[2].Part, p.Scenarios[3].Part,
		p.Scenarios[4].Part, p.Scenarios[5].Part, p.Scenarios[6].Part, p.Scenarios[7].Part})
	require.Equal(t, p.Points[0].Tasks[2], tasks[12].ID(), "scenarios are outermost")
	require.Equal(t, 20*model.Minute, *tasks[4*12].Window.Lead)

	one, _ := expand(t, "traces: [a]\nprofiles: [default]\n", a)
	require.Equal(t, "default", one.Points[0].Name)
	grown, _ := expand(t, "traces: [a]\nprofiles: [default]\njitter: {seeds: [1]}\nsettings: [{path: backfill, values: [none, easy]}]\n", a)
	require.Equal(t, one.Points[0].Tasks[0], grown.Points[1].Tasks[0], "what is at its default is the same task")
}

// TestSample: a longer sample begins with the shorter one, weights sum to 1, and
// values lie in their ranges.
func TestSample(t *testing.T) {
	_, a := logOf(t, "a", 50)
	text := `
traces: [a]
design: %s
points: %d
settings:
  - {path: weights, parts: [wait_time, fair_share, topology]}
  - {path: reference_wait, from: 5m, to: 12h, log: true}
  - {path: backfill, values: [easy, first-fit]}
  - {path: cycle, values: [30s]}
`
	for _, design := range []string{"sobol", "halton", "random", "latin"} {
		long, _ := expand(t, fmt.Sprintf(text, design, 40), a)
		require.Len(t, long.Points, 40)
		if design != "latin" {
			short, _ := expand(t, fmt.Sprintf(text, design, 9), a)
			for i := range short.Points {
				require.Equal(t, short.Points[i].Tasks, long.Points[i].Tasks)
			}
		}
		for _, q := range long.Points {
			require.InDelta(t, 1, q.At[0]+q.At[1]+q.At[2], 1e-4)
			require.GreaterOrEqual(t, q.At[3], 300.0)
			require.LessOrEqual(t, q.At[3], 43200.0)
			require.Contains(t, []string{"easy", "first-fit"}, q.Values[4])
			require.Equal(t, "30s", q.Values[5])
		}
	}
}

func TestExpandRefuses(t *testing.T) {
	_, a := logOf(t, "a", 50)
	for text, says := range map[string]string{
		"profiles: [defalt]":                                                   "did you mean default?",
		"profiles: [./x.yaml]":                                                 "there is no file x.yaml",
		"cluster: mont":                                                        "did you mean month?",
		"windows: [{count: 2, length: 30d}]":                                   "do not fit",
		"settings: [{path: weights.wait_time, values: [-1]}]":                  "found -1",
		"design: sobol\nsettings: [{path: backfill, from: a, to: b}]":          "has no range",
		"design: sobol\nsettings: [{path: depth, from: 5, to: 1}]":             "want a range from a lower to a higher value",
		"design: sobol\nsettings: [{path: depth, from: x, to: 1}]":             "want a whole number",
		"design: sobol\nsettings: [{path: weights, parts: [wait_time]}]":       "found one weight",
		"design: sobol\nsettings: [{path: weights, parts: [wait_time, wait]}]": "there is no such key",
		"objectives: [{metric: jobs_submitted}]":                               "neither better when higher nor when lower: add direction",
		"windows: [{count: 2, length: 10m}]":                                   "each of 2 windows has fewer than 20 jobs",
		"show: [waits]":                                                        `there is no metric "waits"`,
		"constraints: [{metric: wait, at_most: 5}]":                            `there is no metric "wait"`,
		"design: listed\nlisted: [{set: [depht=5]}]":                           "did you mean depth?",
	} {
		e, err := profiles.ParseExperiment("e.yaml", []byte("traces: [a]\n"+text))
		require.NoError(t, err, text)
		_, _, err = Expand(context.Background(), e, ".", []Trace{a})
		require.ErrorContains(t, err, says, text)
		require.ErrorContains(t, err, "e.yaml:", text)
	}
	_, err := ParsePlan([]byte(`{"schema":1}`))
	require.ErrorContains(t, err, "found schema 1")
	_, err = ParsePlan([]byte(`{"schema":2,"points":[{"id":"x","values":["1"]}]}`))
	require.ErrorContains(t, err, "point x has")
	_, err = ParsePlan([]byte(`{"schem":1}`))
	require.Error(t, err)
	before, err := ParsePlan([]byte(`{"schema":2,"scenarios":[{"trace":0,"name":"x","shake":{"by_us":5,"seed":3}}]}`))
	require.NoError(t, err)
	require.Equal(t, []Scenario{{Name: "x", Jitter: &task.Jitter{By: 5, Seed: 3}}}, before.Scenarios)
}

// TestFewJobs: windows with fewer than 20 jobs are set aside, counted, and do not
// move the names of the others.
func TestFewJobs(t *testing.T) {
	_, a := logOf(t, "a", 100)
	p, _ := expand(t, "traces: [a]\nwindows: [{length: 10m}, {length: 2h}, {name: end, begin: 3h, length: 1h}]\n", a)
	require.Equal(t, []Aside{{"a", "w1", 5}, {"a", "end", 10}}, p.Aside)
	require.Len(t, p.Scenarios, 1)
	require.Equal(t, "w2", p.Scenarios[0].Name)
}

// TestBeginsIdle: of windows whose lead is a span, the plan says where a log without
// recorded starts has them begin on an idle cluster; of other windows and logs there
// is nothing to say.
func TestBeginsIdle(t *testing.T) {
	_, a := logOf(t, "a", 100)
	const led = "windows: [{count: 2, length: 45m, lead: 20m}, {length: 1h, lead: 20m}]\n"
	p, _ := expand(t, "traces: [a]\n"+led, a)
	require.Len(t, p.Remarks, 1)
	require.Contains(t, p.Remarks[0], "the 00:20:00 that are replayed before each window begin on an idle cluster")
	p, _ = expand(t, "traces: [a]\nwindows: [{count: 2, length: 45m}]\n", a)
	require.Empty(t, p.Remarks, "the trace before them is replayed from its beginning")

	rows := traces.Tables{}
	for job, err := range a.Set.Rows() {
		require.NoError(t, err)
		job.Start = traces.Some(job.Submit)
		rows.Jobs = append(rows.Jobs, *job)
	}
	set, err := transform.FromTables("b", traces.Meta{MaxProcs: 8, EpochKnown: true}, rows)
	require.NoError(t, err)
	m, err := task.NewRunner(nil).Add(set)
	require.NoError(t, err)
	p, _ = expand(t, "traces: [b]\n"+led, Trace{Name: "b", Hash: m.Info().Hash, Jobs: m.Info().Rows, Set: set, Tab: a.Tab})
	require.Empty(t, p.Remarks)
}

func TestUsualDirection(t *testing.T) {
	_, a := logOf(t, "a", 50)
	p, _ := expand(t, "traces: [a]\nobjectives: [{metric: utilisation}, {metric: wait_p95}, {metric: utilisation, window: all, direction: minimise}, {metric: jobs_submitted, direction: maximise}]\n", a)
	var got []bool
	for _, o := range p.Objectives {
		got = append(got, o.Maximise)
	}
	require.Equal(t, []bool{true, false, false, true}, got)
}

func TestTheSameTraceTwice(t *testing.T) {
	_, a := logOf(t, "a", 50)
	b := a
	b.Name = "b"
	e, err := profiles.ParseExperiment("e.yaml", []byte("traces:\n  - a\n  - b\n"))
	require.NoError(t, err)
	_, _, err = Expand(context.Background(), e, ".", []Trace{a, b})
	require.ErrorContains(t, err, "e.yaml:3")
	require.ErrorContains(t, err, "found the same jobs as in traces[0]")
}

// TestExpandEnds: what takes long ends with its context, and what would take for
// ever is refused before it begins.
func TestExpandEnds(t *testing.T) {
	_, a := logOf(t, "a", 50)
	sample := func(points int) *profiles.Experiment {
		e, err := profiles.ParseExperiment("e.yaml", fmt.Appendf(nil, "traces: [a]\ndesign: sobol\npoints: %d\njitter: {seeds: [1]}\nsettings: [{path: weights.wait_time, from: 1, to: 1000000}]\n", points))
		require.NoError(t, err)
		return e
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, _, err := Expand(ctx, sample(100_000), ".", []Trace{a})
	require.ErrorIs(t, err, context.Canceled)

	_, _, err = Expand(context.Background(), sample(100_001), ".", []Trace{a})
	require.ErrorContains(t, err, "e.yaml:3")
	require.ErrorContains(t, err, "found 100001 points or more on 2 scenarios, which are 200002 tasks, want at most 200000 tasks: give fewer")
	text := "traces: [a]\nsettings:\n"
	for _, w := range []string{"wait_time", "fair_share", "topology"} {
		text += "  - {path: weights." + w + ", values: [" + strings.Join(count(100), ", ") + "]}\n"
	}
	e, err := profiles.ParseExperiment("e.yaml", []byte(text))
	require.NoError(t, err)
	_, _, err = Expand(context.Background(), e, ".", []Trace{a})
	require.ErrorContains(t, err, "found 1000000 points or more on 1 scenarios")
}

func count(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint(i+1))
	}
	return out
}

// TestOverload: of ten windows one may be overloaded; in which all points are, is
// set aside; and a point overloaded in more stands last, by name.
func TestOverload(t *testing.T) {
	plan := Plan{Objectives: []Goal{{"wait_mean", metric.All, false}}, Constraints: []Constraint{{Metric: "utilisation", Window: metric.All, AtLeast: new(float64)}}}
	for i := range 20 {
		plan.Scenarios = append(plan.Scenarios, Scenario{Window: &task.Window{Begin: model.Time(i)}})
	}
	points := []struct {
		name, verdicts string
		wait           float64
	}{
		{"second", "OOOOOSSSSSSSSSSSSSSS", 1}, {"first", "OOOOOSSSSSSSSSSSSSSS", 2}, {"lucky", "OOSSSSSSSSSSSSSSSSSS", 9}, {"never", "OSSSSSSSSSSSSSSSSSSS", 10},
	}
	results := map[string]*task.Result{}
	for _, p := range points {
		q := Point{ID: p.name, Name: p.name}
		for s, v := range p.verdicts {
			id, one := fmt.Sprint(p.name, s), 1.0
			q.Tasks = append(q.Tasks, id)
			r := &task.Result{Figures: task.Figures{Verdict: metric.Stable, Metrics: map[string]task.Metric{"wait_mean": {All: &p.wait}, "utilisation": {All: &one}}}}
			if v == 'O' {
				r.Verdict = metric.Overloaded
			}
			results[id] = r
		}
		plan.Points = append(plan.Points, q)
	}
	find := func(id string) (*task.Result, bool, error) { return results[id], false, nil }
	rows, err := plan.Rows(find)
	require.NoError(t, err)
	var names []string
	for _, r := range rows {
		names = append(names, plan.Points[r.Point].Name)
		require.Equal(t, 1, r.Aside)
		require.Equal(t, 19, r.Load.Windows)
		require.Equal(t, r.Unranked, !r.Feasible)
		require.Equal(t, r.Unranked, r.Verdict == metric.Overloaded)
	}
	require.Equal(t, []string{"lucky", "never", "first", "second"}, names)
	require.True(t, rows[0].Front)

	plan.Objectives[0] = Goal{"utilisation", metric.All, true}
	rows, err = plan.Rows(find)
	require.NoError(t, err)
	require.True(t, rows[3].Feasible, "it is no wait")
}

// TestRows: means over scenarios, constraints, the front, and what is missing.
func TestRows(t *testing.T) {
	r, a := logOf(t, "a", 150)
	p, tasks := expand(t, `
traces: [a]
jitter: {seeds: [1]}
design: listed
listed: [{name: sjf, set: [order=sjf]}, {name: ljf, set: [order=ljf]}, {name: fcfs, set: [order=fcfs]}, {name: late}]
objectives: [{metric: wait_mean, window: all}, {metric: wait_max, window: all}]
constraints: [{metric: wait_p95, at_most: 1s}, {metric: jobs_completed, at_least: 1 jobs}]
show: [wait_p50]
`, a)
	results := evaluated(t, r, tasks)
	byID := map[string]*task.Result{}
	for i := range results {
		results[i].Verdict = metric.Stable
		byID[results[i].Task] = &results[i]
	}
	missing, failing := p.Points[3].Tasks[0], p.Points[3].Tasks[1]
	find := func(id string) (*task.Result, bool, error) {
		if id == missing || id == failing {
			return nil, id == failing, nil
		}
		return byID[id], false, nil
	}
	rows, err := p.Rows(find)
	require.NoError(t, err)
	require.Len(t, rows, 4)
	for _, row := range rows {
		require.False(t, row.Feasible, "no point keeps a wait of a second")
	}
	p.Constraints = p.Constraints[1:]
	rows, err = p.Rows(find)
	require.NoError(t, err)
	require.Equal(t, "sjf", p.Points[rows[0].Point].Name)
	require.True(t, rows[0].Front)
	require.Equal(t, 3, rows[3].Point)
	require.Equal(t, 1, rows[3].Failed)
	require.False(t, rows[3].Feasible)
	x, _ := byID[p.Points[0].Tasks[0]].Value("wait_mean", metric.All)
	y, _ := byID[p.Points[0].Tasks[1]].Value("wait_mean", metric.All)
	require.InDelta(t, (x+y)/2, rows[0].Values[0], 1e-9)
	byID[p.Points[0].Tasks[1]].Verdict = metric.Overloaded
	rows, err = p.Rows(find)
	require.NoError(t, err)
	require.NotEqual(t, 0, rows[0].Point, "an overloaded point is not ranked by its waits")
	_, err = p.Rows(func(string) (*task.Result, bool, error) { return nil, false, fmt.Errorf("no disk") })
	require.ErrorContains(t, err, "no disk")
}

// evaluated computes tasks one after the other.
func evaluated(t *testing.T, r *task.Runner, tasks []task.Task) []task.Result {
	t.Helper()
	run, out := r.Worker(), make([]task.Result, len(tasks))
	for i := range tasks {
		text, err := run(context.Background(), tasks[i].JSON())
		require.NoError(t, err)
		out[i], err = task.ParseResult(text)
		require.NoError(t, err)
	}
	return out
}
