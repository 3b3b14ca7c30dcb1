package service

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/autoscale"
	"orrery/autoscale/hpa"
	"orrery/autoscale/keda"
	"orrery/autoscale/kpa"
	"orrery/autoscale/lattice"
	"orrery/autoscale/maestro"
	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
	"orrery/sim/service/demand"
)

// guarded checks what a policy proposes and how it is told, at every call.
type guarded struct {
	autoscale.Policy
	t     require.TestingT
	least int64
	most  int64
	size  int64
	blind bool // no sample has a value
	open  map[uint64]bool
	last  uint64
}

func (g *guarded) Observe(now model.Time, facts []autoscale.Fact) {
	for _, f := range facts {
		switch f.Kind {
		case autoscale.FactSize:
			g.size = f.N
			require.LessOrEqual(g.t, g.size, g.most, "more than the maximum")
		case autoscale.FactResult:
			require.True(g.t, g.open[f.Seq], "a result of no proposal, or a second one")
			delete(g.open, f.Seq)
		case autoscale.FactSample:
			require.False(g.t, g.blind && f.HasValue())
			require.LessOrEqual(g.t, f.At, now, "a sample of the future")
		}
	}
	g.Policy.Observe(now, facts)
}

func (g *guarded) Plan(now model.Time) *autoscale.Plan {
	p := g.Policy.Plan(now)
	for _, d := range p.Decisions {
		held := d.Guard == autoscale.GuardNone || d.Guard == autoscale.GuardMin || d.Guard == autoscale.GuardMax // these trim
		trims := d.Guard != autoscale.GuardCooldown && d.Guard != autoscale.GuardWindow && d.Guard != autoscale.GuardInFlight && d.Guard != autoscale.GuardNoMetric && d.Guard != autoscale.GuardBackOff
		require.False(g.t, d.Proposed() && !held && !trims, "proposed in spite of the guard %s", d.Guard)
	}
	if len(p.Proposals) > 0 {
		require.Empty(g.t, g.open, "a second change in flight")
	}
	to, left := g.size, map[autoscale.Entity]bool{}
	for _, x := range p.Proposals {
		require.False(g.t, g.blind && g.size >= g.least, "a proposal without a metric, and not for want of replicas")
		require.Greater(g.t, x.Seq, g.last)
		g.last = x.Seq
		require.True(g.t, len(p.Proposals) == 1 || x.Verb == autoscale.Drain, "only rooms that go are several proposals of one change")
		g.open[x.Seq] = true
		switch x.Verb {
		case autoscale.SetReplicas:
			to = x.N
		case autoscale.Scale:
			to += x.N
		case autoscale.Drain:
			require.False(g.t, left[x.Entity], "drained twice")
			left[x.Entity] = true
			to--
		}
		require.LessOrEqual(g.t, to, g.most)
		require.True(g.t, to >= g.least || to > g.size, "from %d to %d, less than %d", g.size, to, g.least)
	}
	return p
}

// anyPolicy draws one with bounds of 2 and 9 and the series that it goes by.
func anyPolicy(t *rapid.T) (autoscale.Policy, []Source) {
	switch rapid.IntRange(0, 6).Draw(t, "policy") {
	case 0:
		c := lattice.Defaults()
		c.Min, c.Max, c.Target = 2, 9, 0.7
		p, err := lattice.New(c)
		require.NoError(t, err)
		return p, []Source{{Series: Utilization}}
	case 1:
		c := lattice.CodedDefaults()
		c.Min, c.Max = 2, 9
		p, err := lattice.NewCoded(c)
		require.NoError(t, err)
		return p, []Source{{Series: Utilization, Metric: lattice.Utilisation}, {Series: QueueDepth, Metric: lattice.QueueDepth}}
	case 2:
		c := hpa.Defaults()
		c.Min, c.Max, c.Metrics = 2, 9, []hpa.Metric{{Kind: hpa.Utilization, Target: 60, CPU: true}}
		p, err := hpa.New(c)
		require.NoError(t, err)
		return p, []Source{{Series: Utilization, PerReplica: true}}
	case 5:
		return anyMaestro(t)
	case 6:
		c := maestro.V10Defaults()
		c.Min, c.Max, c.MaxMatches, c.ReadyTarget = 2, 9, 4, rapid.SampledFrom([]float64{0.1, 0.3, 0.6}).Draw(t, "ready target")
		c.DownCooldown = model.Duration(rapid.IntRange(0, 5).Draw(t, "down cooldown")) * model.Minute
		p, err := maestro.NewV10(c)
		require.NoError(t, err)
		return p, []Source{{Series: Running, Metric: maestro.RunningMatches}, {Series: Free, Metric: maestro.FreeMatches}}
	case 3:
		c := hpa.Defaults()
		c.Min, c.Max, c.Metrics = 2, 9, []hpa.Metric{{Kind: hpa.TotalPerPod, Target: 7}}
		inner, err := hpa.New(c)
		require.NoError(t, err)
		k := keda.Defaults()
		k.Min = 2
		p, err := keda.New(k, inner)
		require.NoError(t, err)
		return p, []Source{{Series: RequestRate}, {Series: Concurrency, Active: true}}
	}
	c := kpa.Defaults()
	c.Min, c.Max, c.Target = 2, 9, 3
	p, err := kpa.New(c)
	require.NoError(t, err)
	return p, []Source{{Series: Concurrency, Metric: kpa.Stable, Window: model.Minute}, {Series: Concurrency, Metric: kpa.Panic, Window: 6 * model.Second}}
}

