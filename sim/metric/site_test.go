package metric

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/hwmodel"
	"orrery/scheduler/model"
	"orrery/sim/record/column"
)

// guest is a line of a hand-made schedule at a site, in hours; start < 0 means
// never. Each node has 4 GPUs.
type guest struct {
	submit, start, end int64
	nodes, borrowed    int64
	vcluster, tenant   int32
	class              int32
	lost               int64 // GPU-hours
	state              model.JobState
}

const hour = int64(model.Hour)

// host drives a Series through a schedule and computes the table.
func host(t require.TestingT, list []guest, cfg Config) (Table, *Series) {
	s, err := NewSeries(cfg)
	require.NoError(t, err)
	b := &batch{Jobs: column.Jobs{OfSite: true}}
	at := map[int64]bool{}
	for i, g := range list {
		r := model.JobRecord{
			Job: model.JobID(i), User: -1, Submit: model.Time(g.submit * hour), Start: model.AbsentTime, End: model.Time(g.end * hour),
			Procs: int32(g.nodes), State: g.state, VCluster: model.VClusterID(g.vcluster), Tenant: model.TenantID(g.tenant), Class: g.class,
		}
		at[g.submit], at[g.end] = true, true
		if g.start >= 0 {
			at[g.start] = true
			d := (g.end - g.start) * hour
			r.Start, r.Runtime, r.Attempts = model.Time(g.start*hour), model.Duration(d), 1
			r.Allocated = model.Holding{Nodes: g.nodes * d, GPUs: 4 * g.nodes * d, Borrowed: g.borrowed * d}
			r.LostGPU = g.lost * hour
			r.KeptGPU = r.Allocated.GPUs - r.LostGPU
			if g.lost > 0 {
				r.Preemptions, r.Requeues = 1, 1
			}
		}
		b.Append(&r)
	}
	for _, now := range sorted(at) {
		var st State
		vc, ten := make([]Holding, len(cfg.Site.VClusters)), make([]Holding, len(cfg.Site.Tenants))
		for _, g := range list {
			n, ran := model.Time(now*hour), g.start >= 0
			if g.submit == now {
				s.CountSubmit(n, 1)
			}
			if ran && g.start == now {
				s.CountStart(n, 1)
			}
			if ran && g.end == now {
				s.CountEnd(n, 1)
			}
			switch {
			case ran && g.start <= now && now < g.end:
				st.BusyUnits += g.nodes
				st.RunningJobs++
				vc[g.vcluster].Nodes += g.nodes
				vc[g.vcluster].GPUs += 4 * g.nodes
				vc[g.vcluster].Borrowed += g.borrowed
				vc[1-g.vcluster].Lent += g.borrowed
				if g.tenant >= 0 {
					ten[g.tenant].Nodes += g.nodes
				}
			case g.submit <= now && (ran && now < g.start || !ran && now < g.end):
				st.QueuedJobs++
				vc[g.vcluster].Waiting++
			}
		}
		for i, h := range append(vc, ten...) {
			s.Hold(model.Time(now*hour), i, h)
		}
		s.Observe(model.Time(now*hour), st)
	}
	tab, err := Compute(b, s)
	require.NoError(t, err)
	for _, room := range []int{0, 3 * firstKeys / 2} {
		again, err := tabulate(b, s, room)
		require.NoError(t, err)
		require.Equal(t, tab, again, "with room for %d keys", room)
	}
	return tab, s
}

func siteConfig() Config {
	return Config{Units: 10, Site: &SiteConfig{
		VClusters: []string{"batch", "services"}, Tenants: []string{"ice", "fire"},
		Targets: []model.Fixed{model.One / 2, model.One / 4}, GPUs: 40,
		TargetWait: []model.Duration{0, 2 * model.Hour}, WaitLimit: 5 * model.Hour, Reasons: true,
	}}
}

// guests are four jobs that held 20, 12 and 8 node-hours, and one that never
// started.
var guests = []guest{
	{submit: 0, start: 0, end: 4, nodes: 5, vcluster: 0, tenant: 0, class: 1, state: model.Completed},
	{submit: 0, start: 2, end: 6, nodes: 3, borrowed: 2, vcluster: 0, tenant: 1, class: 1, lost: 8, state: model.Completed},
	{submit: 1, start: 8, end: 10, nodes: 4, vcluster: 1, tenant: -1, class: 0, state: model.Failed},
	{submit: 2, start: -1, end: 10, nodes: 9, vcluster: 1, tenant: 0, class: 1, state: model.Pending},
}

