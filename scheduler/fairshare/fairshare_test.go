package fairshare_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/fairshare"
	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
)

// twoTenants of a site of 100 nodes, with a budget and a burst limit each.
func twoTenants() []model.Tenant {
	limits := model.Limits{FairShare: model.One / 2, Burst: 2 * model.One, NodeBudget: 300 * model.Hour}
	return []model.Tenant{{Name: "a", Limits: limits}, {Name: "b", Limits: limits}}
}

func claimOf(t model.TenantID, nodes int32) quota.ResourceUsage {
	return quota.ResourceUsage{Tenant: t, QOS: -1, Partition: -1, User: -1, Nodes: nodes, GPUs: nodes}
}

func rules(t *rapid.T) *quota.Config {
	return &quota.Config{
		Nodes: 100, GPUs: 100, Tick: 5 * model.Minute, Window: model.Day, HalfLife: model.Hour, Tenants: twoTenants(),
		Usage: rapid.SampledFrom([]quota.Usage{quota.Instantaneous, quota.Rolling, quota.Decay}).Draw(t, "usage"),
	}
}

// Whatever happens, the rows of tenants with jobs are worked out from the accounts as they
// stand, and Refresh says whether one of them has changed.
func TestCacheIsAsTheAccounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := fairshare.New(&fairshare.Config{Quota: rules(t)})
		weight := model.Fixed(rapid.Int64Range(0, int64(model.One)).Draw(t, "weight"))
		c := a.NewCache(2, weight)
		var jobs [3]int
		var running []quota.ResourceUsage
		now, until := model.Time(0), model.AbsentTime
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(model.Duration(rapid.Int64Range(0, int64(model.Hour)).Draw(t, "later")))
			a.Advance(now)
			tenant := model.TenantID(rapid.IntRange(-1, 1).Draw(t, "tenant"))
			what := rapid.IntRange(0, 4).Draw(t, "what")
			foreseen := what > 2 && a.LastTick(now) < until
			switch what {
			case 0:
				usage := claimOf(tenant, int32(rapid.IntRange(1, 20).Draw(t, "nodes")))
				a.Begin(&usage, 0, now)
				running = append(running, usage)
			case 1:
				if len(running) > 0 {
					a.End(&running[0], 0, now)
					running = running[1:]
				}
			case 2:
				c.Enter(tenant)
				jobs[tenant+1]++
			case 3:
				if jobs[tenant+1] > 0 {
					c.Leave(tenant)
					jobs[tenant+1]--
				}
			}
			before := [2][]model.Fixed{append([]model.Fixed(nil), c.Share...), append([]model.Fixed(nil), c.Penalty...)}
			changed := c.Refresh()
			require.False(t, changed && foreseen, "before the instant %s that was foreseen", until)
			until = c.Until()
			for i, n := range jobs {
				id := model.TenantID(i) - 1
				if n == 0 {
					continue
				}
				share, penalty := weight.Mul(a.FairShare(id)), score.Penalty(a.Standing(id).Budget)
				require.Equal(t, share, c.Share[i])
				require.Equal(t, penalty, c.Penalty[i])
				require.Equal(t, model.Ratio(int64(model.One), int64(penalty)), c.Inverse[i])
				if !changed {
					require.Equal(t, before[0][i], share)
					require.Equal(t, before[1][i], penalty)
				}
			}
			require.False(t, c.Refresh(), "twice in a tick")
		}
	})
}

