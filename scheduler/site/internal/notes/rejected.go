package notes

import (
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/place"
)

// mostRejected is how many sets a note has at most.
const mostRejected = 3

// rejected lists the best sets of nodes that the job does not start on now, none of them
// twice. Cost: the words and free nodes of the site.
func rejected(c *Case) []scheduler.RejectedSet {
	if c.Nodes.Nodes() > 0 {
		set := scheduler.RejectedSet{Why: scheduler.RejectedChosen, Keeper: -1, Until: model.AbsentTime}
		set.Nodes.Set(c.Nodes)
		return []scheduler.RejectedSet{set}
	}
	out := make([]scheduler.RejectedSet, 0, mostRejected)
	add := func(why scheduler.Rejection, nodes model.NodeSet, keeper model.JobID, until model.Time) {
		set := scheduler.RejectedSet{Why: why, Keeper: keeper, Until: until, Nodes: placed(nodes)}
		same := func(o scheduler.RejectedSet) bool { return slices.Equal(o.Nodes.Words, set.Nodes.Words) }
		if len(set.Nodes.Words) > 0 && len(out) < mostRejected && !slices.ContainsFunc(out, same) {
			out = append(out, set)
		}
	}
	several := c.Job.NodesMin > 1
	free := model.NewNodeSet(len(c.Site.Nodes))
	c.Free.Room(c.Class, place.ShareOf(c.Job), free)
	kept := most(c.Kept, free)
	if c.Avoid != nil {
		free.AndNot(c.Avoid)
	}
	add(scheduler.RejectedFree, free, -1, model.AbsentTime)
	if several {
		add(scheduler.RejectedAlike, densest(c.Site, free, c.Site.Fingerprints, func(n *model.Node) int32 { return n.Fingerprint }), -1, model.AbsentTime)
	}
	if kept.Nodes != nil { // before what is a part of another set
		out = out[:min(len(out), mostRejected-1)]
		add(scheduler.RejectedKept, kept.Nodes, kept.Keeper, kept.Until)
	}
	if several {
		add(scheduler.RejectedNear, densest(c.Site, free, int32(len(c.Site.Groups)), func(n *model.Node) int32 { return n.Group }), -1, model.AbsentTime)
	}
	return out
}

// most is what is kept of the free nodes by that which keeps the most of them, the first
// of several; no nodes when nothing does.
func most(kept []Kept, free model.NodeSet) (best Kept) {
	for _, k := range kept {
		set := slices.Clone(free)
		set.And(k.Nodes)
		if n := set.Len(); n > 0 && (best.Nodes == nil || n > best.Nodes.Len()) {
			best = Kept{set, k.Keeper, k.Until}
		}
	}
	return best
}

// densest is the largest part of a set in one of so many groups, the first of several; a
// node without group is one of its own.
func densest(site *model.Site, of model.NodeSet, groups int32, group func(*model.Node) int32) model.NodeSet {
	count := make([]int32, groups)
	alone, best := model.NodeID(-1), int32(-1)
	for n := of.Next(0); n >= 0; n = of.Next(n + 1) {
		if g := group(&site.Nodes[n]); g >= 0 && g < groups {
			count[g]++
		} else if alone < 0 {
			alone = n
		}
	}
	for g, n := range count {
		if n > 0 && (best < 0 || n > count[best]) {
			best = int32(g)
		}
	}
	out := model.NewNodeSet(len(site.Nodes))
	switch {
	case best >= 0:
		for n := of.Next(0); n >= 0; n = of.Next(n + 1) {
			if group(&site.Nodes[n]) == best {
				out.Add(n)
			}
		}
	case alone >= 0:
		out.Add(alone)
	}
	return out
}

// placed is a set of nodes as its words that are not empty.
func placed(nodes model.NodeSet) (p model.Placement) {
	for w, m := range nodes {
		if m != 0 {
			p.Words = append(p.Words, model.NodeWord{Word: int32(w), Mask: m})
		}
	}
	return p
}
