package search

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/optimize/functions"
	"gonum.org/v1/gonum/stat"

	"orrery/scheduler/model/draw"
)

// TestAgainstGonum: gonum's CMA-ES, a variant by Cholesky factors, is the
// reference. Both come within 1e-6 of the minimum of a well, of a badly scaled
// bowl and of a curved valley from the same start, and ours never needs more
// evaluations at the median. Ours begins with steps six times too long for the
// place; gonum's, whose samples follow its covariance alone, with steps of 1.
func TestAgainstGonum(t *testing.T) {
	const target, most, seeds = 1e-6, 12_000, 5
	ellipsoid := func(x []float64) float64 {
		sum := 0.0
		for j, v := range x {
			sum += math.Pow(1e4, float64(j)/float64(len(x)-1)) * v * v
		}
		return sum
	}
	for _, c := range []struct {
		name string
		f    func(x []float64) float64
		dim  int
		at   float64 // of all coordinates of the minimum
	}{
		{"sphere", functions.Sphere{}.Func, 2, 0},
		{"ellipsoid", ellipsoid, 2, 0},
		{"Rosenbrock", functions.ExtendedRosenbrock{}.Func, 4, 1},
	} {
		start := slices.Repeat([]float64{c.at + 1.5}, c.dim)
		var space Space // wide enough that its mirror images do not matter
		for j := range c.dim {
			space = append(space, Parameter{Name: string(rune('a' + j)), Kind: Real, Low: -10, High: 10})
		}
		var ours, theirs []float64
		for seed := range uint64(seeds) {
			ours = append(ours, evaluations(t, space, c.f, start, seed, target, most))
			theirs = append(theirs, gonums(t, c.f, start, seed, target, most))
		}
		slices.Sort(ours)
		slices.Sort(theirs)
		t.Logf("%-10s ours %v, gonum's %v evaluations", c.name, ours, theirs)
		require.LessOrEqual(t, ours[seeds/2], theirs[seeds/2], c.name)
	}
}

// gonums counts the evaluations of gonum's method until the target, most of
// them where it does not arrive.
func gonums(t *testing.T, f func([]float64) float64, start []float64, seed uint64, target float64, most int) float64 {
	n, arrived := 0, most
	source := draw.New(seed, draw.StreamOf("gonum"), 0, 0)
	_, err := optimize.Minimize(optimize.Problem{
		Func: func(x []float64) float64 {
			n++
			y := f(x)
			if y < target {
				arrived = min(arrived, n)
			}
			return y
		},
		Status: func() (optimize.Status, error) {
			if arrived < most {
				return optimize.Success, nil
			}
			return optimize.NotTerminated, nil
		},
	}, start, &optimize.Settings{FuncEvaluations: most, Converger: optimize.NeverTerminate{}}, &optimize.CmaEsChol{Src: &source})
	require.NoError(t, err)
	return float64(arrived)
}

// evaluations counts those until the target.
func evaluations(t *testing.T, space Space, f func([]float64) float64, start []float64, seed uint64, target float64, most int) float64 {
	s, err := New(Config{Space: space, Goal: least, Method: "cmaes", Trials: most, Seed: seed, Start: [][]float64{start}})
	require.NoError(t, err)
	for !s.Done() {
		for _, trial := range s.Ask(most) {
			y := f(trial.Values)
			if y < target {
				return float64(trial.ID + 1)
			}
			require.NoError(t, s.Tell([]Result{{ID: trial.ID, Metrics: map[string]float64{"f": y}}}))
		}
	}
	t.Fatalf("did not arrive in %d evaluations", most)
	return 0
}

// TestStrategyConstants: the positive weights sum to 1; the negative ones keep
// the covariance positive definite; all rates are rates.
func TestStrategyConstants(t *testing.T) {
	for _, dim := range []int{1, 2, 9, 40} {
		for _, lambda := range []int{4, 5, 13, 200} {
			s := newStrategy(dim, lambda)
			require.True(t, slices.IsSortedFunc(s.weights, func(a, b float64) int { return int(math.Copysign(1, b-a)) }))
			require.InDelta(t, 1, floats.Sum(s.weights[:s.mu]), 1e-12)
			require.GreaterOrEqual(t, 1-s.c1-s.cmu*s.sum, 0.0)
			for _, rate := range []float64{s.c1, s.cmu, s.cs, s.cc} {
				require.True(t, rate > 0 && rate <= 1, "%+v", s)
			}
			require.InDelta(t, 0, min(0, 1-s.c1-s.cmu+float64(dim)*s.cmu*min(0, s.sum-1)), 1e-9)
		}
	}
}

// TestSamplesFollowTheCovariance: steps have the covariance they are drawn by.
func TestSamplesFollowTheCovariance(t *testing.T) {
	space := Space{{Name: "x", Kind: Real, High: 1}, {Name: "y", Kind: Real, High: 1}}
	made, err := newCMA(&Config{Space: space, Goal: least, Method: "cmaes", Trials: 1, Batch: 20_000})
	require.NoError(t, err)
	m := made.(*cma)
	m.cov = mat.NewSymDense(2, []float64{4, -1.5, -1.5, 1})
	m.factor()
	m.propose(0, 20_000)
	points := mat.NewDense(20_000, 2, nil)
	for i, p := range m.points {
		points.SetRow(i, p)
	}
	var got mat.SymDense
	stat.CovarianceMatrix(&got, points, nil)
	got.ScaleSym(1/(cmaStep*cmaStep), &got)
	require.True(t, mat.EqualApprox(m.cov, &got, 0.1), "%v", mat.Formatted(&got))
	var identity mat.Dense
	identity.Mul(m.root, m.inverse)
	require.True(t, mat.EqualApprox(&identity, mat.NewDiagDense(2, []float64{1, 1}), 1e-12))
}

// TestRestarts: on a plateau the search begins again, wider, elsewhere, and so
// finds a hole that the first run could not feel.
func TestRestarts(t *testing.T) {
	space := Space{{Name: "x", Kind: Real, High: 1}, {Name: "y", Kind: Real, High: 1}}
	s := drive(t, Config{Space: space, Goal: least, Method: "cmaes", Trials: 3000, Start: [][]float64{{0.1, 0.1}}}, func(v []float64) map[string]float64 {
		local := math.Hypot(v[0]-0.1, v[1]-0.1)
		hole := 4*math.Hypot(v[0]-0.8, v[1]-0.7) - 0.5
		return map[string]float64{"f": min(local, hole)}
	})
	require.InDelta(t, -0.5, s.Best()[0].Metrics["f"], 1e-3)
	require.Positive(t, s.method.(*cma).run)
}

// TestCoarseStaysAwake: a whole number keeps a third of a step as its least
// deviation, so it can still move late in a run.
func TestCoarseStaysAwake(t *testing.T) {
	s := drive(t, Config{Space: mixed, Goal: least, Method: "cmaes", Trials: 200, Seed: 5}, plantedCost)
	m := s.method.(*cma)
	for j, coarse := range m.coarse {
		require.GreaterOrEqual(t, m.sigma*math.Sqrt(m.cov.At(j, j)), coarse*(1-1e-9))
	}
}
