package kpa

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

func config() Config {
	c := Defaults()
	c.Target, c.Total, c.BurstCapacity = 10, 12, 100
	return c
}

// loop drives a policy whose proposals are granted, and ready, at once.
type loop struct {
	t    require.TestingT
	p    *Policy
	now  model.Time
	size int64
}

func newLoop(t require.TestingT, cfg Config, size int64) *loop {
	p, err := New(cfg)
	require.NoError(t, err)
	return &loop{t: t, p: p, size: size}
}

// step gives one evaluation its averages, NaN for none.
func (l *loop) step(stable, panicking float64) autoscale.Decision {
	l.p.Observe(l.now, []autoscale.Fact{
		{Kind: autoscale.FactSize, N: l.size}, {Kind: autoscale.FactCount, State: autoscale.Ready, N: l.size},
		{Kind: autoscale.FactSample, Metric: Stable, Value: stable, At: l.now, Missing: math.IsNaN(stable)},
		{Kind: autoscale.FactSample, Metric: Panic, Value: panicking, At: l.now, Missing: math.IsNaN(panicking)},
	})
	plan := l.p.Plan(l.now)
	require.Len(l.t, plan.Decisions, 1)
	d := plan.Decisions[0]
	require.Equal(l.t, d.Proposed(), len(plan.Proposals) == 1)
	if d.Proposed() {
		x := plan.Proposals[0]
		l.p.Observe(l.now, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: x.Seq, Outcome: autoscale.Accepted, N: x.N}})
		l.size = x.N
	}
	l.now = l.now.Add(l.p.cfg.Interval)
	return d
}

// A surge begins a panic at twice what is ready. It ends when the stable window has
// passed since the last breach, and one tick more; then the size may shrink, by half.
func TestPanic(t *testing.T) {
	l := newLoop(t, config(), 1)
	require.Equal(t, RulePanic, l.step(10, 19).Rule, "2 over 1 is the threshold")
	l = newLoop(t, config(), 2)
	l.p.Restore(0, false, 0)
	require.Equal(t, RuleStable, l.step(15, 30).Rule)
	require.EqualValues(t, 2, l.size)
	d := l.step(15, 31)
	require.Equal(t, RulePanic, d.Rule)
	require.Empty(t, d.Guard)
	require.EqualValues(t, 4, l.size)
	for range 30 {
		d = l.step(5, 5)
		require.Equal(t, RulePanic, d.Rule)
		require.Equal(t, GuardPanic, d.Guard)
	}
	d = l.step(5, 5)
	require.Equal(t, RuleStable, d.Rule)
	require.Equal(t, GuardDownRate, d.Guard)
	require.EqualValues(t, 2, l.size)
}

// A restarted policy that finds several replicas begins in panic.
func TestBeginsInPanic(t *testing.T) {
	l := newLoop(t, config(), 5)
	require.Equal(t, GuardPanic, l.step(10, 10).Guard)
	require.EqualValues(t, 5, l.size)
	l = newLoop(t, config(), 1)
	require.Equal(t, RuleStable, l.step(10, 10).Rule)
}

func TestRates(t *testing.T) {
	cfg := config()
	cfg.MaxUp, cfg.MaxDown, cfg.PanicThreshold = 1.1, 3, 100
	l := newLoop(t, cfg, 0)
	l.p.Restore(0, false, 0)
	require.Equal(t, GuardUpRate, l.step(100, 100).Guard)
	require.EqualValues(t, 2, l.size)
	l.size = 10
	require.Equal(t, GuardDownRate, l.step(10, 10).Guard)
	require.EqualValues(t, 3, l.size)
	cfg.Reachable = false
	require.NoError(t, l.p.Update(cfg))
	l.size = 10
	l.step(10, 10)
	require.EqualValues(t, 1, l.size)
}

// The size is the largest demanded within the delay; at its end the demand leaves.
func TestDelay(t *testing.T) {
	cfg := config()
	cfg.DownDelay, cfg.MaxDown, cfg.PanicThreshold = 20*model.Second, 100, 100
	l := newLoop(t, cfg, 1)
	l.step(50, 50)
	for range 4 {
		require.Equal(t, GuardDelay, l.step(20, 20).Guard)
	}
	for range 5 {
		l.step(10, 10)
		require.EqualValues(t, 5, l.size)
	}
	for range 4 {
		l.step(10, 10)
		require.EqualValues(t, 2, l.size)
	}
	l.step(10, 10)
	require.EqualValues(t, 1, l.size)
}

