package quota

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// TestStays has instants worked out by hand, for a budget of 1000 hours and a window of ten days.
func TestStays(t *testing.T) {
	part := func(hundredths int64) model.Fixed { return model.Ratio(hundredths, 100) }
	const whatever = model.Fixed(math.MaxInt64)
	for _, c := range []struct {
		name        string
		now         float64
		attempts    []attempt
		least, most model.Fixed
		until       model.Time
	}{
		{"nothing was ever held", 5, nil, 0, part(80), model.Never},
		{"500 h used, and 10 nodes held: 300 h more take 30 h", 5, []attempt{{0, 50, 10, 0}, {5, 100, 10, 0}}, 0, part(80), at(5) + model.Time(30*hour)},
		{"500 h used, of GPUs 4 times as much", 5, []attempt{{0, 50, 10, 0}, {5, 100, 10, 4}}, 0, part(80), at(5) + model.Time(20*hour)},
		{"700 h used, and nothing is held", 5, []attempt{{0, 70, 10, 0}}, 0, part(80), model.Never},
		{"more is used than that", 5, []attempt{{0, 90, 10, 0}}, 0, part(80), model.AbsentTime},
		{"1300 h by 20 nodes from the beginning: the first 5 h may be forgotten", 5, []attempt{{0, 65, 20, 0}}, part(120), whatever, at(10) + model.Time(5*hour)},
		{"1300 h by two jobs, the first of 50 h: 50 h of the second may be forgotten", 5, []attempt{{0, 5, 10, 0}, {1, 62.5, 20, 0}}, part(120), whatever, at(11) + model.Time(2.5*float64(hour))},
		{"less is used than that", 5, []attempt{{0, 55, 20, 0}}, part(120), whatever, model.AbsentTime},
		{"both, of which the lower one comes first", 9.5, []attempt{{0, 65, 20, 0}}, part(120), part(140), at(10) + model.Time(5*hour)},
		{"both, of which the upper one comes first", 9.5, []attempt{{0, 65, 20, 0}, {9.5, 100, 100, 0}}, part(120), part(140), at(9.5) + model.Time(hour)},
	} {
		t.Run(c.name, func(t *testing.T) {
			ledger := charged(Config{Window: 10 * day}, c.now, c.attempts...)
			s := ledger.Stays(0, c.least, c.most)
			require.LessOrEqual(t, max(c.until-s.Until, s.Until-c.until), model.Time(model.Millisecond), "but for what is lost in rounding parts of the budget")
			require.Equal(t, c.until != model.AbsentTime, ledger.Holds(0, s))
		})
	}
}

// Of many turns no more are passed over than mostTurns: what is foreseen is then a bound that is too low.
func TestStaysPassesOverSoMany(t *testing.T) {
	var jobs []attempt // of an hour each, every other hour
	for i := range 40 {
		jobs = append(jobs, attempt{float64(i) / 12, 1, 50, 0})
	}
	ledger := charged(Config{Window: 10 * day}, 5, jobs...)
	s := ledger.Stays(0, model.One, math.MaxInt64)
	require.Equal(t, at(10).Add(model.Duration(mostTurns)*hour), s.Until, "20 jobs may be forgotten, which began and ended in 40 turns")
	require.True(t, ledger.Holds(0, s))
}

// What was foreseen holds until something is charged to the tenant, or it gets other limits, and nothing is foreseen of one
// that was charged since the last tick.
func TestStaysUntilCharged(t *testing.T) {
	ledger := charged(Config{Window: 10 * day}, 5, attempt{0, 50, 10, 0})
	foreseen := func() bool {
		s := ledger.Stays(0, 0, model.One)
		return s.Until == model.Never && ledger.Holds(0, s)
	}
	require.True(t, foreseen())
	before := ledger.Stays(0, 0, model.One)
	c := ResourceUsage{QOS: -1, Partition: -1}
	ledger.Start(&c, at(5))
	require.True(t, ledger.Charged())
	require.False(t, ledger.Holds(0, before))
	require.False(t, foreseen(), "the figures are from before that")
	ledger.Freeze(at(5).Add(DefaultTick))
	require.False(t, ledger.Charged())
	require.True(t, foreseen())
	limits := ledger.Limits(0)
	ledger.SetLimits(0, &limits)
	require.True(t, ledger.Charged())
	require.False(t, foreseen())

	rolling := charged(Config{Window: 10 * day, Usage: Rolling}, 5)
	require.Equal(t, model.AbsentTime, rolling.Stays(0, 0, model.One).Until, "its share of what all used moves by itself")
}
