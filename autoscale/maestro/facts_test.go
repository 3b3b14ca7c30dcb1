package maestro

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/autoscale"
	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
)

func enters(e autoscale.Entity, s autoscale.State) autoscale.Fact {
	return autoscale.Fact{Kind: autoscale.FactEntity, Entity: e, State: s}
}

func counted(s autoscale.State, n int64) autoscale.Fact {
	return autoscale.Fact{Kind: autoscale.FactCount, State: s, N: n}
}

func result(seq uint64, o autoscale.Outcome) autoscale.Fact {
	return autoscale.Fact{Kind: autoscale.FactResult, Seq: seq, Outcome: o}
}

// Counts that are told are those of all rooms, whatever is known by number.
func TestCountsComeFirst(t *testing.T) {
	p := policy(t, rooms())
	for _, c := range []struct {
		fact autoscale.Fact
		want Rooms
	}{
		{enters(1, autoscale.Ready), Rooms{Ready: 1}}, {counted(autoscale.Busy, 3), Rooms{Occupied: 3}},
		{enters(1, autoscale.Busy), Rooms{Occupied: 3}}, {counted(autoscale.Ready, 2), Rooms{Occupied: 3, Ready: 2}},
	} {
		p.Observe(start, []autoscale.Fact{c.fact})
		require.Equal(t, c.want, p.rooms, "%+v", c.fact)
	}
}

// By counts a room has become occupied when more are than before. Without a maximum none
// holds a panic back.
func TestPanicByCounts(t *testing.T) {
	p := policy(t, rooms(func(c *Config) { c.Panic, c.Up.Delta, c.Min, c.Max = true, 1, 0, 0 }))
	p.Plan(start)
	for i, c := range []struct {
		fact  autoscale.Fact
		panic bool
	}{
		{counted(autoscale.Busy, 90), true}, {counted(autoscale.Busy, 90), false}, {counted(autoscale.Ready, 2), false},
		{counted(autoscale.Busy, 89), false}, {counted(autoscale.Busy, 90), true},
	} {
		p.Observe(start, []autoscale.Fact{c.fact})
		plan := p.Plan(start)
		require.Equal(t, c.panic, len(plan.Proposals) == 1, "%d", i)
		require.Equal(t, c.panic, len(plan.Decisions) == 1, "%d", i)
		for _, x := range plan.Proposals {
			require.EqualValues(t, 1, x.N)
			p.Observe(start, []autoscale.Fact{result(x.Seq, autoscale.Rejected)})
		}
	}
	require.EqualValues(t, 2, p.Counters().Panics)
}

// A panic that adds no rooms is none.
func TestPanicOfNothing(t *testing.T) {
	p := policy(t, rooms(func(c *Config) { c.Panic, c.Min = true, 0 }))
	p.Plan(start)
	p.Observe(start, counts(10, 0))
	require.Equal(t, RulePanic, p.Plan(start).Decisions[0].Rule)
	require.Zero(t, p.Counters())
	require.Equal(t, model.Never, p.Scaled())
}

// Results of other proposals than those in flight change nothing.
func TestForeignResults(t *testing.T) {
	p := policy(t, rooms())
	p.Observe(start, counts(1, 0))
	told := func(seq uint64, started, finished int64) {
		p.Observe(start, []autoscale.Fact{result(seq, autoscale.Accepted)})
		require.Equal(t, Counters{Started: started, Finished: finished}, p.Counters(), "%d", seq)
	}
	told(1, 0, 0) // none is in flight yet
	require.Len(t, p.Plan(start).Proposals, 1)
	told(0, 1, 0)
	told(2, 1, 0)
	told(1, 1, 1)
	told(1, 1, 1) // not any more
	require.Len(t, p.Plan(start.Add(10*model.Second)).Proposals, 1)
	told(1, 2, 1)
	told(3, 2, 1)
	told(2, 2, 2)
}

