package lcm

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/autoscale"
	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

const start = model.Time(model.Day)

// size is a capacity of n CPUs, GiB of memory and of storage.
func size(n int64) Capacity { return Capacity{n, n, n} }

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		g    Growth
		want Status
	}{
		{Growth{Known: true, Enabled: true, Active: 9, Limit: 10}, Created}, {Growth{Known: true, Enabled: true, Active: 10, Limit: 10}, Conflict},
		{Growth{Known: true, Enabled: true, Active: 10, Limit: 10, Unchecked: true}, Created}, {Growth{Known: true, Active: 99, Limit: 10}, Disabled}, {Growth{Enabled: true}, Missing},
	} {
		status, event := Grow(c.g)
		require.Equal(t, c.want, status)
		require.Equal(t, c.want == Created, event == ScaleUpAccepted)
	}
	require.Equal(t, []Status{OK, Conflict, Missing}, []Status{Drain(true, true), Drain(true, false), Drain(false, false)})
}

func TestLicences(t *testing.T) {
	require.Equal(t, []Licence{Enterprise, Personal, Evaluation, Enterprise, Enterprise, Personal},
		[]Licence{LicenceOf("CML_Enterprise", "", false), LicenceOf("CML_Personal", "", true), LicenceOf("", "Evaluation", true), LicenceOf("", "", true), LicenceOf("cml", "Enterprise", false), LicenceOf("", "", false)})
	for _, c := range []struct {
		has, asked Licence
		want       bool
	}{{Enterprise, Enterprise, true}, {Enterprise, Personal, true}, {Enterprise, Evaluation, false}, {Personal, Enterprise, false}, {Personal, Personal, true}, {Evaluation, Evaluation, true}, {NoLicence, NoLicence, false}} {
		require.Equal(t, c.want, c.has.satisfies(c.asked), "%v", c)
	}
	require.Equal(t, []Licence{Enterprise, Personal, Evaluation, NoLicence}, []Licence{ParseLicence("ENTERPRISE"), ParseLicence("Personal"), ParseLicence("evaluation"), ParseLicence("gold")})
}

// The first predicate that fails counts, and each is strict or not as it is meant to be.
func TestPredicates(t *testing.T) {
	need := Session{Need: size(4), Licences: []Licence{Enterprise}, Images: []Image{{MinVersion: "2.8.0", MaxVersion: "2.9.0", Definitions: []string{"ios"}}}, Ports: 2}
	good := Worker{Running: true, Declared: size(8), Licence: Enterprise, Version: "2.9.0", Definitions: []string{"alpine", "ios"}, MaxPorts: 4, Ports: 2, Allocated: size(4)}
	with := func(f func(w *Worker)) Worker {
		w := good
		f(&w)
		return w
	}
	for _, c := range []struct {
		name string
		w    Worker
		want Predicate
	}{
		{"exactly enough of all", good, Predicates},
		{"status first", with(func(w *Worker) { w.Running, w.Licence, w.Declared = false, Personal, size(0) }), ByStatus},
		{"licence before capacity", with(func(w *Worker) { w.Licence, w.Declared = Personal, size(0) }), ByLicence},
		{"one CPU less", with(func(w *Worker) { w.Allocated.CPU++ }), ByCapacity},
		{"one GiB less", with(func(w *Worker) { w.Allocated.Memory++ }), ByCapacity},
		{"less storage", with(func(w *Worker) { w.Allocated.Storage++ }), ByCapacity},
		{"the cache is preferred", with(func(w *Worker) { c := size(3); w.Cached = &Cached{Available: &c, Sessions: -1} }), ByCapacity},
		{"an entry without what is available is not", with(func(w *Worker) { w.Cached = &Cached{Sessions: -1} }), Predicates},
		{"too old", with(func(w *Worker) { w.Version = "2.7.9" }), ByImage},
		{"as text 2.10 is before 2.8", with(func(w *Worker) { w.Version = "2.10.0" }), ByImage},
		{"a version that is not known", with(func(w *Worker) { w.Version = "" }), Predicates},
		{"no definition", with(func(w *Worker) { w.Definitions = []string{"alpine"} }), ByImage},
		{"one port less", with(func(w *Worker) { w.Ports++ }), ByPorts},
		{"a thousand ports by default", with(func(w *Worker) { w.MaxPorts, w.Ports = 0, 998 }), Predicates},
		{"and no more", with(func(w *Worker) { w.MaxPorts, w.Ports = 0, 999 }), ByPorts},
	} {
		var e Engine
		list := e.Place(&need, []Worker{c.w})
		require.Equal(t, c.want == Predicates, len(list) == 1, c.name)
		for p, n := range e.Rejected() {
			require.Equal(t, Predicate(p) == c.want, n == 1, c.name)
		}
		require.Equal(t, c.want == ByCapacity, e.AtCapacity(), c.name)
	}
	one := Session{Need: size(1)}
	e := Engine{}
	require.Len(t, e.Place(&one, []Worker{{Running: true, Declared: size(8), Licence: Personal}, {Running: true, Declared: size(8), Licence: Personal, Sessions: 1}}), 1)
	require.True(t, e.AtCapacity(), "one session for a personal licence")
}