// A demand that is made again is held from then on. What is not reachable waits for nothing.
func TestDelayAgain(t *testing.T) {
	cfg := config()
	cfg.DownDelay, cfg.MaxDown, cfg.PanicThreshold, cfg.Interval = 20*model.Second, 100, 100, 0
	l := newLoop(t, cfg, 1)
	for _, c := range []struct {
		at         model.Duration
		load, want float64
	}{{0, 50, 5}, {10, 50, 5}, {20, 10, 5}, {29, 10, 5}, {30, 10, 1}, {30, 50, 5}} {
		l.now = model.Time(c.at * model.Second)
		l.step(c.load, c.load)
		require.EqualValues(t, c.want, l.size, "%v", c)
	}
	require.Equal(t, model.Never, l.p.Plan(l.now).Wake)
	cfg.Reachable = false
	require.NoError(t, l.p.Update(cfg))
	l.step(10, 10)
	require.EqualValues(t, 1, l.size)
}

func TestBounds(t *testing.T) {
	cfg := config()
	cfg.Min, cfg.Max, cfg.Activation, cfg.PanicThreshold = 2, 6, 3, 1000
	l := newLoop(t, cfg, 4)
	l.p.Restore(0, false, 0)
	require.Equal(t, autoscale.GuardMax, l.step(90, 90).Guard)
	require.EqualValues(t, 6, l.size)
	l.step(1, 1)
	require.EqualValues(t, 3, l.size)
	require.Equal(t, autoscale.GuardMin, l.step(0, 0).Guard)
	require.EqualValues(t, 2, l.size)
}

// The last replica stays for the grace.
func TestToZero(t *testing.T) {
	l := newLoop(t, config(), 1)
	l.step(1, 1)
	for range 15 {
		require.Equal(t, GuardGrace, l.step(0, 0).Guard)
		require.EqualValues(t, 1, l.size)
	}
	l.step(0, 0)
	require.Zero(t, l.size)
	require.False(t, l.step(0, 0).Proposed())
	l.step(1, 1)
	require.EqualValues(t, 1, l.size)
}

func TestBurst(t *testing.T) {
	for want, c := range map[int64]struct{ capacity, load float64 }{0: {0, 5}, -1: {-1, 5}, 36 - 20 - 6: {20, 5.5}, 36 - 40 - 5: {40, 5}} {
		cfg := config()
		cfg.BurstCapacity = c.capacity
		l := newLoop(t, cfg, 3)
		l.step(30, c.load)
		require.Equal(t, want, l.p.Last().Burst)
	}
}

// Without a metric nothing changes, and one that is too old is none.
func TestNoMetric(t *testing.T) {
	l := newLoop(t, config(), 3)
	require.Equal(t, autoscale.GuardNoMetric, l.step(math.NaN(), 50).Guard)
	require.Equal(t, autoscale.GuardNoMetric, l.step(50, math.NaN()).Guard)
	require.False(t, l.p.Last().Valid)
	l.step(30, 30)
	require.True(t, l.p.Last().Valid)
	at := l.now.Add(-l.p.cfg.Interval)
	require.NotEqual(t, autoscale.GuardNoMetric, l.p.Plan(at.Add(10 * model.Second)).Decisions[0].Guard)
	require.Empty(t, l.p.Plan(at.Add(10*model.Second+1)).Decisions)
	require.Equal(t, autoscale.GuardNoMetric, l.p.Plan(at.Add(12 * model.Second)).Decisions[0].Guard)
}