func TestSiteByHand(t *testing.T) {
	tab, s := host(t, guests, siteConfig())
	for _, c := range []struct {
		name string
		want float64
	}{
		{"jobs_failed", 1}, {"jobs_suspended", 0}, {"jobs_unfinished", 1}, {"preemptions", 1}, {"requeues", 1},
		{"gpu_hours_allocated", 4 * 40}, {"gpu_hours_lost", 8}, {"gpu_hours_useful", 152}, {"useful_fraction", 0.95},
		{"goodput", 152. / (40 * 10)}, {"node_hours_allocated", 40}, {"node_hours_borrowed", 8},
		{"jain_share", 2.2 * 2.2 / (2 * (1 + 1.2*1.2))}, // shares 20/40 and 12/40 over targets 1/2 and 1/4
		{"share_deviation_max", 0.05}, {"share_deviation_squared", 0.0025},
		{"within_target_wait", 2. / 3}, {"starved_fraction", 2. / 4}, {"quota_hold", 0},
	} {
		x, ok := tab.Value(c.name, All)
		require.True(t, ok, c.name)
		require.InDelta(t, c.want, x, 1e-6, c.name)
	}
	m, _ := tab.Get("energy", All)
	require.Nil(t, m.Value)
	require.NotEmpty(t, m.Note)

	var rows []string
	for _, g := range tab.Groups {
		if g.Window == All {
			rows = append(rows, g.By+" "+g.Name)
		}
	}
	require.Equal(t, []string{"vcluster batch", "vcluster services", "tenant ice", "tenant fire", "class 0", "class 1"}, rows)
	batch, services, ice := tab.Groups[0], tab.Groups[1], tab.Groups[2]
	require.EqualValues(t, 32*hour, batch.NodeUS)
	require.EqualValues(t, 8*hour, *services.LentUS)
	require.InDelta(t, 0.8, *batch.Share, 1e-12)
	require.EqualValues(t, 0, *batch.WaitP50)
	require.EqualValues(t, 7200, *batch.WaitP99)
	require.InDelta(t, 0, *ice.Deviation, 1e-12)
	require.EqualValues(t, 2, ice.Jobs)

	bins := s.VClusterBins()
	nodes := [2]int64{}
	for _, b := range bins {
		nodes[b.VCluster] += b.NodeUS
	}
	require.Equal(t, [2]int64{32 * hour, 8 * hour}, nodes)
}

// A tenant that has a target and submitted nothing gets no part of the nodes: the index and
// the deviations are those without it.
func TestTenantsWithoutJobsShareNothing(t *testing.T) {
	cfg := siteConfig()
	cfg.Site.Tenants, cfg.Site.Targets = append(cfg.Site.Tenants, "air"), append(cfg.Site.Targets, model.One/4)
	tab, _ := host(t, guests, cfg)
	for name, want := range map[string]float64{
		"jain_share":              2.2 * 2.2 / (2 * (1 + 1.2*1.2)), // of three: 2.2 * 2.2 / (3 * (1 + 1.2*1.2))
		"share_deviation_max":     0.05,                            // of three: 0.25
		"share_deviation_squared": 0.0025,
	} {
		x, ok := tab.Value(name, All)
		require.True(t, ok, name)
		require.InDelta(t, want, x, 1e-6, name)
	}
}

// A job has starved when it has waited for longer than the limit, and meets its target when it
// has waited for as long as that.
func TestWaitsAtTheirLimits(t *testing.T) {
	cfg := siteConfig() // 5 h starve, and 2 h are the target of class 1
	tab, _ := host(t, []guest{
		{submit: 0, start: 5, end: 6, nodes: 1, class: 1, state: model.Completed},
		{submit: 0, start: 6, end: 7, nodes: 1, class: 1, state: model.Completed},
		{submit: 0, start: 2, end: 3, nodes: 1, class: 1, state: model.Completed},
		{submit: 0, start: -1, end: 5, nodes: 1, class: 1, state: model.Pending},
	}, cfg)
	x, ok := tab.Value("starved_fraction", All)
	require.True(t, ok)
	require.InDelta(t, 1./4, x, 1e-12, "the one that has waited for 6 h")
	x, ok = tab.Value("within_target_wait", All)
	require.True(t, ok)
	require.InDelta(t, 1./4, x, 1e-12, "the one that has waited for 2 h")
}

