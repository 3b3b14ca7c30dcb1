package hpa

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/autoscale"
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

func (l *loop) tell(f ...autoscale.Fact) { l.p.Observe(l.now, f) }

// step gives one evaluation a value, NaN for none.
func (l *loop) step(value float64) autoscale.Decision {
	l.tell(autoscale.Fact{Kind: autoscale.FactSize, N: l.size},
		autoscale.Fact{Kind: autoscale.FactSample, Entity: autoscale.Whole, Value: value, At: l.now, Missing: math.IsNaN(value)})
	return l.plan()
}

func (l *loop) plan() autoscale.Decision {
	plan := l.p.Plan(l.now)
	require.Len(l.t, plan.Decisions, 1)
	d := plan.Decisions[0]
	require.Equal(l.t, d.Proposed(), len(plan.Proposals) == 1)
	if d.Proposed() {
		x := plan.Proposals[0]
		require.Equal(l.t, l.p.Last().Desired, x.N)
		l.tell(autoscale.Fact{Kind: autoscale.FactResult, Seq: x.Seq, Outcome: autoscale.Accepted, N: x.N})
		l.size = x.N
	}
	l.now = l.now.Add(l.p.cfg.Interval)
	return d
}

var none = math.NaN()

// The documented reaction to a step with the default behaviours: growth doubles or adds
// 4 pods in 15 s, whichever is more; shrinking waits for 5 minutes.
func TestStep(t *testing.T) {
	l := newLoop(t, config(), 2)
	demand := 10.0 // of one replica, so 20 are needed
	var sizes []int64
	for range 5 {
		l.step(demand / float64(l.size))
		sizes = append(sizes, l.size)
	}
	require.Equal(t, []int64{6, 12, 20, 20, 20}, sizes)
	for range 19 { // the last demand for 20 was 15 s ago
		require.Equal(t, GuardStabilized, l.step(1.0/20).Guard)
	}
	require.True(t, l.step(1.0/20).Proposed())
	require.EqualValues(t, 2, l.size)
}

// Without behaviours one step up reaches twice the size, or 4.
func TestPlainly(t *testing.T) {
	cfg := config()
	cfg.Behaviours = false
	l := newLoop(t, cfg, 2)
	var sizes []int64
	var limits []Limit
	for range 5 {
		l.step(10 / float64(l.size))
		sizes, limits = append(sizes, l.size), append(limits, l.p.Last().Limited)
	}
	require.Equal(t, []int64{4, 8, 16, 20, 20}, sizes)
	require.Equal(t, []Limit{ScaleUpLimit, ScaleUpLimit, ScaleUpLimit, DesiredWithinRange, DesiredWithinRange}, limits)
	for range 20 { // the last of them when 20 was demanded 5 minutes ago, which still counts
		require.Equal(t, GuardStabilized, l.step(0).Guard, l.now)
	}
	require.Equal(t, autoscale.GuardMin, l.step(0).Guard)
	require.EqualValues(t, 2, l.size)
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
		require.Equal(t, c.want, l.size, "%v", c.value)
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
		require.Equal(t, c.want, l.size)
	}
	l := newLoop(t, config(), 5)
	l.tell(autoscale.Fact{Kind: autoscale.FactSize, Missing: true})
	require.Equal(t, GuardNoSize, l.plan().Guard)
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
		require.Equal(t, c.want, l.size)
		require.ErrorIs(t, l.p.Last().Err, ErrNoMetrics)
	}
	l := newLoop(t, cfg, 10)
	l.tell(autoscale.Fact{Kind: autoscale.FactSample, Metric: 1, Entity: autoscale.Whole, Value: 30})
	for e := range autoscale.Entity(5) {
		l.tell(autoscale.Fact{Kind: autoscale.FactEntity, Entity: e, State: autoscale.Ready})
	}
	l.step(0.7)
	require.EqualValues(t, 15, l.size) // 3 times the 5 that are ready
	require.NoError(t, l.p.Last().Err)
}

// A sample that is too old is none.
func TestStale(t *testing.T) {
	l := newLoop(t, config(), 4)
	l.tell(autoscale.Fact{Kind: autoscale.FactSize, N: 4}, autoscale.Fact{Kind: autoscale.FactSample, Entity: autoscale.Whole, Value: 1})
	l.now = model.Time(model.Minute)
	require.NotEqual(t, autoscale.GuardNoMetric, l.plan().Guard)
	l.now = model.Time(model.Minute + model.Second*15)
	require.Equal(t, autoscale.GuardNoMetric, l.plan().Guard)
}

