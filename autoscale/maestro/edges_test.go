package maestro

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/autoscale"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
)

// The state is stored when it differs, and by the limit in any case.
func TestChanged(t *testing.T) {
	for _, c := range []struct {
		rule          autoscale.Rule
		before, state State
		want          bool
	}{{RuleUp, InSync, Subdimensioned, true}, {RuleUp, Subdimensioned, Subdimensioned, false}, {RuleLimit, Subdimensioned, Subdimensioned, true}, {RuleInSync, InSync, InSync, false}} {
		require.Equal(t, c.want, (&Check{Rule: c.rule, State: c.state}).Changed(c.before), "%+v", c)
	}
}

// A down trigger whose change is not negative matches nothing.
func TestDownTriggersOnlyShrink(t *testing.T) {
	c := rooms(func(c *Config) { c.Up.Triggers = nil })
	in := Input{Now: start, Scaled: start, Rooms: Rooms{Occupied: 2, Ready: 8}, Usage: []float32{0.2, 0, 0, 0.2}, Down: [][]float32{{0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2}}}
	for _, delta := range []int64{0, 1} {
		c.Down.Triggers[0].Kind, c.Down.Triggers[0].Delta = KindLegacy, delta
		require.Equal(t, Check{Rule: RuleInSync, InSync: true}, c.Check(&in))
	}
}

// An up trigger whose change is not positive matches nothing, but for the limit.
func TestUpTriggersOnlyGrow(t *testing.T) {
	c := rooms(func(c *Config) { c.Down.Triggers = nil })
	in := Input{Now: start, Scaled: start, Rooms: Rooms{Occupied: 8, Ready: 2}, Usage: []float32{0.8, 0, 0, 0.8}, Up: [][]float32{{0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8}}}
	for _, delta := range []int64{0, -1} {
		c.Up.Triggers[0].Kind, c.Up.Triggers[0].Delta = KindLegacy, delta
		require.Equal(t, Check{Rule: RuleInSync, InSync: true}, c.Check(&in))
		c.Up.Triggers[0].Limit = 80
		require.Equal(t, Check{Rule: RuleLimit, Delta: delta, State: Subdimensioned}, c.Check(&in), "as coded")
		c.Up.Triggers[0].Limit = 81
		require.Equal(t, Check{Rule: RuleInSync, InSync: true}, c.Check(&in))
		in.Rooms = Rooms{Occupied: 16, Ready: 4}
		require.Equal(t, Check{Rule: RuleInSync, InSync: true}, c.Check(&in), "at the maximum")
		in.Rooms = Rooms{Occupied: 8, Ready: 2}
	}
}

// Without a maximum nothing but the minimum bounds; at a bound nothing is left to do.
func TestClamps(t *testing.T) {
	for _, c := range []struct{ amount, current, least, most, up, down int64 }{
		{3, 19, 1, 0, 3, 3}, {30, 19, 1, 0, 30, 18}, {3, 6, 1, 6, 0, 3}, {3, 3, 3, 6, 3, 0}, {1, 1, 3, 6, 2, 0}, {1, 9, 3, 6, 0, 3}, {2, 4, 3, 6, 2, 1}, {1, 2, 0, 1, 0, 1}, {1, 3, 0, 1, 0, 2}, {2, 0, 0, 1, 1, 0},
	} {
		require.Equal(t, []int64{c.up, c.down}, []int64{ClampUp(c.amount, c.current, c.least, c.most), ClampDown(c.amount, c.current, c.least, c.most)}, "%+v", c)
	}
}

