package hpa

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// drawnPod is a pod and its sample of one metric.
type drawnPod struct {
	state      autoscale.State
	was        autoscale.State // before, 0 for the first state
	age, since model.Duration  // of the pod, and since the state was entered
	request    int64           // thousandths
	use        int64           // thousandths, -1 for no sample
	sampled    model.Duration  // how long ago
}

func drawPod(t *rapid.T) drawnPod {
	p := drawnPod{
		state:   rapid.SampledFrom([]autoscale.State{autoscale.Ready, autoscale.Ready, autoscale.Ready, autoscale.Busy, autoscale.Starting, autoscale.Requested, autoscale.Draining, autoscale.Failed}).Draw(t, "state"),
		age:     model.Duration(rapid.SampledFrom([]int{0, 10, 60, 150, 299, 300, 301, 900}).Draw(t, "age")) * model.Second,
		request: rapid.Int64Range(1, 2000).Draw(t, "request"),
		use:     rapid.Int64Range(-1, 2500).Draw(t, "use"),
		sampled: model.Duration(rapid.SampledFrom([]int{0, 15, 60, 61}).Draw(t, "sampled")) * model.Second,
	}
	p.since = min(p.age, model.Duration(rapid.SampledFrom([]int{0, 30, 59, 60, 61, 270, 271, 289}).Draw(t, "since"))*model.Second)
	if rapid.Bool().Draw(t, "changed") {
		p.was = autoscale.Starting
	} else {
		p.since = p.age
	}
	return p
}

// naiveGroup is what a pod counts as.
func (p *drawnPod) naiveGroup(cfg *Config, isCPU bool) string {
	ready := p.state == autoscale.Ready || p.state == autoscale.Busy
	since := p.since
	if p.was == p.state {
		since = p.age // it never changed
	}
	switch {
	case p.state == autoscale.Draining || p.state == autoscale.Failed:
		return "gone"
	case p.state == autoscale.Requested:
		return "unready"
	case p.use < 0 || p.sampled > cfg.MaxAge:
		return "missing"
	case isCPU && p.age < cfg.CPUInit && (!ready || since-p.sampled < model.Minute):
		return "unready"
	case isCPU && p.age >= cfg.CPUInit && !ready && p.age-since < cfg.ReadyDelay:
		return "unready"
	}
	return "counted"
}

// naiveDemand is the demand of a metric, from one list of samples per pass.
func naiveDemand(cfg *Config, m Metric, size int64, list []drawnPod) (int64, bool) {
	groups := map[string][]drawnPod{}
	for _, p := range list {
		g := p.naiveGroup(cfg, m.CPU)
		groups[g] = append(groups[g], p)
	}
	type entry struct{ use, request int64 }
	ratioOf := func(entries []entry) float64 {
		use, request := int64(0), int64(0)
		for _, e := range entries {
			use += e.use
			request += e.request
		}
		if m.Kind == Utilization {
			return float64(use*100/request) / m.Target
		}
		return float64(use/int64(len(entries))) / math.Round(m.Target*1000)
	}
	var entries []entry
	for _, p := range groups["counted"] {
		entries = append(entries, entry{p.use, p.request})
	}
	if len(entries) == 0 {
		return 0, false
	}
	ratio := ratioOf(entries)
	if len(groups["missing"]) > 0 || len(groups["unready"]) > 0 && ratio > 1 {
		for _, p := range groups["missing"] {
			e := entry{0, p.request}
			switch {
			case ratio == 1:
				continue
			case ratio < 1 && m.Kind == Utilization:
				e.use = p.request * int64(max(100, m.Target)) / 100
			case ratio < 1:
				e.use = int64(math.Round(m.Target * 1000))
			}
			entries = append(entries, e)
		}
		if ratio > 1 {
			for _, p := range groups["unready"] {
				entries = append(entries, entry{0, p.request})
			}
		}
		again := ratioOf(entries)
		if (again-1)*(ratio-1) < 0 {
			return size, true
		}
		n := int64(math.Ceil(again * float64(len(entries))))
		if !cfg.Tolerance.within(again) && (n > size) == (again > 1) {
			return n, true
		}
		return size, true
	}
	if cfg.Tolerance.within(ratio) {
		return size, true
	}
	return int64(math.Ceil(ratio * float64(len(entries)))), true
}

// What a metric of pods demands is what the naive one demands, for any pods.
func TestPodsAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Defaults()
		cfg.Max = 1000
		m := Metric{Kind: rapid.SampledFrom([]Kind{Utilization, AverageUse, PodsAverage}).Draw(t, "kind")}
		m.CPU = m.Kind != PodsAverage && rapid.Bool().Draw(t, "cpu")
		m.Target = float64(rapid.SampledFrom([]int{10, 50, 100, 150}).Draw(t, "target"))
		if m.Kind != Utilization {
			m.Target /= 100
		}
		cfg.Metrics = []Metric{m}
		size := rapid.Int64Range(0, 8).Draw(t, "size")
		p, err := New(cfg)
		require.NoError(t, err)
		p.Observe(0, []autoscale.Fact{{Kind: autoscale.FactSize, N: size}})
		var list []drawnPod
		for i := range rapid.IntRange(1, 8).Draw(t, "pods") {
			x := drawPod(t)
			list = append(list, x)
			e := autoscale.Entity(i)
			f := autoscale.Fact{Kind: autoscale.FactEntity, Entity: e, State: x.state, At: hour.Add(-x.age), Resources: autoscale.Resources{CPU: x.request}}
			if x.was != 0 {
				first := f
				first.State = x.was
				p.Observe(0, []autoscale.Fact{first})
				f.At, f.Resources = hour.Add(-x.since), autoscale.Resources{}
			}
			p.Observe(0, []autoscale.Fact{f, {Kind: autoscale.FactSample, Entity: e, Value: float64(x.use) / 1000, Missing: x.use < 0, At: hour.Add(-x.sampled), Window: model.Minute}})
		}
		p.Plan(hour)
		want, ok := naiveDemand(&cfg, m, size, list)
		if !ok {
			require.Error(t, p.Last().Err)
			require.Equal(t, size, p.Last().Desired)
			return
		}
		require.NoError(t, p.Last().Err)
		require.Equal(t, want, p.Last().Raw)
	})
}
