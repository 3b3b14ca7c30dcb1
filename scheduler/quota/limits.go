package quota

import "orrery/scheduler/model"

// Check says which hard limit forbids c to start now, or ReasonNone: the first
// that fails of tenant, quality of service and partition.
func (b *Ledger) Check(c *ResourceUsage) model.Reason { return b.check(c, c.Nodes, 1) }

// CheckResize is Check for c, which is in use already and would hold this many
// nodes instead.
func (b *Ledger) CheckResize(c *ResourceUsage, nodes int32) model.Reason {
	grown := *c
	grown.Nodes = nodes
	return b.check(&grown, nodes-c.Nodes, 0)
}

// check asks whether nodes and jobs more fit, for a job whose size is c's.
func (b *Ledger) check(c *ResourceUsage, nodes, jobs int32) model.Reason {
	i := b.index(c.Tenant)
	l, use := &b.limits[i], &b.tenants[i].use
	switch {
	case b.refused(i), over(use.nodes, nodes, l.MaxNodes):
		return model.ReasonQuotaNodes
	case over(use.jobs, jobs, l.MaxConcurrent):
		return model.ReasonQuotaConcurrent
	case !b.withinQOS(c, nodes, jobs):
		return model.ReasonQOSLimit
	case !b.withinPartition(c) || c.Partition >= 0 && !b.cfg.Partitions[c.Partition].Up:
		return model.ReasonPartitionLimit
	}
	return model.ReasonNone
}

// Unsatisfiable says which limit forbids a job of this size and requested walltime even
// on an empty site, by the limits as they are now; ReasonNone when none does.
func (b *Ledger) Unsatisfiable(c *ResourceUsage, wall model.Duration) model.Reason {
	i := b.index(c.Tenant)
	switch {
	case b.refused(i), over(0, c.Nodes, b.limits[i].MaxNodes):
		return model.ReasonQuotaNodes
	case c.QOS >= 0 && !mayEver(&b.cfg.QOS[c.QOS], c, wall):
		return model.ReasonQOSLimit
	case !b.withinPartition(c) || c.Partition >= 0 && tooLong(wall, b.cfg.Partitions[c.Partition].MaxWall):
		return model.ReasonPartitionLimit
	}
	return model.ReasonNone
}

func (b *Ledger) refused(i int) bool {
	return b.cfg.Unknown == UnknownReject && i == len(b.tenants)-1
}

func (b *Ledger) withinQOS(c *ResourceUsage, nodes, jobs int32) bool {
	if c.QOS < 0 {
		return true
	}
	q, all := &b.cfg.QOS[c.QOS], &b.qos[c.QOS].all
	if over(0, c.Nodes, q.MaxNodes) || over(all.nodes, nodes, q.GroupNodes) || over(all.jobs, jobs, q.GroupJobs) {
		return false
	}
	if c.User < 0 {
		return true
	}
	u := b.met(c)
	return !over(u.nodes, nodes, q.UserNodes) && !over(u.jobs, jobs, q.UserJobs)
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
		(c.User < 0 || !over(0, c.Nodes, q.UserNodes))
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

func tooLong(wall, limit model.Duration) bool { return limit > 0 && wall > limit }
