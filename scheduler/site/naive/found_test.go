package naive_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/preempt"
	"orrery/scheduler/score"
	"orrery/scheduler/site"
)

// foundWorld is a site of n nodes of one vCluster without backfilling, in order
// of submission.
func foundWorld(n int, jobs ...naiveErrand) *naiveWorld {
	w := &naiveWorld{cfg: alike(n, site.Policy{
		Ranking: site.ByOrder, Reference: 10 * model.Second, Preemption: preempt.DefaultConfig(),
	}), leave: model.Second}
	w.cfg.Policies[0].Preemption.NearCompletion = 0
	for i, e := range jobs {
		e.Job, e.ID, e.Eligible, e.cancel = model.JobID(i), int64(i), e.Submit, model.Never
		w.jobs = append(w.jobs, e)
	}
	return w
}

// found is a job of nodes that comes at a second and runs for as long as it asks.
func found(submit, walltime int64, nodes int32, traits ...func(*naiveErrand)) naiveErrand {
	e := naiveErrand{runtime: model.Duration(walltime) * model.Second, outcome: model.Completed}
	e.Allocation = model.Allocation{
		Submit: seconds(submit), Walltime: e.runtime, NodesMin: nodes, NodesMax: nodes, Tenant: -1, QOS: -1, Partition: -1,
		Reservation: -1, TaskGroup: -1, DAG: -1, User: -1, DataReady: -1, Class: 5,
	}
	for _, t := range traits {
		t(&e)
	}
	return e
}

func ofClass(c int32) func(*naiveErrand)     { return func(e *naiveErrand) { e.Class = c } }
func growsTo(nodes int32) func(*naiveErrand) { return func(e *naiveErrand) { e.NodesMax = nodes } }
func demands(perSecond int64) func(*naiveErrand) {
	return func(e *naiveErrand) { e.IODemand = perSecond }
}
func draws(watts int64) func(*naiveErrand)       { return func(e *naiveErrand) { e.Power = watts } }
func tenant(t model.TenantID) func(*naiveErrand) { return func(e *naiveErrand) { e.Tenant = t } }
func fails(e *naiveErrand)                       { e.outcome = model.Failed }
func on(j model.JobID) func(*naiveErrand) {
	return func(e *naiveErrand) { e.Deps, e.Awaited = []model.Dependency{{On: j, Condition: model.AfterOK}}, true }
}
func hot(tenths int64) func(*naiveErrand) {
	return func(e *naiveErrand) { e.DataReady = model.Ratio(tenths, 10) }
}
func gpus(n int32) func(*naiveErrand)          { return func(e *naiveErrand) { e.GPUs = n } }
func sensitive(e *naiveErrand)                 { e.Sensitive = true }
func in(v model.VClusterID) func(*naiveErrand) { return func(e *naiveErrand) { e.VCluster = v } }

// planOfHeldJobs: job 2 comes when nothing waits and the interval since the first plan is over. Its tenant may not have so many nodes, but the
// plan of then is one. Job 4 is behind job 3, which is blocked, and may not start before the next plan ten seconds later.
func planOfHeldJobs() *naiveWorld {
	w := foundWorld(2, found(0, 100, 1), found(0, 3, 1), found(12, 5, 2, tenant(0)), found(13, 5, 2), found(13, 5, 1))
	w.cfg.Site.Tenants = []model.Tenant{{Name: "t", Limits: model.Limits{MaxNodes: 1}}}
	w.cfg.Quota.Tenants = w.cfg.Site.Tenants
	p := &w.cfg.Policies[0]
	p.Backfill, p.Depth, p.Window.Interval = order.Conservative, 1, 10*model.Second
	return w
}