// A usage that is not known matches nothing, whatever the points of before say.
func TestUnknownUsage(t *testing.T) {
	c := rooms()
	in := Input{Now: start, Scaled: start, Rooms: Rooms{Occupied: 8, Ready: 2}, Up: [][]float32{{0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8}}, Down: [][]float32{{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}}}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		in.Usage = []float32{float32(v), float32(v), 0, 0}
		for _, k := range []Kind{KindRoom, KindCPU} {
			c.Up.Triggers[0].Kind, c.Down.Triggers[0].Kind = k, k
			require.Equal(t, Check{Rule: RuleInSync, InSync: true}, c.Check(&in))
		}
	}
	in.Usage, in.Up, in.Down = []float32{0.8, 0, 0, 0}, nil, nil
	c.Up.Triggers[0].Kind, c.Down.Triggers[0].Kind = KindRoom, KindRoom
	require.Equal(t, Check{Rule: RuleInSync, InSync: true}, c.Check(&in), "no points")
}

// What is exactly the largest step is not cut, and a change of none removes nothing.
func TestWithin(t *testing.T) {
	c := rooms()
	for _, x := range []struct {
		delta, want int64
		guard       autoscale.Guard
	}{{5, 5, ""}, {6, 5, GuardStep}, {11, 5, GuardStep}, {-8, -8, ""}, {-9, -8, autoscale.GuardMin}} {
		n, g := c.Within(x.delta, 10, 5)
		require.Equal(t, []any{x.want, x.guard}, []any{n, g}, "%+v", x)
	}
	n, g := c.Within(0, 25, 5)
	require.Equal(t, []any{int64(0), autoscale.GuardNone}, []any{n, g}, "beyond the maximum of 20")
}

// A room that becomes occupied is one that was not before, by number as by counts.
func TestPanicByRooms(t *testing.T) {
	p := policy(t, rooms(func(c *Config) { c.Panic, c.Up.Delta, c.Min = true, 1, 0 }))
	enter := func(e autoscale.Entity, s autoscale.State) int {
		p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactEntity, Entity: e, State: s}})
		n := 0
		for _, d := range p.Plan(start).Decisions {
			if d.Rule == RulePanic {
				n++
			}
		}
		return n
	}
	p.Plan(start)
	require.Zero(t, enter(1, autoscale.Ready))
	require.Equal(t, 1, enter(1, autoscale.Busy))
	require.Zero(t, enter(1, autoscale.Busy))
	require.Zero(t, enter(2, autoscale.Draining))
	require.Equal(t, Rooms{Occupied: 1, Terminating: 1}, p.rooms)
	require.Equal(t, 1, enter(3, autoscale.Busy))
}

// Samples of series and rooms that a policy does not have change nothing.
func TestForeignSamples(t *testing.T) {
	p := policy(t, rooms())
	p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactEntity, Entity: 1, State: autoscale.Ready, Resources: autoscale.Resources{CPU: 1000}}})
	for _, f := range []autoscale.Fact{
		{Metric: -1, Entity: autoscale.Whole}, {Metric: autoscale.Metric(Custom), Entity: autoscale.Whole}, {Metric: 99, Entity: autoscale.Whole}, {Metric: CPU, Entity: 7}, {Metric: 2, Entity: 1}, {Metric: -1, Entity: 1},
		{Metric: autoscale.Metric(KindMemory), Entity: autoscale.Whole}, {Metric: autoscale.Metric(KindLegacy), Entity: autoscale.Whole}, {Metric: Memory, Entity: 1, Missing: true},
	} {
		f.Kind, f.Value = autoscale.FactSample, 500
		p.Observe(start, []autoscale.Fact{f})
	}
	p.Plan(start)
	for k, v := range p.in.Usage {
		require.True(t, Kind(k) == KindRoom || Kind(k) == KindLegacy || v != v, "%v", p.in.Usage)
	}
	for k, v := range p.whole {
		require.True(t, v != v, "%d", k)
	}
}

