package scaling

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/autoscale"
	"orrery/autoscale/neon"
	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/service/demand"
)

const someMachines = `demand: {shape: step, base: 1, peak: 9, at: 10m, over: 15m, length: 50m}
service: {kind: machines, work: 1s}
machines: {count: 4, nodes: [{count: 2, cpus: 6, memory: 24GiB}, {cpus: 4, memory: 8GiB}], memory: {per_cpu: 1GiB}}
policies: [{kind: fixed, size: 4}, {kind: neon, max: 16, target: 0.9}]
seeds: 2
`

func machinesFile(t *testing.T, text string) *profiles.Scaling {
	t.Helper()
	s, err := profiles.ParseScaling("s.yaml", []byte(text))
	require.NoError(t, err)
	return s
}

// The machines' demands add up to the whole, evenly or by shares that the seed draws, and
// single requests become rates of the steps.
func TestDivided(t *testing.T) {
	s := machinesFile(t, someMachines)
	d := &demand.Demand{Segments: []demand.Segment{{Rate: 3}, {At: model.Time(model.Hour), Rate: 5}}, End: model.Time(2 * model.Hour)}
	sums := func(seed uint64) (first []float64) {
		list, err := divided(s, d, seed)
		require.NoError(t, err)
		require.Len(t, list, 4)
		for k, x := range d.Segments {
			sum := 0.0
			for _, m := range list {
				require.Equal(t, d.End, m.End)
				require.Equal(t, x.At, m.Segments[k].At)
				sum += m.Segments[k].Rate
			}
			require.InDelta(t, x.Rate, sum, 1e-9)
		}
		for _, m := range list {
			first = append(first, m.Segments[0].Rate)
		}
		return first
	}
	require.Equal(t, []float64{0.75, 0.75, 0.75, 0.75}, sums(1))
	s.Machines.Spread = 0.5
	one := sums(1)
	require.Equal(t, one, sums(1))
	require.NotEqual(t, one, sums(2))
	require.NotEqual(t, one[0], one[1])

	s.Machines.Spread, s.Machines.Noise = 0, 0.3
	list, err := divided(s, d, 1)
	require.NoError(t, err)
	require.NotEqual(t, list[0].Segments[0].Rate, list[1].Segments[0].Rate, "each has a noise of its own")

	s.Machines.Noise = 0
	list, err = divided(s, &demand.Demand{Singles: []demand.Single{{At: 1, N: 240}}, End: model.Time(2 * model.Minute)}, 1)
	require.NoError(t, err)
	require.Equal(t, []float64{1, 0}, []float64{list[0].Segments[0].Rate, list[0].Segments[1].Rate}, "a quarter of 240 in a step of a minute")
}

