package conform

import (
	"orrery/autoscale"
	"orrery/autoscale/neon"
	"orrery/scheduler/model"
)

func neonSchemas() []schema {
	return []schema{
		cases("neon-agent-goal", checkNeonGoal),
		cases("neon-agent-wss", checkNeonWorkingSet),
		cases("neon-agent-upstream", checkNeonAgent),
		cases("neon-agent-trace", checkNeonAgent),
		cases("neon-plugin-transitions", checkNeonTransition),
		cases("neon-plugin-sequence", checkNeonSequence),
		cases("neon-plugin-pressure", checkNeonPressure),
		cases("neon-plugin-migration-queue", checkNeonQueue),
		cases("neon-plugin-watermark", checkNeonWatermark),
		cases("neon-plugin-score", checkNeonScore),
	}
}

// neonResources are an amount of CPU and memory.
type neonResources struct {
	Memory int64 `json:"mem_bytes"`
	CPU    int64 `json:"vcpu_milli"`
}

func (r neonResources) amount() autoscale.Resources {
	return autoscale.Resources{CPU: r.CPU, Memory: r.Memory}
}

func neonAmount(r autoscale.Resources) neonResources { return neonResources{r.Memory, r.CPU} }

type neonConfig struct {
	Unit         neonResources `json:"compute_unit"`
	Cache        bool          `json:"enable_lfc"`
	CacheWait    int           `json:"lfc_min_wait_before_downscale_min"`
	CacheShare   float64       `json:"lfc_to_memory_ratio"`
	CacheWindow  int           `json:"lfc_window_min"`
	LoadTarget   float64       `json:"load_average_fraction_target"`
	TotalTarget  float64       `json:"memory_total_fraction_target"`
	MemoryTarget float64       `json:"memory_usage_fraction_target"`
	DownRetry    float64       `json:"monitor_denied_downscale_cooldown_s"`
	WishValid    float64       `json:"monitor_requested_upscale_valid_s"`
	TellRetry    float64       `json:"monitor_retry_s"`
	VMRetry      float64       `json:"neonvm_retry_s"`
	DeniedRetry  float64       `json:"plugin_denied_retry_s"`
	PermitRetry  float64       `json:"plugin_retry_s"`
	Tick         float64       `json:"plugin_tick_s"`
}

type neonVM struct {
	Revision bool          `json:"has_revision"` // of the record of the machine: no input of a decision
	Max      neonResources `json:"max"`
	Min      neonResources `json:"min"`
	Using    neonResources `json:"using"`
}

// config is that of an agent for a machine.
func (c *neonConfig) config(vm *neonVM) neon.Config {
	return neon.Config{
		Min: vm.Min.amount(), Max: vm.Max.amount(), Unit: c.Unit.amount(), LoadTarget: c.LoadTarget, MemoryTarget: c.MemoryTarget, TotalTarget: c.TotalTarget,
		CacheMetrics: c.Cache, CacheShare: c.CacheShare, CacheWindow: c.CacheWindow, CacheWait: c.CacheWait, Tick: span(c.Tick), PermitRetry: span(c.PermitRetry),
		DeniedRetry: span(c.DeniedRetry), VMRetry: span(c.VMRetry), TellRetry: span(c.TellRetry), DownRetry: span(c.DownRetry), WishValid: span(c.WishValid),
	}
}

type neonSystem struct {
	Load   float64 `json:"load1"`
	Cached float64 `json:"mem_cached"`
	Usage  float64 `json:"mem_usage"`
}

func (m *neonSystem) facts(now model.Time) []autoscale.Fact {
	if m == nil {
		return nil
	}
	var list []autoscale.Fact
	for i, v := range []float64{neon.Load: m.Load, neon.MemoryUsage: m.Usage, neon.MemoryCache: m.Cached} {
		list = append(list, autoscale.Fact{Kind: autoscale.FactSample, Metric: autoscale.Metric(i), Value: v, At: now})
	}
	return list
}

type neonCache struct {
	Buckets []float64 `json:"wss_buckets"`
}

func (c *neonCache) facts(now model.Time) []autoscale.Fact {
	if c == nil {
		return nil
	}
	var list []autoscale.Fact
	for i, v := range c.Buckets {
		list = append(list, autoscale.Fact{Kind: autoscale.FactSample, Metric: neon.WorkingSet, Window: model.Duration(i+1) * model.Minute, Value: v, At: now})
	}
	return list
}

type neonGoal struct {
	ID      string        `json:"id"`
	Config  neonConfig    `json:"config"`
	VM      neonVM        `json:"vm"`
	Metrics *neonSystem   `json:"metrics"`
	Cache   *neonCache    `json:"lfc"`
	Others  []neonStep    `json:"other_calls"`
	Want    neonResources `json:"expected"`
}

func checkNeonGoal(c *neonGoal, t *tally) {
	t.whole()
	a, err := neon.NewAgent(c.Config.config(&c.VM), c.VM.Using.amount())
	if err != nil {
		t.fault("config", err.Error(), "valid")
		return
	}
	a.Observe(0, c.Metrics.facts(0))
	a.Observe(0, c.Cache.facts(0))
	d := neonAgent{a: a, c: &c.Config}
	for i := range c.Others {
		d.call(&c.Others[i], t)
	}
	expect(t, "expected", neonAmount(a.Goal(d.now)), c.Want)
}

type neonWorkingSet struct {
	ID     string    `json:"id"`
	Op     string    `json:"op"`
	Factor float64   `json:"max_increase_factor,omitempty"`
	Offset int       `json:"initial_offset,omitempty"`
	Window int       `json:"window,omitempty"`
	Length float64   `json:"project_len,omitempty"`
	Series []float64 `json:"series"`
	Want   float64   `json:"expected"`
}

func checkNeonWorkingSet(c *neonWorkingSet, t *tally) {
	t.whole()
	var got float64
	switch {
	case len(c.Series) == 0:
		t.fault("series", "empty", "values")
		return
	case c.Op == "estimate" && c.Window >= 2 && c.Offset >= c.Window-1:
		got = neon.Estimate(c.Series, c.Offset, c.Window, c.Factor)
	case c.Op == "project_next_highest":
		got = neon.Project(c.Series, c.Length)
	default:
		t.fault("op", c.Op, "estimate (of windows of 2 at least) or project_next_highest")
		return
	}
	// The numbers are those of a test that compares them approximately.
	if !(got >= c.Want-1e-9 && got <= c.Want+1e-9) {
		expect(t, "expected", got, c.Want)
	}
}
