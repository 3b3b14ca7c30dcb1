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

// Both resources must fit, and a node that is exactly full is not over its total.
func TestFits(t *testing.T) {
	l := Ledger{Total: 5}
	s := Share{Reserved: 5}
	require.False(t, l.Enter(&s))
	require.True(t, l.Enter(&Share{Reserved: 1}))
	cfg := PluginDefaults()
	cfg.RandomScore = true
	p := small(t, cfg, 10)
	require.False(t, p.Filter(0, autoscale.Resources{CPU: 10001}))
	require.False(t, p.Filter(0, autoscale.Resources{Memory: 11}))
	require.Zero(t, p.Score(0, res(10)), "full, and nothing to draw")
	c := cfg.Scoring
	require.Equal(t, []float64{0, 0, 0, 1}, []float64{c.Score(11, 10, 10), c.Score(0, 0, 10), c.Score(-1, 0, 10), c.Score(8, 10, 10)})
}

// What is checked of a request, each by itself.
func TestChecksOfRequests(t *testing.T) {
	p, err := NewPlugin(PluginDefaults())
	require.NoError(t, err)
	p.AddNode(autoscale.Resources{CPU: 8000, Memory: 32 << 30})
	require.NoError(t, p.Reserve(0, 0, Pod{Use: cu(4), Min: cu(1), Max: cu(8), VM: true, Always: true}, false))
	for _, c := range []struct {
		protocol int
		unit     autoscale.Resources
		want     error
	}{
		{3, cu(1), ErrUnit}, {3, cu(4), nil}, {4, cu(1), nil}, {5, cu(1), nil}, {5, autoscale.Resources{CPU: 250}, ErrUnit}, {5, autoscale.Resources{Memory: 1 << 30}, ErrUnit},
		{5, autoscale.Resources{CPU: 250, Memory: 1 << 29}, ErrUnit},
	} {
		_, err := p.Request(0, 0, AgentRequest{Protocol: c.protocol, Unit: c.unit, Want: cu(4)})
		require.ErrorIs(t, err, c.want, "%+v", c)
	}
	a, err := p.Request(0, 0, AgentRequest{Protocol: 5, Unit: cu(1), Want: cu(4), Measured: true})
	require.NoError(t, err)
	require.True(t, a.Migrate)
	for _, want := range []autoscale.Resources{{CPU: 1000, Memory: 3 << 30}, {CPU: 750, Memory: 4 << 30}} {
		_, err = p.Request(0, 0, AgentRequest{Protocol: 5, Unit: cu(1), Want: want})
		require.ErrorIs(t, err, ErrLeaving)
	}
}

// New limits change nothing that is reserved for what leaves, is not scaled, or no machine.
func TestLimitsOfOthers(t *testing.T) {
	p := small(t, PluginDefaults(), 100)
	fixed, always := vm(3, 6), vm(3, 6)
	fixed.Fixed, always.Always = true, true
	require.NoError(t, p.Reserve(0, 0, fixed, false))
	require.NoError(t, p.Reserve(1, 0, Pod{Use: res(3)}, false))
	require.NoError(t, p.Reserve(2, 0, always, false))
	for range 2 {
		q := wanting(3, nil)
		q.Measured = true
		_, err := p.Request(0, 2, q)
		require.NoError(t, err)
	}
	for e := range autoscale.Entity(3) {
		p.Limits(e, res(1), res(9))
		cpu, _ := p.Node(0)
		require.Equal(t, []int64{9000, 0}, []int64{cpu.Reserved, cpu.Buffer}, "%d", e)
		require.Equal(t, res(9).CPU, p.pods[e].cpu.Max)
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

// A request for as many units of each resource passes the check of units, and a permit for
// less than was asked for is counted.
func TestPartialPermitsAreCounted(t *testing.T) {
	cfg := PluginDefaults()
	cfg.CheckUnit, cfg.Migrate = true, false
	p := small(t, cfg, 10)
	require.NoError(t, p.Reserve(0, 0, vm(3, 20), false))
	a, err := p.Request(0, 0, wanting(4, nil))
	require.NoError(t, err)
	require.Equal(t, res(4), a.Permit)
	require.Zero(t, p.Counters().Partial)
	a, err = p.Request(0, 0, wanting(20, &a.Permit))
	require.NoError(t, err)
	require.Equal(t, res(10), a.Permit)
	require.EqualValues(t, 1, p.Counters().Partial)
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
