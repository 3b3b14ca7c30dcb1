package neon

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// An agent does not wake for the end of a refusal while the monitor is being asked anyway.
func TestWakesForRefusals(t *testing.T) {
	a := ready(t, 4)
	a.Observe(start, load(1))
	refuse(t, a, start, a.Plan(start), Monitor, autoscale.Rejected, 0)
	a.Observe(start, load(6))
	for range 3 {
		accept(a, start, a.Plan(start))
	}
	require.Equal(t, cu(6), a.Using())
	a.Observe(start, load(1))
	require.Equal(t, cu(4), a.Goal(start))
	plan := *a.Plan(start)
	plan.Proposals = slices.Clone(plan.Proposals)
	require.Equal(t, asked{Monitor: 5}, proposed(t, &plan))
	require.Equal(t, start.Add(15*model.Second), plan.Wake)
	require.Equal(t, start.Add(15*model.Second), a.Plan(start).Wake, "in flight")
	refuse(t, a, start, &plan, Monitor, autoscale.Errored, 0)
	require.Equal(t, start.Add(3*model.Second), a.Plan(start).Wake, "the failure ends first")
}

// A step down of more than one unit says that the rest follows; one of a unit does not.
func TestGuardOfOneUnit(t *testing.T) {
	for units, want := range map[float64]autoscale.Guard{2: GuardUnit, 3: autoscale.GuardNone} {
		a := ready(t, 4)
		a.Observe(start, load(units))
		require.Equal(t, want, guard(t, a.Plan(start), Monitor))
	}
}

// Windows of no whole minute, and those after a gap, are no part of a series.
func TestWindowsOfTheWorkingSet(t *testing.T) {
	a := agent(t, 1)
	for _, w := range []model.Duration{-model.Minute, 0, model.Second, 2 * model.Minute, model.Minute, model.Minute, 3 * model.Minute, 2 * model.Minute} {
		a.Observe(start, []autoscale.Fact{{Kind: autoscale.FactSample, Metric: WorkingSet, Window: w, Value: float64(w)}})
	}
	require.Equal(t, []float64{float64(model.Minute), float64(2 * model.Minute)}, a.metrics.pages)
	a.Observe(start, []autoscale.Fact{{Kind: autoscale.FactSample, Metric: WorkingSet, Missing: true}})
	require.Empty(t, a.metrics.pages)
}

// A wish is one only when the monitor is there and wants something.
func TestNoWish(t *testing.T) {
	for _, f := range []autoscale.Fact{{Metric: MoreCPU}, {Metric: MoreCPU, N: 1, Missing: true}} {
		a := ready(t, 4)
		f.Kind = autoscale.FactActive
		a.Observe(start, []autoscale.Fact{f})
		require.Equal(t, wish{}, a.wished)
	}
}

// A wish is for the resources that it names, together at one instant and anew at the next.
func TestWishesByResource(t *testing.T) {
	c := Defaults()
	c.Min, c.Max = cu(1), cu(8)
	want := func(m autoscale.Metric) autoscale.Fact {
		return autoscale.Fact{Kind: autoscale.FactActive, Metric: m, N: 1}
	}
	for _, x := range []struct {
		first, second []autoscale.Fact
		units         int64
	}{
		{[]autoscale.Fact{want(MoreCPU)}, nil, 5}, {[]autoscale.Fact{want(MoreMemory)}, nil, 3}, {[]autoscale.Fact{want(MoreMemory), want(MoreCPU)}, nil, 5},
		{[]autoscale.Fact{want(MoreCPU), want(MoreMemory)}, nil, 5}, {[]autoscale.Fact{want(MoreCPU)}, []autoscale.Fact{want(MoreMemory)}, 3},
	} {
		a, err := NewAgent(c, autoscale.Resources{CPU: 1000, Memory: 2 << 30})
		require.NoError(t, err)
		a.Observe(start, append(load(1), connected))
		a.Observe(start, x.first)
		a.Observe(start+1, x.second)
		require.Equal(t, cu(x.units), a.Goal(start+1), "%+v", x)
	}
}

