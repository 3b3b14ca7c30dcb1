package quota

import (
	"slices"

	"orrery/scheduler/model"
)

// Check says which hard limit forbids c to start now, or ReasonNone: the first
// that fails of tenant, quality of service, partition and sessions of its user. A limit on the nodes of several
// jobs does not forbid shares, which may go to nodes that these hold: see Confines.
func (b *Ledger) Check(c *ResourceUsage) model.Reason { return b.check(c, c.Nodes, 1, c.Milli) }

// CheckResize is Check for c, which is in use already and would hold this many
// nodes instead.
func (b *Ledger) CheckResize(c *ResourceUsage, nodes int32) model.Reason {
	grown := *c
	grown.Nodes = nodes
	more := c.Each * int64(nodes-c.Nodes)
	grown.Milli += more
	return b.check(&grown, nodes-c.Nodes, 0, more)
}

// CheckChosen is Check for c once it is known what it takes: so many nodes, or these shares,
// and thousandths of GPUs, beside what is in use; so many of these it has already.
func (b *Ledger) CheckChosen(c *ResourceUsage, nodes int32, milli, held int64, shares []model.NodeShare) model.Reason {
	l, use := &b.limits[b.index(c.Tenant)], &b.tenants[b.index(c.Tenant)].use
	switch {
	case overNodes(use, nodes, shares, l.MaxNodes):
		return model.ReasonQuotaNodes
	case overGPUs(use.milli, milli, l.MaxGPUs):
		return model.ReasonQuotaGPUs
	case c.QOS < 0 || !b.qos[c.QOS].limits:
		return model.ReasonNone
	}
	q, all := &b.cfg.QOS[c.QOS], &b.qos[c.QOS].all
	if overGPUs(held, milli, q.MaxGPUs) || overNodes(all, nodes, shares, q.GroupNodes) || overGPUs(all.milli, milli, q.GroupGPUs) {
		return model.ReasonQOSLimit
	}
	if c.User < 0 {
		return model.ReasonNone
	}
	if u := b.met(c); overNodes(&u, nodes, shares, q.UserNodes) || overGPUs(u.milli, milli, q.UserGPUs) {
		return model.ReasonQOSLimit
	}
	return model.ReasonNone
}

// Confines says whether c, which takes shares, may start only on nodes of which its tenant,
// its quality of service or its user in that hold shares, since a limit leaves no room for
// as many others: avoid becomes all other nodes. why is the first limit that does so, ReasonNone
// when c is free to go anywhere, and avoid says nothing then. Cost: the words of avoid, where
// MayConfine says so.
func (b *Ledger) Confines(c *ResourceUsage, avoid model.NodeSet) (why model.Reason) {
	if !b.MayConfine(c.Tenant, c.QOS, c.Nodes) {
		return model.ReasonNone
	}
	clear(avoid)
	confine := func(h *held, limit int32, r model.Reason) {
		if !over(h.nodes, c.Nodes, limit) {
			return
		}
		if why == model.ReasonNone {
			why = r
		}
		for w := range avoid {
			within := uint64(0)
			if w < len(h.shared) {
				within = h.shared[w]
			}
			avoid[w] |= ^within
		}
	}
	i := b.index(c.Tenant)
	confine(&b.tenants[i].use, b.limits[i].MaxNodes, model.ReasonQuotaNodes)
	if c.QOS < 0 || !b.qos[c.QOS].limits {
		return why
	}
	q := &b.cfg.QOS[c.QOS]
	confine(&b.qos[c.QOS].all, q.GroupNodes, model.ReasonQOSLimit)
	if c.User >= 0 {
		u := b.met(c)
		confine(&u, q.UserNodes, model.ReasonQOSLimit)
	}
	return why
}

// MayConfine says whether Confines may keep a job of the tenant and quality of service that asks for so many nodes
// to some of them.
func (b *Ledger) MayConfine(tenant model.TenantID, qos model.QOSID, nodes int32) bool {
	i := b.index(tenant)
	return over(b.tenants[i].use.nodes, nodes, b.limits[i].MaxNodes) || qos >= 0 && b.qos[qos].limits
}

// check asks whether nodes, jobs and thousandths of GPUs more fit, for a job whose size is
// c's.
func (b *Ledger) check(c *ResourceUsage, nodes, jobs int32, milli int64) model.Reason {
	i := b.index(c.Tenant)
	if !b.limited[i] && c.Partition < 0 && !c.Session && (c.QOS < 0 || !b.qos[c.QOS].limits) {
		return model.ReasonNone
	}
	l, use := &b.limits[i], &b.tenants[i].use
	fresh := nodes // of those in the eyes of limits on the nodes of several jobs
	if c.Divides {
		fresh = 0
	}
	switch {
	case b.refused(i), over(use.nodes, fresh, l.MaxNodes), c.Divides && over(0, c.Nodes, l.MaxNodes):
		return model.ReasonQuotaNodes
	case overGPUs(use.milli, milli, l.MaxGPUs):
		return model.ReasonQuotaGPUs
	case over(use.jobs, jobs, l.MaxConcurrent):
		return model.ReasonQuotaConcurrent
	case !b.withinQOS(c, fresh, jobs, milli):
		return model.ReasonQOSLimit
	case !b.withinPartition(c) || c.Partition >= 0 && !b.cfg.Partitions[c.Partition].Up:
		return model.ReasonPartitionLimit
	case c.Session && c.User >= 0 && over(b.sessionsOf(c.User), jobs, b.cfg.UserSessions):
		return model.ReasonSessionLimit
	}
	return model.ReasonNone
}

