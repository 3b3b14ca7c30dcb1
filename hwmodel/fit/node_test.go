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
func nodeMinutes(seed uint64, n int) []NodeRow {
	return nodeWorld{n: n, turn: 30, r: 0.5, beside: 25, wild: 1.0 / 30, law: normal}.draw(seed)
}

// nodeWorld is how a node works and rests by turns, and by how much else it draws.
type nodeWorld struct {
	n, turn   int
	r, beside float64 // correlation of minutes, and W
	wild      float64
	law       law
}

func (w nodeWorld) draw(seed uint64) (out []NodeRow) {
	src := draw.New(seed, draw.StreamOf("planted node"), uint64(w.n), 0)
	drift, level := w.beside/math.Sqrt(1-w.r*w.r)*src.Normal(), 0.0
	for i := range w.n {
		if i%w.turn == 0 {
			level = src.Uniform(2500, 5000)
			if i%(2*w.turn) == 0 {
				level = 600
			}
		}
		drift = w.r*drift + w.beside*w.law(&src)
		gpus := level * (1 + 0.02*src.Normal())
		node := plantedBase + plantedPerWatt*gpus + drift
		if src.Bool(w.wild) {
			node *= 0.5 + src.Float64()
		}
		out = append(out, NodeRow{gpus, node})
	}
	return out
}

// TestDrawOfNodes: base and slope lie in their intervals. Wrong is a node that draws a multiple of
// its GPUs, and minutes as if they were independent.
func TestDrawOfNodes(t *testing.T) {
	t.Parallel()
	for _, w := range []nodeWorld{
		{n: 120, turn: 30, r: 0.5, beside: 25, wild: 1.0 / 30, law: normal},
		{n: 60, turn: 10, r: 0.5, beside: 60, wild: 1.0 / 30, law: normal},
		{n: 40, turn: 10, r: 0.3, beside: 25, wild: 0, law: heavy},
		{n: 150, turn: 15, r: 0.8, beside: 25, wild: 0.02, law: normal},
	} {
		base, factor, at, apart, idleOff := covered{}, covered{}, covered{}, covered{}, 0.0
		for seed := range records {
			if w.n > 60 && w.r > 0.5 && seed%2 > 0 {
				continue
			}
			rows := w.draw(seed)
			f, err := Node(rows)
			require.NoError(t, err)
			require.True(t, f.Base.Known())
			base.add("base", holds(f.Base.Band, plantedBase))
			factor.add("per watt", holds(f.PerWatt.Band, plantedPerWatt))
			for _, gpus := range []float64{700, 2500} {
				draw := f.Draw(gpus)
				require.True(t, draw.Known())
				at.add(fmt.Sprint("at ", gpus, " W"), holds(draw.Band, plantedBase+plantedPerWatt*gpus))
			}
			var factors, gpus, node []float64
			for _, r := range rows {
				factors, gpus, node = append(factors, r.Node/r.GPUs), append(gpus, r.GPUs), append(node, r.Node)
			}
			idleOff += math.Abs(Median(factors)*600/(plantedBase+plantedPerWatt*600) - 1)
			if w.n <= 60 {
				l, _ := theilSen(gpus, node)
				apart.add("base, as if independent", holds(l.level, plantedBase))
			}
		}
		idleOff /= float64(base["base"].of)
		t.Logf("%+v: one factor is off by %.0f %% at rest", w, 100*idleOff)
		base.about(t, 93, 97)
		factor.about(t, 93, 100)
		at.about(t, 93, 100)
		require.Greater(t, idleOff, 0.1)
		if w.n == 60 {
			apart.within(t, 0, 92)
		}
	}
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
