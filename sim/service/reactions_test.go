package service

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"orrery/autoscale"
	"orrery/autoscale/hpa"
	"orrery/autoscale/keda"
	"orrery/autoscale/kpa"
	"orrery/autoscale/lattice"
	"orrery/autoscale/maestro"
	"orrery/scheduler/model"
	"orrery/sim/service/demand"
)

const stepAt = model.Time(10 * model.Minute)

// reaction runs a policy on the step of the demand and tells the sizes that it sets, with
// the seconds since the step. A size that is set again is not told again.
func reaction(t *testing.T, c Config, from float64, p autoscale.Policy) string {
	d := &demand.Demand{Segments: []demand.Segment{{Rate: from}, {At: stepAt, Rate: 100}, {At: stepAt.Add(15 * model.Minute), Rate: from}}, End: stepAt.Add(30 * model.Minute)}
	var told []string
	seen := int64(-1)
	s, err := New(c, d, p, func(now model.Time, x *autoscale.Decision, size int64) {
		if !x.Proposed() || now < stepAt {
			return
		}
		to := size + x.Would.N
		switch x.Would.Verb {
		case autoscale.SetReplicas:
			to = x.Would.N
		case autoscale.Drain:
			to = size - 1
		}
		if to != seen {
			told = append(told, fmt.Sprintf("%d at %d", to, now.Sub(stepAt)/model.Second))
		}
		seen = to
	})
	require.NoError(t, err)
	_, err = s.Run()
	require.NoError(t, err)
	return strings.Join(told, ", ")
}

// stepped is a service whose replicas serve ten requests of 0.8 s at once and start within
// 30 s: a demand of 10/s keeps one busy, and one of 100/s eight.
func stepped(scrape model.Duration, sources ...Source) Config {
	c := plainQueue(2, 800*model.Millisecond, 1)
	c.Fluid, c.Draws.Default.WorkCV, c.Draws.GapCV, c.Slots = true, 0, 0, 10
	c.Scrape = Scrape{Interval: scrape, Sources: sources, Entities: true}
	c.Supply.Boot, c.Supply.Requests = 30*model.Second, autoscale.Resources{CPU: 1000, Memory: 1 << 30}
	return c
}

// policyOf fails the test when there is none.
func policyOf[P autoscale.Policy](t *testing.T, p P, err error) P {
	require.NoError(t, err)
	return p
}

func scaler(t *testing.T, k hpa.Kind, target float64) *hpa.Policy {
	c := hpa.Defaults()
	c.Min, c.Max, c.CPUInit = 1, 20, 0
	c.Metrics = []hpa.Metric{{Kind: k, Target: target, CPU: k == hpa.Utilization}}
	p, err := hpa.New(c)
	return policyOf(t, p, err)
}