// A tenant that holds 20 nodes and has used 200 of 300 node hours by the second tick that finds the same of it reaches 240, where its
// penalty begins, 2 h later. Until then no tick matters, unless something is charged.
func TestTicksThatDoNotMatter(t *testing.T) {
	a := fairshare.New(&fairshare.Config{Quota: &quota.Config{Nodes: 100, GPUs: 100, Tick: 5 * model.Minute, Window: model.Day, Tenants: twoTenants()}})
	c := a.NewCache(2, model.One)
	a.Advance(0)
	require.True(t, c.Enter(0))
	require.False(t, c.Enter(0), "the second job")
	usage := claimOf(0, 20)
	a.Begin(&usage, 0, 0)
	for _, at := range []model.Duration{9 * model.Hour, 10 * model.Hour} {
		a.Advance(model.Time(at))
		require.Equal(t, model.AbsentTime, c.Until(), "before the row is brought to this tick")
		c.Refresh()
	}
	until := c.Until()
	require.InDelta(t, float64(12*model.Hour), float64(until), float64(model.Second))
	for now := model.Time(10 * model.Hour); now < until; now = a.NextTick(now) {
		a.Advance(now)
		require.False(t, c.Refresh())
	}
	a.Advance(model.Time(12*model.Hour + 30*model.Minute))
	require.True(t, c.Refresh(), "from then on the penalty grows")
	require.Equal(t, model.AbsentTime, c.Until())

	require.True(t, c.Enter(1))
	require.Equal(t, model.AbsentTime, c.Until(), "nothing is known of a tenant that is new")
	a.End(&usage, 0, model.Time(13*model.Hour))
	require.Equal(t, model.AbsentTime, c.Until(), "what is held of the site has changed")
}

// Once NextChange says that nothing changes, nothing does.
func TestAccountsSettle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := fairshare.New(&fairshare.Config{Quota: rules(t)})
		start := model.Time(rapid.Int64Range(0, int64(model.Day)).Draw(t, "start"))
		end := start.Add(model.Duration(rapid.Int64Range(1, int64(3*model.Day)).Draw(t, "ran")))
		usage := claimOf(0, 90)
		a.Advance(start)
		a.Begin(&usage, 0, start)
		a.Advance(end)
		a.End(&usage, 0, end)
		a.Observed(end)
		now, ticks := end, 0
		for {
			at, ok := a.NextChange(now)
			if !ok {
				break
			}
			a.Advance(at)
			now = at
			ticks++
		}
		require.Greater(t, ticks, int(model.Day/(5*model.Minute)))
		share, standing := a.FairShare(0), *a.Standing(0)
		for range 50 {
			now = a.NextTick(now)
			a.Advance(now)
			require.Equal(t, share, a.FairShare(0))
			require.Equal(t, [...]model.Fixed{standing.Used, standing.Budget}, [...]model.Fixed{a.Standing(0).Used, a.Standing(0).Budget})
		}
	})
}

// Users are of the account of their tenant, and factors change at ticks alone.
func TestTreeOfShares(t *testing.T) {
	tenants := twoTenants()
	a := fairshare.New(&fairshare.Config{
		Quota: &quota.Config{Nodes: 100, GPUs: 100, Tick: 5 * model.Minute, Tenants: tenants}, Tenants: tenants,
		Sharing: &multifactor.Sharing{HalfLife: model.Day, Period: 5 * model.Minute}, AssocPriority: []int64{3, 12},
	})
	a.Advance(0)
	first, second := a.Associate(0, 1), a.Associate(1, 1)
	require.Equal(t, first, a.Associate(0, 1), "met before")
	require.NotEqual(t, first, second, "the same user elsewhere")
	require.NotEqual(t, first, a.Associate(-1, 1))
	require.False(t, a.Complete())
	a.Settle()
	require.True(t, a.Complete())
	usage := claimOf(0, 50)
	a.Begin(&usage, first, 0)
	before := a.Factor(first)
	a.Advance(model.Time(4 * model.Minute))
	require.Equal(t, before, a.Factor(first), "between two ticks")
	a.Advance(model.Time(model.Hour))
	require.Less(t, a.Factor(first), a.Factor(second), "who has used more")
	require.Equal(t, multifactor.Part{Amount: 3, Whole: 12}, a.AssocPriority(0))
	require.Zero(t, a.AssocPriority(-1))
}