// A configuration without cache metrics forgets the working set, another keeps it.
func TestUpdatesKeepTheWorkingSet(t *testing.T) {
	a := agent(t, 1)
	for _, w := range []model.Duration{model.Minute, 2 * model.Minute} {
		a.Observe(start, []autoscale.Fact{{Kind: autoscale.FactSample, Metric: WorkingSet, Window: w, Value: 1}})
	}
	c := a.cfg
	c.CacheMetrics = true
	require.NoError(t, a.Update(c))
	require.Len(t, a.metrics.pages, 2)
	c.CacheMetrics = false
	require.NoError(t, a.Update(c))
	require.Empty(t, a.metrics.pages)
}

// Where load and memory call for as much, the load is what is told.
func TestRuleOfATie(t *testing.T) {
	a := ready(t, 4)
	a.Observe(start, load(4))
	a.Observe(start, []autoscale.Fact{{Kind: autoscale.FactSample, Metric: MemoryUsage, Value: 3 << 30}})
	require.Equal(t, cu(4), a.Goal(start))
	require.Equal(t, RuleLoad, a.Plan(start).Decisions[0].Rule)
}

// The least that can be permitted is one of each resource, and without either there is none.
func TestLeastPermit(t *testing.T) {
	one := autoscale.Resources{CPU: 1, Memory: 1}
	for _, c := range []struct {
		using, granted autoscale.Resources
		want           error
	}{{one, one, nil}, {autoscale.Resources{CPU: 1}, autoscale.Resources{CPU: 1}, errPermit}, {autoscale.Resources{Memory: 1}, autoscale.Resources{Memory: 1}, errPermit}} {
		cfg := Defaults()
		cfg.Unit, cfg.Max = one, one
		a, err := NewAgent(cfg, c.using)
		require.NoError(t, err)
		a.Start(start, Scheduler, one)
		require.Equal(t, c.want, a.Answer(start, Scheduler, autoscale.Accepted, c.granted), "%+v", c)
	}
}

// A report tells what the machine is about to have, should its resize succeed.
func TestReportWhileResizing(t *testing.T) {
	a := ready(t, 4)
	a.Observe(start, load(6))
	accept(a, start, a.Plan(start))
	require.Equal(t, asked{VM: 6}, proposed(t, a.Plan(start)))
	plan := a.Plan(start.Add(15 * model.Second))
	require.Equal(t, asked{Scheduler: 6}, proposed(t, plan))
	require.Equal(t, autoscale.GuardInFlight, guard(t, plan, VM))
}

// A machine that may not shrink yet waits for the monitor's approval, one that may not grow
// for a permit.
func TestGuardsOfAResize(t *testing.T) {
	for units, want := range map[float64]autoscale.Guard{1: GuardApproval, 6: GuardPermit} {
		a := ready(t, 4)
		a.Observe(start, load(units))
		plan := a.Plan(start)
		require.Equal(t, want, guard(t, plan, VM))
		require.NotContains(t, proposed(t, plan), VM)
	}
}

// A step down does not forget that the monitor could not be told of one up a moment ago.
func TestStepDownKeepsTheFailureUp(t *testing.T) {
	a := ready(t, 4)
	a.Observe(start, load(6))
	accept(a, start, a.Plan(start))
	accept(a, start, a.Plan(start))
	refuse(t, a, start, a.Plan(start), Monitor, autoscale.Errored, 0)
	now := start.Add(model.Second)
	a.Observe(now, load(3))
	plan := a.Plan(now)
	require.EqualValues(t, 3, proposed(t, plan)[Monitor])
	refuse(t, a, now, plan, Monitor, autoscale.Accepted, 0)
	now = start.Add(2 * model.Second)
	a.Observe(now, load(6))
	require.Equal(t, GuardFailed, guard(t, a.Plan(now), Monitor))
	require.EqualValues(t, 6, proposed(t, a.Plan(start.Add(3*model.Second)))[Monitor], "three seconds after it failed")
}

// One unit of load is one unit, not the minimum of none.
func TestOneUnit(t *testing.T) {
	for units, want := range map[float64]int64{0: 0, 1: 1, 2: 2} {
		a := agent(t, 1, func(c *Config) { c.Min = cu(0) })
		a.Observe(start, load(units))
		require.Equal(t, cu(want), a.Goal(start))
	}
}

