package tune

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/sim/plan"
	"orrery/sim/search"
	"orrery/sim/task"
	"orrery/traces"
	"orrery/traces/transform"
)

// fourParts is a site of four vClusters, each of which has its nodes for itself. A
// tenth of the sensitive work is long and takes three of its four nodes.
const fourParts = `
agents: {kill_grace: 0s, wipe: 0s, boot_delay: 0s}
groups:
  - {name: a, nodes: 8, fingerprint: x}
  - {name: b, nodes: 4, fingerprint: x}
  - {name: c, nodes: 2, fingerprint: x}
  - {name: d, nodes: 4, fingerprint: y}
tenants: [{name: red, fair_share: 0.5}, {name: blue, fair_share: 0.3}, {name: clinic, fair_share: 0.2}]
classes: [{class: 10, target_wait: 36h}]
vclusters:
  - {name: hpc, home: a, lend: false, borrow: false, profile: {order: fcfs}}
  - {name: ml, home: b, lend: false, borrow: false, profile: {order: fcfs}}
  - {name: service, home: c, lend: false, borrow: false, profile: {order: fcfs}}
  - {name: sensitive, home: d, lend: false, borrow: false, profile: {order: fcfs}}
`

func fourWorld(t *testing.T, n int, load float64) world {
	t.Helper()
	parts := []struct {
		name   string
		nodes  int64
		part   float64 // of the jobs
		class  int32
		tenant string
	}{{"hpc", 8, 0.35, 5, "red"}, {"ml", 4, 0.25, 4, "blue"}, {"service", 2, 0.1, 6, "blue"}, {"sensitive", 4, 0.3, 10, "clinic"}}
	var jobs []traces.Job
	r := draw.New(9, draw.StreamOf("four parts"), 0, 0)
	now := 0.0
	for i := range n {
		u, k := r.Float64(), 0
		for u > parts[k].part && k < len(parts)-1 {
			u, k = u-parts[k].part, k+1
		}
		p := parts[k]
		run, size := 300+math.Floor(r.Float64()*900), 1+r.IntN(max(p.nodes/4, 1))
		if r.Bool(0.1) {
			run, size = 7200+math.Floor(r.Float64()*10800), max(1, p.nodes*3/4)
		}
		jobs = append(jobs, traces.Job{
			ID: int64(i + 1), Submit: model.Time(now) * model.Time(model.Second), Runtime: traces.Some(model.Duration(run) * model.Second),
			Walltime: traces.Some(model.Duration(run*(1+r.Float64()/2)) * model.Second), NodesMin: traces.Some(int32(size)), ProcsRequested: traces.Some(int32(size)),
			Tenant: p.tenant, VCluster: p.name, Class: traces.Some(p.class), Kind: "bounded",
		})
		now += math.Floor(-math.Log(r.Open()) * 1500 / load)
	}
	set, err := transform.FromTables("four parts", traces.Meta{}, traces.Tables{Jobs: jobs})
	require.NoError(t, err)
	w := world{set: set, runner: task.NewRunner(nil)}
	m, err := w.runner.Add(set)
	require.NoError(t, err)
	w.cluster, err = profiles.ParseCluster("four", []byte(fourParts))
	require.NoError(t, err)
	w.spec = plan.DefaultSpec()
	w.spec.Site = w.cluster.JSON()
	src, err := m.Open()
	require.NoError(t, err)
	w.spec, err = w.spec.Bind(src.(plan.Tables))
	require.NoError(t, err)
	return w
}

// once computes each task once, for all callers.
func (w world) once() func(context.Context, []task.Task) ([]task.Result, error) {
	known := map[string]task.Result{}
	return func(ctx context.Context, tasks []task.Task) ([]task.Result, error) {
		var fresh []task.Task
		for i := range tasks {
			if _, ok := known[tasks[i].ID()]; !ok {
				fresh = append(fresh, tasks[i])
			}
		}
		results, err := w.real(2)(ctx, fresh)
		if err != nil {
			return nil, err
		}
		for i := range results {
			known[results[i].Task] = results[i]
		}
		out := make([]task.Result, len(tasks))
		for i := range tasks {
			out[i] = known[tasks[i].ID()]
		}
		return out, nil
	}
}

