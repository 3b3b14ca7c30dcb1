package search

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model/draw"
)

// mixed has one parameter of each kind.
var mixed = Space{
	{Name: "w", Kind: Simplex, Parts: []string{"a", "b", "c"}},
	{Name: "n", Kind: Integer, Low: 0, High: 20},
	{Name: "x", Kind: Real, Low: 0.01, High: 100, Log: true},
	{Name: "c", Kind: Choice, Choices: []string{"p", "q", "r"}},
}

var planted = []float64{0.7, 0.3, 0, 13, 2.5, 2}

// plantedCost is 0 at the planted point and above 0 elsewhere.
func plantedCost(v []float64) map[string]float64 {
	f := 0.0
	for i := range 3 {
		f += (v[i] - planted[i]) * (v[i] - planted[i])
	}
	f += math.Pow((v[3]-planted[3])/20, 2) + math.Pow(math.Log10(v[4]/planted[4])/4, 2)
	if v[5] != planted[5] {
		f += 0.1
	}
	return map[string]float64{"f": f, "g": v[3]}
}

// configs are searches by all methods, with constraint and starting points.
func configs() []Config {
	var list []Config
	for i, name := range Methods() {
		batch := 0
		if name == "bayes" { // whose own batches are of one
			batch = 4
		}
		list = append(list, Config{
			Space: mixed, Method: name, Trials: 50, Batch: batch, Seed: uint64(i),
			Goal:  Goal{Objectives: least.Objectives, Constraints: []Constraint{{"g", AtMost, 15}}},
			Start: [][]float64{{0.2, 0.3, 0.5, 4, 1, 0}, {1, 0, 0, 20, 100, 1}},
		})
	}
	return list
}

// crowd runs a search with a number of workers that take trials when they are
// free and finish in an order that seed decides; some results come twice.
func crowd(t *testing.T, s *Search, workers int, seed uint64, stop int) {
	type job struct {
		Trial
		left int64
	}
	var running []job
	d := draw.New(seed, draw.StreamOf("workers"), 0, 0)
	for told := 0; !s.Done() && told < stop; {
		for _, trial := range s.Ask(workers - len(running)) {
			running = append(running, job{trial, 1 + d.IntN(20)})
		}
		require.NotEmpty(t, running)
		next := 0
		for i := range running {
			running[i].left--
			if running[i].left < running[next].left {
				next = i
			}
		}
		trial := running[next].Trial
		running = slices.Delete(running, next, next+1)
		result := Result{ID: trial.ID, Metrics: plantedCost(trial.Values), Failed: trial.ID%11 == 7}
		require.NoError(t, s.Tell([]Result{result}))
		if d.Bool(0.2) {
			require.NoError(t, s.Tell([]Result{result}), "a late copy does no harm")
		}
		told++
	}
}

// TestWorkersDoNotMatter: one worker, and many that finish in any order, see
// the same trials and end with the same results.
func TestWorkersDoNotMatter(t *testing.T) {
	for _, c := range configs() {
		var want []Result
		for workers := 1; workers <= 9; workers += 4 {
			s, err := New(c)
			require.NoError(t, err)
			crowd(t, s, workers, uint64(workers), math.MaxInt)
			if workers == 1 {
				want = s.Results()
				require.Len(t, want, c.Trials)
				require.Equal(t, c.Start[0], want[0].Values)
				require.Equal(t, c.Start[1], want[1].Values)
			}
			require.Equal(t, want, s.Results(), "%s, %d workers", c.Method, workers)
		}
	}
}

// TestMoreTrials: a search with a larger budget begins with the trials of the
// smaller one, but for the Latin hypercube, whose slices are as many as trials.
func TestMoreTrials(t *testing.T) {
	for _, c := range configs() {
		short := drive(t, c, plantedCost).Results()
		c.Trials += 13
		long := drive(t, c, plantedCost).Results()[:50]
		if c.Method == "latin" {
			require.NotEqual(t, long, short)
			continue
		}
		require.Equal(t, long, short, c.Method)
	}
}

