package autoscale_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/autoscale"
	"orrery/autoscale/clairvoyant"
	"orrery/autoscale/fixed"
	"orrery/autoscale/hpa"
	"orrery/autoscale/keda"
	"orrery/autoscale/kpa"
	"orrery/autoscale/lattice"
	"orrery/autoscale/lcm"
	"orrery/autoscale/maestro"
	"orrery/autoscale/neon"
	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

// policies are all policies, by name, with bounds of 1 and 8 where they have any.
func policies(t require.TestingT) map[string]func() autoscale.Policy {
	must := func(p autoscale.Policy, err error) autoscale.Policy {
		require.NoError(t, err)
		return p
	}
	scaler := func(kinds ...hpa.Kind) autoscale.Policy {
		cfg := hpa.Defaults()
		cfg.Min, cfg.Max = 1, 8
		for _, k := range kinds {
			cfg.Metrics = append(cfg.Metrics, hpa.Metric{Kind: k, Target: 50, CPU: k == hpa.Utilization})
		}
		p, err := hpa.New(cfg)
		return must(p, err)
	}
	return map[string]func() autoscale.Policy{
		"lattice": func() autoscale.Policy {
			cfg := lattice.Defaults()
			cfg.Min, cfg.Max, cfg.Target = 1, 8, 50
			p, err := lattice.New(cfg)
			return must(p, err)
		},
		"lattice-coded": func() autoscale.Policy {
			cfg := lattice.CodedDefaults()
			cfg.Max = 8
			p, err := lattice.NewCoded(cfg)
			return must(p, err)
		},
		"hpa": func() autoscale.Policy { return scaler(hpa.Utilization, hpa.Total, hpa.PodsAverage) },
		"kpa": func() autoscale.Policy {
			cfg := kpa.Defaults()
			cfg.Min, cfg.Max, cfg.DownDelay = 1, 8, 10*model.Second
			p, err := kpa.New(cfg)
			return must(p, err)
		},
		"keda": func() autoscale.Policy {
			p, err := keda.New(keda.Defaults(), scaler(hpa.ServiceRatio, hpa.TotalPerPod))
			return must(p, err)
		},
		"maestro": func() autoscale.Policy {
			cfg, cpu := maestro.Defaults(), maestro.DefaultTrigger()
			cpu.Kind, cpu.Time = maestro.KindCPU, 30*model.Second
			cfg.Min, cfg.Max, cfg.Panic = 1, 8, true
			cfg.Up, cfg.Down = maestro.Direction{Triggers: []maestro.Trigger{cpu}, Delta: 2}, maestro.Direction{Triggers: []maestro.Trigger{cpu}}
			p, err := maestro.New(cfg)
			return must(p, err)
		},
		"maestro-10": func() autoscale.Policy {
			cfg := maestro.V10Defaults()
			cfg.Min, cfg.Max, cfg.ReadyTarget = 1, 8, 0.5
			p, err := maestro.NewV10(cfg)
			return must(p, err)
		},
		"neon": func() autoscale.Policy {
			cfg := neon.Defaults()
			cfg.Min, cfg.Max, cfg.CacheMetrics = cfg.Unit, autoscale.Resources{CPU: 2000, Memory: 8 << 30}, true
			p, err := neon.NewAgent(cfg, cfg.Unit)
			return must(p, err)
		},
		"lcm-scheduler": func() autoscale.Policy {
			cfg := lcm.SchedulerCoded()
			cfg.Sessions = []lcm.Session{{Need: lcm.Capacity{CPU: 1}}}
			cfg.Templates = []lcm.Template{{Name: "multi-sessions", Enabled: true, Capacity: lcm.Capacity{CPU: 2}}}
			p, err := lcm.NewScheduler(cfg)
			return must(p, err)
		},
		"lcm-reconciler": func() autoscale.Policy {
			cfg := lcm.ReconcilerDefaults()
			cfg.Enabled, cfg.IdleAfter = true, model.Minute
			p, err := lcm.NewReconciler(cfg)
			return must(p, err)
		},
		"fixed": func() autoscale.Policy { p, err := fixed.New(3); return must(p, err) },
		"clairvoyant": func() autoscale.Policy {
			p, err := clairvoyant.New([]clairvoyant.Need{{At: 0, N: 2}, {At: model.Time(model.Minute), N: 5}}, model.Minute)
			return must(p, err)
		},
	}
}

