package vm

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/autoscale"
	"orrery/autoscale/neon"
	"orrery/scheduler/model"
	"orrery/sim/service"
	"orrery/sim/service/demand"
)

// units of 0.25 CPUs and 1 GiB.
func units(n int64) autoscale.Resources {
	return autoscale.Resources{CPU: 250 * n, Memory: n << 30}
}

// host is a node of so many units with machines of 1 to 16 units.
func host(nodes ...int64) Config {
	c := Config{
		Agent: neon.Defaults(), Plugin: neon.PluginDefaults(), Initial: units(1), Memory: Memory{Base: 300 << 20, PerCPU: 1 << 30, Cache: 2 << 30, Fill: 50 << 20},
		Sample: 5 * model.Second, Permit: 10 * model.Millisecond, Timeout: 2 * model.Second, Resize: 500 * model.Millisecond, Approve: 20 * model.Millisecond, Bandwidth: 1 << 30,
		Draws: demand.Draws{Seed: 1, Default: demand.Request{Work: model.Second}},
	}
	c.Agent.Min, c.Agent.Max = units(1), units(16)
	for _, n := range nodes {
		c.Nodes = append(c.Nodes, units(n))
	}
	return c
}

// stepped calls for so many CPUs from 10 minutes on, for 15, and for little otherwise.
func stepped(cpus float64) *demand.Demand {
	at := model.Time(10 * model.Minute)
	return &demand.Demand{Segments: []demand.Segment{{Rate: 0.1}, {At: at, Rate: cpus}, {At: at.Add(15 * model.Minute), Rate: 0.1}}, End: at.Add(40 * model.Minute)}
}

// A step of the demand: the load average of a minute brings the machine up, unit by unit,
// and down again when it has fallen. docs/SERVICES.md has the sizes.
func TestReaction(t *testing.T) {
	out, err := Run(host(64), []*demand.Demand{stepped(2)})
	require.NoError(t, err)
	doc, err := os.ReadFile("../../../docs/SERVICES.md")
	require.NoError(t, err)
	var told []string
	for _, s := range out.Sizes {
		if s.At > model.Time(10*model.Minute) {
			told = append(told, fmt.Sprintf("%d at %d", s.CPU/250, (s.At-model.Time(10*model.Minute))/model.Time(model.Second)))
		}
	}
	row := fmt.Sprintf("| Neon, units of 0.25 CPUs | %s |", strings.Join(told, ", "))
	require.Truef(t, strings.Contains(string(doc), row), "docs/SERVICES.md lacks: %s", row)
	require.InDelta(t, 2*900+0.1*(600+1500), out.Demand, 1)
	require.Positive(t, out.Throttled)
	require.InDelta(t, 0.51, out.Short, 1e-9, "until the permit and the resize have been answered")
	again, err := Run(host(64), []*demand.Demand{stepped(2)})
	require.NoError(t, err)
	require.Equal(t, out, again)
}

// Without the permit server a machine does not grow, and with it it does.
func TestOutage(t *testing.T) {
	c := host(64)
	c.Outages = []service.Span{{From: model.Time(5 * model.Minute), To: model.Time(20 * model.Minute)}}
	out, err := Run(c, []*demand.Demand{stepped(2)})
	require.NoError(t, err)
	require.Positive(t, out.Unanswered)
	for _, s := range out.Sizes {
		require.False(t, s.At < model.Time(20*model.Minute) && s.CPU > 500, "it has no permit for more: %v", s)
	}
	require.Greater(t, out.Sizes[len(out.Sizes)-1].At, model.Time(20*model.Minute))
}

// Without metrics nothing is given back.
func TestGap(t *testing.T) {
	c := host(64)
	c.Gaps = []service.Span{{From: model.Time(20 * model.Minute), To: model.Time(40 * model.Minute)}}
	out, err := Run(c, []*demand.Demand{stepped(2)})
	require.NoError(t, err)
	before := int64(0)
	for _, s := range out.Sizes {
		if s.At >= c.Gaps[0].From && s.At < c.Gaps[0].To {
			require.GreaterOrEqual(t, s.CPU, before)
		}
		before = s.CPU
	}
}

// Machines that grow together leave a node that is too full, and where there is none with
// room they get less than they want.
func TestFullNodes(t *testing.T) {
	demands := []*demand.Demand{stepped(2), stepped(2.2), stepped(2.4)}
	out, err := Run(host(24, 24), demands)
	require.NoError(t, err)
	require.Positive(t, out.Migrations)
	one, err := Run(host(20), demands)
	require.NoError(t, err)
	require.Positive(t, one.Partial)
	require.Positive(t, one.Stayed)
	require.Greater(t, one.Throttled, out.Throttled)
}

// Configurations that cannot be are refused.
func TestRefused(t *testing.T) {
	for _, change := range []func(c *Config){
		func(c *Config) { c.Nodes = nil }, func(c *Config) { c.Sample = 0 }, func(c *Config) { c.Bandwidth = 0 }, func(c *Config) { c.ResizeFail = 2 },
		func(c *Config) { c.Initial = units(100) }, func(c *Config) { c.Agent.Tick = 0 }, func(c *Config) { c.Plugin.CPUWatermark = 2 },
	} {
		c := host(64)
		change(&c)
		_, err := Run(c, []*demand.Demand{stepped(1)})
		require.Error(t, err)
	}
	_, err := Run(host(64), []*demand.Demand{{}})
	require.Error(t, err)
}
