package keda

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/autoscale"
	"orrery/autoscale/hpa"
	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

const start = model.Time(model.Day)

// evaluate makes one evaluation of a scaled object: its size, whether its one trigger is
// active, and how long ago it was, -1 for never.
func evaluate(t require.TestingT, cfg Config, size int64, active, failed bool, ago model.Duration) (autoscale.Decision, *Policy) {
	p, err := New(cfg, nil)
	require.NoError(t, err)
	if ago >= 0 {
		p.Restore(start.Add(-ago))
	}
	f := autoscale.Fact{Kind: autoscale.FactActive, Missing: failed}
	if active {
		f.N = 1
	}
	p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactSize, N: size}, f})
	plan := p.Plan(start)
	require.Len(t, plan.Decisions, 1)
	require.Equal(t, plan.Decisions[0].Proposed(), len(plan.Proposals) == 1)
	return plan.Decisions[0], p
}

func TestActivation(t *testing.T) {
	const cooldown = 300 * model.Second
	cases := []struct {
		name           string
		min, idle      int64
		size           int64
		active, failed bool
		ago            model.Duration
		rule           autoscale.Rule
		guard          autoscale.Guard
		to             int64
	}{
		{"from none to one", 0, -1, 0, true, false, -1, RuleActivate, "", 1},
		{"from none to the minimum", 3, -1, 0, true, false, -1, RuleActivate, "", 3},
		{"below the minimum the other policy decides", 3, -1, 1, true, false, -1, RuleStay, "", 0},
		{"from idle to the minimum", 3, 1, 1, true, false, -1, RuleActivate, "", 3},
		{"active and there", 3, 1, 3, true, false, -1, RuleStay, "", 0},
		{"active and failed", 0, -1, 2, true, true, -1, RuleStay, GuardError, 0},
		{"not known", 0, -1, 2, false, true, 2 * cooldown, RuleStay, GuardError, 0},
		{"after the cooldown to none", 0, -1, 2, false, false, cooldown + 1, RuleDeactivate, "", 0},
		{"exactly the cooldown is not after it", 0, -1, 2, false, false, cooldown, RuleDeactivate, autoscale.GuardCooldown, 0},
		{"to idle", 3, 1, 5, false, false, cooldown + 1, RuleDeactivate, "", 1},
		{"to none where that is idle", 1, 0, 2, false, false, cooldown + 1, RuleDeactivate, "", 0},
		{"idle already", 3, 1, 1, false, false, cooldown + 1, RuleStay, "", 0},
		{"a minimum and no idle", 1, -1, 2, false, false, cooldown + 1, RuleStay, "", 0},
		{"too few", 3, -1, 1, false, false, -1, RuleMinimum, "", 3},
		{"none already", 0, -1, 0, false, false, cooldown + 1, RuleStay, "", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cfg := Defaults()
			cfg.Min, cfg.Idle = c.min, c.idle
			before := start.Add(-c.ago)
			d, p := evaluate(t, cfg, c.size, c.active && !c.failed, c.failed, c.ago)
			if c.active && c.failed { // one trigger of two
				cfg.Triggers = 2
				p, _ = New(cfg, nil)
				p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactSize, N: c.size}, {Kind: autoscale.FactActive, N: 1}, {Kind: autoscale.FactActive, Metric: 1, Missing: true}})
				d = p.Plan(start).Decisions[0]
				require.Equal(t, model.Never, p.LastActive())
			} else if c.active {
				require.Equal(t, start, p.LastActive())
			} else if c.ago >= 0 {
				require.Equal(t, before, p.LastActive())
			}
			require.Equal(t, c.rule, d.Rule)
			require.Equal(t, c.guard, d.Guard)
			if d.Proposed() {
				require.Equal(t, c.to, d.Would.N)
			}
			require.Equal(t, c.guard == "" && c.rule != RuleStay, d.Proposed())
		})
	}
}

// One that was never active goes after the initial cooldown, counted from its creation.
func TestInitialCooldown(t *testing.T) {
	cfg := Defaults()
	cfg.Initial, cfg.Created = model.Minute, start.Add(-model.Minute)
	d, _ := evaluate(t, cfg, 2, false, false, -1)
	require.Equal(t, GuardInitial, d.Guard)
	cfg.Created--
	d, _ = evaluate(t, cfg, 2, false, false, -1)
	require.True(t, d.Proposed())
}

// A pause stops all; without a fact about a trigger its activity is not known.
func TestPaused(t *testing.T) {
	p, err := New(Defaults(), nil)
	require.NoError(t, err)
	p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactSize, N: 2}})
	require.Equal(t, GuardError, p.Plan(start).Decisions[0].Guard)
	p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactPaused, N: 1}, {Kind: autoscale.FactActive}})
	next := start.Add(30 * model.Second)
	require.Empty(t, p.Plan(next-1).Decisions)
	require.Equal(t, GuardPaused, p.Plan(next).Decisions[0].Guard)
	p.Observe(next, []autoscale.Fact{{Kind: autoscale.FactPaused}})
	require.True(t, p.Plan(next.Add(30 * model.Second)).Decisions[0].Proposed())
	require.Equal(t, autoscale.GuardInFlight, p.Plan(next.Add(model.Minute)).Decisions[0].Guard)
}

