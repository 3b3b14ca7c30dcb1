package sim

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// ranThere is a trace that begins in the middle: each job ran on the nodes named.
func ranThere(t *testing.T, nodes ...string) (plan.Spec, *traces.Memory) {
	var tables traces.Tables
	for i, list := range nodes {
		tables.Jobs = append(tables.Jobs, traces.Job{
			ID: int64(i + 1), VCluster: "v", Submit: model.Time(i), Start: traces.Some(model.Time(10)), RecordedNodes: list,
			Runtime: traces.Some(model.Hour), Walltime: traces.Some(2 * model.Hour), NodesMin: traces.Some(int32(2)),
		})
	}
	m, err := traces.NewMemory("middle", traces.Meta{WarmStart: traces.Some(model.Time(model.Minute))}, tables)
	require.NoError(t, err)
	c, err := profiles.ParseCluster("site", []byte(warmSite))
	require.NoError(t, err)
	spec := plan.DefaultSpec()
	spec.Site = c.JSON()
	return spec, m
}

// TestRecordedNodesOfAWarmStart: lists of names are read as resource managers
// write them, and a job that cannot have the nodes on which it was is counted.
func TestRecordedNodesOfAWarmStart(t *testing.T) {
	spec, m := ranThere(t, "n[7-8]", "n2 n[5]", "n[1,3]", "m[1-2]", "n[1-3]", "")
	l := live(t, spec, m.Open)
	require.Equal(t, []string{"6-7", "1,4", "0,2"}, []string{l.nodes[1], l.nodes[2], l.nodes[3]})
	require.Equal(t, []int64{4, 5}, l.res.Awkward.Examples[translate.RuleElsewhere], "names of no node, and three nodes for a job of two")
	require.EqualValues(t, 6, l.res.Awkward.Count[translate.RuleRanBefore])
	require.EqualValues(t, 2, l.res.Awkward.Count[translate.RuleNotResumed], "two nodes are left for three of them")

	spec, m = ranThere(t, "n[1-2]", "n[2-3]")
	l = live(t, spec, m.Open)
	require.Equal(t, []int64{2}, l.res.Awkward.Examples[translate.RuleElsewhere], "the first has one of its nodes")
	require.Equal(t, "2-3", l.nodes[2])
}

func TestRecordedNodesThatAreNotUnderstood(t *testing.T) {
	for list, found := range map[string]string{
		"n[1-": `"n[1-": the [ has no ]`, "n[1-2],n[a-b]": `"n[a-b]": the range "a-b" is not like 001-256`, "n[4-1]": `"n[4-1]": the range "4-1" runs backwards`,
	} {
		spec, m := ranThere(t, "n[3-4]", list)
		_, err := Run(context.Background(), spec, m.Open, Options{Sink: record.NewMemory()})
		var bad *traces.DataError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, []any{"middle", int64(2), "recorded_nodes", found}, []any{bad.File, bad.Row, bad.Column, bad.Found})
		require.True(t, strings.Contains(bad.Expected, "n[001-004,7],m1") && bad.Mend != "")
	}
}
