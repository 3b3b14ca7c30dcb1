package search

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model/draw"
)

// nine is a space of nine dimensions like that of a profile: eight weights and
// two numbers.
var nine = Space{
	{Name: "weights", Kind: Simplex, Parts: []string{"age", "share", "size", "class", "quality", "fit", "length", "locality"}},
	{Name: "depth", Kind: Integer, Low: 1, High: 1000, Log: true},
	{Name: "half-life", Kind: Real, Low: 3600, High: 30 * 86400, Log: true},
}

// bowl has its minimum at a planted point; its two metrics are a cost and a
// bounded second one.
func bowl(s Space, planted []float64) func(v []float64) map[string]float64 {
	at, err := s.ToUnit(planted)
	if err != nil {
		panic(err)
	}
	return func(v []float64) map[string]float64 {
		u, err := s.ToUnit(v)
		if err != nil {
			panic(err)
		}
		sum := 0.0
		for j := range u {
			sum += (u[j] - at[j]) * (u[j] - at[j])
		}
		return map[string]float64{"f": sum, "g": math.Abs(u[0] - at[0])}
	}
}

// history is what a random search of n trials would have told.
func history(b testing.TB, s Space, g Goal, n int) ([][]float64, []Score) {
	values, err := Sample(s, "random", n, 7)
	require.NoError(b, err)
	f := bowl(s, values[0])
	scores := make([]Score, n)
	for i, v := range values {
		metrics := f(v)
		d := draw.New(7, draw.StreamOf("noise"), uint64(i), 0)
		metrics["f"] += 0.05 * d.Normal()
		scores[i], err = g.Score(Result{ID: i, Metrics: metrics})
		require.NoError(b, err)
	}
	return values, scores
}

// BenchmarkAsk is the cost of one batch after 500 results in nine dimensions.
//
//	go test ./sim/search -run '^$' -bench Ask -count 6 | benchstat -
func BenchmarkAsk(b *testing.B) {
	one := Goal{Objectives: least.Objectives}
	bounded := Goal{Objectives: least.Objectives, Constraints: []Constraint{{Metric: "g", Relation: AtMost, Value: 0.2}}}
	two := Goal{Objectives: []Objective{{Metric: "f", Direction: Minimise}, {Metric: "g", Direction: Minimise}}}
	for _, c := range []struct {
		name, method string
		goal         Goal
	}{{"bayes", "bayes", one}, {"bayes, one constraint", "bayes", bounded}, {"bayes, two objectives", "bayes", two}, {"cmaes", "cmaes", one}, {"nsga2", "nsga2", two}} {
		values, scores := history(b, nine, c.goal, 500)
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				config := Config{Space: nine, Goal: c.goal, Method: c.method, Trials: 1000}
				m, err := methods[c.method](&config)
				require.NoError(b, err)
				for first := 0; first+m.batch() <= 500; first += m.batch() {
					if c.method == "cmaes" { // the others keep nothing of what they proposed
						m.propose(first, m.batch())
					}
					m.learn(first, values[first:first+m.batch()], scores[first:first+m.batch()])
				}
				m.propose(500, m.batch())
			}
		})
	}
}

func BenchmarkSobol(b *testing.B) {
	s, err := newSobol(9, 1)
	require.NoError(b, err)
	u := make([]float64, 9)
	i := uint32(0)
	b.ReportAllocs()
	for b.Loop() {
		s.Point(i, u)
		i++
	}
}
