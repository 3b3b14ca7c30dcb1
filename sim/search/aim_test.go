package search

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model/draw"
)

// TestGain compares the integral with the mean of 200,000 draws.
func TestGain(t *testing.T) {
	for _, c := range []struct {
		mean, deviation, weights, least []float64
		reached                         float64
	}{
		{[]float64{1, 2}, []float64{0.5, 1}, []float64{0.7, 0.3}, []float64{0, 0.5}, 0.6},
		{[]float64{1, 2}, []float64{0.5, 1}, []float64{0.999, leastWeight}, []float64{0, 0.5}, 0.6},
		{[]float64{3, 2}, []float64{1, 1}, []float64{0.5, 0.5}, []float64{0, 0}, 0.8},
		{[]float64{-1, -1}, []float64{0.2, 0.1}, []float64{0.5, 0.5}, []float64{0, 0}, 0.5},
		{[]float64{1, 0, 2}, []float64{1, 0.1, 0.5}, []float64{0.3, 0.2, 0.5}, []float64{0, 0, 1}, 0.5},
	} {
		b := &beliefs{models: &models{least: c.least}}
		for k, mean := range c.mean {
			b.costs = append(b.costs, &belief{mean: []float64{mean}, variance: []float64{c.deviation[k] * c.deviation[k]}})
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
		require.InDelta(t, sum, b.gain(&aim{c.weights, c.reached}, 0), 0.003)
	}
	certain := &beliefs{models: &models{least: []float64{0, 0}}, costs: []*belief{
		{mean: []float64{1, 3}, variance: []float64{0, 0}},
		{mean: []float64{1, 3}, variance: []float64{0, 0}},
	}}
	require.InDelta(t, 0.25, certain.gain(&aim{[]float64{0.5, 0.5}, 1}, 0), 1e-6)
	require.Zero(t, certain.gain(&aim{[]float64{0.5, 0.5}, 1}, 1))
}

// TestWeights: of two objectives each batch of four has a weight in each quarter;
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
