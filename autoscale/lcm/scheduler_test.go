package lcm

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// fleet has sessions of one unit and workers of two.
func fleet(change ...func(c *SchedulerConfig)) SchedulerConfig {
	c := SchedulerDefaults()
	c.Sessions = []Session{{Need: size(1), Ports: 1}, {Need: size(9)}}
	c.Templates = []Template{{Name: "multi-sessions", Enabled: true, Capacity: size(2)}}
	for _, f := range change {
		f(&c)
	}
	return c
}

func scheduler(t require.TestingT, change ...func(c *SchedulerConfig)) *Scheduler {
	s, err := NewScheduler(fleet(change...))
	require.NoError(t, err)
	return s
}

// arrive enters sessions of a kind by number.
func arrive(s *Scheduler, now model.Time, kind int32, list ...autoscale.Entity) {
	for _, e := range list {
		s.Observe(now, []autoscale.Fact{{Kind: autoscale.FactActive, Entity: e, Template: kind, N: 1}})
	}
}

func worker(e autoscale.Entity, state autoscale.State) autoscale.Fact {
	return autoscale.Fact{Kind: autoscale.FactEntity, Entity: e, State: state}
}

// respond gives all proposals of a plan a result.
func respond(s *Scheduler, now model.Time, plan *autoscale.Plan, outcome autoscale.Outcome) {
	var facts []autoscale.Fact
	for _, p := range plan.Proposals {
		facts = append(facts, autoscale.Fact{Kind: autoscale.FactResult, Seq: p.Seq, Outcome: outcome})
	}
	s.Observe(now, facts)
}

// verbs are those of the proposals of a plan.
func verbs(plan *autoscale.Plan) (list []autoscale.Verb) {
	for _, p := range plan.Proposals {
		list = append(list, p.Verb)
	}
	return list
}

// Each pending session calls in every cycle; with the fix only for what is not coming.
func TestCallsForWorkers(t *testing.T) {
	for aware, want := range map[bool][]int{false: {3, 3, 3}, true: {2, 0, 0}} {
		s := scheduler(t, func(c *SchedulerConfig) { c.PendingAware = aware })
		arrive(s, start, 0, 1, 2, 3)
		now, made := start, autoscale.Entity(0)
		for _, n := range want {
			plan := s.Plan(now)
			require.Len(t, plan.Proposals, n)
			require.Len(t, plan.Decisions, 3)
			if aware {
				require.Equal(t, GuardComing, plan.Decisions[1].Guard)
			}
			respond(s, now, plan, autoscale.Accepted)
			for range plan.Proposals {
				s.Observe(now, []autoscale.Fact{worker(made, autoscale.Requested)})
				made++
			}
			now = now.Add(30 * model.Second)
		}
		require.EqualValues(t, made, s.Count(ScaleUpAccepted))
	}
}

// The room of the cache is given twice before it is refreshed, unless own placements count.
func TestDoubleBooking(t *testing.T) {
	for own, want := range map[bool][]autoscale.Verb{false: {autoscale.Migrate, autoscale.Migrate, autoscale.Migrate}, true: {autoscale.Migrate, autoscale.Migrate, autoscale.AddNode}} {
		s := scheduler(t, func(c *SchedulerConfig) { c.CountOwn = own })
		s.Observe(start, []autoscale.Fact{worker(7, autoscale.Ready)})
		arrive(s, start, 0, 1, 2, 3)
		plan := s.Plan(start)
		require.Equal(t, want, verbs(plan))
		require.EqualValues(t, 7, plan.Proposals[0].N)
		respond(s, start, plan, autoscale.Accepted)
		arrive(s, start, 0, 4)
		now := start.Add(30 * model.Second)
		plan = s.Plan(now)
		require.Equal(t, autoscale.AddNode, plan.Proposals[0].Verb, "refreshed")
		require.Equal(t, RuleCapacity, plan.Decisions[0].Rule)
	}
}