// Use is that of the rooms that are there, of what they have, and that of the whole where
// none has a sample. What a series could not give is not known.
func TestUse(t *testing.T) {
	p := policy(t, rooms(func(c *Config) { c.Up.Triggers[0].Kind = KindCPU }))
	sample := func(e autoscale.Entity, m autoscale.Metric, v float64) autoscale.Fact {
		return autoscale.Fact{Kind: autoscale.FactSample, Entity: e, Metric: m, Value: v}
	}
	has := enters(1, autoscale.Ready)
	has.Resources = autoscale.Resources{CPU: 1000}
	second := has
	second.Entity = 2
	missing := sample(autoscale.Whole, CPU, 0.3)
	missing.Missing = true
	now := start
	for _, c := range []struct {
		facts []autoscale.Fact
		want  float32 // -1 for not known
	}{
		{[]autoscale.Fact{has}, -1}, {[]autoscale.Fact{sample(1, CPU, 500)}, 0.5}, {[]autoscale.Fact{enters(0, autoscale.Ready)}, 0.5}, // without a sample
		{[]autoscale.Fact{enters(1, autoscale.Busy)}, 0.5}, // what it has is not told anew
		{[]autoscale.Fact{second, sample(2, CPU, 1000)}, 0.75}, {[]autoscale.Fact{enters(2, autoscale.Failed)}, 0.5},
		{[]autoscale.Fact{sample(autoscale.Whole, CPU, 0.9)}, 0.5}, {[]autoscale.Fact{enters(1, autoscale.Stopped)}, 0.9}, {[]autoscale.Fact{missing}, -1},
	} {
		p.Observe(now, c.facts)
		p.Plan(now)
		now = now.Add(10 * model.Second)
		if got := p.in.Usage[KindCPU]; c.want >= 0 {
			require.Equal(t, c.want, got, "%+v", c)
		} else {
			require.NotEqual(t, got, got, "%+v", c)
		}
	}
}

// A decision says what it would have been only where something was to be done.
func TestNothingToTell(t *testing.T) {
	p := policy(t, rooms())
	for i, c := range []struct {
		occupied, ready int64
		state           State
		proposals       int
		want            autoscale.Decision
	}{
		{4, 6, InSync, 0, autoscale.Decision{Rule: RuleInSync}}, {4, 6, Creating, 0, autoscale.Decision{Rule: RuleNothing, Guard: GuardState}},
		{1, 0, InSync, 1, autoscale.Decision{Rule: RuleMinimum, Would: autoscale.Proposal{Verb: autoscale.Scale, Seq: 1, N: 1, Entity: autoscale.Whole}}},
		{4, 6, InSync, 0, autoscale.Decision{Rule: RuleInSync}}, // the change is in flight, and no other is called for
	} {
		now := start.Add(model.Duration(i) * 10 * model.Second)
		p.Restore(c.state, model.Never)
		p.Observe(now, counts(c.occupied, c.ready))
		plan := p.Plan(now)
		c.want.Entity = autoscale.Whole
		require.Len(t, plan.Proposals, c.proposals)
		require.Equal(t, []autoscale.Decision{c.want}, plan.Decisions, "%d", i)
	}
}

// numbered is a policy for 2 to 8 rooms that knows so many by number, the first ones ready.
func numbered(t *testing.T, ready, occupied autoscale.Entity) *Policy {
	p := policy(t, rooms(func(c *Config) { c.Seed, c.Max = 5, 8 }))
	for e := range ready + occupied {
		s := autoscale.Busy
		if e < ready {
			s = autoscale.Ready
		}
		p.Observe(start, []autoscale.Fact{enters(e, s)})
	}
	return p
}

// Where exactly as many are ready as are to go, nothing stood in the way.
func TestAllThatAreReady(t *testing.T) {
	plan := numbered(t, 3, 8).Plan(start)
	require.Len(t, plan.Proposals, 3)
	require.Equal(t, autoscale.GuardNone, plan.Decisions[0].Guard)
}

// Where no room is ready none goes, none is drawn, and the change counts as made: as well
// where counts say that some are.
func TestNoneIsReady(t *testing.T) {
	p := numbered(t, 0, 10)
	plan := p.Plan(start)
	require.Empty(t, plan.Proposals)
	require.Equal(t, []any{GuardReady, int64(-2), false}, []any{plan.Decisions[0].Guard, plan.Decisions[0].Would.N, plan.Decisions[0].Proposed()})
	require.Equal(t, start, p.Scaled())
	require.Zero(t, p.Counters())
	for e := range autoscale.Entity(5) {
		p.Observe(start, []autoscale.Fact{enters(e, autoscale.Ready)})
	}
	source := draw.New(5, stream, 0, 0)
	require.EqualValues(t, source.Uint64()%5, p.Plan(start.Add(10 * model.Second)).Proposals[0].Entity, "by the first draw")

	p = numbered(t, 0, 1)
	p.Observe(start, counts(8, 2))
	plan = p.Plan(start)
	require.Empty(t, plan.Proposals)
	require.Equal(t, []any{GuardReady, false}, []any{plan.Decisions[0].Guard, plan.Decisions[0].Proposed()})
	p.Observe(start, counts(1, 0))
	require.Len(t, p.Plan(start.Add(10*model.Second)).Proposals, 1, "nothing is in flight")
}

