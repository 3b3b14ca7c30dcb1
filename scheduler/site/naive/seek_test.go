package naive_test

import (
	"cmp"
	"slices"

	"orrery/scheduler/model"
)

// preemptForServices looks for victims for the services of l that a policy scales and that
// lack nodes, when its candidates are through.
func (s *naiveSite) preemptForServices(l *naiveVCluster) {
	if !l.policy.Preempts {
		return
	}
	line := slices.DeleteFunc(s.short(l), func(j *naiveJob) bool {
		return !j.Scaled || j.usage != nil || s.hasFailed(j) || !s.mayHold(j, len(j.nodes)+1, nil)
	})
	class := func(j *naiveJob) int32 {
		if j.IsSensitive() {
			return model.SensitiveClass
		}
		return j.Class
	}
	slices.SortStableFunc(line, func(a, b *naiveJob) int { return cmp.Compare(class(b), class(a)) })
	for _, j := range line[:min(len(line), int(l.policy.Preemption.MaxTries))] {
		found := false
		for j.more = j.wanted() - len(j.nodes); j.more > 0 && !found; j.more-- {
			found = s.mayHold(j, len(j.nodes)+j.more, nil) && s.makesRoom(l, j)
		}
		if !found {
			s.fails(j)
		}
	}
}

// couldUse says whether n is a node that j could have if it were free.
func (s *naiveSite) couldUse(j *naiveJob, n int) bool {
	if s.may(j); !j.mayUse[n] { // worked out with them
		return false
	}
	if j.phase == naiveRunning {
		return s.mayGainNode(j, n)
	}
	return !s.inTheWay(j, n, s.now) && !s.keptForOthers(j, n)
}

// chooseSought selects the nodes that victims are sought for.
func (s *naiveSite) chooseSought(v *naiveView, j *naiveJob) *naiveChoice {
	if j.phase != naiveRunning {
		return s.chooseOwn(v, j, int(j.NodesMin), s.now)
	}
	open := s.only(s.may(j), func(n int) bool { return s.mayGainNode(j, n) })
	if j.Divides() {
		return s.chooseParts(v, j, open, j.more)
	}
	if nodes := s.chooseWhole(j, s.idleOf(v, open), j.more); nodes != nil {
		return &naiveChoice{nodes: nodes}
	}
	return nil
}

// comesHome says whether nodes of l are given back by services of other vClusters, which is
// not granted yet.
func (s *naiveSite) comesHome(l *naiveVCluster) bool {
	return slices.ContainsFunc(s.holders, func(j *naiveJob) bool {
		return s.vclusterOf(j) != l && j.flight != nil && slices.ContainsFunc(j.nodes, func(n int) bool {
			return s.st.Nodes[n].Home == model.VClusterID(l.id) && !slices.Contains(j.flight.nodes, n)
		})
	})
}
