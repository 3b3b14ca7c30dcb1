package search

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// wait is the goal of a tuner: short waits, high use, a bound on the longest.
var wait = Goal{
	Objectives:  []Objective{{"p95", Minimise}, {"use", Maximise}},
	Constraints: []Constraint{{"longest", AtMost, 200}, {"share", AtLeast, 0}},
}

func TestScores(t *testing.T) {
	require.NoError(t, wait.Validate())
	require.Equal(t, []string{"p95", "use", "longest", "share"}, wait.Metrics())
	score := func(p95, use, longest, share float64) Score {
		s, err := wait.Score(Result{Metrics: map[string]float64{"p95": p95, "use": use, "longest": longest, "share": share}})
		require.NoError(t, err)
		return s
	}
	kept, late, unfair := score(10, 0.9, 150, 1), score(1, 0.9, 300, 1), score(1, 0.9, 300, -2)
	require.Equal(t, []float64{10, -0.9}, kept.Costs)
	require.Equal(t, []float64{-0.25, -1}, kept.Gaps)
	require.True(t, kept.Feasible())
	require.InDelta(t, 0.5, late.Excess, 1e-15, "half the bound above it")
	require.InDelta(t, 2.5, unfair.Excess, 1e-15, "a bound of 0 has unit 1")
	failed, err := wait.Score(Result{Failed: true})
	require.NoError(t, err)
	odd := score(math.NaN(), 1, 1, 1)
	require.Equal(t, failed, odd)

	ranked := []Score{kept, late, unfair, failed}
	for i := range ranked {
		for j := range ranked {
			require.Equal(t, i < j, dominates(&ranked[i], &ranked[j]), "%d %d", i, j)
			require.Equal(t, i-j < 0, better(&ranked[i], &ranked[j]) < 0)
		}
	}
	fast, full := score(5, 0.8, 0, 1), score(10, 0.95, 0, 1)
	require.False(t, dominates(&fast, &full) || dominates(&full, &fast))
	require.True(t, dominates(&full, &kept))

	_, err = wait.Score(Result{ID: 4, Metrics: map[string]float64{"p95": 1, "use": 1, "longest": 3}})
	require.ErrorContains(t, err, `trial 4 lacks metric "share"`)
}

func TestGoalRefuses(t *testing.T) {
	ok := []Objective{{"f", Minimise}}
	for want, g := range map[string]Goal{
		"no objective":          {},
		"objective 1 names no":  {Objectives: []Objective{{"", Minimise}}},
		"direction":             {Objectives: []Objective{{"f", "up"}}},
		"is there twice":        {Objectives: []Objective{{"f", Minimise}, {"f", Maximise}}},
		"constraint 1 names no": {Objectives: ok, Constraints: []Constraint{{"", AtMost, 1}}},
		"relation":              {Objectives: ok, Constraints: []Constraint{{"g", "<", 1}}},
		"finite":                {Objectives: ok, Constraints: []Constraint{{"g", AtMost, math.Inf(1)}}},
	} {
		require.ErrorContains(t, g.Validate(), want)
	}
}

// onGrid draws points whose costs are small whole numbers.
func onGrid(t *rapid.T, objectives int) []Score {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Score {
		s := Score{Excess: float64(rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "excess"))}
		for range objectives {
			s.Costs = append(s.Costs, float64(rapid.IntRange(0, 7).Draw(t, "cost")))
		}
		return s
	}), 1, 25).Draw(t, "points")
}

// TestFronts: the fronts are a partition; nothing in a front is dominated by
// its own front or a later one, and everything by a point of the front before.
func TestFronts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := onGrid(t, rapid.IntRange(1, 3).Draw(t, "objectives"))
		fronts := fronts(scores)
		var all []int
		for f, front := range fronts {
			require.True(t, slices.IsSorted(front))
			for _, i := range front {
				for _, later := range fronts[f:] {
					for _, j := range later {
						require.False(t, dominates(&scores[j], &scores[i]))
					}
				}
				require.True(t, f == 0 || slices.ContainsFunc(fronts[f-1], func(j int) bool { return dominates(&scores[j], &scores[i]) }))
			}
			all = append(all, front...)
		}
		slices.Sort(all)
		for i, j := range all {
			require.Equal(t, i, j)
		}
		require.Len(t, all, len(scores))
	})
}

// TestHypervolume counts the unit cells that are dominated.
func TestHypervolume(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.IntRange(2, 3).Draw(t, "objectives")
		scores := onGrid(t, dim)
		reference := []float64{6, 5, 7}[:dim]
		var costs [][]float64
		for _, s := range scores {
			costs = append(costs, s.Costs)
		}
		cells := 0.0
		for cell := range 6 * 5 * 7 {
			corner := []float64{float64(cell % 6), float64(cell / 6 % 5), float64(cell / 30)}[:dim]
			if dim == 2 && cell >= 30 {
				break
			}
			if slices.ContainsFunc(costs, func(c []float64) bool {
				for m := range c {
					if c[m] > corner[m] {
						return false
					}
				}
				return true
			}) {
				cells++
			}
		}
		got, err := Hypervolume(costs, reference)
		require.NoError(t, err)
		require.Equal(t, cells, got)
	})
	_, err := Hypervolume([][]float64{{1, 2}}, []float64{1, 2, 3})
	require.ErrorContains(t, err, "point 0")
	_, err = Hypervolume(nil, make([]float64, 4))
	require.ErrorContains(t, err, "only 2 and 3")
}

func TestCrowding(t *testing.T) {
	scores := []Score{{Costs: []float64{0, 10}}, {Costs: []float64{10, 0}}, {Costs: []float64{2, 6}}, {Costs: []float64{5, 5}}}
	distance := crowding(scores, []int{0, 1, 2, 3})
	require.Equal(t, []float64{math.Inf(1), math.Inf(1), 0.5 + 0.5, 0.8 + 0.6}, distance)
}

func TestBeyondInWords(t *testing.T) {
	for x, want := range map[float64]string{17.0336: "1703 %", 0.553: "55 %", 0.0117647: "1.2 %", 0.0003: "0.030 %", 0.0000001: "0.000 %"} {
		require.Equal(t, want, Beyond(x))
	}
	c := Constraint{Metric: "wait_p95 of class 10", Relation: AtMost, Value: 3600}
	require.Equal(t, "wait_p95 of class 10 <= 3600", c.String())
	require.InDelta(t, 0.5, c.Beyond(5400), 1e-12)
}
