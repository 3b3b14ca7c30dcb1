package neon

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/autoscale"
	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

const start = model.Time(model.Day)

// cu is an amount of compute units of a quarter of a CPU and 1 GiB.
func cu(n int64) autoscale.Resources { return autoscale.Resources{CPU: 250 * n, Memory: n << 30} }

// agent has from 1 to 8 compute units.
func agent(t require.TestingT, using int64, change ...func(c *Config)) *Agent {
	c := Defaults()
	c.Min, c.Max = cu(1), cu(8)
	for _, f := range change {
		f(&c)
	}
	a, err := NewAgent(c, cu(using))
	require.NoError(t, err)
	return a
}

// load are samples under which an agent wants a number of compute units.
func load(units float64) []autoscale.Fact {
	return []autoscale.Fact{
		{Kind: autoscale.FactSample, Metric: Load, Value: units * 0.25 * 0.9}, {Kind: autoscale.FactSample, Metric: MemoryUsage}, {Kind: autoscale.FactSample, Metric: MemoryCache},
	}
}

var connected = autoscale.Fact{Kind: autoscale.FactEntity, Entity: Monitor, State: autoscale.Ready}

// proposed are the entities and amounts of the proposals of a plan.
func proposed(t require.TestingT, plan *autoscale.Plan) map[autoscale.Entity]int64 {
	m := map[autoscale.Entity]int64{}
	for _, p := range plan.Proposals {
		require.Equal(t, autoscale.SetResources, p.Verb)
		require.Equal(t, cu(p.Resources.Memory>>30), p.Resources)
		m[p.Entity] = p.Resources.Memory >> 30
	}
	return m
}

// guard is what the decision about an entity was stopped or trimmed by.
func guard(t require.TestingT, plan *autoscale.Plan, e autoscale.Entity) autoscale.Guard {
	for _, d := range plan.Decisions {
		if d.Entity == e {
			return d.Guard
		}
	}
	require.Fail(t, "no decision", "%+v", plan.Decisions)
	return ""
}

// accept says that all proposals of a plan were carried out.
func accept(a *Agent, now model.Time, plan *autoscale.Plan) {
	var facts []autoscale.Fact
	for _, p := range plan.Proposals {
		facts = append(facts, autoscale.Fact{Kind: autoscale.FactResult, Seq: p.Seq, Outcome: autoscale.Accepted, Resources: p.Resources})
	}
	a.Observe(now, facts)
}

type asked = map[autoscale.Entity]int64

// Up: permit, resize, tell. Down, a unit at a time: ask, resize, report.
func TestOrderOfSteps(t *testing.T) {
	a := agent(t, 2)
	a.Observe(start, append(load(4), connected))
	for i, want := range []asked{{Scheduler: 2}, {Scheduler: 4}, {VM: 4}, {Monitor: 4}, {}} {
		plan := a.Plan(start)
		require.Equal(t, want, proposed(t, plan))
		for _, p := range plan.Proposals {
			require.EqualValues(t, i+1, p.Seq, "they are numbered from 1")
		}
		accept(a, start, plan)
	}
	require.Equal(t, cu(4), a.Using())
	a.Observe(start, load(2))
	for _, want := range []asked{{Monitor: 3}, {Monitor: 2, VM: 3}, {Scheduler: 3, VM: 2}, {Scheduler: 2}, {}} {
		plan := a.Plan(start)
		require.Equal(t, want, proposed(t, plan))
		accept(a, start, plan)
	}
	require.Equal(t, cu(2), a.Using())
	require.Equal(t, start.Add(15*model.Second), a.Plan(start).Wake)
	require.Empty(t, a.Plan(start.Add(15*model.Second)-1).Proposals)
	require.Equal(t, asked{Scheduler: 2}, proposed(t, a.Plan(start.Add(15*model.Second))), "a report at every tick")
}

// ready is an agent with a permit and a monitor for all that it has.
func ready(t require.TestingT, using int64, change ...func(c *Config)) *Agent {
	a := agent(t, using, change...)
	a.Observe(start, append(load(float64(using)), connected))
	accept(a, start, a.Plan(start))
	require.Empty(t, a.Plan(start).Proposals)
	return a
}

// refuse answers the proposal about an entity with an outcome, or with a permit.
func refuse(t require.TestingT, a *Agent, now model.Time, plan *autoscale.Plan, e autoscale.Entity, outcome autoscale.Outcome, granted int64) {
	for _, p := range plan.Proposals {
		if p.Entity == e {
			a.Observe(now, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: p.Seq, Outcome: outcome, Resources: cu(granted)}})
			return
		}
	}
	require.Fail(t, "nothing proposed", "%+v", plan)
}

