package watch

import (
	"fmt"

	"orrery/scheduler/model"
)

// accounts is what tenants have used, here and by the scheduler's own word: invariant 29.
type accounts struct {
	*base
	ledger    *ledger
	restoring bool // what was used before is to be read when the next round begins
}

// settle charges what j holds up to now.
func (ac *accounts) settle(j *job) {
	j.nodeTime += int64(j.nodes) * int64(ac.now.Sub(j.since))
	j.since = ac.now
}

// accrue brings the node time of the tenant of j up to now.
func (ac *accounts) accrue(j *job) {
	if j.Tenant < 0 {
		return
	}
	a := &ac.ledger.tenants[j.Tenant]
	if a.charged > 0 {
		a.time += int64(a.charged) * int64(ac.now.Sub(a.since))
	}
	a.since = ac.now
}

// opening takes over what the scheduler's ledger has of before the beginning: the log begins after it.
func (ac *accounts) opening(now model.Time) {
	for t := range ac.ledger.tenants {
		if a := &ac.ledger.tenants[t]; ac.cfg.Ledger != nil {
			node, gpu := ac.cfg.Ledger(model.TenantID(t), now)
			a.time, a.since, a.booked = int64(node), now, [2]model.Duration{node, gpu}
		}
	}
}

// audit holds the scheduler's ledger against the one here: invariant 29.
func (ac *accounts) audit(j *job) {
	if ac.cfg.Ledger == nil || j.Tenant < 0 {
		return
	}
	ac.accrue(j)
	a := &ac.ledger.tenants[j.Tenant]
	node, gpu := ac.cfg.Ledger(j.Tenant, ac.now)
	if node < a.booked[0] || gpu < a.booked[1] {
		ac.fail(29, j, fmt.Sprintf("%s of node and %s of GPU time booked for tenant %s", node, gpu, ac.site.Tenants[j.Tenant].Name),
			fmt.Sprintf("no less than before, %s and %s", a.booked[0], a.booked[1]))
	}
	if int64(node) != a.time {
		ac.fail(29, j, fmt.Sprintf("%s of node time booked for tenant %s", node, ac.site.Tenants[j.Tenant].Name), model.Duration(a.time).String())
	}
	a.booked = [2]model.Duration{node, gpu}
}