// TestNaiveFoundThese are the smallest worlds in which the core and the naive implementation
// once differed.
func TestNaiveFoundThese(t *testing.T) {
	for _, c := range []struct {
		name  string
		world func() *naiveWorld
		want  []string
	}{
		{"the victim is before its preemptor in the queue", func() *naiveWorld {
			w := foundWorld(1, found(0, 20, 1, ofClass(2)), found(1, 5, 1, ofClass(8)))
			w.cfg.Policies[0].Preempts = true
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:01: 2 preempt job 1 on [] victim 0 PREEMPTED",
			"00:00:02: 3 assign job 1 on [0]",
			"00:00:07: 4 assign job 0 on [0]",
		}},
		{"victims are sought in the order of the beginning of the pass", func() *naiveWorld {
			// Four nodes are free at first: job 2 scores 4/5, job 3 4/6 + 0.1. When job 1 has two of
			// them it would be 2/5 against 2/6 + 0.1.
			w := foundWorld(8, found(0, 20, 4, ofClass(2), hot(0)), found(1, 20, 2, ofClass(8)), found(1, 5, 5, ofClass(8), hot(0)), found(1, 5, 6, ofClass(8), hot(1)))
			p := &w.cfg.Policies[0]
			p.Preempts, p.Ranking = true, site.ByScore
			p.Weights, _ = score.Normalise([score.NumFactors]float64{score.Conformance: 1, score.Data: 1})
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0 1 2 3]",
			"00:00:01: 2 assign job 1 on [4 5]",
			"00:00:01: 3 preempt job 2 on [] victim 0 PREEMPTED",
			"00:00:02: 4 assign job 2 on [0 1 2 3 6]",
			"00:00:07: 5 assign job 3 on [0 1 2 3 6 7]",
			"00:00:12: 6 assign job 0 on [0 1 2 3]",
		}},
		{"a job behind another like it gets other nodes than the blocked one needs", func() *naiveWorld {
			// Job 2 gets node 0 when job 0 ends. The best fit for all shares is the GPU that is free
			// there, so jobs 3 and 4 would delay it. When job 5 has it, job 6 gets one of node 1.
			w := foundWorld(2, found(0, 100, 1, gpus(3)), found(0, 1000, 1, gpus(2)), found(1, 50, 1, ofClass(9)),
				found(1, 1000, 1, gpus(1), ofClass(8)), found(1, 1000, 1, gpus(1), ofClass(7)),
				found(1, 50, 1, gpus(1), ofClass(6)), found(1, 1000, 1, gpus(1), ofClass(5)))
			w.cfg.Shared = true
			for i := range w.cfg.Site.Nodes {
				w.cfg.Site.Nodes[i].GPUs = 4
			}
			p := &w.cfg.Policies[0]
			p.Ranking, p.Backfill = site.ByScore, order.Easy
			p.Weights, _ = score.Normalise([score.NumFactors]float64{score.Priority: 1})
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0/111{0 0 0}]",
			"00:00:00: 2 assign job 1 on [1/11{0 0 0}]",
			"00:00:01: 3 assign job 5 on [0/1000{0 0 0}]",
			"00:00:01: 4 assign job 6 on [1/100{0 0 0}]",
			"00:01:40: 5 assign job 2 on [0]",
			"00:01:40: 6 assign job 3 on [1/1000{0 0 0}]",
			"00:02:30: 7 assign job 4 on [0/1{0 0 0}]",
		}},
		{"both victims refused", func() *naiveWorld {
			w := foundWorld(2, found(0, 5, 1, ofClass(2)), found(0, 5, 1, ofClass(2)), found(1, 5, 2, ofClass(8)))
			w.cfg.Policies[0].Preempts = true
			w.deny = 1<<3 | 1<<4
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:00: 2 assign job 1 on [1]",
			"00:00:01: 3 preempt job 2 on [] victim 0 PREEMPTED",
			"00:00:01: 4 preempt job 2 on [] victim 1 PREEMPTED",
			"00:00:01: 5 preempt job 2 on [] victim 0 PREEMPTED",
			"00:00:01: 6 preempt job 2 on [] victim 1 PREEMPTED",
			"00:00:02: 7 assign job 2 on [0 1]",
			"00:00:07: 8 assign job 0 on [0]",
			"00:00:07: 9 assign job 1 on [1]",
		}},
		{"a plan of jobs that are all held is one from which the interval counts", planOfHeldJobs, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:00: 2 assign job 1 on [1]",
			"00:00:22: 3 assign job 4 on [1]",
			"00:01:40: 4 assign job 3 on [0 1]",
		}},
		{"bandwidth of more nodes", func() *naiveWorld {
			w := foundWorld(4, found(0, 5, 1, growsTo(4), demands(2)))
			w.cfg.Site.Bandwidth = 5
			return w
		}, []string{"00:00:00: 1 assign job 0 on [0 1]"}},
		{"min_score is reached to the microsecond", func() *naiveWorld {
			w := foundWorld(1, found(0, 5, 1))
			p := &w.cfg.Policies[0]
			p.Ranking, p.MinScore = site.ByScore, 3*model.One
			p.Weights, _ = score.Normalise([score.NumFactors]float64{score.Wait: 1})
			return w
		}, []string{"00:03:10.85537: 1 assign job 0 on [0]"}},
		{"a vCluster lends while limits hold its jobs", func() *naiveWorld {
			w := foundWorld(2, found(0, 9, 1, in(0), tenant(0)), found(1, 5, 2, in(0), tenant(0)), found(2, 5, 1, in(1)))
			st := w.cfg.Site
			st.VClusters = []model.VCluster{{Name: "a", Lend: true, MaxLent: model.One}, {Name: "b", Borrow: true}}
			st.Nodes[0].Home, st.Nodes[1].Home = 0, 0
			st.Tenants = []model.Tenant{{Name: "t", Limits: model.Limits{MaxConcurrent: 1}}}
			w.cfg.Quota.Tenants = st.Tenants
			w.cfg.Policies = append(w.cfg.Policies, w.cfg.Policies[0])
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:02: 2 assign job 2 on [1] borrowed",
			"00:00:09: 3 assign job 1 on [0 1]",
		}},
		{"whole nodes cost the GPUs that they have", func() *naiveWorld {
			w := foundWorld(3, found(0, 1, 1, tenant(0)), found(10, 5, 1, tenant(0)), found(10, 5, 1))
			w.cfg.Site.Nodes[1].GPUs, w.cfg.Site.Nodes[2].GPUs = 4, 4
			w.cfg.Site.Tenants = []model.Tenant{{Name: "t", Limits: model.Limits{GPUBudget: 2 * model.Second}}}
			w.cfg.Quota.Tenants, w.cfg.Quota.Tick = w.cfg.Site.Tenants, 10*model.Second
			p := &w.cfg.Policies[0]
			p.Ranking = site.ByScore
			p.Weights, _ = score.Normalise([score.NumFactors]float64{score.Priority: 1})
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:10: 2 assign job 1 on [0]",
			"00:00:10: 3 assign job 2 on [1]",
		}},
		{"the GPUs of nodes that may be borrowed only count against limits", func() *naiveWorld {
			w := foundWorld(1, found(0, 5, 2, tenant(0)), found(0, 5, 1))
			st := w.cfg.Site
			st.VClusters = []model.VCluster{{Name: "a", Borrow: true}, {Name: "b", Lend: true, MaxLent: model.One}}
			st.Nodes[0].Home, st.Nodes[0].GPUs = 1, 4
			st.Tenants = []model.Tenant{{Name: "t", Limits: model.Limits{MaxGPUs: 2}}}
			w.cfg.Quota.Tenants = st.Tenants
			w.cfg.Policies = append(w.cfg.Policies, w.cfg.Policies[0])
			return w
		}, []string{"00:00:00: 1 assign job 1 on [0] borrowed"}},
		{"a refused job asks for its least size again", func() *naiveWorld {
			w := foundWorld(3, found(0, 5, 1, growsTo(3), tenant(0)), found(1, 9, 1, tenant(0)))
			w.cfg.Site.Tenants = []model.Tenant{{Name: "t", Limits: model.Limits{MaxNodes: 3}}}
			w.cfg.Quota.Tenants = w.cfg.Site.Tenants
			w.deny, w.latency = 1<<1, model.Second
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0 1 2]",
			"00:00:01: 2 assign job 0 on [0 2]",
			"00:00:01: 3 assign job 1 on [1]",
		}},
		{"a tick at which nothing can change is one all the same", func() *naiveWorld {
			w := foundWorld(2, found(0, 9, 3, tenant(0)), found(0, 5, 1), found(0, 9, 3, in(1), tenant(0)), found(3, 5, 1, in(1), tenant(0)))
			st := w.cfg.Site
			st.VClusters = []model.VCluster{{Name: "a"}, {Name: "b"}}
			st.Tenants = []model.Tenant{{Name: "t", Limits: model.Limits{MaxConcurrent: 1}}}
			w.cfg.Quota.Tenants = st.Tenants
			w.cfg.Policies = append(w.cfg.Policies, w.cfg.Policies[0])
			w.cfg.Policies[0].Cycle, w.cfg.Policies[1].Order = 3*model.Second, order.SJF
			w.end = seconds(8)
			return w
		}, []string{
			"00:00:03: 1 assign job 3 on [0]",
			"00:00:06: 2 assign job 1 on [1]",
		}},
		{"who is first changes though nothing runs", func() *naiveWorld {
			w := foundWorld(2, found(0, 100, 3), found(2, 5, 1))
			w.cfg.Policies[0].Cycle, w.cfg.Policies[0].Order = 2*model.Second, order.WFP3
			w.end = seconds(20)
			return w
		}, []string{"00:00:04: 1 assign job 1 on [0]"}},
		{"a job that starts leaves thriftier nodes to another", func() *naiveWorld {
			w := foundWorld(2, found(0, 5, 1), found(4, 9, 1, in(1), draws(50)))
			st := w.cfg.Site
			st.VClusters = []model.VCluster{{Name: "a"}, {Name: "b"}}
			st.Nodes[0].BusyPower, st.Nodes[1].BusyPower, st.PowerCap = 300, 100, 250
			w.cfg.Policies[0].Backfill = order.FirstFit
			w.cfg.Policies = append(w.cfg.Policies, w.cfg.Policies[0])
			w.cfg.Policies[0].Cycle = 3 * model.Second
			w.end = seconds(12)
			return w
		}, []string{
			"00:00:04: 1 assign job 1 on [0]",
			"00:00:06: 2 assign job 0 on [1]",
		}},
		{"a reservation keeps the power cap as long as it lasts", func() *naiveWorld {
			w := foundWorld(4, found(0, 9, 1, draws(60)), found(0, 9, 1, draws(50)), found(0, 9, 1, draws(40)), found(0, 12, 1, draws(60)))
			p := &w.cfg.Policies[0]
			p.Backfill, p.Depth = order.Conservative, 3
			w.cfg.Site.PowerCap = 100
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:00: 2 assign job 2 on [1]",
			"00:00:09: 3 assign job 1 on [0]",
			"00:00:18: 4 assign job 3 on [0]",
		}},
		{"a job that left reserves nothing", func() *naiveWorld {
			w := foundWorld(1, found(0, 9, 1), found(1, 20, 1), found(2, 5, 1))
			p := &w.cfg.Policies[0]
			p.Backfill, p.Depth = order.Conservative, 3
			w.jobs[1].cancel = seconds(4)
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:09: 2 assign job 2 on [0]",
		}},
		{"whose blocked job was withdrawn lends", func() *naiveWorld {
			w := foundWorld(1, found(0, 9, 2), found(1, 5, 1, in(1)))
			st := w.cfg.Site
			st.VClusters = []model.VCluster{{Name: "a", Lend: true, MaxLent: model.One}, {Name: "b", Borrow: true}}
			st.Nodes[0].Home = 0
			w.cfg.Policies = append(w.cfg.Policies, w.cfg.Policies[0])
			w.jobs[0].cancel = seconds(4)
			return w
		}, []string{"00:00:04: 1 assign job 1 on [0] borrowed"}},
		{"sensitive work keeps to its pool", func() *naiveWorld {
			w := foundWorld(4, found(0, 9, 1, sensitive, growsTo(4)), found(0, 5, 2, sensitive), found(0, 5, 1))
			w.cfg.Site.SensitivePool = 2
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0 2]",
			"00:00:00: 2 assign job 2 on [1]",
			"00:00:09: 3 assign job 1 on [0 1]",
		}},
		{"a chain is cancelled to its end", func() *naiveWorld {
			return foundWorld(1, found(0, 5, 1, fails), found(0, 5, 1, on(0)), found(0, 5, 1, on(1)), found(0, 5, 1, on(2)))
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:05: 2 cancel job 1 on [] DEPENDENCY_NEVER",
			"00:00:05: 3 cancel job 2 on [] DEPENDENCY_NEVER",
			"00:00:05: 4 cancel job 3 on [] DEPENDENCY_NEVER",
		}},
		{"as coded no service grows later", func() *naiveWorld {
			w := foundWorld(5, found(0, 5, 1, growsTo(2)), found(0, 5, 1, draws(50)))
			for i, watts := range []int64{300, 300, 100, 100, 100} {
				w.cfg.Site.Nodes[i].BusyPower, w.cfg.Site.Nodes[i].Fingerprint = watts, int32(i/3)
			}
			w.cfg.Site.Fingerprints, w.cfg.Site.PowerCap = 2, 450
			p := &w.cfg.Policies[0]
			p.AsCoded, p.Ranking, p.Order = true, site.ByScore, 0
			p.Weights, _ = score.Raw([score.NumFactors]float64{score.Wait: 1})
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:00: 2 assign job 1 on [1]",
		}},
		{"who started between two plans reserves nothing", func() *naiveWorld {
			w := foundWorld(2, found(0, 20, 1), found(0, 12, 1), found(0, 30, 1), found(4, 5, 1))
			w.jobs[0].runtime, w.jobs[1].runtime = 3*model.Second, 10*model.Second
			p := &w.cfg.Policies[0]
			p.Backfill, p.Depth, p.Window.Interval = order.Conservative, 3, 10*model.Second
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:00: 2 assign job 1 on [1]",
			"00:00:03: 3 assign job 2 on [0]",
			"00:00:10: 4 assign job 3 on [1]",
		}},
		{"all ends are on the grid of the plan", func() *naiveWorld {
			w := foundWorld(2, found(0, 5, 1), found(0, 5, 2), found(0, 8, 1))
			p := &w.cfg.Policies[0]
			p.Backfill, p.Depth, p.Window.Resolution = order.Conservative, 2, 10*model.Second
			return w
		}, []string{
			"00:00:00: 1 assign job 0 on [0]",
			"00:00:00: 2 assign job 2 on [1]",
			"00:00:08: 3 assign job 1 on [0 1]",
		}},
		{"the ticks that plan hang on their number", func() *naiveWorld {
			w := foundWorld(2, found(1, 20, 1), found(1, 20, 2), found(5, 2, 1))
			p := &w.cfg.Policies[0]
			p.Cycle, p.Backfill, p.Depth, p.Window.Interval = 2*model.Second, order.Conservative, 1, 3*model.Second
			return w
		}, []string{
			"00:00:02: 1 assign job 0 on [0]",
			"00:00:08: 2 assign job 2 on [1]",
			"00:00:22: 3 assign job 1 on [0 1]",
		}},
		{"a cycle sleeps after a day, whatever would come first then", func() *naiveWorld {
			w := foundWorld(2, found(0, 5, 3, ofClass(5)), found(4*3600, 5, 1, ofClass(6)))
			p := &w.cfg.Policies[0]
			p.Ranking, p.Reference, p.Cycle, w.end = site.ByScore, model.Hour, model.Hour, seconds(100*3600)
			w.cfg.Quota.Tick = 1000 * model.Hour
			p.Weights, _ = score.Normalise([score.NumFactors]float64{score.Priority: 1, score.Wait: 1})
			return w
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := c.world()
			for i := range w.jobs {
				w.jobs[i].Awaited = true
			}
			require.NoError(t, w.cfg.Validate())
			require.Equal(t, c.want, w.proposals(site.New(w.cfg)))
			if !w.cfg.Policies[0].AsCoded {
				require.Equal(t, c.want, w.proposals(w.naive()))
				return
			}
			require.Equal(t, c.want, w.proposals(newNaiveCoded(w.cfg)))
		})
	}
}