// A part of what was asked for is used, and the rest asked for again after the retry.
func TestPartialPermit(t *testing.T) {
	a := ready(t, 2)
	a.Observe(start, load(6))
	refuse(t, a, start, a.Plan(start), Scheduler, autoscale.Accepted, 4)
	plan := a.Plan(start)
	require.Equal(t, asked{VM: 4}, proposed(t, plan))
	require.Equal(t, []autoscale.Guard{GuardDenied, GuardPermit}, []autoscale.Guard{guard(t, plan, Scheduler), guard(t, plan, VM)})
	require.Equal(t, start.Add(2*model.Second), plan.Wake)
	accept(a, start, plan)
	plan = a.Plan(start.Add(2*model.Second) - 1)
	require.Equal(t, asked{Monitor: 4}, proposed(t, plan))
	require.Equal(t, []any{GuardDenied, start.Add(2 * model.Second)}, []any{guard(t, plan, Scheduler), plan.Wake}, "the last moment of it")
	require.Equal(t, []any{Scheduler, RuleReport}, []any{plan.Decisions[1].Entity, plan.Decisions[1].Rule})
	require.Equal(t, asked{Scheduler: 6}, proposed(t, a.Plan(start.Add(2*model.Second))), "at exactly the retry")
}

// Without a scheduler the last permit stays the bound, below which it goes on scaling.
func TestWithoutScheduler(t *testing.T) {
	a := ready(t, 4)
	now := start
	fail := func(n int64) *autoscale.Plan {
		a.Observe(now, load(float64(n)))
		var plan *autoscale.Plan
		for range 20 {
			plan = a.Plan(now)
			var facts []autoscale.Fact
			for _, p := range plan.Proposals {
				f := autoscale.Fact{Kind: autoscale.FactResult, Seq: p.Seq, Outcome: autoscale.Accepted}
				if p.Entity == Scheduler {
					f.Outcome = autoscale.Errored
				}
				facts = append(facts, f)
			}
			a.Observe(now, facts)
			now = now.Add(model.Second)
		}
		return plan
	}
	fail(2)
	require.Equal(t, cu(2), a.Using())
	require.Equal(t, GuardPermit, guard(t, fail(8), VM))
	require.Equal(t, cu(4), a.Using())
	b := agent(t, 3) // never had one
	b.Observe(start, append(load(6), connected))
	require.Equal(t, asked{Scheduler: 3}, proposed(t, b.Plan(start)), "the first request tells what is used")
	require.Equal(t, cu(3), b.Using())
}

// Failures are retried at exactly their spans.
func TestRetries(t *testing.T) {
	for _, c := range []struct {
		e     autoscale.Entity
		n     int64 // compute units wanted, from 4
		after model.Duration
	}{{Scheduler, 6, 3 * model.Second}, {VM, 6, 5 * model.Second}, {Monitor, 6, 3 * model.Second}, {Monitor, 3, 3 * model.Second}} {
		a := ready(t, 4)
		a.Observe(start, load(float64(c.n)))
		for range 5 {
			plan := a.Plan(start)
			if _, ok := proposed(t, plan)[c.e]; ok {
				refuse(t, a, start, plan, c.e, autoscale.Errored, 0)
				break
			}
			accept(a, start, plan)
		}
		plan := a.Plan(start.Add(c.after) - 1)
		require.NotContains(t, proposed(t, plan), c.e)
		require.Equal(t, GuardFailed, guard(t, plan, c.e))
		require.Equal(t, start.Add(c.after), plan.Wake)
		require.Contains(t, proposed(t, a.Plan(start.Add(c.after))), c.e)
	}
}

// A permit for more than was asked, or for less than is used, is a failure.
func TestWrongPermits(t *testing.T) {
	for _, granted := range []int64{7, 3, 0} {
		a := ready(t, 4)
		a.Observe(start, load(6))
		refuse(t, a, start, a.Plan(start), Scheduler, autoscale.Accepted, granted)
		plan := a.Plan(start)
		require.Empty(t, plan.Proposals)
		require.Equal(t, []autoscale.Guard{GuardFailed, GuardPermit}, []autoscale.Guard{guard(t, plan, Scheduler), guard(t, plan, VM)})
	}
}