func TestInFlight(t *testing.T) {
	l := newLoop(t, config(), 4)
	l.tell(autoscale.Fact{Kind: autoscale.FactSize, N: 4}, autoscale.Fact{Kind: autoscale.FactSample, Entity: autoscale.Whole, Value: 1})
	require.Len(t, l.p.Plan(0).Proposals, 1)
	require.Empty(t, l.p.Plan(model.Time(15*model.Second-1)).Decisions)
	plan := l.p.Plan(model.Time(15 * model.Second))
	require.Empty(t, plan.Proposals)
	require.Equal(t, autoscale.GuardInFlight, plan.Decisions[0].Guard)
	l.tell(autoscale.Fact{Kind: autoscale.FactResult, Seq: 9, Outcome: autoscale.Accepted, N: 9}) // of another
	require.EqualValues(t, 4, l.p.size)
	l.tell(autoscale.Fact{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Errored})
	require.Len(t, l.p.Plan(model.Time(30*model.Second)).Proposals, 1)
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

func TestTotals(t *testing.T) {
	for _, c := range []struct {
		kind  Kind
		size  int64
		value float64
		want  int64
	}{
		{Total, 0, 21, 3}, {Total, 0, 10, 1}, {Total, 4, 10.9, 4}, {Total, 4, 12, 3}, // 2 are ready
		{TotalPerPod, 4, 44, 4}, {TotalPerPod, 4, 44.1, 5}, {TotalPerPod, 4, 35.9, 4}, {TotalPerPod, 0, 5, 1},
	} {
		cfg := Defaults()
		cfg.Max, cfg.Metrics = 100, []Metric{{Kind: c.kind, Target: 10}}
		p, err := New(cfg)
		require.NoError(t, err)
		p.Observe(hour, []autoscale.Fact{{Kind: autoscale.FactSize, N: c.size}, entity(0, autoscale.Ready, 0), entity(1, autoscale.Busy, 0), entity(2, autoscale.Starting, 0), use(autoscale.Whole, c.value)})
		p.Plan(hour)
		require.Equal(t, c.want, p.Last().Raw, "%+v", c)
	}
}

// A policy that lost its memory does not shrink at once; one that got it back does.
func TestRestore(t *testing.T) {
	l := newLoop(t, config(), 10)
	require.Equal(t, GuardStabilized, l.step(0).Guard)
	l = newLoop(t, config(), 10)
	l.p.Restore(History{}, nil, nil)
	l.step(0)
	require.EqualValues(t, 2, l.size)
}

func TestConfig(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"max": func(c *Config) { c.Max = 0 }, "metrics": func(c *Config) { c.Metrics = nil }, "target": func(c *Config) { c.Metrics[0].Target = 0 },
		"tolerances": func(c *Config) { c.Tolerance.Up = -1 }, "factor": func(c *Config) { c.UpFactor = 0.5 }, "interval": func(c *Config) { c.Interval = 0 },
	} {
		c := config()
		change(&c)
		_, err := New(c)
		require.ErrorContains(t, err, name)
	}
}

// demandOf is the naive demand of a ratio.
func demandOf(cfg *Config, size int64, value float64) int64 {
	ratio := value / cfg.Metrics[0].Target
	if math.Abs(1-ratio) <= 0.1+1e-12 {
		return size
	}
	return int64(math.Ceil(ratio * float64(size)))
}

// The highest demand counts, wherever it stands among the metrics.
func TestHighestDemand(t *testing.T) {
	for _, values := range [][2]float64{{0.6, 0.8}, {0.8, 0.6}} {
		cfg := config()
		cfg.Metrics = []Metric{{Kind: ServiceRatio, Target: 0.5}, {Kind: ServiceRatio, Target: 0.5}}
		l := newLoop(t, cfg, 10)
		l.tell(autoscale.Fact{Kind: autoscale.FactSample, Metric: 1, Entity: autoscale.Whole, Value: values[1]},
			autoscale.Fact{Kind: autoscale.FactSample, Metric: 2, Entity: autoscale.Whole, Value: 9})
		l.step(values[0])
		require.EqualValues(t, 16, l.size)
	}
	// One that fails beside one that demands what there is changes nothing, and is no fault.
	cfg := config()
	cfg.Metrics = append(cfg.Metrics, Metric{Kind: InvalidMetric})
	l := newLoop(t, cfg, 10)
	require.Equal(t, GuardTolerance, l.step(0.5).Guard)
}

