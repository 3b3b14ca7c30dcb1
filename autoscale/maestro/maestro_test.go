package maestro

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/autoscale"
	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

const start = model.Time(model.Day)

// room is a trigger of rooms with a window of a number of points.
func trigger(kind Kind, usage, points int64) Trigger {
	return Trigger{Kind: kind, Usage: usage, Threshold: 80, Time: model.Duration(points) * 10 * model.Second}
}

// rooms scales up above 50 % over ten points and down below 30 %.
func rooms(change ...func(c *Config)) Config {
	c := Defaults()
	c.Min, c.Max = 2, 20
	c.Up = Direction{Triggers: []Trigger{trigger(KindRoom, 50, 10)}, Cooldown: 30 * model.Second}
	c.Down = Direction{Triggers: []Trigger{trigger(KindRoom, 30, 10)}, Cooldown: 60 * model.Second}
	for _, f := range change {
		f(&c)
	}
	return c
}

func policy(t require.TestingT, cfg Config) *Policy {
	p, err := New(cfg)
	require.NoError(t, err)
	return p
}

func counts(occupied, ready int64) []autoscale.Fact {
	return []autoscale.Fact{{Kind: autoscale.FactCount, State: autoscale.Busy, N: occupied}, {Kind: autoscale.FactCount, State: autoscale.Ready, N: ready}}
}

// tick makes the next tick with so many rooms, and gives what is proposed a result.
func tick(t require.TestingT, p *Policy, occupied, ready int64, outcome autoscale.Outcome) (autoscale.Decision, int64) {
	now := start
	if p.plan.Wake > 0 { // it has ticked
		now = p.plan.Wake
	}
	p.Observe(now, counts(occupied, ready))
	plan := p.Plan(now)
	require.Len(t, plan.Decisions, 1)
	require.Equal(t, now.Add(10*model.Second), plan.Wake)
	n := int64(0)
	d := plan.Decisions[0]
	for _, x := range plan.Proposals {
		n += x.N
		p.Observe(now, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: x.Seq, Outcome: outcome}})
	}
	return d, n
}

// Nine points of ten above the usage: only then is the share of the window more than 80 %.
func TestThresholdAndCooldown(t *testing.T) {
	p := policy(t, rooms())
	for range 8 {
		d, n := tick(t, p, 6, 4, autoscale.Accepted)
		require.Equal(t, []any{RuleInSync, int64(0)}, []any{d.Rule, n})
	}
	d, n := tick(t, p, 6, 4, autoscale.Accepted)
	require.Equal(t, []any{RuleUp, int64(2), true}, []any{d.Rule, n, d.Proposed()})
	scaled := p.Scaled()
	require.Equal(t, start.Add(80*model.Second), scaled)
	for range 3 { // at 10, 20 and exactly 30 s
		d, _ = tick(t, p, 8, 4, autoscale.Accepted)
		require.Equal(t, []any{RuleUp, autoscale.GuardCooldown, int64(4), Subdimensioned}, []any{d.Rule, d.Guard, d.Would.N, p.State()})
	}
	_, n = tick(t, p, 8, 4, autoscale.Errored)
	require.EqualValues(t, 4, n)
	require.Equal(t, []any{InSync, scaled}, []any{p.State(), p.Scaled()}, "a failure is not noted, but the state is")
	_, n = tick(t, p, 8, 4, autoscale.Rejected)
	require.EqualValues(t, 4, n)
	require.Equal(t, Counters{Started: 3, Finished: 1, Failed: 2}, p.Counters())
}

// A match that the cooldown blocks keeps the size from shrinking in the same tick, and
// leaves a lock that was not free with the state that it had.
func TestBlockedUpSuppressesDown(t *testing.T) {
	c := rooms()
	in := Input{Now: start, Scaled: start, Rooms: Rooms{Occupied: 2, Ready: 8}, Usage: []float32{0.2, 0.6, 0, 0}, Up: [][]float32{{0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6}}, Down: [][]float32{{0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2}}}
	in.Usage[KindCPU] = 0.6
	c.Up.Triggers[0].Kind = KindCPU
	k := c.Check(&in)
	require.Equal(t, Check{Rule: RuleUp, Guard: autoscale.GuardCooldown, Would: 2, State: Subdimensioned}, k)
	in.Scaled = model.Never
	c.Up.Triggers = nil
	require.Equal(t, Check{Rule: RuleDown, Delta: -3, State: Overdimensioned}, c.Check(&in))
	in.Rooms.Ready, in.State = 0, Overdimensioned
	require.Equal(t, Check{Rule: RuleInSync, InSync: true}, c.Check(&in), "at the minimum, and in sync again")
}