// A refresh that fails leaves the cache as it was until it is as old once more.
func TestStaleCache(t *testing.T) {
	s := scheduler(t)
	s.Observe(start, []autoscale.Fact{worker(7, autoscale.Ready)})
	arrive(s, start, 0, 1, 2)
	respond(s, start, s.Plan(start), autoscale.Accepted)
	now := start.Add(30 * model.Second)
	arrive(s, now, 0, 3)
	s.Observe(now, []autoscale.Fact{{Kind: autoscale.FactSample, Metric: Refresh, Missing: true}})
	plan := s.Plan(now)
	require.Equal(t, []autoscale.Verb{autoscale.Migrate}, verbs(plan))
	respond(s, now, plan, autoscale.Rejected)
	now = now.Add(30 * model.Second)
	require.Equal(t, []autoscale.Verb{autoscale.AddNode}, verbs(s.Plan(now)))
	s.Observe(now, []autoscale.Fact{{Kind: autoscale.FactActive, Entity: 1}})
	now = now.Add(30 * model.Second)
	require.Equal(t, []autoscale.Verb{autoscale.Migrate}, verbs(s.Plan(now)), "a session has ended")
}

// As coded a session comes again 300 s after its fifth failure in a row, as documented it
// is given up after the 35th.
func TestRetries(t *testing.T) {
	fail := func(c SchedulerConfig, times int) (*Scheduler, model.Time) {
		c.Sessions, c.Templates = fleet().Sessions, []Template{{Name: "multi-sessions", Enabled: true, Capacity: size(1000)}}
		s, err := NewScheduler(c)
		require.NoError(t, err)
		s.Observe(start, []autoscale.Fact{worker(7, autoscale.Ready)})
		arrive(s, start, 0, 1)
		now := start
		for i := range times {
			plan := s.Plan(now)
			require.Equal(t, []autoscale.Verb{autoscale.Migrate}, verbs(plan), "%d", i)
			respond(s, now, plan, autoscale.Errored)
			now = now.Add(30 * model.Second)
		}
		return s, now
	}
	s, now := fail(SchedulerCoded(), 5)
	for now < start.Add(420*model.Second) {
		require.Equal(t, GuardRequeued, s.Plan(now).Decisions[0].Guard)
		now = now.Add(30 * model.Second)
	}
	plan := s.Plan(now)
	require.Equal(t, []autoscale.Verb{autoscale.Migrate}, verbs(plan))
	respond(s, now, plan, autoscale.Accepted)
	require.Empty(t, s.Plan(now.Add(model.Hour)).Decisions)
	s, now = fail(SchedulerDefaults(), 35)
	require.Equal(t, GuardGivenUp, s.Plan(now.Add(model.Hour)).Decisions[0].Guard)
}

// A watch places soon after a session has come; without polling nothing else does.
func TestWatchAndPolling(t *testing.T) {
	s := scheduler(t, func(c *SchedulerConfig) { c.Polling = false })
	require.Equal(t, model.Never, s.Plan(start).Wake)
	arrive(s, start, 0, 1)
	soon := start.Add(500 * model.Millisecond)
	arrive(s, soon-1, 0, 2)
	require.Equal(t, soon, s.Plan(soon-1).Wake)
	require.Len(t, s.Plan(soon).Decisions, 2)
	require.Empty(t, s.Plan(soon.Add(model.Hour)).Decisions)
	s = scheduler(t, func(c *SchedulerConfig) { c.Watch = false })
	s.Plan(start)
	arrive(s, start, 0, 1)
	require.Equal(t, start.Add(30*model.Second), s.Plan(start.Add(30*model.Second)-1).Wake)
	require.Len(t, s.Plan(start.Add(30*model.Second)).Decisions, 1)
}

// A cycle takes ten sessions; one that is in flight is left alone.
func TestConcurrency(t *testing.T) {
	s := scheduler(t)
	for e := range autoscale.Entity(12) {
		arrive(s, start, 0, e)
	}
	s.Observe(start, []autoscale.Fact{worker(7, autoscale.Ready)})
	plan := s.Plan(start)
	require.Len(t, plan.Proposals, 10)
	require.Equal(t, GuardConcurrency, plan.Decisions[10].Guard)
	now := start.Add(30 * model.Second)
	require.Equal(t, autoscale.GuardInFlight, s.Plan(now).Decisions[0].Guard)
}

