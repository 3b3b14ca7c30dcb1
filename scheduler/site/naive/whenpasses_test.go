package naive_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/preempt"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
	"orrery/scheduler/site"
	"orrery/scheduler/site/sitetest"
)

// wakeSite is a site of nodes with these homes, -1 for those of none, whose vClusters go by the
// class of their jobs alone.
func wakeSite(homes []int, vclusters int) *naiveWorld {
	st := &model.Site{Constraints: []model.Constraint{{GPUType: -1}}, Fingerprints: 1, Groups: []model.Group{{Name: "g"}}}
	for _, h := range homes {
		st.Nodes = append(st.Nodes, model.Node{Name: "n", Home: model.VClusterID(h), GPUType: -1, Topology: -1, BusyPower: 100, Memory: 10})
	}
	w := &naiveWorld{cfg: site.Config{Site: st, Quota: quota.Config{Nodes: int32(len(homes)), GPUs: int64(len(homes)), Tick: 10 * model.Second, Window: 40 * model.Second}}}
	var raw [score.NumFactors]float64
	raw[score.Priority] = 1
	weights, _ := score.Normalise(raw)
	for range vclusters {
		st.VClusters = append(st.VClusters, model.VCluster{Name: "v"})
		w.cfg.Policies = append(w.cfg.Policies, site.Policy{Ranking: site.ByScore, Weights: weights, Reference: 10 * model.Second, Backfill: order.Easy, Preemption: preempt.DefaultConfig()})
	}
	w.leave = 20 * model.Second
	return w
}

// enqueue adds a job of a vCluster, submitted at so many seconds, with its walltime in seconds.
func (w *naiveWorld) enqueue(vcluster int, at, nodes, wall int, class int32) *naiveErrand {
	i := len(w.jobs)
	s := model.Time(at) * model.Time(model.Second)
	w.jobs = append(w.jobs, naiveErrand{Allocation: model.Allocation{Job: model.JobID(i), ID: int64(i), Submit: s, Eligible: s, Tenant: -1, QOS: -1, Partition: -1, Reservation: -1,
		TaskGroup: -1, DAG: -1, User: -1, DataReady: -1, Class: class, VCluster: model.VClusterID(vcluster), Walltime: model.Duration(wall) * model.Second, NodesMin: int32(nodes), NodesMax: int32(nodes)},
		runtime: model.Duration(wall) * model.Second, outcome: model.Completed, cancel: model.Never})
	return &w.jobs[i]
}

// requireAlike runs the core against the naive implementation, and against itself looking at every tick.
func requireAlike(t *testing.T, w *naiveWorld) {
	if err := w.cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	if diff := w.run(site.New(w.cfg), w.naive()); diff != "" {
		t.Error(diff)
	}
	if diff := w.run(site.New(w.cfg), sitetest.NewEveryTick(w.cfg)); diff != "" {
		t.Error("at each tick:", diff)
	}
}

// claimWorld: B preempts on a node of no vCluster, and so keeps nodes that the blocked
// job of A waits for.
func claimWorld() *naiveWorld {
	w := wakeSite([]int{0, 0, 1, -1, 0}, 2)
	w.cfg.Policies[1].Preempts = true
	w.cfg.Policies[1].Preemption.NearCompletion = 0
	w.enqueue(0, 0, 2, 100, 5) // R1 of A
	w.enqueue(1, 0, 1, 50, 0)  // R2 of B
	w.enqueue(0, 1, 4, 100, 9) // H of A: n0 n1 n3 n4
	w.enqueue(0, 2, 1, 200, 5) // X of A
	w.enqueue(1, 10, 2, 50, 9) // P of B: n2 n3
	return w
}

func TestWakeClaimEvent(t *testing.T) {
	w := claimWorld()
	w.enqueue(0, 12, 4, 100, 1) // Y of A
	requireAlike(t, w)
}

func TestWakeClaimCycle(t *testing.T) {
	w := claimWorld()
	w.cfg.Policies[0].Cycle = 5 * model.Second
	requireAlike(t, w)
}

