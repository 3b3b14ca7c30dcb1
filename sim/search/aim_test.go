package search

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/stat/distuv"

	"orrery/scheduler/model/draw"
)

// plain is the models of objectives with these least expectations whose targets are
// the costs themselves.
func plain(least []float64) *models {
	m := &models{least: least}
	for range least {
		m.costs = append(m.costs, &process{warp: warp{deviation: 1}})
		m.spans = append(m.spans, 1)
	}
	return m
}

// TestGain compares the integral with the mean of 200,000 draws, and its slopes with
// differences.
func TestGain(t *testing.T) {
	for _, c := range []struct {
		mean, deviation, weights, least []float64
		reached                         float64
	}{
		{[]float64{1}, []float64{0.5}, []float64{1}, []float64{0.7}, utopia},
		{[]float64{1, 2}, []float64{0.5, 1}, []float64{0.7, 0.3}, []float64{0, 0.5}, 0.6},
		{[]float64{1, 2}, []float64{0.5, 1}, []float64{0.999, leastWeight}, []float64{0, 0.5}, 0.6},
		{[]float64{3, 2}, []float64{1, 1}, []float64{0.5, 0.5}, []float64{0, 0}, 0.8},
		{[]float64{-1, -1}, []float64{0.2, 0.1}, []float64{0.5, 0.5}, []float64{0, 0}, 0.5},
		{[]float64{1, 0, 2}, []float64{1, 0.1, 0.5}, []float64{0.3, 0.2, 0.5}, []float64{0, 0, 1}, 0.5},
	} {
		m, a := plain(c.least), &aim{c.weights, c.reached}
		gain := func(x []float64) (value float64, byMean, byDeviation []float64) {
			at := make([]belief, len(x)/2)
			for k := range at {
				at[k] = belief{mean: x[k], deviation: x[len(at)+k]}
			}
			return m.gain(a, at)
		}
		d := draw.New(3, draw.StreamOf("gain"), 0, 0)
		const n = 200_000
		sum := 0.0
		for range n {
			worst := math.Inf(-1)
			for k := range c.mean {
				worst = max(worst, c.weights[k]*(c.mean[k]+c.deviation[k]*d.Normal()-c.least[k]+utopia))
			}
			sum += max(0, c.reached-worst) / n
		}
		x := slices.Concat(c.mean, c.deviation)
		value, byMean, byDeviation := gain(x)
		require.InDelta(t, sum, math.Exp(value), 0.003)
		want := fd.Gradient(nil, func(x []float64) float64 {
			sum, k := 0.0, len(x)/2
			const step = 1e-3
			for level := c.reached - step/2; level > -6; level -= step {
				p := step
				for j := range k {
					p *= normal((level/c.weights[j] + c.least[j] - utopia - x[j]) / x[k+j])
				}
				sum += p
			}
			return math.Log(sum)
		}, x, &fd.Settings{Formula: fd.Central})
		require.InDeltaSlice(t, want, slices.Concat(byMean, byDeviation), 0.1)
	}
	m, a := plain([]float64{0, 0}), &aim{[]float64{0.5, 0.5}, 1}
	sure, _, _ := m.gain(a, []belief{{mean: 1, deviation: 1e-9}, {mean: 1, deviation: 1e-9}})
	require.InDelta(t, 0.25, math.Exp(sure), 1e-6)
	none, _, _ := m.gain(a, []belief{{mean: 3, deviation: 1e-9}, {mean: 3, deviation: 1e-9}})
	require.Less(t, none, float64(nothing))
}

// TestLogImprovement compares with sums over quantiles where these can tell, and with
// the definition of its parts through the change of formula; far out it falls like the
// density.
func TestLogImprovement(t *testing.T) {
	for _, z := range []float64{-3, -1.5, -0.5, 0, 0.7, 4} {
		sum := 0.0
		const steps = 200_000
		for i := range steps {
			sum += max(0, distuv.UnitNormal.Quantile((float64(i)+0.5)/steps)+z) / steps
		}
		value, up, down := logImprovement(z)
		require.InDelta(t, 1, math.Exp(value)/sum, 0.01, "%v", z)
		require.InDelta(t, normal(z)/math.Exp(value), up, 1e-9*up, "%v", z)
		require.InDelta(t, density(z)/math.Exp(value), down, 1e-9*down, "%v", z)
	}
	for _, seam := range []float64{-1, -12} {
		left, leftUp, leftDown := logImprovement(seam - 1e-9)
		right, rightUp, rightDown := logImprovement(seam + 1e-9)
		require.InDelta(t, left, right, 1e-6)
		require.InEpsilon(t, leftUp, rightUp, 1e-6)
		require.InEpsilon(t, leftDown, rightDown, 1e-6)
	}
	value, up, _ := logImprovement(-1000)
	require.InDelta(t, -500_000-math.Log(math.Sqrt(2*math.Pi))-2*math.Log(1000), value, 1e-3)
	require.InEpsilon(t, 1000, up, 1e-3, "the slope goes on")
}

// TestLogNormal: value and slope are those of the logarithm, also beyond what the
// function itself can tell.
func TestLogNormal(t *testing.T) {
	for _, z := range []float64{-36, -31, -29, -10, 0, 3} {
		value, slope := logNormal(z)
		before, _ := logNormal(z - 1e-5)
		require.InEpsilon(t, (value-before)/1e-5, slope, 2e-3, "%v", z)
	}
	left, _ := logNormal(-30 - 1e-9)
	right, _ := logNormal(-30 + 1e-9)
	require.InDelta(t, left, right, 2e-3)
}

// TestWeights: of two objectives each four trials have a weight in each quarter;
// of three each has a third on average. They sum to 1.
func TestWeights(t *testing.T) {
	for k := 2; k <= 3; k++ {
		m, err := newBayes(&Config{Space: unitSpace(2), Goal: Goal{Objectives: make([]Objective, k)}, Method: "bayes"})
		require.NoError(t, err)
		b := m.(*bayes)
		mean := make([]float64, k)
		const n = 256
		for first := 0; first < n; first += 4 {
			quarters := make(map[int]bool)
			for i := range 4 {
				sum := 0.0
				weights := b.weights(first + i)
				for j, w := range weights {
					mean[j] += w / n
					sum += w
				}
				require.InDelta(t, 1, sum, float64(k)*leastWeight)
				quarters[int(4*weights[0])] = true
			}
			if k == 2 {
				require.Len(t, quarters, 4)
			}
		}
		for _, m := range mean {
			require.InDelta(t, 1/float64(k), m, 0.01)
		}
	}
}
