package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/quota"
)

// MaxLimits is the most that a site grants at any time; nil is what it grants at
// the beginning. In Caps 0 is no cap.
type MaxLimits struct {
	Caps    *Caps
	Tenants []model.Tenant // with the highest limits of each
}

// Caps are the caps of a site, 0 for none.
type Caps struct {
	Power     int64 // W
	Bandwidth int64 // B/s
	Sensitive int32 // nodes of sensitive work
}

// caps are the highest that there will be.
func (c *Config) caps() Caps {
	if c.Max.Caps != nil {
		return *c.Max.Caps
	}
	return Caps{c.Site.PowerCap, c.Site.Bandwidth, c.Site.SensitivePool}
}

func (c *Config) maxLedger() *quota.Ledger {
	q := c.Quota
	if c.Max.Tenants != nil {
		q.Tenants = c.Max.Tenants
	}
	return quota.New(&q)
}

// Unsatisfiable implements scheduler.Questions: it looks at the idle site with every
// node in service, under the highest caps and limits there will be.
func (s *Core) Unsatisfiable(f *model.Fact) model.Reason {
	a := f.Alloc
	s.define(a, f.Constraint)
	k := s.kindOf(a)
	if a.NodesMin < 1 || !s.couldFit(a, k) {
		return model.ReasonTooLarge
	}
	caps := s.cfg.caps()
	if (caps.Power > 0 && leastDraw(a, k) > caps.Power) || (caps.Bandwidth > 0 && a.IODemand > caps.Bandwidth) {
		return model.ReasonTooLarge
	}
	if caps.Sensitive > 0 && a.IsSensitive() && a.NodesMin > caps.Sensitive {
		return model.ReasonTooLarge
	}
	if a.Reservation >= 0 {
		r := &s.site.Reservations[a.Reservation]
		if from := max(a.Submit, a.Eligible, r.Start); r.Outside(from, from.Add(a.Walltime)) {
			return model.ReasonReserved
		}
	}
	c := claimOf(a, k, a.NodesMin)
	return s.maxLedger.Unsatisfiable(&c, a.Walltime)
}

// couldFit says whether the nodes of the idle site hold a, borrowed ones
// included.
func (s *Core) couldFit(a *model.Allocation, k *nodeChoice) bool {
	q := s.vclusters[a.VCluster].search(a, k, a.NodesMin, nil)
	if s.idle.Fits(&q) {
		return true
	}
	if !s.cfg.borrows(a, k) {
		return false
	}
	most := k.mask.Len()
	if a.Divides() {
		most = s.idle.Usable(&q)
	}
	for v := range s.home {
		if vc := &s.site.VClusters[v]; model.VClusterID(v) != a.VCluster && vc.Lend {
			copy(s.buf.lender, s.home[v])
			s.buf.lender.And(k.foreign)
			s.idle.Roomy(&q, s.buf.lender)
			most += min(vc.Lendable(s.homes[v]), s.buf.lender.Len())
		}
	}
	return most >= a.NodesMin
}

// leastDraw is a lower bound on the power that a is reckoned with: what it
// states, else that of the nodes it may use that draw least.
func leastDraw(a *model.Allocation, k *nodeChoice) int64 {
	switch {
	case a.Power > 0:
		return a.Power
	case a.Divides():
		return (k.part*int64(a.GPUs) + k.part*int64(a.GPUMilli)/model.WholeGPU) * int64(a.NodesMin)
	}
	return k.least * int64(a.NodesMin)
}
