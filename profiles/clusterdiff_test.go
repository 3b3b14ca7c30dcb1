package profiles

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClusterDiff(t *testing.T) {
	read := func(text string) *Cluster {
		c, err := ParseCluster("site.yaml", []byte(text))
		require.NoError(t, err)
		return c
	}
	a := read(`
name: a
node_types:
  - {name: old, gpu: v100, gpus: 4}
  - {name: new, gpu: h100, gpus: 8, gpu_idle_power: 70W, idle_power: 2kW, busy_power: 8kW}
groups: [{name: g, nodes: 2, type: old}, {name: h, nodes: 2, type: new}]
power_cap: 10kW
`)
	b := read(`
name: b
node_types:
  - {name: new, gpu: h100, gpus: 8, gpu_idle_power: 72W, idle_power: 2kW, busy_power: 8kW}
  - {name: old, gpu: v100, gpus: 4}
groups: [{name: g, nodes: 2, type: old}, {name: h, nodes: 2, type: new}]
workloads: [{name: bert, columns: [name=bert], steps: [{nodes: 1, time: 1}, {nodes: 2, time: 1.2}]}]
calibration: [{key: "node_types[new].gpu_idle_power", value: 72W}]
`)
	var got [][3]string
	for _, d := range ClusterDiff(a, b) {
		got = append(got, [3]string{d.Sign() + d.Key, d.Before, d.After})
	}
	require.Contains(t, got, [3]string{"~power_cap", "10kW", "none"})
	require.Contains(t, got, [3]string{"~node_types[new].gpu_idle_power", "70W", "72W"})
	require.Contains(t, got, [3]string{"+workloads[bert].steps[nodes 2, gpus 0, groups 0].time", "", "1.2"})
	require.Contains(t, got, [3]string{"~node_types (order)", "old, new", "new, old"})
	for _, d := range got {
		require.NotContains(t, d[0], "node_types[old]", "of an entry that has another place alone")
		require.NotContains(t, d[0], "calibration")
	}
	require.Empty(t, ClusterDiff(a, a))
}

func TestRewriteKeepsTheRest(t *testing.T) {
	text := `# our site
name: a   # short

node_types:
  # the new ones
  - {name: new, from: dgx-h100, gpu: H100}
  - name: old
    gpu: v100
    gpu_idle_power: 30W # a guess
groups: [{name: g, nodes: 2, type: old}, {name: h, nodes: 2, type: new}]
`
	out, err := Rewrite("site.yaml", []byte(text), []Edit{
		{"node_types[0]", "gpu_idle_power: 71W"},
		{"node_types[1]", "gpu_idle_power: 33W\ngpu_held_power: 50W"},
		{"", "calibration:\n  - {key: x, value: 33W}"},
	})
	require.NoError(t, err)
	require.Equal(t, `# our site
name: a # short

node_types:
  # the new ones
  - {name: new, from: dgx-h100, gpu: H100, gpu_idle_power: 71W}
  - name: old
    gpu: v100
    gpu_idle_power: 33W
    gpu_held_power: 50W
groups: [{name: g, nodes: 2, type: old}, {name: h, nodes: 2, type: new}]
calibration:
  - {key: x, value: 33W}
`, string(out))
	_, err = Rewrite("site.yaml", []byte(text), []Edit{{"node_types[7]", "gpus: 1"}})
	require.Error(t, err)
	_, err = Rewrite("site.yaml", []byte("name: [a\n"), nil)
	require.Error(t, err)
}
