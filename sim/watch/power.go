package watch

import (
	"fmt"

	"orrery/scheduler/model"
)

// capping is how a site that sheds keeps its cap on power: invariant 35.
type capping struct {
	*base
	system   *system
	flights  *flights
	ledger   *ledger
	accounts *accounts
	refusals bool // in this instant
}

// keepsCap checks invariant 35 when an instant is over. Not where the quorum refused something, for what was tried
// without success is tried again later.
func (c *capping) keepsCap() {
	refused := c.refusals
	c.refusals = false
	if !c.site.Sheds || c.ledger.power.cap == 0 || refused || c.accounts.restoring || c.ledger.power.used+c.ledger.idle <= c.ledger.power.cap && !c.site.CountIdle {
		return
	}
	leaving := map[*job]bool{}
	for _, x := range c.flights.underWay { //detlint:ordered a set is made of it
		if x.kind == model.ProposePreempt {
			leaving[x.victim] = true
		}
	}
	sum, held := int64(0), model.NewNodeSet(len(c.ledger.nodes))
	var stays *job // that could be made to leave
	for _, j := range c.system.running {
		if j.preempted || leaving[j] {
			continue
		}
		sum += j.power
		idle := int64(0)
		for n := range each(&j.held) {
			held.Add(n)
			if c.site.CountIdle && c.ledger.nodes[n].state != model.Down {
				idle += c.site.Nodes[n].IdlePower
			}
		}
		// The rule goes by the requested time, to which reading a checkpoint adds what it takes.
		spared, left := c.cfg.Policies[j.VCluster].NearCompletion, min(j.left, j.Walltime)
		if j.Preemptible() && j.power > idle && (j.left == model.Forever || left-c.now.Sub(j.start) > spared) {
			stays = j
		}
	}
	for n := range c.ledger.nodes {
		if c.site.CountIdle && c.ledger.nodes[n].state != model.Down && !held.Has(model.NodeID(n)) {
			sum += c.site.Nodes[n].IdlePower
		}
	}
	if sum > c.ledger.power.cap && stays != nil {
		c.fail(35, stays, fmt.Sprintf("%d W are reckoned while it runs on", sum), fmt.Sprintf("at most %d, as it may be made to leave", c.ledger.power.cap))
	}
}