func TestInFlight(t *testing.T) {
	l := newLoop(t, config(), 1)
	l.p.Observe(0, []autoscale.Fact{{Kind: autoscale.FactSize, N: 1}, {Kind: autoscale.FactCount, State: autoscale.Ready, N: 1},
		{Kind: autoscale.FactSample, Metric: Stable, Value: 50}, {Kind: autoscale.FactSample, Metric: Panic, Value: 50}})
	require.Len(t, l.p.Plan(0).Proposals, 1)
	plan := l.p.Plan(model.Time(2 * model.Second))
	require.Empty(t, plan.Proposals)
	require.Equal(t, autoscale.GuardInFlight, plan.Decisions[0].Guard)
	l.p.Observe(0, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Rejected}})
	require.Len(t, l.p.Plan(model.Time(4*model.Second)).Proposals, 1)
}

// A panic that is restored goes on from now, one that runs keeps its beginning.
func TestRestore(t *testing.T) {
	cfg := config()
	cfg.Interval, cfg.StableWindow, cfg.MaxAge = 10*model.Second, 20*model.Second, model.Forever
	l := newLoop(t, cfg, 3)
	l.p.Restore(0, true, 3)
	for _, want := range []bool{true, true, true, false} { // 0, 10, 20, 30 s
		l.p.Restore(l.now, l.p.panicAt != model.Never, 3)
		l.step(30, 30)
		require.Equal(t, want, l.p.Last().Panicking)
	}
	l.step(math.NaN(), 30)
	require.False(t, l.p.Last().Panicking)
	l.p.Restore(l.now, true, 3)
	l.step(math.NaN(), 30)
	require.True(t, l.p.Last().Panicking)
	require.False(t, l.p.Last().Valid)
}

// Only ready replicas count, and only the result of what is in flight.
func TestObserves(t *testing.T) {
	l := newLoop(t, config(), 2)
	l.p.Restore(0, false, 0)
	l.p.Observe(0, []autoscale.Fact{{Kind: autoscale.FactCount, State: autoscale.Ready, N: 2}, {Kind: autoscale.FactCount, State: autoscale.Starting, N: 50},
		{Kind: autoscale.FactSize, State: autoscale.Ready, N: 2}, {Kind: autoscale.FactResult, Outcome: autoscale.Accepted, N: 9},
		{Kind: autoscale.FactSample, Metric: Stable, Value: 30}, {Kind: autoscale.FactSample, Metric: Panic, Value: 30}, {Kind: autoscale.FactSample, Metric: 2, Value: 900}})
	require.EqualValues(t, 3, l.p.Plan(0).Proposals[0].N)
	l.p.Observe(0, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 9, Outcome: autoscale.Accepted, N: 9}})
	require.EqualValues(t, []int64{2, 2}, []int64{l.p.ready, l.p.size})
	l.p.Observe(0, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Rejected, N: 9}})
	require.EqualValues(t, 2, l.p.size)
	require.Zero(t, l.p.flying)
}

// A guard is named only where it takes something away.
func TestGuardsAtTheirEdge(t *testing.T) {
	cfg := config()
	cfg.Min, cfg.Max, cfg.MaxUp, cfg.MaxDown, cfg.PanicThreshold = 2, 4, 2, 2, 100
	for _, c := range []struct {
		size  int64
		load  float64
		guard autoscale.Guard
	}{{4, 20, ""}, {4, 19, ""}, {4, 10, GuardDownRate}, {2, 40, ""}, {3, 41, autoscale.GuardMax}, {1, 20, ""}, {1, 30, GuardUpRate}, {3, 0, autoscale.GuardMin}} {
		l := newLoop(t, cfg, c.size)
		l.p.Restore(0, false, 0)
		require.Equal(t, c.guard, l.step(c.load, c.load).Guard, "%+v", c)
	}
}

func TestConfig(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"target": func(c *Config) { c.Target = 0 }, "rates": func(c *Config) { c.MaxUp = 1 }, "threshold": func(c *Config) { c.PanicThreshold = 1 },
		"max": func(c *Config) { c.Min, c.Max = 3, 2 }, "delay": func(c *Config) { c.DownDelay = -1 },
	} {
		c := config()
		change(&c)
		_, err := New(c)
		require.ErrorContains(t, err, name)
	}
}

// naive is the rule with all of the past at hand.
type naive struct {
	cfg      Config
	at       []model.Time
	wants    []int64
	breach   model.Time
	panicked int64
	in       bool
}

