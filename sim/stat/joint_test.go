package stat

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model/draw"
)

// TestDependenceByHand: of 1, 2, 3, 4 about 2.5 the products of neighbours are
// 0.75 - 0.25 + 0.75 and the squares 5, so r is 0.25.
func TestDependenceByHand(t *testing.T) {
	up := []float64{1, 2, 3, 4}
	r, ok := neighbours(up)
	require.True(t, ok)
	require.InDelta(t, 0.25, r, 1e-15)
	require.Equal(t, 0.9, Dependence(up), "0.25 + 1.75/4 + √(0.9375/4) is more")
	zigzag := []float64{1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1}
	require.Zero(t, Dependence(zigzag), "values that turn back are taken as independent")
	long := series(400, 0.5, 1)
	r, _ = neighbours(long)
	require.InDelta(t, r+(1+3*r)/400+math.Sqrt((1-r*r)/400), Dependence(long), 1e-12)
	require.InDelta(t, 0.5, r, 0.1)
	require.Zero(t, Dependence([]float64{3, 3, 3}), "a constant series says nothing")
	require.Equal(t, Dependence(long), Dependence(long, slices.Repeat([]float64{7}, 400)))
}

// TestDependenceInHundredths: rounded up, except for the last digits.
func TestDependenceInHundredths(t *testing.T) {
	require.Equal(t, 90, hundredths([]float64{1, 2, 3, 4}))
	require.Zero(t, hundredths([]float64{3, 3, 3}))
	for k := range uint64(20) {
		x := series(40, 0.5, k)
		phi := max(Dependence(x), Dependence(roots(x)))
		require.InDelta(t, 100*phi+0.5, hundredths(x), 0.5)
	}
	// r = 0 of 25 values: 1/25 + √(1/25) is 0.24 but for rounding, in any unit.
	for _, unit := range []float64{1, 0.1, 1.0 / 3, 7e9} {
		alone := make([]float64, 25)
		alone[3], alone[10] = 4*unit, -4*unit
		require.Equal(t, 24, hundredths(alone), "unit %v", unit)
	}
}

// TestRootsByHand: about the median, which is 2 here.
func TestRootsByHand(t *testing.T) {
	require.Equal(t, []float64{-1, 7, 0, 1, -1}, roots([]float64{1, 51, 2, 3, 1}))
	require.Equal(t, []float64{-1, 1}, roots([]float64{1, 3}))
}

// TestOneLargeValueHidesNoDependence: neighbours are alike but for one window that
// outweighs all others.
func TestOneLargeValueHidesNoDependence(t *testing.T) {
	x := series(40, 0.8, 3)
	x[20] += 15
	require.Less(t, Dependence(x), 0.5)
	require.Greater(t, hundredths(x), 65)
}

// family is a baseline and candidates whose windows differ from it by chance alone:
// lognormal levels, and noise that depends on the window before and is in part that of
// all candidates.
func family(n, candidates int, phi float64, key uint64) (baseline []float64, out [][]float64) {
	levels, shared := series(n, phi, key*1000), series(n, phi, key*1000+1)
	for t := range levels {
		levels[t] = math.Exp(levels[t])
		baseline = append(baseline, levels[t])
	}
	for k := range candidates {
		own := series(n, phi, key*1000+2+uint64(k))
		values := make([]float64, n)
		for t := range values {
			values[t] = levels[t] * math.Exp(0.3*math.Sqrt(1-phi*phi)*(math.Sqrt(0.7)*shared[t]+math.Sqrt(0.3)*own[t]))
		}
		out = append(out, values)
	}
	return baseline, out
}

// TestJointClaimsNothing: families of candidates that differ by chance alone, in which
// 5 % may claim something; the bands are three standard deviations. The same test with
// the law of independent windows is shown to claim too much.
func TestJointClaimsNothing(t *testing.T) {
	const families = 60
	for _, c := range []struct {
		phi  float64
		most int
	}{{0, 8}, {0.5, 10}} {
		claims, blind := 0, 0
		for k := range uint64(families) {
			baseline, candidates := family(40, 5, c.phi, k)
			j, err := Defaults().Joint(against(baseline, candidates...))
			require.NoError(t, err)
			least, largest := 1.0, 0.0
			for _, r := range j.Candidates {
				least, largest = min(least, r.P), max(largest, math.Abs(r.Windows.T), math.Abs(r.Sums.T))
			}
			require.Equal(t, largest > j.Critical, least <= 0.05, "the two ways to say it")
			if least <= 0.05 {
				claims++
			}
			if largest > 2.6 { // near the critical value of independent windows
				blind++
			}
		}
		require.LessOrEqual(t, claims, c.most, "phi %v", c.phi)
		if c.phi > 0 {
			require.Greater(t, blind, max(10, 2*claims), "a law that does not look at the dependence")
		}
	}
}

