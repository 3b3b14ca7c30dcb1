package profiles

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const aServed = `groups: [{name: a, nodes: 16}]
vclusters: [{name: batch, home: 12}, {name: serving, home: 4}]
tenants: [{name: acme}]
services:
  - name: chat
    vcluster: serving
    tenant: acme
    nodes: 2
    min: 1
    max: 6
    demand: {shape: step, base: 10, peak: 100, at: 10m, length: 1h}
    service: {kind: queue, slots: 10, work: 800ms, mode: fluid}
    policy: {kind: lattice, target: 0.7}
`

// A service survives its canonical form and its full print.
func TestServicesOfACluster(t *testing.T) {
	c, err := ParseCluster("site.yaml", []byte(aServed))
	require.NoError(t, err)
	require.Len(t, c.Services, 1)
	s := c.Services[0].Scaling()
	require.Equal(t, []int64{1, 6}, []int64{s.Policies[0].Min, s.Policies[0].Max})
	for _, text := range [][]byte{c.JSON(), c.FullJSON(), c.YAML(), c.BriefYAML()} {
		again, err := ParseCluster("site.yaml", text)
		require.NoError(t, err, "%s", text)
		require.Equal(t, string(c.JSON()), string(again.JSON()))
	}
	require.NotContains(t, string(c.YAML()), "patience_of")
	with, err := c.WithAll([]Assignment{{"services.chat.policy.target", "0.5"}, {"services.chat.max", "4"}})
	require.NoError(t, err)
	require.InDelta(t, 0.5, with.Services[0].Policy.Target, 0)
	require.EqualValues(t, 4, with.Services[0].Max)
	require.EqualValues(t, 6, c.Services[0].Max, "the file that is assigned to stays as it is")
}

// What belongs to another policy goes with it, and has no effect where it is assigned.
func TestSettingsOfServicesThatDoNotApply(t *testing.T) {
	c, err := ParseCluster("site.yaml", []byte(strings.Replace(aServed, "target: 0.7", "target: 0.6, cooldown: 4m, up_window: 1m", 1)))
	require.NoError(t, err)
	plain, err := c.WithAll([]Assignment{{"services.chat.policy.kind", "hpa"}})
	require.NoError(t, err)
	require.Zero(t, plain.Services[0].Policy.Cooldown, "hpa has none")
	require.Equal(t, c.Services[0].Policy.UpWindow, plain.Services[0].Policy.UpWindow, "and has this")
	_, err = ParseCluster("", plain.JSON())
	require.NoError(t, err)

	other, err := ParseCluster("site.yaml", []byte(strings.Replace(aServed, "kind: lattice, target: 0.7", "kind: hpa, behavior: {up_factor: 3, scale_down: {policies: [{value: 2, period: 1m}]}}", 1)))
	require.NoError(t, err)
	swapped, err := other.WithAll([]Assignment{{"services.chat.policy.kind", "lattice"}})
	require.NoError(t, err)
	require.NotContains(t, string(swapped.JSON()), "behavior")
	require.Contains(t, string(other.JSON()), "behavior")
	found := false
	for _, d := range DiffServices(other, swapped) {
		found = found || d.Key == "services.chat.policy.behavior.up_factor" && d.Before == "3" && d.After == ""
	}
	require.True(t, found)

	with, idle, err := c.WithApplying([]Assignment{{"services.chat.policy.kind", "hpa"}, {"services.chat.policy.cooldown", "9m"}})
	require.NoError(t, err)
	require.Len(t, idle, 1)
	require.Equal(t, string(plain.JSON()), string(with.JSON()))
	for path, says := range map[string]string{
		"services.chat.policy.panic":        "services.chat.policy.panic: does not apply with policy.kind: lattice: leave it out",
		"services.chat.policy.max":          "services.chat.policy.max: does not apply in a cluster (the service has it: give max there): leave it out",
		"services.chat.service.batch.chunk": "services.chat.service.batch.chunk: does not apply with service.kind: queue",
		"services.chut.policy.target":       "found services.chut.policy.target (did you mean chat?), want services.NAME.KEY, NAME being chat",
	} {
		_, err := c.WithAll([]Assignment{{path, "2"}})
		require.ErrorContains(t, err, says)
	}
}

