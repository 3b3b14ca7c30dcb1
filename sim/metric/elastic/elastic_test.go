package elastic

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

func measure(t require.TestingT, demand, supply []float64) Values {
	v, err := Measure(Series{model.Minute, demand, supply})
	require.NoError(t, err)
	return v
}

// By hand: demand 2, 4, 0, 4 and supply 4, 2, 1, 4.
func TestByHand(t *testing.T) {
	v := measure(t, []float64{2, 4, 0, 4}, []float64{4, 2, 1, 4})
	require.Equal(t, Values{
		UnderPct: 12.5, OverPct: 25, UnderTimePct: 25, OverTimePct: 50, InstabilityPct: 100 * 1. / 3, SupplyAhead: 0, DemandAhead: 1. / 3,
		Shortfall: 0.5, Surplus: 0.75, SupplyChanges: 3, DemandChanges: 3, Reversals: 1, UnitHours: 11. / 60, DeviationPct: v.DeviationPct,
	}, v)
	sum := math.Pow(12.5, 5) + math.Pow(25, 5)*2 + math.Pow(50, 5) + math.Pow(100./3, 5)
	require.InEpsilon(t, math.Pow(sum, 0.2), v.DeviationPct, 1e-12)
}

// One sample has no changes, and series that do not fit are refused.
func TestEdges(t *testing.T) {
	v := measure(t, []float64{3}, []float64{3})
	require.Zero(t, v.InstabilityPct)
	require.Zero(t, v.DeviationPct)
	for _, s := range []Series{
		{model.Minute, nil, nil}, {0, []float64{1}, []float64{1}}, {model.Minute, []float64{1}, nil},
		{model.Minute, []float64{-1}, []float64{1}}, {model.Minute, []float64{1}, []float64{math.NaN()}}, {model.Minute, []float64{math.Inf(1)}, []float64{1}},
	} {
		_, err := Measure(s)
		require.Error(t, err)
		_, err = Respond(s, 1)
		require.Error(t, err)
	}
}

// What is supplied as demanded has nothing but its hours; scaling both changes no share;
// exchanging both exchanges lack and surplus; and the two parts of the instability are it.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		draw := func(name string) []float64 {
			out := make([]float64, n)
			for i := range out {
				out[i] = float64(rapid.IntRange(0, 6).Draw(t, name))
			}
			return out
		}
		d, s := draw("demand"), draw("supply")
		v, same := measure(t, d, s), measure(t, d, d)
		require.Zero(t, same.DeviationPct)
		require.Zero(t, same.JitterPerHour)
		require.InDelta(t, v.InstabilityPct/100, v.SupplyAhead+v.DemandAhead, 1e-12)
		double := func(x []float64) (out []float64) {
			for _, y := range x {
				out = append(out, 2*y)
			}
			return out
		}
		twice := measure(t, double(d), double(s))
		require.InDelta(t, v.DeviationPct, twice.DeviationPct, 1e-9)
		other := measure(t, s, d)
		require.Equal(t, v.Shortfall, other.Surplus)
		require.Equal(t, v.UnderTimePct, other.OverTimePct)
		require.Equal(t, v.SupplyAhead, other.DemandAhead)
		require.Equal(t, -v.JitterPerHour, other.JitterPerHour)
		require.LessOrEqual(t, v.Reversals, max(0, v.SupplyChanges-1))
	})
}

// Demand 2 to 4 at sample 2: supply moves at 4, meets it at 5, overshoots to 6 and settles at 7.
func TestRespond(t *testing.T) {
	d := []float64{2, 2, 4, 4, 4, 4, 4, 4, 4}
	r, err := Respond(Series{model.Minute, d, []float64{2, 2, 2, 2, 3, 4, 6, 4, 4}}, 2)
	require.NoError(t, err)
	require.Equal(t, Response{2 * model.Minute, 3 * model.Minute, 5 * model.Minute, 2}, r)
	r, err = Respond(Series{model.Minute, d, []float64{2, 2, 2, 2, 2, 2, 2, 2, 2}}, 2)
	require.NoError(t, err)
	require.Equal(t, Response{Never, Never, 0, 0}, r)
	down := []float64{4, 4, 1, 1, 1}
	r, err = Respond(Series{model.Minute, down, []float64{4, 4, 4, 2, 1}}, 2)
	require.NoError(t, err)
	require.Equal(t, Response{model.Minute, 2 * model.Minute, 2 * model.Minute, 0}, r)
	r, err = Respond(Series{model.Minute, down, []float64{4, 4, 4, 2, 1}}, 1)
	require.NoError(t, err)
	require.Equal(t, Never, r.Reaction, "there is no step at that sample")
	far := []float64{0, 40, 40, 40, 40, 40}
	r, err = Respond(Series{model.Minute, far, []float64{0, 10, 37, 42, 38, 40}}, 1)
	require.NoError(t, err)
	require.Equal(t, Response{0, 2 * model.Minute, 2 * model.Minute, 2}, r, "two of forty are within the band, three are not")
}
