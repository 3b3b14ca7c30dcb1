package site

import "orrery/scheduler/model"

// lend counts the nodes of other vClusters that j holds, sign times.
func (s *nodeState) lend(j *job, sign int32) {
	if !j.borrowed {
		return
	}
	lendNodes(s, j.VCluster, &j.placement, sign)
}

// lendNodes counts the nodes of p that a job of the vCluster has from others, sign times.
func lendNodes(s *nodeState, to model.VClusterID, p *model.Placement, sign int32) {
	for v := range s.home {
		if model.VClusterID(v) != to {
			s.lent[v] += sign * p.Within(s.home[v])
		}
	}
}

// mayLend is how many nodes more v lends to the vCluster when so many are lent already.
func (p room) mayLend(v model.VClusterID, lent int32) int32 {
	vc := &p.core.site.VClusters[v]
	if v == p.qs.id || !vc.Lend || p.core.vclusters[v].keepsNodes() {
		return 0
	}
	return vc.Lendable(p.core.homes[v]) - lent
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

// lendable bounds what all other vClusters would lend to this one now.
func (p room) lendable() (n int32) {
	if !p.core.site.VClusters[p.qs.id].Borrow {
		return 0
	}
	for v := range p.core.home {
		if may := p.mayLend(model.VClusterID(v), p.core.lent[v]); may > 0 {
			n += min(may, p.qs.free.IdleOf(p.core.home[v]))
		}
	}
	return n
}