// Keys of the file come to the agent, the plugin and the nodes.
func TestMachinesOfAFile(t *testing.T) {
	s := machinesFile(t, `demand: {shape: constant, base: 1, length: 50m}
service: {kind: machines, work: 1s, start: 3}
machines: {unit_cpus: 0.5, unit_memory: 2GiB, nodes: [{count: 2, cpus: 6, memory: 24GiB}, {cpus: 4.5, memory: 8GiB}]}
faults: {outage_from: 1m, outage_length: 2m, restart_at: 3m, restart_length: 4m, gap_from: 5m, gap_length: 6m, gaps: 0.1, error: 0.2}
policies:
  - {kind: neon, min: 2, max: 4, target: 0.8, interval: 20s, resize_retry: 6s,
     agent: {memory_target: 0.6, total_target: 0.7, cache_metrics: true, cache_share: 0.5, cache_window: 3, cache_wait: 4, step_up: true, permit_retry: 7s, denied_retry: 8s, tell_retry: 9s, down_retry: 10s},
     plugin: {cpu_watermark: 0.75, memory_watermark: 0.5, migrate: false, account_pressure: true, refuse_over: true, even_watermark: true, check_unit: true, random_score: true}}
`)
	require.NoError(t, Check(s))
	c := machinesOf(s, &s.Policies[0], 7)
	units := func(n int64) autoscale.Resources {
		return autoscale.Resources{CPU: 500 * n, Memory: n << 31}
	}
	agent := neon.Defaults()
	agent.Unit, agent.Min, agent.Max, agent.LoadTarget, agent.Tick = units(1), units(2), units(4), 0.8, 20*model.Second
	agent.MemoryTarget, agent.TotalTarget, agent.CacheMetrics, agent.CacheShare = 0.6, 0.7, true, 0.5
	agent.CacheWindow, agent.CacheWait, agent.StepUp = 3, 4, true
	agent.VMRetry, agent.PermitRetry, agent.DeniedRetry, agent.TellRetry, agent.DownRetry = 6*model.Second, 7*model.Second, 8*model.Second, 9*model.Second, 10*model.Second
	require.Equal(t, agent, c.Agent)
	plugin := neon.Documented()
	plugin.Unit, plugin.Slot, plugin.CPUWatermark, plugin.MemoryWatermark, plugin.Migrate, plugin.RandomScore, plugin.Seed = units(1), 2<<30, 0.75, 0.5, false, true, 7
	require.Equal(t, plugin, c.Plugin)
	require.Equal(t, units(3), c.Initial)
	require.Equal(t, []autoscale.Resources{{CPU: 6000, Memory: 24 << 30}, {CPU: 6000, Memory: 24 << 30}, {CPU: 4500, Memory: 8 << 30}}, c.Nodes)
	minute := model.Time(model.Minute)
	require.Equal(t, []model.Time{minute, 3 * minute, 3 * minute, 7 * minute, 5 * minute, 11 * minute},
		[]model.Time{c.Outages[0].From, c.Outages[0].To, c.Restarts[0].From, c.Restarts[0].To, c.Gaps[0].From, c.Gaps[0].To})
	require.Equal(t, []float64{0.1, 0.2}, []float64{c.GapShare, c.ResizeFail})
	require.Equal(t, []Node{{12, 12}, {12, 12}, {9, 4}}, nodeUnits(&s.Machines))
}

// Both policies run on the same machines, twice with the same result, and what a fixed size
// costs follows from its size.
func TestMachinesCompared(t *testing.T) {
	c := compare(t, someMachines, nil)
	require.Equal(t, c, compare(t, someMachines, nil))
	of := func(policy int, name string) float64 {
		for k, m := range c.Measures() {
			if m.Name == name {
				return c.Policies[policy].Mean[k].Estimate
			}
		}
		return -1
	}
	require.Len(t, c.Policies[1].Mean, len(MachineMeasures()))
	require.Equal(t, 4, c.Machines.Count)
	require.Nil(t, c.Onset, "there are no replicas to count")
	require.InDelta(t, (35*60*1+15*60*9)/3600.0, c.Machines.Called, 1e-9)
	require.InDelta(t, 4*4*50.0/60, of(0, "cost"), 1e-9)
	// Each machine is called for 0.25 CPUs, a unit, or for 2.25, nine.
	require.InDelta(t, 4*(35*1+15*9)/60.0, of(0, "needed_hours"), 1e-9)
	require.InDelta(t, 100*15*5/170.0, of(0, "theta_under"), 1e-6)
	require.InDelta(t, 100*35*3/170.0, of(0, "theta_over"), 1e-6)
	require.InDelta(t, 30, of(0, "tau_under"), 1e-9)
	require.InDelta(t, 70, of(0, "tau_over"), 1e-9)
	require.Less(t, of(1, "theta_over"), of(0, "theta_over"))
	require.Less(t, of(1, "throttled"), of(0, "throttled"))
	require.Equal(t, "better", c.Policies[1].Verdict(0))
	log := c.Policies[1].Decisions
	require.NotEmpty(t, log)
	for i := range log {
		require.Positive(t, log[i].Machine)
		require.True(t, i == 0 || log[i].At >= log[i-1].At)
	}
}
