package kpa

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/autoscale"
	"orrery/autoscale/internal/policytest"
	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

func config() Config {
	c := Defaults()
	c.Target, c.Total, c.BurstCapacity = 10, 12, 100
	return c
}

// loop drives a policy whose proposals are granted, and ready, at once.
type loop struct{ policytest.Loop[*Policy] }

func newLoop(t require.TestingT, cfg Config, size int64) *loop {
	p, err := New(cfg)
	require.NoError(t, err)
	return &loop{policytest.New(t, p, cfg.Interval, size)}
}

// step gives one evaluation its averages, NaN for none.
func (l *loop) step(stable, panicking float64) autoscale.Decision {
	return l.Step(
		autoscale.Fact{Kind: autoscale.FactSize, N: l.Size}, autoscale.Fact{Kind: autoscale.FactCount, State: autoscale.Ready, N: l.Size},
		autoscale.Fact{Kind: autoscale.FactSample, Metric: Stable, Value: stable, At: l.Now, Missing: math.IsNaN(stable)},
		autoscale.Fact{Kind: autoscale.FactSample, Metric: Panic, Value: panicking, At: l.Now, Missing: math.IsNaN(panicking)})
}

// A surge begins a panic at twice what is ready. It ends when the stable window has
// passed since the last breach, and one tick more; then the size may shrink, by half.
func TestPanic(t *testing.T) {
	l := newLoop(t, config(), 1)
	require.Equal(t, RulePanic, l.step(10, 19).Rule, "2 over 1 is the threshold")
	l = newLoop(t, config(), 2)
	l.Policy.Restore(0, false, 0)
	require.Equal(t, RuleStable, l.step(15, 30).Rule)
	require.EqualValues(t, 2, l.Size)
	d := l.step(15, 31)
	require.Equal(t, RulePanic, d.Rule)
	require.Empty(t, d.Guard)
	require.EqualValues(t, 4, l.Size)
	d = l.step(15, 31)
	require.Equal(t, RulePanic, d.Rule)
	require.Empty(t, d.Guard, "the panic keeps nothing that is not called for")
	for range 29 {
		d = l.step(5, 5)
		require.Equal(t, RulePanic, d.Rule)
		require.Equal(t, GuardPanic, d.Guard)
	}
	d = l.step(5, 5)
	require.Equal(t, RuleStable, d.Rule)
	require.Equal(t, GuardDownRate, d.Guard)
	require.EqualValues(t, 2, l.Size)
}

// A restarted policy that finds several replicas begins in panic.
func TestBeginsInPanic(t *testing.T) {
	l := newLoop(t, config(), 5)
	require.Equal(t, GuardPanic, l.step(10, 10).Guard)
	require.EqualValues(t, 5, l.Size)
	require.Equal(t, RulePanic, newLoop(t, config(), 2).step(10, 10).Rule)
	require.Equal(t, RuleStable, newLoop(t, config(), 1).step(10, 10).Rule)
}

func TestRates(t *testing.T) {
	cfg := config()
	cfg.MaxUp, cfg.MaxDown, cfg.PanicThreshold = 1.1, 3, 100
	l := newLoop(t, cfg, 0)
	l.Policy.Restore(0, false, 0)
	require.Equal(t, GuardUpRate, l.step(100, 100).Guard)
	require.EqualValues(t, 2, l.Size)
	l.Size = 10
	require.Equal(t, GuardDownRate, l.step(10, 10).Guard)
	require.EqualValues(t, 3, l.Size)
	cfg.Reachable = false
	require.NoError(t, l.Policy.Update(cfg))
	l.Size = 10
	l.step(10, 10)
	require.EqualValues(t, 1, l.Size)
}

// The size is the largest demanded within the delay; at its end the demand leaves.
func TestDelay(t *testing.T) {
	cfg := config()
	cfg.DownDelay, cfg.MaxDown, cfg.PanicThreshold = 20*model.Second, 100, 100
	l := newLoop(t, cfg, 1)
	require.Empty(t, l.step(50, 50).Guard, "nothing is held back")
	for range 4 {
		require.Equal(t, GuardDelay, l.step(20, 20).Guard)
	}
	for range 5 {
		l.step(10, 10)
		require.EqualValues(t, 5, l.Size)
	}
	for range 4 {
		l.step(10, 10)
		require.EqualValues(t, 2, l.Size)
	}
	l.step(10, 10)
	require.EqualValues(t, 1, l.Size)
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
		l.Now = model.Time(c.at * model.Second)
		l.step(c.load, c.load)
		require.EqualValues(t, c.want, l.Size, "%v", c)
	}
	require.Equal(t, model.Never, l.Policy.Plan(l.Now).Wake)
	cfg.Reachable = false
	require.NoError(t, l.Policy.Update(cfg))
	l.step(10, 10)
	require.EqualValues(t, 1, l.Size)
}

