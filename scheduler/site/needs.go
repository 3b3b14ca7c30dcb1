package site

import "orrery/scheduler/site/internal/caps"

// setNeeds counts what j takes of the caps on its nodes.
func (s *Core) setNeeds(j *job) {
	n := j.usage.Nodes
	j.needs = caps.Usage{Power: s.nodeClasses.DrawOn(j.Allocation, &j.placement, n), Bandwidth: j.Demand(n)}
	s.countNeeds(j, 1)
}

// leastNeeds is the least that j takes of the caps on n nodes, whichever these are.
func (s *Core) leastNeeds(j *job, n int32) caps.Usage {
	needs := caps.Usage{Bandwidth: j.Demand(n)}
	if !s.caps.Idle.Counts() { // else more nodes may draw less than they do idle
		needs.Power = leastDraw(j.Allocation, j.kind, n)
	}
	return needs
}

// countNeeds counts what j has of the caps and of the nodes for sensitive work, sign
// times.
func (s *Core) countNeeds(j *job, sign int64) {
	s.caps.Used.Power += sign * j.needs.Power
	s.caps.Used.Bandwidth += sign * j.needs.Bandwidth
	s.caps.Hold(&j.placement, int32(sign))
	if j.IsSensitive() {
		s.caps.Sensitive += int32(sign) * j.placement.Nodes()
	}
}

// setTaken notes in the ledger entry of j what its placement takes, which is not counted yet.
func (s *Core) setTaken(j *job) {
	j.usage.Shares = j.placement.Shares
	if j.kind.gpusDiffer && !j.usage.Divides {
		j.usage.GPUs = j.kind.unitsHeld(j.Allocation, &j.placement, j.usage.Nodes, s.nodeClasses)
		j.usage.Milli = s.nodeClasses.Thousandths(&j.placement, j.usage.Nodes)
	}
}
