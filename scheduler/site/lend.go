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

// foreignNodes counts the nodes of p at home in other vClusters than that of j.
func foreignNodes(s *nodeState, j *job, p *model.Placement) (n int32) {
	for v := range s.home {
		if model.VClusterID(v) != j.VCluster {
			n += p.Within(s.home[v])
		}
	}
	return n
}
