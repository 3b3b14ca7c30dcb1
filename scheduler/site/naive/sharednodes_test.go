package naive_test

import (
	"testing"

	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
	"orrery/scheduler/site"
)

// sharedNodes is wakeSite with four GPUs on each node, of which jobs take parts.
func sharedNodes(vclusters int, homes ...int) *naiveWorld {
	w := wakeSite(homes, vclusters)
	w.cfg.Shared = true
	for i := range w.cfg.Site.Nodes {
		w.cfg.Site.Nodes[i].GPUs = 4
	}
	w.cfg.Quota.GPUs = int64(4 * len(homes))
	return w
}

func (w *naiveWorld) limits(tenants []model.Tenant, qos ...model.QOS) {
	w.cfg.Site.Tenants, w.cfg.Site.QOS = tenants, qos
	w.cfg.Quota.Tenants, w.cfg.Quota.QOS = tenants, qos
}

// share submits a job that takes so many GPUs of each of nodes.
func (w *naiveWorld) share(v, at, nodes, perNode, walltime int, class int32, of model.TenantID, by model.QOSID) *naiveErrand {
	e := w.enqueue(v, at, nodes, walltime, class)
	e.GPUs, e.Tenant, e.QOS = int32(perNode), of, by
	return e
}

// A job is kept to node 0 by the limit of its tenant and to node 1 of another vCluster by that of its quality of
// service, so that it fits nowhere. The end of a job of the latter alone lets it start.
func TestTwoLimitsOnNodes(t *testing.T) {
	w := sharedNodes(2, 0, 1)
	w.cfg.Policies[0].Cycle = 10 * model.Second
	w.limits([]model.Tenant{{Name: "t", Limits: model.Limits{MaxNodes: 1}}, {Name: "u"}}, model.QOS{Name: "q", GroupNodes: 1})
	w.share(0, 0, 1, 1, 1000, 5, 0, -1)
	w.share(1, 0, 1, 1, 12, 5, 1, 0)
	w.share(0, 1, 1, 1, 100, 5, 0, 0)
	requireAlike(t, w)
}

// A limit of two nodes keeps the second job, of two nodes, to the one that the first left full but
// for two GPUs. The third starts on the other node, which the limit counts from then on: the second had its turn.
func TestOneTurnInAPass(t *testing.T) {
	w := sharedNodes(1, -1, -1)
	w.limits([]model.Tenant{{Name: "t", Limits: model.Limits{MaxNodes: 2}}})
	w.share(0, 0, 1, 2, 100, 9, 0, -1)
	w.share(0, 0, 2, 1, 100, 8, 0, -1)
	w.share(0, 0, 1, 3, 100, 7, 0, -1)
	requireAlike(t, w)
}

// Of two jobs whose victims have left at one instant that of the higher tier is first, whatever their scores.
func TestTiersOfJobsWhoseVictimsLeft(t *testing.T) {
	w := wakeSite([]int{-1, -1}, 1)
	w.cfg.Policies[0].Preempts = true
	w.cfg.Policies[0].Preemption.NearCompletion = 0
	all := model.NewNodeSet(2)
	all.Add(0)
	all.Add(1)
	w.cfg.Site.Partitions = []model.Partition{{Name: "p", Nodes: all, Tier: 1, Up: true}, {Name: "q", Nodes: all, Up: true}}
	w.cfg.Quota.Partitions = w.cfg.Site.Partitions
	w.enqueue(0, 0, 1, 100, 0)
	w.enqueue(0, 0, 1, 100, 0)
	w.enqueue(0, 1, 1, 100, 8).Partition = 0
	w.enqueue(0, 1, 1, 100, 9).Partition = 1
	requireAlike(t, w)
}

// TestLimitsOnSharedNodes holds both implementations together where many small jobs of few tenants and users come
// close to limits on nodes, in two vClusters.
func TestLimitsOnSharedNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
		homes := []int{0, 0, 1}
		for range n("more nodes", 0, 2) {
			homes = append(homes, n("home", 0, 1))
		}
		w := sharedNodes(2, homes...)
		for i := range w.cfg.Policies {
			w.cfg.Policies[i].Cycle = model.Duration(n("cycle", 0, 10)) * model.Second
			w.cfg.Policies[i].Preempts = n("preempts", 0, 3) == 0
			w.cfg.Policies[i].Preemption.NearCompletion = 0
		}
		var qos []model.QOS
		for range n("qos", 0, 2) {
			qos = append(qos, model.QOS{Name: "q", GroupNodes: int32(n("group", 0, 3)), UserNodes: int32(n("user nodes", 0, 2))})
		}
		w.limits([]model.Tenant{
			{Name: "t", Limits: model.Limits{MaxNodes: int32(n("nodes of t", 0, 3))}},
			{Name: "u", Limits: model.Limits{MaxNodes: int32(n("nodes of u", 0, 3))}},
		}, qos...)
		at := 0
		for range n("jobs", 3, 12) {
			if n("later", 0, 2) == 0 {
				at += n("gap", 0, 12)
			}
			e := w.share(n("vcluster", 0, 1), at, (n("nodes", 1, 5)+3)/4, rapid.SampledFrom([]int{0, 1, 1, 1, 2, 3, 4}).Draw(t, "gpus"),
				rapid.SampledFrom([]int{5, 17, 100, 300, 1000}).Draw(t, "walltime"), int32(n("class", 0, 9)),
				model.TenantID(n("tenant", -1, 1)), model.QOSID(n("by", -1, len(qos)-1)))
			e.User = int32(n("user", -1, 1))
		}
		w.leave = 3 * model.Second
		if err := w.cfg.Validate(); err != nil {
			t.Fatal(err)
		}
		if diff := w.run(site.New(w.cfg), w.naive()); diff != "" {
			t.Fatal(diff)
		}
	})
}
