package hpa

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/autoscale"
	"orrery/autoscale/internal/policytest"
	"orrery/scheduler/model"
)

// config scales by one ratio between 2 and 20 replicas.
func config() Config {
	c := Defaults()
	c.Min, c.Max = 2, 20
	c.Metrics = []Metric{{Kind: ServiceRatio, Target: 0.5}}
	return c
}

// loop drives a policy whose proposals are granted at once.
type loop struct{ policytest.Loop[*Policy] }

func newLoop(t require.TestingT, cfg Config, size int64) *loop {
	p, err := New(cfg)
	require.NoError(t, err)
	return &loop{policytest.New(t, p, cfg.Interval, size)}
}

// step gives one evaluation a value, NaN for none.
func (l *loop) step(value float64) autoscale.Decision {
	l.Tell(autoscale.Fact{Kind: autoscale.FactSize, N: l.Size},
		autoscale.Fact{Kind: autoscale.FactSample, Entity: autoscale.Whole, Value: value, At: l.Now, Missing: math.IsNaN(value)})
	return l.plan()
}

func (l *loop) plan() autoscale.Decision {
	d := l.Step()
	if d.Proposed() {
		require.Equal(l.T, l.Policy.Last().Desired, l.Last.Proposals[0].N)
	}
	return d
}

var none = math.NaN()

// The documented reaction to a step with the default behaviours: growth doubles or adds
// 4 pods in 15 s, whichever is more; shrinking waits for 5 minutes.
func TestStep(t *testing.T) {
	l := newLoop(t, config(), 2)
	demand := 10.0 // of one replica, so 20 are needed
	var sizes []int64
	var guards []autoscale.Guard
	for range 5 {
		guards = append(guards, l.step(demand/float64(l.Size)).Guard)
		sizes = append(sizes, l.Size)
	}
	require.Equal(t, []int64{6, 12, 20, 20, 20}, sizes)
	require.Equal(t, []autoscale.Guard{GuardRate, GuardRate}, guards[:2])
	for range 19 { // the last demand for 20 was 15 s ago
		require.Equal(t, GuardStabilized, l.step(1.0/20).Guard)
	}
	require.True(t, l.step(1.0/20).Proposed())
	require.EqualValues(t, 2, l.Size)
}

// Without behaviours one step up reaches twice the size, or 4.
func TestPlainly(t *testing.T) {
	cfg := config()
	cfg.Behaviours = false
	l := newLoop(t, cfg, 2)
	var sizes []int64
	var limits []Limit
	for range 5 {
		l.step(10 / float64(l.Size))
		sizes, limits = append(sizes, l.Size), append(limits, l.Policy.Last().Limited)
	}
	require.Equal(t, []int64{4, 8, 16, 20, 20}, sizes)
	require.Equal(t, []Limit{ScaleUpLimit, ScaleUpLimit, ScaleUpLimit, DesiredWithinRange, DesiredWithinRange}, limits)
	for range 20 { // the last of them when 20 was demanded 5 minutes ago, which still counts
		require.Equal(t, GuardStabilized, l.step(0).Guard, l.Now)
	}
	require.Equal(t, autoscale.GuardMin, l.step(0).Guard)
	require.EqualValues(t, 2, l.Size)
}

func TestTolerance(t *testing.T) {
	for _, c := range []struct {
		value float64
		want  int64
	}{{0.55, 10}, {0.5500001, 12}, {0.45, 10}, {0.4499, 9}} {
		cfg := config()
		cfg.Down.Window = 0
		l := newLoop(t, cfg, 10)
		d := l.step(c.value)
		require.Equal(t, c.want, l.Size, "%v", c.value)
		if c.want == 10 {
			require.Equal(t, GuardTolerance, d.Guard)
		}
	}
}