// anyMaestro draws one of version 9, by the use of CPU, which a scrape tells. What it goes by
// otherwise are counts, which are always known.
func anyMaestro(t *rapid.T) (autoscale.Policy, []Source) {
	c := maestro.Defaults()
	c.Min, c.Max, c.MaxScaleUp = 2, 9, rapid.Int64Range(1, 7).Draw(t, "largest step")
	trigger := maestro.DefaultTrigger()
	trigger.Kind, trigger.Usage, trigger.Threshold = maestro.KindCPU, 70, 50
	trigger.Time = model.Duration(rapid.IntRange(1, 12).Draw(t, "time")) * 10 * model.Second
	down := trigger
	down.Usage = rapid.Int64Range(20, 60).Draw(t, "lower usage")
	minutes := func(name string) model.Duration {
		return model.Duration(rapid.IntRange(0, 5).Draw(t, name)) * model.Minute
	}
	c.Up = maestro.Direction{Triggers: []maestro.Trigger{trigger}, Cooldown: minutes("cooldown")}
	c.Down = maestro.Direction{Triggers: []maestro.Trigger{down}, Cooldown: minutes("down cooldown")}
	c.LargerWindow = rapid.Bool().Draw(t, "larger window")
	p, err := maestro.New(c)
	require.NoError(t, err)
	return p, []Source{{Series: Utilization, Metric: maestro.CPU}}
}

// Whatever the demand, the delays and the faults: sizes stay within their bounds, no change
// is proposed without a metric, while another is in flight or while a guard holds, results
// come once, and nothing is served that did not arrive or paid for that was not held.
func TestInvariantsOfTheLoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := func(name string, most int) model.Duration {
			return model.Duration(rapid.IntRange(0, most).Draw(t, name)) * model.Second
		}
		share := func(name string) float64 {
			return rapid.SampledFrom([]float64{0, 0, 0.1, 0.5}).Draw(t, name)
		}
		p, sources := anyPolicy(t)
		c := plainQueue(2, 300*model.Millisecond, rapid.Uint64Range(0, 99).Draw(t, "seed"))
		c.Slots, c.Fluid, c.Line = 4, rapid.Bool().Draw(t, "fluid"), rapid.SampledFrom([]int64{-1, 0, 50}).Draw(t, "line")
		c.Supply.Boot, c.Supply.BootCV, c.Supply.Latency = seconds("boot", 200), share("boot cv"), seconds("latency", 40)
		if rapid.Bool().Draw(t, "drains by a deadline") {
			c.Supply.Drain = span(seconds("drain", 60))
		}
		c.Supply.Warm, c.Supply.WarmRate = seconds("warm", 60), 0.5
		c.Scrape = Scrape{Interval: 2*model.Second + seconds("scrape", 30), Delay: seconds("delay", 20), Sources: sources, Entities: true}
		c.Faults = Faults{GapShare: share("gaps"), Error: share("error"), Slow: share("slow"), SlowBy: 5, Fail: share("fail"), FailAfter: seconds("fail after", 90)}
		if rapid.Bool().Draw(t, "losses") {
			c.Faults.MTBF = 10 * model.Minute
		}
		g := &guarded{Policy: p, t: t, least: 2, most: 9, open: map[uint64]bool{}, blind: rapid.IntRange(0, 4).Draw(t, "blind") == 0}
		if g.blind {
			c.Faults.GapShare = 1
		}
		d := &demand.Demand{End: model.Time(24 * model.Minute)}
		for i := range 8 {
			d.Segments = append(d.Segments, demand.Segment{At: model.Time(i) * model.Time(3*model.Minute), Rate: rapid.Float64Range(0, 80).Draw(t, "rate")})
		}
		s, err := New(c, d, g, nil)
		require.NoError(t, err)
		out, err := s.Run()
		require.NoError(t, err)
		require.InDelta(t, out.Requests, out.Served+out.Lost()+s.flow.Inside-s.inService(), 1e-6*max(1, out.Requests)+s.inService())
		require.GreaterOrEqual(t, out.Held+1e-9, out.Used)
		require.GreaterOrEqual(t, out.Used+out.Held*1e-9, 0.0)
		require.LessOrEqual(t, out.Busy, out.Held+1e-9)
		require.LessOrEqual(t, out.Late, out.Requests*(1+1e-9)+1)
	})
}

// inService are requests that a fluid counts as served while they are.
func (s *Sim) inService() float64 {
	if f, ok := s.work.(*fluid); ok {
		return f.busy
	}
	return 0
}