// beyond is an autoscaler by the ratio to a target of 1.
func beyond(t require.TestingT) *hpa.Policy {
	cfg := hpa.Defaults()
	cfg.Min, cfg.Max, cfg.Down.Window, cfg.Metrics = 1, 10, 0, []hpa.Metric{{Kind: hpa.ServiceRatio, Target: 1}}
	in, err := hpa.New(cfg)
	require.NoError(t, err)
	return in
}

// From none to one by activation, further by the other policy, and back to none.
func TestWithAutoscaler(t *testing.T) {
	p, err := New(Defaults(), beyond(t))
	require.NoError(t, err)
	size, now := int64(0), model.Time(0)
	var sizes []int64
	for range 60 {
		load, active := 4.0, int64(1)
		if now >= model.Time(2*model.Minute) {
			load, active = 0, 0
		}
		p.Observe(now, []autoscale.Fact{{Kind: autoscale.FactSize, N: size}, {Kind: autoscale.FactActive, N: active},
			{Kind: autoscale.FactSample, Entity: autoscale.Whole, Value: load / float64(max(1, size)), At: now}})
		plan := p.Plan(now)
		require.Greater(t, plan.Wake, now)
		for _, x := range plan.Proposals {
			size = x.N
			p.Observe(now, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: x.Seq, Outcome: autoscale.Accepted, N: x.N}})
		}
		if len(sizes) == 0 || sizes[len(sizes)-1] != size {
			sizes = append(sizes, size)
		}
		now = now.Add(15 * model.Second)
	}
	require.Equal(t, []int64{1, 4, 1, 0}, sizes)
}

// The other policy is not consulted at size 0, in a pause, or while a proposal is in flight.
func TestNotConsulted(t *testing.T) {
	p, err := New(Defaults(), beyond(t))
	require.NoError(t, err)
	at := func(seconds int) (now model.Time) { return model.Time(model.Duration(seconds) * model.Second) }
	p.Observe(0, []autoscale.Fact{{Kind: autoscale.FactSize}, {Kind: autoscale.FactActive}, {Kind: autoscale.FactActive, Metric: 1, N: 1},
		{Kind: autoscale.FactSample, Entity: autoscale.Whole, Value: 4}})
	plan := p.Plan(0)
	require.Len(t, plan.Decisions, 1)
	require.Equal(t, at(30), plan.Wake)
	p.Observe(0, []autoscale.Fact{{Kind: autoscale.FactSize, N: 2}, {Kind: autoscale.FactPaused, N: 1}})
	require.Len(t, p.Plan(at(30)).Decisions, 1)
	p.Observe(0, []autoscale.Fact{{Kind: autoscale.FactPaused}, {Kind: autoscale.FactActive, N: 1}})
	plan = p.Plan(at(40))
	require.Equal(t, at(55), plan.Wake) // as the other policy wants
	require.Len(t, plan.Decisions, 1)   // of the other policy alone
	require.EqualValues(t, 6, plan.Proposals[0].N)
	require.Len(t, p.Plan(at(60)).Decisions, 1)
	p.Observe(at(61), []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 7, Outcome: autoscale.Accepted, N: 7}})
	require.EqualValues(t, []uint64{1, 2}, []uint64{p.flying, uint64(p.size)})
	p.Observe(at(61), []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Rejected, N: 6}})
	require.EqualValues(t, []uint64{0, 2}, []uint64{p.flying, uint64(p.size)})
	p.Observe(at(61), []autoscale.Fact{{Kind: autoscale.FactSample, Entity: autoscale.Whole, Value: 4, At: at(61)}})
	require.Len(t, p.Plan(at(75)).Proposals, 1) // the other policy has learnt of the rejection as well
}

// What was granted is the size until another is told; a rejection grants nothing.
func TestGranted(t *testing.T) {
	for outcome, rule := range map[autoscale.Outcome]autoscale.Rule{autoscale.Accepted: RuleStay, autoscale.Rejected: RuleActivate} {
		p, err := New(Defaults(), nil)
		require.NoError(t, err)
		p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactSize}, {Kind: autoscale.FactActive, N: 1}})
		require.Len(t, p.Plan(start).Proposals, 1)
		p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 1, Outcome: outcome, N: 1}})
		require.Equal(t, rule, p.Plan(start.Add(30 * model.Second)).Decisions[0].Rule)
	}
}

// heard is another policy that keeps the numbers of the results that it is told.
type heard struct{ results []uint64 }

func (h *heard) Observe(_ model.Time, facts []autoscale.Fact) {
	for _, f := range facts {
		if f.Kind == autoscale.FactResult {
			h.results = append(h.results, f.Seq)
		}
	}
}