// Every policy shows its documented reaction on the same step, and the table of
// docs/SERVICES.md has it.
func TestReactions(t *testing.T) {
	doc, err := os.ReadFile("../../docs/SERVICES.md")
	require.NoError(t, err)
	row := func(name, got string) {
		want := fmt.Sprintf("| %s | %s |", name, got)
		assert.Truef(t, strings.Contains(string(doc), want), "docs/SERVICES.md lacks: %s", want)
	}
	cfg := lattice.Defaults()
	cfg.Min, cfg.Max, cfg.Target = 2, 5, 0.7
	p, err := lattice.New(cfg)
	got := reaction(t, stepped(model.Minute, Source{Series: Utilization, Gauge: true}), 10, policyOf(t, p, err))
	require.Contains(t, got, "3 at 120, 4 at 300, 5 at 480", "window and cooldown")
	row("Lattice, as documented", got)

	coded := lattice.CodedDefaults()
	coded.Min, coded.Max = 2, 20
	q, err := lattice.NewCoded(coded)
	row("Lattice, as coded", reaction(t, stepped(30*model.Second, Source{Series: Utilization, Gauge: true}, Source{Series: QueueDepth, Metric: lattice.QueueDepth}), 10, policyOf(t, q, err)))

	cpu := Source{Series: Utilization, PerReplica: true} // in CPUs, as replicas request one
	row("HPA, CPU at 60 %", reaction(t, stepped(15*model.Second, cpu), 10, scaler(t, hpa.Utilization, 60)))

	k := kpa.Defaults()
	k.Min, k.Max, k.Target, k.Total = 2, 40, 7, 10
	kp, err := kpa.New(k)
	concurrency := []Source{{Series: Concurrency, Metric: kpa.Stable, Window: model.Minute}, {Series: Concurrency, Metric: kpa.Panic, Window: 6 * model.Second}}
	row("KPA, concurrency", reaction(t, stepped(2*model.Second, concurrency...), 10, policyOf(t, kp, err)))

	inner := scaler(t, hpa.TotalPerPod, 15)
	ke, err := keda.New(keda.Defaults(), inner)
	c := stepped(15*model.Second, Source{Series: RequestRate}, Source{Series: Concurrency, Active: true})
	c.Supply.Start = 0
	row("KEDA, from 0, HPA of 15 requests/s beyond", reaction(t, c, 0, policyOf(t, ke, err)))

	rooms := stepped(10 * model.Second)
	rooms.Kind, rooms.Line, rooms.Slots = Rooms, 0, 1
	rooms.Draws.Default.Work = 6 * model.Second
	rooms.Supply.Start = 100
	m := maestro.Defaults()
	m.Min, m.Max = 100, 2000
	up, down := maestro.DefaultTrigger(), maestro.DefaultTrigger()
	up.Usage, up.Time, up.Threshold = 70, model.Minute, 50
	down.Usage, down.Time, down.Threshold = 50, model.Minute, 50
	m.Up, m.Down = maestro.Direction{Triggers: []maestro.Trigger{up}, Cooldown: model.Minute}, maestro.Direction{Triggers: []maestro.Trigger{down}, Cooldown: 5 * model.Minute}
	ma, err := maestro.New(m)
	row("Maestro 9, rooms at 70 %", reaction(t, rooms, 10, policyOf(t, ma, err)))
}

// daily is a service of one replica's load on 4 to 64, for a day of per-second decisions.
func daily(seed uint64) (Config, *demand.Demand) {
	c := plainQueue(8, 100*model.Millisecond, seed)
	c.Fluid, c.Scrape.Interval, c.Step = true, model.Second, 5*model.Minute
	c.Scrape.Sources = []Source{{Series: Utilization, Gauge: true}}
	c.Supply.Boot = 20 * model.Second
	return c, diurnal(model.Second, model.Day, seed)
}

// diurnal is the demand of such days: 30 to 500 arrivals in each span.
func diurnal(span, length model.Duration, seed uint64) *demand.Demand {
	d, err := demand.Generate(demand.Shape{
		Kind: demand.Diurnal, Base: 30 / span.Seconds(), Peak: 500 / span.Seconds(), Noise: 0.1, Grain: model.Minute, Length: length, Seed: seed,
	})
	if err != nil {
		panic(err)
	}
	return d
}

func perSecond(t require.TestingT) autoscale.Policy {
	cfg := lattice.Defaults()
	cfg.Min, cfg.Max, cfg.Target, cfg.Interval, cfg.Aggregation = 4, 64, 0.7, model.Second, lattice.Mean
	p, err := lattice.New(cfg)
	require.NoError(t, err)
	return p
}

