package naive_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/score"
	"orrery/scheduler/site"
)

// TestJobsBehind holds both implementations together where many jobs that ask for the same, of
// nodes that are shared, wait behind a blocked one, so that each start changes which nodes the next
// gets, and with them whether it delays the blocked job.
func TestJobsBehind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
		size := n("machine", 2, 4)
		var jobs []naiveErrand
		for range size { // nodes of which some is free until different instants
			jobs = append(jobs, found(0, int64(10*n("walltime", 1, 20)), 1, gpus(int32(n("held", 1, 3)))))
		}
		for range n("behind", 4, 24) {
			walltime := rapid.SampledFrom([]int64{5, 1000}).Draw(t, "walltime")
			jobs = append(jobs, found(1, walltime, 1, tenant(model.TenantID(n("tenant", -1, 1))), ofClass(int32(n("class", 1, 9))), gpus(int32(rapid.SampledFrom([]int{1, 1, 2}).Draw(t, "gpus")))))
		}
		jobs = append(jobs, found(1, 50, int32(n("blocked", 1, 2)), ofClass(10)))
		w := foundWorld(size, jobs...)
		w.cfg.Shared = true
		w.cfg.Site.Tenants = []model.Tenant{{Name: "t", Limits: model.Limits{MaxNodes: int32(n("nodes of t", 0, 3))}}, {Name: "u"}}
		w.cfg.Quota.Tenants = w.cfg.Site.Tenants
		for i := range w.cfg.Site.Nodes {
			w.cfg.Site.Nodes[i].GPUs = 4
		}
		p := &w.cfg.Policies[0]
		p.Ranking, p.Backfill = site.ByScore, order.Easy
		p.Weights, _ = score.Normalise([score.NumFactors]float64{score.Priority: 1, score.Conformance: float64(n("conformance", 0, 1))})
		want := w.proposals(w.naive())
		require.Equal(t, want, w.proposals(site.New(w.cfg)))
	})
}
