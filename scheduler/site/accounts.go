package site

import (
	"orrery/scheduler/model"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
)

// accounts is what the tenants may use and have used. What is used changes with every
// start and end; what scores and limits over time see of it was frozen at the last
// accounting tick before factLog.now.
type accounts struct {
	ledger    *quota.Book
	maxLedger *quota.Book // of no tenant's usage, with the highest limits there will be
	shares    *shares     // nil without an order by Slurm's priority
	next      model.Time  // accounting tick
	ticks     int64       // so far
	// recalled is what was consumed before the beginning, until it is on the books.
	recalled []consumed

	mostFactor, mostQOS int64 // highest of all partitions and qualities of service
}

func newAccounts(c *Config) accounts {
	a := accounts{ledger: quota.New(&c.Quota), maxLedger: c.maxLedger(), shares: newShares(c)}
	for i := range c.Site.Partitions {
		a.mostFactor = max(a.mostFactor, c.Site.Partitions[i].Factor)
	}
	for i := range c.Site.QOS {
		a.mostQOS = max(a.mostQOS, c.Site.QOS[i].Priority)
	}
	return a
}

// halvings is the number of half-lives after which usage is forgotten: less than
// the last place of a Fixed is left.
const halvings = 64

// memory is for how long what has happened can still move the accounts.
func (c *Config) memory() model.Duration {
	q := &c.Quota
	d, half := q.Window, q.HalfLife
	if d <= 0 {
		d = quota.DefaultWindow
	}
	if half <= 0 {
		half = quota.DefaultHalfLife
	}
	if q.Usage == quota.Decay {
		d = max(d, halvings*half)
	}
	return d + quota.DefaultTick + q.Tick
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
	return score.BacklogOf(model.Duration(b.waiting), model.Duration(b.running))
}

// stale says whether the sums have changed since the factor was worked out.
func (b *backlog) stale() bool { return b.seen[0] != b.waiting || b.seen[1] != b.running }

// update works the factor out, and says whether it is another than before.
func (b *backlog) update() bool {
	b.seen = [2]int64{b.waiting, b.running}
	was := b.factor
	b.factor = b.value()
	return b.factor != was
}