func TestVersions(t *testing.T) {
	e := Engine{NumericVersions: true}
	for _, c := range []struct {
		a, b          string
		text, numbers int
	}{{"2.10.0", "2.9.0", -1, 1}, {"2.9", "2.9.0", -1, 0}, {"2.9", "2.9.1", -1, -1}, {"2.9.1", "2.9", 1, 1}, {"2.a", "2.10", 1, 1}, {"2.10", "2.a", -1, -1}, {"2.9.0", "2.9.0", 0, 0}, {"3", "2.9", 1, 1}, {"2.9b", "2.9a", 1, 1}, {"2.9b", "2.9", 1, 1}, {"2.9", "2.9b", -1, -1}} {
		require.Equal(t, c.text, (&Engine{}).compare(c.a, c.b), "%v", c)
		require.Equal(t, c.numbers, e.compare(c.a, c.b), "%v", c)
	}
}

// The fullest is taken, sessions count a little, and at most five of them.
func TestScore(t *testing.T) {
	w := Worker{Declared: size(10), Allocated: Capacity{5, 7, 0}, Sessions: 3}
	require.InDelta(t, 0.63, w.Score(), 1e-12)
	w.Sessions = 8
	require.InDelta(t, 0.65, w.Score(), 1e-12)
	w.Cached = &Cached{Declared: size(10), Allocated: size(1), Sessions: -1}
	require.InDelta(t, 0.15, w.Score(), 1e-12)
	w.Cached.Sessions = 1
	require.InDelta(t, 0.11, w.Score(), 1e-12)
	require.Equal(t, 0.5, (&Worker{Declared: Capacity{1, 1, 0}, Allocated: Capacity{1, 0, 0}}).Score())
	require.Equal(t, 0.5, (&Worker{Declared: Capacity{1, 1, 0}, Allocated: Capacity{0, 1, 0}}).Score())
	var e Engine
	one := Session{Need: size(1)}
	list := e.Place(&one, []Worker{{Running: true, Declared: size(4)}, {Running: true, Declared: size(4), Allocated: size(2)}, {Running: true, Declared: size(4), Allocated: size(2)}})
	require.Equal(t, []Candidate{{1, 0.5}, {2, 0.5}, {0, 0}}, list)
}

func TestTemplates(t *testing.T) {
	list := []Template{{Name: "small", Enabled: true, Capacity: size(2), Cost: 1}, {Name: "large", Enabled: true, Capacity: size(8), Cost: 3}, {Name: "twin", Enabled: true, Capacity: size(8), Cost: 3}, {Name: "metal", Capacity: size(64), Cost: 2}}
	for _, c := range []struct {
		need Capacity
		name string
		tier Tier
	}{{size(2), "small", Cheapest}, {Capacity{1, 1, 3}, "large", Cheapest}, {size(9), "large", Largest}} {
		i, name, tier := Choose(c.need, list)
		require.Equal(t, []any{c.name, c.tier, c.name}, []any{name, tier, list[i].Name})
	}
	_, name, _ := Choose(size(9), []Template{list[1], list[0]})
	require.Equal(t, "large", name, "the first of the list is the largest")
	for cpu, want := range map[int64]string{3: "small", 4: "medium", 15: "medium", 16: "large", 31: "large", 32: "metal"} {
		i, name, tier := Choose(Capacity{CPU: cpu}, nil)
		require.Equal(t, []any{-1, want, Fallback}, []any{i, name, tier})
	}
	require.Equal(t, []string{"single-session", "multi-sessions", "multi-sessions"}, []string{ChooseCoded([]Licence{Personal}), ChooseCoded(nil), ChooseCoded([]Licence{Personal, Personal})})
}

func TestConfigurations(t *testing.T) {
	for _, f := range []func(c *SchedulerConfig){
		func(c *SchedulerConfig) { c.Sessions = nil }, func(c *SchedulerConfig) { c.Interval = 0 }, func(c *SchedulerConfig) { c.Polling, c.Watch = false, false },
		func(c *SchedulerConfig) { c.MaxRetries = 0 }, func(c *SchedulerConfig) { c.Requeue = -1 },
	} {
		c := fleet()
		f(&c)
		_, err := NewScheduler(c)
		require.Error(t, err)
	}
	for _, f := range []func(c *ReconcilerConfig){
		func(c *ReconcilerConfig) { c.MinWorkers = -1 }, func(c *ReconcilerConfig) { c.Cooldown = -1 }, func(c *ReconcilerConfig) { c.Interval = 0 },
	} {
		c := ReconcilerDefaults()
		f(&c)
		_, err := NewReconciler(c)
		require.Error(t, err)
	}
	require.False(t, ReconcilerDefaults().Enabled, "off by default")
	_, err := NewReconciler(ReconcilerConfig{Interval: 1})
	require.NoError(t, err, "no span but the interval has to last")
}

