package slurm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/multifactor"
)

// twoAccounts are a with 60 shares and b with 40, of two users and the user root each, beside the user root.
func twoAccounts() Config {
	s := cluster(1, 8)
	s.Tenants = []model.Tenant{{Name: "a"}, {Name: "b"}}
	return Config{
		Site: s, Options: exact(), Weights: &multifactor.Weights{FairShare: 2000, Sharing: multifactor.Sharing{FairTree: true, HalfLife: model.Forever}}, Users: []string{"u1", "u2", "u3", "u4"},
		Associations: []Association{
			{Account: "a", User: "u1", Shares: 1}, {Account: "a", User: "u2", Shares: 1}, {Account: "b", User: "u3", Shares: 1}, {Account: "b", User: "u4", Shares: 1},
			{User: "root", Shares: 1}, {Account: "a", User: "root", Shares: 1}, {Account: "b", User: "root", Shares: 1},
			{Account: "a", Shares: 60}, {Account: "b", Shares: 40},
		},
	}
}

// Ranks are among all users of the database, those without usage included. Levels: a 0.594 / 0.536 = 1.11, b 0.396 / 0.464 = 0.85; in a the user root is
// unused, u2 (1/3) / (30/277) = 3.1, u1 0.37; in b root, u3 (1/3) / (47/240) = 1.7, u4 0.41.
func TestRanksAreAmongAllUsers(t *testing.T) {
	cfg := twoAccounts()
	require.NoError(t, cfg.Validate())
	p := newPriorities(&cfg)
	for user, used := range []int64{247, 30, 47, 193} {
		p.tree.Charge(p.associate(&model.Allocation{Tenant: model.TenantID(user / 2), User: int32(user)}), used)
	}
	p.tree.Rate()
	for user, rank := range []int64{4, 5, 2, 1} {
		got := p.tree.Factor(p.associate(&model.Allocation{Tenant: model.TenantID(user / 2), User: int32(user)}))
		require.Equal(t, model.Ratio(rank, 7), got, "u%d", user+1)
	}
}

// Usage counts at the ticks, each minute, for what runs then: the job of u1, which is over at 50 s, costs nothing, and that of u3 from 50 s on costs ten
// seconds. All of account a are tied with the user root then, and u3 is the last of seven. Where usage counts to the ends of jobs, account a has used four
// times as much: behind root and the two unused users of b, u3 is the fourth from below, and u1 the last.
func TestUsageCountsAtTicks(t *testing.T) {
	for _, c := range []struct {
		name    string
		atEnds  bool
		u1, u3  int64 // points of a job at 70 s
		started model.Duration
	}{
		{"at ticks alone", false, 2000, 285, 50 * second},
		{"at ends too", true, 285, 1142, 50 * second},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := twoAccounts()
			cfg.Options.CalcPeriod, cfg.Options.UsageAtEnds = model.Minute, c.atEnds
			p := newPriorities(&cfg)
			jobs := jobTable{list: make([]job, 2)}
			p.advance(0, &jobs)
			one := job{Allocation: &model.Allocation{Tenant: 0, User: 0, QOS: -1, Partition: -1, NodesMin: 1}, phase: running, started: 10 * model.Time(second), cpus: 8}
			one.assoc = p.associate(one.Allocation)
			p.ended(&one, 50*model.Time(second))
			two := job{Allocation: &model.Allocation{Tenant: 1, User: 2, QOS: -1, Partition: -1, NodesMin: 1}, phase: running, started: model.Time(c.started), cpus: 8}
			two.assoc = p.associate(two.Allocation)
			jobs.list[0], jobs.running = two, []model.Ref{0}
			p.advance(model.Time(model.Minute), &jobs)
			require.True(t, p.ticked)
			p.rate(&jobs)
			at := 70 * model.Time(second)
			one.eligible, two.eligible = at, at
			require.Equal(t, c.u1, p.of(&one, at))
			require.Equal(t, c.u3, p.of(&two, at))
		})
	}
}

func TestUnknownParent(t *testing.T) {
	cfg := twoAccounts()
	cfg.Associations = cfg.Associations[:2]
	require.EqualError(t, cfg.Validate(), "user u1 is in the account a, which is not among the associations: add it, or correct the name")
	cfg.Associations = []Association{{Account: "a", Parent: "top"}}
	require.EqualError(t, cfg.Validate(), "account a is below the account top, which is not among the associations: add it, or correct the name")
}
