package quorum

import (
	"fmt"
	"testing"

	"orrery/scheduler/model"
)

// BenchmarkSite grants and ends a job of a site of 1,024 nodes with 4 GPUs each,
// on whole nodes or on two GPUs of a node, and refuses one.
func BenchmarkSite(b *testing.B) {
	site := &model.Site{VClusters: make([]model.VCluster, 4), Tenants: make([]model.Tenant, 20), PowerCap: 1 << 40}
	for i := range 1024 {
		site.Nodes = append(site.Nodes, model.Node{Home: model.VClusterID(i / 256), GPUs: 4, BusyPower: 1000})
	}
	for _, n := range []int32{0, 1, 8, 64, 256} {
		a := model.Allocation{NodesMin: max(n, 1), NodesMax: max(n, 1), QOS: -1}
		p := model.Proposal{}
		name := fmt.Sprintf("nodes=%d", n)
		if n == 0 {
			name, a.GPUs = "gpus=2", 2
			p.Placement.Shares = []model.NodeShare{{Node: 9, Units: 2, GPUs: 6}}
		}
		for w := int32(0); n > 0; w, n = w+1, n-64 {
			p.Placement.Words = append(p.Placement.Words, model.NodeWord{Word: w, Mask: ^uint64(0) >> max(64-n, 0)})
		}
		submitted := model.Fact{Kind: model.FactSubmitted, Alloc: &a}
		ended := model.Fact{Kind: model.FactEnded, Outcome: model.Completed}
		b.Run("granted/"+name, func(b *testing.B) {
			s := NewSite(site)
			b.ReportAllocs()
			for range b.N {
				s.Apply(&submitted)
				if f := s.Decide(&p); f.Kind != model.FactAssigned {
					b.Fatal(f.Reason)
				}
				s.Apply(&ended)
			}
		})
		b.Run("refused/"+name, func(b *testing.B) {
			s := NewSite(site)
			s.Apply(&submitted)
			s.Decide(&p)
			other := a
			other.Job = 1
			s.Apply(&model.Fact{Kind: model.FactSubmitted, Job: 1, Ref: 1, Alloc: &other})
			q := p
			q.Job, q.Ref = 1, 1
			b.ReportAllocs()
			for range b.N {
				if f := s.Decide(&q); f.Reason != model.ReasonNodesTaken {
					b.Fatal(f.Kind)
				}
			}
		})
	}
}