func (n *naive) evaluate(now model.Time, size int64, stable, panicking float64) int64 {
	ready := float64(max(1, size))
	within := func(load float64) int64 {
		want := math.Ceil(load / n.cfg.Target)
		want = max(want, math.Floor(ready/n.cfg.MaxDown))
		return int64(min(want, math.Ceil(ready*n.cfg.MaxUp)))
	}
	if math.Ceil(panicking/n.cfg.Target) >= n.cfg.PanicThreshold*ready {
		n.in, n.breach = true, now
	} else if n.in && now.Sub(n.breach) > n.cfg.StableWindow {
		n.in, n.panicked = false, 0
	}
	want := within(stable)
	if n.in {
		n.panicked = max(n.panicked, want, within(panicking))
		want = n.panicked
	}
	n.at, n.wants = append(n.at, now), append(n.wants, want)
	for i, w := range n.wants {
		if now/model.Time(grain)-n.at[i]/model.Time(grain) < model.Time(n.cfg.DownDelay/grain) {
			want = max(want, w)
		}
	}
	return want
}

// The policy decides as the naive one, never shrinks in panic and stays within its rates.
func TestAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := config()
		cfg.MaxUp, cfg.MaxDown = rapid.SampledFrom([]float64{1.1, 2, 10}).Draw(t, "up"), rapid.SampledFrom([]float64{1.5, 2, 10}).Draw(t, "down")
		cfg.StableWindow = model.Duration(rapid.IntRange(1, 20).Draw(t, "window")) * model.Second
		cfg.DownDelay = model.Duration(2*rapid.IntRange(0, 10).Draw(t, "delay")) * model.Second
		cfg.ZeroGrace, cfg.Activation = 0, 0
		l := newLoop(t, cfg, rapid.Int64Range(0, 10).Draw(t, "size"))
		l.p.Restore(0, false, 0)
		n := &naive{cfg: cfg}
		for range rapid.IntRange(1, 80).Draw(t, "evaluations") {
			stable := rapid.SampledFrom([]float64{0, 5, 10, 11, 30, 100, 400}).Draw(t, "stable")
			panicking := rapid.SampledFrom([]float64{0, 5, 20, 20.5, 40, 200, 400}).Draw(t, "panic")
			before := l.size
			want := n.evaluate(l.now, before, stable, panicking)
			d := l.step(stable, panicking)
			require.Equal(t, want, l.size)
			if d.Rule == RulePanic {
				require.GreaterOrEqual(t, l.size, min(before, l.p.maxPanic))
			}
		}
	})
}

func TestAllocations(t *testing.T) {
	cfg := config()
	cfg.DownDelay = model.Minute
	l := newLoop(t, cfg, 3)
	facts := []autoscale.Fact{{Kind: autoscale.FactSample, Metric: Stable}, {Kind: autoscale.FactSample, Metric: Panic}}
	i := 0
	one := func() {
		for j := range facts {
			facts[j].At, facts[j].Value = l.now, float64(10*(i*7919%13))
		}
		i++
		l.p.Observe(l.now, facts)
		l.p.Plan(l.now)
		l.now = l.now.Add(2 * model.Second)
	}
	for range 500 {
		one()
	}
	require.Zero(t, testing.AllocsPerRun(500, one))
}

// One decision by the averages of both windows.
func BenchmarkDecision(b *testing.B) {
	l := newLoop(b, config(), 3)
	facts := []autoscale.Fact{{Kind: autoscale.FactSample, Metric: Stable}, {Kind: autoscale.FactSample, Metric: Panic}, {Kind: autoscale.FactCount, State: autoscale.Ready}}
	b.ReportAllocs()
	for i := range b.N {
		for j := range 2 {
			facts[j].At, facts[j].Value = l.now, float64(i>>6%10*10)
		}
		facts[2].N = l.size
		l.p.Observe(l.now, facts)
		for _, x := range l.p.Plan(l.now).Proposals {
			l.size = x.N
			l.p.Observe(l.now, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: x.Seq, Outcome: autoscale.Accepted, N: x.N}})
		}
		l.now = l.now.Add(2 * model.Second)
	}
}