func TestRulesOfCalls(t *testing.T) {
	s := scheduler(t)
	arrive(s, start, 1, 1)
	plan := s.Plan(start)
	require.Equal(t, RuleNoWorkers, plan.Decisions[0].Rule)
	respond(s, start, plan, autoscale.Rejected)
	require.EqualValues(t, 1, s.Count(ScaleUpRejected))
	s.Observe(start, []autoscale.Fact{worker(7, autoscale.Draining)})
	require.Equal(t, RuleUnmet, s.Plan(start.Add(30 * model.Second)).Decisions[0].Rule, "what drains takes none")
	s.Observe(start, []autoscale.Fact{worker(7, autoscale.Failed)})
	require.Equal(t, RuleNoWorkers, s.Plan(start.Add(60 * model.Second)).Decisions[0].Rule)
	c := fleet(func(c *SchedulerConfig) { c.Coded = true; c.Sessions[0].Licences = []Licence{Personal} })
	s, err := NewScheduler(c)
	require.NoError(t, err)
	arrive(s, start, 0, 1)
	require.EqualValues(t, -1, s.Plan(start).Proposals[0].Template, "single-session is not there")
}

// With its own placements counted the scheduler gives no room twice, and one that looks at
// what is coming calls only for what has no room there.
func TestSchedulerInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scheduler(t, func(c *SchedulerConfig) { c.CountOwn, c.PendingAware, c.Watch = true, true, false })
		on := map[int64]int{}
		next, made, booting := autoscale.Entity(0), autoscale.Entity(0), []autoscale.Entity{}
		waiting := 0
		for now := start; now < start.Add(20*model.Minute); now = now.Add(30 * model.Second) {
			for range rapid.IntRange(0, 3).Draw(t, "arrivals") {
				arrive(s, now, 0, next)
				next++
				waiting++
			}
			if len(booting) > 0 && rapid.Bool().Draw(t, "boots") {
				s.Observe(now, []autoscale.Fact{worker(booting[0], autoscale.Ready)})
				booting = booting[1:]
			}
			plan := s.Plan(now)
			calls, assigned := 0, 0
			for _, v := range verbs(plan) {
				if v == autoscale.AddNode {
					calls++
				} else {
					assigned++
				}
			}
			require.True(t, calls == 0 || 2*(len(booting)+calls-1) < waiting-assigned, "%d calls", calls)
			for _, p := range plan.Proposals {
				o := rapid.SampledFrom([]autoscale.Outcome{autoscale.Accepted, autoscale.Accepted, autoscale.Rejected}).Draw(t, "outcome")
				s.Observe(now, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: p.Seq, Outcome: o}})
				switch {
				case o != autoscale.Accepted:
				case p.Verb == autoscale.Migrate:
					on[p.N]++
					waiting--
					require.LessOrEqual(t, on[p.N], 2)
				default:
					s.Observe(now, []autoscale.Fact{worker(made, autoscale.Starting)})
					booting = append(booting, made)
					made++
				}
			}
		}
	})
}

// A cycle allocates nothing.
func TestAllocations(t *testing.T) {
	s := scheduler(t)
	s.Observe(start, []autoscale.Fact{worker(7, autoscale.Ready), worker(8, autoscale.Ready)})
	arrive(s, start, 0, 1, 2, 3)
	now := start
	facts := make([]autoscale.Fact, 0, 8)
	cycle := func() {
		now = now.Add(30 * model.Second)
		facts = facts[:0]
		for _, p := range s.Plan(now).Proposals {
			facts = append(facts, autoscale.Fact{Kind: autoscale.FactResult, Seq: p.Seq, Outcome: autoscale.Rejected})
		}
		s.Observe(now, facts)
	}
	cycle()
	require.Zero(t, testing.AllocsPerRun(20, cycle))
	r := reconciler(t)
	workers(r, 4)
	drain := func() {
		now = now.Add(model.Hour)
		facts = facts[:0]
		for _, p := range r.Plan(now).Proposals {
			facts = append(facts, autoscale.Fact{Kind: autoscale.FactResult, Seq: p.Seq, Outcome: autoscale.Errored})
		}
		r.Observe(now, facts)
	}
	drain()
	require.Zero(t, testing.AllocsPerRun(20, drain))
}

func BenchmarkCycle(b *testing.B) {
	s := scheduler(b)
	for e := range autoscale.Entity(10) {
		s.Observe(start, []autoscale.Fact{worker(e, autoscale.Ready)})
	}
	arrive(s, start, 1, 1, 2, 3)
	now := start
	b.ReportAllocs()
	for range b.N {
		now = now.Add(30 * model.Second)
		respond(s, now, s.Plan(now), autoscale.Rejected)
	}
}