// workers enters running workers into a reconciler, idle since the start of time.
func workers(r *Reconciler, n int) {
	for e := range n {
		r.Observe(0, []autoscale.Fact{{Kind: autoscale.FactEntity, Entity: autoscale.Entity(e), State: autoscale.Starting}, {Kind: autoscale.FactEntity, Entity: autoscale.Entity(e), State: autoscale.Ready}})
	}
}

func reconciler(t require.TestingT, change ...func(c *ReconcilerConfig)) *Reconciler {
	c := ReconcilerDefaults()
	c.Enabled = true
	for _, f := range change {
		f(&c)
	}
	r, err := NewReconciler(c)
	require.NoError(t, err)
	return r
}

// finish gives all proposals of a plan a result.
func finish(r *Reconciler, now model.Time, plan *autoscale.Plan, outcome autoscale.Outcome) {
	var facts []autoscale.Fact
	for _, p := range plan.Proposals {
		facts = append(facts, autoscale.Fact{Kind: autoscale.FactResult, Seq: p.Seq, Outcome: outcome})
		if outcome == autoscale.Accepted {
			facts = append(facts, autoscale.Fact{Kind: autoscale.FactEntity, Entity: p.Entity, State: autoscale.Draining})
		}
	}
	r.Observe(now, facts)
}

// guards are those of the decisions of a plan, by worker.
func guards(plan *autoscale.Plan) (list []autoscale.Guard) {
	for _, d := range plan.Decisions {
		list = append(list, d.Guard)
	}
	return list
}

// One drain in a cooldown; one that failed is tried again, also in the same cycle.
func TestDrains(t *testing.T) {
	r := reconciler(t, func(c *ReconcilerConfig) { c.MinWorkers = 1 })
	workers(r, 3)
	plan := r.Plan(start)
	require.Equal(t, []autoscale.Guard{"", autoscale.GuardInFlight, autoscale.GuardInFlight}, guards(plan))
	require.Equal(t, autoscale.Drain, plan.Proposals[0].Verb)
	finish(r, start, plan, autoscale.Errored)
	require.EqualValues(t, []int64{1, 0}, []int64{r.Count(ScaleDownFailed), r.Drains()})
	now := start.Add(30 * model.Second)
	require.Empty(t, r.Plan(now-1).Decisions)
	finish(r, now, r.Plan(now), autoscale.Accepted)
	require.EqualValues(t, []int64{1, 2}, []int64{r.Drains(), r.Running()})
	end := now.Add(600 * model.Second)
	for now = now.Add(30 * model.Second); now < end; now = now.Add(30 * model.Second) {
		require.Equal(t, []autoscale.Guard{GuardCoolingDown, GuardCoolingDown}, guards(r.Plan(now)))
	}
	plan = r.Plan(end)
	require.Len(t, plan.Proposals, 1, "at exactly the cooldown")
	finish(r, end, plan, autoscale.Accepted)
	require.Equal(t, []autoscale.Guard{GuardMinWorkers}, guards(r.Plan(end.Add(model.Hour))))
	r.Observe(end, []autoscale.Fact{{Kind: autoscale.FactEntity, Entity: 0, State: autoscale.Stopped}})
	require.EqualValues(t, []int64{1, 3, 2}, []int64{r.Count(Drained), r.Count(Provisioned), r.Count(ScaleDownInitiated)})
	require.EqualValues(t, 38, r.Count(SkippedCooldown))
}

// Without a cooldown several go in one cycle, down to the minimum.
func TestDrainsWithoutCooldown(t *testing.T) {
	r := reconciler(t, func(c *ReconcilerConfig) { c.Cooldown, c.MinWorkers = 0, 2 })
	workers(r, 4)
	plan := r.Plan(start)
	require.Equal(t, []autoscale.Guard{"", "", GuardMinWorkers, GuardMinWorkers}, guards(plan))
	require.EqualValues(t, []uint64{1, 2}, []uint64{plan.Proposals[0].Seq, plan.Proposals[1].Seq})
	require.EqualValues(t, 2, r.Count(SkippedMinWorkers))
	finish(r, start, plan, autoscale.Accepted)
	require.EqualValues(t, 2, r.Running())
}

