package lcm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// What is declared counts, else hardware of which all is known, in whole GiB.
func TestEffective(t *testing.T) {
	const gib = 1 << 30
	declared := size(3)
	all := Hardware{CPUs: 8, Memory: 5*gib - 1, Disk: 9 * gib}
	c, ok := Effective(&declared, all)
	require.Equal(t, []any{size(3), true}, []any{c, ok})
	c, ok = Effective(nil, all)
	require.Equal(t, []any{Capacity{8, 4, 9}, true}, []any{c, ok})
	c, ok = Effective(nil, Hardware{CPUs: 1, Memory: 1, Disk: 1})
	require.Equal(t, []any{Capacity{CPU: 1}, true}, []any{c, ok}, "all of it is known, and little")
	for _, h := range []Hardware{{}, {Memory: gib, Disk: gib}, {CPUs: 1, Disk: gib}, {CPUs: 1, Memory: gib}} {
		c, ok = Effective(nil, h)
		require.Equal(t, []any{Capacity{}, false}, []any{c, ok})
	}
}

// Capacities are added and taken away for each resource.
func TestSumsOfCapacities(t *testing.T) {
	a, b := Capacity{1, 2, 3}, Capacity{40, 50, 60}
	require.Equal(t, Capacity{41, 52, 63}, a.plus(b))
	require.Equal(t, b, a.plus(b).less(a))
}

// Versions at the ends of a range pass; an end that is not stated is none.
func TestImages(t *testing.T) {
	for _, c := range []struct {
		image Image
		want  bool
	}{{Image{MinVersion: "2.8.0"}, true}, {Image{MaxVersion: "2.8.0"}, true}, {Image{MinVersion: "2.8.1"}, false}, {Image{MaxVersion: "2.7.9"}, false}, {Image{}, true}} {
		require.Equal(t, c.want, (&Engine{}).image(&c.image, &Worker{Version: "2.8.0"}), "%+v", c)
	}
	w := Worker{Declared: size(10), Sessions: 5, Cached: &Cached{Declared: size(10)}}
	require.Zero(t, w.Score(), "no sessions, says the cache")
}

// The guards at their ends, in their order.
func TestGuards(t *testing.T) {
	r := reconciler(t, func(c *ReconcilerConfig) { c.MinWorkers = 2 })
	idle := Idleness{Idle: true, Eligible: true}
	for _, c := range []struct {
		running int64
		drained model.Time
		i       Idleness
		want    autoscale.Guard
	}{
		{3, model.Never, idle, ""}, {2, model.Never, idle, GuardMinWorkers}, {2, start, idle, GuardMinWorkers}, {3, start, idle, ""}, {3, start + 1, idle, GuardCoolingDown},
		{2, start, Idleness{Idle: true}, GuardNotEligible}, {2, start, Idleness{Eligible: true}, GuardNotIdle}, {2, start, Idleness{AutoPaused: true}, GuardAutoPause},
	} {
		r.Restore(c.running, c.drained)
		g, e := r.Guards(start.Add(600*model.Second), c.i)
		require.Equal(t, c.want, g)
		if g != "" {
			require.Equal(t, string(g), e.String())
		}
	}
}

// A worker is active from when it is ready; only a resume snoozes; samples of others are
// none of its own.
func TestActivity(t *testing.T) {
	r := reconciler(t)
	enter := func(e autoscale.Entity, s autoscale.State, at model.Time) {
		r.Observe(at, []autoscale.Fact{{Kind: autoscale.FactEntity, Entity: e, State: s, At: at}})
	}
	ready := start.Add(5 * model.Minute)
	enter(1, autoscale.Starting, start)
	enter(1, autoscale.Starting, start.Add(model.Minute))
	require.Equal(t, start, r.machines[0].active)
	enter(1, autoscale.Ready, ready)
	enter(1, autoscale.Ready, ready.Add(model.Minute))
	require.Equal(t, []model.Time{ready, model.Never}, []model.Time{r.machines[0].active, r.machines[0].resumed})
	require.EqualValues(t, 1, r.Count(Provisioned))
	late := ready.Add(model.Hour)
	r.Observe(late, []autoscale.Fact{{Kind: autoscale.FactSample, Entity: 2, At: late}, {Kind: autoscale.FactSample, Entity: 1, Metric: Refresh, At: late}, {Kind: autoscale.FactSample, Entity: 1, At: start}})
	require.Equal(t, ready, r.machines[0].active)
	enter(1, autoscale.Stopped, late)
	enter(1, autoscale.Ready, late.Add(model.Minute))
	require.Equal(t, late.Add(model.Minute), r.machines[0].resumed)
}