// A wish for one resource does not go by what there is of the other.
func TestWishGoesByItsResource(t *testing.T) {
	for _, c := range []struct {
		metric autoscale.Metric
		using  autoscale.Resources
		want   int64
	}{{MoreCPU, autoscale.Resources{CPU: 500, Memory: 5 << 30}, 3}, {MoreMemory, autoscale.Resources{CPU: 1250, Memory: 2 << 30}, 3}} {
		cfg := Defaults()
		cfg.Min, cfg.Max = cu(1), cu(8)
		a, err := NewAgent(cfg, c.using)
		require.NoError(t, err)
		a.Observe(start, append(load(1), connected, autoscale.Fact{Kind: autoscale.FactActive, Metric: c.metric, N: 1}))
		require.Equal(t, cu(c.want), a.Goal(start))
	}
}

// An agent that begins at the first instant asks at once: nothing has been asked for, and
// nothing has failed, at that instant.
func TestFirstInstant(t *testing.T) {
	a := agent(t, 4)
	a.Observe(0, append(load(3), connected))
	require.Equal(t, asked{Scheduler: 4, Monitor: 3}, proposed(t, a.Plan(0)))
}

// What tells of others than the monitor neither connects nor disconnects it.
func TestOnlyTheMonitorConnects(t *testing.T) {
	a := agent(t, 4)
	a.Observe(start, append(load(3), autoscale.Fact{Kind: autoscale.FactEntity, Entity: VM, State: autoscale.Ready}))
	require.Equal(t, asked{Scheduler: 4}, proposed(t, a.Plan(start)))
	a.Observe(start, []autoscale.Fact{connected, {Kind: autoscale.FactEntity, Entity: VM, State: autoscale.Stopped}})
	require.Equal(t, asked{Monitor: 3}, proposed(t, a.Plan(start)))
}

// An answer to nothing changes nothing.
func TestAnswerToNothing(t *testing.T) {
	a := ready(t, 4)
	before := *a
	for e := range actuators {
		for _, o := range []autoscale.Outcome{autoscale.Accepted, autoscale.Rejected, autoscale.Errored} {
			require.NoError(t, a.Answer(start, e, o, cu(2)))
		}
	}
	require.Equal(t, before, *a)
}

// Samples of the system count together or not at all.
func TestIncompleteSystemMetrics(t *testing.T) {
	a := ready(t, 4)
	a.Observe(start, append(load(6), autoscale.Fact{Kind: autoscale.FactSample, Metric: MemoryUsage, Missing: true}))
	require.Equal(t, cu(4), a.Goal(start))

	a = agent(t, 1, func(c *Config) { c.CacheMetrics = true })
	for i := range 9 {
		a.Observe(start, []autoscale.Fact{{Kind: autoscale.FactSample, Metric: WorkingSet, Window: model.Duration(i+1) * model.Minute, Value: 3 << 30 / 8192}})
	}
	a.Observe(start, []autoscale.Fact{{Kind: autoscale.FactSample, Metric: MemoryUsage, Value: 3 << 30}, {Kind: autoscale.FactSample, Metric: MemoryCache, Value: 3 << 30}})
	require.Equal(t, cu(4), a.Goal(start), "by the working set alone")
	require.Equal(t, RuleCache, a.Plan(start).Decisions[0].Rule)
}

// With too few windows of the working set memory in use and cached is no measure either.
func TestTooFewWindows(t *testing.T) {
	a := agent(t, 1, func(c *Config) { c.CacheMetrics, c.TotalTarget = true, 0.5 })
	a.Observe(start, append(load(1), autoscale.Fact{Kind: autoscale.FactSample, Metric: MemoryUsage, Value: 3 << 30},
		autoscale.Fact{Kind: autoscale.FactSample, Metric: WorkingSet, Window: model.Minute, Value: 1}))
	require.Equal(t, cu(4), a.Goal(start))
	require.Equal(t, RuleMemory, a.Plan(start).Decisions[0].Rule)
}

// A wish for no more than the metrics call for is not what determines the goal, and its end
// wakes nothing.
func TestWishThatIsMetAnyway(t *testing.T) {
	for units, want := range map[float64]autoscale.Rule{4: RuleWish, 5: RuleLoad, 6: RuleLoad} {
		a := ready(t, 4)
		a.Observe(start, append(load(units), autoscale.Fact{Kind: autoscale.FactActive, Metric: MoreCPU, N: 1}))
		for range 4 {
			accept(a, start, a.Plan(start))
		}
		plan := a.Plan(start)
		require.Equal(t, want, plan.Decisions[0].Rule)
		require.Equal(t, cu(max(5, int64(units))), a.Using())
		require.Equal(t, start.Add(map[autoscale.Rule]model.Duration{RuleWish: 10 * model.Second, RuleLoad: 15 * model.Second}[want]), plan.Wake)
	}
}