// The switches of a policy can be swept, told apart and printed.
func TestSwitchesOfServices(t *testing.T) {
	text := strings.Replace(aServed, "kind: lattice, target: 0.7", "kind: hpa, behavior: {scale_down: {policies: [{value: 2, period: 1m}]}}", 1)
	c, err := ParseCluster("site.yaml", []byte(text))
	require.NoError(t, err)
	c, err = c.WithAll(nil) // with its profiles
	require.NoError(t, err)
	for path, value := range map[string]string{
		"behavior.enabled": "false", "behavior.up_factor": "4", "behavior.scale_up.select_policy": "min", "behavior.scale_down.stabilization_window": "0s", "behavior.scale_up.tolerance": "0.2",
	} {
		path = "services.chat.policy." + path
		require.Contains(t, c.SettingPaths(), path)
		with, err := c.WithAll([]Assignment{{path, value}})
		require.NoError(t, err, path)
		is, err := with.Setting(path)
		require.NoError(t, err, path)
		require.Equal(t, value, is.Value, path)
		require.NotEqual(t, string(c.JSON()), string(with.JSON()), path)
		for _, text := range [][]byte{with.JSON(), with.FullJSON(), with.YAML(), with.BriefYAML()} {
			again, err := ParseCluster("site.yaml", text)
			require.NoError(t, err, "%s", text)
			require.Equal(t, string(with.JSON()), string(again.JSON()))
		}
	}
	for _, path := range c.SettingPaths() { // said or left out, a default is the same
		if key, ok := strings.CutPrefix(path, "services.chat.policy."); ok && c.Services[0].idle("policy."+key) == "" {
			is, err := c.Setting(path)
			require.NoError(t, err, path)
			with, err := c.WithAll([]Assignment{{path, is.Value}})
			require.NoError(t, err, path)
			require.Equal(t, string(c.JSON()), string(with.JSON()), path)
		}
	}
	_, err = c.WithAll([]Assignment{{"services.chat.policy.panic", "3"}})
	require.ErrorContains(t, err, "services.chat.policy.panic: does not apply with policy.kind: hpa: leave it out")
	_, err = c.WithAll([]Assignment{{"services.chat.policy.behavior.scale_up.policies", "3"}})
	require.ErrorContains(t, err, "is list of blocks, want a key of one value")
}

// What is wrong with a service is told by its place in the file.
func TestWrongServices(t *testing.T) {
	for _, x := range []struct{ from, to, says string }{
		{"vcluster: serving\n    tenant", "tenant", "services[0]: has no key vcluster"},
		{"vcluster: serving\n    tenant", "vcluster: servin\n    tenant", `services[0].vcluster: found "servin", which is no vCluster`},
		{"tenant: acme", "tenant: acne", `services[0].tenant: found "acne", which is no tenant`},
		{"max: 6", "max: 0", "services[0].max: found 0, want 1 to 65536"},
		{"min: 1", "min: 7", "services[0].max: found 6, less than the min of 7"},
		{"target: 0.7", "target: 0.7, min: 2", "services[0].policy.min: the service has it"},
		{"target: 0.7", "target: 0.7, panic: 2", "services[0].policy.panic: does not apply to kind: lattice"},
		{"mode: fluid", "mode: fluid, start: 3", "services[0].service.start: the service starts with its min"},
		{"shape: step, base: 10, peak: 100, at: 10m, length: 1h", "trace: other.trace", "services[0].demand.trace: the load table is that of the trace that is replayed"},
		{"peak: 100, at: 10m, length: 1h", "peak: 100, at: 10m", "services[0].demand: has a shape without a length"},
		{"kind: queue, slots: 10", "kind: inference, slots: 10", "services[0].service.slots: does not apply with service.kind: inference"},
	} {
		require.Contains(t, aServed, x.from)
		text := []byte(strings.Replace(aServed, x.from, x.to, 1))
		_, err := ParseCluster("site.yaml", text)
		require.ErrorContains(t, err, x.says)
	}
}
