package site_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/model/draw"
	"orrery/scheduler/order"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
	"orrery/scheduler/site"
	"orrery/scheduler/site/sitetest"
)

// queuedSite is a site of 1024 nodes with groups, fingerprints, tenants and all
// nine factors. All nodes but idle are held by two jobs that leave in a day and in
// two. So many jobs wait, of 100 nodes and more, behind one that takes the site.
func queuedSite(b *testing.B, waiting int, idle int32) *sitetest.EveryTick {
	const nodes = 1024
	st := &model.Site{Constraints: []model.Constraint{{GPUType: -1}}, VClusters: []model.VCluster{{Name: "all"}}, Fingerprints: 3}
	for i := range nodes {
		if i%64 == 0 {
			st.Groups = append(st.Groups, model.Group{Name: fmt.Sprint("g", i/64)})
		}
		st.Nodes = append(st.Nodes, model.Node{
			Name: fmt.Sprint("n", i), Group: int32(i / 64), Fingerprint: int32(i / 32 % 3), Home: -1, GPUType: -1, Topology: -1, BusyPower: 300,
		})
	}
	first := model.NewNodeSet(nodes)
	for n := range nodes {
		first.Add(model.NodeID(n))
	}
	st.Partitions = []model.Partition{{Name: "first", Nodes: first, Tier: 1, Up: true}}
	const tenants = 50
	for i := range tenants {
		st.Tenants = append(st.Tenants, model.Tenant{Name: fmt.Sprint("t", i), Limits: model.Limits{
			FairShare: model.Ratio(int64(i+1), tenants*tenants), NodeBudget: nodes * 90 * model.Day / tenants,
		}})
	}
	p := site.Policy{Ranking: site.ByScore, Reference: model.Hour, Backfill: order.Easy, Cycle: 30 * model.Second}
	var err error
	p.Weights, err = score.Normalise([score.NumFactors]float64{3, 4, 5, 2, 1, 2, 1, 1, 2})
	require.NoError(b, err)
	cfg := site.Config{
		Site: st, Policies: []site.Policy{p},
		Quota: quota.Config{Tenants: st.Tenants, Partitions: st.Partitions, Nodes: nodes, GPUs: nodes}, Price: model.One / 3, CheckpointBandwidth: 1 << 30,
	}
	require.NoError(b, cfg.Validate())
	s := sitetest.NewEveryTick(cfg)
	ref := model.Ref(0)
	submit := func(now model.Time, n int32, wall model.Duration, in model.PartitionID) {
		i := int(ref)
		a := &model.Allocation{
			Job: model.JobID(i), ID: int64(i), Submit: now, Eligible: now, Walltime: wall, NodesMin: n, NodesMax: n,
			Tenant: model.TenantID(trait(i, "tenant", tenants)), QOS: -1, Partition: in, Reservation: -1, TaskGroup: -1, DAG: -1, User: -1,
			DataReady: model.One / 2, Class: int32(trait(i, "class", 10)), Checkpoint: model.Checkpoint(trait(i, "checkpoint", 3)),
		}
		s.Observe(now, []model.Fact{{
			Kind: model.FactSubmitted, Job: a.Job, Ref: ref, Submit: now, Walltime: wall, Alloc: a,
			Request: model.Request{Layout: model.PerNode, Nodes: n, PerNode: 1, Units: n},
		}})
		ref++
	}
	submit(0, (nodes-idle)/2, model.Day, -1)
	submit(0, nodes-idle-(nodes-idle)/2, 2*model.Day, -1)
	for _, p := range s.Plan(0).Proposals {
		s.Observe(0, []model.Fact{{Kind: model.FactAssigned, Job: p.Job, Ref: p.Ref, Seq: p.Seq}})
	}
	submit(0, nodes, model.Hour, 0)
	for i := range waiting - 1 {
		at := model.Time(i) * 6 * model.Time(model.Hour) / model.Time(waiting)
		submit(at, 100+int32(trait(i, "nodes", 400)), 3*model.Day, -1)
	}
	return s
}

// trait is a number below n that hangs on the job and on what it is for.
func trait(job int, what string, n uint64) int {
	return int(draw.At(1, draw.StreamOf(what), uint64(job), 0, 0) % n)
}

// BenchmarkSitePass makes one pass over a queue, by its length, at every cycle:
// when a quarter of the jobs would fit but are held by the reservation of the best,
// when some nodes are idle and no job fits, and when none is idle. cpu-ns is the CPU
// time of a pass, which a busy machine lengthens less. Where the core knows that
// nothing can change there is no pass at all.
//
//	go test -run - -bench SitePass -benchtime 300x ./scheduler/site
func BenchmarkSitePass(b *testing.B) {
	for _, c := range []struct {
		name string
		idle int32
	}{{"feasible", 200}, {"nothing-fits", 20}, {"full", 0}} {
		for _, waiting := range []int{100, 1_000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/queue=%d", c.name, waiting), func(b *testing.B) {
				s := queuedSite(b, waiting, c.idle)
				now := model.Time(6 * model.Hour)
				pass := func() {
					now += model.Time(model.Second) * 30
					if n := len(s.Plan(now).Proposals); n > 0 {
						b.Fatal("started ", n)
					}
				}
				pass()
				b.ReportAllocs()
				b.ResetTimer()
				begun := cpuTime()
				for range b.N {
					pass()
				}
				b.ReportMetric(float64(cpuTime()-begun)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // only a wrong argument makes it fail
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
