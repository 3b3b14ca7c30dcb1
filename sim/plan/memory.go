package plan

import (
	"cmp"

	"orrery/profiles"
	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/quota"
	"orrery/scheduler/site"
)

// emptyLedgers counts the tenants whose ledgers remember what was consumed, and
// do not know all of it that counts from before the warm start: where the score ranks
// those with budgets and those with a share of usage in a window or that decays, and all
// where Slurm's priority does. It is 0 without a warm start.
func emptyLedgers(p *Site, history model.Duration) int64 {
	if !p.World.Rows.Warm.OK {
		return 0
	}
	n := int64(0)
	by := memoriesOf(p.Core.Policies, &p.Core.Quota)
	for _, t := range p.Core.Site.Tenants {
		if by.all > history || by.budgets > history && (t.GPUBudget > 0 || t.NodeBudget > 0) || by.shares > history && t.FairShare > 0 {
			n++
		}
	}
	if by.all > history {
		n = max(n, 1) // of the users alone
	}
	return n
}

// memories are for how long what was consumed counts: for budgets, for the shares of
// tenants, and for the priority of all, users included; 0 where it does not.
type memories struct{ budgets, shares, all model.Duration }

// halfLives is after how many of them consumption counts as forgotten: less than a
// thousandth of it is left.
const halfLives = 10

// neverForgets is the memory of accounts that decay without a half-life.
const neverForgets = 100 * 365 * model.Day

func memoriesOf(policies []site.Policy, q *quota.Config) (m memories) {
	decays := func(half, standard model.Duration) model.Duration {
		return halfLives * min(cmp.Or(half, standard), neverForgets/halfLives)
	}
	window := cmp.Or(q.Window, quota.DefaultWindow)
	for i := range policies {
		switch x := &policies[i]; x.Ranking {
		case site.ByScore:
			m.budgets = window
			switch q.Usage {
			case quota.Rolling:
				m.shares = window
			case quota.Decay:
				m.shares = decays(q.HalfLife, quota.DefaultHalfLife)
			}
		case site.ByMultifactor:
			m.all = max(m.all, decays(x.Multifactor.Sharing.HalfLife, multifactor.DefaultHalfLife))
		}
	}
	return m
}

// Memory is for how long what jobs consumed moves the order of others, 0 for a
// plain cluster and for orders that hang on nothing of the kind: a warm start should know
// as much of the log before it. Tenants that the site takes from a trace count as if they
// had budgets and shares.
func (s Spec) Memory() (model.Duration, error) {
	if len(s.Site) == 0 {
		return 0, nil
	}
	c, err := profiles.ParseSite("site", s.Site)
	if err != nil {
		return 0, err
	}
	if err := c.Inline("."); err != nil {
		return 0, err
	}
	budgets, shares := len(c.Tenants) == 0, len(c.Tenants) == 0
	for i := range c.Tenants {
		t := &c.Tenants[i]
		budgets = budgets || t.GPUHours > 0 || t.NodeHours > 0
		shares = shares || t.FairShare > 0
	}
	list := []*profiles.Profile{}
	for i := range c.VClusters {
		list = append(list, c.VClusters[i].Profile.Inline)
	}
	if len(list) == 0 {
		p, err := profiles.Load(profiles.NewVCluster("", nil).Profile.Name)
		if err != nil {
			return 0, err
		}
		list = append(list, &p)
	}
	longest := model.Duration(0)
	for _, p := range list {
		policy, err := policyOf(p, &c.Agents, 0, 1)
		if err != nil {
			return 0, err
		}
		m := memoriesOf([]site.Policy{policy}, &quota.Config{Usage: usageOf(&p.Usage), Window: p.Usage.Window, HalfLife: p.Usage.HalfLife})
		longest = max(longest, m.all)
		if budgets {
			longest = max(longest, m.budgets)
		}
		if shares {
			longest = max(longest, m.shares)
		}
	}
	return longest, nil
}
