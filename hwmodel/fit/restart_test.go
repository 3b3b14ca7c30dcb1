package fit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/hwmodel"
	"orrery/scheduler/model"
)

// seconds are durations of whole seconds.
func seconds(list ...int) (out []model.Duration) {
	for _, s := range list {
		out = append(out, model.Duration(s)*model.Second)
	}
	return out
}

// fourRounds: job 1 moves in round 2 and is away in round 3, job 2 arrives late.
func fourRounds() Schedule {
	return Schedule{
		Length: 120 * model.Second,
		Rounds: [][]Held{
			{{0, []int{0, 1}}, {1, []int{2}}},
			{{0, []int{0, 1}}, {1, []int{2}}},
			{{0, []int{0, 1}}, {1, []int{3}}, {2, []int{2}}},
			{{0, []int{0, 1}}, {2, []int{2}}},
			{{1, []int{3}}},
		},
		Arrival:    seconds(0, 10, 500),
		Completion: seconds(700, 900, 700),
	}
}

func TestReplay(t *testing.T) {
	s := fourRounds()
	require.NoError(t, s.Validate())
	require.Equal(t, []int{2, 0, 2, 0, 1}, s.Restarts())
	for _, c := range []struct {
		name string
		cost hwmodel.Restart
		want []model.Duration // completions
	}{
		// Round 0 waits for job 1 until 10, round 2 for job 2 until 500.
		{"no cost", hwmodel.Restart{}, seconds(620, 740, 620)},
		{"the end of the last round", hwmodel.Restart{Final: 0.5}, seconds(680, 800, 680)},
		{"a cost of rounds is hidden by the wait for an arrival", hwmodel.Restart{PerRound: 5 * model.Second}, seconds(625, 750, 625)},
		{"a cost of restarts", hwmodel.Restart{PerRestart: 3 * model.Second}, seconds(626, 746, 626)},
	} {
		require.Equal(t, c.want, s.Replay(c.cost), c.name)
	}
}

func TestBadSchedules(t *testing.T) {
	for _, c := range []struct {
		change func(*Schedule)
		says   string
	}{
		{func(s *Schedule) { s.Length = 0 }, "length of a round"},
		{func(s *Schedule) { s.Rounds = nil }, "found 0 rounds, 3 arrivals and 3 completions"},
		{func(s *Schedule) { s.Completion = s.Completion[:2] }, "3 arrivals and 2 completions"},
		{func(s *Schedule) { s.Rounds[1][0].Job = 3 }, "round 1: found job 3"},
		{func(s *Schedule) { s.Rounds[1][0].GPUs = nil }, "round 1: found job 0 on 0 GPUs"},
		{func(s *Schedule) { s.Rounds = s.Rounds[:2] }, "found job 2 in no round"},
	} {
		s := fourRounds()
		c.change(&s)
		require.ErrorContains(t, s.Validate(), c.says)
		_, err := Restarts([]Schedule{fourRounds(), s}, RestartOptions{})
		require.ErrorContains(t, err, "run 1: ")
	}
	_, err := Restarts([]Schedule{fourRounds(), fourRounds(), fourRounds()}, RestartOptions{})
	require.ErrorIs(t, err, ErrTooFew, "9 jobs")
}

// TestRestartsOfPlantedRuns: with some runs of one cost the fit finds it, and says how flat the
// loss is in the end of the last round.
func TestRestartsOfPlantedRuns(t *testing.T) {
	want := hwmodel.Restart{PerRestart: 1200 * model.Millisecond, Final: -0.4}
	runs := make([]Schedule, 4)
	for i := range runs {
		runs[i] = fourRounds()
		runs[i].Arrival[2] = 200 * model.Second // else the waits hide the restarts before it
		runs[i].Rounds[3][0].GPUs = []int{4, 5} // else all last rounds start equally late
		runs[i].Completion = runs[i].Replay(want)
	}
	got, err := Restarts(runs, RestartOptions{})
	require.NoError(t, err)
	require.Equal(t, want, got.Cost)
	require.Zero(t, got.Loss)
	require.Equal(t, []float64{-0.4, -0.4}, []float64{got.FinalLow, got.FinalHigh}, "without noise it is sharp")
	for i := range runs {
		runs[i].Completion[i%3] += model.Minute
	}
	got, err = Restarts(runs, RestartOptions{})
	require.NoError(t, err)
	require.LessOrEqual(t, got.FinalLow, got.Cost.Final)
	require.GreaterOrEqual(t, got.FinalHigh, got.Cost.Final)
	require.InDelta(t, 20, got.Loss.Seconds(), 1, "a minute in one of three jobs")
}
