package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/preempt"
	"orrery/scheduler/quota"
	"orrery/scheduler/score"
	"orrery/scheduler/site"
)

// Where a core decides otherwise when it explains, the run ends with an error that says where, after the answers
// to what only one of them proposed.
func TestExplainedDiffers(t *testing.T) {
	weights, err := score.Normalise([score.NumFactors]float64{score.Priority: 1})
	require.NoError(t, err)
	core := func(mostNodes int32) *site.Core {
		st := &model.Site{Constraints: []model.Constraint{{GPUType: -1}}, Fingerprints: 1, Groups: []model.Group{{Name: "g"}}, VClusters: []model.VCluster{{Name: "v"}}}
		for range 2 {
			st.Nodes = append(st.Nodes, model.Node{Name: "n", Home: -1, GPUType: -1, Topology: -1, Memory: 10, GPUs: 4})
		}
		st.Tenants = []model.Tenant{{Name: "t", Limits: model.Limits{MaxNodes: mostNodes}}}
		return site.New(site.Config{
			Site:     st,
			Quota:    quota.Config{Tenants: st.Tenants, Nodes: 2, GPUs: 8, Tick: 10 * model.Second, Window: 40 * model.Second},
			Policies: []site.Policy{{Ranking: site.ByScore, Weights: weights, Reference: 10 * model.Second, Backfill: order.Easy, Preemption: preempt.DefaultConfig()}},
		})
	}
	e := &explained{Core: core(0), beside: core(1)}
	var submitted []model.Fact
	for job := range 2 {
		submitted = append(submitted, model.Fact{
			Kind: model.FactSubmitted, Job: model.JobID(job), Ref: model.Ref(job), Walltime: 100 * model.Second, Request: model.Request{Units: 1},
			Alloc: &model.Allocation{
				Job: model.JobID(job), ID: int64(job), QOS: -1, Partition: -1, Reservation: -1, TaskGroup: -1, DAG: -1, User: -1, DataReady: -1,
				Class: 5, NodesMin: 1, NodesMax: 1, Walltime: 100 * model.Second,
			},
		})
	}
	e.Observe(0, submitted)
	proposals := e.Plan(0).Proposals
	require.Len(t, proposals, 2)
	require.EqualError(t, e.err, "at 00:00:00: proposal 2 of the scheduler is (assign, job 2 by submission, nodes: 1); when asked to explain it is none, or on other nodes: "+
		"this is a defect of orrery; without decisions the run goes on")
	var answers []model.Fact
	for i := range proposals {
		p := &proposals[i]
		answers = append(answers, model.Fact{Kind: model.FactAssigned, Job: p.Job, Ref: p.Ref, Seq: p.Seq, Placement: &p.Placement})
	}
	e.Observe(0, answers)
	e.Plan(0)
	e.Observe(5, []model.Fact{{Kind: model.FactEnded, Job: 1, Ref: 1, Outcome: model.Completed}})
	require.Error(t, e.err)
}
