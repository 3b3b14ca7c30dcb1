package site

import "orrery/scheduler/model"

// Unsatisfiable implements scheduler.Questions: it looks at the idle site with every
// node in service, under the highest caps and limits there will be. Where idle nodes count
// against the cap on power, those count beside it that are never down.
func (s *Core) Unsatisfiable(f *model.Fact) model.Reason {
	a := f.Alloc
	s.define(a, f.Constraint)
	k := s.kindOf(a)
	if a.NodesMin < 1 {
		return model.ReasonTooLarge
	}
	if r := s.couldFit(a, k); r != model.ReasonNone {
		return r
	}
	caps := s.cfg.caps()
	switch {
	case caps.Power > 0 && leastDraw(a, k, a.NodesMin) > caps.Power:
		return model.ReasonPower
	case caps.Power > 0 && s.alwaysIdle > 0 && leastDraw(a, k, a.NodesMin) > 0 && s.alwaysIdle+leastGrowth(a, k) > caps.Power:
		return model.ReasonPower
	case caps.Bandwidth > 0 && a.IODemand > caps.Bandwidth:
		return model.ReasonBandwidth
	case caps.Sensitive > 0 && a.IsSensitive() && a.NodesMin > caps.Sensitive:
		return model.ReasonSensitivePool
	}
	if a.Reservation >= 0 {
		r := &s.site.Reservations[a.Reservation]
		if from := max(a.Submit, a.Eligible, r.Start); r.Outside(from, from.Add(a.Walltime)) {
			return model.ReasonReserved
		}
	}
	c := usageOf(a, k, a.NodesMin)
	return s.maxLedger.Unsatisfiable(&c, a.Walltime)
}

// couldFit says why the nodes of the idle site, borrowed ones included, do not hold a, or
// ReasonNone: there are enough of them, but not in one conformance group, or more than others
// lend, or there are too few.
func (s *Core) couldFit(a *model.Allocation, k *nodeChoice) model.Reason {
	q := s.vclusters[a.VCluster].search(a, k, a.NodesMin, nil)
	if s.idle.Fits(&q) {
		return model.ReasonNone
	}
	if a.IsSensitive() {
		if q.Sensitive = false; s.idle.Fits(&q) {
			return model.ReasonConformance
		}
		return model.ReasonTooLarge
	}
	if !s.cfg.borrows(a, k) {
		return model.ReasonTooLarge
	}
	own := k.mask.Len()
	if a.Divides() {
		own = s.idle.Usable(&q)
	}
	lent, owned := int32(0), int32(0) // of the other vClusters: at most, and if there were no bound
	for v := range s.home {
		if vc := &s.site.VClusters[v]; model.VClusterID(v) != a.VCluster && vc.Lend {
			copy(s.buf.lender, s.home[v])
			s.buf.lender.And(k.foreign)
			s.idle.Roomy(&q, s.buf.lender)
			n := s.buf.lender.Len()
			lent, owned = lent+min(vc.Lendable(s.homes[v]), n), owned+n
		}
	}
	switch {
	case own+lent >= a.NodesMin:
		return model.ReasonNone
	case own+owned >= a.NodesMin:
		return model.ReasonLendLimit
	}
	return model.ReasonTooLarge
}
