package search

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"
)

// anyParameter draws a valid parameter.
func anyParameter(t *rapid.T, name string) Parameter {
	p := Parameter{Name: name, Kind: rapid.SampledFrom([]Kind{Real, Integer, Choice, Simplex}).Draw(t, "kind")}
	names := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprint("v", i))
		}
		return list
	}
	switch p.Kind {
	case Real:
		p.Log = rapid.Bool().Draw(t, "log")
		p.Low = rapid.Float64Range(-1e6, 1e6).Draw(t, "low")
		if p.Log {
			p.Low = rapid.Float64Range(1e-6, 1e6).Draw(t, "positive low")
		}
		p.High = p.Low + rapid.Float64Range(1e-3, 1e6).Draw(t, "width")
	case Integer:
		p.Log = rapid.Bool().Draw(t, "log")
		p.Low = float64(rapid.IntRange(-1000, 1000).Draw(t, "low"))
		if p.Log {
			p.Low = float64(rapid.IntRange(1, 1000).Draw(t, "positive low"))
		}
		p.High = p.Low + float64(rapid.IntRange(1, 100_000).Draw(t, "width"))
	case Choice:
		p.Choices = names(rapid.IntRange(2, 9).Draw(t, "choices"))
	case Simplex:
		p.Parts = names(rapid.IntRange(2, 12).Draw(t, "parts"))
		p.Floor = rapid.SampledFrom([]float64{0, 0.001, 0.01, 0.05}).Draw(t, "floor")
	}
	return p
}

func anySpace(t *rapid.T) Space {
	var s Space
	for i := range rapid.IntRange(1, 4).Draw(t, "parameters") {
		s = append(s, anyParameter(t, fmt.Sprint("p", i)))
	}
	return s
}

// sameValues compares points; those of integers and choices must be equal, and a
// weight that is 0 must stay exactly 0.
func sameValues(t require.TestingT, s Space, want, got []float64) {
	at := 0
	for i := range s {
		for range s[i].width() {
			if s[i].steps() > 0 || want[at] == 0 {
				require.Equal(t, want[at], got[at], "%+v", s[i])
			} else {
				require.InEpsilon(t, want[at], got[at], 1e-5, "%+v", s[i])
			}
			at++
		}
	}
}

// TestRoundTrips: all coordinates give a legal point, and the coordinates of
// the point give the point again, in both charts.
func TestRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySpace(t)
		require.NoError(t, s.Validate())
		u := make([]float64, s.Dim())
		for j := range u {
			u[j] = rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1, 0.5})).Draw(t, "u")
		}
		v := s.FromUnit(u)
		require.NoError(t, s.Check(v))
		require.Len(t, v, len(s.Columns()))
		back, err := s.ToUnit(v)
		require.NoError(t, err)
		sameValues(t, s, v, s.FromUnit(back))
		sameValues(t, s, v, s.fromReal(s.toReal(v)))

		x := make([]float64, s.Dim())
		for j := range x {
			x[j] = rapid.Float64Range(-20, 20).Draw(t, "x")
		}
		v = s.fromReal(x)
		require.NoError(t, s.Check(v))
		sameValues(t, s, v, s.fromReal(s.toReal(v)))
	})
}

// TestWeightsAreKeptOrZero: every weight is 0 or at least the floor.
func TestWeightsAreKeptOrZero(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(2, 12).Draw(t, "weights")
		z := make([]float64, k-1)
		for i := range z {
			z[i] = rapid.Float64Range(-30, 30).Draw(t, "z")
		}
		sum := 0.0
		for _, w := range weightsOf(z, 0.02) {
			require.True(t, w == 0 || w >= 0.02*(1-1e-12), "%v", w)
			sum += w
		}
		require.InDelta(t, 1, sum, 1e-12)
	})
}

