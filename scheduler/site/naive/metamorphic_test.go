package naive_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
	"orrery/scheduler/order"
	"orrery/scheduler/score"
	"orrery/scheduler/site"
)

// withinBudget takes all budgets out of a world, so that no penalty bends a score.
func withinBudget(w *naiveWorld) {
	for i := range w.cfg.Site.Tenants {
		w.cfg.Site.Tenants[i].NodeBudget, w.cfg.Site.Tenants[i].GPUBudget = 1000*model.Day, 0
	}
	for i := range w.changes {
		if l := w.changes[i].fact.Limits; l != nil {
			l.NodeBudget = 0
		}
	}
}

// Backlog and energy are equal for all jobs of a pass: whatever they weigh, no
// decision changes while no tenant is beyond 80 % of its budget and no job is
// held by min_score, in either mode.
func TestBacklogAndEnergyWeighNothing(t *testing.T) {
	const with = withGroups | withRanges | withSensitive | withLimits | withNodeStates | withCycles | withRankings | withPrices | withEasy | withServices
	for name, draw := range map[string]func(*rapid.T) *naiveWorld{
		"documented": func(t *rapid.T) *naiveWorld { return drawNaive(t, with|withVClusters|withConflicts) },
		"as-coded":   func(t *rapid.T) *naiveWorld { return drawCoded(t, with) },
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := draw(t)
				withinBudget(w)
				for i := range w.cfg.Policies {
					w.cfg.Policies[i].Expected = false // else each job has a price of its own
				}
				swept := w.cfg
				swept.Policies = append([]site.Policy(nil), w.cfg.Policies...)
				for i := range swept.Policies {
					for _, f := range []score.Factor{score.Backlog, score.Energy} {
						swept.Policies[i].Weights[f] = model.Ratio(int64(rapid.IntRange(0, 20).Draw(t, "sweep")), 10)
					}
				}
				require.Empty(t, w.run(site.New(w.cfg), site.New(swept)))
			})
		})
	}
}

// Weights of a profile are shares: a vector and any multiple of it are the same
// policy, and so make the same schedule.
func TestScaleOfWeightsIsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawNaive(t, withGroups|withLimits|withRankings|withEasy|withCycles)
		scaled := w.cfg
		scaled.Policies = append([]site.Policy(nil), w.cfg.Policies...)
		p := &w.cfg.Policies[0]
		*p = site.Policy{Ranking: site.ByScore, Reference: p.Reference, Backfill: order.Easy, Cycle: p.Cycle, Phase: p.Phase}
		scaled.Policies[0] = *p
		var raw, more [score.NumFactors]float64
		by := float64(rapid.IntRange(1, 1000).Draw(t, "by"))
		for f := range raw {
			raw[f] = float64(rapid.IntRange(0, 100).Draw(t, "weight"))
			more[f] = raw[f] * by
		}
		raw[0]++
		more[0] += by
		var err error
		p.Weights, err = score.Normalise(raw)
		require.NoError(t, err)
		scaled.Policies[0].Weights, err = score.Normalise(more)
		require.NoError(t, err)
		require.Equal(t, p.Weights, scaled.Policies[0].Weights)
		require.Empty(t, w.run(site.New(w.cfg), site.New(scaled)))
	})
}

// The second look of the as-coded mode finds no job of an exact size, but for
// spread: what found no nodes among more of them finds none among fewer. (Sensitive
// work is kept off nodes of unknown fingerprint, so here all are known.)
func TestCodedBackfillNeverFires(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawCoded(t, withGroups|withSensitive|withLimits|withNodeStates|withCycles|withConstraints|withRankings)
		for i := range w.jobs {
			if w.jobs[i].Topology == model.Spread {
				w.jobs[i].Topology = model.Tight
			}
		}
		w.cfg.Site.Fingerprints = max(1, w.cfg.Site.Fingerprints)
		for i := range w.cfg.Site.Nodes {
			w.cfg.Site.Nodes[i].Fingerprint = max(0, w.cfg.Site.Nodes[i].Fingerprint)
		}
		naive := newNaiveCoded(w.cfg)
		require.Empty(t, w.run(site.New(w.cfg), naive))
		require.Zero(t, naive.second)
	})
}