func TestBounds(t *testing.T) {
	cfg := config()
	cfg.Min, cfg.Max, cfg.Activation, cfg.MaxDown, cfg.PanicThreshold = 2, 6, 3, 6, 1000
	l := newLoop(t, cfg, 4)
	l.Policy.Restore(0, false, 0)
	require.Equal(t, autoscale.GuardMax, l.step(90, 90).Guard)
	require.EqualValues(t, 6, l.Size)
	l.step(1, 1)
	require.EqualValues(t, 3, l.Size)
	require.Equal(t, autoscale.GuardMin, l.step(0, 0).Guard)
	require.EqualValues(t, 2, l.Size)
	cfg = config()
	cfg.Max = 1
	l = newLoop(t, cfg, 1)
	require.Equal(t, autoscale.GuardMax, l.step(90, 90).Guard)
	require.EqualValues(t, 1, l.Size)
}

// The last replica stays for the grace.
func TestToZero(t *testing.T) {
	l := newLoop(t, config(), 1)
	l.step(1, 1)
	for range 15 {
		require.Equal(t, GuardGrace, l.step(0, 0).Guard)
		require.EqualValues(t, 1, l.Size)
	}
	l.step(0, 0)
	require.Zero(t, l.Size)
	require.False(t, l.step(0, 0).Proposed())
	l.step(1, 1)
	require.EqualValues(t, 1, l.Size)
	none := newLoop(t, config(), 0)
	require.False(t, none.step(0, 0).Proposed(), "where there is none no last one stays")
}

func TestBurst(t *testing.T) {
	for want, c := range map[int64]struct{ capacity, load float64 }{0: {0, 5}, -1: {-1, 5}, 36 - 20 - 6: {20, 5.5}, 36 - 40 - 5: {40, 5}} {
		cfg := config()
		cfg.BurstCapacity = c.capacity
		l := newLoop(t, cfg, 3)
		l.step(30, c.load)
		require.Equal(t, want, l.Policy.Last().Burst)
	}
}

// Without a metric nothing changes, and one that is too old is none.
func TestNoMetric(t *testing.T) {
	l := newLoop(t, config(), 3)
	require.Equal(t, autoscale.GuardNoMetric, l.step(math.NaN(), 50).Guard)
	require.Equal(t, autoscale.GuardNoMetric, l.step(50, math.NaN()).Guard)
	require.False(t, l.Policy.Last().Valid)
	l.step(30, 30)
	require.True(t, l.Policy.Last().Valid)
	at := l.Now.Add(-l.Policy.cfg.Interval)
	require.NotEqual(t, autoscale.GuardNoMetric, l.Policy.Plan(at.Add(10 * model.Second)).Decisions[0].Guard)
	require.Empty(t, l.Policy.Plan(at.Add(10*model.Second+1)).Decisions)
	require.Equal(t, autoscale.GuardNoMetric, l.Policy.Plan(at.Add(12 * model.Second)).Decisions[0].Guard)
}

func TestInFlight(t *testing.T) {
	l := newLoop(t, config(), 1)
	l.Policy.Observe(0, []autoscale.Fact{{Kind: autoscale.FactSize, N: 1}, {Kind: autoscale.FactCount, State: autoscale.Ready, N: 1},
		{Kind: autoscale.FactSample, Metric: Stable, Value: 50}, {Kind: autoscale.FactSample, Metric: Panic, Value: 50}})
	require.Len(t, l.Policy.Plan(0).Proposals, 1)
	plan := l.Policy.Plan(model.Time(2 * model.Second))
	require.Empty(t, plan.Proposals)
	require.Equal(t, autoscale.GuardInFlight, plan.Decisions[0].Guard)
	l.Policy.Observe(0, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Rejected}})
	require.Len(t, l.Policy.Plan(model.Time(4*model.Second)).Proposals, 1)
}

// A panic that is restored goes on from now, one that runs keeps its beginning.
func TestRestore(t *testing.T) {
	cfg := config()
	cfg.Interval, cfg.StableWindow, cfg.MaxAge = 10*model.Second, 20*model.Second, model.Forever
	l := newLoop(t, cfg, 3)
	l.Policy.Restore(0, true, 3)
	for _, want := range []bool{true, true, true, false} { // 0, 10, 20, 30 s
		l.Policy.Restore(l.Now, l.Policy.panicAt != model.Never, 3)
		l.step(30, 30)
		require.Equal(t, want, l.Policy.Last().Panicking)
	}
	l.step(math.NaN(), 30)
	require.False(t, l.Policy.Last().Panicking)
	l.Policy.Restore(l.Now, true, 3)
	l.step(math.NaN(), 30)
	require.True(t, l.Policy.Last().Panicking)
	require.False(t, l.Policy.Last().Valid)
}

