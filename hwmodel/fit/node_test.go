package fit

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model/draw"
)

const plantedBase, plantedPerWatt = 1500.0, 1.12

// nodeMinutes are those of a node of eight GPUs that work for half an hour and rest for as long, by turns. What
// else it draws drifts. One minute in thirty is wild.
func nodeMinutes(seed uint64, n int) (out []NodeRow) {
	src := draw.New(seed, draw.StreamOf("planted node"), 0, 0)
	drift, level := 0.0, 0.0
	for i := range n {
		if i%30 == 0 {
			level = src.Uniform(2500, 5000)
			if i%60 == 0 {
				level = 600
			}
		}
		drift = 0.5*drift + 25*src.Normal()
		gpus := level * (1 + 0.02*src.Normal())
		node := plantedBase + plantedPerWatt*gpus + drift
		if src.Bool(1.0 / 30) {
			node *= 0.5 + src.Float64()
		}
		out = append(out, NodeRow{gpus, node})
	}
	return out
}

// TestDrawOfNodes: base and slope lie in their intervals. Wrong is a node that draws a multiple of
// its GPUs.
func TestDrawOfNodes(t *testing.T) {
	held, idleOff := covered{}, 0.0
	for seed := range uint64(seeds) {
		rows := nodeMinutes(seed, 120)
		f, err := Node(rows)
		require.NoError(t, err)
		require.True(t, f.Base.Known())
		held.add("base", holds(f.Base.Band, plantedBase))
		held.add("per watt", holds(f.PerWatt.Band, plantedPerWatt))
		for _, gpus := range []float64{600, 2500} {
			draw := f.Draw(gpus)
			require.True(t, draw.Known())
			held.add(fmt.Sprint("at ", gpus, " W"), holds(draw.Band, plantedBase+plantedPerWatt*gpus))
		}
		var factors []float64
		for _, r := range rows {
			factors = append(factors, r.Node/r.GPUs)
		}
		idleOff += math.Abs(Median(factors)*600/(plantedBase+plantedPerWatt*600)-1) / seeds
		require.InEpsilon(t, plantedBase+plantedPerWatt*600, f.Base.Value+f.PerWatt.Value*600, 0.02)
	}
	t.Logf("one factor is off by %.0f %% at rest", 100*idleOff)
	held.within93to97(t)
	require.Greater(t, idleOff, 0.2)
}

func TestRefusedNodes(t *testing.T) {
	f, err := Node(nodeMinutes(1, 19))
	require.NoError(t, err)
	require.ErrorIs(t, f.Base.Refused, ErrTooFew)
	f, err = Node(nodeMinutes(1, 29))
	require.NoError(t, err)
	require.ErrorContains(t, f.PerWatt.Refused, "want draws that differ by a factor of 1.5: record idle minutes")
	other := nodeMinutes(1, 240)
	for i := range other {
		other[i].Node = 3000 + float64(i*7919%100)
	}
	f, err = Node(other)
	require.NoError(t, err)
	require.ErrorContains(t, f.Base.Refused, "does not grow with that of its GPUs")
	for _, bad := range []NodeRow{{0, 1}, {1, 0}, {math.NaN(), 1}, {1, math.Inf(1)}} {
		_, err := Node([]NodeRow{{1, 1}, bad})
		require.ErrorContains(t, err, "row 1: found GPUs at")
	}
	f, err = Node(nodeMinutes(1, 120))
	require.NoError(t, err)
	require.ErrorContains(t, f.Draw(9000).Refused, "want some at 9000 W")
	require.ErrorContains(t, f.Draw(10).Refused, "want some at 10 W")
	_, known := theilSen([]float64{1, 1, 1}, []float64{1, 2, 3})
	require.False(t, known)
}
