package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// A service of which the log does not say how long it ran runs until the last
// instant that any row tells of, and is counted; a bounded job without a runtime is
// dropped.
func TestServicesRunToTheEndOfTheTrace(t *testing.T) {
	site := "groups: [{name: a, nodes: 2}]\nvclusters: [{name: v, home: all, profile: {order: fcfs}}]\n"
	service := traces.Job{Kind: "service"}
	got, res := replayJobs(t, site, nil, []submittedJob{
		{0, -1, 1, 1, 0, service}, {10, 20, 1, 1, 0, traces.Job{}}, {15, -1, 1, 1, 0, traces.Job{}},
		{40, 10, 1, 1, 0, traces.Job{End: traces.Some(model.Time(70 * model.Second))}}, {60, 30, 2, 1, 0, traces.Job{}},
	})
	require.Equal(t, []int64{0, 10, -1, 40, 70}, got, "the service keeps its node until 70 s")
	require.Equal(t, model.Time(100*model.Second), res.Last)
	require.Zero(t, res.Unfinished)
	require.Equal(t, []int64{1}, res.Awkward.Examples[translate.RuleUntimed])
	require.Equal(t, []int64{3}, res.Awkward.Examples[translate.RuleNeverRan])

	got, res = replayJobs(t, site, nil, []submittedJob{
		{0, -1, 1, 1, 0, traces.Job{Kind: "reactive", End: traces.Some(model.Time(25 * model.Second))}},
		{0, -1, 1, 1, 30, service}, {5, 10, 2, 1, 0, traces.Job{}},
	})
	require.Equal(t, []int64{0, 0, 30}, got)
	require.Equal(t, model.Time(40*model.Second), res.Last)
}