// fixed is version 10 with a buffer of 3 rooms, told its counts.
func fixed(t *testing.T, occupied, ready int64) *V10 {
	cfg := V10Defaults()
	cfg.Min, cfg.Max, cfg.Buffer, cfg.DownCooldown = 5, 20, 3, model.Minute
	p, err := NewV10(cfg)
	require.NoError(t, err)
	p.Observe(start, counts(occupied, ready))
	return p
}

// A bound is what decided only where it was passed, and at the size that is wanted nothing
// is to be done.
func TestV10Bounds(t *testing.T) {
	for _, c := range []struct {
		occupied, ready int64
		rule            autoscale.Rule
	}{{2, 3, RuleBuffer}, {1, 4, RuleMinimum}, {17, 3, RuleBuffer}, {18, 2, RuleMaximum}} {
		plan := fixed(t, c.occupied, c.ready).Plan(start)
		require.Empty(t, plan.Proposals)
		require.Equal(t, []autoscale.Decision{{Rule: c.rule, Entity: autoscale.Whole}}, plan.Decisions)
	}
}

// Rooms that are allocated count, one may be the most, and without any match none is free.
func TestV10Rooms(t *testing.T) {
	p := fixed(t, 10, 5)
	p.Observe(start, []autoscale.Fact{counted(autoscale.Requested, 2)})
	require.EqualValues(t, 15, p.Plan(start).Proposals[0].N, "of 17")
	p = fixed(t, 10, 3)
	p.Observe(start, []autoscale.Fact{counted(autoscale.Requested, 2)})
	require.Empty(t, p.Plan(start).Proposals, "15 it is")

	p = fixed(t, 1, 0)
	p.cfg.Min, p.cfg.Max = 0, 1
	require.Equal(t, []autoscale.Decision{{Rule: RuleMaximum, Entity: autoscale.Whole}}, p.Plan(start).Decisions)

	cfg := V10Defaults()
	cfg.ReadyTarget, cfg.Period = 0.5, 1
	p, err := NewV10(cfg)
	require.NoError(t, err)
	none := []autoscale.Fact{{Kind: autoscale.FactSample, Entity: autoscale.Whole, Metric: RunningMatches}, {Kind: autoscale.FactSample, Entity: autoscale.Whole, Metric: FreeMatches}}
	p.Observe(start, append(none, counts(0, 4)...))
	d := p.Plan(start).Decisions[0]
	require.Equal(t, []any{RuleOccupancy, GuardNoRatio, int64(0)}, []any{d.Rule, d.Guard, d.Would.N})
}

// Both series are needed, and there is one decision each period.
func TestV10Known(t *testing.T) {
	cfg := V10Defaults()
	cfg.ReadyTarget = 0.5
	for _, known := range []autoscale.Metric{RunningMatches, FreeMatches} {
		p, err := NewV10(cfg)
		require.NoError(t, err)
		p.Observe(start, []autoscale.Fact{{Kind: autoscale.FactSample, Entity: autoscale.Whole, Metric: known, Value: 3}})
		require.Equal(t, autoscale.GuardNoMetric, p.Plan(start).Decisions[0].Guard)
		require.Empty(t, p.Plan(start.Add(10*model.Second)-1).Decisions)
		require.Len(t, p.Plan(start.Add(10*model.Second)).Decisions, 1)
	}
}

// A change is one down, and begins the cooldown, when there are more rooms than it asks for
// as its result comes.
func TestV10Down(t *testing.T) {
	for ready, want := range map[int64]autoscale.Guard{5: autoscale.GuardCooldown, 3: autoscale.GuardNone} {
		p := fixed(t, 10, 5)
		require.EqualValues(t, 13, p.Plan(start).Proposals[0].N)
		p.Observe(start, append(counts(10, ready), result(1, autoscale.Accepted)))
		p.Observe(start, counts(9, 5))
		require.Equal(t, want, p.Plan(start.Add(10 * model.Second)).Decisions[0].Guard)
	}
}