// What is promised to sensitive work, or a bound on its waits, changes what is
// recommended to a site whose mean slowdown is best under an order by size: that one
// lets long sensitive jobs wait.
func TestAConstraintOfAGroupBinds(t *testing.T) {
	w := fourWorld(t, 8000, 3.4)
	o := small()
	o.Trials, o.Trajectories, o.Replicas, o.Margin = 1, 0, 4, 0.02
	o.Evaluate = w.once()
	tuned := func(constraints ...search.Constraint) *Report {
		o.Constraints = constraints
		return w.tune(t, o)
	}
	short := []string{"saf", "sjf", "dirlab-f4"} // orders that prefer what is short or small
	free := tuned([]search.Constraint{}...)
	require.Equal(t, Change, free.Verdict)
	require.Contains(t, short, free.About)

	promise := search.Constraint{Metric: "within_target of class 10", Relation: search.AtLeast, Value: 1}
	kept := tuned(promise)
	require.Equal(t, Change, kept.Verdict, "%s", markdown(t, kept))
	require.NotContains(t, short, kept.About)
	out := kept.Tried[slices.IndexFunc(kept.Tried, func(c Tried) bool { return c.Name == free.About })]
	require.Contains(t, out.Out, "within_target of class 10 is 9")
	require.Contains(t, out.Out, "and >= 100 % was to hold (beyond it by")
	require.EqualValues(t, 1, kept.Bounds[0].Now)
	require.EqualValues(t, 1, kept.Bounds[0].Then)
	require.True(t, kept.Bounds[0].Kept)
	page := markdown(t, kept)
	require.Contains(t, page, "| "+kept.About+" | within_target of class 10 >= 100 % | 100 % | 100 % | 100 % |")
	require.Contains(t, page, "Goal: minimise bounded_slowdown_mean; within_target of class 10 >= 100 %.")

	other := tuned(search.Constraint{Metric: "wait_max of vcluster sensitive", Relation: search.AtMost, Value: 45 * 3600})
	require.Equal(t, Change, other.Verdict, "%s", markdown(t, other))
	require.NotContains(t, short, other.About, "these let it wait longer than now")

	// A bound that no schedule reaches changes nothing.
	loose := tuned(search.Constraint{Metric: "wait_p95 of tenant clinic", Relation: search.AtMost, Value: 30 * 86400}, search.Constraint{Metric: "share of tenant clinic", Relation: search.AtLeast, Value: 0.01})
	require.Equal(t, free.About, loose.About)
	for _, b := range loose.Bounds {
		require.True(t, b.Kept)
		require.Negative(t, float64(b.Beyond))
	}

	o.Objectives = []search.Objective{{Metric: "bounded_slowdown_mean of vcluster hpc", Direction: search.Minimise}}
	one := tuned(promise)
	require.Equal(t, "bounded_slowdown_mean of vcluster hpc", one.Finalists[0].Lines[0].Metric)
	require.LessOrEqual(t, one.Counted(), free.Counted())
}

func TestGroupsThatThereAreNot(t *testing.T) {
	w := fourWorld(t, 2000, 3)
	for name, says := range map[string]string{
		"wait_p95 of vcluster sensible":   `found the vcluster "sensible", which the site does not have (did you mean sensitive?): want one of hpc, ml, service, sensitive`,
		"wait_p95 of tenant physics":      "want one of red, blue, clinic",
		"within_target of class 5":        "promises nothing to class 5: add to it classes: [{class: 5, target_wait: 15m}]",
		"wait_p95 of class 2":             "has no value under the current policy",
		"wait_p42 of class 10":            `found "wait_p42", which is no number of a class`,
		"wait_p95 of vcluster":            "want METRIC, or METRIC of KIND NAME",
		"bounded_slowdown_mean of size 3": `found the size "3"`,
	} {
		o := small()
		o.Windows, o.Replicas = 20, 2
		o.Evaluate = w.real(2)
		o.Constraints = []search.Constraint{{Metric: name, Relation: search.AtMost, Value: 1}}
		_, err := Run(context.Background(), w.problem(), o)
		var usage *UsageError
		require.ErrorAs(t, err, &usage, name)
		require.ErrorContains(t, err, says, name)
	}
	o := small()
	o.Evaluate = w.real(2)
	o.Objectives = []search.Objective{{Metric: "wait_mean of tenant red", Direction: search.Minimise}}
	_, err := Run(context.Background(), w.plain(), o)
	require.ErrorContains(t, err, "a plain cluster knows jobs by size, run time and user alone")
}

// TestNoGroupWorse: a bound on the mean wait of every group with 1 % of the work.
func TestNoGroupWorse(t *testing.T) {
	w := newWorld(t, 5000, 0.75, halves)
	o := small()
	o.Replicas, o.Loads = 2, nil
	o.Evaluate = w.once()
	free, err := Run(context.Background(), w.plain(), o)
	require.NoError(t, err)
	require.Equal(t, Change, free.Verdict)
	require.NotEmpty(t, free.Losers)
	worst := free.Tried[slices.IndexFunc(free.Tried, func(c Tried) bool { return c.Name == free.About })]
	require.Greater(t, float64(worst.Worse), 0.05)
	require.NotEmpty(t, worst.WorstGroup)
	o.NoGroupWorse = 0.05
	bound, err := Run(context.Background(), w.plain(), o)
	require.NoError(t, err)
	require.NotEqual(t, free.About, bound.About)
	for _, c := range bound.Tried {
		if c.Worse > 0.05 {
			require.Contains(t, c.Out, "longer, and no group may wait more than 5.0 % longer", c.Name)
		} else if c.Role != Current {
			require.NotContains(t, c.Out, "no group", c.Name)
		}
	}
	require.Contains(t, markdown(t, bound), "No group with 1 % of the work may wait more than 5.0 % longer.")
}
