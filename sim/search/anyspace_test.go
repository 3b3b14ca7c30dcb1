package search

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model/draw"
)

// TestAnySearch: whatever the space, the method, the batch, the number of
// objectives and constraints and the results, which may fail, be equal, huge or
// infinite: all trials are points of the space, results in any order give
// the same search, and the best are feasible and not dominated.
func TestAnySearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Config{
			Space:  anySpace(t),
			Method: rapid.SampledFrom(Methods()).Draw(t, "method"),
			Trials: rapid.IntRange(1, 40).Draw(t, "trials"),
			Batch:  rapid.IntRange(0, 9).Draw(t, "batch"),
			Seed:   rapid.Uint64().Draw(t, "seed"),
			Goal:   Goal{Objectives: []Objective{{"a", Minimise}}},
		}
		if c.Method != "cmaes" && rapid.Bool().Draw(t, "two objectives") {
			c.Goal.Objectives = append(c.Goal.Objectives, Objective{"b", Maximise})
		}
		if rapid.Bool().Draw(t, "constraint") {
			c.Goal.Constraints = []Constraint{{"c", AtMost, 0.5}}
		}
		start, err := Sample(c.Space, "random", rapid.IntRange(0, 3).Draw(t, "start"), 1)
		require.NoError(t, err)
		c.Start = start
		size := rapid.SampledFrom([]float64{1, 0, 1e-200, 1e200, math.MaxFloat64}).Draw(t, "size")
		first := finished(t, c, size, 0)
		require.Equal(t, first.Results(), finished(t, c, size, 1).Results())
		for _, best := range first.Best() {
			score, err := c.Goal.Score(best)
			require.NoError(t, err)
			require.True(t, score.Feasible())
			for _, r := range first.Results() {
				other, err := c.Goal.Score(r)
				require.NoError(t, err)
				require.False(t, dominates(&other, &score))
			}
		}
	})
}

// finished runs a search whose metrics are hashes of the values; order decides
// which result of those that are out comes next.
func finished(t *rapid.T, c Config, size float64, order uint64) *Search {
	s, err := New(c)
	require.NoError(t, err)
	var out []Trial
	d := draw.New(order, draw.StreamOf("order"), 0, 0)
	for !s.Done() {
		out = append(out, s.Ask(1+int(d.IntN(5)))...)
		require.NotEmpty(t, out)
		i := int(d.IntN(int64(len(out))))
		trial := out[i]
		out = append(out[:i], out[i+1:]...)
		require.NoError(t, c.Space.Check(trial.Values))
		key := uint64(0)
		for _, v := range trial.Values {
			key = draw.At(key, 0, math.Float64bits(v), 0, 0)
		}
		source := draw.New(key, 0, 0, 0)
		r := Result{ID: trial.ID, Values: trial.Values, Metrics: map[string]float64{
			"a": size * source.Uniform(-1, 1), "b": size * source.Uniform(-1, 1), "c": source.Float64(),
		}}
		switch source.IntN(10) {
		case 0:
			r.Metrics["a"] = math.Inf(1)
		case 1:
			r = Result{ID: trial.ID, Failed: true}
		}
		require.NoError(t, s.Tell([]Result{r}))
	}
	return s
}
