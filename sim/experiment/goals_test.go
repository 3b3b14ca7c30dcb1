package experiment

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/metric"
	"orrery/sim/task"
	"orrery/traces"
	"orrery/traces/transform"
)

// TestWorst: a constraint is judged by its worst scenario, of those in which any
// point has a value; a mean is over these too.
func TestWorst(t *testing.T) {
	limit := 10.0
	plan := Plan{
		Objectives:  []Goal{{"wait_mean of class 10", metric.Steady, false}},
		Constraints: []Constraint{{Metric: "wait_mean of class 10", Window: metric.Steady, AtMost: &limit}},
		Scenarios:   []Scenario{{Name: "w1"}, {Name: "w2"}, {Name: "w3"}},
	}
	results := map[string]*task.Result{}
	for name, waits := range map[string]string{"a": "4 - 12", "b": "5 - 9", "c": "6 - -"} {
		q := Point{ID: name, Name: name}
		var each [3]string
		_, err := fmt.Sscan(waits, &each[0], &each[1], &each[2])
		require.NoError(t, err)
		for s, text := range each {
			r := &task.Result{Figures: task.Figures{Verdict: metric.Stable, GroupsOf: metric.Steady}}
			if text != "-" {
				var g task.Group
				require.NoError(t, g.UnmarshalJSON([]byte(`{"wait_mean":`+text+`}`)))
				r.Groups = map[string]map[string]task.Group{"class": {"10": g}}
			}
			id := fmt.Sprint(name, s)
			results[id] = r
			q.Tasks = append(q.Tasks, id)
		}
		plan.Points = append(plan.Points, q)
	}
	rows, err := plan.Rows(func(id string) (*task.Result, bool, error) { return results[id], false, nil })
	require.NoError(t, err)
	columns := plan.Columns()
	require.Equal(t, []string{"wait_mean of class 10", "wait_mean of class 10 (worst)"}, []string{columns[0].Name(), columns[1].Name()})
	require.Equal(t, "s", columns[0].Unit)
	require.Equal(t, "b", plan.Points[rows[0].Point].Name)
	require.True(t, rows[0].Feasible)
	require.Equal(t, []float64{7, 9}, rows[0].Values, "no point says anything of w2")
	for _, r := range rows[1:] {
		switch plan.Points[r.Point].Name {
		case "a":
			require.Equal(t, []int{1}, r.Broken)
			require.Equal(t, 2, r.Worst[1])
			require.Equal(t, 12.0, r.Values[1])
		case "c":
			require.Equal(t, []bool{false, false}, r.Have, "others have a value in w3")
			require.Empty(t, r.Broken)
		}
		require.False(t, r.Feasible)
	}
}

// TestGroups: measures of groups are those of the cluster.
func TestGroups(t *testing.T) {
	_, a := logOf(t, "a", 100)
	p, _ := expand(t, "traces: [a]\nobjectives: [{metric: wait_p95, by: size, group: 5-16}, {metric: started, by: class, group: \"0\", direction: maximise}]\n"+
		"constraints: [{metric: wait_max, by: kind, group: bounded, at_most: 5s}]\nshow: [wait_p50 of  class 3]\n", a)
	require.Equal(t, []Goal{{"wait_p95 of size 5-16", metric.Steady, false}, {"started of class 0", metric.Steady, true}}, p.Objectives)
	require.Equal(t, "wait_max of kind bounded", p.Constraints[0].Metric)
	require.Equal(t, []string{"wait_p50 of class 3"}, p.Show)
	for text, says := range map[string]string{
		"objectives: [{metric: wait_p95, by: tenant, group: x}]":      "e.yaml:2:23: objectives[0].metric: wait_p95 of tenant x: the site has no tenant",
		"objectives: [{metric: share, by: vcluster, group: default}]": "neither better when higher nor when lower",
		"objectives: [{metric: wait_p95, by: vcluster, group: x}]":    "want one of",
		"constraints: [{metric: within_target_wait, at_least: 1}]":    "promises nothing to any class",
		"show: [wait_p95 of]": "show[0]: found \"wait_p95 of\", want METRIC",
		"constraints: [{metric: wait_p95, by: size, group: 3, at_least: 1s}]": `found the size "3"`,
	} {
		e, err := profiles.ParseExperiment("e.yaml", []byte("traces: [a]\n"+text))
		require.NoError(t, err, text)
		_, _, err = Expand(context.Background(), e, ".", []Trace{a})
		require.ErrorContains(t, err, says, text)
	}
}

