package naive_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/site"
)

// servesTo makes a reactive service of so many nodes at most that has no end.
func servesTo(nodes int32) func(*naiveErrand) {
	return func(e *naiveErrand) { e.Kind, e.NodesMax, e.Walltime = model.Reactive, nodes, model.Forever }
}

// asks makes a service have an end.
func wants(walltime int64) func(*naiveErrand) {
	return func(e *naiveErrand) { e.Walltime = model.Duration(walltime) * model.Second }
}

// demand is what a service is to have from a second on.
func (w *naiveWorld) demand(at int64, job model.JobID, nodes int64) {
	w.changes = append(w.changes, naiveChange{seconds(at), model.Fact{Kind: model.FactDemand, Job: job, Ref: model.Ref(job), Value: nodes}})
}

// besideHead is a service that is to have all of six nodes. Three are taken until 9 s,
// for four of which a job before it waits.
func besideHead(walltime int64) *naiveWorld {
	w := foundWorld(6, found(0, 9, 3), found(0, 5, 4), found(0, walltime, 1, servesTo(6), wants(walltime)))
	w.cfg.Policies[0].Backfill, w.jobs[1].Eligible = order.Easy, seconds(1)
	w.demand(2, 2, 6)
	return w
}

// besideBorrower is a service that is to have all nodes of its vCluster from 2 s to 6 s,
// and a job of another vCluster that wants to borrow one of them from 3 s on.
func besideBorrower() *naiveWorld {
	w := foundWorld(5, found(0, 50, 1, servesTo(4), demands(5)), found(3, 5, 2, in(1)))
	w.cfg.Site.VClusters = []model.VCluster{{Name: "a", Lend: true, MaxLent: model.One}, {Name: "b", Borrow: true}}
	w.cfg.Policies = append(w.cfg.Policies, w.cfg.Policies[0])
	for i, home := range []model.VClusterID{0, 0, 0, 0, 1} {
		w.cfg.Site.Nodes[i].Home = home
	}
	w.demand(2, 0, 4)
	w.demand(6, 0, 2)
	return w
}

// besideVictim is a scaled service that is to have four nodes more from 2 s on, of which a job of a
// lower class holds two, and one of a higher class the others.
func besideVictim(leave model.Duration) *naiveWorld {
	w := foundWorld(5, found(0, 50, 1, servesTo(5), ofClass(6), func(e *naiveErrand) { e.Scaled = true }), found(0, 80, 2, ofClass(2)), found(0, 80, 2, ofClass(7)))
	w.cfg.Policies[0].Preempts, w.leave = true, leave
	w.demand(2, 0, 5)
	return w
}