func TestSeedsDiffer(t *testing.T) {
	for _, c := range configs() {
		a := drive(t, c, plantedCost).Results()
		c.Seed += 100
		require.NotEqual(t, a, drive(t, c, plantedCost).Results(), c.Method)
	}
}

// TestAskReturnsEachTrialOnce: Ask gives each trial once and stops at the end of the
// batch until all its results are there.
func TestAskReturnsEachTrialOnce(t *testing.T) {
	s, err := New(Config{Space: mixed, Goal: least, Method: "cmaes", Trials: 15, Batch: 6})
	require.NoError(t, err)
	var batch []Trial
	for _, want := range []int{4, 2, 0} {
		trials := s.Ask(4)
		require.Len(t, trials, want)
		batch = append(batch, trials...)
	}
	for i, trial := range batch {
		require.Equal(t, i, trial.ID)
		require.Empty(t, s.Ask(1))
		require.NoError(t, s.Tell([]Result{{ID: i, Metrics: plantedCost(trial.Values)}}))
	}
	require.Len(t, s.Ask(100), 6)
	require.Len(t, s.Results(), 6)
	require.False(t, s.Done())
}

func TestTellRefuses(t *testing.T) {
	c := Config{Space: mixed, Goal: least, Method: "cmaes", Trials: 20, Batch: 4}
	s, err := New(c)
	require.NoError(t, err)
	trials := s.Ask(4)
	f := map[string]float64{"f": 1}
	for want, r := range map[string]Result{
		"trials 0 to 3 are out": {ID: 4, Metrics: f},
		"trial -1":              {ID: -1, Metrics: f},
		"belongs to another":    {ID: 1, Values: trials[0].Values, Metrics: f},
		`lacks metric "f"`:      {ID: 1, Metrics: map[string]float64{"g": 1}},
	} {
		require.ErrorContains(t, s.Tell([]Result{r}), want)
	}
	require.NoError(t, s.Tell([]Result{{ID: 1, Metrics: f}, {ID: 0, Metrics: map[string]float64{"f": math.NaN()}}}))
	require.NoError(t, s.Tell([]Result{{ID: 0, Metrics: map[string]float64{"f": math.NaN()}}}))
	require.ErrorContains(t, s.Tell([]Result{{ID: 1, Failed: true}}), "not deterministic")
	require.NoError(t, s.Tell([]Result{{ID: 2, Metrics: f}, {ID: 3, Failed: true}}))
	require.ErrorContains(t, s.Tell([]Result{{ID: 3, Metrics: f}}), "not deterministic")
	require.Equal(t, []Result{{ID: 1, Values: trials[1].Values, Metrics: f}}, s.Best(), "the earlier of equals")
}

func TestNewRefuses(t *testing.T) {
	wide := Space{}
	for i := range maxSobol + 1 {
		wide = append(wide, Parameter{Name: fmt.Sprint(i), Kind: Real, High: 1})
	}
	two := Goal{Objectives: []Objective{{"f", Minimise}, {"g", Minimise}}}
	for want, c := range map[string]Config{
		"no parameters":        {Goal: least, Method: "random", Trials: 1},
		"no objective":         {Space: mixed, Method: "random", Trials: 1},
		"unknown method":       {Space: mixed, Goal: least, Method: "odd", Trials: 1},
		"0 trials":             {Space: mixed, Goal: least, Method: "random"},
		"starting point 1":     {Space: mixed, Goal: least, Method: "random", Trials: 1, Start: [][]float64{{1}}},
		`"cmaes" takes one`:    {Space: mixed, Goal: two, Method: "cmaes", Trials: 1},
		`"bayes" in 65`:        {Space: wide, Goal: least, Method: "bayes", Trials: 1},
		`"nsga2" in 65`:        {Space: wide, Goal: least, Method: "nsga2", Trials: 1},
		"first batch of cmaes": {Space: mixed, Goal: least, Method: "cmaes", Trials: 1, Batch: 4, Start: slices.Repeat([][]float64{planted}, 5)},
		"64 are known":         {Space: wide, Goal: least, Method: "sobol", Trials: 1},
	} {
		_, err := New(c)
		require.ErrorContains(t, err, want)
	}
}