// TestAllFaults: what is wrong with a file is told at once, each key once.
func TestAllFaults(t *testing.T) {
	_, a := logOf(t, "a", 50)
	text := `traces: [a]
windows: [{count: 2, length: 30d}]
profiles: [defalt, default, ./x.yaml]
settings:
  - {path: weights.wait_time, values: [1, -1]}
  - {path: backfill, values: [easy, esy]}
objectives: [{metric: waits}]
show: [wait_p95 of class 12, wait_p42]
`
	e, err := profiles.ParseExperiment("e.yaml", []byte(text))
	require.NoError(t, err)
	_, _, err = Expand(context.Background(), e, ".", []Trace{a})
	var all *profiles.Error
	require.ErrorAs(t, err, &all)
	var keys []string
	for _, p := range all.Problems {
		keys = append(keys, p.Key)
	}
	require.Equal(t, []string{"windows[0]", "profiles[0]", "profiles[2]", "settings[0].values[1]", "settings[1].values[1]", "objectives[0].metric", "show[0]", "show[1]"}, keys, err.Error())

	e, err = profiles.ParseExperiment("e.yaml", []byte("traces: [a]\npoint: 5\ndesign: grid\njitter: {by: 0s, seeds: [1]}\nsettings: [{path: depht, values: [1]}]\nobjectives: [{metric: waits}]\n"))
	require.Error(t, err)
	err = profiles.Joined(err, Check(e, "."))
	for _, says := range []string{"e.yaml:2:1: point: there is no such key", "e.yaml:3:9: design", "which moves nothing", "settings[0].path", `there is no metric "waits"`} {
		require.ErrorContains(t, err, says)
	}
}

// TestScenariosOnTheirCluster: what a scenario names and the cluster file does not have is told
// without a trace, where the file has its nodes and tenants by itself.
func TestScenariosOnTheirCluster(t *testing.T) {
	const groups = "groups: [{name: g, nodes: 4}]\n"
	for _, c := range []struct{ name, cluster, scenario, want string }{
		{"a node", groups, "{time: 1d, kind: down, subject: g-4}", ""},
		{"no such node", groups, "{time: 1d, kind: down, subject: zzz-1}", `s.yaml:1:42: events[0].subject: found "zzz-1": there is no group and no node zzz-1`},
		{"nodes of the trace", "power_cap: 1kW\n", "{time: 1d, kind: down, subject: zzz-1}", ""},
		{"no such tenant", groups + "tenants: [{name: a}]\n", "{time: 1d, kind: quota, subject: b, limit: max_nodes, value: 1}", "s.yaml:1:"},
		{"a tenant of the trace", groups, "{time: 1d, kind: quota, subject: b, limit: max_nodes, value: 1}", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"c.yaml": c.cluster, "s.yaml": "events: [" + c.scenario + "]\n"} {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			}
			e, err := profiles.ParseExperiment("e.yaml", []byte("traces: [a]\ncluster: c.yaml\nscenarios: [none, s.yaml]\nobjectives: [{metric: wait_p95}]\n"))
			require.NoError(t, err)
			if err = Check(e, dir); c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestFeedback: rows that follow others come when these have left.
func TestFeedback(t *testing.T) {
	var rows traces.Tables
	for i := range int64(60) {
		rows.Jobs = append(rows.Jobs, traces.Job{
			ID: i + 1, Submit: model.Time(model.Duration(i*60) * model.Second), Kind: "bounded", Runtime: traces.Some(10 * model.Minute),
			Walltime: traces.Some(20 * model.Minute), ProcsRequested: traces.Some(int32(2)),
		})
		if i > 0 {
			rows.Jobs[i].AfterJob, rows.Jobs[i].ThinkTime = traces.Some(i), traces.Some(model.Minute)
		}
	}
	set, err := transform.FromTables("users", traces.Meta{MaxProcs: 8, EpochKnown: true}, rows)
	require.NoError(t, err)
	r := task.NewRunner(nil)
	m, err := r.Add(set)
	require.NoError(t, err)
	src, err := m.Open()
	require.NoError(t, err)
	users := Trace{Name: "users", Hash: m.Info().Hash, Jobs: 60, Set: set, Tab: src}
	_, log := expand(t, "traces: [users]\n", users)
	p, tasks := expand(t, "traces: [users]\nreplay: {feedback: true}\n", users)
	require.True(t, tasks[0].Spec.Feedback)
	require.Contains(t, p.File, "feedback: true")
	got := evaluated(t, r, append(log, tasks...))
	longest, _ := got[0].Value("wait_max", metric.All)
	require.Positive(t, longest)
	longest, _ = got[1].Value("wait_max", metric.All)
	require.Zero(t, longest, "one after the other no job waits")
}
