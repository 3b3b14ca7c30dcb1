package quorum

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
)

// walk is checkWords node by node, for words that are well-formed.
func (s *Site) walk(j *jobState, p *model.Proposal) (own int32, need []int32, why model.Reason) {
	need = make([]int32, len(s.need))
	for _, w := range p.Placement.Words {
		for n := range w.Nodes {
			t, home := &s.nodes[n], s.site.Nodes[n].Home
			lends := home >= 0 && p.Borrowed && s.site.VClusters[home].Lend && s.site.VClusters[j.VCluster].Borrow && j.Preemptible()
			switch {
			case s.OwnerOf(n) != noRef || t.taken != 0:
				return 0, need, model.ReasonNodesTaken
			case t.state != model.Ready && !s.kept.Has(n):
				return 0, need, model.ReasonNodeNotReady
			case home < 0 || home == j.VCluster:
				own++
			case !lends:
				return 0, need, model.ReasonNotOwned
			case t.guests == 0:
				need[home]++
			}
		}
	}
	return own, need, model.ReasonNone
}

func (s *Site) conformByNode(p *model.Placement) bool {
	var prints []int32
	for _, w := range p.Words {
		for n := range w.Nodes {
			prints = append(prints, s.site.Nodes[n].Fingerprint)
		}
	}
	for _, h := range p.Shares {
		prints = append(prints, s.site.Nodes[h.Node].Fingerprint)
	}
	for _, f := range prints {
		if f < 0 || f != prints[0] {
			return false
		}
	}
	return true
}

// TestWordsAgainstNodes: whole nodes are refused for the reason of the lowest that
// stands in the way, and counted, as if they were looked at one by one.
func TestWordsAgainstNodes(t *testing.T) {
	seen := map[model.Reason]int{}
	rapid.Check(t, func(t *rapid.T) {
		in := func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, "of") }
		rare := func() bool { return in(0, 70) == 0 }
		site := &model.Site{VClusters: []model.VCluster{{Lend: true, MaxLent: model.One}, {Borrow: true}, {Lend: !rare(), MaxLent: model.One, Borrow: true}}}
		home, print := in(-1, 2), in(-1, 2)
		for range in(1, 150) {
			if in(0, 20) == 0 {
				home, print = in(-1, 2), in(-1, 2)
			}
			n := model.Node{Home: model.VClusterID(home), GPUs: 4, Fingerprint: int32(print)}
			if rare() {
				n.State = model.Drained
			}
			site.Nodes = append(site.Nodes, n)
		}
		s := NewSite(site)
		of := func(ref model.Ref, v, gpus int) *model.Proposal {
			a := &model.Allocation{Job: model.JobID(ref), VCluster: model.VClusterID(v), Tenant: -1, QOS: -1, NodesMin: 1, NodesMax: 1000, GPUs: int32(gpus)}
			s.Apply(&model.Fact{Kind: model.FactSubmitted, Job: a.Job, Ref: ref, Alloc: a})
			return &model.Proposal{Job: a.Job, Ref: ref, VCluster: a.VCluster, Borrowed: true}
		}
		words := func(p *model.Proposal, skip func() bool) {
			for w := range model.NewNodeSet(len(site.Nodes)) {
				m := rapid.Uint64().Draw(t, "mask") | rapid.Uint64().Draw(t, "more")
				if rest := len(site.Nodes) - 64*w; rest < 64 {
					m &= 1<<rest - 1
				}
				if m != 0 && !skip() {
					p.Placement.Words = append(p.Placement.Words, model.NodeWord{Word: int32(w), Mask: m})
				}
			}
		}
		if rapid.Bool().Draw(t, "held") {
			p := of(0, in(0, 2), 0)
			words(p, func() bool { return in(0, 2) == 0 })
			s.Decide(p)
		}
		for ref := range model.Ref(in(0, 2)) {
			p := of(1+ref, in(0, 2), 1)
			p.Placement.Shares = []model.NodeShare{{Node: model.NodeID(in(0, len(site.Nodes)-1)), Units: 1, GPUs: 1 << ref}}
			s.Decide(p)
		}
		p := of(3, in(0, 2), 0)
		p.Borrowed = !rare()
		words(p, func() bool { return in(0, 3) == 0 })
		j := s.jobs.At(3)
		clear(s.need)
		own, borrowed, why := s.checkWords(j, p)
		wantOwn, wantNeed, want := s.walk(j, p)
		require.Equal(t, want, why)
		if seen[why]++; why == model.ReasonNone {
			require.Equal(t, wantOwn, own)
			require.Equal(t, p.Placement.Nodes(), own+borrowed)
			require.Equal(t, wantNeed, s.need)
		}
		require.Equal(t, s.conformByNode(&p.Placement), s.conform(&p.Placement))
	})
	require.GreaterOrEqual(t, len(seen), 4, "%v", seen)
}
