package stat

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

// TestCosinesCount: the rule of the comment, by hand.
func TestCosinesCount(t *testing.T) {
	for n, want := range map[int]int{2: 1, 3: 2, 8: 2, 12: 2, 14: 3, 20: 4, 40: 6, 64: 8, 100: 11, 1000: 55, 1300: 64} {
		require.Equal(t, want, len(NewCosines(n).waves), "%d values", n)
	}
}

// TestWithoutDependenceItIsStudentsT: the law of φ = 0 is Student's t with B degrees
// of freedom.
func TestWithoutDependenceItIsStudentsT(t *testing.T) {
	for _, n := range []int{8, 16, 20, 40, 64} {
		c := NewCosines(n)
		student := distuv.StudentsT{Sigma: 1, Nu: float64(len(c.waves))}
		for _, x := range []float64{0.1, 1, 2, 3, 7} {
			require.InEpsilon(t, 2*student.CDF(-x), c.At(0).P(x), 1e-4, "%d values, %v", n, x)
		}
	}
}

// TestVarianceOfWaves holds the recursion against the sum over all pairs.
func TestVarianceOfWaves(t *testing.T) {
	a := []float64{0.3, -1, 2, 0.5, 1.5}
	for _, phi := range []float64{0, 0.4, 0.8} {
		want := 0.0
		for i, x := range a {
			for k, y := range a {
				want += x * y * math.Pow(phi, math.Abs(float64(i-k)))
			}
		}
		require.InDelta(t, want, variance(a, phi), 1e-12)
	}
}

// TestStandardErrorByHand: of 0, 1, 2, 3 with the three cosines there can be, the
// sum of all Λ² is that of the squares about the mean (the transform is
// orthogonal), so the error is the usual one.
func TestStandardErrorByHand(t *testing.T) {
	c := NewCosines(4)
	require.Equal(t, 2, len(c.waves))
	for _, j := range []int{3} {
		wave := make([]float64, 4)
		for k := range wave {
			wave[k] = math.Sqrt(0.5) * math.Cos(math.Pi*float64(j)*(float64(k)+0.5)/4)
		}
		c.waves = append(c.waves, wave)
	}
	require.InDelta(t, math.Sqrt(5.0/3/4), c.StandardError([]float64{0, 1, 2, 3}), 1e-12)
	require.InDelta(t, math.Sqrt(5.0/3/4), c.StandardError([]float64{100, 101, 102, 103}), 1e-12)
	require.InDelta(t, 0, c.StandardError([]float64{7, 7, 7, 7}), 1e-12)
}

// TestQuantileInvertsP also at the tails that corrections for many rows ask for.
func TestQuantileInvertsP(t *testing.T) {
	for _, n := range []int{2, 3, 8, 20, 64, 300} {
		for _, phi := range []float64{0, 0.5, 0.9} {
			l := NewCosines(n).At(phi)
			require.Equal(t, 1.0, l.P(0))
			require.Zero(t, l.P(math.Inf(1)))
			require.True(t, math.IsNaN(l.P(math.NaN())))
			for _, p := range []float64{0.5, 0.1, 0.05, 0.005, 1e-4} {
				q := l.Quantile(p)
				require.InEpsilon(t, p, l.P(q), 1e-6, "%d values, φ %v", n, phi)
				require.LessOrEqual(t, l.P(q), p, "an interval never holds what its test rejects")
			}
		}
	}
}

// TestTheLawIsThatOfSimulatedSeries: P at a few ratios is how often the ratio of
// normal autoregressive series lies as far from 0. The bands are four standard
// deviations of 4,000 series.
func TestTheLawIsThatOfSimulatedSeries(t *testing.T) {
	const n, runs = 20, 4000
	c := NewCosines(n)
	for _, phi := range []float64{0, 0.4, 0.8} {
		law := c.At(phi)
		for _, p := range []float64{0.5, 0.1, 0.02} {
			q, beyond := law.Quantile(p), 0
			for k := range uint64(runs) {
				if x := series(n, phi, k); math.Abs(Mean(x)) > q*c.StandardError(x) {
					beyond++
				}
			}
			require.InDelta(t, p, float64(beyond)/runs, 4*math.Sqrt(p*(1-p)/runs), "φ %v", phi)
		}
	}
}

// TestMoreDependenceMakesLongerIntervals at every step of φ.
func TestMoreDependenceMakesLongerIntervals(t *testing.T) {
	for _, n := range []int{8, 20, 64} {
		c, before := NewCosines(n), 0.0
		for phi := range 91 {
			q := c.At(float64(phi) / 100).Quantile(0.05)
			require.Greater(t, q, before, "%d values, φ %d hundredths", n, phi)
			before = q
		}
	}
}