// everySecond are policies that decide each second, which also set the series that they go by:
// of a queue, or of rooms with a session each.
func everySecond(t require.TestingT) map[string]func(*Config) autoscale.Policy {
	must := func(p autoscale.Policy, err error) autoscale.Policy {
		require.NoError(t, err)
		return p
	}
	scaler := func() *hpa.Policy {
		c := hpa.Defaults()
		c.Min, c.Max, c.Interval, c.Metrics = 4, 64, model.Second, []hpa.Metric{{Kind: hpa.TotalPerPod, Target: 7}}
		p, err := hpa.New(c)
		require.NoError(t, err)
		return p
	}
	rate := Source{Series: RequestRate, Window: model.Minute}
	rooms := func(c *Config) { c.Kind, c.Line, c.Slots = Rooms, 0, 1 }
	return map[string]func(*Config) autoscale.Policy{
		"lattice": func(c *Config) autoscale.Policy {
			c.Scrape.Sources = []Source{{Series: Utilization, Gauge: true}}
			return perSecond(t)
		},
		"lattice-coded": func(c *Config) autoscale.Policy {
			c.Scrape.Sources = []Source{{Series: Utilization, Gauge: true}, {Series: QueueDepth, Metric: lattice.QueueDepth}}
			l := lattice.CodedDefaults()
			l.Min, l.Max = 4, 64
			p, err := lattice.NewCoded(l)
			return must(p, err)
		},
		"hpa": func(c *Config) autoscale.Policy {
			c.Scrape.Sources = []Source{rate}
			return scaler()
		},
		"kpa": func(c *Config) autoscale.Policy {
			c.Scrape.Sources = []Source{{Series: Concurrency, Metric: kpa.Stable, Window: model.Minute}, {Series: Concurrency, Metric: kpa.Panic, Window: 6 * model.Second}}
			k := kpa.Defaults()
			k.Min, k.Max, k.Target, k.Interval = 4, 64, 0.7, model.Second
			p, err := kpa.New(k)
			return must(p, err)
		},
		"keda": func(c *Config) autoscale.Policy {
			c.Scrape.Sources = []Source{rate, {Series: Concurrency, Active: true}}
			k := keda.Defaults()
			k.Interval = model.Second
			p, err := keda.New(k, scaler())
			return must(p, err)
		},
		"maestro": func(c *Config) autoscale.Policy {
			rooms(c)
			c.Scrape.Sources = nil
			m := maestro.Defaults()
			m.Min, m.Max, m.Period = 4, 64, model.Second
			up, down := maestro.DefaultTrigger(), maestro.DefaultTrigger()
			up.Time, down.Time, down.Usage = 2*model.Minute, 2*model.Minute, 50
			m.Up, m.Down = maestro.Direction{Triggers: []maestro.Trigger{up}, Cooldown: model.Minute}, maestro.Direction{Triggers: []maestro.Trigger{down}, Cooldown: 10 * model.Minute}
			p, err := maestro.New(m)
			return must(p, err)
		},
		"maestro-10": func(c *Config) autoscale.Policy {
			rooms(c)
			c.Scrape.Sources = []Source{{Series: Running, Metric: maestro.RunningMatches}, {Series: Free, Metric: maestro.FreeMatches}}
			m := maestro.V10Defaults()
			m.Min, m.Max, m.Period, m.ReadyTarget = 4, 64, model.Second, 0.2
			p, err := maestro.NewV10(m)
			return must(p, err)
		},
	}
}

// A second of a fluid service with its scrape and decision allocates nothing once its tables
// have grown, whatever the policy.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	all := everySecond(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c, d := daily(1)
		p := all[name](&c)
		s, err := New(c, d, p, nil)
		require.NoError(t, err)
		require.NoError(t, s.begin())
		instants := func(until model.Time) {
			for s.queue.Next() < until {
				s.instant(s.queue.Next())
			}
		}
		now, decided := model.Time(12*model.Hour), int64(0)
		instants(now)
		s.out.Timeline = append(make([]Point, 0, 10_000), s.out.Timeline...)
		for _, r := range s.out.Rules {
			decided -= r.N
		}
		allocs := testing.AllocsPerRun(1000, func() {
			now = now.Add(10 * model.Second)
			instants(now)
		})
		for _, r := range s.out.Rules {
			decided += r.N
		}
		require.GreaterOrEqual(t, decided, int64(10_000), name)
		require.Zero(t, allocs, name)
		require.False(t, math.IsNaN(s.out.Missed()))
	}
}
