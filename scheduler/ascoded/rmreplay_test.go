package ascoded_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/ascoded"
	"orrery/scheduler/model"
	"orrery/scheduler/score"
)

// Six jobs of five tenants and two more, an hour after the last came: those of the
// example trace of rm-replay. The site has 4 groups of 8 nodes.
var examples = []struct {
	name         string
	waited       model.Duration
	nodes, class int32
	checkpoint   model.Checkpoint
	ready        float64
	share, usage float64
}{
	{"inference", 3700 * model.Second, 4, 7, model.CheckpointNone, 1.0, .15, .05},
	{"preprocess", 4000 * model.Second, 2, 5, model.CheckpointNone, .9, .3, .1},
	{"training", 3900 * model.Second, 16, 8, model.CheckpointAuto, .7, .3, .1},
	{"benchmark", 3600 * model.Second, 32, 1, model.CheckpointNone, .8, .1, 0},
	{"simulation", 3800 * model.Second, 8, 3, model.CheckpointAuto, .5, .25, .4},
	{"pipeline", 3950 * model.Second, 1, 2, model.CheckpointManual, .3, .2, .35},
}

// valuesOf are the factors in rm-replay: no memory localities, no fingerprints,
// utilisation one half, twice as much running as queued.
func valuesOf(i int, price float64) score.Values {
	j := examples[i]
	return score.Values{
		score.Priority:    score.PriorityOf(j.class),
		score.Wait:        ascoded.WaitOf(j.waited, score.CurveOf(model.Hour)),
		score.FairShare:   score.FairShareOf(model.FixedOf(j.share), 0, model.FixedOf(j.usage), model.FixedOf(.5)),
		score.Topology:    ascoded.TopologyOf(j.nodes, 4, -1, false),
		score.Data:        score.DataOf(model.FixedOf(j.ready)),
		score.Backlog:     ascoded.BacklogOf(63, 126),
		score.Energy:      score.EnergyOf(model.FixedOf(price)),
		score.Checkpoint:  ascoded.CheckpointOf(j.checkpoint),
		score.Conformance: ascoded.ConformanceOf(-1, j.nodes),
	}
}

func TestScoresOfRMReplay(t *testing.T) {
	for i, row := range [...][score.NumFactors]float64{
		{.7, .706941, .666667, .675, 1, .5, .5, 0, .5},
		{.5, .747214, .666667, .675, .9, .5, .5, 0, .5},
		{.8, .733969, .666667, .15, .7, .5, .5, .166667, .5},
		{.1, .693147, 1, .15, .8, .5, .5, 0, .5},
		{.3, .720546, 0, .5, .5, .5, .5, .166667, .5},
		{.2, .740614, 0, .575, .3, .5, .5, .090909, .5},
	} {
		v := valuesOf(i, .5)
		for f, x := range row {
			closeTo(t, x, v[f], "%s: %s", examples[i].name, score.Factor(f))
		}
	}
	for _, c := range []struct {
		name    string
		weights [score.NumFactors]float64
		price   float64
		want    []float64 // inference, preprocess, training, benchmark, simulation, pipeline
	}{
		{"baseline", [...]float64{1.0, .8, .7, .6, .5, .4, .3, .5, .4}, .5, []float64{3.187219, 2.969438, 2.927175, 2.394518, 2.059770, 1.882946}},
		{"fairness", [...]float64{.5, 1.5, 2.0, .6, .5, .4, .1, .5, .4}, .5, []float64{4.098744, 4.009155, 3.807620, 4.029721, 2.314153, 2.201375}},
		{"energy", [...]float64{.8, .5, .7, .6, .5, .3, 2.0, .8, .4}, .9, []float64{2.835137, 2.645274, 2.596985, 2.166574, 1.833606, 1.648034}},
		{"default", [...]float64{.20, .20, .20, .15, .10, .05, 0, 0, .10}, .5, []float64{.690971, .649026, .607627, .536129, .404109, .379373}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := score.Raw(c.weights)
			require.NoError(t, err)
			for i, x := range c.want { // without penalty
				v := valuesOf(i, c.price)
				closeTo(t, x, score.Score(&w, &v, model.One), examples[i].name)
			}
		})
	}
}