// failedWorld: a try to preempt fails until the cheapest victim is near its end, and
// then a job is released from its hold.
func failedWorld(vclusters int) *naiveWorld {
	w := wakeSite([]int{0, 0, 0, 0}, vclusters)
	w.cfg.Policies[0].Preempts = true
	w.cfg.Policies[0].Preemption.NearCompletion = 25 * model.Second
	w.cfg.Policies[0].Preemption.MaxVictims = 1
	w.enqueue(0, 0, 1, 30, 0)
	w.enqueue(0, 0, 1, 1000, 1)
	w.enqueue(0, 0, 2, 1000, 2)
	w.enqueue(0, 1, 2, 100, 9)
	z := w.enqueue(vclusters-1, 0, 4, 100, 0)
	z.Hold = true
	w.changes = append(w.changes, naiveChange{6 * model.Time(model.Second), model.Fact{Kind: model.FactReleased, Job: 4, Ref: 4}})
	return w
}

func TestWakeFailedReleased(t *testing.T) { requireAlike(t, failedWorld(1)) }

func TestWakeFailedReleasedCycle(t *testing.T) {
	w := failedWorld(2)
	w.cfg.Policies[0].Cycle = model.Second
	requireAlike(t, w)
}

func TestWakeFailedReleasedEvent(t *testing.T) {
	w := wakeSite([]int{0, 0, 0, 0, 0}, 1)
	w.cfg.Policies[0].Preempts = true
	w.cfg.Policies[0].Preemption.NearCompletion = 25 * model.Second
	w.cfg.Policies[0].Preemption.MaxVictims = 1
	w.enqueue(0, 0, 1, 30, 0)
	w.enqueue(0, 0, 1, 1000, 1)
	w.enqueue(0, 0, 2, 1200, 2)
	w.enqueue(0, 1, 3, 100, 9)
	w.enqueue(0, 2, 1, 2000, 5)
	z := w.enqueue(0, 0, 5, 100, 0)
	z.Hold = true
	w.changes = append(w.changes, naiveChange{6 * model.Time(model.Second), model.Fact{Kind: model.FactReleased, Job: 5, Ref: 5}})
	requireAlike(t, w)
}

// A job that is released while it waits for another goes on waiting.
func TestWakeReleasedDependent(t *testing.T) {
	w := wakeSite([]int{0, 0}, 1)
	w.enqueue(0, 0, 1, 30, 5)
	z := w.enqueue(0, 1, 1, 30, 5)
	z.Hold, z.Deps = true, []model.Dependency{{On: 0, Condition: model.AfterOK}}
	w.jobs[0].Awaited = true
	w.changes = append(w.changes, naiveChange{6 * model.Time(model.Second), model.Fact{Kind: model.FactReleased, Job: 1, Ref: 1}})
	requireAlike(t, w)
}

// TestUnmetBehindALapsedHold: job 2 preempts job 1 for node 1, and its tenant has another job by the time that it is free. The
// hold lapses in the pass in which a service first asks for that node: it is told that no limit and no hold keeps that from it.
func TestUnmetBehindALapsedHold(t *testing.T) {
	w := wakeSite([]int{0, 0, 1}, 2)
	w.cfg.Policies[0].Preempts = true
	w.cfg.Policies[0].Preemption.NearCompletion = 0
	w.cfg.Site.Tenants = []model.Tenant{{Name: "t", Limits: model.Limits{MaxNodes: 1}}}
	w.cfg.Quota.Tenants = w.cfg.Site.Tenants
	servesTo(2)(w.enqueue(0, 0, 1, 100, 5))
	w.enqueue(0, 0, 1, 100, 0)
	w.enqueue(0, 1, 1, 100, 9).Tenant = 0
	w.enqueue(1, 10, 1, 100, 5).Tenant = 0
	w.demand(21, 0, 2)
	w.changes[0].fact.Seq = 7
	requireAlike(t, w)
	require.Contains(t, w.proposals(site.New(w.cfg)), "00:00:21: 5 resize job 0 on [0 1]")
}
