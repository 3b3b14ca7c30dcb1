package task

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/losers"
	"orrery/sim/metric"
	"orrery/sim/plan"
	"orrery/traces"
	"orrery/traces/transform"
)

// TestCellsAddUp: sums over cells are the numbers of the run, to the digit.
func TestCellsAddUp(t *testing.T) {
	r := NewRunner(nil)
	m, err := r.Add(busy(t, 600))
	require.NoError(t, err)
	for _, spec := range []plan.Spec{site(t, m, "1"), bound(t, m, plan.DefaultSpec())} {
		spec.WarmupJobs = plan.NoWarmup // the groups are of all jobs too
		results, err := Evaluate(context.Background(), r, []Task{{Spec: spec, Cells: true}}, 1)
		require.NoError(t, err)
		res := &results[0]
		var all losers.Cell
		sums := map[string]map[string]*losers.Cell{}
		for i := range res.Cells {
			c := &res.Cells[i]
			names := map[string]string{metric.BySize: c.Size, metric.ByRuntime: c.Runtime, metric.ByUser: c.User}
			if spec.Site != nil {
				names[metric.ByTenant], names[metric.ByVCluster] = c.Tenant, c.VCluster
			}
			for by, name := range names {
				if sums[by] == nil {
					sums[by] = map[string]*losers.Cell{}
				}
				if sums[by][name] == nil {
					sums[by][name] = &losers.Cell{}
				}
				addCell(c, sums[by][name])
			}
			addCell(c, &all)
		}
		mean, _ := res.Value("wait_mean", metric.All)
		require.Equal(t, mean, all.Waits.Over(all.Jobs))
		require.EqualValues(t, 600, all.Jobs)
		for by, groups := range sums {
			require.ElementsMatch(t, slices.Sorted(maps.Keys(res.Groups[by])), slices.Sorted(maps.Keys(groups)), by)
			for name, c := range groups {
				for number, want := range map[string]float64{
					"wait_mean": c.Waits.Over(c.Jobs - c.Unstarted), "jobs": float64(c.Jobs), "started": float64(c.Jobs - c.Unstarted), "work": float64(c.Work) / 3600,
				} {
					got, ok := res.Groups[by][name].Value(number)
					require.True(t, ok, "%s of %s %s", number, by, name)
					require.Equal(t, want, got, "%s of %s %s", number, by, name)
				}
			}
		}
	}
}

func addCell(c, into *losers.Cell) {
	into.Jobs += c.Jobs
	into.Unstarted += c.Unstarted
	into.Waits = into.Waits.Plus(c.Waits)
	into.Work += c.Work
}

// TestCellsByHand: three jobs of ten units on a cluster of ten, and one that the log
// withdraws. It runs from its start until then, or not at all: its cell is the same.
func TestCellsByHand(t *testing.T) {
	job := func(id int64, at, run model.Duration, user, partition string) traces.Job {
		return traces.Job{
			ID: id, Submit: model.Time(at), User: user, Partition: partition, Runtime: traces.Some(run),
			ProcsRequested: traces.Some(int32(10)), Walltime: traces.Some(2 * run),
		}
	}
	for _, c := range []struct {
		withdrawn model.Duration
		want      losers.Cell
	}{
		{2 * model.Hour, losers.Cell{Jobs: 1, Waits: losers.Sum{S: 3659, US: 500_000}, Work: 10 * 3538}},
		{model.Minute, losers.Cell{Jobs: 1, Unstarted: 1}},
	} {
		rows := traces.Tables{Jobs: []traces.Job{
			job(1, 0, model.Hour, "ann", "long"), job(2, model.Second, 1500*model.Millisecond, "ann", "short,long"),
			job(3, model.Second, model.Minute, "", ""), job(4, 2*model.Second, 7*model.Hour, "bob", "long"),
		}}
		rows.Jobs[3].Runtime, rows.Jobs[3].CancelledAt = traces.Opt[model.Duration]{}, traces.Some(model.Time(c.withdrawn))
		set, err := transform.FromTables("four jobs", traces.Meta{MaxProcs: 10, EpochKnown: true}, rows)
		require.NoError(t, err)
		r := NewRunner(nil)
		m, err := r.Add(set)
		require.NoError(t, err)
		results, err := Evaluate(context.Background(), r, []Task{{Spec: bound(t, m, plan.DefaultSpec()), Cells: true}}, 1)
		require.NoError(t, err)
		c.want.Runtime, c.want.Size, c.want.User, c.want.Partition = "0-10m", "5-16", "bob", "long"
		require.Equal(t, []losers.Cell{
			{Runtime: "0-10m", Size: "5-16", Jobs: 1, Waits: losers.Sum{S: 3600, US: 500_000}, Work: 600},
			{Runtime: "1h-6h", Size: "5-16", User: "ann", Partition: "long", Jobs: 1, Work: 36_000},
			{Runtime: "0-10m", Size: "5-16", User: "ann", Partition: "short,long", Jobs: 1, Waits: losers.Sum{S: 3599}, Work: 10},
			c.want,
		}, results[0].Cells)
	}
}

