package profiles

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/hwmodel"
	"orrery/scheduler/model"
)

// TestNetwork: what a file says of its network, and what it does not, as it is and by way of
// its canonical form.
func TestNetwork(t *testing.T) {
	contends := hwmodel.AllTerms
	quiet := contends &^ (1 << hwmodel.ByContention)
	f := model.FixedOf
	fixed := func(x float64) hwmodel.Factor { return hwmodel.Factor{Low: f(x), Value: f(x), High: f(x)} }
	const groups = "groups: [{name: g, nodes: 2}, {name: h, nodes: 2}]\n"
	for _, c := range []struct {
		name, text string
		terms      hwmodel.Terms
		uplinks    []int64
		class      hwmodel.Communication
	}{
		{"nothing", groups + "workloads: [{name: w}]\n", quiet, nil, hwmodel.Communication{}},
		{"a class without links", groups + "workloads: [{name: w, communication: {share: 0.25, bandwidth: 5GB/s}}]\n", quiet, nil, hwmodel.Communication{Share: fixed(0.25), Bandwidth: 5e9}},
		{"one for all", "group_uplink: 400GB/s\n" + groups + "workloads: [{name: w, communication: {share: 0, bandwidth: 5GB/s}}]\n", contends, []int64{400e9, 400e9}, hwmodel.Communication{Share: fixed(0), Bandwidth: 5e9}},
		{
			"one of its own", "group_uplink: 400GB/s\n" + strings.Replace(groups, "nodes: 2}]", "nodes: 2, uplink: 50GB/s}, {name: h, nodes: 1}]", 1) + "workloads: [{name: w, communication: {share: 0.25, low: 0, high: 1, bandwidth: 1GB/s}}]\n",
			contends, []int64{400e9, 50e9}, hwmodel.Communication{Share: hwmodel.Factor{Low: 0, Value: f(0.25), High: f(1)}, Bandwidth: 1e9},
		},
		{"one known and one not", "groups: [{name: g, nodes: 2, uplink: 1GB/s}, {name: h, nodes: 2}]\nworkloads: [{name: w}]\n", contends, []int64{1e9, 0}, hwmodel.Communication{}},
		{"switched off", "group_uplink: 400GB/s\nruntime_terms: {contention: false}\n" + groups + "workloads: [{name: w}]\n", quiet, []int64{400e9, 400e9}, hwmodel.Communication{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, err := ParseCluster("c.yaml", []byte("runtime: modelled\n"+c.text))
			require.NoError(t, err)
			again, err := ParseSite("site", file.JSON())
			require.NoError(t, err)
			for _, file := range []*Cluster{file, again} {
				site, err := file.Resolve()
				require.NoError(t, err)
				m := &site.Hardware.Model
				require.Equal(t, c.terms, m.Terms)
				require.Equal(t, c.uplinks, m.Uplinks)
				require.Equal(t, c.class, m.Classes[0].Network)
			}
		})
	}
}

// TestNetworkOfATable: groups of a table of nodes have the uplink of all.
func TestNetworkOfATable(t *testing.T) {
	c, err := ParseCluster("c.yaml", []byte("runtime: modelled\ngroup_uplink: 1GB/s\n"))
	require.NoError(t, err)
	site, err := c.WithNodes("table", []NodeRow{{Name: "a", Group: "x", Up: true}, {Name: "b", Group: "y", Up: true}}).Resolve()
	require.NoError(t, err)
	require.Equal(t, []int64{1e9, 1e9}, site.Hardware.Model.Uplinks)
	require.True(t, site.Hardware.Model.Terms.Has(hwmodel.ByContention))
}

// TestRemarksOnNetworks: links without classes that use them, and the contrary, are told.
func TestRemarksOnNetworks(t *testing.T) {
	const classes = "workloads: [{name: w, communication: {share: 0.2, bandwidth: 1GB/s}}]\n"
	for _, c := range []struct{ text, want string }{
		{"runtime: modelled\ngroup_uplink: 1GB/s\ngroups: [{name: g, nodes: 2}]\n" + classes, ""},
		{"groups: [{name: g, nodes: 2}]\n" + classes, ""},
		{"group_uplink: 1GB/s\ngroups: [{name: g, nodes: 2}]\n" + classes, "group_uplink: run times are recorded"},
		{"runtime: modelled\ngroups: [{name: g, nodes: 2, uplink: 1GB/s}]\n", "groups[0].uplink: no class of work says how it communicates"},
		{"runtime: modelled\ngroups: [{name: g, nodes: 2}]\n" + classes, "workloads[0].communication: no group states an uplink"},
	} {
		file, err := ParseCluster("c.yaml", []byte(c.text))
		require.NoError(t, err)
		all := problems{src: file.src, place: file.place}
		file.remarkNetwork(&all)
		if c.want == "" {
			require.Empty(t, all.list, c.text)
			continue
		}
		require.Len(t, all.list, 1, c.text)
		require.Contains(t, all.list[0].String(), c.want)
	}
}