func TestSizeOutOfBounds(t *testing.T) {
	for _, c := range []struct {
		size, want int64
		rule       autoscale.Rule
	}{{30, 20, RuleTooMany}, {1, 2, RuleTooFew}, {0, 0, RuleDisabled}} {
		l := newLoop(t, config(), c.size)
		require.Equal(t, c.rule, l.step(none).Rule)
		require.Equal(t, c.want, l.Size)
	}
	l := newLoop(t, config(), 5)
	l.Tell(autoscale.Fact{Kind: autoscale.FactSize, Missing: true})
	require.Equal(t, GuardNoSize, l.plan().Guard)
	require.Equal(t, -1, int(l.Policy.Last().Raw), "not known")
}

// A metric without a value keeps the size from shrinking, and from all change alone.
func TestFailingMetric(t *testing.T) {
	cfg := config()
	cfg.Down.Window = 0
	cfg.Metrics = append(cfg.Metrics, Metric{Kind: Total, Target: 10})
	for _, c := range []struct {
		value float64
		want  int64
		guard autoscale.Guard
	}{{0.7, 14, autoscale.GuardNone}, {0.2, 10, autoscale.GuardNoMetric}, {none, 10, autoscale.GuardNoMetric}} {
		l := newLoop(t, cfg, 10)
		require.Equal(t, c.guard, l.step(c.value).Guard)
		require.Equal(t, c.want, l.Size)
		require.ErrorIs(t, l.Policy.Last().Err, ErrNoMetrics)
	}
	l := newLoop(t, cfg, 10)
	l.Tell(autoscale.Fact{Kind: autoscale.FactSample, Metric: 1, Entity: autoscale.Whole, Value: 30})
	for e := range autoscale.Entity(5) {
		l.Tell(autoscale.Fact{Kind: autoscale.FactEntity, Entity: e, State: autoscale.Ready})
	}
	l.step(0.7)
	require.EqualValues(t, 15, l.Size) // 3 times the 5 that are ready
	require.NoError(t, l.Policy.Last().Err)
}

// A sample that is too old is none.
func TestStale(t *testing.T) {
	l := newLoop(t, config(), 4)
	l.Tell(autoscale.Fact{Kind: autoscale.FactSize, N: 4}, autoscale.Fact{Kind: autoscale.FactSample, Entity: autoscale.Whole, Value: 1})
	l.Now = model.Time(model.Minute)
	require.NotEqual(t, autoscale.GuardNoMetric, l.plan().Guard)
	l.Now = model.Time(model.Minute + model.Second*15)
	require.Equal(t, autoscale.GuardNoMetric, l.plan().Guard)
}

func TestInFlight(t *testing.T) {
	l := newLoop(t, config(), 4)
	l.Tell(autoscale.Fact{Kind: autoscale.FactSize, N: 4}, autoscale.Fact{Kind: autoscale.FactSample, Entity: autoscale.Whole, Value: 1})
	require.Len(t, l.Policy.Plan(0).Proposals, 1)
	require.Empty(t, l.Policy.Plan(model.Time(15*model.Second-1)).Decisions)
	plan := l.Policy.Plan(model.Time(15 * model.Second))
	require.Empty(t, plan.Proposals)
	require.Equal(t, autoscale.GuardInFlight, plan.Decisions[0].Guard)
	l.Tell(autoscale.Fact{Kind: autoscale.FactResult, Seq: 9, Outcome: autoscale.Accepted, N: 9}) // of another
	require.EqualValues(t, 4, l.Policy.size)
	l.Tell(autoscale.Fact{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Errored})
	require.Len(t, l.Policy.Plan(model.Time(30*model.Second)).Proposals, 1)
}

// pods of a metric of CPU in percent of the requests; the sample is of the moment.
func cpu(t *testing.T, target float64, pods ...autoscale.Fact) *Policy {
	cfg := Defaults()
	cfg.Max, cfg.Down.Window, cfg.Up.Policies[0].Value = 100, 0, 100
	cfg.Metrics = []Metric{{Kind: Utilization, Target: target, CPU: true}}
	p, err := New(cfg)
	require.NoError(t, err)
	p.Observe(0, pods)
	return p
}

const hour = model.Time(model.Hour)