// TestCellsOfASite have the names of tenants and vClusters, and all users.
func TestCellsOfASite(t *testing.T) {
	rows := busyRows(300)
	for i := range rows.Jobs {
		rows.Jobs[i].User = fmt.Sprint("u", i%50)
		rows.Jobs[i].VCluster = [...]string{"left", "right"}[i%2]
	}
	set, err := transform.FromTables("site", traces.Meta{MaxProcs: 16, EpochKnown: true}, rows)
	require.NoError(t, err)
	r := NewRunner(nil)
	m, err := r.Add(set)
	require.NoError(t, err)
	c, err := profiles.ParseCluster("test", []byte(`agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}
groups: [{name: a, nodes: 8, fingerprint: x}, {name: b, nodes: 8, fingerprint: y}]
tenants: [{name: t0, fair_share: 0.3}, {name: t1, fair_share: 0.2}, {name: t2}]
vclusters: [{name: left, home: 8, profile: {cycle: 30s}}, {name: right, home: 8, profile: {cycle: 30s}}]
`))
	require.NoError(t, err)
	spec := plan.DefaultSpec()
	spec.Site = c.JSON()
	results, err := Evaluate(context.Background(), r, []Task{{Spec: bound(t, m, spec), Cells: true}}, 1)
	require.NoError(t, err)
	users := map[string]int64{}
	for i, c := range results[0].Cells {
		users[c.User] += c.Jobs
		var n int
		_, err := fmt.Sscanf(c.User, "u%d", &n)
		require.NoError(t, err)
		require.Equal(t, [...]string{"left", "right"}[n%2], c.VCluster)
		require.Contains(t, []string{"t0", "t1", "t2"}, c.Tenant)
		require.Empty(t, c.Partition)
		if i > 0 {
			require.Negative(t, results[0].Cells[i-1].Compare(&c))
		}
	}
	require.Len(t, users, 50, "more than the heaviest")
	for user, jobs := range users {
		require.EqualValues(t, 6, jobs, user)
	}
}

// TestCellsAreAskedFor: a task that does not ask has the id that it had before there were
// cells, and a result without them.
func TestCellsAreAskedFor(t *testing.T) {
	r := NewRunner(nil)
	m, err := r.Add(busy(t, 60))
	require.NoError(t, err)
	task := Task{Spec: bound(t, m, plan.DefaultSpec())}
	require.NotContains(t, string(task.JSON()), "cells")
	results, err := Evaluate(context.Background(), r, []Task{task, {Spec: task.Spec, Cells: true}}, 1)
	require.NoError(t, err)
	require.NotContains(t, string(results[0].json()), `"cells"`)
	require.NotEmpty(t, results[1].Cells)
	asked, err := Parse(Task{Spec: task.Spec, Cells: true}.JSON())
	require.NoError(t, err)
	require.True(t, asked.Cells)
	text, err := json.Marshal(results[1].Cells[0])
	require.NoError(t, err)
	require.Contains(t, string(text), `"runtime":`)
	results[1].Cells, results[1].Task = nil, results[0].Task
	require.Equal(t, string(results[0].json()), string(results[1].json()), "nothing else changes")
}
