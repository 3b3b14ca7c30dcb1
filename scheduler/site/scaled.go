package site

import (
	"cmp"
	"slices"

	"orrery/scheduler"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site/internal/caps"
)

// Services that a policy scales (Allocation.Scaled) borrow above their least size, give back
// what its home wants, and have each demand answered.

// mayBorrowMore says whether j may have nodes of other vClusters above its least size now.
// Behind a blocked job of its own vCluster it may not: that may borrow itself.
func mayBorrowMore(p *pass, j *job) bool {
	return j.Scaled && j.kind.foreign != nil && !p.qs.blocked && p.qs.policy.Backfill != order.Conservative && j.Preemptible() &&
		(j.GPUs == 0 || p.core.site.Amounts)
}

// roomWithLent bounds how many nodes j can gain, borrowed ones included.
func roomWithLent(p *pass, j *job) int32 {
	if mayBorrowMore(p, j) {
		return p.qs.room(j) + p.borrowable
	}
	return p.qs.room(j)
}

// foreignNodes counts the nodes of p at home in other vClusters than that of j.
func foreignNodes(s *nodeState, j *job, p *model.Placement) (n int32) {
	for v := range s.home {
		if model.VClusterID(v) != j.VCluster {
			n += p.Within(s.home[v])
		}
	}
	return n
}

// staysAtHome is stays for a service with borrowed nodes, which go first: of the nodes that
// count alike those that are Ready stay, the lowest ids first.
func staysAtHome(s *Core, j *job, n int32, placement *model.Placement) {
	keep := model.NewNodeSet(len(s.site.Nodes))
	for _, own := range [...]bool{true, false} {
		for _, ready := range [...]bool{true, false} {
			j.placement.EachNode(func(id model.NodeID) {
				home := s.site.Nodes[id].Home
				if (home < 0 || home == j.VCluster) == own && s.ready.Has(id) == ready && n > 0 {
					keep.Add(id)
					n--
				}
			})
		}
	}
	within(&j.placement, keep, placement)
}

// within writes the part of p on the nodes of set into placement.
func within(p *model.Placement, set model.NodeSet, placement *model.Placement) {
	placement.Words, placement.Shares = placement.Words[:0], placement.Shares[:0]
	for _, w := range p.Words {
		if w.Mask &= set[w.Word]; w.Mask != 0 {
			placement.Words = append(placement.Words, w)
		}
	}
	for _, h := range p.Shares {
		if set.Has(h.Node) {
			placement.Shares = append(placement.Shares, h)
		}
	}
}

// reclaim proposes that scaled services give back nodes of this vCluster that the blocked
// job under ref can use: those of the lowest class first, then the youngest, of each the
// highest ids, until there is room for the job. all takes every one where that makes no
// room yet. It says whether anything is proposed.
func reclaim(p *pass, ref model.Ref, all bool) bool {
	s := p.core
	usable := usableNodes(p, ref)
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
	t := newTrial(p, ref)
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
			within(&s.jobs[guests[taken]].placement, one, &part)
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
		x.queue, x.reason = g.queue, model.ReasonReclaimed
		within(&g.placement, keep, &x.whole)
		p.proposeSize(x)
	}
	return true
}

// tellUnmet answers the demands of services that are smaller than they are to be, and for
// which nothing is under way.
func tellUnmet(p *pass) {
	for _, ref := range p.qs.services {
		j := &p.core.jobs[ref]
		if size := j.usage.Nodes; j.unanswered != 0 && !j.leaving && !j.resizing && size < j.wants() && !makesRoom(p, ref) {
			p.core.plan.Unmet = append(p.core.plan.Unmet, scheduler.Unmet{Job: j.Job, Ref: ref, Seq: j.unanswered, Nodes: j.wants() - size, Reason: lack(p, ref)})
		}
	}
}

// lack says why the service under ref gets no node more: the first limit that holds it, else
// what is wrong with the node that it would get next, else why there is none.
func lack(p *pass, ref model.Ref) model.Reason {
	s, j := p.core, &p.core.jobs[ref]
	size := j.usage.Nodes
	if r := p.atLimit(j, size); r != model.ReasonNone {
		return r
	}
	q := p.qs.query(j, 1, s.avoidsMore(ref, p.now, j.predictedEnd(p.now)))
	if nodes := &s.buf.choice.nodes; p.qs.free.Select(&q, nodes) {
		return whyNotThese(p, ref, nodes)
	}
	q.Avoid = s.buf.avoid
	clear(q.Avoid)
	avoidsOwn(s, j, q.Avoid)
	if p.qs.free.Fits(&q) {
		return model.ReasonReserved
	}
	return model.ReasonResources
}

// whyNotThese says why the service under ref does not get the nodes, which are free.
func whyNotThese(p *pass, ref model.Ref, nodes *model.Placement) model.Reason {
	s, j := p.core, &p.core.jobs[ref]
	x := p.newResize(ref)
	defer s.dropResize(len(s.resizes) - 1)
	union(&j.placement, nodes, &x.whole)
	left := s.caps.Used.Minus(j.needs)
	switch r := s.overLimits(j, nodes, j.usage.Milli); {
	case r != model.ReasonNone:
		return r
	case !s.caps.Cap.Allows(caps.Usage{Power: s.nodeClasses.Draw(j.Allocation, &x.whole), Idle: s.caps.Idle.On(nodes)}, left):
		return model.ReasonPower
	case !s.caps.Cap.Allows(caps.Usage{Bandwidth: j.Demand(x.whole.Nodes())}, left):
		return model.ReasonBandwidth
	}
	return model.ReasonPriority // a job before it may need them
}