// Idle is more than the span without activity; a resume snoozes; an operator may keep one.
func TestIdleness(t *testing.T) {
	r := reconciler(t)
	workers(r, 1)
	next := func(now model.Time, facts ...autoscale.Fact) autoscale.Guard {
		r.Observe(now, facts)
		plan := r.Plan(now)
		finish(r, now, plan, autoscale.Errored)
		return plan.Decisions[0].Guard
	}
	used := func(at model.Time, missing bool) autoscale.Fact {
		return autoscale.Fact{Kind: autoscale.FactSample, Metric: Activity, At: at, Missing: missing}
	}
	require.Equal(t, GuardNotIdle, next(start, used(start, false)))
	require.Equal(t, GuardNotIdle, next(start.Add(model.Hour)), "exactly an hour")
	require.Empty(t, next(start.Add(2*model.Hour)))
	require.Equal(t, autoscale.GuardNoMetric, next(start.Add(3*model.Hour), used(0, true)))
	require.Empty(t, next(start.Add(4*model.Hour), used(start, false)))
	require.Equal(t, GuardNotEligible, next(start.Add(5*model.Hour), autoscale.Fact{Kind: autoscale.FactPaused, N: 1}))
	require.Empty(t, next(start.Add(6*model.Hour), autoscale.Fact{Kind: autoscale.FactPaused}))
	resumed := start.Add(7 * model.Hour)
	r.Observe(resumed, []autoscale.Fact{{Kind: autoscale.FactEntity, State: autoscale.Stopped}, {Kind: autoscale.FactEntity, State: autoscale.Ready, At: resumed}})
	r.cfg.IdleAfter = model.Minute
	require.Equal(t, GuardNotEligible, next(resumed.Add(model.Hour-30*model.Second)))
	require.Empty(t, next(resumed.Add(model.Hour)), "exactly the snooze")
}

// Off by default; and where the control plane pauses by itself nothing is left to drain.
func TestOffAndAutoPause(t *testing.T) {
	r, err := NewReconciler(ReconcilerDefaults())
	require.NoError(t, err)
	workers(r, 1)
	plan := r.Plan(start)
	require.Equal(t, []any{GuardOff, RuleIdle, autoscale.Drain}, []any{plan.Decisions[0].Guard, plan.Decisions[0].Rule, plan.Decisions[0].Would.Verb})
	require.Empty(t, plan.Proposals)
	r = reconciler(t, func(c *ReconcilerConfig) { c.AutoPause, c.MinWorkers = true, 5 })
	workers(r, 2)
	plan = r.Plan(start)
	require.Equal(t, []autoscale.Guard{"", GuardAutoPause, "", GuardAutoPause}, guards(plan))
	require.Equal(t, RuleAutoPause, plan.Decisions[0].Rule)
	finish(r, start, plan, autoscale.Accepted)
	require.EqualValues(t, []int64{0, 2, 0}, []int64{r.Drains(), r.Count(SkippedAutoPause), r.Running()})
	plan = r.Plan(start.Add(30 * model.Second))
	require.Empty(t, plan.Decisions, "what drains is not looked at")
	r = reconciler(t, func(c *ReconcilerConfig) { c.AutoPause = true })
	workers(r, 2)
	finish(r, start, r.Plan(start), autoscale.Rejected)
	require.EqualValues(t, 2, r.Running(), "a pause that was refused pauses none")
}

// Whatever happens no more is drained than may be, one at a time in a cooldown.
func TestReconcilerInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := reconciler(t, func(c *ReconcilerConfig) {
			c.MinWorkers, c.Cooldown = rapid.Int64Range(0, 3).Draw(t, "min"), model.Duration(rapid.IntRange(0, 3).Draw(t, "cooldown"))*model.Minute
		})
		n := rapid.IntRange(0, 6).Draw(t, "workers")
		workers(r, n)
		running, last := int64(n), model.Never
		for now := start; now < start.Add(10*model.Minute); now = now.Add(30 * model.Second) {
			for e := range n {
				if rapid.IntRange(0, 9).Draw(t, "used") == 0 {
					r.Observe(now, []autoscale.Fact{{Kind: autoscale.FactSample, Entity: autoscale.Entity(e), At: now}})
				}
			}
			plan := r.Plan(now)
			require.LessOrEqual(t, int64(len(plan.Proposals)), max(0, running-r.cfg.MinWorkers))
			require.False(t, len(plan.Proposals) > 0 && last != model.Never && now.Sub(last) < r.cfg.Cooldown)
			require.False(t, len(plan.Proposals) > 1 && r.cfg.Cooldown > 0)
			if o := rapid.SampledFrom([]autoscale.Outcome{autoscale.Accepted, autoscale.Errored}).Draw(t, "outcome"); len(plan.Proposals) > 0 {
				if o == autoscale.Accepted {
					running, last = running-int64(len(plan.Proposals)), now
				}
				finish(r, now, plan, o)
			}
			require.Equal(t, running, r.Running())
		}
	})
}