func TestReasonsOfWaiting(t *testing.T) {
	s, err := NewSeries(siteConfig())
	require.NoError(t, err)
	s.CountSubmit(0, 2)
	for _, w := range []struct {
		at  model.Time
		ref model.Ref
		why model.Reason
	}{
		{0, 0, model.ReasonResources}, {0, 3, model.ReasonQuotaNodes}, {10, 0, model.ReasonQuotaConcurrent},
		{15, 3, model.ReasonResources}, {30, 0, model.ReasonNone}, {40, 3, model.ReasonQuotaNodes},
	} {
		s.Waits(w.at, w.ref, 0, 1, w.why)
	}
	s.Observe(50, State{})
	s.WaitsNoMore(50, 0)
	tab, err := Compute(&batch{Jobs: column.Jobs{OfSite: true}}, s)
	require.NoError(t, err)
	require.Equal(t, []ReasonTime{{"QUOTA_NODES", 15 + 10, 2}, {"QUOTA_CONCURRENT", 20, 1}, {"RESOURCES", 10 + 25, 2}}, tab.Reasons)
	require.EqualValues(t, 45, *tab.Groups[0].HeldUS, "of its vCluster")
	require.EqualValues(t, 0, *tab.Groups[1].HeldUS)
	require.EqualValues(t, 45, *tab.Groups[3].HeldUS, "of its tenant")
}

func TestEnergyIsInKilowattHours(t *testing.T) {
	cfg := siteConfig()
	cfg.Power = &PowerConfig{PUE: hwmodel.FixedPUE(1_500_000), Overhead: 100}
	const hour = model.Time(model.Hour)
	for _, c := range []struct {
		name   string
		before hwmodel.Tariff // until the second hour
		want   map[string]any
	}{
		{"priced", hwmodel.Tariff{Price: hwmodel.Amount{V: 200_000, OK: true}, Carbon: hwmodel.Amount{V: 300_000, OK: true}}, map[string]any{
			// 1 kW for two hours, the second at a negative price: 0.2 and -0.1 for each kWh of 1.6.
			"energy": 2.0, "energy_low": 1.8, "energy_high": 2.4, "energy_cost": 0.2*1.6 - 0.1*1.6,
			"energy_cost_low": 0.2*(0.9*1.5+0.1) - 0.1*(1.2*1.5+0.1), "energy_cost_high": 0.2*(1.2*1.5+0.1) - 0.1*(0.9*1.5+0.1),
			"carbon": 0.3*1.6 + 0.5*1.6,
		}},
		{"no price at first", hwmodel.Tariff{Carbon: hwmodel.Amount{V: 300_000, OK: true}}, map[string]any{"energy": 2.0, "energy_cost": nil, "carbon": 1.28}},
	} {
		s, err := NewSeries(cfg)
		require.NoError(t, err)
		s.SetTariff(0, c.before)
		s.CountSubmit(0, 1)
		s.Observe(0, State{BusyUnits: 1, Power: Power{900, 1000, 1200}})
		s.SetTariff(hour, hwmodel.Tariff{Price: hwmodel.Amount{V: -100_000, OK: true}, Carbon: hwmodel.Amount{V: 500_000, OK: true}})
		s.CountEnd(2*hour, 1)
		jobs := &batch{Jobs: column.Jobs{OfSite: true}}
		jobs.Append(&model.JobRecord{Start: 0, End: 2 * hour, Runtime: 2 * model.Hour, Walltime: model.Forever, Procs: 1, State: model.Completed, Tenant: -1})
		tab, err := Compute(jobs, s)
		require.NoError(t, err)
		for name, want := range c.want {
			x, ok := tab.Value(name, All)
			require.Equal(t, want != nil, ok, "%s: %s", c.name, name)
			if want != nil {
				require.InDelta(t, want, x, 1e-12, "%s: %s", c.name, name)
			}
		}
	}
}

