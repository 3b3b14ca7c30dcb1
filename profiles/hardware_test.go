package profiles

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/hwmodel"
	"orrery/scheduler/model"
)

// TestFromTheCatalogue: what a node type or a class does not say comes from the catalogue,
// and the canonical form has the figures themselves.
func TestFromTheCatalogue(t *testing.T) {
	c, err := ParseCluster("c.yaml", []byte(`
node_types:
  - {name: a, from: 8xh200-air, cpus: 112, idle_power: 2kW}
  - {name: b, from: dgx-h100, gpu: H100}
groups: [{name: g, nodes: 2, type: a}, {name: h, nodes: 2, type: b}]
workloads:
  - {name: bert, from: train-bert-large, columns: [name=bert*]}
  - {name: own, from: train-bert-large, caps: [{draw: 0.5, throughput: 0.7}]}
`))
	require.NoError(t, err)
	a, b := &c.NodeTypes[0], &c.NodeTypes[1]
	require.EqualValues(t, 8, a.GPUs)
	require.Equal(t, "h200-sxm", a.GPU)
	require.EqualValues(t, 2000, a.IdlePower, "the file says it")
	require.EqualValues(t, 5450, a.BusyPower)
	require.EqualValues(t, 78, a.GPUIdlePower)
	require.Equal(t, "H100", b.GPU)
	require.Equal(t, "h100-sxm", b.GPUModel)
	require.EqualValues(t, 10200, b.BusyPower, "the nameplate, where nothing else is known")
	require.Zero(t, b.IdlePower, "not known, and not made up")
	text := string(c.JSON())
	require.NotContains(t, text, `"from"`)
	require.Contains(t, text, `"gpu_idle_power":"78W"`)
	again, err := ParseSite("site", c.JSON())
	require.NoError(t, err)
	require.Equal(t, text, string(again.JSON()))

	site, err := c.Resolve()
	require.NoError(t, err)
	m := &site.Hardware.Model
	require.Equal(t, site.Hardware.Names["H100"], site.Hardware.Names["h100-sxm"])
	require.Equal(t, model.FixedOf(1.13), m.Classes[0].Throughput[site.Hardware.Names["h200-sxm"]].Value)
	require.Len(t, m.Classes[0].Caps, 5)
	require.Equal(t, []hwmodel.CapStep{{Draw: model.One / 2, Throughput: model.FixedOf(0.7)}}, m.Classes[1].Caps, "the file says them")
	require.Equal(t, []int32{0, 0, 1, 1}, m.NodeGPU)
}

// A list in the place of the PUE is one by load, and stands in the canonical form as such. A number keeps
// the form that it has had.
func TestPUE(t *testing.T) {
	parse := func(text string) *Cluster {
		c, err := ParseCluster("c.yaml", []byte("groups: [{name: g, nodes: 2}]\nfacility: "+text+"\n"))
		require.NoError(t, err)
		_, err = c.Resolve()
		require.NoError(t, err)
		return c
	}
	c := parse("{it_capacity: 4MW, pue: [{load: 0.3, pue: 1.5}, {load: 1, pue: 1.2}]}")
	require.Equal(t, hwmodel.PUE{Capacity: 4e6, Points: []hwmodel.PUEPoint{{Load: 300_000, PUE: 1_500_000}, {Load: 1_000_000, PUE: 1_200_000}}}, c.Facility.Curve())
	again, err := ParseSite("site", c.JSON())
	require.NoError(t, err)
	require.Equal(t, c.Facility.Curve(), again.Facility.Curve())
	require.Contains(t, string(c.JSON()), `"pue_by_load":[{"load":0.3,"pue":1.5},{"pue":1.2}]`)
	number := parse("{pue: 1.3}")
	require.Equal(t, hwmodel.FixedPUE(1_300_000), number.Facility.Curve())
	require.Contains(t, string(number.JSON()), `"facility":{"pue":1.3}`)
}