// What the monitor refuses to give back stays for a while, also beyond a new maximum.
func TestRefusedDownscale(t *testing.T) {
	a := ready(t, 4)
	a.Observe(start, load(1))
	refuse(t, a, start, a.Plan(start), Monitor, autoscale.Rejected, 0)
	retry := start.Add(5 * model.Second)
	require.Equal(t, cu(4), a.Goal(retry-1))
	plan := a.Plan(retry - 1)
	require.Empty(t, plan.Proposals)
	require.Equal(t, []any{RuleRefused, autoscale.GuardNone}, []any{plan.Decisions[0].Rule, plan.Decisions[0].Guard})
	require.Equal(t, retry, plan.Wake)
	c := a.cfg
	c.Max = cu(2)
	require.NoError(t, a.Update(c))
	require.Equal(t, cu(4), a.Goal(retry-1))
	require.Equal(t, GuardDenied, a.Plan(retry - 1).Decisions[0].Guard)
	require.Equal(t, asked{Monitor: 3}, proposed(t, a.Plan(retry)))
}

// What was refused is kept in whole units, beyond a new maximum too, but no more than there was.
func TestRefusedPartsOfUnits(t *testing.T) {
	c := Defaults()
	c.Min, c.Max = cu(1), cu(8)
	a, err := NewAgent(c, autoscale.Resources{CPU: 900, Memory: 9 << 29})
	require.NoError(t, err)
	a.Observe(start, append(load(1), connected))
	refuse(t, a, start, a.Plan(start), Monitor, autoscale.Rejected, 0)
	c.Max = cu(2)
	require.NoError(t, a.Update(c))
	require.Equal(t, autoscale.Resources{CPU: 750, Memory: 4 << 30}, a.Goal(start))
}

// A wish of the monitor counts until it is as old as it may be.
func TestWish(t *testing.T) {
	a := ready(t, 4)
	a.Observe(start, []autoscale.Fact{{Kind: autoscale.FactActive, Metric: MoreMemory, N: 1}})
	end := start.Add(10 * model.Second)
	require.Equal(t, []autoscale.Resources{cu(5), cu(4)}, []autoscale.Resources{a.Goal(end - 1), a.Goal(end)})
	plan := a.Plan(start)
	require.Equal(t, RuleWish, plan.Decisions[0].Rule)
	require.Equal(t, asked{Scheduler: 5}, proposed(t, plan))
	require.Equal(t, end, plan.Wake)
	a.Observe(start, []autoscale.Fact{{Kind: autoscale.FactEntity, Entity: Monitor, State: autoscale.Stopped}, {Kind: autoscale.FactActive, Metric: MoreCPU, N: 1}})
	require.Equal(t, cu(4), a.Goal(start), "without a monitor there is no wish")
}

// Goals by each metric, with their rounding: load to the nearest unit, memory up.
func TestGoals(t *testing.T) {
	const gib = 1 << 30
	pages := func(n ...float64) (list []autoscale.Fact) {
		for i, v := range n {
			list = append(list, autoscale.Fact{Kind: autoscale.FactSample, Metric: WorkingSet, Window: model.Duration(i+1) * model.Minute, Value: v * gib / 8192})
		}
		return list
	}
	flat := pages(3, 3, 3, 3, 3, 3, 3, 3, 3)
	for _, c := range []struct {
		name                string
		load, usage, cached float64
		pages               []autoscale.Fact
		want                int64
		rule                autoscale.Rule
	}{
		{"half a unit is one", 2.5 * 0.225, 0, 0, flat[:2], 3, RuleLoad},
		{"less than half is none", 2.49 * 0.225, 0, 0, flat[:2], 2, RuleLoad},
		{"memory exactly", 0, 3 * 0.75 * gib, 0, flat[:2], 3, RuleMemory},
		{"memory up", 0, 3*0.75*gib + 1, 0, flat[:2], 4, RuleMemory},
		{"working set", 0, 0, 0, flat, 4, RuleCache},
		{"memory and cache", 0, 3 * gib, 3 * gib, flat, 7, RuleTotal},
		{"no more cache than there is", 0, 3 * gib, gib, flat, 5, RuleTotal},
		{"a rise is cut off", 0, 0, 0, pages(1, 1, 1, 1, 1, 1, 1, 1, 6), 2, RuleCache},
		{"a rise is looked ahead", 0, 0, 0, pages(1, 1, 1, 1, 2, 2, 2, 2, 2), 4, RuleCache},
	} {
		a := agent(t, 1, func(x *Config) { x.CacheMetrics = true })
		a.Observe(start, c.pages)
		a.Observe(start, []autoscale.Fact{
			{Kind: autoscale.FactSample, Metric: Load, Value: c.load}, {Kind: autoscale.FactSample, Metric: MemoryUsage, Value: c.usage}, {Kind: autoscale.FactSample, Metric: MemoryCache, Value: c.cached},
		})
		require.Equal(t, cu(c.want), a.Goal(start), c.name)
		require.Equal(t, c.rule, a.Plan(start).Decisions[0].Rule, c.name)
	}
}