// A run of a site has the metrics of any run, with the same values, and its own.
func TestSiteAddsToTheRest(t *testing.T) {
	cfg := siteConfig()
	tab, s := host(t, guests, cfg)
	require.Len(t, s.bins.shares, 2*maxBins)
	cfg.Site = nil
	plain, err := NewSeries(cfg)
	require.NoError(t, err)
	require.Nil(t, plain.VClusterBins())
	n := 0
	for _, list := range [][]Definition{Definitions(), SiteDefinitions()} {
		for _, d := range list {
			for _, w := range d.Windows {
				_, ok := tab.Get(d.Name, w)
				require.True(t, ok, "%s %s", d.Name, w)
				n++
			}
		}
	}
	require.Len(t, tab.Metrics, n)
}

// What was lent in the steady window is what was borrowed in it, and not what was lent before.
func TestLentInTheSteadyWindow(t *testing.T) {
	cfg := siteConfig()
	cfg.Warmup, cfg.Cooldown, cfg.LastSubmit = 4*model.Hour, model.Hour, model.Time(9*hour)
	tab, _ := host(t, []guest{
		{submit: 0, start: 0, end: 6, nodes: 3, borrowed: 2, vcluster: 0, tenant: 0, state: model.Completed},
		{submit: 5, start: 5, end: 9, nodes: 1, vcluster: 1, tenant: 0, state: model.Completed},
		{submit: 9, start: 9, end: 10, nodes: 1, vcluster: 1, tenant: 0, state: model.Completed},
	}, cfg)
	lent := map[string]int64{}
	for _, g := range tab.Groups {
		if g.By == ByVCluster && g.Window == Steady {
			lent[g.Name] = *g.LentUS
		}
	}
	require.Equal(t, map[string]int64{"batch": 0, "services": 2 * 2 * hour}, lent, "two nodes from hour 4 to hour 6")
}

// Whatever the schedule: shares of the vClusters add up to 1, groups by
// vCluster add up to the whole, percentiles are those of sorting, and every
// value lies within its range.
func TestSiteProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []guest
		at := int64(0)
		for range rapid.IntRange(1, 30).Draw(t, "jobs") {
			at += rapid.Int64Range(0, 3).Draw(t, "gap")
			g := guest{
				submit: at, start: -1, end: at + rapid.Int64Range(0, 50).Draw(t, "stay"), nodes: rapid.Int64Range(1, 4).Draw(t, "nodes"),
				vcluster: rapid.Int32Range(0, 1).Draw(t, "vcluster"), tenant: rapid.Int32Range(-1, 1).Draw(t, "tenant"),
				class: rapid.Int32Range(0, 10).Draw(t, "class"), state: model.Cancelled,
			}
			if rapid.Bool().Draw(t, "ran") {
				g.start, g.state = rapid.Int64Range(g.submit, g.end).Draw(t, "start"), model.Completed
				g.borrowed = rapid.Int64Range(0, g.nodes).Draw(t, "borrowed")
			}
			list = append(list, g)
		}
		tab, _ := host(t, list, siteConfig())
		shares, jobs, lent, borrowed := 0.0, int64(0), int64(0), int64(0)
		for _, g := range tab.Groups {
			if g.Window != All || g.By != ByVCluster {
				continue
			}
			jobs += g.Jobs
			borrowed += g.BorrowedUS
			if g.LentUS != nil {
				lent += *g.LentUS
			}
			if g.Share != nil {
				shares += *g.Share
			}
			var waits []int64
			for _, j := range list {
				if j.start >= 0 && siteConfig().Site.VClusters[j.vcluster] == g.Name {
					waits = append(waits, (j.start-j.submit)*3600)
				}
			}
			require.EqualValues(t, len(waits), g.Started)
			if slices.Sort(waits); len(waits) > 0 {
				require.EqualValues(t, waits[(90*len(waits)+99)/100-1], *g.WaitP90)
				require.EqualValues(t, waits[len(waits)-1], *g.WaitMax)
			}
		}
		require.EqualValues(t, len(list), jobs)
		require.Equal(t, borrowed, lent)
		if shares != 0 {
			require.InDelta(t, 1, shares, 1e-9)
		}
		for _, name := range []string{"jain_share", "useful_fraction", "within_target_wait", "starved_fraction", "share_deviation_max"} {
			if x, ok := tab.Value(name, All); ok {
				require.True(t, x >= 0 && x <= 1+1e-9 && !math.IsNaN(x), "%s is %v", name, x)
			}
		}
	})
}