// A sample that is missing is no activity, and what is told of workers that are not known
// is of none: the one that is there stays as it was.
func TestReconcilerKnowsItsWorkers(t *testing.T) {
	r := reconciler(t)
	r.Observe(0, []autoscale.Fact{{Kind: autoscale.FactEntity, Entity: 1, State: autoscale.Ready}, {Kind: autoscale.FactSample, Entity: 1, At: start, Missing: true}})
	require.Equal(t, autoscale.GuardNoMetric, r.Plan(start).Decisions[0].Guard)
	r.Observe(start, []autoscale.Fact{{Kind: autoscale.FactSample, Entity: 1}})
	for _, e := range []autoscale.Entity{0, 2} {
		r.Observe(start, []autoscale.Fact{
			{Kind: autoscale.FactPaused, Entity: e, N: 1}, {Kind: autoscale.FactEntity, Entity: e, State: autoscale.Stopped}, {Kind: autoscale.FactEntity, Entity: e, State: autoscale.Failed},
			{Kind: autoscale.FactResult, Seq: 9, Outcome: autoscale.Accepted},
		})
	}
	plan := r.Plan(start.Add(30 * model.Second))
	require.Equal(t, []autoscale.Guard{""}, guards(plan), "still idle and running, and not kept")
	require.Zero(t, r.Drains())
	finish(r, start, plan, autoscale.Errored)
	r.Observe(start, []autoscale.Fact{{Kind: autoscale.FactEntity, Entity: 1, State: autoscale.Stopped}})
	require.Zero(t, r.Count(Drained), "it stopped without having been drained")
}

// What is decided about a worker that is in use is that it is.
func TestActiveWorkersAreNotDrained(t *testing.T) {
	r := reconciler(t)
	workers(r, 1)
	r.Observe(start, []autoscale.Fact{{Kind: autoscale.FactSample, At: start}})
	require.Equal(t, []autoscale.Decision{{Rule: RuleBusy, Guard: GuardNotIdle}}, r.Plan(start).Decisions)
}

// None of the spans may be negative, each for itself.
func TestNegativeSpans(t *testing.T) {
	for _, f := range []func(c *ReconcilerConfig){
		func(c *ReconcilerConfig) { c.Cooldown = -1 }, func(c *ReconcilerConfig) { c.IdleAfter = -1 }, func(c *ReconcilerConfig) { c.Snooze = -1 },
	} {
		c := ReconcilerDefaults()
		f(&c)
		_, err := NewReconciler(c)
		require.ErrorContains(t, err, "none negative")
	}
}

// The shortest cooldown is one: a second drain waits until it is known whether it has begun.
func TestShortestCooldown(t *testing.T) {
	r := reconciler(t, func(c *ReconcilerConfig) { c.Cooldown = 1 })
	workers(r, 2)
	require.Equal(t, []autoscale.Guard{"", autoscale.GuardInFlight}, guards(r.Plan(start)))
}

// Between two refreshes a cycle goes by the cache, also where the worker has filled up.
func TestCacheBetweenRefreshes(t *testing.T) {
	s := scheduler(t, func(c *SchedulerConfig) { c.Watch = true })
	s.Observe(start, []autoscale.Fact{worker(7, autoscale.Ready)})
	arrive(s, start, 0, 1, 2)
	respond(s, start, s.Plan(start), autoscale.Accepted)
	now := start.Add(5 * model.Second)
	arrive(s, now, 0, 3)
	s.Plan(now)
	now = now.Add(model.Second)
	require.Equal(t, []autoscale.Verb{autoscale.Migrate}, verbs(s.Plan(now)), "as if there were room")
}

// A worker with a personal licence that is on its way has room for one session, whatever its
// capacity.
func TestPersonalWorkersOnTheirWay(t *testing.T) {
	for licence, want := range map[Licence]int{Personal: 2, Enterprise: 1} {
		s := scheduler(t, func(c *SchedulerConfig) {
			c.PendingAware = true
			c.Templates[0].Licence = licence
		})
		arrive(s, start, 0, 1, 2)
		require.Len(t, s.Plan(start).Proposals, want)
		require.Empty(t, s.Plan(start.Add(30*model.Second)).Proposals, "all that were called for are on their way")
	}
}

// What is coming is a worker that is on its way and has room.
func TestPendingAware(t *testing.T) {
	for _, c := range []struct {
		state autoscale.State
		rest  []autoscale.Guard // of three sessions that come after two that fill a worker
	}{{autoscale.Ready, []autoscale.Guard{"", GuardComing, ""}}, {autoscale.Starting, []autoscale.Guard{GuardComing, GuardComing, "", GuardComing, ""}}} {
		s := scheduler(t, func(c *SchedulerConfig) { c.PendingAware = true })
		s.Observe(start, []autoscale.Fact{worker(7, c.state)})
		arrive(s, start, 0, 1, 2)
		respond(s, start, s.Plan(start), autoscale.Accepted)
		now := start.Add(30 * model.Second)
		arrive(s, now, 0, 3, 4, 5)
		require.Equal(t, c.rest, guards(s.Plan(now)))
	}
}