// The limit asks neither the threshold nor the cooldown.
func TestLimit(t *testing.T) {
	p := policy(t, rooms())
	p.Restore(InSync, start)
	d, n := tick(t, p, 9, 1, autoscale.Accepted)
	require.Equal(t, []any{RuleLimit, int64(8)}, []any{d.Rule, n})
	p = policy(t, rooms(func(c *Config) { c.Up.Triggers[0].Limit = 95 }))
	d, n = tick(t, p, 9, 1, autoscale.Accepted)
	require.Equal(t, []any{RuleInSync, int64(0)}, []any{d.Rule, n})
}

// Bounds come before triggers and cooldowns.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		occupied, ready int64
		rule            autoscale.Rule
		guard           autoscale.Guard
		n               int64
	}{
		{0, 1, RuleMinimum, "", 1}, {1, 1, RuleInSync, "", 0}, {20, 3, RuleMaximum, "", -3}, {12, 1, RuleLimit, autoscale.GuardMax, 7}, {20, 0, RuleInSync, "", 0},
	} {
		p := policy(t, rooms())
		p.Restore(InSync, start)
		d, n := tick(t, p, c.occupied, c.ready, autoscale.Accepted)
		require.Equal(t, []any{c.rule, c.guard, c.n}, []any{d.Rule, d.Guard, n}, "%+v", c)
	}
	p := policy(t, rooms(func(c *Config) { c.Max, c.MaxScaleUp = 0, 5 }))
	d, n := tick(t, p, 90, 1, autoscale.Accepted)
	require.Equal(t, []any{RuleLimit, GuardStep, int64(5)}, []any{d.Rule, d.Guard, n})
	for _, s := range []State{Creating, Terminating} {
		p.Restore(s, model.Never)
		d, n = tick(t, p, 90, 1, autoscale.Accepted)
		require.Equal(t, []any{RuleNothing, GuardState, int64(0), s}, []any{d.Rule, d.Guard, n, p.State()})
	}
	// At the maximum the decision says what it would have been.
	p = policy(t, rooms())
	for range 9 {
		d, n = tick(t, p, 12, 8, autoscale.Accepted)
	}
	require.Equal(t, []any{RuleUp, autoscale.GuardMax, int64(4), int64(0)}, []any{d.Rule, d.Guard, d.Would.N, n})
}

// As coded the down trigger says how many points of a kind are kept.
func TestPointsKept(t *testing.T) {
	for fix, want := range map[bool]int{false: 5, true: 11} {
		p := policy(t, rooms(func(c *Config) { c.Down.Triggers[0].Time, c.LargerWindow = 40*model.Second, fix }))
		for range 20 {
			tick(t, p, 4, 6, autoscale.Accepted)
		}
		require.Len(t, p.rings[KindRoom], want)
	}
}

// One point more than the window counts, the threshold is the share of the window, and a
// point equal to the usage counts in neither direction.
func TestBeyond(t *testing.T) {
	c := Defaults()
	x := Trigger{Usage: 50, Threshold: 70, Time: 40 * model.Second}
	list := func(v ...float32) []float32 { return v }
	require.True(t, c.Beyond(&x, list(0.6, 0.6, 0.6), true), "three of a window of four")
	require.False(t, c.Beyond(&x, list(0.6, 0.6), true))
	require.True(t, c.Beyond(&x, list(0.1, 0.1, 0.6, 0.6, 0.6), true))
	require.False(t, c.Beyond(&x, list(0.1, 0.1, 0.6, 0.6, 0.1, 0.6), true), "the sixth is one too many")
	require.False(t, c.Beyond(&x, list(0.5, 0.5, 0.5, 0.5), true))
	require.False(t, c.Beyond(&x, list(0.5, 0.5, 0.5, 0.5), false))
	x.Threshold = 75
	require.False(t, c.Beyond(&x, list(0.6, 0.6, 0.6), true), "exactly the threshold")
	nan := float32(math.NaN())
	require.False(t, c.Beyond(&x, list(nan, nan, nan, nan), true))
}

