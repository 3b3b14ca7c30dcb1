package search

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"orrery/scheduler/model/draw"
)

// cloud is n random points of d features with a smooth noisy target.
func cloud(n, d int, noise float64) (x [][]float64, y []float64) {
	for i := range n {
		s := draw.New(11, draw.StreamOf("cloud"), uint64(i), 0)
		p := make([]float64, d)
		for j := range p {
			p[j] = s.Float64()
		}
		x = append(x, p)
		y = append(y, math.Sin(3*p[0])+0.5*math.Cos(2*p[1])-0.5+noise*s.Normal())
	}
	return x, y
}

// TestGradient compares the gradient of the likelihood with differences.
func TestGradient(t *testing.T) {
	x, y := cloud(25, 3, 0.1)
	l := &likelihood{x: x, y: y, gradient: make([]float64, 5)}
	for _, theta := range [][]float64{{0, 0, 0, 0, -2}, {-1, 0.5, 1, 0.7, -5}} {
		want := fd.Gradient(nil, l.value, theta, &fd.Settings{Formula: fd.Central})
		l.last = nil
		l.value(theta)
		for j := range want {
			require.InDelta(t, want[j], l.gradient[j], 1e-4*(1+math.Abs(want[j])), "parameter %d", j)
		}
	}
}

// TestFitFindsWhatMatters: the length scale of a feature that does nothing is
// the longest, and the noise is found to within a factor of two.
func TestFitFindsWhatMatters(t *testing.T) {
	x, y := cloud(100, 3, 0.1)
	k := fit(x, y)
	require.Less(t, k.inverse[2], k.inverse[0]/2)
	require.Less(t, k.inverse[2], k.inverse[1]/2)
	require.InDelta(t, 0.1, math.Sqrt(k.noise), 0.05)
}

// TestBeliefs: the fast formulas agree with the textbook ones, K* K⁻¹ y and
// k - K* K⁻¹ K*ᵀ, before and after believing in two of the points.
// (Rasmussen and Williams, equations 2.23 and 2.24.)
func TestBeliefs(t *testing.T) {
	x, y := cloud(30, 2, 0.1)
	at, _ := cloud(45, 2, 0)
	at = at[30:]
	k := kernel{inverse: []float64{3, 2}, signal: 1.5, noise: 0.01}
	textbook := func(x [][]float64, y []float64, p []float64) (mean, variance float64) {
		var inverse mat.Dense
		covariance := k.matrix(x, nil)
		require.NoError(t, inverse.Inverse(mat.NewSymDense(len(x), covariance.Data)))
		star := mat.NewVecDense(len(x), nil)
		for i := range x {
			v, _ := k.at(x[i], p)
			star.SetVec(i, v)
		}
		var half mat.VecDense
		half.MulVec(&inverse, star)
		return mat.Dot(&half, mat.NewVecDense(len(y), y)), k.signal - mat.Dot(&half, star)
	}
	process := condition(k, x, y)
	for i := range x {
		require.InDelta(t, process.mean(x[i]), process.already[i], 1e-9)
	}
	b := process.expect(at)
	check := func() {
		for j, p := range at {
			mean, variance := textbook(x, y, p)
			require.InDelta(t, mean, b.mean[j], 1e-8)
			require.InDelta(t, mean, process.mean(p), 1e-8)
			require.InDelta(t, variance, b.variance[j], 1e-8)
		}
	}
	check()
	for _, c := range []int{4, 9} {
		mean := b.mean[c]
		b.believe(c)
		x, y = append(x, at[c]), append(y, mean)
		check()
	}
}

// TestImprovement integrates max(0, z) numerically.
func TestImprovement(t *testing.T) {
	for _, c := range [][2]float64{{0, 1}, {-1, 0.5}, {2, 0.3}, {0.1, 2}} {
		d := distuv.Normal{Mu: c[0], Sigma: c[1]}
		sum := 0.0
		const steps = 20_000
		for i := range steps {
			sum += max(0, d.Quantile((float64(i)+0.5)/steps)) / steps
		}
		require.InDelta(t, sum, improvement(c[0], c[1]), 1e-3)
	}
	require.Equal(t, 3.0, improvement(3, 0))
	require.Zero(t, improvement(-3, 0))
}

func TestTargets(t *testing.T) {
	inf := math.Inf(1)
	require.Equal(t, []float64{1, 5, 5}, imputed([]float64{1, inf, 5}))
	require.Equal(t, []float64{0, 0}, imputed([]float64{inf, inf}))
	require.InDeltaSlice(t, []float64{0, math.Log(2), math.Log(101)}, squash([]float64{1, 2, 101}), 1e-12)
	require.Equal(t, []float64{3, 3, 3}, squash([]float64{3, 3, 3}))
	require.InDeltaSlice(t, []float64{-math.Asinh(1), 0, math.Asinh(5)}, soften([]float64{-2, 0, 10}), 1e-12)
	require.Equal(t, []float64{0, 0, 0, 0, 9}, soften([]float64{0, 0, 0, 0, 9}))
	require.Equal(t, []int{9, 8, 7, 5}, spreadOf([]int{9, 8, 7, 6, 5, 4, 3}, 4))
	require.Equal(t, []int{1, 2}, spreadOf([]int{1, 2}, 4))
}

// TestBatchesSpread: the trials of a batch are different points, also where
// the model knows nothing, and in a space with few points each is tried once
// before any is tried again.
func TestBatchesSpread(t *testing.T) {
	space := Space{{Name: "n", Kind: Integer, Low: 1, High: 6}, {Name: "c", Kind: Choice, Choices: []string{"p", "q", "r"}}}
	s := drive(t, Config{Space: space, Goal: least, Method: "bayes", Trials: 40}, func(v []float64) map[string]float64 {
		return map[string]float64{"f": 1}
	})
	seen := make(map[[2]float64]int)
	initial := len(s.method.(*bayes).initial)
	for _, r := range s.Results() {
		point := [2]float64{r.Values[0], r.Values[1]}
		if r.ID >= initial && len(seen) <= 18-bayesBatch {
			require.Zero(t, seen[point], "trial %d", r.ID)
		}
		seen[point]++
	}
	require.Len(t, seen, 18)
}

// TestNoise: with noise on each evaluation the best expected point, not the
// luckiest, leads, and the search still closes in on the minimum.
func TestNoise(t *testing.T) {
	p := &problems[0]
	s := drive(t, Config{Space: p.space(), Goal: least, Method: "bayes", Trials: 60}, func(v []float64) map[string]float64 {
		d := draw.New(0, draw.StreamOf("noise"), math.Float64bits(v[0]), math.Float64bits(v[1]))
		return map[string]float64{"f": p.f(v) + 2*d.Normal()}
	})
	late := s.Results()[40:]
	near := 0
	for _, r := range late {
		if p.f(r.Values) < p.min+2 {
			near++
		}
	}
	require.GreaterOrEqual(t, near, len(late)/2)
}
