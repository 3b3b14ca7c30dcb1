package site

import (
	"orrery/scheduler/fairshare"
	"orrery/scheduler/model"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
)

// accounts is what the tenants may use and have used. What is used changes with every
// start and end; what scores and limits over time see of it was frozen at the last
// accounting tick before factLog.now.
type accounts struct {
	ledger    *fairshare.Accounts
	maxLedger *quota.Ledger // of no tenant's usage, with the highest limits there will be
	// alwaysIdle is what idle nodes draw at least while no job runs, W, where that counts.
	alwaysIdle int64
	// usage from before the beginning was told of, and the tick before now has frozen it.
	usageTold, usageFrozen bool

	limitsQOS           bool  // any quality of service has limits that keep jobs from starting
	mostFactor, mostQOS int64 // highest of all partitions and qualities of service
	// tres of all nodes, then of each partition, for Slurm's priority, as they were asked for.
	tres [][NumTRES]int64
}

func newAccounts(c *Config) accounts {
	a := accounts{maxLedger: c.maxLedger(), alwaysIdle: c.alwaysIdle(), ledger: fairshare.New(&fairshare.Config{
		Quota: &c.Quota, Tenants: c.Site.Tenants, QOS: c.Site.QOS, Sharing: c.sharing(), AssocPriority: c.AssocPriority,
	})}
	a.limitsQOS = a.ledger.LimitsAnyQOS()
	for i := range c.Site.Partitions {
		a.mostFactor = max(a.mostFactor, c.Site.Partitions[i].Factor)
	}
	for i := range c.Site.QOS {
		a.mostQOS = max(a.mostQOS, c.Site.QOS[i].Priority)
	}
	return a
}

// backlog is the GPU time that jobs ask for. waiting is the sum of job.backlog, running
// that of job.load.
type backlog struct {
	waiting, running int64    // GPU seconds
	seen             [2]int64 // these, as factor was worked out from them
	factor           model.Fixed
}

// setBacklog sets what a job that is not running counts for.
func (b *backlog) setBacklog(j *job, work int64) {
	b.waiting += work - j.backlog
	j.backlog = work
}

// setRunning sets what a running job counts for, 0 when it has ended.
func (b *backlog) setRunning(j *job, work int64) {
	b.running += work - j.load
	j.load = work
}

// value is the factor f6.
func (b *backlog) value() model.Fixed {
	if !b.stale() {
		return b.factor
	}
	return score.BacklogOf(model.Duration(b.waiting), model.Duration(b.running))
}

// stale says whether the sums have changed since the factor was worked out.
func (b *backlog) stale() bool { return b.seen[0] != b.waiting || b.seen[1] != b.running }

// update works the factor out, and says whether it is another than before.
func (b *backlog) update() bool {
	was := b.factor
	b.factor = b.value()
	b.seen = [2]int64{b.waiting, b.running}
	return b.factor != was
}