// LimitsQOS says whether a quality of service has limits that Check asks for; -1 is none.
func (b *Ledger) LimitsQOS(q model.QOSID) bool { return q >= 0 && b.qos[q].limits }

// LimitsAnyQOS says whether LimitsQOS holds of any.
func (b *Ledger) LimitsAnyQOS() bool {
	return slices.ContainsFunc(b.qos, func(q pool) bool { return q.limits })
}

// sessionsOf is how many sessions of a user are in use.
func (b *Ledger) sessionsOf(user int32) int32 {
	if int(user) < len(b.sessions) {
		return b.sessions[user]
	}
	return 0
}

// Unsatisfiable says which limit forbids a job of this size and requested walltime even
// on an empty site, by the limits as they are now; ReasonNone when none does.
func (b *Ledger) Unsatisfiable(c *ResourceUsage, wall model.Duration) model.Reason {
	i := b.index(c.Tenant)
	switch {
	case b.refused(i), over(0, c.Nodes, b.limits[i].MaxNodes):
		return model.ReasonQuotaNodes
	case overGPUs(0, c.Milli, b.limits[i].MaxGPUs):
		return model.ReasonQuotaGPUs
	case c.QOS >= 0 && !mayEver(&b.cfg.QOS[c.QOS], c, wall):
		return model.ReasonQOSLimit
	case !b.withinPartition(c) || c.Partition >= 0 && tooLong(wall, b.cfg.Partitions[c.Partition].MaxWall):
		return model.ReasonPartitionLimit
	}
	return model.ReasonNone
}

// limitsChanged notes whether the account has any of the limits that check asks for.
func (b *Ledger) limitsChanged(i int) {
	l := &b.limits[i]
	b.limited[i] = b.refused(i) || l.MaxNodes > 0 || l.MaxGPUs > 0 || l.MaxConcurrent > 0
}

func (b *Ledger) refused(i int) bool {
	return b.cfg.Unknown == UnknownReject && i == len(b.tenants)-1
}

func (b *Ledger) withinQOS(c *ResourceUsage, nodes, jobs int32, milli int64) bool {
	if c.QOS < 0 || !b.qos[c.QOS].limits {
		return true
	}
	q, all := &b.cfg.QOS[c.QOS], &b.qos[c.QOS].all
	if over(0, c.Nodes, q.MaxNodes) || over(all.nodes, nodes, q.GroupNodes) || over(all.jobs, jobs, q.GroupJobs) {
		return false
	}
	if c.Divides && over(0, c.Nodes, q.GroupNodes) || milli > 0 && overGPUs(0, c.Milli, q.MaxGPUs) || overGPUs(all.milli, milli, q.GroupGPUs) {
		return false
	}
	if c.User < 0 {
		return true
	}
	u := b.met(c)
	return !over(u.nodes, nodes, q.UserNodes) && !over(u.jobs, jobs, q.UserJobs) && !overGPUs(u.milli, milli, q.UserGPUs) &&
		!(c.Divides && over(0, c.Nodes, q.UserNodes))
}

// met is what c's user holds in c's quality of service; both are known.
func (b *Ledger) met(c *ResourceUsage) held {
	if users := b.qos[c.QOS].users; int(c.User) < len(users) {
		return users[c.User]
	}
	return held{}
}

func mayEver(q *model.QOS, c *ResourceUsage, wall model.Duration) bool {
	return !tooLong(wall, q.MaxWall) && !over(0, c.Nodes, q.MaxNodes) && !over(0, c.Nodes, q.GroupNodes) &&
		!overGPUs(0, c.Milli, q.MaxGPUs) && !overGPUs(0, c.Milli, q.GroupGPUs) &&
		(c.User < 0 || !over(0, c.Nodes, q.UserNodes) && !overGPUs(0, c.Milli, q.UserGPUs))
}

// withinPartition says whether the partition takes jobs of this size.
func (b *Ledger) withinPartition(c *ResourceUsage) bool {
	if c.Partition < 0 {
		return true
	}
	p := &b.cfg.Partitions[c.Partition]
	return c.Nodes >= p.MinNodes && !over(0, c.Nodes, p.MaxNodes)
}

// over says whether more on top of used breaks limit; 0 is no limit. A request
// for nothing more breaks no limit, even one lowered below what is used.
func over(used, more, limit int32) bool {
	return limit > 0 && more > 0 && int64(used)+int64(more) > int64(limit)
}

// overGPUs is over of thousandths of GPUs against a limit in GPUs.
func overGPUs(used, more int64, limit int32) bool {
	return limit > 0 && more > 0 && used+more > model.WholeGPU*int64(limit)
}

// overNodes is over of nodes, of shares of those that h holds none of.
func overNodes(h *held, nodes int32, shares []model.NodeShare, limit int32) bool {
	if len(shares) > 0 {
		nodes = h.fresh(shares)
	}
	return over(h.nodes, nodes, limit)
}

func tooLong(wall, limit model.Duration) bool { return limit > 0 && wall > limit }
