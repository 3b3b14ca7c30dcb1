package quota

import "orrery/scheduler/model"

// Capacity is what a tenant would have consumed that held the whole site since
// the ledger was opened.
func (b *Ledger) Capacity(now model.Time) (node, gpu model.Duration) {
	if !b.clock.opened {
		return 0, 0
	}
	return b.site.until(now)
}

// InUse is what tenant t holds, its proposals in flight included.
func (b *Ledger) InUse(t model.TenantID) (nodes, jobs int32) {
	u := &b.tenants[b.index(t)].use
	return u.nodes, u.jobs
}
