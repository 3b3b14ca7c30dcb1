package place

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// dragonfly is a site of groups of 256 nodes that are all adjacent, and six
// fingerprints that lie in runs of 16 nodes.
func dragonfly(nodes int) *model.Site {
	rng := rand.New(rand.NewPCG(7, 7))
	site := &model.Site{Fingerprints: 6}
	groups := nodes / 256
	for g := range groups {
		var adjacent []int32
		for o := range groups {
			if o != g {
				adjacent = append(adjacent, int32(o))
			}
		}
		site.Groups = append(site.Groups, model.Group{Adjacent: adjacent})
	}
	print := int32(0)
	for n := range nodes {
		if n%16 == 0 {
			print = rng.Int32N(6)
		}
		site.Nodes = append(site.Nodes, model.Node{Group: int32(n / 256), Fingerprint: print, Topology: -1, GPUs: 4})
	}
	return site
}

// occupied has 85 % of the nodes held, at random.
func occupied(sp *Space) (*Free, *naive) {
	rng := rand.New(rand.NewPCG(8, 8))
	f, t := sp.NewFree(), newNaive(sp.site)
	p := model.Placement{}
	for n := range sp.nodes {
		if rng.IntN(100) < 85 {
			p.Words = with(p.Words, model.NodeID(n), model.NodeID(n))
		}
	}
	f.Take(&p)
	t.mark(&p, true, nil)
	return f, t
}

// BenchmarkSelect chooses, takes and gives back; the naive one chooses only. Compare
// two builds with
//
//	go test -run - -bench Select -count 6 ./scheduler/place > new; benchstat old new
func BenchmarkSelect(b *testing.B) {
	for _, nodes := range []int{1_024, 10_240, 102_400} {
		sp := NewSpace(dragonfly(nodes))
		f, naive := occupied(sp)
		class := sp.Class(nil)
		for _, n := range []int32{1, 8, 64, 512, 4096} {
			q := Query{Class: class, Nodes: n}
			if !f.Fits(&q) {
				continue
			}
			b.Run(fmt.Sprintf("nodes=%d/job=%d", nodes, n), func(b *testing.B) {
				var p model.Placement
				b.ReportAllocs()
				for b.Loop() {
					f.Select(&q, &p)
					f.Take(&p)
					f.Give(&p)
				}
			})
			b.Run(fmt.Sprintf("nodes=%d/job=%d/naive", nodes, n), func(b *testing.B) {
				for b.Loop() {
					naive.selection(&q, sp.Members(class))
				}
			})
		}
	}
}

// BenchmarkCopy takes a snapshot of a site of which a job of 64 nodes has
// changed, and asks whether something fits.
func BenchmarkCopy(b *testing.B) {
	for _, nodes := range []int{1_024, 10_240, 102_400} {
		sp := NewSpace(dragonfly(nodes))
		f, _ := occupied(sp)
		o := sp.NewFree()
		q := Query{Class: sp.Class(nil), Nodes: 64}
		var p model.Placement
		f.Select(&q, &p)
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			for b.Loop() {
				o.CopyFrom(f)
				o.Take(&p)
				o.Fits(&q)
			}
		})
	}
}

// BenchmarkShares chooses GPUs of shared nodes.
func BenchmarkShares(b *testing.B) {
	for _, nodes := range []int{1_024, 10_240, 102_400} {
		sp := NewSpace(dragonfly(nodes))
		f, _ := occupied(sp)
		q := Query{Class: sp.Class(nil), Nodes: 2, Share: Share{GPUs: 2}}
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			var p model.Placement
			for b.Loop() {
				f.Select(&q, &p)
				f.Take(&p)
				f.Give(&p)
			}
		})
	}
}

// TestNoAllocation: once a class has been asked for, nothing allocates.
func TestNoAllocation(t *testing.T) {
	sp := NewSpace(dragonfly(4_096))
	f, _ := occupied(sp)
	o := sp.NewFree()
	class, p, extra := sp.Class(nil), model.Placement{}, sp.Eligible(nil)
	part := sp.Class(drawRuns(sp.nodes))
	queries := []Query{
		{Class: class, Nodes: 1}, {Class: class, Nodes: 300}, {Class: class, Nodes: 64, Topology: model.Spread},
		{Class: class, Nodes: 64, Topology: model.Any}, {Class: class, Nodes: 9, Sensitive: true},
		{Class: class, Nodes: 9, Avoid: sp.Members(part)}, {Class: part, Nodes: 500, ConformanceFirst: true},
		{Class: part, Nodes: 3, Share: Share{GPUs: 2}}, {Class: part, Nodes: 3, Share: Share{GPUs: 2}, Sensitive: true},
	}
	round := func() {
		for i := range queries {
			q := &queries[i]
			if f.Fits(q) != f.Select(q, &p) {
				t.Error("Fits and Select disagree")
			}
			f.Take(&p)
			o.CopyFrom(f)
			f.GiveWhere(&p, o)
			o.Fits(q)
			f.Give(&p)
			f.SetAvailable(3, i%2 == 0)
			f.SelectExtra(&Query{Class: part, Nodes: 550}, extra, &p)
			f.Largest(class)
			sp.GroupsNeeded(class, 700)
			sp.Class(sp.Members(part))
		}
	}
	round()
	require.Zero(t, testing.AllocsPerRun(20, round))
}

// drawRuns is every other run of eight nodes.
func drawRuns(n int) model.NodeSet {
	s := model.NewNodeSet(n)
	for i := range n {
		if i/8%2 == 0 {
			s.Add(model.NodeID(i))
		}
	}
	return s
}