// Version 10 shrinks at exactly its threshold, proposes nothing where nothing is to change,
// and goes by its own series and results.
func TestV10Edges(t *testing.T) {
	cfg := V10Defaults()
	cfg.ReadyTarget, cfg.DownThreshold, cfg.MaxMatches = 0.5, 0.6, 2
	require.True(t, cfg.CanShrink(120, 200))
	require.False(t, cfg.CanShrink(120, 199))
	p, err := NewV10(cfg)
	require.NoError(t, err)
	sample := func(m autoscale.Metric, e autoscale.Entity, v float64) autoscale.Fact {
		return autoscale.Fact{Kind: autoscale.FactSample, Metric: m, Entity: e, Value: v}
	}
	p.Observe(start, counts(8, 8))
	p.Observe(start, []autoscale.Fact{sample(RunningMatches, autoscale.Whole, 16), sample(FreeMatches, autoscale.Whole, 16), sample(RunningMatches, 3, 99), sample(2, autoscale.Whole, 99)})
	plan := p.Plan(start)
	require.Empty(t, plan.Proposals, "16 rooms it is")
	require.False(t, plan.Decisions[0].Proposed())
	p.Observe(start, counts(8, 4))
	next := start.Add(10 * model.Second)
	require.Len(t, p.Plan(next).Proposals, 1)
	p.Observe(next, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 9, Outcome: autoscale.Accepted}, {Kind: autoscale.FactSample, Metric: 7, Seq: 1}})
	require.Equal(t, autoscale.GuardInFlight, p.Plan(next.Add(10 * model.Second)).Decisions[0].Guard)
	p.Observe(next, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Rejected}})
	require.True(t, p.Plan(next.Add(20 * model.Second)).Decisions[0].Proposed())
	require.Equal(t, model.Never, p.down)
}

// A fixed buffer has no threshold, and no maximum unless there is one; at exactly the
// cooldown it may shrink.
func TestV10Buffer(t *testing.T) {
	cfg := V10Defaults()
	cfg.Buffer, cfg.DownThreshold, cfg.DownCooldown = 3, 0, model.Minute
	p, err := NewV10(cfg)
	require.NoError(t, err)
	p.Observe(start, counts(50, 9))
	p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactResult}})
	d := p.Plan(start).Decisions[0]
	require.Equal(t, []any{RuleBuffer, int64(53), true}, []any{d.Rule, d.Would.N, d.Proposed()})
	p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Accepted}})
	require.Equal(t, autoscale.GuardCooldown, p.Plan(start.Add(50 * model.Second)).Decisions[0].Guard)
	require.True(t, p.Plan(start.Add(model.Minute)).Decisions[0].Proposed())
}

// Numbers of rooms that have stopped are given again.
func TestRoomsComeAgain(t *testing.T) {
	p := policy(t, rooms())
	for _, s := range []autoscale.State{autoscale.Ready, autoscale.Stopped, autoscale.Busy} {
		p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactEntity, Entity: 1, State: s}})
	}
	require.Equal(t, Rooms{Occupied: 1}, p.rooms)
}

// Bounds that are equal or none, no cooldowns, steps of one room, and changes of one are all there may be.
func TestLeast(t *testing.T) {
	for _, least := range []int64{0, 3} {
		v := V10Defaults()
		v.Min, v.Max = least, least
		_, err := NewV10(v)
		require.NoError(t, err)
		v.Max = 0
		_, err = NewV10(v)
		require.NoError(t, err, "no maximum")
	}
	policy(t, rooms(func(c *Config) { c.Min, c.Max, c.Up.Cooldown, c.Down.Cooldown, c.Period = 0, 0, 0, 0, 1 }))
	c := rooms(func(c *Config) { c.Min, c.Max, c.MaxScaleUp, c.Down.Triggers = 7, 7, 1, nil })
	policy(t, c)
	c.Max = 20
	c.Up.Triggers[0].Kind, c.Up.Triggers[0].Delta = KindLegacy, 1
	in := Input{Now: start, Scaled: start.Add(-model.Hour), Rooms: Rooms{Occupied: 8, Ready: 2}, Usage: []float32{0.8, 0, 0, 0.8}, Up: [][]float32{{0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8}}}
	got := c.Check(&in)
	require.Equal(t, []any{RuleUp, int64(1), int64(0)}, []any{got.Rule, got.Delta, got.Would}, "and nothing held it back")
	c.Max = 10
	require.Equal(t, Check{Rule: RuleUp, Guard: autoscale.GuardMax, Would: 1, InSync: true}, c.Check(&in))
	c.Min, c.Max = 0, 1
	require.Equal(t, Check{Rule: RuleMaximum, Delta: -9, InSync: true}, c.Check(&in))
}