// A limit is named only where it takes something away.
func TestLimits(t *testing.T) {
	cfg := Config{Min: 2, Max: 10, UpFactor: 2, Up: DefaultUp(), Down: Rules{Policies: []ScalingPolicy{{Value: 3, Period: 1}}}}
	for _, c := range []struct {
		current, desired, to int64
		limit                Limit
		plain                int64
		plainLimit           Limit
	}{
		{5, 10, 10, DesiredWithinRange, 10, DesiredWithinRange}, {5, 11, 10, TooManyReplicas, 10, TooManyReplicas},
		{4, 8, 8, DesiredWithinRange, 8, DesiredWithinRange}, {4, 9, 8, ScaleUpLimit, 8, ScaleUpLimit}, {2, 5, 5, DesiredWithinRange, 4, ScaleUpLimit},
		{5, 2, 2, DesiredWithinRange, 2, DesiredWithinRange}, {4, 1, 2, TooFewReplicas, 2, TooFewReplicas}, {6, 2, 3, ScaleDownLimit, 2, DesiredWithinRange},
		{5, 1, 2, TooFewReplicas, 2, TooFewReplicas}, {6, 6, 6, DesiredWithinRange, 6, DesiredWithinRange},
	} {
		n, limit := cfg.Limit(0, c.current, c.desired, nil, nil)
		require.Equal(t, []any{c.to, c.limit}, []any{n, limit}, "%+v", c)
		n, limit = cfg.LimitPlainly(c.current, c.desired)
		require.Equal(t, []any{c.plain, c.plainLimit}, []any{n, limit}, "%+v", c)
	}
}

// What no window covers any more is replaced, so that the memory stays bounded.
func TestHistory(t *testing.T) {
	h := History{{9, 0}, {8, 10}}
	require.EqualValues(t, 3, h.Stabilize(20, 1, 3, 10, 10))
	require.Equal(t, History{{3, 20}, {8, 10}}, h)
	require.EqualValues(t, 2, h.Stabilize(20, 1, 2, 10, 10)) // 10 is exactly the window, and not yet old
	require.Equal(t, History{{3, 20}, {8, 10}, {2, 20}}, h)
	h = History{{9, 0}}
	require.EqualValues(t, 9, h.StabilizeDown(10, 1, 10))
	require.EqualValues(t, 1, h.StabilizeDown(11, 1, 10))
	require.Equal(t, History{{1, 11}, {1, 10}}, h)
	var c Changes
	policies := []ScalingPolicy{{Period: 10}, {Period: 5}}
	for _, at := range []model.Time{0, 10, 11} {
		c.add(Change{1, at}, policies)
	}
	require.Equal(t, Changes{{1, 11}, {1, 10}}, c)
	require.EqualValues(t, 1, c.within(20, 10))
}

// A demand for what there is that the past holds up is one of the way up.
func TestAble(t *testing.T) {
	cfg := config()
	cfg.Up.Window, cfg.Down.Window = model.Minute, 0
	l := newLoop(t, cfg, 10)
	l.step(0.2) // down to 4 at once
	require.EqualValues(t, 4, l.size)
	require.Equal(t, GuardStabilized, l.step(0.9).Guard)
	require.Equal(t, ScaleUpStabilized, l.p.Last().Able)
	cfg.Down.Window = model.Minute
	l = newLoop(t, cfg, 10)
	l.step(0.2)
	require.Equal(t, ScaleDownStabilized, l.p.Last().Able)
}

// naive keeps all of the past and looks at all of it each time.
type naive struct {
	cfg     Config
	demands []Recommendation
	sizes   []Recommendation // after each evaluation
}

// changed sums what was added, or removed, within a period.
func (n *naive) changed(now model.Time, period model.Duration) (up, down int64) {
	for i := 1; i < len(n.sizes); i++ {
		if n.sizes[i].At > now.Add(-period) {
			up += max(0, n.sizes[i].N-n.sizes[i-1].N)
			down += max(0, n.sizes[i-1].N-n.sizes[i].N)
		}
	}
	return up, down
}

func (n *naive) rate(now model.Time, r Rules, sign float64, size int64) int64 {
	best := int64(0) // of change
	for i, s := range r.Policies {
		up, down := n.changed(now, s.Period)
		begin := size - up + down
		to := begin + int64(sign)*s.Value
		if s.Percent {
			to = int64(math.Ceil(float64(begin) * (1 + sign*float64(s.Value)/100)))
			if sign < 0 {
				to = int64(float64(begin) * (1 - float64(s.Value)/100))
			}
		}
		by := int64(sign) * (to - size)
		if i == 0 || (r.Select == MaxChange) == (by > best) {
			best = by
		}
	}
	if r.Select == Disabled {
		best = 0
	}
	return size + int64(sign)*max(0, best)
}