// Ready rooms go, drawn by the seed; what is occupied stays.
func TestRoomsToTerminate(t *testing.T) {
	drained := func(seed uint64) (list []autoscale.Entity, d autoscale.Decision) {
		p := policy(t, rooms(func(c *Config) { c.Seed, c.Max = seed, 10 }))
		var facts []autoscale.Fact
		for e := range autoscale.Entity(16) {
			s := autoscale.Busy
			if e%4 == 3 {
				s = autoscale.Ready
			}
			facts = append(facts, autoscale.Fact{Kind: autoscale.FactEntity, Entity: e, State: s})
		}
		p.Observe(start, facts)
		plan := p.Plan(start)
		for _, x := range plan.Proposals {
			require.Equal(t, autoscale.Drain, x.Verb)
			require.EqualValues(t, 3, x.Entity%4)
			list = append(list, x.Entity)
		}
		for i, x := range plan.Proposals {
			require.Equal(t, i > 0, p.Scaled() == model.Never && p.flying.done, "not before the last result")
			p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: x.Seq, Outcome: autoscale.Accepted}})
		}
		require.Equal(t, start, p.Scaled())
		return list, plan.Decisions[0]
	}
	a, d := drained(1)
	require.Len(t, a, 4)
	require.Equal(t, []any{RuleMaximum, GuardReady, int64(-6)}, []any{d.Rule, d.Guard, d.Would.N})
	again, _ := drained(1)
	require.Equal(t, a, again)
	differs := false
	for seed := uint64(2); seed < 9; seed++ {
		b, _ := drained(seed)
		require.ElementsMatch(t, a, b)
		differs = differs || b[0] != a[0]
	}
	require.True(t, differs)
}

// Use of CPU and memory is the sum over the rooms that have a sample.
func TestResources(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		m    autoscale.Metric
		use  float64
		want int64
	}{{KindCPU, CPU, 500, -2}, {KindCPU, CPU, 900, 3}, {KindMemory, Memory, 600e6, -2}, {KindMemory, Memory, 950e6, 3}} {
		up := trigger(c.kind, 70, 1)
		cfg := rooms(func(x *Config) { x.Up.Triggers, x.Down.Triggers = []Trigger{up}, []Trigger{up} })
		p := policy(t, cfg)
		var facts []autoscale.Fact
		for e := range autoscale.Entity(10) {
			facts = append(facts, autoscale.Fact{Kind: autoscale.FactEntity, Entity: e, State: autoscale.Ready, Resources: autoscale.Resources{CPU: 1000, Memory: 1 << 30}})
		}
		p.Observe(start, facts)
		require.Equal(t, RuleInSync, p.Plan(start).Decisions[0].Rule, "no sample, no match")
		for e := range autoscale.Entity(10) {
			p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactSample, Entity: e, Metric: c.m, Value: c.use}})
		}
		next := start.Add(10 * model.Second)
		p.Plan(next)
		require.Equal(t, c.want, p.Last().Delta)
		p.Observe(next, []autoscale.Fact{{Kind: autoscale.FactEntity, Entity: 3, State: autoscale.Stopped}, {Kind: autoscale.FactEntity, Entity: 4, State: autoscale.Draining}})
		require.Equal(t, Rooms{Ready: 8, Terminating: 1}, p.rooms)
	}
}

// A panic scales by the step when a room becomes occupied, before the next tick.
func TestPanic(t *testing.T) {
	p := policy(t, rooms(func(c *Config) { c.Panic, c.Up.Delta, c.MaxScaleUp = true, 7, 3 }))
	_, n := tick(t, p, 5, 5, autoscale.Accepted)
	require.Zero(t, n)
	p.Observe(start, counts(9, 1))
	require.Empty(t, p.Plan(start).Decisions, "exactly at the limit")
	p.Observe(start, counts(10, 1))
	plan := p.Plan(start)
	require.Equal(t, []any{RulePanic, int64(7)}, []any{plan.Decisions[0].Rule, plan.Proposals[0].N})
	p.Observe(start, counts(11, 0))
	require.Equal(t, autoscale.GuardInFlight, p.Plan(start).Decisions[0].Guard)
	p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Accepted}})
	require.EqualValues(t, 1, p.Counters().Panics)
	require.Empty(t, p.Plan(start).Decisions, "none has become occupied")
	p.Observe(start, counts(18, 1))
	require.Equal(t, autoscale.GuardMax, p.Plan(start).Decisions[0].Guard)
	p.Observe(start, counts(20, 0))
	require.Empty(t, p.Plan(start).Proposals)
}

// queue is a kind of its own: rooms for a queue of players.
type queue struct{}