// TestServicesFollowDemand: what is proposed for reactive services in small worlds.
func TestServicesFollowDemand(t *testing.T) {
	for _, c := range []struct {
		name  string
		world func() *naiveWorld
		want  []string
	}{
		{"what it has counts against the GPUs of a job of its QOS", func() *naiveWorld {
			w := foundWorld(3, found(0, 50, 1, servesTo(2), func(e *naiveErrand) { e.QOS = 0 }))
			w.cfg.Site.Nodes[0].GPUs, w.cfg.Site.Nodes[1].GPUs = 4, 4
			w.cfg.Site.QOS = []model.QOS{{Name: "q", MaxGPUs: 4}}
			w.cfg.Quota.QOS = w.cfg.Site.QOS
			w.demand(2, 0, 2)
			return w
		}, []string{"00:00:00: 1 assign job 0 on [0]"}},
		{"it grows, and not beyond its most; it shrinks, and not below its least", func() *naiveWorld {
			w := foundWorld(6, found(0, 50, 2, servesTo(4)))
			w.demand(3, 0, 3)
			w.demand(5, 0, 9)
			w.demand(7, 0, 1)
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0 1]",
			"00:00:03: 2 resize job 0 on [0 1 2]",
			"00:00:05: 3 resize job 0 on [0 1 2 3]",
			"00:00:07: 4 resize job 0 on [0 1]",
		}},
		{"a scaled one preempts for as much of what it lacks as lower classes hold", func() *naiveWorld {
			return besideVictim(model.Second)
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:00: 2 assign job 1 on [1 2]",
			"00:00:00: 3 assign job 2 on [3 4]",
			"00:00:02: 4 preempt job 0 on [] victim 1 PREEMPTED",
			"00:00:03: 5 resize job 0 on [0 1 2]",
			"00:00:50: 6 assign job 1 on [0 1]",
		}},
		{"its nodes are kept no more when it is to have no more", func() *naiveWorld {
			w := besideVictim(3 * model.Second)
			w.demand(4, 0, 1)
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:00: 2 assign job 1 on [1 2]",
			"00:00:00: 3 assign job 2 on [3 4]",
			"00:00:02: 4 preempt job 0 on [] victim 1 PREEMPTED",
			"00:00:05: 5 assign job 1 on [1 2]",
		}},
		{"a demand from before its start", func() *naiveWorld {
			w := foundWorld(3, found(0, 9, 2), found(1, 50, 2, servesTo(3)))
			w.demand(2, 1, 3)
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0 1]",
			"00:00:09: 2 assign job 1 on [0 1]",
			"00:00:09: 3 resize job 1 on [0 1 2]",
		}},
		{"what it gives up goes to a job that waits", func() *naiveWorld {
			w := foundWorld(4, found(0, 50, 1, servesTo(4)), found(4, 5, 3))
			w.demand(2, 0, 4)
			w.demand(6, 0, 1)
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:02: 2 resize job 0 on [0 1 2 3]",
			"00:00:06: 3 resize job 0 on [0]",
			"00:00:06: 4 assign job 1 on [1 2 3]",
		}},
		{"it keeps to the nodes of its tenant, until there are more", func() *naiveWorld {
			w := foundWorld(6, found(0, 50, 1, servesTo(6), tenant(0)), found(0, 9, 2, tenant(0)))
			w.cfg.Site.Tenants = []model.Tenant{{Name: "t", Limits: model.Limits{MaxNodes: 4}}}
			w.cfg.Quota.Tenants = w.cfg.Site.Tenants
			w.demand(2, 0, 6)
			w.changes = append(w.changes, naiveChange{seconds(12), model.Fact{Kind: model.FactLimits, Limits: &model.Limits{MaxNodes: 5}}})
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:00: 2 assign job 1 on [1 2]",
			"00:00:02: 3 resize job 0 on [0 3]",
			"00:00:09: 4 resize job 0 on [0 1 2 3]",
			"00:00:12: 5 resize job 0 on [0 1 2 3 4]",
		}},
		{"of what is free for a while it leaves what a job before it counts on", func() *naiveWorld { return besideHead(50) }, []string{
			"00:00:00: 1 assign job 0 on [0 1 2]",
			"00:00:00: 2 assign job 2 on [3]",
			"00:00:02: 3 resize job 2 on [3 4]",
			"00:00:09: 4 assign job 1 on [0 1 2 5]",
			"00:00:14: 5 resize job 2 on [0 1 2 3 4 5]",
		}},
		{"who ends before that leaves nothing", func() *naiveWorld { return besideHead(7) }, []string{
			"00:00:00: 1 assign job 0 on [0 1 2]",
			"00:00:00: 2 assign job 2 on [3]",
			"00:00:02: 3 resize job 2 on [3 4 5]",
			"00:00:09: 4 assign job 1 on [0 1 2 3]",
		}},
		{"under none nothing behind a blocked job", func() *naiveWorld {
			w := besideHead(7)
			w.cfg.Policies[0].Backfill = order.None
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0 1 2]",
			"00:00:00: 2 assign job 2 on [3]",
			"00:00:09: 3 assign job 1 on [0 1 2 3]",
		}},
		{"a job behind it waits, if it must", func() *naiveWorld {
			w := foundWorld(6, found(0, 9, 3), found(0, 50, 1, servesTo(6)), found(1, 5, 4))
			w.cfg.Policies[0].Backfill = order.Easy
			w.demand(2, 1, 6)
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0 1 2]",
			"00:00:00: 2 assign job 1 on [3]",
			"00:00:02: 3 resize job 1 on [3 4 5]",
			"00:00:09: 4 resize job 1 on [0 1 2 3 4 5]",
			"00:00:50: 5 assign job 2 on [0 1 2 3]",
		}},
		{"of two services the first in the order", func() *naiveWorld {
			w := foundWorld(5, found(0, 50, 1, servesTo(4)), found(1, 50, 1, servesTo(4)))
			w.demand(3, 1, 4)
			w.demand(3, 0, 3)
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:01: 2 assign job 1 on [1]",
			"00:00:03: 3 resize job 0 on [0 2 3]",
			"00:00:03: 4 resize job 1 on [1 4]",
			"00:00:50: 5 resize job 1 on [0 1 2 4]",
		}},
		{"preempted, it begins with its least and grows again", func() *naiveWorld {
			w := foundWorld(4, found(0, 50, 1, servesTo(4), ofClass(2)), found(5, 6, 3, ofClass(8)))
			w.cfg.Policies[0].Preempts = true
			w.demand(2, 0, 4)
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:02: 2 resize job 0 on [0 1 2 3]",
			"00:00:05: 3 preempt job 1 on [] victim 0 PREEMPTED",
			"00:00:06: 4 assign job 1 on [0 1 2]",
			"00:00:06: 5 assign job 0 on [3]",
			"00:00:12: 6 resize job 0 on [0 1 2 3]",
		}},
		{"refused, it asks again", func() *naiveWorld {
			w := foundWorld(3, found(0, 50, 1, servesTo(3)))
			w.deny, w.latency = 1<<2, model.Second
			w.demand(2, 0, 3)
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:02: 2 resize job 0 on [0 1 2]",
			"00:00:03: 3 resize job 0 on [0 1 2]",
		}},
		{"a demand while a resize is in flight", func() *naiveWorld {
			w := foundWorld(4, found(0, 50, 1, servesTo(4)))
			w.latency = 4 * model.Second
			w.demand(6, 0, 4)
			w.demand(8, 0, 2)
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:06: 2 resize job 0 on [0 1 2 3]",
			"00:00:10: 3 resize job 0 on [0 1]",
		}},
		{"its vCluster lends nothing while a cap keeps it small", func() *naiveWorld {
			w := besideBorrower()
			w.cfg.Site.Bandwidth = 10
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:02: 2 resize job 0 on [0 1]",
			"00:00:06: 3 assign job 1 on [2 4] borrowed",
		}},
		{"it lends again when what it lacks is in flight", func() *naiveWorld {
			w := besideBorrower()
			w.latency, w.jobs[1].Submit, w.jobs[1].Eligible = 4*model.Second, seconds(7), seconds(7)
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:04: 2 resize job 0 on [0 1 2 3]",
			"00:00:07: 3 assign job 1 on [1 4] borrowed", // who is not told what is in flight
			"00:00:08: 4 resize job 0 on [0 1]",
			"00:00:12: 5 assign job 1 on [2 4] borrowed",
		}},
		{"it lends nothing while it is to have more than what is in flight", func() *naiveWorld {
			w := besideBorrower()
			w.cfg.Site.Tenants = []model.Tenant{{Name: "t", Limits: model.Limits{MaxNodes: 3}}}
			w.cfg.Quota.Tenants, w.jobs[0].Tenant = w.cfg.Site.Tenants, 0
			w.latency, w.jobs[1].Submit, w.jobs[1].Eligible = 4*model.Second, seconds(7), seconds(7)
			w.changes = nil
			w.demand(5, 0, 2)
			w.demand(6, 0, 3)
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:05: 2 resize job 0 on [0 1]",
			"00:00:09: 3 resize job 0 on [0 1 2]",
			"00:00:09: 4 assign job 1 on [2 4] borrowed",
			"00:00:13: 5 assign job 1 on [3 4] borrowed",
		}},
		{"it lends while a limit does", func() *naiveWorld {
			w := besideBorrower()
			w.cfg.Site.Tenants = []model.Tenant{{Name: "t", Limits: model.Limits{MaxNodes: 2}}}
			w.cfg.Quota.Tenants, w.jobs[0].Tenant = w.cfg.Site.Tenants, 0
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:02: 2 resize job 0 on [0 1]",
			"00:00:03: 3 assign job 1 on [2 4] borrowed",
		}},
		{"it lends while the bound on sensitive work does", func() *naiveWorld {
			w := besideBorrower()
			w.cfg.Site.SensitivePool, w.jobs[0].Sensitive = 2, true
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:02: 2 resize job 0 on [0 1]",
			"00:00:03: 3 assign job 1 on [2 4] borrowed",
		}},
		{"it leaves the power that a reservation counts on", func() *naiveWorld {
			w := foundWorld(4, found(0, 9, 1, draws(100)), found(0, 50, 1, draws(100), servesTo(2)), found(1, 5, 1, draws(200)))
			p := &w.cfg.Policies[0]
			p.Backfill, p.Depth, w.cfg.Site.PowerCap = order.Conservative, 3, 300
			w.demand(2, 1, 2)
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:00: 2 assign job 1 on [1]",
			"00:00:09: 3 assign job 2 on [0]",
			"00:00:14: 4 resize job 1 on [0 1]",
		}},
		{"of two services in a pass that plans the second leaves it too", func() *naiveWorld {
			w := foundWorld(5, found(0, 9, 1, draws(100)), found(0, 50, 1, draws(50), servesTo(2)), found(0, 50, 1, draws(50), servesTo(2)), found(1, 5, 1, draws(150)))
			p := &w.cfg.Policies[0]
			p.Backfill, p.Depth, w.cfg.Site.PowerCap = order.Conservative, 3, 300
			w.demand(2, 1, 2)
			w.demand(2, 2, 2)
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:00: 2 assign job 1 on [1]",
			"00:00:00: 3 assign job 2 on [2]",
			"00:00:02: 4 resize job 1 on [1 3]",
			"00:00:09: 5 assign job 3 on [0]",
			"00:00:14: 6 resize job 2 on [0 2]",
		}},
		{"what it is about to get is not foreseen to come free, though another has it", func() *naiveWorld {
			w := foundWorld(3, found(0, 60, 1, servesTo(2)), found(8, 10, 1, in(1)), found(13, 30, 2), found(13, 30, 1))
			w.cfg.Site.VClusters = []model.VCluster{{Name: "a"}, {Name: "b"}}
			w.cfg.Policies[0].Backfill = order.Easy
			w.cfg.Policies, w.latency, w.end = append(w.cfg.Policies, w.cfg.Policies[0]), 4*model.Second, seconds(18)
			w.demand(10, 0, 2)
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:08: 2 assign job 1 on [1]",
			"00:00:10: 3 resize job 0 on [0 1]",
			"00:00:13: 4 assign job 3 on [2]", // nothing says when job 2 has room
		}},
		{"nodes that take no new work are the first to go", func() *naiveWorld {
			w := foundWorld(4, found(0, 50, 1, servesTo(4)))
			w.demand(2, 0, 4)
			w.changes = append(w.changes, naiveChange{seconds(3), model.Fact{Kind: model.FactNode, Node: 1, State: model.Draining}})
			w.demand(4, 0, 3)
			w.changes = append(w.changes, naiveChange{seconds(5), model.Fact{Kind: model.FactNode, Node: 0, State: model.Draining}})
			w.demand(6, 0, 2)
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:02: 2 resize job 0 on [0 1 2 3]",
			"00:00:04: 3 resize job 0 on [0 2 3]",
			"00:00:06: 4 resize job 0 on [2 3]",
		}},
		{"nodes far from its own", func() *naiveWorld {
			w := foundWorld(130, found(0, 50, 1, servesTo(4)))
			for n := range w.cfg.Site.Nodes {
				if n != 70 {
					w.cfg.Site.Nodes[n].State = model.Draining
				}
			}
			ready := func(at int64, n model.NodeID) {
				w.changes = append(w.changes, naiveChange{seconds(at), model.Fact{Kind: model.FactNode, Node: n, State: model.Ready}})
			}
			w.demand(2, 0, 4)
			ready(3, 129)
			ready(4, 0)
			ready(5, 69)
			w.demand(6, 0, 2)
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [70]",
			"00:00:03: 2 resize job 0 on [70 129]",
			"00:00:04: 3 resize job 0 on [0 70 129]",
			"00:00:05: 4 resize job 0 on [0 69 70 129]",
			"00:00:06: 5 resize job 0 on [0 69]",
		}},
		{"in a pass that plans it gets what no job has reserved", func() *naiveWorld {
			w := foundWorld(6, found(0, 9, 3), found(0, 50, 1, servesTo(6)), found(1, 5, 4))
			p := &w.cfg.Policies[0]
			p.Backfill, p.Depth = order.Conservative, 3
			w.demand(2, 1, 6)
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0 1 2]",
			"00:00:00: 2 assign job 1 on [3]",
			"00:00:02: 3 resize job 1 on [3 5]",
			"00:00:09: 4 assign job 2 on [0 1 2 4]",
			"00:00:14: 5 resize job 1 on [0 1 2 3 4 5]",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := c.world()
			require.NoError(t, w.cfg.Validate())
			require.Equal(t, c.want, w.proposals(w.naive()))
			require.Equal(t, c.want, w.proposals(site.New(w.cfg)))
		})
	}
}