func entity(e autoscale.Entity, s autoscale.State, at model.Time) autoscale.Fact {
	return autoscale.Fact{Kind: autoscale.FactEntity, Entity: e, State: s, At: at, Resources: autoscale.Resources{CPU: 1000}}
}

func use(e autoscale.Entity, v float64) autoscale.Fact {
	return autoscale.Fact{Kind: autoscale.FactSample, Entity: e, Value: v, At: hour, Window: model.Minute}
}

func TestPods(t *testing.T) {
	ready, starting := autoscale.Ready, autoscale.Starting
	cases := []struct {
		name   string
		target float64
		size   int64
		facts  []autoscale.Fact
		want   int64
		err    error
	}{
		{"average over requests", 30, 3, []autoscale.Fact{entity(0, ready, 0), entity(1, ready, 0), entity(2, ready, 0), use(0, 0.3), use(1, 0.5), use(2, 0.7)}, 5, nil},
		{"a missing sample is nothing on the way up", 30, 3, []autoscale.Fact{entity(0, ready, 0), entity(1, ready, 0), entity(2, ready, 0), use(0, 0.6), use(1, 0.6)}, 4, nil},
		{"and all of the request on the way down", 60, 3, []autoscale.Fact{entity(0, ready, 0), entity(1, ready, 0), entity(2, ready, 0), use(0, 0.1), use(1, 0.1)}, 2, nil},
		{"and not more than that", 60, 3, []autoscale.Fact{entity(0, ready, 0), entity(1, ready, 0), use(0, 0.079)}, 2, nil}, // 53 %, and not 54, which is within the tolerance
		{"or the target where that is more", 300, 4, []autoscale.Fact{entity(0, ready, 0), entity(1, ready, 0), entity(2, ready, 0), entity(3, ready, 0), use(0, 0.1), use(1, 0.1)}, 3, nil},
		{"no change when the missing ones turn it", 50, 2, []autoscale.Fact{entity(0, ready, 0), entity(1, ready, 0), use(0, 0.3)}, 2, nil},
		{"one that starts is nothing on the way up", 30, 3, []autoscale.Fact{entity(0, starting, 0), entity(1, ready, 0), entity(2, ready, 0), use(0, 0.3), use(1, 0.5), use(2, 0.7)}, 4, nil},
		{"its sample is set aside on the way down", 50, 3, []autoscale.Fact{entity(0, starting, 0), entity(1, ready, 0), entity(2, ready, 0), use(0, 0.9), use(1, 0.1), use(2, 0.1)}, 1, nil},
		{"one that was ready for long counts", 50, 2, []autoscale.Fact{entity(0, ready, 0), entity(0, starting, hour-1), entity(1, ready, 0), use(0, 1), use(1, 1)}, 4, nil},
		{"young and ready for a window counts", 50, 1, []autoscale.Fact{entity(0, ready, hour.Add(-model.Minute)), use(0, 1)}, 2, nil},
		{"young and ready for less does not", 50, 1, []autoscale.Fact{entity(0, ready, hour.Add(-model.Minute+1)), use(0, 1)}, 0, ErrUnready},
		{"pending", 50, 2, []autoscale.Fact{entity(0, ready, 0), entity(1, autoscale.Requested, 0), use(0, 0.8)}, 2, nil},
		{"failed and leaving ones are not there", 50, 1, []autoscale.Fact{entity(0, ready, 0), entity(1, autoscale.Failed, 0), entity(2, autoscale.Draining, 0), use(0, 1), use(1, 1), use(2, 1)}, 2, nil},
		{"stopped", 50, 1, []autoscale.Fact{entity(0, ready, 0), entity(1, ready, 0), entity(1, autoscale.Stopped, 0), use(0, 1)}, 2, nil},
		{"nothing to fill in, and nothing to turn", 50, 8, []autoscale.Fact{entity(0, ready, 0), entity(1, ready, 0), use(0, 0.6), use(1, 0.6)}, 3, nil},
		{"a missing sample beside exactly the target", 50, 4, []autoscale.Fact{entity(0, ready, 0), entity(1, ready, 0), entity(2, ready, 0), use(0, 0.5), use(1, 0.5)}, 4, nil},
		{"one that has stopped was never there", 50, 1, []autoscale.Fact{entity(1, ready, 0), entity(0, autoscale.Stopped, 0), use(1, 1)}, 2, nil},
		{"within the tolerance", 50, 3, []autoscale.Fact{entity(0, ready, 0), entity(1, ready, 0), entity(2, ready, 0), use(0, 0.52), use(1, 0.52), use(2, 0.52)}, 3, nil},
		{"more are ready than the size", 50, 2, []autoscale.Fact{entity(0, ready, 0), entity(1, ready, 0), entity(2, ready, 0), use(0, 0.4), use(1, 0.4), use(2, 0.4)}, 3, nil},
		{"one that starts beside exactly the target", 50, 3, []autoscale.Fact{entity(0, starting, 0), entity(1, ready, 0), entity(2, ready, 0), use(0, 0.9), use(1, 0.5), use(2, 0.5)}, 3, nil},
		{"a missing one leads exactly to the tolerance on the way up", 50, 3, []autoscale.Fact{entity(0, ready, 0), entity(1, ready, 0), entity(2, ready, 0), use(0, 0.8), use(1, 0.85)}, 3, nil},
		{"and on the way down", 50, 5, []autoscale.Fact{entity(0, ready, 0), entity(1, ready, 0), entity(2, ready, 0), entity(3, ready, 0), use(0, 0.3), use(1, 0.3), use(2, 0.2)}, 5, nil},
		{"those that start lead to the tolerance", 20, 5, []autoscale.Fact{entity(0, starting, 0), entity(1, starting, 0), entity(2, starting, 0), entity(3, starting, 0), entity(4, ready, 0), use(4, 1.1), use(0, 0), use(1, 0), use(2, 0), use(3, 0)}, 5, nil},
		{"exactly as old as CPU takes to begin, and ready since just now", 50, 1, []autoscale.Fact{entity(0, starting, hour.Add(-5*model.Minute)), entity(0, ready, hour-1), use(0, 1)}, 2, nil},
		{"younger than that", 50, 1, []autoscale.Fact{entity(0, starting, hour.Add(-5*model.Minute)+1), entity(0, ready, hour-1), use(0, 1)}, 0, ErrUnready},
		{"not ready any more exactly at the delay after its start", 50, 1, []autoscale.Fact{entity(0, ready, 0), entity(0, starting, model.Time(30*model.Second)), use(0, 1)}, 2, nil},
		{"not ready any more before that", 50, 1, []autoscale.Fact{entity(0, ready, 0), entity(0, starting, model.Time(30*model.Second)-1), use(0, 1)}, 0, ErrUnready},
		{"told twice to be ready, it is so since the first time", 50, 1, []autoscale.Fact{entity(0, ready, hour.Add(-model.Minute)), entity(0, ready, hour-1), use(0, 1)}, 2, nil},
		{"the sample of another is no use of what was requested", 50, 1, []autoscale.Fact{entity(0, ready, 0), use(0, 1), use(9, 1)}, 2, nil},
		{"no samples", 50, 1, []autoscale.Fact{entity(0, ready, 0)}, 0, ErrNoMetrics},
		{"no pods", 50, 1, []autoscale.Fact{use(0, 1)}, 0, ErrNoPods},
		{"samples of others", 50, 1, []autoscale.Fact{entity(0, ready, 0), use(9, 1)}, 0, ErrOtherPods},
		{"no requests", 50, 1, []autoscale.Fact{{Kind: autoscale.FactEntity, State: ready}, use(0, 1)}, 0, ErrNoRequest},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := cpu(t, c.target, c.facts...)
			p.Observe(hour, []autoscale.Fact{{Kind: autoscale.FactSize, N: c.size}})
			p.Plan(hour)
			if c.err != nil {
				require.ErrorIs(t, p.Last().Err, c.err)
				return
			}
			require.NoError(t, p.Last().Err)
			require.Equal(t, c.want, p.Last().Raw)
		})
	}
}

