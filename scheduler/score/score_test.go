package score

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
)

// Six jobs of five tenants and two more, an hour after the last came: those of the
// example trace of rm-replay. The site has 4 groups of 8 nodes.
var jobs = []struct {
	name         string
	waited       model.Duration
	nodes, class int32
	checkpoint   model.Checkpoint
	ready        float64
	share, usage float64
	// for the documented mode
	needed  int32 // groups
	largest int32 // free nodes in one conformance group, of those it may use
	bytes   int64 // of a checkpoint, in GiB
}{
	{"inference", 3700 * model.Second, 4, 7, model.CheckpointNone, 1.0, .15, .05, 1, 6, 0},
	{"preprocess", 4000 * model.Second, 2, 5, model.CheckpointNone, .9, .3, .1, 1, 6, 0},
	{"training", 3900 * model.Second, 16, 8, model.CheckpointAuto, .7, .3, .1, 2, 12, 1200},
	{"benchmark", 3600 * model.Second, 32, 1, model.CheckpointNone, .8, .1, 0, 4, 12, 0},
	{"simulation", 3800 * model.Second, 8, 3, model.CheckpointAuto, .5, .25, .4, 1, 12, 0},
	{"pipeline", 3950 * model.Second, 1, 2, model.CheckpointManual, .3, .2, .35, 1, 6, 30},
}

// documented are the factors of the jobs, with a
// burst to 150 % at a utilisation of one half and 10 GiB/s for checkpoints.
func documented(i int) Values {
	j := jobs[i]
	return Values{
		Priority:    PriorityOf(j.class),
		Wait:        WaitOf(j.waited, model.Hour),
		FairShare:   FairShareOf(fixed(j.share), fixed(1.5), fixed(j.usage), fixed(.5)),
		Topology:    TopologyOf(j.needed, 4),
		Data:        DataOf(fixed(j.ready)),
		Backlog:     BacklogOf(63*90*model.Minute, 126*model.Hour),
		Energy:      EnergyOf(fixed(.3)),
		Checkpoint:  CheckpointOf(j.checkpoint, j.bytes<<30, 10<<30),
		Conformance: ConformanceOf(j.largest, j.nodes),
	}
}

func rows(t *testing.T, values func(i int) Values, want [][NumFactors]float64) {
	t.Helper()
	for i, row := range want {
		v := values(i)
		for f, x := range row {
			closeTo(t, x, v[f], "%s: %s", jobs[i].name, Factor(f))
		}
	}
}

// scores requires the printed scores of one vector of weights, without penalty.
func scores(t *testing.T, w Weights, values func(i int) Values, want ...float64) {
	t.Helper()
	for i, x := range want {
		v := values(i)
		closeTo(t, x, Score(&w, &v, model.One), jobs[i].name)
	}
}

func TestScoresDocumented(t *testing.T) {
	rows(t, documented, [][NumFactors]float64{
		{.7, .706941, .719298, .75, 1, .75, .7, 0, 1},
		{.5, .747214, .719298, .75, .9, .75, .7, 0, 1},
		{.8, .733969, .719298, .5, .7, .75, .7, .333333, .75},
		{.1, .693147, 1, 0, .8, .75, .7, 0, .375},
		{.3, .720546, 0, .75, .5, .75, .7, .166667, 1},
		{.2, .740614, 0, .75, .3, .75, .7, .952381, 1},
	})
	for _, c := range []struct {
		weights string
		want    []float64
	}{
		{"baseline", []float64{.697896, .656015, .676414, .46433, .494187, .534362}},
		{"default", []float64{.775248, .733303, .708153, .513629, .504109, .468123}},
		{"ML training", []float64{.722624, .691651, .63616, .409315, .553721, .594299}},
	} {
		t.Run(c.weights, func(t *testing.T) {
			w, err := Normalise(vector(c.weights))
			require.NoError(t, err)
			scores(t, w, documented, c.want...)
		})
	}
}

// anyValues draws nine factors within their ranges.
func anyValues(t *rapid.T, name string) Values {
	var v Values
	for f := range v {
		v[f] = model.Fixed(rapid.Int64Range(0, int64(model.One)).Draw(t, name))
	}
	v[Wait] = model.Fixed(rapid.Int64Range(0, 45*int64(model.One)).Draw(t, name))
	v[Conformance] *= model.Fixed(rapid.SampledFrom([]int64{1, 1 << 10, 1 << 20}).Draw(t, "uncapped"))
	return v
}

func anyRaw(t *rapid.T) [NumFactors]float64 {
	return rapid.Custom(func(t *rapid.T) [NumFactors]float64 {
		var raw [NumFactors]float64
		for f := range raw {
			raw[f] = rapid.Float64Range(0, 5).Draw(t, "weight")
		}
		raw[rapid.IntRange(0, NumFactors-1).Draw(t, "some")] += 1e-3
		return raw
	}).Draw(t, "raw")
}