func (n *naive) evaluate(now model.Time, size int64, value float64) int64 {
	if len(n.demands) == 0 {
		n.demands = append(n.demands, Recommendation{size, now})
		n.sizes = append(n.sizes, Recommendation{size, now})
	}
	want := demandOf(&n.cfg, size, value)
	n.demands = append(n.demands, Recommendation{want, now})
	least, most := want, want
	for _, r := range n.demands {
		if now.Sub(r.At) < n.cfg.Up.Window {
			least = min(least, r.N)
		}
		if now.Sub(r.At) < n.cfg.Down.Window {
			most = max(most, r.N)
		}
	}
	to := min(max(size, least), most)
	switch {
	case to > size:
		to = min(to, n.cfg.Max, n.rate(now, n.cfg.Up, 1, size))
	case to < size:
		to = max(to, n.cfg.Min, n.rate(now, n.cfg.Down, -1, size))
	}
	n.sizes = append(n.sizes, Recommendation{to, now})
	return to
}

func drawRules(t *rapid.T, name string) Rules {
	r := Rules{Window: model.Duration(15*rapid.IntRange(0, 12).Draw(t, name+" window")) * model.Second, Select: rapid.SampledFrom([]Select{MaxChange, MaxChange, MinChange, Disabled}).Draw(t, name+" select")}
	for range rapid.IntRange(1, 3).Draw(t, name+" policies") {
		r.Policies = append(r.Policies, ScalingPolicy{
			Percent: rapid.Bool().Draw(t, name+" percent"), Value: rapid.Int64Range(1, 100).Draw(t, name+" value"),
			Period: model.Duration(15*rapid.IntRange(1, 8).Draw(t, name+" period")) * model.Second,
		})
	}
	// The longest period is the same for both directions: policies of one forget changes
	// by their own longest period, also those that the other would still count.
	r.Policies = append(r.Policies, ScalingPolicy{Value: rapid.Int64Range(1, 20).Draw(t, name+" last"), Period: 2 * model.Minute})
	return r
}

// The policy decides as the naive one under any behaviours, stays within its bounds, and
// does nothing without a metric.
func TestAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := config()
		cfg.Up, cfg.Down = drawRules(t, "up"), drawRules(t, "down")
		l := newLoop(t, cfg, rapid.Int64Range(cfg.Min, cfg.Max).Draw(t, "size"))
		n := &naive{cfg: cfg}
		for range rapid.IntRange(1, 60).Draw(t, "evaluations") {
			value := rapid.SampledFrom([]float64{0, 0.2, 0.3, 0.449, 0.5, 0.56, 0.7, 1, 3}).Draw(t, "value")
			if len(n.demands) > 0 && rapid.IntRange(0, 9).Draw(t, "gap") == 0 {
				size := l.size
				require.Equal(t, autoscale.GuardNoMetric, l.step(none).Guard)
				require.Equal(t, size, l.size)
				continue
			}
			want := n.evaluate(l.now, l.size, value)
			l.step(value)
			require.Equal(t, want, l.size)
			require.GreaterOrEqual(t, l.size, cfg.Min)
			require.LessOrEqual(t, l.size, cfg.Max)
		}
	})
}

// Once its history has its length the policy allocates nothing.
func TestAllocations(t *testing.T) {
	cfg := config()
	cfg.Metrics = append(cfg.Metrics, Metric{Kind: PodsAverage, Target: 10})
	l := newLoop(t, cfg, 4)
	facts := []autoscale.Fact{{Kind: autoscale.FactSize}, {Kind: autoscale.FactSample, Entity: autoscale.Whole}}
	for e := range autoscale.Entity(4) {
		l.tell(entity(e, autoscale.Ready, 0))
		facts = append(facts, autoscale.Fact{Kind: autoscale.FactSample, Metric: 1, Entity: e})
	}
	one := func() {
		facts[0].N = l.size
		for i := 1; i < len(facts); i++ {
			facts[i].At, facts[i].Value = l.now, 1.0/float64(1+l.now/model.Time(10*model.Minute)%3)
		}
		l.tell(facts...)
		for _, x := range l.p.Plan(l.now).Proposals {
			answer := facts[0]
			facts[0] = autoscale.Fact{Kind: autoscale.FactResult, Seq: x.Seq, Outcome: autoscale.Accepted, N: x.N}
			l.tell(facts[:1]...)
			facts[0], l.size = answer, x.N
		}
		l.now = l.now.Add(15 * model.Second)
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
		facts[0].N, facts[1].At, facts[1].Value = l.size, l.now, float64(i>>6%10)/10
		l.p.Observe(l.now, facts)
		for _, x := range l.p.Plan(l.now).Proposals {
			l.size = x.N
			l.p.Observe(l.now, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: x.Seq, Outcome: autoscale.Accepted, N: x.N}})
		}
		l.now = l.now.Add(15 * model.Second)
	}
}
