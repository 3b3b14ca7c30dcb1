package nodelist

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/profiles"
	"orrery/traces"
)

// TestInventories: nodes of a bundle get the memory, limits and links of their GPUs, and types part
// where these differ.
func TestInventories(t *testing.T) {
	inventory := func(limit string, peers func(i int) []string) *capture.Inventory {
		v := &capture.Inventory{}
		v.Add(capture.FactDriver, "550.1")
		for i := range 4 {
			v.GPUs = append(v.GPUs, capture.GPU{Index: int32(i), Name: "X", Memory: 80 << 30})
			v.Add(capture.OfGPU(int32(i))+"pci", fmt.Sprintf("0000:0%d:00.0", i))
			v.Add(capture.OfGPU(int32(i))+"power.limit_w", limit)
			v.Add(capture.OfGPU(int32(i))+"power.default_w", "400")
			v.Add(capture.OfGPU(int32(i))+"mig", "off")
			for link, peer := range peers(i) {
				of := fmt.Sprintf("nvlink.%d.", link)
				v.Add(capture.OfGPU(int32(i))+of+"state", "on")
				if peer == "switch" {
					v.Add(capture.OfGPU(int32(i))+of+"peer_kind", "switch")
				} else {
					v.Add(capture.OfGPU(int32(i))+of+"peer", peer)
				}
			}
		}
		return v
	}
	events := func(of map[string]*capture.Inventory) (out []traces.Event) {
		for _, node := range []string{"a", "b", "c"} {
			r := capture.Record{Record: capture.RecordInventory, Inventory: of[node]}
			out = append(out, r.Event(0, node))
		}
		return out
	}
	pairs := func(i int) []string { p := fmt.Sprintf("0000:0%d:00.0", i^1); return []string{p, p, p} }
	switches := func(int) []string { return []string{"switch", "switch"} }
	none := func(int) []string { return nil }
	l := Rows("cap", []traces.Node{{Name: "a", GPUModel: "X", GPUs: 4, Up: true}, {Name: "b", GPUModel: "Y", GPUs: 4, Up: true}, {Name: "c", GPUModel: "X", GPUs: 4, Up: true}}, nil, func(string) int64 { return 0 })
	require.NoError(t, l.Inventories(events(map[string]*capture.Inventory{"a": inventory("400", switches), "b": inventory("300", pairs), "c": inventory("400", none)})))
	r, err := Cluster("site", []List{l})
	require.NoError(t, err)
	require.Len(t, r.Cluster.NodeTypes, 3)
	a, b, c := r.Cluster.NodeTypes[0], r.Cluster.NodeTypes[1], r.Cluster.NodeTypes[2]
	require.Equal(t, profiles.Bytes(80<<30), a.GPUMemory)
	require.Zero(t, a.GPUPowerLimit, "as it is sold")
	require.Equal(t, profiles.Power(300), b.GPUPowerLimit)
	require.Equal(t, [][]int32{{0, 1, 2, 3}}, a.GPUTopology.Islands)
	require.Equal(t, int64(2*linkBandwidth), a.GPUTopology.IslandBandwidth)
	require.Equal(t, [][]int32{{0, 1}, {2, 3}}, b.GPUTopology.Islands)
	require.Empty(t, c.GPUTopology.Islands)
	require.NotEmpty(t, r.Notes)

	l = Rows("cap", []traces.Node{{Name: "a", GPUModel: "X", GPUs: 4, Up: true}, {Name: "b", GPUModel: "X", GPUs: 4, Up: true}}, nil, func(string) int64 { return 0 })
	require.NoError(t, l.Inventories(events(map[string]*capture.Inventory{"a": inventory("400", none), "b": inventory("300", none), "c": inventory("400", none)})))
	require.Zero(t, l.Nodes[1].Limit, "limits of GPUs of one name differ")
	require.Contains(t, l.Assumed[0], "0 300")
}
