package site

import (
	"cmp"
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/site/internal/elastic"
)

// reclaim proposes that scaled services give back nodes of this vCluster that the blocked
// job under ref can use: those of the lowest class first, then the youngest, of each the
// highest ids, until there is room for the job. all takes every one where that makes no
// room yet. It says whether anything is proposed.
func (p services) reclaim(ref model.Ref, all bool) bool {
	s := p.core
	usable := s.usableNodes(ref, p.now)
	usable.And(s.home[p.qs.id])
	var guests []model.Ref
	for _, r := range s.active {
		if g := &s.jobs[r]; g.Scaled && g.borrowed && g.queue != p.qs && !g.leaving && !g.resizing && g.placement.Within(usable) > 0 {
			guests = append(guests, r)
		}
	}
	if len(guests) == 0 {
		return false
	}
	slices.SortFunc(guests, func(a, b model.Ref) int { //detlint:total a job is there once
		x, y := &s.jobs[a], &s.jobs[b]
		return cmp.Or(cmp.Compare(rankClass(x), rankClass(y)), cmp.Compare(y.Job, x.Job))
	})
	t := p.victims().newTrial(ref)
	back, one := model.NewNodeSet(len(s.site.Nodes)), model.NewNodeSet(len(s.site.Nodes))
	var part model.Placement
	fits := false
	taken := 0
	for ; taken < len(guests) && !fits; taken++ {
		var nodes []model.NodeID
		s.jobs[guests[taken]].placement.EachNode(func(n model.NodeID) {
			if usable.Has(n) {
				nodes = append(nodes, n)
			}
		})
		for k := len(nodes) - 1; k >= 0 && !fits; k-- {
			back.Add(nodes[k])
			clear(one)
			one.Add(nodes[k])
			elastic.Within(&s.jobs[guests[taken]].placement, one, &part)
			t.free.Give(&part)
			fits = t.Fits()
		}
	}
	if !fits && !all {
		return false
	}
	for _, r := range guests[:taken] {
		g := &s.jobs[r]
		keep := model.NewNodeSet(len(s.site.Nodes))
		g.placement.EachNode(func(n model.NodeID) {
			if !back.Has(n) {
				keep.Add(n)
			}
		})
		x := p.newResize(r)
		x.VCluster, x.Reason = g.VCluster, model.ReasonReclaimed
		elastic.Within(&g.placement, keep, &x.Whole)
		p.proposeSize(x)
	}
	return true
}