// TestUniformCoordinates: uniform coordinates give each choice and whole number
// its share, weights that are exchangeable, and to within a fifth of the
// deviation that uniform points of the simplex have, √((k-1)/(k²(k+1))): the
// logistic normal prior is uniform in the mean and variance of log-ratios.
func TestUniformCoordinates(t *testing.T) {
	s := Space{
		{Name: "w", Kind: Simplex, Parts: []string{"a", "b", "c", "d"}},
		{Name: "n", Kind: Integer, Low: 3, High: 6},
		{Name: "c", Kind: Choice, Choices: []string{"x", "y", "z"}},
		{Name: "l", Kind: Real, Low: 1, High: 100, Log: true},
	}
	points, err := Sample(s, "sobol", 4096, 3)
	require.NoError(t, err)
	columns := make([][]float64, len(s.Columns()))
	for _, v := range points {
		for j, x := range v {
			columns[j] = append(columns[j], x)
		}
	}
	for j := range 4 {
		mean, deviation := stat.MeanStdDev(columns[j], nil)
		require.InDelta(t, 0.25, mean, 0.005, "weight %d", j)
		require.InEpsilon(t, math.Sqrt(3.0/(16*5)), deviation, 0.2, "weight %d", j)
	}
	require.InDelta(t, 4.5, stat.Mean(columns[4], nil), 0.01)
	require.InDelta(t, 1, stat.Mean(columns[5], nil), 0.01)
	below := 0
	for _, x := range columns[6] {
		if x < 10 {
			below++
		}
	}
	require.InDelta(t, 2048, below, 4, "half of the points lie below the middle order of magnitude")
}

func TestMirror(t *testing.T) {
	for x, want := range map[float64]float64{0.25: 0.25, 1.25: 0.75, 1.75: 0.25, 2.25: 0.25, -0.25: 0.25, -1.25: 0.75, 0: 0, 1: 1, 2: 0} {
		require.InDelta(t, want, mirror(x), 1e-15, "%v", x)
	}
}

func TestSpaceRefuses(t *testing.T) {
	for want, s := range map[string]Space{
		"no parameters":          {},
		"has no name":            {{Kind: Real, High: 1}},
		"unknown kind":           {{Name: "a", Kind: "odd"}},
		"below high":             {{Name: "a", Kind: Real, Low: 1, High: 1}},
		"above 0":                {{Name: "a", Kind: Real, High: 1, Log: true}},
		"whole numbers":          {{Name: "a", Kind: Integer, High: 1.5}},
		"not exact":              {{Name: "a", Kind: Integer, High: 1e300}},
		"two at least":           {{Name: "a", Kind: Choice, Choices: []string{"x"}}},
		"twice or empty":         {{Name: "a", Kind: Choice, Choices: []string{"x", "x"}}},
		"0 for the default":      {{Name: "a", Kind: Simplex, Parts: []string{"x", "y"}, Floor: 0.5}},
		"low, high and log":      {{Name: "a", Kind: Choice, Choices: []string{"x", "y"}, High: 2}},
		"choices belong":         {{Name: "a", Kind: Real, High: 1, Choices: []string{"x"}}},
		"parts and floor belong": {{Name: "a", Kind: Real, High: 1, Floor: 0.1}},
		"in the space twice":     {{Name: "a", Kind: Real, High: 1}, {Name: "a", Kind: Real, High: 1}},
	} {
		require.ErrorContains(t, s.Validate(), want)
	}
	long := make([]string, 201)
	for i := range long {
		long[i] = fmt.Sprint(i)
	}
	require.ErrorContains(t, Space{{Name: "a", Kind: Simplex, Parts: long}}.Validate(), "200 at most")
	for want, v := range map[string][]float64{
		"values for":         {1},
		"outside":            {0.5, 0.5, 100, 1e5, 0, 0, 0, 0, 2000, 3600},
		"not a whole number": {0.5, 0.5, 0, 0, 0, 0, 0, 0, 1.5, 3600},
		"sum to":             {0.5, 0.4, 0, 0, 0, 0, 0, 0, 1, 3600},
	} {
		require.ErrorContains(t, nine.Check(v), want)
		_, err := nine.ToUnit(v)
		require.Error(t, err)
	}
	require.ErrorContains(t, nine.Check([]float64{math.NaN(), 1, 0, 0, 0, 0, 0, 0, 1, 3600}), "outside")
	require.Panics(t, func() { nine.FromUnit(nil) })
}

// A space survives JSON.
func TestSpaceAsJSON(t *testing.T) {
	s := Space{{Name: "w", Kind: Simplex, Parts: []string{"a", "b"}}, {Name: "order", Kind: Choice, Choices: []string{"fcfs", "sjf"}}}
	text, err := json.Marshal(s)
	require.NoError(t, err)
	var back Space
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, s, back)
}
