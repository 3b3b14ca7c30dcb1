package site_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/score"
	"orrery/scheduler/site"
)

// A range whose largest size breaks a cap or a limit takes the largest that keeps
// them: it does not wait for ever on an idle site.
func TestCodedRangesKeepCapsAndLimits(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*site.Config)
		want   int32 // nodes
	}{
		{"nothing in its way", func(*site.Config) {}, 6},
		{"power", func(c *site.Config) { c.Site.PowerCap = 350 }, 3},
		{"power that it states", func(c *site.Config) { c.Site.PowerCap = 149 }, 2},
		{"bandwidth", func(c *site.Config) { c.Site.Bandwidth = 30 }, 4},
		{"nodes of its tenant", func(c *site.Config) { c.Site.Tenants[0].Limits.MaxNodes = 5 }, 5},
		{"nodes of a job of its partition", func(c *site.Config) { c.Site.Partitions[0].MaxNodes = 3 }, 3},
		{"nodes for sensitive work", func(c *site.Config) { c.Site.SensitivePool = 4 }, 4},
		{"no size keeps the cap", func(c *site.Config) { c.Site.Bandwidth = 14 }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := alike(6, coded(t))
			everything := model.NewNodeSet(6)
			for n := range cfg.Site.Nodes {
				cfg.Site.Nodes[n].BusyPower = 100
				everything.Add(model.NodeID(n))
			}
			cfg.Site.Tenants = []model.Tenant{{Name: "t"}}
			cfg.Site.Partitions = []model.Partition{{Name: "p", Nodes: everything, Up: true}}
			c.change(&cfg)
			cfg.Quota.Tenants, cfg.Quota.Partitions = cfg.Site.Tenants, cfg.Site.Partitions
			s := newStand(t, cfg)
			s.submit(0, size(2), func(a *model.Allocation) {
				a.NodesMax, a.IODemand, a.Tenant, a.Partition = 8, 15, 0, 0
				a.Sensitive = c.name == "nodes for sensitive work"
				if c.name == "power that it states" {
					a.Power = 100
				}
			})
			s.pass(0)
			got := int32(0)
			for i := range s.plan.Proposals {
				got = s.plan.Proposals[i].Placement.Nodes()
			}
			require.Equal(t, c.want, got)
		})
	}
}

// TestCodedOrdersTheExampleTrace has a core start the six jobs of the example
// trace of rm-replay at once, under its four vectors of weights as they are. What
// they weigh of data and conformance is the same for all here, as the mode knows
// nothing of the first and the second is switched off; the rows are the printed
// factors.
func TestCodedOrdersTheExampleTrace(t *testing.T) {
	type trait = func(*model.Allocation)
	type example struct {
		name   string
		submit int64 // the pass is at 5000
		traits []trait
		row    [score.NumFactors]float64
	}
	jobs := []example{
		{"preprocess", 1000, []trait{of(0), size(2), class(5), ckpt(model.CheckpointNone)}, [...]float64{.5, .747214, .666667, .675, .5, .5, .5, 0, 0}},
		{"pipeline", 1050, []trait{of(3), size(1), class(2), ckpt(model.CheckpointManual)}, [...]float64{.2, .740614, 0, .575, .5, .5, .5, .090909, 0}},
		{"training", 1100, []trait{of(0), size(16), class(8), ckpt(model.CheckpointAuto)}, [...]float64{.8, .733969, .666667, .15, .5, .5, .5, .166667, 0}},
		{"simulation", 1200, []trait{of(1), size(8), class(3), ckpt(model.CheckpointAuto)}, [...]float64{.3, .720546, 0, .5, .5, .5, .5, .166667, 0}},
		{"inference", 1300, []trait{of(2), size(4), class(7), ckpt(model.CheckpointNone)}, [...]float64{.7, .706941, .666667, .675, .5, .5, .5, 0, 0}},
		{"benchmark", 1400, []trait{of(4), size(32), class(1), ckpt(model.CheckpointNone)}, [...]float64{.1, .693147, 1, .15, .5, .5, .5, 0, 0}},
	}
	for _, c := range []struct {
		name    string
		weights [score.NumFactors]float64
		want    []string // nil: by the rows alone
	}{
		{"default", [...]float64{.2, .2, .2, .15, .1, .05, 0, 0, 0}, []string{"inference", "preprocess", "training", "benchmark", "simulation", "pipeline"}},
		{"baseline", [...]float64{1, .8, .7, .6, .5, .4, .3, .5, 0}, nil},
		{"fairness", [...]float64{.5, 1.5, 2, .6, .5, .4, .1, .5, 0}, nil},
		{"energy", [...]float64{.8, .5, .7, .6, .5, .3, 2, .8, 0}, nil},
	} {
		w, err := score.Raw(c.weights)
		require.NoError(t, err)
		cfg := alike(1000, site.Policy{AsCoded: true, Ranking: site.ByScore, Reference: model.Hour, Weights: w, Cycle: 5000 * model.Second})
		cfg.Site.Groups = make([]model.Group, 4)
		for i, share := range []int64{30, 25, 15, 20, 10} { // ml-team, physics, platform, data-eng, hpc-benchmarks
			cfg.Site.Tenants = append(cfg.Site.Tenants, model.Tenant{Name: fmt.Sprint("t", i), Limits: model.Limits{FairShare: model.Ratio(share, 100)}})
		}
		cfg.Quota.Tenants = cfg.Site.Tenants
		s := newStand(t, cfg)
		for tenant, held := range []int32{100, 400, 50, 350} {
			s.submit(0, of(model.TenantID(tenant)), size(held))
		}
		require.Len(t, s.pass(0), 4)
		for i := range jobs {
			s.submit(jobs[i].submit, jobs[i].traits...)
		}
		var got []string
		for _, id := range s.pass(5000) {
			got = append(got, jobs[id-4].name)
		}
		sum := func(name string) (x float64) {
			i := slices.IndexFunc(jobs, func(e example) bool { return e.name == name })
			for f, v := range jobs[i].row {
				x += v * c.weights[f]
			}
			return x
		}
		want := slices.Clone(got)
		slices.SortFunc(want, func(a, b string) int { return cmp.Compare(sum(b), sum(a)) })
		require.Equal(t, want, got, c.name)
		require.Len(t, got, len(jobs))
		if c.want != nil {
			require.Equal(t, c.want, got)
		}
	}
}

// What is told of a job's score is what the mode reckons with.
func TestCodedNotesHaveCodedFactors(t *testing.T) {
	cfg := alike(8, coded(t))
	s := newStand(t, cfg)
	s.submit(0, size(2), func(a *model.Allocation) { a.DataReady = model.One })
	require.Len(t, s.core.Plan(0).Proposals, 1)
	f := s.core.Why(0, 0).Score.Factors
	require.Equal(t, model.One/2, f[score.Data].Value)
	require.Equal(t, 4*model.One, f[score.Conformance].Value)
}
