package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site/internal/caps"
)

// A job that asks for more nodes than its vCluster ever has of its own can only start by borrowing.
// While it is the first blocked one it is promised the nodes of those vClusters that are predicted to
// lend it what it lacks: else other borrowers would take one node after another.

// needsLent says whether j can only start by borrowing, and is promised what is lent.
func needsLent(qs *queueState, c *Config, j *job) bool {
	return qs.mode.promises && qs.policy.Backfill == order.Easy && len(c.Site.VClusters) > 2 && !c.Site.Amounts && c.borrows(j.Allocation, j.kind) && j.NodesMin > j.kind.mask.Len()
}

// promises says whether other vClusters are told of reservations.
func (qs *queueState) promises() bool { return qs.promising || qs.needLent > 0 }

// foreseeLent sets nodes to the first blocked job's own and all those of vClusters that lend now
// from which it is predicted to borrow, and returns when: at now, or at the first predicted end at which its own
// nodes and those that are lent then suffice. model.Never where that is not foreseen, or a cap
// might decide as well.
func foreseeLent(p *pass, nodes model.NodeSet) model.Time {
	s := p.core
	ref := p.qs.reservation.Ref
	j := &s.jobs[ref]
	if !j.needsLent || s.caps.Cap != (caps.Usage{}) {
		return model.Never
	}
	s.buf.lent = append(s.buf.lent[:0], s.lent...)
	free, lent, clashes := s.buf.trial, s.buf.lent, p.clashes()
	free.CopyFrom(p.qs.free)
	s.walk++
	fits := func(at model.Time) bool {
		q := p.qs.query(j, j.NodesMin, s.avoids(ref, at, at.Add(j.left)))
		picked := s.buf.extra
		clear(nodes)
		clear(picked)
		need := j.NodesMin - free.Lowest(j.kind.mask, q.Avoid, nodes, j.NodesMin)
		for v := range s.home {
			if may := mayLend(p, model.VClusterID(v), lent[v]); may > 0 && need > 0 {
				among := s.buf.lender
				copy(among, s.home[v])
				among.And(j.kind.foreign)
				if n := free.Lowest(among, q.Avoid, picked, min(need, may)); n > 0 {
					need -= n
					nodes.Or(s.home[v]) // what else it lends would be missing from what it may lend
				}
			}
		}
		return need <= 0
	}
	at, found := p.now, false
	p.qs.ends.Ascend(p.now, func(t model.Time, ref model.Ref, _ int32) bool {
		if found = t != at && fits(at); found {
			return false
		}
		at = t
		p.giveInForecast(free, ref, clashes)
		if b := &s.jobs[ref]; b.borrowed {
			for v := range s.home {
				if model.VClusterID(v) != b.VCluster {
					lent[v] -= b.placement.Within(s.home[v])
				}
			}
		}
		return true
	})
	if found || fits(at) {
		return at
	}
	return model.Never
}

// mayLend is how many nodes more v lends to the vCluster when so many are lent already.
func mayLend(p *pass, v model.VClusterID, lent int32) int32 {
	vc := &p.core.site.VClusters[v]
	if v == p.qs.id || !vc.Lend || p.core.vclusters[v].keepsNodes() {
		return 0
	}
	return vc.Lendable(p.core.homes[v]) - lent
}
