package quota

import "orrery/scheduler/model"

// frozen are the figures that scores read, as of the last Freeze. Those of an account
// are worked out when they are read, or else before anything else happens to it.
type frozen struct {
	count       uint64 // Freezes so far
	charged     bool   // anything was since the last one, or has other limits
	at          model.Time
	utilisation model.Fixed
	of          []Standing // by account
}

// Standing is how a tenant stands.
type Standing struct {
	// Share is its fair share and Burst how far it may exceed that while there is
	// room, as its limits state them; both are 0 when it has none.
	Share, Burst model.Fixed
	// Used is its usage, 1 being the whole site. Where jobs share nodes it may
	// exceed 1, since each counts the nodes it touches.
	Used model.Fixed
	// Budget is what it has used of its budget within the window, 1 being all of it:
	// the larger of node time and GPU time, 0 without a budget.
	Budget model.Fixed

	nodes   int64  // held, of which Used is by instantaneous usage
	count   uint64 // the Freeze that it is of
	changes uint64 // of the account until then
}

func newFrozen(n int) frozen { return frozen{of: make([]Standing, n)} }

// NextTick is the first tick after now: ticks are the multiples of the
// accounting tick since the epoch of the trace.
func (b *Ledger) NextTick(now model.Time) model.Time { return after(now, b.cfg.Tick) }

// LastTick is the last tick up to now.
func (b *Ledger) LastTick(now model.Time) model.Time { return upTo(now, b.cfg.Tick) }

// Freeze is the accounting tick: it charges all tenants up to now and sets the
// figures that scores read until the next Freeze. Cost: constant, and that of a
// tenant's charge when its figures are read or it starts or stops anything.
func (b *Ledger) Freeze(now model.Time) {
	b.open(now)
	b.clock.advance(&b.site, now)
	f := &b.frozen
	f.count++
	f.at, f.charged = now, false
	f.utilisation = ratio(b.busy, b.site.nodes).Clamp(0, model.One)
}

// settle works out the figures of account i as of the last Freeze.
func (b *Ledger) settle(i int) {
	x := &b.frozen.of[i]
	if x.count == b.frozen.count {
		return
	}
	a, l := &b.tenants[i], &b.limits[i]
	x.count, x.changes, x.Share, x.Burst, x.Budget = b.frozen.count, a.changes, l.FairShare, l.Burst, 0
	limited, charged := l.NodeBudget > 0 || l.GPUBudget > 0, b.cfg.Usage != Instantaneous
	if limited || charged {
		b.clock.advance(a, b.frozen.at)
	}
	if limited {
		x.Budget = b.clock.budget(a, l)
	}
	if charged || a.nodes != x.nodes {
		x.nodes, x.Used = a.nodes, b.usage(a)
	}
}

// Standing is how tenant t stood at the last Freeze; valid until the next one.
func (b *Ledger) Standing(t model.TenantID) *Standing {
	i := b.index(t)
	b.settle(i)
	return &b.frozen.of[i]
}

// usage of account a by the chosen measure. At the instant the ledger is opened
// no time has passed, and the share of nodes stands in for that of node time.
func (b *Ledger) usage(a *account) model.Fixed {
	part, whole := a.nodes, b.site.nodes
	switch b.cfg.Usage {
	case Rolling:
		if w := b.clock.window(&b.site).node; w > 0 {
			part, whole = b.clock.window(a).node, w
		}
	case Decay:
		if w := b.site.recent(); w > 0 {
			part, whole = a.recent(), w
		}
	}
	return ratio(part, whole)
}

func (c *clock) budget(a *account, l *model.Limits) model.Fixed {
	w := c.window(a)
	return max(ratio(w.node, int64(l.NodeBudget)), ratio(w.gpu, int64(l.GPUBudget)))
}

// ratio is part/whole, and 0 when there is no whole.
func ratio(part, whole int64) model.Fixed {
	if whole <= 0 {
		return 0
	}
	return model.Ratio(part, whole)
}

// Utilisation is the share of the site's nodes that were held at the last
// Freeze, at most 1. It is instantaneous whatever the usage is measured by:
// burst is about room that is free now.
func (b *Ledger) Utilisation() model.Fixed { return b.frozen.utilisation }

// Neutral is f3, the fair share factor, of a tenant that has no share:
// one half, and for work without a tenant of the site what Config.Unknown says.
func (b *Ledger) Neutral(t model.TenantID) model.Fixed {
	if b.index(t) == len(b.tenants)-1 && b.cfg.Unknown != UnknownNeutral {
		return 0
	}
	return model.One / 2
}