// Of down triggers the first that matches counts; in the cooldown it is told.
func TestDownTriggers(t *testing.T) {
	c := rooms(func(c *Config) { c.Up.Triggers = nil })
	c.Down.Triggers = append([]Trigger{trigger(KindRoom, 10, 10)}, c.Down.Triggers...)
	points := []float32{0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2}
	in := Input{Now: start, Scaled: start, Rooms: Rooms{Occupied: 2, Ready: 8}, Usage: []float32{0.2, 0, 0, 0}, Down: [][]float32{points, points}}
	require.Equal(t, Check{Rule: RuleDown, Guard: autoscale.GuardCooldown, Would: -3, State: Overdimensioned}, c.Check(&in))
	in.Scaled = model.Never
	require.Equal(t, Check{Rule: RuleDown, Delta: -3, State: Overdimensioned}, c.Check(&in))
}

// The use of CPU and memory is rounded to hundredths of the target.
func TestRatio(t *testing.T) {
	for usage, want := range map[float32]int64{0.5: 0, 0.505: 10, 0.5024: 0, 1: 1000, 0.25: -500} {
		require.Equal(t, want, Delta(&Trigger{Kind: KindCPU, Usage: 50}, Rooms{Ready: 1000}, usage), "%v", usage)
	}
}

// Each draw of rooms has a number of its own, counted up.
func TestDrawsAreCounted(t *testing.T) {
	p := policy(t, rooms(func(c *Config) { c.Seed = 5 }))
	for e := range autoscale.Entity(8) {
		p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactEntity, Entity: e, State: autoscale.Ready}})
	}
	for n := range uint64(3) {
		p.plan.Reset()
		p.terminate(1)
		source := draw.New(5, stream, n, 0)
		require.EqualValues(t, source.Uint64()%8, p.plan.Proposals[0].Entity)
	}
}

// A room that becomes occupied among many free ones is no panic; among few it adds rooms, be it one.
func TestPanicOnlyWhenFull(t *testing.T) {
	p := policy(t, rooms(func(c *Config) { c.Panic, c.Up.Delta, c.Min, c.Up.Triggers[0].Limit = true, 1, 0, 50 }))
	panics := func(e autoscale.Entity, s autoscale.State) (n int) {
		p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactEntity, Entity: e, State: s}})
		plan := p.Plan(start)
		for _, d := range plan.Decisions {
			if d.Rule == RulePanic && d.Proposed() {
				n++
			}
		}
		return n
	}
	p.Plan(start)
	for e := range autoscale.Entity(4) {
		require.Zero(t, panics(e, autoscale.Ready))
	}
	require.Zero(t, panics(0, autoscale.Busy))
	require.Zero(t, panics(1, autoscale.Busy), "exactly the limit")
	require.Equal(t, 1, panics(2, autoscale.Busy))
}

// Of several triggers in the cooldown the first is told, and a tick with a change in flight says so.
func TestFirstGuardIsTold(t *testing.T) {
	c := rooms(func(c *Config) { c.Down.Triggers = nil })
	c.Up.Triggers = append(c.Up.Triggers, c.Up.Triggers[0])
	for i, delta := range []int64{3, 5} {
		c.Up.Triggers[i].Kind, c.Up.Triggers[i].Delta = KindLegacy, delta
	}
	points := []float32{0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8}
	in := Input{Now: start, Scaled: start, Rooms: Rooms{Occupied: 8, Ready: 2}, Usage: []float32{0.8, 0, 0, 0.8}, Up: [][]float32{points, points}}
	got := c.Check(&in)
	require.Equal(t, []any{autoscale.GuardCooldown, int64(3)}, []any{got.Guard, got.Would})

	p := policy(t, rooms())
	p.Observe(start, counts(1, 0))
	require.Len(t, p.Plan(start).Proposals, 1, "below the least")
	d := p.Plan(start.Add(10 * model.Second)).Decisions[0]
	require.Equal(t, autoscale.GuardInFlight, d.Guard)
	require.EqualValues(t, 1, d.Would.N)
}