func (h *heard) Plan(model.Time) *autoscale.Plan {
	return &autoscale.Plan{Proposals: []autoscale.Proposal{{Verb: autoscale.SetReplicas, Seq: 70, N: 5, Entity: autoscale.Whole}}, Wake: model.Never}
}

// The other policy is told of its own proposals alone, by its own numbers.
func TestResultsOfTheOther(t *testing.T) {
	other := &heard{}
	p, err := New(Defaults(), other)
	require.NoError(t, err)
	p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactSize}, {Kind: autoscale.FactActive, N: 1}})
	require.Len(t, p.Plan(start).Proposals, 1)
	p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Accepted, N: 1}})
	require.Empty(t, other.results)
	require.Len(t, p.Plan(start.Add(30*model.Second)).Proposals, 1)
	p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 2, Outcome: autoscale.Accepted, N: 5}})
	require.Equal(t, []uint64{70}, other.results)
}

// What holds where nothing is stated.
func TestDefaults(t *testing.T) {
	require.Equal(t, Config{Idle: -1, Triggers: 1, Cooldown: 5 * model.Minute, Interval: 30 * model.Second}, Defaults())
}

// Without an interval each call evaluates, and none is asked for.
func TestEveryCall(t *testing.T) {
	p, err := New(Config{Idle: -1, Triggers: 1}, nil)
	require.NoError(t, err)
	for range 2 {
		plan := p.Plan(start)
		require.Len(t, plan.Decisions, 1)
		require.Equal(t, model.Never, plan.Wake)
	}
}

// The size is never below the idle one nor changed while paused or unknown, and goes to
// idle only after the cooldown.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Defaults()
		cfg.Min = rapid.Int64Range(0, 3).Draw(t, "min")
		cfg.Idle = rapid.Int64Range(-1, cfg.Min-1).Draw(t, "idle")
		cfg.Cooldown = model.Duration(rapid.IntRange(0, 100).Draw(t, "cooldown")) * model.Second
		p, err := New(cfg, nil)
		require.NoError(t, err)
		size, now, last := rapid.Int64Range(0, 5).Draw(t, "size"), model.Time(0), model.AbsentTime
		for range rapid.IntRange(1, 40).Draw(t, "evaluations") {
			active, failed, paused := rapid.Bool().Draw(t, "active"), rapid.IntRange(0, 5).Draw(t, "failed") == 0, rapid.IntRange(0, 5).Draw(t, "paused") == 0
			n := map[bool]int64{true: 1}
			p.Observe(now, []autoscale.Fact{{Kind: autoscale.FactSize, N: size}, {Kind: autoscale.FactPaused, N: n[paused]},
				{Kind: autoscale.FactActive, N: n[active && !failed], Missing: failed}})
			plan := p.Plan(now)
			if paused || failed {
				require.Empty(t, plan.Proposals)
			} else if active {
				last = now
			}
			for _, x := range plan.Proposals {
				if x.N < size {
					require.Equal(t, max(0, cfg.Idle), x.N)
					require.False(t, active)
					require.True(t, last == model.AbsentTime || now.Sub(last) > cfg.Cooldown)
				} else {
					require.Equal(t, max(cfg.Min, 1), x.N)
				}
				p.Observe(now, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: x.Seq, Outcome: autoscale.Accepted, N: x.N}})
				size = x.N
			}
			now = now.Add(30 * model.Second)
		}
	})
}

func TestConfig(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"min": func(c *Config) { c.Min = -1 }, "triggers": func(c *Config) { c.Triggers = 0 }, "cooldown -": func(c *Config) { c.Cooldown = -1 },
		"initial cooldown -": func(c *Config) { c.Initial = -1 }, "interval -": func(c *Config) { c.Interval = -1 },
	} {
		c := Defaults()
		change(&c)
		_, err := New(c, nil)
		require.ErrorContains(t, err, name)
	}
}

func TestAllocations(t *testing.T) {
	p, err := New(Defaults(), beyond(t))
	require.NoError(t, err)
	size, now := int64(1), model.Time(0)
	facts := make([]autoscale.Fact, 3)
	one := func() {
		facts[0] = autoscale.Fact{Kind: autoscale.FactSize, N: size}
		facts[1] = autoscale.Fact{Kind: autoscale.FactActive, N: int64(now / model.Time(10*model.Minute) % 2)}
		facts[2] = autoscale.Fact{Kind: autoscale.FactSample, Entity: autoscale.Whole, Value: float64(now % 7), At: now}
		p.Observe(now, facts)
		for _, x := range p.Plan(now).Proposals {
			size = x.N
			facts[0] = autoscale.Fact{Kind: autoscale.FactResult, Seq: x.Seq, Outcome: autoscale.Accepted, N: x.N}
			p.Observe(now, facts[:1])
		}
		now = now.Add(15*model.Second + 1)
	}
	for range 300 {
		one()
	}
	require.Zero(t, testing.AllocsPerRun(300, one))
}