func (queue) Usage(_ Rooms, value float64) float32 { return float32(value) }
func (queue) Delta(t *Trigger, r Rooms, usage float32) int64 {
	return int64(usage*100)/t.Usage - r.Available()
}

func TestRegisteredKinds(t *testing.T) {
	cfg := rooms(func(c *Config) {
		c.Scalers = []Scaler{queue{}}
		c.Up.Triggers = []Trigger{trigger(Custom, 10, 1)}
		c.Up.Triggers[0].Limit = 1000
	})
	p := policy(t, cfg)
	p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactSample, Metric: autoscale.Metric(Custom), Entity: autoscale.Whole, Value: 1.2}})
	d, n := tick(t, p, 5, 5, autoscale.Accepted)
	require.Equal(t, []any{RuleUp, int64(2)}, []any{d.Rule, n})
	cfg.Up.Triggers[0].Kind++
	_, err := New(cfg)
	require.Error(t, err)
}

func TestPlain(t *testing.T) {
	x := DefaultTrigger()
	require.Equal(t, []Kind{KindRoom, KindLegacy}, []Kind{Plain(x, false).Kind, Plain(x, true).Kind})
	require.EqualValues(t, 7, Delta(&Trigger{Kind: KindLegacy, Delta: 7, Usage: 1}, Rooms{}, 0))
}

func TestConfigurations(t *testing.T) {
	for _, f := range []func(c *Config){
		func(c *Config) { c.Max = 1 }, func(c *Config) { c.Period = 0 }, func(c *Config) { c.MaxScaleUp = 0 }, func(c *Config) { c.Up.Cooldown = -1 },
		func(c *Config) { c.Up.Triggers[0].Usage = 0 }, func(c *Config) { c.Down.Triggers[0].Time = -1 }, func(c *Config) { c.Panic, c.Up.Triggers = true, nil },
	} {
		_, err := New(rooms(f))
		require.Error(t, err)
	}
	for _, f := range []func(c *V10Config){
		func(c *V10Config) { c.Min = -1 }, func(c *V10Config) { c.Min, c.Max = 2, 1 }, func(c *V10Config) { c.ReadyTarget = 1 }, func(c *V10Config) { c.MaxMatches = 0 }, func(c *V10Config) { c.Period = 0 },
	} {
		c := V10Defaults()
		f(&c)
		_, err := NewV10(c)
		require.Error(t, err)
	}
}

// Whatever happens, sizes stay within the bounds, one change is in flight at a time, none
// is made without a metric, and a cooldown holds back all but limits and bounds.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := rooms(func(c *Config) {
			c.LargerWindow = rapid.Bool().Draw(t, "larger")
			c.Up.Triggers = append(c.Up.Triggers, trigger(KindCPU, 60, 3))
			c.Down.Triggers = append(c.Down.Triggers, trigger(KindCPU, 20, 3))
			c.Panic, c.Up.Delta = rapid.Bool().Draw(t, "panic"), 3
		})
		p := policy(t, cfg)
		var flying []uint64
		scaled := model.Never
		for now := start; now < start.Add(10*model.Minute); now = now.Add(5 * model.Second) {
			occupied, ready := rapid.Int64Range(0, 20).Draw(t, "occupied"), rapid.Int64Range(0, 8).Draw(t, "ready")
			p.Observe(now, counts(occupied, ready))
			p.Observe(now, []autoscale.Fact{{Kind: autoscale.FactSample, Metric: CPU, Entity: autoscale.Whole, Value: rapid.Float64Range(0, 1).Draw(t, "cpu"), Missing: rapid.Bool().Draw(t, "missing")}})
			plan := p.Plan(now)
			for _, x := range plan.Proposals {
				require.Empty(t, flying)
				flying = append(flying, x.Seq)
				n := occupied + ready + x.N
				require.True(t, n >= cfg.Min && n <= cfg.Max, "%d", n)
			}
			for _, d := range plan.Decisions {
				require.False(t, d.Proposed() && (d.Guard == autoscale.GuardCooldown || d.Guard == autoscale.GuardInFlight || d.Guard == GuardState))
				if d.Proposed() && scaled != model.Never {
					require.False(t, d.Rule == RuleUp && now.Sub(scaled) <= cfg.Up.Cooldown)
					require.False(t, d.Rule == RuleDown && now.Sub(scaled) <= cfg.Down.Cooldown)
				}
			}
			if len(flying) > 0 && rapid.Bool().Draw(t, "answer") {
				o := rapid.SampledFrom([]autoscale.Outcome{autoscale.Accepted, autoscale.Rejected, autoscale.Errored}).Draw(t, "outcome")
				p.Observe(now, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: flying[0], Outcome: o}})
				if flying = nil; o == autoscale.Accepted {
					scaled = now
				}
			}
			require.Equal(t, scaled, p.Scaled())
		}
	})
}