// There is no panic while the scheduler is being created or deleted, and none beyond one room
// where that is the most.
func TestPanicIsHeldBack(t *testing.T) {
	for _, s := range []State{Creating, Terminating} {
		p := policy(t, rooms(func(c *Config) { c.Panic, c.Up.Delta, c.Min = true, 1, 0 }))
		p.Plan(start)
		p.in.State = s
		p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactEntity, Entity: 1, State: autoscale.Busy}})
		require.Empty(t, p.Plan(start).Decisions)
	}
	p := policy(t, rooms(func(c *Config) { c.Panic, c.Up.Delta, c.Min, c.Max = true, 1, 0, 1 }))
	p.Plan(start)
	p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactEntity, Entity: 1, State: autoscale.Busy}})
	plan := p.Plan(start)
	require.Empty(t, plan.Proposals)
	require.Equal(t, autoscale.GuardMax, plan.Decisions[0].Guard)
	require.Zero(t, p.counters.Panics)
}

// Rooms that stop without having been there, and counts of states that rooms are not in,
// change nothing.
func TestUnknownRoomsAndStates(t *testing.T) {
	p := policy(t, rooms())
	for _, f := range []autoscale.Fact{{Entity: 5, State: autoscale.Ready}, {Entity: 3, State: autoscale.Stopped}, {Entity: 9, State: autoscale.Failed}, {Entity: 5, State: autoscale.Busy}} {
		f.Kind = autoscale.FactEntity
		p.Observe(start, []autoscale.Fact{f})
	}
	require.Equal(t, Rooms{Occupied: 1}, p.rooms)
	stopped := []autoscale.Fact{{Kind: autoscale.FactCount, State: autoscale.Stopped, N: 9}, {Kind: autoscale.FactCount, State: autoscale.Failed, N: 9}}
	p.Observe(start, append(counts(6, 4), stopped...))
	require.Equal(t, Rooms{Occupied: 6, Ready: 4}, p.rooms)
	v, err := NewV10(V10Defaults())
	require.NoError(t, err)
	v.Observe(start, append(counts(6, 4), stopped...))
	require.Equal(t, Rooms{Occupied: 6, Ready: 4}, v.rooms)
}

// A trigger needs some usage, and neither a threshold, a span nor a limit; none may be negative.
func TestLeastTrigger(t *testing.T) {
	for _, c := range []struct {
		trigger Trigger
		ok      bool
	}{
		{Trigger{Usage: 1}, true}, {Trigger{Usage: 1, Threshold: -1}, false}, {Trigger{Usage: 1, Time: -1}, false}, {Trigger{Usage: 1, Limit: -1}, false}, {Trigger{}, false},
	} {
		for _, up := range []bool{true, false} {
			_, err := New(rooms(func(cfg *Config) {
				if up {
					cfg.Up.Triggers[0] = c.trigger
				} else {
					cfg.Down.Triggers[0] = c.trigger
				}
			}))
			require.Equal(t, c.ok, err == nil, "%+v", c)
		}
	}
}

// What holds where nothing is stated.
func TestDefaults(t *testing.T) {
	require.Equal(t, Trigger{Kind: KindRoom, Usage: 80, Threshold: 80, Time: 10 * model.Minute, Limit: 90, Delta: 1}, DefaultTrigger())
	require.Equal(t, Config{Period: 10 * model.Second, MaxScaleUp: 300}, Defaults())
	require.Equal(t, V10Config{MaxMatches: 1, DownThreshold: 0.99, Period: 10 * model.Second}, V10Defaults())
}
