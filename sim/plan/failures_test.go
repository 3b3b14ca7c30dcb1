package plan

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/hwmodel"
	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/sim/world"
)

// TestFaultsOf: what a cluster file says of failures is what the world draws from.
func TestFaultsOf(t *testing.T) {
	exp := func(mean model.Duration) hwmodel.Lifetime {
		return world.Exponential{Exponential: hwmodel.Exponential{Expected: mean}}
	}
	const day = model.Day
	for _, c := range []struct {
		text string
		want world.Faults
	}{
		{"", world.Faults{}},
		{"failures: {mtbf: 30d}", world.Faults{Lives: []hwmodel.Lifetime{exp(30 * day)}, Repair: exp(4 * model.Hour)}},
		{
			"failures: {mtbf: 30d, law: weibull, shape: 0.7, repair: log-normal, repair_sigma: 1.4, mttr: 6h}",
			world.Faults{Lives: []hwmodel.Lifetime{hwmodel.WeibullOf(30*day, 0.7)}, Repair: hwmodel.LogNormalOf(6*model.Hour, 1.4)},
		},
		{
			"failures: {mtbf: 30d, repair: log-normal, repair_sigma: 1.4, repair_median: 59m}",
			world.Faults{Lives: []hwmodel.Lifetime{exp(30 * day)}, Repair: hwmodel.LogNormal{Median: 59 * model.Minute, Sigma: 1.4}},
		},
		{
			"node_types: [{name: a, mtbf: 9d}, {name: b, mtbf: 30d}, {name: c}]\ngroups: [{name: h, nodes: 1, type: c}, {name: i, nodes: 1, type: a}, {name: j, nodes: 1, type: b}]\nfailures: {mtbf: 30d}",
			world.Faults{Lives: []hwmodel.Lifetime{exp(30 * day), exp(9 * day)}, LifeOf: []int32{0, 1, 0}, Repair: exp(4 * model.Hour)},
		},
		{
			"failures: {shared: [{mtbf: 9d, mttr: 1h}, {of: nodes, nodes: g-2, mtbf: 8d, mttr: 1h, repair_sigma: 1}]}",
			world.Faults{Shared: []world.SharedFault{
				{Key: 0, Nodes: []model.NodeID{0, 1}, Life: exp(9 * day), Repair: exp(model.Hour)},
				{Key: 1 << 32, Nodes: []model.NodeID{1}, Life: exp(8 * day), Repair: hwmodel.LogNormalOf(model.Hour, 1)},
			}},
		},
		{
			"agents: {heartbeat: {down_after: 1m}, boot_failure: 0.1, boot_timeout: 10m, prologue_failure: 0.2, prologue_repair: 2h}",
			world.Faults{
				Heartbeat: world.Heartbeat{Degraded: 30 * model.Second, Down: model.Minute}, BootFails: 0.1, BootTimeout: 10 * model.Minute,
				PrologueFails: 0.2, Remedy: exp(2 * model.Hour),
			},
		},
		{"agents: {heartbeat: {down_after: 1m, degraded_after: 0s}}", world.Faults{Heartbeat: world.Heartbeat{Down: model.Minute}}},
	} {
		text := c.text
		if !strings.HasPrefix(text, "node_types") {
			text = "groups: [{name: g, nodes: 2}]\n" + text
		}
		file, err := profiles.ParseCluster("c.yaml", []byte(text))
		require.NoError(t, err)
		res, err := file.Resolve()
		require.NoError(t, err)
		c.want.SlowBy = 10
		require.Equal(t, c.want, faultsOf(res), c.text)
	}
}