func TestSiteNeedsWhatItsJobsHeld(t *testing.T) {
	s, err := NewSeries(siteConfig())
	require.NoError(t, err)
	_, err = Compute(jobsOf([]job{{end: 1, procs: 1, state: model.Completed}}), s)
	require.ErrorContains(t, err, "record.NewSiteMemory")
}

// The bins of vClusters that were joined with their neighbours hold what each vCluster held.
func TestVClusterBinsMerge(t *testing.T) {
	s, err := NewSeries(siteConfig())
	require.NoError(t, err)
	const step, steps = 100, 3 * maxBins / 100 // s: two thirds of the bins are joined
	second := model.Time(model.Second)
	held := func(i, vcluster int64) Holding {
		return Holding{Nodes: i%5 + vcluster, GPUs: i % 3, Borrowed: vcluster * (i % 2), Lent: (1 - vcluster) * (i % 2), Waiting: i%7 - i%7*vcluster}
	}
	s.CountSubmit(0, 1)
	for i := range int64(steps) {
		for v := range int64(2) {
			s.Hold(model.Time(i*step)*second, int(v), held(i, v))
		}
		s.Observe(model.Time(i*step)*second, State{BusyUnits: 1})
	}
	s.Observe(steps*step*second, State{})
	list := s.VClusterBins()
	require.Equal(t, 2*steps*step/4, len(list))
	for _, b := range list {
		require.Equal(t, 4*model.Second, b.Width)
		var want Holding
		for at := b.Time; at < b.Time.Add(b.Width) && at < steps*step*second; at += second {
			h := held(int64(at/second)/step, int64(b.VCluster))
			want.Nodes, want.GPUs, want.Borrowed, want.Lent, want.Waiting = want.Nodes+h.Nodes, want.GPUs+h.GPUs, want.Borrowed+h.Borrowed, want.Lent+h.Lent, want.Waiting+h.Waiting
		}
		us := int64(model.Second)
		require.Equal(t, []int64{want.Nodes * us, want.GPUs * us, want.Borrowed * us, want.Lent * us, want.Waiting * us},
			[]int64{b.NodeUS, b.GPUUS, b.BorrowedUS, b.LentUS, b.QueuedJobUS}, "vCluster %d at %v", b.VCluster, b.Time)
	}
}

// Holdings cost no memory once there are bins.
func TestHoldDoesNotAllocate(t *testing.T) {
	s, err := NewSeries(siteConfig())
	require.NoError(t, err)
	vc, ten := make([]Holding, 2), make([]Holding, 2)
	now := model.Time(0)
	s.Waits(now, 9, 0, 0, model.ReasonResources)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		now += 5 * model.Time(model.Minute)
		vc[0].Nodes++
		s.Hold(now, 0, vc[0])
		s.Hold(now, 3, ten[1])
		s.Waits(now, 3, 1, 0, model.ReasonQuotaNodes)
		s.WaitsNoMore(now, 3)
		s.Observe(now, State{})
	}))
}

// TestPowerBehindTheEnd: a part that ends behind the last event has the energy of its idle nodes,
// as a run over that part alone would.
func TestPowerBehindTheEnd(t *testing.T) {
	const hour = model.Time(model.Hour)
	cfg := siteConfig()
	cfg.Power, cfg.Marks = &PowerConfig{PUE: hwmodel.FixedPUE(1_000_000)}, []model.Time{0, 2 * hour}
	s, err := NewSeries(cfg)
	require.NoError(t, err)
	s.CountSubmit(0, 1)
	s.Observe(0, State{BusyUnits: 1, Power: Power{1000, 1000, 1000}})
	s.CountEnd(hour, 1)
	s.Observe(hour, State{Power: Power{500, 500, 500}})
	jobs := &batch{Jobs: column.Jobs{OfSite: true}}
	jobs.Append(&model.JobRecord{Start: 0, End: hour, Runtime: model.Hour, Walltime: model.Forever, Procs: 1, State: model.Completed, Tenant: -1})
	tabs, err := ComputeParts(jobs, s, []Span{{0, 2 * hour}})
	require.NoError(t, err)
	x, ok := tabs[0].Value("energy", Steady)
	require.True(t, ok)
	require.EqualValues(t, 1.5, x)
}
