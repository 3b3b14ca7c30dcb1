package search

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model/draw"
)

// unitSpace has d reals from 0 to 1.
func unitSpace(d int) Space {
	var s Space
	for j := range d {
		s = append(s, Parameter{Name: string(rune('a' + j)), Kind: Real, High: 1})
	}
	return s
}

// volumeOf is the hypervolume of the best results of a search.
func volumeOf(t *testing.T, s *Search, reference []float64) float64 {
	var costs [][]float64
	for _, r := range s.Best() {
		score, err := s.config.Goal.Score(r)
		require.NoError(t, err)
		require.True(t, score.Feasible())
		costs = append(costs, score.Costs)
	}
	v, err := Hypervolume(costs, reference)
	require.NoError(t, err)
	return v
}

// TestFrontsAreFound compares the hypervolume of the front that NSGA-II finds
// with that of the true one and with what random search finds in as many
// trials. The problems are ZDT1 and ZDT2 (Zitzler, Deb, Thiele: Comparison of
// multiobjective evolutionary algorithms, 2000) with six variables, DTLZ2 (Deb
// et al.: Scalable multi-objective optimization test problems, 2002) with three
// objectives and five variables, and ZDT1 with a constraint that cuts the
// front at 0.25. One objective each is turned over, to be maximised.
func TestFrontsAreFound(t *testing.T) {
	tail := func(v []float64) float64 {
		g := 1.0
		for _, x := range v[1:] {
			g += 9 * x / float64(len(v)-1)
		}
		return g
	}
	zdt := func(shape func(x, g float64) float64) func(v []float64) map[string]float64 {
		return func(v []float64) map[string]float64 {
			g := tail(v)
			return map[string]float64{"a": v[0], "b": -g * shape(v[0], g)}
		}
	}
	zdt1 := zdt(func(x, g float64) float64 { return 1 - math.Sqrt(x/g) })
	two := []Objective{{"a", Minimise}, {"b", Maximise}}
	for _, c := range []struct {
		name      string
		dim       int
		goal      Goal
		f         func(v []float64) map[string]float64
		reference []float64
		truth     float64
		share     float64 // of the truth that must be found
	}{
		{"ZDT1", 6, Goal{Objectives: two}, zdt1, []float64{1.1, 1.1}, 1.21 - 1.0/3, 0.95},
		{"ZDT2", 6, Goal{Objectives: two}, zdt(func(x, g float64) float64 { return 1 - x*x/(g*g) }), []float64{1.1, 1.1}, 1.21 - 2.0/3, 0.9},
		{"ZDT1, bounded", 6, Goal{Objectives: two, Constraints: []Constraint{{"a", AtLeast, 0.25}}}, zdt1, []float64{1.1, 1.1},
			1.1*0.85 - (0.75 - 2.0/3*(1-0.125)), 0.95},
		{"DTLZ2", 5, Goal{Objectives: []Objective{{"a", Minimise}, {"b", Minimise}, {"c", Maximise}}}, func(v []float64) map[string]float64 {
			g := 1.0
			for _, x := range v[2:] {
				g += (x - 0.5) * (x - 0.5)
			}
			p, q := v[0]*math.Pi/2, v[1]*math.Pi/2
			return map[string]float64{"a": g * math.Cos(p) * math.Cos(q), "b": g * math.Cos(p) * math.Sin(q), "c": -g * math.Sin(p)}
		}, []float64{1.1, 1.1, 1.1}, 1.331 - math.Pi/6, 0.86},
	} {
		config := Config{Space: unitSpace(c.dim), Goal: c.goal, Method: "nsga2", Trials: 1600, Seed: 1}
		found := volumeOf(t, drive(t, config, c.f), c.reference)
		config.Method = "random"
		byRandom := volumeOf(t, drive(t, config, c.f), c.reference)
		t.Logf("%-14s %.3f of %.3f; random search %.3f", c.name, found, c.truth, byRandom)
		require.LessOrEqual(t, found, c.truth+1e-9)
		require.Greater(t, found, c.share*c.truth, c.name)
		require.Greater(t, found, byRandom)
	}
}

// TestPopulation: selection keeps the first front, and of a front that does
// not fit those that are alone, the ends first.
func TestPopulation(t *testing.T) {
	m, err := newNSGA(&Config{Space: unitSpace(1), Goal: Goal{Objectives: make([]Objective, 2)}, Method: "nsga2"})
	require.NoError(t, err)
	g := m.(*nsga)
	g.least = 4
	var values [][]float64
	var scores []Score
	for _, c := range [][]float64{{0, 4}, {1, 3.2}, {1.1, 3}, {2, 2}, {4, 0}, {9, 9}} {
		values, scores = append(values, []float64{c[0] / 10}), append(scores, Score{Costs: c})
	}
	g.learn(0, values, scores)
	var kept []float64
	for _, s := range g.scores {
		kept = append(kept, s.Costs[0])
	}
	require.Equal(t, []float64{0, 1.1, 2, 4}, kept)
	require.Equal(t, []int{0, 0, 0, 0}, g.rank)
}

// TestVariation: crossover keeps the mean of the parents, mutation the bounds
// and from the middle the mean, and a transfer the sum of the weights.
func TestVariation(t *testing.T) {
	d := draw.New(1, draw.StreamOf("variation"), 0, 0)
	sum, moved := 0.0, 0.0
	const n = 20_000
	for range n {
		sum += crossed(0.4, 0.5, &d) + crossed(0.5, 0.4, &d)
		x := mutated(0.9, &d)
		require.True(t, x >= 0 && x <= 1)
		moved += mutated(0.5, &d)
	}
	require.InDelta(t, 0.9, sum/n, 0.002)
	require.InDelta(t, 0.5, moved/n, 0.005)
	p := Parameter{Name: "w", Kind: Simplex, Parts: []string{"a", "b", "c"}}
	zeros := 0
	for range 300 {
		u := []float64{d.Open(), d.Open()}
		p.transfer(u, &d)
		w := Space{p}.FromUnit(u)
		require.NoError(t, Space{p}.Check(w))
		if slices.Contains(w, 0) {
			zeros++
		}
	}
	require.InDelta(t, 150, zeros, 40)
}
