package experiment

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/sim/metric"
	"orrery/sim/task"
)

const outage = `
events:
  - {time: 30m, kind: down, subject: all}
  - {time: 90m, kind: up, subject: all}
`

// TestScenarioFiles: each file makes scenarios of its own, whose content is in their specs; what is
// under none is the task of an experiment without the axis; and rows say what came of each.
func TestScenarioFiles(t *testing.T) {
	r, a := logOf(t, "a", 60)
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("outage.yaml", outage)
	write("fewer.yaml", "without: {users: [u1]}\n")
	expanded := func(text string) (*Plan, []Task) {
		e, err := profiles.ParseExperiment("e.yaml", []byte("traces: [a]\nprofiles: [default, hpc-batch]\n"+text))
		require.NoError(t, err)
		p, tasks, err := Expand(context.Background(), e, dir, []Trace{a})
		require.NoError(t, err)
		require.Len(t, tasks, p.Size())
		back, err := ParsePlan(p.JSON())
		require.NoError(t, err)
		require.Equal(t, p.Scenarios, back.Scenarios)
		return p, tasks
	}
	plain, _ := expanded("")
	require.Empty(t, plain.Files())
	require.NotContains(t, string(plain.JSON()), `"file"`)
	p, tasks := expanded("scenarios: [none, outage.yaml, fewer.yaml]\nobjectives: [{metric: wait_mean, window: all}, {metric: jobs_submitted, window: all, direction: maximise}]\n")
	require.Equal(t, []string{"none", "outage.yaml", "fewer.yaml"}, p.Files())
	require.Equal(t, "outage.yaml", p.Scenarios[1].Name)
	require.Len(t, tasks, 6)
	for i := range p.Points {
		require.Equal(t, plain.Points[i].ID, p.Points[i].ID, "a point is the same under any scenario")
		require.Equal(t, plain.Points[i].Tasks[0], p.Points[i].Tasks[0], "none is the task without the axis")
	}
	one, err := task.Parse(tasks[2].JSON())
	require.NoError(t, err)
	require.Contains(t, string(one.Spec.Scenario), `"down"`)

	var parsed []task.Task
	for i := range tasks {
		one, err := task.Parse(tasks[i].JSON())
		require.NoError(t, err)
		parsed = append(parsed, one)
	}
	byID := map[string]*task.Result{}
	for _, res := range evaluated(t, r, parsed) {
		res.Verdict = metric.Stable
		byID[res.Task] = &res
	}
	rows, err := p.Rows(func(id string) (*task.Result, bool, error) { return byID[id], false, nil })
	require.NoError(t, err)
	for i := range rows {
		u := rows[i].Under
		require.Equal(t, []string{"none", "outage.yaml", "fewer.yaml"}, []string{u[0].File, u[1].File, u[2].File})
		require.Greater(t, u[1].Values[0], u[0].Values[0], "an hour without nodes makes jobs wait")
		require.Equal(t, []float64{60, 60, 48}, []float64{u[0].Values[1], u[1].Values[1], u[2].Values[1]})
		require.InDelta(t, rows[i].Values[0], (u[0].Values[0]+u[1].Values[0]+u[2].Values[0])/3, 1e-9, "the mean over the files")
	}

	// What counts is the content, not the name of the file.
	write("again.yaml", "description: the same\n"+outage)
	same, _ := expanded("scenarios: [again.yaml]\n")
	require.Equal(t, p.Points[0].Tasks[1], same.Points[0].Tasks[0], "a description changes nothing")
	write("again.yaml", strings.ReplaceAll(outage, "30m", "31m"))
	other, _ := expanded("scenarios: [again.yaml]\n")
	require.NotEqual(t, p.Points[0].Tasks[1], other.Points[0].Tasks[0])
	write("again.yaml", strings.ReplaceAll(outage, "30m", "1800s"))
	same, _ = expanded("scenarios: [again.yaml]\n")
	require.Equal(t, p.Points[0].Tasks[1], same.Points[0].Tasks[0])
	rows, err = same.Rows(func(id string) (*task.Result, bool, error) { return byID[id], false, nil })
	require.NoError(t, err)
	require.Nil(t, rows[0].Under, "of one file there is nothing to divide")

	for text, says := range map[string]string{
		"scenarios: [none, none]":                           "e.yaml:3:19: scenarios[1]: found none, which is scenarios[0] already",
		"scenarios: [" + strings.Repeat("a, ", 1000) + "b]": "e.yaml:3:12: scenarios: found 1001 files, want at most 1000",
		"scenarios: [gone.yaml]":                            "e.yaml:3:13: scenarios[0]: there is no file " + filepath.Join(dir, "gone.yaml"),
		"scenarios: [outage.yaml, again.yaml]":              "asks for the same as outage.yaml",
		"scenarios: [empty.yaml]":                           "asks for nothing: write none in its place",
		"scenarios: [wrong.yaml]":                           "wrong.yaml:1:27: events[0].kind: ",
		"scenarios: [order.yaml]":                           "order.yaml:1:10: events[0]: found the kind order, and the run is of a site",
		"scenarios: [none, fewer.yaml, ./fewer.yaml]":       "scenarios[2]: found ./fewer.yaml, which is scenarios[1] already",
	} {
		write("empty.yaml", "description: nothing\n")
		write("wrong.yaml", "events: [{time: 1h, kind: dwn}]\n")
		write("order.yaml", "events: [{time: 1h, kind: order, value: sjf}]\n")
		e, err := profiles.ParseExperiment("e.yaml", []byte("traces: [a]\n\n"+text))
		if err == nil {
			_, _, err = Expand(context.Background(), e, dir, []Trace{a})
		}
		require.ErrorContains(t, err, says, text)
	}
}
