package search

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
)

// distance is how far the best of a search is from a planted point, the root
// mean square over unit coordinates.
func distance(t *testing.T, s *Search, planted []float64) float64 {
	best, err := s.config.Space.ToUnit(s.Best()[0].Values)
	require.NoError(t, err)
	at, err := s.config.Space.ToUnit(planted)
	require.NoError(t, err)
	return floats.Distance(best, at, 2) / math.Sqrt(float64(len(at)))
}

// TestPlantedOptimum: a point of eight weights and two numbers is found again,
// one inside the simplex and one on its edge, where weights are 0.
func TestPlantedOptimum(t *testing.T) {
	inside := []float64{0.2, 0.05, 0.1, 0.3, 0.05, 0.1, 0.15, 0.05, 100, 86400}
	edge := []float64{0.6, 0.3, 0, 0, 0, 0.1, 0, 0, 7, 10 * 86400}
	for _, c := range []struct {
		method  string
		trials  int
		planted []float64
		within  float64
	}{
		{"cmaes", 1000, inside, 0.02},
		{"cmaes", 1000, edge, 0.05},
		{"bayes", 80, inside, 0.05},
		{"bayes", 80, edge, 0.1},
		{"nsga2", 1600, inside, 0.05},
		{"nsga2", 1600, edge, 0.05},
	} {
		f := bowl(nine, c.planted)
		s := drive(t, Config{Space: nine, Goal: least, Method: c.method, Trials: c.trials, Seed: 1}, f)
		random := drive(t, Config{Space: nine, Goal: least, Method: "random", Trials: c.trials, Seed: 1}, f)
		found, byRandom := distance(t, s, c.planted), distance(t, random, c.planted)
		t.Logf("%s: off by %.4f, random search by %.4f; %.3v", c.method, found, byRandom, s.Best()[0].Values)
		require.Less(t, found, c.within, c.method)
	}
}

// TestPlantedWeights: the cost is the distance of the weights themselves, as
// it would be of a metric that is linear in them, and one of them is 0.
func TestPlantedWeights(t *testing.T) {
	space := Space{{Name: "w", Kind: Simplex, Parts: []string{"a", "b", "c", "d", "e"}}}
	planted := []float64{0.5, 0.25, 0.15, 0.1, 0}
	for method, trials := range map[string]int{"cmaes": 600, "bayes": 80, "nsga2": 1200} {
		s := drive(t, Config{Space: space, Goal: least, Method: method, Trials: trials, Seed: 3}, func(v []float64) map[string]float64 {
			return map[string]float64{"f": floats.Distance(v, planted, 2)}
		})
		best := s.Best()[0]
		t.Logf("%s: %.4f", method, best.Values)
		require.Less(t, best.Metrics["f"], 0.03, "%s: %v", method, best.Values)
	}
}

// TestPlantedMixed: whole numbers and choices are found exactly.
func TestPlantedMixed(t *testing.T) {
	for method, trials := range map[string]int{"cmaes": 500, "bayes": 80, "nsga2": 1200} {
		s := drive(t, Config{Space: mixed, Goal: least, Method: method, Trials: trials, Seed: 2}, plantedCost)
		best := s.Best()[0]
		t.Logf("%s: %.3f", method, best.Values)
		require.Equal(t, planted[3], best.Values[3], method)
		require.Equal(t, planted[5], best.Values[5], method)
		require.Less(t, best.Metrics["f"], 0.01, method)
	}
}

// TestPlantedConstraint: the optimum lies on the bound of a constraint: the
// least x + y with x y >= 1 is 2, at (1, 1).
func TestPlantedConstraint(t *testing.T) {
	space := Space{{Name: "x", Kind: Real, Low: 0, High: 4}, {Name: "y", Kind: Real, Low: 0, High: 4}}
	goal := Goal{Objectives: []Objective{{"sum", Minimise}}, Constraints: []Constraint{{"product", AtLeast, 1}}}
	for method, trials := range map[string]int{"cmaes": 400, "bayes": 60, "nsga2": 1200} {
		s := drive(t, Config{Space: space, Goal: goal, Method: method, Trials: trials}, func(v []float64) map[string]float64 {
			return map[string]float64{"sum": v[0] + v[1], "product": v[0] * v[1]}
		})
		best := s.Best()[0]
		t.Logf("%s: %.4v", method, best)
		require.GreaterOrEqual(t, best.Metrics["product"], 1.0)
		require.InDelta(t, 2, best.Metrics["sum"], 0.05, method)
	}
}
