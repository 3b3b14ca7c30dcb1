package metric

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
)

// judged runs a Series through 40 s in which the queue holds queue(i) units in
// second i.
func judged(t require.TestingT, units int64, queue func(i int64) int64) Verdict {
	s, err := NewSeries(Config{Units: units})
	require.NoError(t, err)
	for i := range int64(40) {
		s.Observe(model.Time(i*sec), State{QueuedUnits: queue(i), QueuedJobs: 1})
		s.CountSubmit(model.Time(i*sec), 1)
	}
	s.CountSubmit(model.Time(40*sec), 1)
	tab, err := Compute(jobsOf([]job{{0, 0, 1, 1, 0, model.Completed}}), s)
	require.NoError(t, err)
	return tab.Verdict
}

func TestVerdictByShape(t *testing.T) {
	for _, c := range []struct {
		name  string
		queue func(i int64) int64
		want  Verdict
	}{
		{"empty", func(int64) int64 { return 0 }, Stable},
		{"a machine's worth", func(int64) int64 { return 100 }, Stable},
		{"more than a machine, level", func(int64) int64 { return 101 }, Backlogged},
		{"rising by less than a machine", func(i int64) int64 { return i * 3 }, Stable},
		{"rising by more than a machine", func(i int64) int64 { return i * 4 }, Overloaded},
		{"rising by a machine exactly", func(i int64) int64 { return []int64{0, 30, 60, 100}[i/10] }, Stable},
		{"rising by a unit more", func(i int64) int64 { return []int64{0, 30, 60, 101}[i/10] }, Overloaded},
		{"bathtub", func(i int64) int64 { return (i - 20) * (i - 20) }, Backlogged},
		{"hump", func(i int64) int64 { return 4 * i * (40 - i) }, Backlogged},
		{"falling", func(i int64) int64 { return 4000 - 100*i }, Backlogged},
		{"one spike", func(i int64) int64 { return 3000 * (1 - min(1, (i-20)*(i-20))) }, Stable},
	} {
		require.Equal(t, c.want, judged(t, 100, c.queue), c.name)
	}
}

// The verdict does not depend on the size of a unit, and more of the same in
// the queue never makes it milder.
func TestVerdictProperties(t *testing.T) {
	rank := map[Verdict]int{Stable: 0, Backlogged: 1, Overloaded: 2}
	rapid.Check(t, func(t *rapid.T) {
		q := rapid.SliceOfN(rapid.Int64Range(0, 1000), 40, 40).Draw(t, "queue")
		units := rapid.Int64Range(1, 300).Draw(t, "units")
		at := func(i int64) int64 { return q[i] }
		v := judged(t, units, at)
		k := rapid.Int64Range(2, 50).Draw(t, "scale")
		require.Equal(t, v, judged(t, k*units, func(i int64) int64 { return k * q[i] }))
		c := rapid.Int64Range(1, 500).Draw(t, "more")
		require.GreaterOrEqual(t, rank[judged(t, units, func(i int64) int64 { return q[i] + c })], rank[v])
		require.GreaterOrEqual(t, rank[judged(t, units, func(i int64) int64 { return q[i] * k })], rank[v])
		require.LessOrEqual(t, rank[judged(t, units*k, at)], rank[v])
	})
}