// Version 10: shrinks after its cooldown and while enough stays free.
func TestV10(t *testing.T) {
	cfg := V10Defaults()
	cfg.Min, cfg.Max, cfg.ReadyTarget, cfg.DownThreshold, cfg.DownCooldown = 1, 40, 0.5, 0.6, model.Minute
	p, err := NewV10(cfg)
	require.NoError(t, err)
	now := start
	evaluate := func(occupied, ready, running, free int64) autoscale.Decision {
		p.Observe(now, counts(occupied, ready))
		p.Observe(now, []autoscale.Fact{
			{Kind: autoscale.FactSample, Metric: RunningMatches, Entity: autoscale.Whole, Value: float64(running)}, {Kind: autoscale.FactSample, Metric: FreeMatches, Entity: autoscale.Whole, Value: float64(free)},
		})
		plan := p.Plan(now)
		d := plan.Decisions[0]
		now = now.Add(10 * model.Second)
		for _, x := range plan.Proposals {
			p.Observe(now, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: x.Seq, Outcome: autoscale.Accepted}})
		}
		return d
	}
	require.Equal(t, autoscale.GuardNoMetric, p.Plan(now).Decisions[0].Guard)
	now = now.Add(10 * model.Second)
	require.EqualValues(t, 16, evaluate(8, 2, 8, 2).Would.N)
	require.Equal(t, GuardNoRatio, evaluate(8, 12, 8, 12).Guard)
	d := evaluate(8, 14, 8, 14)
	require.Equal(t, []any{int64(16), true}, []any{d.Would.N, d.Proposed()})
	for range 5 {
		require.Equal(t, autoscale.GuardCooldown, evaluate(4, 16, 4, 16).Guard)
	}
	require.True(t, evaluate(20, 0, 20, 0).Proposed(), "up has no cooldown")
	require.EqualValues(t, 8, evaluate(4, 16, 4, 16).Would.N)
	d = evaluate(30, 0, 30, 0)
	require.Equal(t, []any{RuleMaximum, int64(40)}, []any{d.Rule, d.Would.N})

	cfg.ReadyTarget, cfg.Buffer = 0, 5
	p, err = NewV10(cfg)
	require.NoError(t, err)
	p.Observe(now, []autoscale.Fact{{Kind: autoscale.FactCount, State: autoscale.Requested, N: 2}, {Kind: autoscale.FactCount, State: autoscale.Busy, N: 10}})
	d = p.Plan(now).Decisions[0]
	require.Equal(t, []any{RuleBuffer, int64(17)}, []any{d.Rule, d.Would.N})
	require.Equal(t, autoscale.GuardInFlight, p.Plan(now.Add(10 * model.Second)).Decisions[0].Guard)
}

// A tick allocates nothing.
func TestAllocations(t *testing.T) {
	p := policy(t, rooms())
	var facts []autoscale.Fact
	for e := range autoscale.Entity(16) {
		facts = append(facts, autoscale.Fact{Kind: autoscale.FactEntity, Entity: e, State: autoscale.Ready, Resources: autoscale.Resources{CPU: 1000}})
	}
	p.Observe(start, facts)
	now, i := start, 0
	one := make([]autoscale.Fact, 1)
	p.ready, p.plan.Proposals = make([]autoscale.Entity, 0, 16), make([]autoscale.Proposal, 0, 16)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		now = now.Add(10 * model.Second)
		i++
		one[0] = autoscale.Fact{Kind: autoscale.FactEntity, Entity: autoscale.Entity(i % 16), State: [...]autoscale.State{autoscale.Ready, autoscale.Busy}[i/16%2]}
		p.Observe(now, one)
		for _, x := range p.Plan(now).Proposals {
			one[0] = autoscale.Fact{Kind: autoscale.FactResult, Seq: x.Seq, Outcome: autoscale.Accepted}
			p.Observe(now, one)
		}
	}))
}

func BenchmarkTick(b *testing.B) {
	p := policy(b, rooms())
	p.Observe(start, counts(4, 6))
	now := start
	b.ReportAllocs()
	for range b.N {
		now = now.Add(10 * model.Second)
		p.Plan(now)
	}
}