// TestRestoredServiceShrinks: a service from before a warm start keeps the size that it had
// until it is told another, and then those of lowest id of nodes that it could not have
// chosen.
func TestRestoredServiceShrinks(t *testing.T) {
	w := foundWorld(130, found(0, 50, 1, servesTo(9)))
	w.cfg.Site.Partitions = []model.Partition{{Name: "p", Nodes: model.NodeSet{1, 0, 0}, Up: true}}
	w.cfg.Quota.Partitions, w.jobs[0].Partition = w.cfg.Site.Partitions, 0
	core := site.New(w.cfg)
	core.Observe(0, []model.Fact{{Kind: model.FactSubmitted, Alloc: &w.jobs[0].Allocation, Walltime: model.Forever, Request: model.Request{Units: 1}}})
	had := model.Placement{Words: []model.NodeWord{{Word: 0, Mask: 6}, {Word: 1, Mask: 1}, {Word: 2, Mask: 1}}}
	core.Observe(0, []model.Fact{{Kind: model.FactRestored, Seq: 1, Placement: &had}})
	require.Empty(t, core.Plan(0).Proposals)
	core.Observe(seconds(1), []model.Fact{{Kind: model.FactDemand, Value: 2}})
	require.Equal(t, []string{"00:00:01: 1 resize job 0 on [1 2]"}, naiveTexts(seconds(1), core.Plan(seconds(1)).Proposals))
}