// A refusal to give back what the metrics call for again is not waited for.
func TestRefusalThatNoLongerMatters(t *testing.T) {
	for units, want := range map[float64]model.Duration{3: 5 * model.Second, 4: 15 * model.Second, 5: 15 * model.Second} {
		a := ready(t, 4)
		a.Observe(start, load(1))
		refuse(t, a, start, a.Plan(start), Monitor, autoscale.Rejected, 0)
		a.Observe(start, load(units))
		for range 4 {
			accept(a, start, a.Plan(start))
		}
		require.Equal(t, start.Add(want), a.Plan(start).Wake, "%v", units)
	}
}

// Where the monitor refuses to give back and wishes for more, the larger of both counts, and
// of two that come to the same the wish.
func TestWishBesideARefusal(t *testing.T) {
	for cpu, want := range map[int64]int64{500: 4, 750: 4, 1000: 5} {
		c := Defaults()
		c.Min, c.Max = cu(1), cu(8)
		a, err := NewAgent(c, autoscale.Resources{CPU: cpu, Memory: 4 << 30})
		require.NoError(t, err)
		a.Observe(start, append(load(1), connected))
		refuse(t, a, start, a.Plan(start), Monitor, autoscale.Rejected, 0)
		a.Observe(start, []autoscale.Fact{{Kind: autoscale.FactActive, Metric: MoreCPU, N: 1}})
		require.Equal(t, cu(want), a.Goal(start))
		require.Equal(t, cpu < 750, a.Plan(start).Decisions[0].Rule == RuleRefused)
	}
}

// A resize to all that is wanted is trimmed by nothing.
func TestWholeResize(t *testing.T) {
	a := ready(t, 4)
	a.Observe(start, load(6))
	accept(a, start, a.Plan(start))
	plan := a.Plan(start)
	require.Equal(t, asked{VM: 6}, proposed(t, plan))
	require.Empty(t, guard(t, plan, VM))
}

// While the scheduler is being told of less a machine does not grow, though it is permitted.
func TestNoResizeBeyondAReport(t *testing.T) {
	a := ready(t, 4)
	a.Observe(start, load(3))
	accept(a, start, a.Plan(start))
	accept(a, start, a.Plan(start))
	require.Equal(t, asked{Scheduler: 3}, proposed(t, a.Plan(start)))
	a.Observe(start, load(4))
	plan := a.Plan(start)
	require.NotContains(t, proposed(t, plan), VM)
	require.Equal(t, GuardOther, guard(t, plan, VM))
}

// A step up does not forget that one down failed a moment ago.
func TestStepUpKeepsTheFailureDown(t *testing.T) {
	a := ready(t, 4)
	a.Observe(start, load(3))
	refuse(t, a, start, a.Plan(start), Monitor, autoscale.Errored, 0)
	now := start.Add(model.Second)
	a.Observe(now, load(5))
	for range 3 {
		accept(a, now, a.Plan(now))
	}
	require.Equal(t, cu(5), a.approved.Resources)
	a.Observe(now, load(3))
	require.Equal(t, GuardFailed, guard(t, a.Plan(now), Monitor))
	require.EqualValues(t, 4, proposed(t, a.Plan(start.Add(3*model.Second)))[Monitor], "three seconds after it failed")
}

// The growth of a working set is a scan only when it is more than so many times what it was;
// without one the series counts whole.
func TestEstimate(t *testing.T) {
	for _, c := range []struct {
		series []float64
		want   float64
	}{{[]float64{1, 2, 5}, 5}, {[]float64{1, 2, 5.5}, 2}, {[]float64{1, 1, 1}, 1}, {[]float64{1, 2, 4, 8, 20}, 20}, {[]float64{1, 2, 4, 8, 21}, 8}} {
		require.Equal(t, c.want, Estimate(c.series, 1, 2, 3), "%v", c.series)
	}
}

// The largest value that any slope leads to, or that is there.
func TestProject(t *testing.T) {
	for _, c := range []struct {
		series []float64
		want   float64
	}{{[]float64{5}, 5}, {[]float64{5, 1, 1}, 5}, {[]float64{0, 10, 10}, 15}, {[]float64{1, 1, 3, 2}, 4}} {
		require.Equal(t, c.want, Project(c.series, 0.5), "%v", c.series)
	}
}