// drawFact draws any fact, likely or not: of entities that were never seen, of metrics
// that are not configured, with values that are no numbers, of proposals never made.
func drawFact(t *rapid.T, now model.Time) autoscale.Fact {
	return autoscale.Fact{
		Kind:      autoscale.FactKind(rapid.IntRange(0, 12).Draw(t, "kind")),
		State:     autoscale.State(rapid.IntRange(0, 8).Draw(t, "state")),
		Outcome:   autoscale.Outcome(rapid.IntRange(0, 5).Draw(t, "outcome")),
		Missing:   rapid.IntRange(0, 6).Draw(t, "missing") == 0,
		Metric:    autoscale.Metric(rapid.IntRange(-1, 3).Draw(t, "metric")),
		Entity:    autoscale.Entity(rapid.IntRange(-1, 6).Draw(t, "entity")),
		N:         rapid.Int64Range(-1, 12).Draw(t, "n"),
		Value:     rapid.SampledFrom([]float64{0, 1, 10, 50, 90, 1000, -5, 1e300, math.NaN(), math.Inf(1), math.Inf(-1)}).Draw(t, "value"),
		At:        now.Add(-model.Duration(rapid.IntRange(0, 100).Draw(t, "age")) * model.Second),
		Window:    model.Duration(rapid.IntRange(0, 60).Draw(t, "window")) * model.Second,
		Seq:       uint64(rapid.IntRange(0, 6).Draw(t, "seq")),
		Resources: autoscale.Resources{CPU: rapid.Int64Range(0, 3000).Draw(t, "cpu"), Memory: rapid.Int64Range(0, 1<<40).Draw(t, "memory")},
	}
}

// step is one call of both verbs.
type step struct {
	now   model.Time
	facts []autoscale.Fact
}

// Any facts, fed anew to a fresh policy, give the same plans; numbers of proposals ascend;
// each proposal has its decision; a policy wakes later than now; and the facts of the
// caller are left as they were.
func TestAnyFacts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var steps []step
		now := model.Time(0)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			s := step{now: now}
			for range rapid.IntRange(0, 6).Draw(t, "facts") {
				s.facts = append(s.facts, drawFact(t, now))
			}
			steps = append(steps, s)
			now = now.Add(model.Duration(rapid.IntRange(0, 70).Draw(t, "gap")) * model.Second)
		}
		for name, policy := range policies(t) {
			var plans [2][]string
			for run := range plans {
				p, last := policy(), uint64(0)
				for _, s := range steps {
					facts := slices.Clone(s.facts)
					p.Observe(s.now, facts)
					require.Equal(t, fmt.Sprint(s.facts), fmt.Sprint(facts), name)
					plan := p.Plan(s.now)
					require.Greater(t, plan.Wake, s.now, name)
					for _, x := range plan.Proposals {
						if x.Verb == autoscale.Cancel {
							require.LessOrEqual(t, x.Seq, last, name)
							continue
						}
						require.Greater(t, x.Seq, last, name)
						last = x.Seq
						require.NotEqual(t, autoscale.Stay, x.Verb, name)
					}
					plans[run] = append(plans[run], fmt.Sprint(*plan))
				}
			}
			require.Equal(t, plans[0], plans[1], name)
		}
	})
}

// Sizes that policies set stay within their bounds, whatever the samples say, and none
// changes anything when there are no samples at all.
func TestBoundsAndBlindness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blind := rapid.Bool().Draw(t, "blind")
		var values []float64
		for range 40 {
			values = append(values, rapid.SampledFrom([]float64{0, 0.1, 1, 20, 50, 90, 400, 1e12}).Draw(t, "value"))
		}
		for name, policy := range policies(t) {
			if name == "fixed" || name == "clairvoyant" || name == "keda" || name == "neon" || strings.HasPrefix(name, "lcm-") {
				continue // they go by no samples, or have other bounds; these have tests of their own
			}
			p, size := policy(), int64(3)
			for i, v := range values {
				now := model.Time(model.Duration(i*60) * model.Second)
				facts := []autoscale.Fact{{Kind: autoscale.FactSize, N: size}, {Kind: autoscale.FactCount, State: autoscale.Ready, N: size}}
				for e := autoscale.Whole; e < 3; e++ {
					if e >= 0 {
						facts = append(facts, autoscale.Fact{Kind: autoscale.FactEntity, Entity: e, State: autoscale.Ready, Resources: autoscale.Resources{CPU: 1000}})
					}
					for m := range autoscale.Metric(3) {
						facts = append(facts, autoscale.Fact{Kind: autoscale.FactSample, Metric: m, Entity: e, Value: v, At: now, Missing: blind})
					}
				}
				p.Observe(now, facts)
				for _, x := range p.Plan(now).Proposals {
					require.False(t, blind, name)
					switch x.Verb {
					case autoscale.SetReplicas:
						size = x.N
					case autoscale.Scale:
						size += x.N
					case autoscale.Drain:
						size--
					}
					require.GreaterOrEqual(t, size, int64(1), name)
					require.LessOrEqual(t, size, int64(8), name)
					p.Observe(now, []autoscale.Fact{{Kind: autoscale.FactResult, Seq: x.Seq, Outcome: autoscale.Accepted, N: size}})
				}
			}
		}
	})
}
