package search

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize/functions"

	"orrery/scheduler/model/draw"
)

// problem is a function over a box with its known minimum.
type problem struct {
	name string
	low  []float64
	high []float64
	f    func(x []float64) float64
	min  float64
}

// problems are gonum's test functions that have two to four variables, in
// boxes whose middle is not the minimum.
var problems = []problem{
	{"Branin-Hoo", []float64{-5, 0}, []float64{10, 15}, functions.BraninHoo{}.Func, 0.397887357729739},
	{"Beale", []float64{-4.5, -4.5}, []float64{4.5, 4.5}, functions.Beale{}.Func, 0},
	{"Rosenbrock", []float64{-2, -1}, []float64{2, 3}, functions.ExtendedRosenbrock{}.Func, 0},
	{"helical valley", []float64{-3, -2, -2}, []float64{2, 3, 3}, functions.HelicalValley{}.Func, 0},
	{"Wood", []float64{-2, -2, -2, -2}, []float64{3, 3, 3, 3}, functions.Wood{}.Func, 0},
	{"sphere", []float64{-3, -3, -3, -3}, []float64{7, 7, 7, 7}, functions.Sphere{}.Func, 0},
}

func (p *problem) space() Space {
	var s Space
	for i := range p.low {
		s = append(s, Parameter{Name: string(rune('a' + i)), Kind: Real, Low: p.low[i], High: p.high[i]})
	}
	return s
}

var least = Goal{Objectives: []Objective{{Metric: "f", Direction: Minimise}}}

// drive runs a search to its end, one worker.
func drive(t testing.TB, c Config, evaluate func(v []float64) map[string]float64) *Search {
	t.Helper()
	s, err := New(c)
	require.NoError(t, err)
	for !s.Done() {
		trials := s.Ask(1 << 20)
		require.NotEmpty(t, trials)
		for _, trial := range trials {
			require.NoError(t, s.Tell([]Result{{ID: trial.ID, Values: trial.Values, Metrics: evaluate(trial.Values)}}))
		}
	}
	return s
}

// regret is how far the best trial is from the minimum.
func (p *problem) regret(t testing.TB, method string, trials int, seed uint64) float64 {
	s := drive(t, Config{Space: p.space(), Goal: least, Method: method, Trials: trials, Seed: seed},
		func(v []float64) map[string]float64 { return map[string]float64{"f": p.f(v)} })
	return s.Best()[0].Metrics["f"] - p.min
}

// interval is the 95 % percentile bootstrap interval of a mean.
func interval(x []float64, seed uint64) (mean, low, high float64) {
	const resamples = 2000
	means := make([]float64, resamples)
	for r := range means {
		d := draw.New(seed, draw.StreamOf("bootstrap"), uint64(r), 0)
		for range x {
			means[r] += x[d.IntN(int64(len(x)))] / float64(len(x))
		}
	}
	slices.Sort(means)
	for _, v := range x {
		mean += v / float64(len(x))
	}
	return mean, means[resamples/40], means[resamples-1-resamples/40]
}

// TestBeatsRandom: at the same number of trials each method comes closer to
// the minimum than random search. A design is judged by the difference of the
// regrets as a fraction of random search's mean regret on the function: it
// avoids bad luck, which a mean shows. A method that learns is judged by orders
// of magnitude, log10 of the regret. The 95 % interval over all functions and
// seeds lies below 0.
func TestBeatsRandom(t *testing.T) {
	for _, c := range []struct {
		method string
		trials int
		seeds  int
		learns bool
	}{
		{"sobol", 128, 200, false},
		{"halton", 128, 200, false},
		{"latin", 32, 600, false},
		{"cmaes", 160, 20, true},
		{"nsga2", 256, 10, true},
		{"bayes", 40, 4, true},
	} {
		t.Run(c.method, func(t *testing.T) {
			var all []float64
			for i := range problems {
				p := &problems[i]
				differences := p.against(t, c.method, c.trials, c.seeds, c.learns)
				mean, _, _ := interval(differences, 1)
				t.Logf("%-14s %+.2f", p.name, mean)
				all = append(all, differences...)
			}
			mean, low, high := interval(all, 1)
			t.Logf("%-14s %+.3f [%+.3f, %+.3f]", "all", mean, low, high)
			require.Negative(t, high)
		})
	}
}

// against are the differences of a method to random search, one for each seed.
func (p *problem) against(t *testing.T, method string, trials, seeds int, learns bool) []float64 {
	differences := make([]float64, seeds)
	random := 0.0
	for seed := range differences {
		own, luck := p.regret(t, method, trials, uint64(seed)), p.regret(t, "random", trials, uint64(seed))
		differences[seed] = own - luck
		if learns {
			differences[seed] = math.Log10(own+1e-9) - math.Log10(luck+1e-9)
		}
		random += luck / float64(seeds)
	}
	if !learns {
		floats.Scale(1/random, differences)
	}
	return differences
}