// TestJointFinds what was planted, and says beforehand how large a gain it would find.
func TestJointFinds(t *testing.T) {
	const runs = 80
	found := 0
	for k := range uint64(runs) {
		source := draw.New(2, testStream, k, 0)
		baseline, same, better := make([]float64, 40), make([]float64, 40), make([]float64, 40)
		for i := range baseline {
			baseline[i] = math.Exp(source.Normal())
			same[i] = baseline[i] * math.Exp(0.3*source.Normal())
			better[i] = baseline[i] * math.Exp(0.3*source.Normal())
		}
		j, err := Defaults().Joint(against(baseline, same, better))
		require.NoError(t, err)
		planted := j.Detectable(j.Candidates[1].Windows, 40, 0.8)
		for i := range better {
			better[i] *= math.Exp(-planted)
		}
		j, err = Defaults().Joint(against(baseline, same, better))
		require.NoError(t, err)
		if r := j.Candidates[1]; r.P <= 0.05 {
			found++
			require.Negative(t, r.Windows.Estimate)
			require.LessOrEqual(t, r.P, j.Candidates[0].P)
		}
		m := j.Candidates[1].Windows
		enough := int(j.WindowsFor(m, 0.8))
		require.LessOrEqual(t, j.Detectable(m, enough, 0.8), math.Abs(m.Estimate)*(1+1e-9))
		require.Greater(t, j.Detectable(m, enough-1, 0.8), math.Abs(m.Estimate)*(1-1e-9))
	}
	require.Greater(t, found, runs*65/100)
	require.Less(t, found, runs*95/100, "a gain that is always found is no least one")
}

// TestJointProperties: units do not matter, exchanging the sides changes signs alone,
// candidates that are there twice change nothing, and their order changes p by no more than
// the draws differ.
func TestJointProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		baseline, candidates := family(rapid.IntRange(8, 30).Draw(t, "windows"), rapid.IntRange(1, 4).Draw(t, "candidates"), 0.3, rapid.Uint64Range(0, 1000).Draw(t, "key"))
		of := func(baseline []float64, candidates [][]float64) *Joint {
			j, err := Defaults().Joint(against(baseline, candidates...))
			require.NoError(t, err)
			return j
		}
		now := of(baseline, candidates)
		doubled := of(baseline, append(slices.Clone(candidates), candidates...))
		for i := range candidates {
			require.InDelta(t, now.Candidates[i].P, doubled.Candidates[i].P, 1e-9)
			require.Equal(t, doubled.Candidates[i], doubled.Candidates[i+len(candidates)])
		}
		other := slices.Clone(candidates)
		slices.Reverse(other)
		turned := of(baseline, other)
		for i := range candidates {
			require.Equal(t, now.Candidates[i].Sums, turned.Candidates[len(candidates)-1-i].Sums)
			require.InDelta(t, now.Candidates[i].P, turned.Candidates[len(candidates)-1-i].P, 0.07, "four standard deviations of a p of one half")
		}
		scaled := of(times(baseline, 4), [][]float64{times(candidates[0], 4)})
		alone := of(baseline, candidates[:1])
		require.Equal(t, alone, scaled)
		back := of(candidates[0], [][]float64{baseline}).Candidates[0]
		require.InDelta(t, -alone.Candidates[0].Windows.Estimate, back.Windows.Estimate, 1e-12)
		require.InDelta(t, -alone.Candidates[0].Sums.Estimate, back.Sums.Estimate, 1e-12)
		require.InDelta(t, alone.Candidates[0].P, back.P, 0.01)
	})
}

func times(values []float64, by float64) []float64 {
	out := slices.Clone(values)
	for i := range out {
		out[i] *= by
	}
	return out
}

// against holds candidates against one baseline.
func against(baseline []float64, candidates ...[]float64) (out []Sides) {
	for _, c := range candidates {
		out = append(out, Sides{baseline, c})
	}
	return out
}

// TestJointEdges: what cannot be said is not said.
func TestJointEdges(t *testing.T) {
	ten := func(values ...float64) []float64 {
		return append(slices.Repeat([]float64{1}, 10-len(values)), values...)
	}
	s := Defaults()
	_, err := s.Joint(against(ten()[:7], ten()[:7]))
	require.ErrorContains(t, err, "7 windows, at least 8 needed")
	_, err = s.Joint(against(ten(), ten()[:9]))
	require.ErrorContains(t, err, "9 windows of candidate 0, and 10")
	for _, bad := range []float64{math.NaN(), -1, math.Inf(1)} {
		_, err = s.Joint(against(ten(), ten(bad)))
		require.ErrorContains(t, err, "candidate 0: stat: a window without a number")
	}
	j, err := s.Joint(against(ten(2, 3), ten(2, 3), ten(2, 0), slices.Repeat([]float64{0}, 10)))
	require.NoError(t, err)
	require.Equal(t, JointRow{JointMean{}, JointMean{}, 1}, j.Candidates[0], "it does not differ")
	require.True(t, math.IsNaN(j.Candidates[1].Windows.T), "the ratio of a window that is 0 on one side")
	require.True(t, Finite(j.Candidates[1].Sums.T))
	require.Equal(t, 1.0, j.Candidates[2].P, "no ratio of any kind")
	require.True(t, math.IsInf(j.WindowsFor(j.Candidates[0].Windows, 0.8), 1), "no change, so no number of windows shows it")
	_, err = s.Joint(nil)
	require.ErrorContains(t, err, "no candidate to test")
	j, err = s.Joint(against(ten(2, 3), times(ten(2, 3), 0.5)))
	require.NoError(t, err)
	require.Less(t, j.Candidates[0].P, 0.001, "half in every window")
}