// Nothing is given back while a metric is missing.
func TestMissingMetrics(t *testing.T) {
	a := agent(t, 4)
	require.Equal(t, autoscale.GuardNoMetric, a.Plan(start).Decisions[0].Guard)
	require.Equal(t, cu(4), a.Goal(start))
	a = ready(t, 4, func(c *Config) { c.CacheMetrics = true })
	a.Observe(start, load(1))
	require.Equal(t, GuardPartial, a.Plan(start).Decisions[0].Guard)
	require.Equal(t, cu(4), a.Goal(start))
	a.Observe(start, load(6))
	require.Equal(t, cu(6), a.Goal(start), "more is given by what is there")
	require.Empty(t, a.Plan(start).Decisions[0].Guard)
	a = ready(t, 4)
	a.Observe(start, append(load(1), autoscale.Fact{Kind: autoscale.FactSample, Metric: Load, Missing: true}))
	require.Equal(t, cu(4), a.Goal(start))
	c := a.cfg
	c.Min, c.Max = cu(5), cu(8)
	require.NoError(t, a.Update(c))
	require.Equal(t, cu(5), a.Goal(start))
	require.Equal(t, autoscale.GuardMin, a.Plan(start).Decisions[0].Guard)
}

// As coded the monitor is told of all at once; with the fix a unit at a time.
func TestStepUp(t *testing.T) {
	for _, c := range []struct {
		fix   bool
		units float64
		want  int64
		guard autoscale.Guard
	}{{false, 6, 6, ""}, {true, 6, 4, GuardUnit}, {true, 4, 4, ""}} {
		a := ready(t, 3, func(x *Config) { x.StepUp = c.fix })
		a.Observe(start, load(c.units))
		accept(a, start, a.Plan(start))
		accept(a, start, a.Plan(start))
		plan := a.Plan(start)
		require.Equal(t, asked{Monitor: c.want}, proposed(t, plan))
		require.Equal(t, c.guard, guard(t, plan, Monitor))
	}
}

func TestConfigurations(t *testing.T) {
	for _, f := range []func(c *Config){
		func(c *Config) { c.Max = cu(0) }, func(c *Config) { c.Unit.CPU = 0 }, func(c *Config) { c.LoadTarget = 0 }, func(c *Config) { c.CacheWindow = 1 },
		func(c *Config) { c.CacheWait = 4 }, func(c *Config) { c.Tick = 0 }, func(c *Config) { c.WishValid = -1 },
		func(c *Config) { c.Unit.Memory = 0 }, func(c *Config) { c.MemoryTarget = 0 }, func(c *Config) { c.TotalTarget = 0 }, func(c *Config) { c.CacheShare = 0 },
		func(c *Config) { c.Min.CPU = -1 }, func(c *Config) { c.Max.Memory = 0 },
	} {
		c := Defaults()
		c.Min, c.Max = cu(1), cu(8)
		f(&c)
		_, err := NewAgent(c, cu(1))
		require.Error(t, err)
		require.Error(t, agent(t, 1).Update(c))
	}
	c := Defaults()
	c.CacheWindow, c.CacheWait, c.Tick = 2, 2, 1
	c.PermitRetry, c.DeniedRetry, c.VMRetry, c.TellRetry, c.DownRetry, c.WishValid = 0, 0, 0, 0, 0, 0
	_, err := NewAgent(c, cu(1))
	require.NoError(t, err, "two minutes are a window, and what fails may be tried again at once")
}

// world answers the proposals of an agent late, in part, with refusals and failures.
type world struct {
	a                *Agent
	using            autoscale.Resources
	permit, approved *autoscale.Resources
	flying           map[autoscale.Entity]autoscale.Proposal
}

