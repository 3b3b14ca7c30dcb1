package site_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/drive"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/plain"
	"orrery/scheduler/quota"
	"orrery/scheduler/site"
)

// errand is a job of the tests: everything in seconds, runtime at most walltime.
type errand struct {
	submit, runtime, walltime int64
	nodes                     int32
}

// bench drives a core with jobs that always get what is proposed, and writes
// down who started when on which nodes.
type bench struct {
	drive.Unrecorded
	loop   drive.Loop
	jobs   []errand
	ends   []end
	starts []string
}

type end struct {
	at  model.Time
	ref model.Ref
}

func (b *bench) Submit(now model.Time, proposals []model.Proposal, dst []model.Fact) []model.Fact {
	for i := range proposals {
		p := &proposals[i]
		b.starts = append(b.starts, fmt.Sprintf("%d: job %d on %v", now, p.Job, p.Placement.Words))
		dst = append(dst, model.Fact{Kind: model.FactAssigned, Job: p.Job, Ref: p.Ref, Seq: p.Seq, Placement: &p.Placement})
	}
	return dst
}

func (b *bench) Start(now model.Time, ref model.Ref) {
	b.ends = append(b.ends, end{now.Add(model.Duration(b.jobs[ref].runtime) * model.Second), ref})
}

// run replays the jobs, which are in order of submission; ref and id are the
// index. A pass follows the facts of each instant.
func (b *bench) run(core drive.Scheduler) []string {
	b.loop = drive.Loop{Core: core, Quorum: b, Agents: b, Record: b}
	for next := 0; next < len(b.jobs) || len(b.ends) > 0 || b.loop.Due() != model.Never; {
		at := b.loop.Due()
		if next < len(b.jobs) {
			at = min(at, seconds(b.jobs[next].submit))
		}
		for _, e := range b.ends {
			at = min(at, e.at)
		}
		if at == model.Never {
			break
		}
		var facts []model.Fact
		slices.SortFunc(b.ends, func(a, b end) int { return int(a.ref - b.ref) })
		b.ends = slices.DeleteFunc(b.ends, func(e end) bool {
			if e.at == at {
				facts = append(facts, model.Fact{Kind: model.FactEnded, Job: model.JobID(e.ref), Ref: e.ref, Outcome: model.Completed})
			}
			return e.at == at
		})
		for ; next < len(b.jobs) && seconds(b.jobs[next].submit) == at; next++ {
			facts = append(facts, b.jobs[next].fact(next))
		}
		b.loop.Step(at, facts)
	}
	return b.starts
}

func seconds(s int64) model.Time { return model.Time(s * int64(model.Second)) }

func (e errand) fact(i int) model.Fact {
	a := &model.Allocation{
		Job: model.JobID(i), ID: int64(i), Submit: seconds(e.submit), Eligible: seconds(e.submit), Walltime: model.Duration(e.walltime) * model.Second,
		NodesMin: e.nodes, NodesMax: e.nodes, Tenant: -1, QOS: -1, Partition: -1, Reservation: -1, TaskGroup: -1, DAG: -1, User: -1, DataReady: -1, Class: 5,
	}
	return model.Fact{
		Kind: model.FactSubmitted, Job: a.Job, Ref: model.Ref(i), Submit: a.Submit, Walltime: a.Walltime, Alloc: a,
		Request: model.Request{Units: e.nodes},
	}
}

// alike is a site of n nodes that do not differ, with one vCluster.
func alike(n int, p site.Policy) site.Config {
	st := &model.Site{
		Groups: []model.Group{{Name: "g"}}, Fingerprints: 1,
		Constraints: []model.Constraint{{GPUType: -1}}, VClusters: []model.VCluster{{Name: "all"}},
	}
	for i := range n {
		st.Nodes = append(st.Nodes, model.Node{Name: fmt.Sprint("n", i), Home: -1, GPUType: -1, Topology: -1})
	}
	return site.Config{Site: st, Policies: []site.Policy{p}, Quota: quota.Config{Nodes: int32(n), GPUs: int64(n)}}
}

func drawErrands(t *rapid.T, nodes int) []errand {
	jobs := make([]errand, rapid.IntRange(1, 40).Draw(t, "jobs"))
	at := int64(0)
	for i := range jobs {
		at += int64(rapid.IntRange(0, 5).Draw(t, "gap"))
		run := int64(rapid.IntRange(0, 12).Draw(t, "runtime"))
		jobs[i] = errand{at, run, run + int64(rapid.IntRange(0, 6).Draw(t, "over")), int32(rapid.IntRange(1, nodes).Draw(t, "nodes"))}
		jobs[i].walltime = max(1, jobs[i].walltime)
	}
	return jobs
}

// A site whose nodes are all alike is the machine of equal processors that Core
// counts: both make the same schedule, to the node.
func TestSiteOfAlikeNodesIsCore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 12).Draw(t, "cluster")
		jobs := drawErrands(t, nodes)
		by := order.Order(rapid.IntRange(0, len(order.Names())-1).Draw(t, "order"))
		fill := order.Backfill(rapid.IntRange(0, int(order.Easy)).Draw(t, "backfill"))
		counted := plain.New(plain.Config{Cluster: model.UniformCluster(int32(nodes), 1, true), Order: by, Backfill: fill})
		placed := site.New(alike(nodes, site.Policy{Ranking: site.ByOrder, Order: by, Backfill: fill}))
		want := (&bench{jobs: jobs}).run(counted)
		got := (&bench{jobs: jobs}).run(placed)
		require.Equal(t, want, got)
	})
}
