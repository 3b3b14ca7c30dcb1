package site

import (
	"slices"

	"orrery/scheduler/fairshare"
	"orrery/scheduler/model"
)

// confinable is jobs that take shares of nodes, and would have delayed the blocked one in the last pass of a vCluster. One may be
// confined to nodes with shares that its limits count already when a job elsewhere has taken something. It may
// not delay the blocked job there.
type confinable struct {
	owners []owner
	nodes  int32 // none asks for more
	many   bool  // too many to tell
}

type owner struct {
	tenant model.TenantID
	qos    model.QOSID
}

func (d *confinable) reset() { d.owners, d.nodes, d.many = d.owners[:0], 0, false }

func (d *confinable) add(c owner, nodes int32) {
	const most = 16
	d.nodes = max(d.nodes, nodes)
	switch {
	case slices.Contains(d.owners, c):
	case len(d.owners) == most:
		d.many = true
	default:
		d.owners = append(d.owners, c)
	}
}

func (d *confinable) anyConfined(ledger *fairshare.Accounts) bool {
	return d.many || slices.ContainsFunc(d.owners, func(c owner) bool { return ledger.MayConfine(c.tenant, c.qos, d.nodes) })
}
