// Package fairshare is how tenants and users stand as the scores of a site see it: the
// ledger of what they hold and have used with its accounting ticks, Slurm's tree of
// shares, and for each vCluster the cache of what fair share and budget bring into its
// scores. It knows neither queues nor nodes.
package fairshare

import (
	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
)

// Config is what Accounts are made of. All that it points to must outlive them.
type Config struct {
	Quota   *quota.Config
	Tenants []model.Tenant
	QOS     []model.QOS
	// Sharing is that of Slurm's fair share, nil where no order needs it.
	Sharing *multifactor.Sharing
	// AssocPriority of each tenant is for orders by Slurm's priority, nil for none.
	AssocPriority []int64
}

// Accounts are those of all tenants of a site. Figures that scores read change at
// accounting ticks alone. Accounts are not safe for concurrent use.
type Accounts struct {
	*quota.Ledger // the ledger: what tenants hold, may hold and have consumed
	tree          *tree

	begun    bool       // Advance was called
	last     model.Time // tick up to then
	next     model.Time // tick after that
	ticks    int64      // changes with what the last tick froze
	memory   model.Duration
	stableAt model.Time
	bursts   []int8 // by tenant, work of none first: 1 where it bursts and -1 where it does not, 0 until it is asked for
	burstsAt int64  // ticks when that was so
}

// New returns accounts in which nothing was ever used.
func New(c *Config) *Accounts {
	a := &Accounts{Ledger: quota.New(c.Quota), memory: memoryOf(c.Quota)}
	if c.Sharing != nil {
		a.tree = newTree(c)
	}
	return a
}

// halvings is the number of half-lives after which usage is forgotten: less than
// the last place of a Fixed is left.
const halvings = 64

// memoryOf is for how long what was observed can still move the accounts.
func memoryOf(c *quota.Config) model.Duration {
	d, half := c.Window, c.HalfLife
	if d <= 0 {
		d = quota.DefaultWindow
	}
	if half <= 0 {
		half = quota.DefaultHalfLife
	}
	if c.Usage == quota.Decay {
		d = max(d, halvings*half)
	}
	return d + quota.DefaultTick + c.Tick
}

// Advance brings the accounts to now: to what the last accounting tick up to then
// froze. Before the first call there is nothing to freeze. now must not decrease.
func (a *Accounts) Advance(now model.Time) {
	if !a.begun {
		a.begun, a.last, a.next = true, a.LastTick(now), a.NextTick(now)
	}
	if now >= a.next {
		a.last, a.next = a.LastTick(now), a.NextTick(now)
		a.Tick(a.last)
	}
}

// NextTick is the first accounting tick after now.
func (a *Accounts) NextTick(now model.Time) model.Time {
	if a.last <= now && now < a.next {
		return a.next
	}
	return a.Ledger.NextTick(now)
}

// Tick is an accounting tick: it fixes what scores read until the next one.
func (a *Accounts) Tick(at model.Time) {
	a.ticks++
	a.Freeze(at)
	if a.tree != nil {
		a.Settle()
		a.tree.shares.Freeze(at)
	}
}

// Observed says that something happened at now that may move the accounts.
func (a *Accounts) Observed(now model.Time) { a.stableAt = now.Add(a.memory) }

// NextChange is the next accounting tick after now; ok is false when the accounts do not
// change any more unless something is observed.
func (a *Accounts) NextChange(now model.Time) (at model.Time, ok bool) {
	at = a.NextTick(now)
	return at, at <= a.stableAt
}

// Begin charges for an attempt of an association from now on.
func (a *Accounts) Begin(c *quota.ResourceUsage, assoc int32, now model.Time) {
	a.Start(c, now)
	a.Use(c, assoc, 1, now)
}

// End ends what Begin began.
func (a *Accounts) End(c *quota.ResourceUsage, assoc int32, now model.Time) {
	a.Stop(c, now)
	a.Use(c, assoc, -1, now)
}

// Bursts says whether a tenant used more than its share by a burst allowance, as of the last tick.
func (a *Accounts) Bursts(t model.TenantID) bool {
	if a.burstsAt != a.ticks {
		clear(a.bursts)
		a.burstsAt = a.ticks
	}
	row := t + 1
	if int(row) >= len(a.bursts) {
		a.bursts = append(a.bursts, make([]int8, int(row)+1-len(a.bursts))...)
	}
	if a.bursts[row] == 0 {
		a.bursts[row] = -1
		if st := a.Standing(t); st.Burst > model.One && st.Share > 0 && st.Used > st.Share {
			a.bursts[row] = 1
		}
	}
	return a.bursts[row] > 0
}

// FairShare is the factor f3 of a tenant, as of the last tick. -1 is work of none.
func (a *Accounts) FairShare(t model.TenantID) model.Fixed {
	return a.fairShare(t, a.Standing(t), a.Utilisation())
}

func (a *Accounts) fairShare(t model.TenantID, st *quota.Standing, utilisation model.Fixed) model.Fixed {
	if st.Share <= 0 {
		return a.Neutral(t)
	}
	return score.FairShareOf(st.Share, st.Burst, st.Used, utilisation)
}
