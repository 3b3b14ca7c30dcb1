package plan

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/workflow"
	"orrery/traces"
)

// member is a row of a trace of workflows.
type member struct {
	dag, group string
	index      int32
}

func workflowsOf(t *testing.T, members []member, edges ...traces.Edge) *traces.Memory {
	var tables traces.Tables
	for i, w := range members {
		tables.Jobs = append(tables.Jobs, traces.Job{ID: int64(i), DAG: w.dag, Group: w.group, Index: traces.Some(w.index)})
	}
	for _, e := range edges {
		tables.Deps = append(tables.Deps, traces.Dep{Job: int64(e.Job), On: int64(e.On), Condition: e.Condition.String()})
	}
	m, err := traces.NewMemory("log", traces.Meta{}, tables)
	require.NoError(t, err)
	return m
}

func dependenciesOf(m *traces.Memory) (*traces.Dependencies, error) {
	src, err := m.Open()
	if err != nil {
		return nil, err
	}
	return Dependencies(context.Background(), src, m.Open)
}

func TestWorkflowsThatCannotBeAreRefused(t *testing.T) {
	after := func(job, on model.JobID) traces.Edge {
		return traces.Edge{Job: job, On: on, Condition: model.AfterOK}
	}
	many := make([]member, workflow.MaxMembers+1)
	for i := range many {
		many[i].dag = "w"
	}
	for name, c := range map[string]struct {
		m    *traces.Memory
		want string
	}{
		"a circle":              {workflowsOf(t, make([]member, 2), after(0, 1), after(1, 0)), "2 jobs that wait for each other in a circle"},
		"too many":              {workflowsOf(t, many, after(1, 0)), `dag "w": 1001 members, want at most 1000`},
		"one outside the named": {workflowsOf(t, []member{{dag: "w"}, {dag: "w"}, {}}, after(1, 0), after(1, 2)), "not a member"},
	} {
		_, err := dependenciesOf(c.m)
		var data *traces.DataError
		require.ErrorAs(t, err, &data, name)
		require.ErrorContains(t, err, c.want, name)
	}
	_, err := dependenciesOf(workflowsOf(t, []member{{dag: "w"}, {dag: "w"}}, after(1, 0)))
	require.NoError(t, err)
}

// Elements of a task group wait for the element of equal index; one without
// partner waits for nothing.
func TestElementsFindTheirPartners(t *testing.T) {
	m := workflowsOf(t, []member{{group: "a", index: 1}, {group: "a", index: 2}, {group: "b", index: 2}, {group: "b", index: 3}},
		traces.Edge{Job: 2, On: 0, Condition: model.AfterCorr}, traces.Edge{Job: 3, On: 0, Condition: model.AfterCorr})
	d, err := dependenciesOf(m)
	require.NoError(t, err)
	require.Equal(t, []traces.Edge{{Job: 2, On: 1, Condition: model.AfterCorr}}, d.Edges)
}