func anyWeights(t *rapid.T) Weights {
	as := Raw
	if rapid.Bool().Draw(t, "normalise") {
		as = Normalise
	}
	w, err := as(anyRaw(t))
	require.NoError(t, err)
	return w
}

func anyPenalty(t *rapid.T, name string) model.Fixed {
	return Penalty(model.Fixed(rapid.Int64Range(0, int64(3*model.One/2)).Draw(t, name)))
}

// Each product is rounded on its own and the sum is exact, so the parts add up
// in any order to what Score and Explain say.
func TestScoreIsTheSumOfItsParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, v, penalty := anyWeights(t), anyValues(t, "values"), anyPenalty(t, "used")
		e := Explain(&w, &v, penalty)
		sum, parts := model.Fixed(0), model.Fixed(0)
		for _, f := range rapid.Permutation([]Factor{0, 1, 2, 3, 4, 5, 6, 7, 8}).Draw(t, "order") {
			require.Equal(t, Contribution{f, v[f], w[f], w[f].Mul(v[f])}, e.Factors[f])
			sum += e.Factors[f].Term
		}
		for _, s := range rapid.Permutation([]Scope{PerJob, PerTenant, PerSize, Global, OfWait}).Draw(t, "scopes") {
			part := model.Fixed(0)
			for f, of := range e.Factors {
				if Factor(f).Scope() == s {
					part += of.Term
				}
			}
			require.Equal(t, part, Part(&w, &v, s))
			parts += part
		}
		require.Equal(t, e.Sum, sum)
		require.Equal(t, e.Sum, parts)
		require.Equal(t, e.Sum, sumOf(&w, &v))
		require.Equal(t, Explanation{e.Factors, sum, penalty, penalty.Mul(sum)}, e)
		require.Equal(t, e.Score, Score(&w, &v, penalty))
	})
}

// Against exact arithmetic: half a unit for each product.
func TestScoreIsWithinItsBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, v, penalty := anyWeights(t), anyValues(t, "values"), anyPenalty(t, "used")
		exact := number(0)
		for f := range v {
			exact.Add(exact, number(0).Mul(number(int64(w[f])), number(int64(v[f]))))
		}
		exact.Mul(exact, number(int64(penalty)))
		exact.SetMantExp(exact, -3*model.FractionBits)
		off := ulps(Score(&w, &v, penalty), exact)
		require.True(t, -5 <= off && off <= 5, "off by %g units", off)
	})
}

// Jobs of equal penalty stand in the same order whatever backlog and energy weigh
// and are worth.
func TestGlobalFactorsDoNotOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWeights(t)
		a, b := anyValues(t, "a"), anyValues(t, "b")
		if rapid.Bool().Draw(t, "near tie") {
			b = a
			b[Topology] = a[Topology] ^ model.Fixed(rapid.Int64Range(0, 7).Draw(t, "units"))
		}
		g := anyValues(t, "global")
		a[Backlog], a[Energy] = g[Backlog], g[Energy]
		b[Backlog], b[Energy] = g[Backlog], g[Energy]
		without := w
		without[Backlog], without[Energy] = 0, 0
		sign := func(w *Weights) int {
			return big.NewInt(int64(Score(w, &a, model.One))).Cmp(big.NewInt(int64(Score(w, &b, model.One))))
		}
		require.Equal(t, sign(&without), sign(&w))
	})
}

// A vector scaled by any number, fractions included, orders jobs the same unless
// they tie to within the rounding of weights.
func TestOrderIsScaleInvariant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := anyRaw(t)
		by := rapid.Float64Range(1e-6, 1e6).Draw(t, "by")
		scaled := raw
		for f := range scaled {
			scaled[f] *= by
		}
		w, err := Normalise(raw)
		require.NoError(t, err)
		s, err := Normalise(scaled)
		require.NoError(t, err)
		v := anyValues(t, "values")
		v[Conformance] = min(v[Conformance], model.One)
		for f := range w {
			require.InDelta(t, int64(w[f]), int64(s[f]), 1)
		}
		require.InDelta(t, int64(sumOf(&w, &v)), int64(sumOf(&s, &v)), 45+8+9)
	})
}

func BenchmarkScore(b *testing.B) {
	w, err := Normalise(vector("HPC batch"))
	require.NoError(b, err)
	v, sum := documented(2), model.Fixed(0)
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v[Wait] = sum & 0xffffffff
			sum += Score(&w, &v, model.One/3)
		}
	})
	// what a pass does for each job when all but the wait is tabulated
	static, curve, waited := sumOf(&w, &v)-Part(&w, &v, OfWait), CurveOf(model.Hour), model.Duration(0)
	b.Run("hoisted", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			waited += 7_654_321
			sum += Term(model.One/3, static+Term(w[Wait], curve.Of(waited)))
		}
	})
	b.Run("explain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e := Explain(&w, &v, model.One/3)
			sum += e.Score
		}
	})
}
