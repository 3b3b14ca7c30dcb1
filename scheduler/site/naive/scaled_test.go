package naive_test

import (
	"cmp"
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
)

// foreign are those of the nodes that are at home in another vCluster than that of j.
func (s *naiveSite) foreign(j *naiveJob, nodes []int) []int {
	return s.only(nodes, func(n int) bool { return s.st.Nodes[n].Home >= 0 && s.st.Nodes[n].Home != j.VCluster })
}

// borrowsMore says whether j may get borrowed nodes beside those that it has.
func (s *naiveSite) borrowsMore(l *naiveVCluster, j, blocked *naiveJob) bool {
	return j.Scaled && blocked == nil && l.policy.Backfill != order.Conservative && j.Preemptible() && s.st.VClusters[j.VCluster].Borrow && (j.GPUs == 0 || s.st.Amounts)
}

// borrowMore adds idle nodes of lenders to all of j's own that are free: more nodes for a
// service that runs.
func (s *naiveSite) borrowMore(v *naiveView, j *naiveJob, open []int, more int) *naiveChoice {
	fits := func(n int) bool {
		if j.Divides() {
			return s.fitsOn(v, j, n)
		}
		return s.idle(v, n)
	}
	nodes := s.only(open, fits)
	if len(nodes) >= more {
		return nil
	}
	for lender := range s.st.VClusters {
		if model.VClusterID(lender) == j.VCluster || s.vclusters[lender].blocked {
			continue
		}
		spare := s.lendable(lender, nil, nil)
		for n := range s.st.Nodes {
			if len(nodes) < more && spare > 0 && s.st.Nodes[n].Home == model.VClusterID(lender) && s.st.VClusters[lender].Lend && s.suits(j, n) && fits(n) &&
				!slices.Contains(j.nodes, n) && !s.setAsideBefore(j, n, s.endOf(j)) && !s.keptForOthers(j, n) {
				nodes = append(nodes, n)
				spare--
			}
		}
	}
	if len(nodes) < more {
		return nil
	}
	slices.Sort(nodes)
	if j.Divides() {
		return s.partsOn(v, j, nodes)
	}
	return &naiveChoice{nodes: nodes}
}

// part is what j has on the nodes.
func (j *naiveJob) part(nodes []int) *naiveChoice {
	c := &naiveChoice{nodes: slices.Sorted(slices.Values(nodes)), amounts: j.Amounts}
	if j.Divides() {
		c.gpus = map[int]uint64{}
		for _, n := range nodes {
			c.gpus[n] = j.gpus[n]
		}
	}
	return c
}

// staysAtHome is what is left of j on fewer nodes when some are borrowed: these go first.
func (s *naiveSite) staysAtHome(j *naiveJob, size int) *naiveChoice {
	away := s.foreign(j, j.nodes)
	nodes := slices.Clone(j.nodes)
	rank := func(n int) int {
		r := 0
		if slices.Contains(away, n) {
			r = 2
		}
		if s.up[n] != model.Ready {
			r++
		}
		return r
	}
	slices.SortFunc(nodes, func(a, b int) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	return j.part(nodes[:size])
}

// reclaim takes nodes of l back from services that a policy scales, for j: as many as it
// needs, or all that it can use.
func (s *naiveSite) reclaim(l *naiveVCluster, j *naiveJob, all bool) bool {
	usable := func(g *naiveJob) []int {
		return s.only(g.nodes, func(n int) bool {
			return s.st.Nodes[n].Home == model.VClusterID(l.id) && s.up[n] == model.Ready && s.couldUse(j, n)
		})
	}
	var guests []*naiveJob
	for _, g := range s.jobs {
		if g.Scaled && g.phase == naiveRunning && !g.leaving && g.flight == nil && s.vclusterOf(g) != l && len(usable(g)) > 0 {
			guests = append(guests, g)
		}
	}
	slices.SortFunc(guests, func(a, b *naiveJob) int { return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(b.Job, a.Job)) })
	needs := s.stated(j)
	if j.phase == naiveRunning {
		needs = s.statedMore(j)
	}
	within := s.withinCaps(needs, func(o *naiveJob) bool { return o == j })
	had := map[*naiveJob]*naiveChoice{}
	fits := false
	for _, g := range guests {
		nodes := usable(g)
		for i := len(nodes) - 1; i >= 0 && !fits; i-- {
			if had[g] == nil {
				had[g] = g.has()
			}
			c := g.part(s.only(g.nodes, func(n int) bool { return n != nodes[i] }))
			g.nodes, g.gpus = c.nodes, c.gpus // as if it had given the node back
			fits = within && s.chooseSought(s.view(l, nil), j) != nil
		}
	}
	for _, g := range guests {
		if had[g] == nil {
			continue
		}
		left := g.has()
		g.nodes, g.gpus = had[g].nodes, had[g].gpus
		if fits || all {
			s.proposeResize(g, left)
			s.plan.Proposals[len(s.plan.Proposals)-1].Reason = model.ReasonReclaimed
		}
	}
	return len(had) > 0 && (fits || all)
}

// tellUnmet lists the services of l that have fewer nodes than was asked for, when nothing
// is under way for them.
func (s *naiveSite) tellUnmet(l *naiveVCluster) {
	for _, j := range s.short(l) {
		if j.unanswered != 0 && j.usage == nil && !s.comesHome(l) {
			s.plan.Unmet = append(s.plan.Unmet, scheduler.Unmet{Job: j.Job, Ref: j.ref, Seq: j.unanswered, Nodes: int32(j.wanted() - len(j.nodes)), Reason: s.lack(l, j)})
		}
	}
}
