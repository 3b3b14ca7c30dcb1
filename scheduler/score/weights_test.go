package score

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
)

// vectors of weights, w1 to w9.
var vectors = []struct {
	name string
	raw  [NumFactors]float64
}{
	{"HPC batch", [...]float64{.15, .20, .20, .15, .10, .05, 0, .05, .10}},
	{"ML training", [...]float64{.10, .10, .10, .25, .15, .05, .05, .10, .10}},
	{"service", [...]float64{.15, .05, .10, .05, .10, .05, .10, .10, .30}},
	{"sensitive", [...]float64{.90, 0, 0, 0, 0, 0, 0, 0, .10}},
	{"interactive", [...]float64{.10, .30, .10, 0, .05, .15, 0, 0, .30}},
	{"default", [...]float64{.20, .20, .20, .15, .10, .05, 0, 0, .10}},
	{"guide baseline", [...]float64{.20, .25, .25, .15, .10, .05, 0, 0, .10}},
	{"baseline", [...]float64{1.0, .8, .7, .6, .5, .4, .3, .5, .4}},
	{"fairness", [...]float64{.5, 1.5, 2.0, .6, .5, .4, .1, .5, .4}},
	{"energy", [...]float64{.8, .5, .7, .6, .5, .3, 2.0, .8, .4}},
}

func vector(name string) [NumFactors]float64 {
	for _, v := range vectors {
		if v.name == name {
			return v.raw
		}
	}
	panic(name)
}

func total(w Weights) model.Fixed {
	sum := model.Fixed(0)
	for _, x := range w {
		sum += x
	}
	return sum
}

func TestNormaliseSumsToOne(t *testing.T) {
	for _, v := range vectors {
		w, err := Normalise(v.raw)
		require.NoError(t, err)
		require.Equal(t, model.One, total(w), v.name)
		sum := 0.0
		for _, x := range v.raw {
			sum += x
		}
		for i, x := range v.raw {
			require.InDelta(t, x/sum, w[i].Float(), 3e-10, "%s: %s", v.name, Factor(i))
			require.Equal(t, x == 0, w[i] == 0)
		}
	}
}

// Units that are left go to the largest remainder, and among equals to the first.
func TestNormaliseRemainders(t *testing.T) {
	third := model.One / 3 // 2^32 is 1 mod 3
	w, err := Normalise([...]float64{0, 7, 7, 7, 0, 0, 0, 0, 0})
	require.NoError(t, err)
	require.Equal(t, Weights{0, third + 1, third, third, 0, 0, 0, 0, 0}, w)
	// 2^32 is 4 mod 6: shares of 1/6, 1/3 and 1/2 leave 4/6, 2/6 and 0: one unit
	w, err = Normalise([...]float64{3, 2, 1, 0, 0, 0, 0, 0, 0})
	require.NoError(t, err)
	require.Equal(t, Weights{model.One / 2, third, model.One/6 + 1, 0, 0, 0, 0, 0, 0}, w)
}

// Only the ratios of weights matter: tenfold, a hundredfold or scaled by any
// whole number, as people write decimals.
func TestNormaliseIsScaleInvariant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.SliceOfN(rapid.IntRange(0, 999), NumFactors, NumFactors).Draw(t, "weights")
		whole[rapid.IntRange(0, NumFactors-1).Draw(t, "positive")]++
		by := rapid.IntRange(1, 999).Draw(t, "factor")
		places := math.Pow10(rapid.IntRange(0, 6).Draw(t, "places"))
		var a, b [NumFactors]float64
		for i, x := range whole {
			a[i], b[i] = float64(x), float64(x*by)/places
		}
		w, err := Normalise(a)
		require.NoError(t, err)
		scaled, err := Normalise(b)
		require.NoError(t, err)
		require.Equal(t, w, scaled)
		require.Equal(t, model.One, total(w))
	})
}

func TestRaw(t *testing.T) {
	w, err := Raw(vector("baseline"))
	require.NoError(t, err)
	require.Equal(t, Weights{model.One, 3435973837, 3006477107, 2576980378, model.One / 2, 1717986918, 1288490189, model.One / 2, 1717986918}, w)
	require.InDelta(t, 5.2, total(w).Float(), 1e-9)
}

func TestWeightsRefused(t *testing.T) {
	var none, negative, nan, infinite, large, tiny [NumFactors]float64
	negative[Topology], nan[Energy], infinite[Data], large[Backlog], tiny[Wait] = -.1, math.NaN(), math.Inf(1), 1001, 1e-11
	for why, raw := range map[string][NumFactors]float64{
		"all weights from priority to conformance are 0": none,
		"weight topology is -0.1":                        negative,
		"weight energy is NaN":                           nan,
		"weight data_readiness is +Inf":                  infinite,
	} {
		_, err := Normalise(raw)
		require.ErrorContains(t, err, why)
		_, err = Raw(raw)
		require.ErrorContains(t, err, why)
	}
	_, err := Raw(large)
	require.ErrorContains(t, err, "weight backlog is 1001, and raw weights are at most 1000")
	_, err = Raw(tiny)
	require.ErrorContains(t, err, "smaller than")
	for _, raw := range [][NumFactors]float64{large, tiny} {
		_, err = Normalise(raw)
		require.NoError(t, err)
	}
	_, err = Normalise([...]float64{math.MaxFloat64, math.SmallestNonzeroFloat64, math.MaxFloat64, 0, 0, 0, 0, 0, 0})
	require.NoError(t, err)
}

func TestFactorNames(t *testing.T) {
	want := []string{"priority", "wait_time", "fair_share", "topology", "data_readiness", "backlog", "energy", "checkpoint", "conformance"}
	of := []Scope{PerJob, OfWait, PerTenant, PerSize, PerJob, Global, Global, PerJob, PerSize}
	for i, name := range want {
		require.Equal(t, name, Factor(i).String())
		require.Equal(t, of[i], Factor(i).Scope(), name)
	}
}
