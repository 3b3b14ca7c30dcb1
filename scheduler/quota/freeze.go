package quota

import "orrery/scheduler/model"

// frozen are the figures that scores read, as of the last Freeze. Those of an account
// are worked out when they are read, or else before anything else happens to it.
type frozen struct {
	count       uint64 // Freezes so far
	at          model.Time
	utilisation model.Fixed
	of          []standing // by account
}

// standing is how a tenant stands.
type standing struct {
	used, budget, share, burst model.Fixed
	count                      uint64 // the Freeze that it is of
}

func newFrozen(n int) frozen { return frozen{of: make([]standing, n)} }

func (f *frozen) copyFrom(src *frozen) {
	of := f.of
	*f = *src
	f.of = append(of[:0], src.of...)
}

// NextTick is the first tick after now: ticks are the multiples of the
// accounting tick since the epoch of the trace.
func (b *Book) NextTick(now model.Time) model.Time { return after(now, b.cfg.Tick) }

// LastTick is the last tick up to now.
func (b *Book) LastTick(now model.Time) model.Time { return after(now, b.cfg.Tick).Add(-b.cfg.Tick) }

// Freeze is the accounting tick: it charges all tenants up to now and sets the
// figures that scores read until the next Freeze. Cost: constant, and that of a
// tenant's charge when its figures are read or it starts or stops anything.
func (b *Book) Freeze(now model.Time) {
	b.open(now)
	b.clock.advance(&b.site, now)
	f := &b.frozen
	f.count++
	f.at = now
	f.utilisation = ratio(b.busy, b.site.nodes).Clamp(0, model.One)
}

// settle works out the figures of account i as of the last Freeze.
func (b *Book) settle(i int) {
	if f := &b.frozen; f.of[i].count != f.count {
		a, l := &b.tenants[i], &b.limits[i]
		b.clock.advance(a, f.at)
		f.of[i] = standing{used: b.usage(a), budget: budget(a, l), share: l.FairShare, burst: l.Burst, count: f.count}
	}
}

// standing of tenant t.
func (b *Book) standing(t model.TenantID) *standing {
	i := b.index(t)
	b.settle(i)
	return &b.frozen.of[i]
}

// usage of account a by the chosen measure. At the instant the books are opened
// no time has passed, and the share of nodes stands in for that of node time.
func (b *Book) usage(a *account) model.Fixed {
	part, whole := a.nodes, b.site.nodes
	switch b.cfg.Usage {
	case Rolling:
		if w := b.site.window().node; w > 0 {
			part, whole = a.window().node, w
		}
	case Decay:
		if w := b.site.recent(); w > 0 {
			part, whole = a.recent(), w
		}
	}
	return ratio(part, whole)
}

func budget(a *account, l *model.Limits) model.Fixed {
	w := a.window()
	return max(ratio(w.node, int64(l.NodeBudget)), ratio(w.gpu, int64(l.GPUBudget)))
}

// ratio is part/whole, and 0 when there is no whole.
func ratio(part, whole int64) model.Fixed {
	if whole <= 0 {
		return 0
	}
	return model.Ratio(part, whole)
}

// Share is the usage of tenant t, 1 being the whole site. Where jobs share
// nodes it may exceed 1, since each counts the nodes it touches.
func (b *Book) Share(t model.TenantID) model.Fixed { return b.standing(t).used }

// Utilisation is the share of the site's nodes that were held at the last
// Freeze, at most 1. It is instantaneous whatever the usage is measured by:
// burst is about room that is free now.
func (b *Book) Utilisation() model.Fixed { return b.frozen.utilisation }

// Budget is what tenant t has used of its budget within the window, 1 being all
// of it: the larger of node time and GPU time, 0 without a budget.
func (b *Book) Budget(t model.TenantID) model.Fixed { return b.standing(t).budget }

// Target is the fair share of tenant t and its burst as its limits state them,
// both 0 when it has none.
func (b *Book) Target(t model.TenantID) (share, burst model.Fixed) {
	s := b.standing(t)
	return s.share, s.burst
}

// Neutral is f3, the fair share factor, of a tenant whose Target has no share:
// one half, and for who is no tenant of the site what Config.Unknown says.
func (b *Book) Neutral(t model.TenantID) model.Fixed {
	if b.index(t) == len(b.tenants)-1 && b.cfg.Unknown != UnknownNeutral {
		return 0
	}
	return model.One / 2
}
