package quota

import (
	"math"

	"orrery/scheduler/model"
)

// Steady is for how long what a tenant has used of its budget stays within bounds, if nothing is
// charged to it and its limits stay.
type Steady struct {
	// Until is an instant before which it does: model.AbsentTime where that is not
	// known, model.Never where only a charge can change it.
	Until   model.Time
	changes uint64 // of the account until then
}

// Stays bounds from below for how long Standing.Budget of tenant t, as of the last Freeze, stays at
// least at least and at most at most; the other figures of its Standing stay as long. Until is
// absent where usage is over time, which moves by itself, and where the tenant was charged since
// that Freeze. Cost: that of the turns in its window that are passed over, at most mostTurns.
func (b *Ledger) Stays(t model.TenantID, least, most model.Fixed) Steady {
	i := b.index(t)
	b.settle(i)
	a, l := &b.tenants[i], &b.limits[i]
	s := Steady{model.AbsentTime, a.changes}
	if b.frozen.of[i].changes != a.changes || b.cfg.Usage != Instantaneous {
		return s
	}
	s.Until = model.Never
	above := model.AbsentTime // the larger of the two parts decides
	for _, r := range [...]resource{{int64(l.NodeBudget), a.nodes, false}, {int64(l.GPUBudget), a.gpus, true}} {
		if r.budget <= 0 {
			continue
		}
		used := b.clock.window(a).of(r.gpu)
		if most < math.MaxInt64 {
			s.Until = min(s.Until, r.reaches(a.last, used, most))
		}
		if least > 0 {
			above = max(above, b.clock.leaves(a, r, used, least))
		}
	}
	if least > 0 {
		s.Until = min(s.Until, above)
	}
	return s
}

// Holds says whether what Stays answered for tenant t is still so at the last Freeze.
func (b *Ledger) Holds(t model.TenantID, s Steady) bool {
	return b.tenants[b.index(t)].changes == s.changes && b.frozen.at < s.Until
}

// Charged says whether anything was charged to any tenant, or their limits changed, since the last Freeze.
func (b *Ledger) Charged() bool { return b.frozen.charged }

// changed notes that account i is not what it was foreseen to be.
func (b *Ledger) changed(i int) {
	b.tenants[i].changes++
	b.frozen.charged = true
}

// resource is node time or GPU time of an account: its budget, and how much is charged for now.
type resource struct {
	budget, rate int64
	gpu          bool
}

// slack is more than what is lost in rounding a part of the budget.
const slack = 1

// reaches is no later than when more than a part of the budget is used, from a last instant on: as if the window forgot nothing.
func (r resource) reaches(last model.Time, used int64, part model.Fixed) model.Time {
	left := int64(model.Fixed(r.budget).Mul(part)) - slack - used
	switch {
	case left < 0:
		return model.AbsentTime
	case r.rate <= 0:
		return model.Never
	}
	return last.Add(model.Duration(left / r.rate))
}

// mostTurns bounds how many turns leaves passes over.
const mostTurns = 16

// leaves is no later than when less than a part of the budget is used: as if nothing more was charged. The window begins later then, and what
// was used before its new beginning is what is used less.
func (c *clock) leaves(a *account, r resource, used int64, part model.Fixed) model.Time {
	left := used - int64(model.Fixed(r.budget).Mul(part)) - slack
	if left < 0 {
		return model.AbsentTime
	}
	whole := a.total.of(r.gpu) - used + left // consumed up to a beginning of the window at which it is so
	// Of several turns in a bucket the last one alone is known. The window begins where a bucket does, so that up to the instant of a turn
	// the rate before it is right at each of its beginnings.
	until := model.Never
	for k := a.old; k < len(a.turns); k++ {
		t := &a.turns[k]
		if t.total.of(r.gpu) > whole || k-a.old == mostTurns {
			until = min(until, t.at)
			break
		}
		if until = model.Never; t.rate(r.gpu) > 0 {
			until = t.at.Add(model.Duration((whole - t.total.of(r.gpu)) / t.rate(r.gpu)))
		}
	}
	return until.Add(c.span)
}

func (t *turn) rate(gpu bool) int64 {
	if gpu {
		return t.gpus
	}
	return t.nodes
}

func (s spent) of(gpu bool) int64 {
	if gpu {
		return s.gpu
	}
	return s.node
}
