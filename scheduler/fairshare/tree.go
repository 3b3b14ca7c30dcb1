package fairshare

import (
	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/quota"
)

// tree keeps Slurm's associations of a site: one account for each tenant and one user in
// it for each user that was met. Users of an account share equally, and so do those of
// jobs that name no tenant: below the root when the site has no tenants, else in an
// account without shares.
type tree struct {
	shares     *multifactor.Tree
	qos        []model.QOS
	scale      int64 // units for each GPU or node
	of         map[member]int32
	tenants    int
	next       int32                     // association
	fresh      []multifactor.Association // not in shares yet
	priorities []int64
	highest    int64 // of these
}

// member is a user in an account.
type member struct {
	tenant model.TenantID
	user   int32
}

func newTree(c *Config) *tree {
	accounts := accountsOf(c.Tenants)
	shares, err := multifactor.NewTree(accounts, c.Sharing)
	if err != nil {
		panic(err) // shares are fractions of the site
	}
	x := &tree{
		shares: shares, qos: c.QOS, scale: scaleOf(c), of: map[member]int32{}, tenants: len(c.Tenants), next: int32(len(accounts)),
		priorities: c.AssocPriority,
	}
	for _, p := range c.AssocPriority {
		x.highest = max(x.highest, p)
	}
	return x
}

// accountsOf are those of the tenants, and of jobs that name none. Where no tenant has a
// share, all have the same.
func accountsOf(tenants []model.Tenant) []multifactor.Association {
	if len(tenants) == 0 {
		return nil
	}
	out := make([]multifactor.Association, len(tenants)+1)
	some := false
	for i := range tenants {
		// A share of the whole site is 2^30 of Slurm's.
		out[i] = multifactor.Association{Parent: -1, Shares: int64(tenants[i].FairShare >> 2)}
		some = some || out[i].Shares > 0
	}
	for i := range tenants {
		if !some {
			out[i].Shares = 1
		}
	}
	out[len(tenants)] = multifactor.Association{Parent: -1}
	return out
}

// scaleOf is how finely usage is counted, so that the factors of qualities of
// service show: as finely as the usage of ten years, or of three half-lives,
// stays below 2^62.
func scaleOf(c *Config) int64 {
	const finest = 1 << 8
	span, half := 10*365*model.Day, c.Sharing.HalfLife
	if half <= 0 {
		half = multifactor.DefaultHalfLife
	}
	if half < span/3 {
		span = 3 * half
	}
	most := model.One
	for i := range c.QOS {
		most = max(most, c.QOS[i].UsageFactor)
	}
	room := int64(1<<62) / int64(span) / max(1, c.Quota.GPUs) / (int64(most>>model.FractionBits) + 1)
	return min(max(room, 1), finest)
}

// Associate is the association of a job's user, 0 where no order needs it; one that is
// new is in the tree from the next Settle on.
func (a *Accounts) Associate(t model.TenantID, user int32) int32 {
	x := a.tree
	if x == nil {
		return 0
	}
	if t < 0 {
		t = model.TenantID(x.tenants)
	}
	m := member{t, user}
	if i, ok := x.of[m]; ok {
		return i
	}
	parent := int32(t)
	if x.tenants == 0 {
		parent = -1
	}
	i := x.next
	x.of[m] = i
	x.next++
	x.fresh = append(x.fresh, multifactor.Association{Parent: parent, Shares: 1, User: true})
	return i
}

// Settle puts the users that are new into the tree.
func (a *Accounts) Settle() {
	x := a.tree
	if x == nil || len(x.fresh) == 0 {
		return
	}
	if err := x.shares.Extend(x.fresh); err != nil {
		panic(err) // accounts stand before their users
	}
	x.fresh = x.fresh[:0]
}

// Complete says whether all users are in the tree.
func (a *Accounts) Complete() bool { return len(a.tree.fresh) == 0 }

// Use says that an association takes up what c is, or with sign -1 gives it back.
func (a *Accounts) Use(c *quota.ResourceUsage, assoc int32, sign int64, now model.Time) {
	if a.tree == nil {
		return
	}
	a.Settle()
	a.tree.shares.Use(assoc, sign*a.tree.usageOf(c), now)
}

// usageOf is what a claim uses in Slurm's sense in each microsecond.
func (x *tree) usageOf(c *quota.ResourceUsage) int64 {
	units := int64(c.GPUs) * x.scale
	if c.QOS >= 0 {
		units = int64(x.qos[c.QOS].UsageFactor.Mul(model.Fixed(units)))
	}
	return units
}

// Factor is Slurm's fair-share factor of an association, as of the last tick.
func (a *Accounts) Factor(assoc int32) model.Fixed { return a.tree.shares.Factor(assoc) }

// AssocPriority is the priority of the association of a tenant, of the highest of all.
func (a *Accounts) AssocPriority(t model.TenantID) multifactor.Part {
	if t < 0 || int(t) >= len(a.tree.priorities) {
		return multifactor.Part{}
	}
	return multifactor.Part{Amount: a.tree.priorities[t], Whole: a.tree.highest}
}