// Exactly at the target nothing is filled in for pods without a sample. Here the target is
// more than all of a request, of which requests of a thousandth have no more than that: the
// use would be 125 %, and 10 of 11 replicas would do.
func TestExactlyTheTarget(t *testing.T) {
	p := cpu(t, 150)
	for e := range autoscale.Entity(11) {
		f := entity(e, autoscale.Ready, 0)
		if f.Resources.CPU = 1; e == 0 {
			f.Resources.CPU = 10
		}
		p.Observe(0, []autoscale.Fact{f})
	}
	p.Observe(hour, []autoscale.Fact{{Kind: autoscale.FactSize, N: 11}, use(0, 0.015)})
	p.Plan(hour)
	require.Equal(t, []int64{11, 150}, []int64{p.Last().Raw, p.Last().Use.Percent})
}

// Of what pods request, use is told in percent, and as the average of those that have a sample.
func TestUtilization(t *testing.T) {
	p := cpu(t, 50, entity(0, autoscale.Ready, 0), entity(1, autoscale.Ready, 0), entity(2, autoscale.Ready, 0))
	p.Observe(hour, []autoscale.Fact{{Kind: autoscale.FactSize, N: 3}, use(0, 0.3), use(1, 0.5)})
	p.Plan(hour)
	require.Equal(t, Use{Percent: 40, Average: 400}, p.Last().Use)
}

