package naive_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
	"orrery/scheduler/score"
	"orrery/scheduler/site"
)

// drawCoded draws a world for the as-coded mode with raw weights.
func drawCoded(t *rapid.T, with naiveFeature) *naiveWorld {
	w := drawNaive(t, with&^withVClusters)
	w.cfg.Quota.UserSessions, w.cfg.RejectOverLimit = 0, false // Lattice's sources have neither
	p := &w.cfg.Policies[0]
	*p = site.Policy{AsCoded: true, Ranking: site.ByScore, Reference: p.Reference, Cycle: p.Cycle, Phase: p.Phase}
	var raw [score.NumFactors]float64
	for f := range raw {
		raw[f] = float64(rapid.IntRange(0, 20).Draw(t, "weight")) / 10
	}
	raw[rapid.IntRange(0, 8).Draw(t, "some")] += .1
	var err error
	p.Weights, err = score.Raw(raw)
	require.NoError(t, err)
	w.cfg.Site.Sheds = false // which is beside what a coded pass does
	for i := range w.cfg.Site.Nodes {
		w.cfg.Site.Nodes[i].GPUs = int32(rapid.IntRange(0, 4).Draw(t, "GPUs"))
	}
	for i := range w.jobs {
		j := &w.jobs[i]
		if j.Walltime < 1000*model.Second && rapid.IntRange(0, 3).Draw(t, "long") == 0 {
			j.Walltime += model.Duration(rapid.SampledFrom([]int{1, 2, 23, 24, 30}).Draw(t, "hours")) * model.Hour
		}
		if j.NodesMin == j.NodesMax && rapid.IntRange(0, 4).Draw(t, "endless") == 0 {
			j.Kind = rapid.SampledFrom([]model.Kind{model.Service, model.Reactive, model.Session}).Draw(t, "kind")
			if j.Kind != model.Session {
				j.Walltime = model.Forever
			}
		}
	}
	return w
}

// The as-coded mode proposes what its naive implementation proposes.
func TestCodedAgainstNaive(t *testing.T) {
	for _, c := range []struct {
		name string
		with naiveFeature
	}{
		{"plain", 0},
		{"groups", withGroups},
		{"sensitive", withGroups | withSensitive},
		{"ranges", withGroups | withRanges},
		{"limits", withLimits | withRanges},
		{"caps", withGroups | withRanges | withCaps},
		{"node states", withGroups | withNodeStates},
		{"cycles", withGroups | withCycles},
		{"services", withGroups | withServices | withCycles | withLimits},
		{"conflicts", withLimits | withRanges | withConflicts | withCancels},
		{"all", withGroups | withSensitive | withRanges | withLimits | withCaps | withNodeStates | withCycles | withConflicts | withCancels | withConstraints | withRankings | withServices},
	} {
		t.Run(c.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := drawCoded(t, c.with)
				require.NoError(t, w.cfg.Validate())
				require.Empty(t, w.run(site.New(w.cfg), newNaiveCoded(w.cfg)))
			})
		})
	}
}
