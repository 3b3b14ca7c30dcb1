package hpa

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/autoscale"
	_ "orrery/internal/fixedseed"
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
				size := l.Size
				require.Equal(t, autoscale.GuardNoMetric, l.step(none).Guard)
				require.Equal(t, size, l.Size)
				continue
			}
			want := n.evaluate(l.Now, l.Size, value)
			l.step(value)
			require.Equal(t, want, l.Size)
			require.GreaterOrEqual(t, l.Size, cfg.Min)
			require.LessOrEqual(t, l.Size, cfg.Max)
		}
	})
}