// On the way up a pod without a sample uses nothing at all: with one thousandth of use it
// would be 1.5 times the target.
func TestNothingIsNothing(t *testing.T) {
	cfg := Defaults()
	cfg.Max, cfg.Metrics = 100, []Metric{{Kind: PodsAverage, Target: 0.002}}
	p, err := New(cfg)
	require.NoError(t, err)
	p.Observe(hour, []autoscale.Fact{{Kind: autoscale.FactSize, N: 2}, entity(0, autoscale.Ready, 0), entity(1, autoscale.Ready, 0), use(0, 0.005)})
	p.Plan(hour)
	require.EqualValues(t, 2, p.Last().Raw)
}

// Memory is measured against the memory that was requested.
func TestMemory(t *testing.T) {
	cfg := Defaults()
	cfg.Max, cfg.Metrics = 100, []Metric{{Kind: Utilization, Target: 50, Memory: true}}
	p, err := New(cfg)
	require.NoError(t, err)
	f := entity(0, autoscale.Ready, 0)
	f.Resources.Memory = 1 << 30
	p.Observe(hour, []autoscale.Fact{{Kind: autoscale.FactSize, N: 1}, f, use(0, 1<<30)})
	p.Plan(hour)
	require.Equal(t, []int64{2, 100}, []int64{p.Last().Raw, p.Last().Use.Percent})
}

// Samples of other pods count where requests are not looked up.
func TestOtherPods(t *testing.T) {
	cfg := Defaults()
	cfg.Max, cfg.Metrics = 100, []Metric{{Kind: PodsAverage, Target: 10}}
	p, err := New(cfg)
	require.NoError(t, err)
	p.Observe(hour, []autoscale.Fact{{Kind: autoscale.FactSize, N: 1}, entity(0, autoscale.Ready, 0), use(0, 10), use(9, 30)})
	p.Plan(hour)
	require.EqualValues(t, 2, p.Last().Raw)
	require.EqualValues(t, 20000, p.Last().Use.Average)
}

