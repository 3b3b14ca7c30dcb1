package fairshare

import (
	"orrery/scheduler/model"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
)

// Cache is what the fair share and the budget of each tenant bring into the scores of
// one vCluster. Its columns are by tenant, work of no tenant first; those of a tenant
// with jobs whose scores count are as of the last tick before the last Refresh, those of
// others of some earlier one. So a Refresh costs no more than the tenants with such jobs,
// and nothing between two ticks.
type Cache struct {
	Share   []model.Fixed // f3, weighted
	Penalty []model.Fixed // of the budget
	Inverse []model.Fixed // of the penalty

	accounts *Accounts
	weight   model.Fixed // of f3
	of       []basis
	jobs     []int32    // whose scores count
	ticks    int64      // of the accounts at the last Refresh, -1 when some tenant is new since
	until    model.Time // no row that counts changes before, as far as foreseen at the last Refresh
	spread   spread     // of the penalties that counted in the last Refresh
}

// basis is what the row of a tenant was last worked out from.
type basis struct {
	ticks       int64 // of the accounts when it was looked at last, -1 before the first time
	standing    quota.Standing
	steady      quota.Steady // for how long standing brings the same into the scores
	utilisation model.Fixed
}

// NewCache is the cache of a vCluster in whose scores f3 has this weight.
func (a *Accounts) NewCache(tenants int, weight model.Fixed) Cache {
	n := tenants + 1
	c := Cache{
		Share: make([]model.Fixed, n), Penalty: make([]model.Fixed, n), Inverse: make([]model.Fixed, n),
		accounts: a, weight: weight, of: make([]basis, n), jobs: make([]int32, n), ticks: -1,
	}
	for t := range c.of {
		c.of[t].ticks = -1
	}
	return c
}

// Enter counts a job of tenant t, -1 for none, to those whose scores count, and says whether it is the first of its tenant:
// then Until foresees nothing before the next Refresh.
func (c *Cache) Enter(t model.TenantID) (first bool) {
	if c.jobs[t+1]++; c.jobs[t+1] == 1 {
		c.ticks = -1
	}
	return c.jobs[t+1] == 1
}

// Leave undoes Enter.
func (c *Cache) Leave(t model.TenantID) { c.jobs[t+1]-- }

// spread is the least and the greatest of some penalties.
type spread struct{ least, most model.Fixed }

// add takes in one more.
func (s *spread) add(x model.Fixed) { s.least, s.most = min(s.least, x), max(s.most, x) }

// Spread is how far the penalties of tenants were apart whose scores counted at the last Refresh: at least as far as
// those that count still.
func (c *Cache) Spread() model.Fixed { return max(c.spread.most-c.spread.least, 0) }

// Refresh brings the rows of all tenants whose scores count to the last accounting tick,
// and says whether that made any difference.
func (c *Cache) Refresh() bool {
	a := c.accounts
	if c.ticks == a.ticks {
		return false
	}
	c.ticks, c.spread, c.until = a.ticks, spread{least: model.One}, model.Never
	changed := false
	u := min(a.Utilisation(), score.BurstEnds)
	for t, n := range c.jobs {
		if n > 0 {
			changed = c.refreshRow(t, u) || changed
			c.spread.add(c.Penalty[t])
			c.until = min(c.until, c.of[t].steady.Until)
		}
	}
	return changed
}

// Until is the instant before which no accounting tick makes a Refresh answer true, as far as is known, if nothing is
// observed: model.AbsentTime where the next tick may.
func (c *Cache) Until() model.Time {
	if c.ticks != c.accounts.ticks || c.accounts.Charged() { // what is held of the site has changed, or a tenant is new
		return model.AbsentTime
	}
	return c.until
}

// refreshRow is Refresh for one row. Most ticks leave alone how a tenant stands, or move its budget by too little to change the penalty.
func (c *Cache) refreshRow(t int, utilisation model.Fixed) (changed bool) {
	a, was := c.accounts, &c.of[t]
	if was.ticks == a.ticks {
		return false
	}
	id, first := model.TenantID(t)-1, was.ticks < 0
	room := utilisation != was.utilisation && was.standing.Burst > model.One
	was.ticks, was.utilisation = a.ticks, utilisation
	if !first && a.Holds(id, was.steady) {
		return room && c.setShare(t, &was.standing, utilisation)
	}
	st := a.Standing(id)
	charged := first || st.Used != was.standing.Used
	if charged || room || st.Share != was.standing.Share || st.Burst != was.standing.Burst {
		changed = c.setShare(t, st, utilisation)
	}
	if first || st.Budget != was.standing.Budget {
		if penalty := score.Penalty(st.Budget); penalty != c.Penalty[t] {
			c.Penalty[t], c.Inverse[t], changed = penalty, model.Ratio(int64(model.One), int64(penalty)), true
		}
	}
	was.standing, was.steady = *st, quota.Steady{Until: model.AbsentTime}
	if least, most := score.SamePenalty(st.Budget); least < most && !charged { // one that was charged mostly is again before the next tick
		was.steady = a.Stays(id, least, most)
	}
	return changed
}

// setShare works f3 of a row out, and says whether it is another than before.
func (c *Cache) setShare(t int, st *quota.Standing, utilisation model.Fixed) (changed bool) {
	share := c.weight.Mul(c.accounts.fairShare(model.TenantID(t)-1, st, utilisation))
	changed = share != c.Share[t]
	c.Share[t] = share
	return changed
}