// What was placed in earlier cycles counts by the ports it takes and, on a personal licence,
// by being there, also where the cache sees room.
func TestSessionsOnWorkers(t *testing.T) {
	for _, c := range []struct {
		change func(t *Template)
		want   autoscale.Rule
	}{{func(t *Template) {}, RuleAssign}, {func(t *Template) { t.MaxPorts = 1 }, RuleUnmet}, {func(t *Template) { t.Licence = Personal }, RuleCapacity}} {
		s := scheduler(t, func(x *SchedulerConfig) { c.change(&x.Templates[0]) })
		s.Observe(start, []autoscale.Fact{worker(7, autoscale.Ready)})
		arrive(s, start, 0, 1)
		respond(s, start, s.Plan(start), autoscale.Accepted)
		now := start.Add(30 * model.Second)
		arrive(s, now, 0, 2)
		require.Equal(t, c.want, s.Plan(now).Decisions[0].Rule)
	}
}

// A session that is told of again stays as it was, and one that ends unknown is none of those
// that wait. Results are of the sessions whose proposals they name.
func TestSessionsAndTheirResults(t *testing.T) {
	s := scheduler(t)
	s.Observe(start, []autoscale.Fact{worker(7, autoscale.Ready)})
	arrive(s, start, 0, 1, 2)
	s.Observe(start, []autoscale.Fact{{Kind: autoscale.FactActive, Entity: 1, N: 1}, {Kind: autoscale.FactActive, Entity: 0}, {Kind: autoscale.FactActive, Entity: 3}, {Kind: autoscale.FactResult, Outcome: autoscale.Accepted}})
	plan := s.Plan(start)
	require.Equal(t, []autoscale.Verb{autoscale.Migrate, autoscale.Migrate}, verbs(plan))
	for _, seq := range []uint64{9, plan.Proposals[1].Seq} {
		s.Observe(start, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: seq, Outcome: autoscale.Accepted}})
	}
	d := s.Plan(start.Add(30 * model.Second)).Decisions
	require.Equal(t, []autoscale.Decision{{Entity: 1, Guard: autoscale.GuardInFlight}}, d)
}

// A worker that is told of again changes its state, and one that fails unknown is none of
// those that are there.
func TestWorkersAreTheirOwn(t *testing.T) {
	s := scheduler(t)
	s.Observe(start, []autoscale.Fact{worker(7, autoscale.Starting), worker(7, autoscale.Ready), worker(6, autoscale.Failed), worker(8, autoscale.Failed)})
	arrive(s, start, 0, 1)
	require.Equal(t, RuleAssign, s.Plan(start).Decisions[0].Rule)
}

// The template is called for by its name only as coded; as documented it is the cheapest.
func TestTemplateOfACall(t *testing.T) {
	for coded, want := range map[bool]int32{false: 1, true: 0} {
		s := scheduler(t, func(c *SchedulerConfig) {
			c.Coded = coded
			c.Templates = append(c.Templates, Template{Name: "cheap", Enabled: true, Capacity: size(2), Cost: -1})
		})
		arrive(s, start, 0, 1)
		require.Equal(t, want, s.Plan(start).Proposals[0].Template)
	}
}

// Only the series of the cache says that its next refresh fails, or no longer.
func TestSamplesOfOtherSeries(t *testing.T) {
	for _, c := range []struct {
		samples []autoscale.Fact
		want    autoscale.Verb
	}{
		{[]autoscale.Fact{{Metric: 0, Missing: true}}, autoscale.AddNode}, {[]autoscale.Fact{{Metric: Refresh, Missing: true}}, autoscale.Migrate},
		{[]autoscale.Fact{{Metric: Refresh, Missing: true}, {Metric: 0}}, autoscale.Migrate}, {[]autoscale.Fact{{Metric: Refresh, Missing: true}, {Metric: Refresh}}, autoscale.AddNode},
	} {
		s := scheduler(t)
		s.Observe(start, []autoscale.Fact{worker(7, autoscale.Ready)})
		arrive(s, start, 0, 1, 2)
		respond(s, start, s.Plan(start), autoscale.Accepted)
		now := start.Add(30 * model.Second)
		arrive(s, now, 0, 3)
		for _, f := range c.samples {
			f.Kind = autoscale.FactSample
			s.Observe(now, []autoscale.Fact{f})
		}
		require.Equal(t, []autoscale.Verb{c.want}, verbs(s.Plan(now)), "%+v", c)
	}
}

