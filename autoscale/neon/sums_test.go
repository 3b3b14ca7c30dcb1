package neon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/autoscale"
)

// Every sum that is off by one is told, of each resource and of the right node.
func TestSumsThatDoNotHold(t *testing.T) {
	for _, x := range []struct {
		change func(p *Plugin)
		says   string
	}{
		{func(*Plugin) {}, ""},
		{func(p *Plugin) { p.hosts[1].cpu.Reserved++ }, "CPU of node 1: reserved is 7001, and of its pods together 7000"},
		{func(p *Plugin) { p.hosts[1].memory.Reserved-- }, "memory of node 1: reserved is 6, and of its pods together 7"},
		{func(p *Plugin) { p.hosts[1].cpu.Buffer++ }, "CPU of node 1: buffer is 1, and of its pods together 0"},
		{func(p *Plugin) { p.hosts[1].memory.Pressure++ }, "memory of node 1: capacity pressure is 1, and of its pods together 0"},
		{func(p *Plugin) { p.hosts[1].cpu.Accounted-- }, "CPU of node 1: accounted for is 3999, and of its pods together 4000"},
		{func(p *Plugin) { p.hosts[1].cpu.Total = 6999 }, "CPU of node 1: 7000 are reserved, and without the buffers 7000, more than the 6999 that there are"},
		{func(p *Plugin) { p.hosts[1].memory.Total = 7 }, ""},
		{func(p *Plugin) { p.hosts[0].memory.Reserved++ }, ""}, // of another node
	} {
		p := small(t, PluginDefaults(), 10, 10)
		require.NoError(t, p.Reserve(0, 1, vm(3, 6), false))
		require.NoError(t, p.Reserve(1, 1, vm(4, 6), false))
		require.NoError(t, p.Reserve(2, 0, vm(2, 6), false))
		leaving := p.at(autoscale.Entity(1))
		p.leave(1, leaving, &p.hosts[1])
		x.change(p)
		if err := p.Check(1); x.says == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, x.says)
		}
	}
}