func TestTotals(t *testing.T) {
	for _, c := range []struct {
		kind  Kind
		size  int64
		value float64
		want  int64
	}{
		{Total, 0, 21, 3}, {Total, 0, 10, 1}, {Total, 4, 10.9, 4}, {Total, 4, 12, 3}, // 2 are ready
		{TotalPerPod, 4, 44, 4}, {TotalPerPod, 4, 44.1, 5}, {TotalPerPod, 4, 35.9, 4}, {TotalPerPod, 0, 5, 1}, {TotalPerPod, 1, 5, 1},
	} {
		cfg := Defaults()
		cfg.Max, cfg.Metrics = 100, []Metric{{Kind: c.kind, Target: 10}}
		p, err := New(cfg)
		require.NoError(t, err)
		p.Observe(hour, []autoscale.Fact{{Kind: autoscale.FactSize, N: c.size}, entity(0, autoscale.Ready, 0), entity(1, autoscale.Busy, 0), entity(2, autoscale.Starting, 0), use(autoscale.Whole, c.value)})
		p.Plan(hour)
		require.Equal(t, c.want, p.Last().Raw, "%+v", c)
		if c.size == 0 && c.kind == TotalPerPod {
			require.Zero(t, p.Last().Use.Average)
		}
		if c.size == 1 {
			require.EqualValues(t, 5000, p.Last().Use.Average)
		}
	}
}

// A policy that lost its memory does not shrink at once; one that got it back does.
func TestRestore(t *testing.T) {
	l := newLoop(t, config(), 10)
	require.Equal(t, GuardStabilized, l.step(0).Guard)
	l = newLoop(t, config(), 10)
	l.Policy.Restore(History{}, nil, nil)
	l.step(0)
	require.EqualValues(t, 2, l.Size)
}

func TestConfig(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"min 0 and max 0": func(c *Config) { c.Min, c.Max = 0, 0 }, "min 3 and max 2": func(c *Config) { c.Min, c.Max = 3, 2 }, "min -1": func(c *Config) { c.Min = -1 },
		"metrics": func(c *Config) { c.Metrics = nil }, "target": func(c *Config) { c.Metrics[0].Target = 0 },
		"tolerances -1": func(c *Config) { c.Tolerance.Up = -1 }, "and -1": func(c *Config) { c.Tolerance.Down = -1 }, "factor": func(c *Config) { c.UpFactor = 0.5 }, "interval": func(c *Config) { c.Interval = 0 },
	} {
		c := config()
		change(&c)
		_, err := New(c)
		require.ErrorContains(t, err, name)
	}
	c := config() // the least that each may be
	c.Min, c.Max, c.Tolerance, c.UpFactor, c.Interval = 1, 1, Tolerances{}, 1, 1
	_, err := New(c)
	require.NoError(t, err)
}

// Once its history has its length the policy allocates nothing.
func TestAllocations(t *testing.T) {
	cfg := config()
	cfg.Metrics = append(cfg.Metrics, Metric{Kind: PodsAverage, Target: 10})
	l := newLoop(t, cfg, 4)
	facts := []autoscale.Fact{{Kind: autoscale.FactSize}, {Kind: autoscale.FactSample, Entity: autoscale.Whole}}
	for e := range autoscale.Entity(4) {
		l.Tell(entity(e, autoscale.Ready, 0))
		facts = append(facts, autoscale.Fact{Kind: autoscale.FactSample, Metric: 1, Entity: e})
	}
	one := func() {
		facts[0].N = l.Size
		for i := 1; i < len(facts); i++ {
			facts[i].At, facts[i].Value = l.Now, 1.0/float64(1+l.Now/model.Time(10*model.Minute)%3)
		}
		l.Evaluate(facts)
	}
	for range 500 {
		one()
	}
	require.Zero(t, testing.AllocsPerRun(500, one))
}

// One decision by a ratio, with the default behaviours.
func BenchmarkDecision(b *testing.B) {
	cfg := config()
	cfg.Min, cfg.Max = 4, 64
	l := newLoop(b, cfg, 4)
	facts := []autoscale.Fact{{Kind: autoscale.FactSize}, {Kind: autoscale.FactSample, Entity: autoscale.Whole}}
	b.ReportAllocs()
	for i := range b.N {
		facts[0].N, facts[1].At, facts[1].Value = l.Size, l.Now, float64(i>>6%10)/10
		l.Evaluate(facts)
	}
}