// Proposals are numbered from 1 on, also from plan to plan.
func TestNumbersOfProposals(t *testing.T) {
	s := scheduler(t)
	arrive(s, start, 0, 1, 2)
	var got []uint64
	for now := start; now <= start.Add(30*model.Second); now = now.Add(30 * model.Second) {
		for _, p := range s.Plan(now).Proposals {
			got = append(got, p.Seq)
		}
	}
	require.Equal(t, []uint64{1, 2, 3, 4}, got)
}

// The bounds of a configuration: the least that passes, and what is just beyond, each by itself.
func TestLeastConfiguration(t *testing.T) {
	c := fleet(func(c *SchedulerConfig) {
		c.Interval, c.Concurrent, c.Debounce, c.CacheTTL, c.Requeue, c.MaxRetries, c.Templates = 1, 1, 0, 0, 0, 1, nil
	})
	_, err := NewScheduler(c)
	require.NoError(t, err)
	for i, f := range []func(c *SchedulerConfig){
		func(c *SchedulerConfig) { c.Sessions = nil }, func(c *SchedulerConfig) { c.Interval = 0 }, func(c *SchedulerConfig) { c.Concurrent = 0 },
		func(c *SchedulerConfig) { c.Debounce = -1 }, func(c *SchedulerConfig) { c.CacheTTL = -1 }, func(c *SchedulerConfig) { c.Requeue = -1 },
		func(c *SchedulerConfig) { c.MaxRetries = 0 }, func(c *SchedulerConfig) { c.Polling, c.Watch = false, false },
	} {
		bad := c
		f(&bad)
		_, err := NewScheduler(bad)
		require.Error(t, err, "%d", i)
	}
}

// Kinds of sessions and templates of workers that are not in the tables are of others.
func TestForeignKinds(t *testing.T) {
	for kind, want := range map[int32]int{-1: 0, 0: 1, 1: 1, 2: 0} {
		s := scheduler(t)
		arrive(s, start, kind, 1)
		require.Len(t, s.Plan(start).Decisions, want, "kind %d of 2", kind)
	}
	for template, want := range map[int32]autoscale.Rule{-1: RuleNoWorkers, 0: RuleAssign, 1: RuleNoWorkers} {
		s := scheduler(t)
		f := worker(7, autoscale.Ready)
		f.Template = template
		s.Observe(start, []autoscale.Fact{f})
		arrive(s, start, 0, 1)
		require.Equal(t, want, s.Plan(start).Decisions[0].Rule, "template %d of 1", template)
	}
}

// TestWorkersThatComeBack: a worker that was lost and is there again has the sessions that it
// had, and no others; one of a lost worker that ends is counted nowhere.
func TestWorkersThatComeBack(t *testing.T) {
	full := func(c *SchedulerConfig) {
		c.Templates[0].MaxPorts, c.Templates[0].Capacity = 2, size(9)
		c.CacheTTL = 0
	}
	placed := func() *Scheduler { // sessions 1 and 2 on worker 4, session 3 on worker 6
		s := scheduler(t, full)
		s.Observe(start, []autoscale.Fact{worker(4, autoscale.Ready)})
		arrive(s, start, 0, 1, 2)
		respond(s, start, s.Plan(start), autoscale.Accepted)
		s.Observe(start, []autoscale.Fact{worker(6, autoscale.Ready)})
		arrive(s, start, 0, 3)
		plan := s.Plan(start.Add(30 * model.Second))
		require.EqualValues(t, 6, plan.Proposals[0].N, "the ports of 4 are taken")
		respond(s, start, plan, autoscale.Accepted)
		return s
	}
	next := start.Add(model.Minute)

	s := placed()
	s.Observe(next, []autoscale.Fact{worker(4, autoscale.Failed)})
	s.Observe(next, []autoscale.Fact{worker(4, autoscale.Ready)})
	arrive(s, next, 0, 5)
	plan := s.Plan(next)
	require.Equal(t, []autoscale.Verb{autoscale.Migrate}, verbs(plan), "6 has a port")
	require.EqualValues(t, 6, plan.Proposals[0].N, "4 has its two sessions")

	s = placed()
	s.Observe(next, []autoscale.Fact{worker(4, autoscale.Failed)})
	arrive(s, next, 0, 5)
	respond(s, next, s.Plan(next), autoscale.Accepted)
	s.Observe(next, []autoscale.Fact{{Kind: autoscale.FactActive, Entity: 1, N: 0}, {Kind: autoscale.FactActive, Entity: 2, N: 0}})
	arrive(s, next, 0, 8)
	plan = s.Plan(next.Add(30 * model.Second))
	require.Equal(t, []autoscale.Verb{autoscale.AddNode}, verbs(plan), "6 has two sessions")
}
