package slurm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/quota"
)

// Limits on nodes count each node once, whatever is held of it. Job 1 would take a second node for its quality of service,
// and job 2 of no quality passes it by.
func TestLimitsOnNodes(t *testing.T) {
	site := cluster(2, 2)
	site.QOS = []model.QOS{{Name: "q", Class: -1, GroupNodes: 1, UsageFactor: model.One}}
	cfg := Config{Site: site, Options: exact(), Quota: quota.Config{QOS: site.QOS, Nodes: 2}}
	require.Equal(t, "0: 0s n0x2, 1: 50s n0x2, 2: 0s n1x2", told(t, cfg, []request{
		{tasks: 2, limit: 60 * second, run: 50 * second, qos: 1, tenant: -1}, {tasks: 2, limit: 60 * second, run: 10 * second, qos: 1, tenant: -1}, {tasks: 2, limit: 60 * second, run: 10 * second, tenant: -1},
	}))
}

// A job that is larger than what is up waits for a node. Nothing runs and nothing is due until one comes back: the replay ends there.
func TestNothingIsDueWhereNothingCanStart(t *testing.T) {
	cfg := Config{Site: cluster(2, 8), Options: exact()}
	c := New(cfg)
	c.Observe(0, []model.Fact{{Kind: model.FactNode, Node: 1, State: model.Down}})
	a := &model.Allocation{Walltime: model.Hour, NodesMin: 2, NodesMax: 2, Tenant: -1, QOS: -1, Partition: -1, Reservation: -1, TaskGroup: -1, DAG: -1}
	c.Observe(0, []model.Fact{{Kind: model.FactSubmitted, Alloc: a, Walltime: model.Hour, Constraint: &cfg.Site.Constraints[0]}})
	due := c.Plan(0).Due
	for range 10 {
		if due == model.Never {
			break
		}
		due = c.Plan(due).Due
	}
	require.Equal(t, model.Never, due)
	back := 30 * model.Time(model.Minute)
	c.Observe(back, []model.Fact{{Kind: model.FactNode, Node: 1, State: model.Ready}})
	require.Len(t, c.Plan(back).Proposals, 1)
}

// Job 0 of account a runs for ten minutes while no job waits; after that b comes first, for a has used the cluster.
func TestUsageCountsWhileNoneWaits(t *testing.T) {
	cfg := twoAccounts()
	cfg.Options.CalcPeriod = model.Minute
	require.Equal(t, "0: 0s n0x8, 1: 1206s n0x8, 2: 1200s n0x8, 3: 1203s n0x8", told(t, cfg, []request{
		{tasks: 8, limit: model.Hour, run: 10 * model.Minute, user: 0},
		{at: 20 * model.Minute, tasks: 8, limit: model.Hour, run: 2 * second, user: 0},
		{at: 20 * model.Minute, tasks: 8, limit: model.Hour, run: 2 * second, tenant: 1, user: 2},
		{at: 20 * model.Minute, tasks: 8, limit: model.Hour, run: 2 * second, tenant: 1, user: 3},
	}))
}