// Only ready replicas count, and only the result of what is in flight.
func TestObserves(t *testing.T) {
	l := newLoop(t, config(), 2)
	l.Policy.Restore(0, false, 0)
	l.Policy.Observe(0, []autoscale.Fact{{Kind: autoscale.FactCount, State: autoscale.Ready, N: 2}, {Kind: autoscale.FactCount, State: autoscale.Starting, N: 50},
		{Kind: autoscale.FactSize, State: autoscale.Ready, N: 2}, {Kind: autoscale.FactResult, Outcome: autoscale.Accepted, N: 9},
		{Kind: autoscale.FactSample, Metric: Stable, Value: 30}, {Kind: autoscale.FactSample, Metric: Panic, Value: 30}, {Kind: autoscale.FactSample, Metric: 2, Value: 900}})
	require.EqualValues(t, 3, l.Policy.Plan(0).Proposals[0].N)
	l.Policy.Observe(0, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 9, Outcome: autoscale.Accepted, N: 9}})
	require.EqualValues(t, []int64{2, 2}, []int64{l.Policy.ready, l.Policy.size})
	l.Policy.Observe(0, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Rejected, N: 9}})
	require.EqualValues(t, 2, l.Policy.size)
	require.Zero(t, l.Policy.flying)
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
		l.Policy.Restore(0, false, 0)
		require.Equal(t, c.guard, l.step(c.load, c.load).Guard, "%+v", c)
	}
}

func TestConfig(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"target": func(c *Config) { c.Target = 0 }, "rates": func(c *Config) { c.MaxUp = 1 }, "1 down": func(c *Config) { c.MaxDown = 1 },
		"threshold": func(c *Config) { c.PanicThreshold = 1 }, "max": func(c *Config) { c.Min, c.Max = 3, 2 }, "max 1": func(c *Config) { c.Min, c.Max = 2, 1 }, "delay": func(c *Config) { c.DownDelay = -1 },
	} {
		c := config()
		change(&c)
		_, err := New(c)
		require.ErrorContains(t, err, name)
	}
	c := config()
	c.Min, c.Max, c.StableWindow = 3, 3, 0
	_, err := New(c)
	require.NoError(t, err, "one size alone may be allowed, and a panic end at once")
	c.Max = 0
	_, err = New(c)
	require.NoError(t, err, "no limit")
}

// A size that is demanded again and again takes up one entry of the delay window, however
// often it is recorded.
func TestWindowDoesNotGrow(t *testing.T) {
	var w window
	w.resize(model.Minute)
	for range 100 {
		require.EqualValues(t, 5, w.record(0, 5))
	}
	require.Len(t, w.entries, 1)
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
		l.Policy.Restore(0, false, 0)
		n := &naive{cfg: cfg}
		for range rapid.IntRange(1, 80).Draw(t, "evaluations") {
			stable := rapid.SampledFrom([]float64{0, 5, 10, 11, 30, 100, 400}).Draw(t, "stable")
			panicking := rapid.SampledFrom([]float64{0, 5, 20, 20.5, 40, 200, 400}).Draw(t, "panic")
			before := l.Size
			want := n.evaluate(l.Now, before, stable, panicking)
			d := l.step(stable, panicking)
			require.Equal(t, want, l.Size)
			if d.Rule == RulePanic {
				require.GreaterOrEqual(t, l.Size, min(before, l.Policy.maxPanic))
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
			facts[j].At, facts[j].Value = l.Now, float64(10*(i*7919%13))
		}
		i++
		l.Evaluate(facts)
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
			facts[j].At, facts[j].Value = l.Now, float64(i>>6%10*10)
		}
		facts[2].N = l.Size
		l.Evaluate(facts)
	}
}

// Where both windows come to the same size, what is told is of the stable one.
func TestGuardOfATie(t *testing.T) {
	cfg := config()
	cfg.MaxUp = 10
	d := newLoop(t, cfg, 1).step(100, 500)
	require.Equal(t, RulePanic, d.Rule)
	require.Empty(t, d.Guard, "ten are within the rate, and fifty are not")
	require.Equal(t, GuardUpRate, newLoop(t, cfg, 1).step(101, 500).Guard)
}

// What holds where nothing is stated.
func TestDefaults(t *testing.T) {
	require.Equal(t, Config{
		Target: 70, Total: 100, BurstCapacity: 211, PanicThreshold: 2, MaxUp: 1000, MaxDown: 2, StableWindow: 60 * model.Second, Activation: 1, Reachable: true,
		ZeroGrace: 30 * model.Second, Interval: 2 * model.Second, MaxAge: 10 * model.Second,
	}, Defaults())
}
