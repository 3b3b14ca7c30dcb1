package stat

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model/draw"
)

var nan = math.NaN()

var testStream = draw.StreamOf("stat test series")

// series are normal values of mean 0 in which each leans on the one before by phi.
func series(n int, phi float64, key uint64) []float64 {
	source := draw.New(1, testStream, key, 0)
	out := make([]float64, n)
	value := source.Normal() / math.Sqrt(1-phi*phi)
	for i := range out {
		out[i] = value
		value = phi*value + source.Normal()
	}
	return out
}

// oneSeed are observations of windows 0, 1, 2 ... with seed 0.
func oneSeed(values ...float64) []Observation { return withSeed(0, values...) }

func withSeed(seed int, values ...float64) []Observation {
	var out []Observation
	for w, v := range values {
		out = append(out, Observation{w, seed, v})
	}
	return out
}

func pairsOf(t require.TestingT, baseline, candidate []float64) Pairs {
	p, err := Pair(oneSeed(baseline...), oneSeed(candidate...))
	require.NoError(t, err)
	return p
}

func TestMean(t *testing.T) {
	require.Equal(t, 2.5, Mean([]float64{4, 1, 2, 3}))
	require.True(t, math.IsNaN(Mean(nil)))
}

func TestSettingsSayWhatIsWrong(t *testing.T) {
	require.NoError(t, Defaults().Validate())
	require.EqualError(t, Settings{Confidence: 1.2, MinWindows: 7, Margin: -1, Draws: 5}.Validate(),
		"stat: confidence 1.2: give a number between 0 and 1, such as 0.95\n"+
			"stat: a minimum of 7 windows: give at least 8\n"+
			"stat: margin -1: give a part of the baseline from 0, such as 0.01\n"+
			"stat: 5 draws: give at least 99")
	_, err := Defaults().Interval(nil)
	require.NoError(t, err)
	_, err = Settings{}.Interval(nil)
	require.Error(t, err)
}

func TestIntervalTimes(t *testing.T) {
	require.Equal(t, Interval{-2, -6, -1, 0.9}, Interval{1, 0.5, 3, 0.9}.Times(-2))
	require.Equal(t, Interval{2, 1, 6, 0.9}, Interval{1, 0.5, 3, 0.9}.Times(2))
}
