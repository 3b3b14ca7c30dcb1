package site

import (
	"slices"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/quota"
	"orrery/scheduler/site/internal/caps"
)

// gate is what keeps jobs from starting, whatever is free.
type gate struct{ *view }

func (v *view) gate() gate { return gate{v} }

// held says which limit keeps j from starting now, whatever is free.
func (p gate) held(c order.Candidate) model.Reason {
	policy, j := p.qs.policy, &p.core.jobs[c.Ref]
	if policy.MinScore > 0 && policy.Ranking == ByScore && model.Fixed(c.Key) < policy.MinScore {
		return model.ReasonMinScore
	}
	if j.Reservation >= 0 && p.core.site.Reservations[j.Reservation].Outside(p.now, p.now.Add(j.left)) {
		return model.ReasonReserved
	}
	if r := p.core.limited(j, &j.usage); r != model.ReasonNone {
		return r
	}
	r := p.core.graph.Gate(c.Ref)
	if r != model.ReasonNone && !p.qs.waiting.Row(c.Ref).Gated {
		p.scratch.gated = append(p.scratch.gated, c.Ref)
	}
	return r
}

// limited says which hard limit j would exceed if it claimed u.
func (s *Core) limited(j *job, u *quota.ResourceUsage) model.Reason {
	r := s.ledger.Check(u)
	if r == model.ReasonNone && u.Divides {
		r = s.confined(j, u)
	}
	if r == model.ReasonNone && s.overPool(j, u.Nodes) {
		r = model.ReasonSensitivePool
	}
	if r != model.ReasonNone {
		metLimit(s, j, r, u.Divides)
	}
	return r
}

// confined says which limit on nodes keeps j, which takes shares, from starting: it leaves
// no room for other nodes than those with shares that it counts already, and these have none.
func (s *Core) confined(j *job, u *quota.ResourceUsage) model.Reason {
	avoid := s.buf.confined
	r := s.ledger.Confines(u, avoid)
	if r == model.ReasonNone {
		return r
	}
	q := j.queue.query(j, u.Nodes, avoid)
	if j.queue.free.Fits(&q) {
		return model.ReasonNone
	}
	return r
}

// overLimits says which limit on nodes or GPUs the placement would break for j, which holds so
// many thousandths of GPUs beside it.
func (s *Core) overLimits(j *job, p *model.Placement, held int64) model.Reason {
	if !j.kind.gpusDiffer && !j.usage.Divides { // what its nodes are was known before
		return model.ReasonNone
	}
	n := p.Nodes()
	r := s.ledger.CheckChosen(&j.usage, n, s.nodeClasses.Thousandths(p, n), held, p.Shares)
	if r != model.ReasonNone {
		addMet(j, r)
		j.queue.byNodes = true
	}
	return r
}

// confines says whether a limit on nodes keeps j, which takes shares if so, to nodes with shares
// that it counts already; all others are then in buf.confined.
func (s *Core) confines(j *job) bool {
	if !j.usage.Divides {
		return false
	}
	r := s.ledger.Confines(&j.usage, s.buf.confined)
	if r != model.ReasonNone {
		metLimit(s, j, r, true)
	}
	return r != model.ReasonNone
}

// metLimit takes in that a limit keeps j from starting, or from some nodes. Of nodes the limits of
// several may leave it few together, of which the first is told: those of its quality of service
// come after those of its tenant.
func metLimit(s *Core, j *job, r model.Reason, ofNodes bool) {
	addMet(j, r)
	j.queue.byNodes = j.queue.byNodes || ofNodes
	if ofNodes && s.ledger.LimitsQOS(j.QOS) {
		addMet(j, model.ReasonQOSLimit)
	}
}

// overCap says which cap the job would break on the nodes.
func (s *Core) overCap(j *job, nodes *model.Placement) model.Reason {
	if s.caps.Cap == (caps.Usage{}) { // else it takes a look at the nodes
		return model.ReasonNone
	}
	n := nodes.Nodes()
	switch {
	case !s.caps.Fits(caps.Usage{Power: s.nodeClasses.DrawOn(j.Allocation, nodes, n), Idle: s.caps.Idle.On(nodes)}):
		return model.ReasonPower
	case !s.caps.Fits(caps.Usage{Bandwidth: j.Demand(n)}):
		return model.ReasonBandwidth
	}
	return model.ReasonNone
}

// overPool says whether sensitive work would hold too many nodes with n more of j.
func (s *Core) overPool(j *job, n int32) bool { return j.IsSensitive() && !s.caps.PoolHas(n) }

// addMet notes a limit that keeps j from starting, or from some nodes: a pass may find out something else when a job that
// counts against it gives something back.
func addMet(j *job, r model.Reason) {
	met := &j.queue.look.Met
	switch r {
	case model.ReasonQuotaNodes, model.ReasonQuotaGPUs, model.ReasonQuotaConcurrent:
		met.AddTenant(j.Tenant)
	case model.ReasonQOSLimit:
		met.AddQOS(j.QOS)
	default:
		met.AddOthers()
	}
}

// takeOutGated takes the jobs out of the indexes of the queue that a task group or a mutex was found to
// hold: each pass would look at them again.
func (p gate) takeOutGated() {
	for _, ref := range p.scratch.gated {
		if p.qs.waiting.Has(ref) && !p.qs.waiting.Row(ref).Gated {
			p.qs.waiting.SetGated(ref, true, p.now)
		}
	}
	p.scratch.gated = p.scratch.gated[:0]
}

// bringBackGated brings those back that are held so no more.
func (p gate) bringBackGated() {
	if p.qs.reopened == p.core.graph.Reopened() {
		return
	}
	p.qs.reopened = p.core.graph.Reopened()
	gated := p.qs.waiting.GatedJobs(p.scratch.gated[:0])
	for _, ref := range gated {
		if p.core.graph.Gate(ref) == model.ReasonNone {
			p.qs.waiting.SetGated(ref, false, p.now)
		}
	}
	p.scratch.gated = gated[:0]
}

// anyGateOpen says whether a job that a task group or a mutex held in the last pass is held no more.
func (p gate) anyGateOpen() bool {
	gated := p.qs.waiting.GatedJobs(p.scratch.gated[:0])
	p.scratch.gated = gated[:0]
	return slices.ContainsFunc(gated, func(ref model.Ref) bool { return p.core.graph.Gate(ref) == model.ReasonNone })
}

// anyUnheld is a job that no limit holds, -1 if there is none. While it has no room, its vCluster lends nothing. What holds the
// others is noted.
func (p gate) anyUnheld() model.Ref {
	for i := range p.qs.waiting.Jobs {
		if ref := p.qs.waiting.Jobs[i].Ref; p.held(order.Candidate{Ref: ref}) == model.ReasonNone {
			return ref
		}
	}
	return -1
}
