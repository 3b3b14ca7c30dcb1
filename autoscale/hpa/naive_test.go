package hpa

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

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
