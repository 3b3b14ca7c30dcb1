package model

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestCut: the pieces of a word are its nodes, each in the piece of its part.
func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.Int32Range(-1, 3), 0, 200).Draw(t, "parts")
		c := NewCut(len(parts), func(n NodeID) int32 { return parts[n] })
		met := 0
		for w := range int32((len(parts) + 63) / 64) {
			before := map[int32]bool{}
			for _, p := range c.Word(w) {
				require.False(t, before[p.Part])
				before[p.Part] = true
				for n := range (NodeWord{Word: w, Mask: p.Mask}).Nodes {
					require.Equal(t, parts[n], p.Part)
				}
				met += bits.OnesCount64(p.Mask)
			}
		}
		require.Equal(t, len(parts), met)
	})
}

// TestMakes: what a job draws is what its nodes draw one by one, and each node
// is of the make that it says.
func TestMakes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		site := Site{Nodes: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Node {
			of := rapid.Int64Range(0, 3)
			return Node{
				Home: VClusterID(of.Draw(t, "home") - 1), GPUs: int32(of.Draw(t, "GPUs")), GPUMemory: of.Draw(t, "GPU memory"),
				Memory: of.Draw(t, "memory"), IdlePower: of.Draw(t, "idle"), BusyPower: rapid.Int64Range(0, 2000).Draw(t, "busy"),
			}
		}), 1, 150).Draw(t, "nodes")}
		m := NewNodeClasses(&site)
		var p Placement
		for i := range site.Nodes {
			n := &site.Nodes[i]
			require.Equal(t, NodeClass{n.Home, n.GPUs, n.CPUs, n.GPUMemory, n.Memory, n.IdlePower, n.BusyPower}, *m.Node(NodeID(i)))
			if rapid.Bool().Draw(t, "share") {
				p.Shares = append(p.Shares, NodeShare{Node: NodeID(i), Units: rapid.Int32Range(0, n.GPUs).Draw(t, "units")})
			}
		}
		for w := range (len(site.Nodes) + 63) / 64 {
			in := min(64, len(site.Nodes)-64*w)
			p.Words = append(p.Words, NodeWord{int32(w), rapid.Uint64().Draw(t, "mask") & (1<<in - 1)})
		}
		for _, a := range []Allocation{{}, {Power: 70, NodesMin: 3}} {
			for _, p := range []Placement{p, {Words: p.Words}} {
				require.Equal(t, site.Draw(&a, &p), m.Draw(&a, &p))
				require.Equal(t, site.Draw(&a, &p), m.DrawOn(&a, &p, p.Nodes()))
			}
		}
	})
}