// answer gives one of the proposals in flight its result.
func (w *world) answer(t *rapid.T, now model.Time) {
	e := rapid.SampledFrom([]autoscale.Entity{VM, Scheduler, Monitor}).Draw(t, "entity")
	p, ok := w.flying[e]
	if !ok {
		return
	}
	delete(w.flying, e)
	f := autoscale.Fact{Kind: autoscale.FactResult, Seq: p.Seq, Outcome: autoscale.Accepted, Resources: p.Resources}
	up := e != Monitor || !anyLess(p.Resources, *w.approved)
	switch x := rapid.IntRange(0, 5).Draw(t, "outcome"); {
	case x == 0:
		f.Outcome = autoscale.Errored
	case x == 1 && !up:
		f.Outcome = autoscale.Rejected
	case e == Scheduler:
		f.Resources = atLeast(w.using, atMost(p.Resources, cu(rapid.Int64Range(1, 8).Draw(t, "granted"))))
		if !anyLess(p.Resources, w.using) {
			w.permit = &f.Resources
		}
	case e == VM:
		w.using = p.Resources
	default:
		w.approved = &p.Resources
	}
	w.a.Observe(now, []autoscale.Fact{f})
}

// check holds what must be so of every plan.
func (w *world) check(t *rapid.T, plan *autoscale.Plan) {
	for _, p := range plan.Proposals {
		require.NotContains(t, w.flying, p.Entity, "one at a time")
		w.flying[p.Entity] = p
		switch p.Entity {
		case VM:
			require.False(t, w.permit != nil && anyLess(atLeast(*w.permit, w.using), p.Resources), "beyond the permit")
			require.False(t, w.approved != nil && anyLess(p.Resources, atMost(*w.approved, w.using)), "below what is approved")
			require.False(t, w.permit == nil && anyLess(w.using, p.Resources))
			require.False(t, w.approved == nil && anyLess(p.Resources, w.using))
		case Scheduler:
			require.False(t, anyLess(p.Resources, w.using))
		case Monitor:
			require.NotNil(t, w.approved)
			require.False(t, anyLess(p.Resources, less(*w.approved, w.a.cfg.Unit)), "more than one unit down")
			require.NotEqual(t, *w.approved, p.Resources)
		}
	}
	made := 0
	for _, d := range plan.Decisions {
		if d.Proposed() {
			made++
			require.NotContains(t, []autoscale.Guard{autoscale.GuardInFlight, GuardFailed, GuardDenied, GuardOther}, d.Guard)
		}
	}
	require.Equal(t, len(plan.Proposals), made)
}

// Whatever the world does, a machine is resized only within what is permitted and
// approved, an actuator is asked one thing at a time, and the goal is within the bounds.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		using := rapid.Int64Range(1, 8).Draw(t, "using")
		w := &world{a: agent(t, using), using: cu(using), flying: map[autoscale.Entity]autoscale.Proposal{}}
		now := start
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(model.Duration(rapid.Int64Range(0, 4000).Draw(t, "ms")) * model.Millisecond)
			switch rapid.IntRange(0, 6).Draw(t, "op") {
			case 0:
				w.a.Observe(now, load(float64(rapid.IntRange(0, 12).Draw(t, "load"))))
			case 1:
				w.a.Observe(now, []autoscale.Fact{{Kind: autoscale.FactActive, Metric: MoreCPU, N: 1}})
			case 2:
				if w.approved == nil {
					now := w.using
					w.approved = &now
				} else {
					w.approved = nil
					delete(w.flying, Monitor)
				}
				f := connected
				if w.approved == nil {
					f.State = autoscale.Failed
				}
				w.a.Observe(now, []autoscale.Fact{f})
			default:
				w.answer(t, now)
			}
			require.Equal(t, w.using, w.a.Using())
			g := w.a.Goal(now)
			require.False(t, anyLess(g, cu(1)))
			require.False(t, anyLess(cu(8), g))
			w.check(t, w.a.Plan(now))
		}
	})
}

// A decision allocates nothing.
func TestAllocations(t *testing.T) {
	a := agent(t, 2, func(c *Config) { c.CacheMetrics = true })
	facts := append(load(4), connected)
	for i := range 30 {
		facts = append(facts, autoscale.Fact{Kind: autoscale.FactSample, Metric: WorkingSet, Window: model.Duration(i+1) * model.Minute, Value: 1000})
	}
	results := make([]autoscale.Fact, 0, 4)
	now := start
	require.Zero(t, testing.AllocsPerRun(100, func() {
		now = now.Add(model.Second)
		facts[0].Value = float64(now/1e6%7) * 0.225
		a.Observe(now, facts)
		results = results[:0]
		for _, p := range a.Plan(now).Proposals {
			results = append(results, autoscale.Fact{Kind: autoscale.FactResult, Seq: p.Seq, Outcome: autoscale.Accepted, Resources: p.Resources})
		}
		a.Observe(now, results)
	}))
}

func BenchmarkAgent(b *testing.B) {
	a := ready(b, 2)
	now := start
	b.ReportAllocs()
	for range b.N {
		now = now.Add(model.Second)
		a.Plan(now)
	}
}
