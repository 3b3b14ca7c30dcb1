package metric

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/scheduler/model"
)

// brute is the state over the window [a, b] of a schedule, second by second.
type brute struct {
	busy, lost, queued, ended float64
	longest                   float64
}

func bruteForce(list []job, a, b int64) brute {
	var out brute
	for t := a; t < b; t++ {
		idle, smallest, waiting := int32(machine), int32(0), 0.0
		for _, j := range list {
			ran := j.start >= 0
			if ran && j.start <= t && t < j.end {
				idle -= j.procs
			}
			if j.submit <= t && (ran && t < j.start || !ran && t < j.end) {
				waiting++
				if smallest == 0 || j.procs < smallest {
					smallest = j.procs
				}
			}
		}
		out.busy += float64(machine - idle)
		out.queued += waiting
		out.longest = max(out.longest, waiting)
		if smallest > 0 && smallest <= idle {
			out.lost += float64(idle)
		}
	}
	for _, j := range list {
		if j.start >= 0 && a <= j.end && j.end <= b {
			out.ended++
		}
	}
	return out
}

// steadyBounds is the steady window by its definition, from the whole list.
func steadyBounds(list []job, cfg Config) (a, b int64, ok bool) {
	if int(cfg.WarmupJobs) >= len(list) {
		return 0, 0, false
	}
	a = list[cfg.WarmupJobs].submit // lists are in order of submission
	if cfg.WarmupJobs == 0 {
		a = list[0].submit + int64(cfg.Warmup)/sec
	}
	b = list[len(list)-1].submit - int64(cfg.Cooldown)/sec
	return a, b, a <= b
}

func TestSeriesAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := schedules(t)
		cfg := configs(t, list)
		tab := compute(t, list, cfg)
		check := func(window string, a, b int64) {
			want, length := bruteForce(list, a, b), float64(b-a)
			for name, x := range map[string]float64{
				"utilisation": want.busy / length / machine, "loss_of_capacity": want.lost / length / machine,
				"queue_length_mean": want.queued / length, "queue_length_max": want.longest,
				"throughput": want.ended / length * 3600, "window_length": length, "window_begin": float64(a),
			} {
				got, ok := tab.Value(name, window)
				if length <= 0 {
					require.False(t, ok, "%s %s of an empty window is %v", name, window, got)
					continue
				}
				require.True(t, ok, "%s %s", name, window)
				require.InDelta(t, x, got, 1e-9, "%s %s", name, window)
			}
		}
		last, first := int64(-1), int64(0)
		for i, j := range list {
			if i == 0 {
				first = j.submit
			}
			if j.start >= 0 {
				last = max(last, j.end)
			}
		}
		check(All, first, max(first, last))
		a, b, ok := steadyBounds(list, cfg)
		inside := 0.0
		if ok {
			check(Steady, a, b)
			for _, j := range list {
				if a <= j.submit && j.submit <= b {
					inside++
				}
			}
		}
		got, defined := tab.Value("jobs_submitted", Steady)
		require.Equal(t, ok, defined)
		require.Equal(t, inside, got)
	})
}

// Bins that are wide from the beginning on are those that grew.
func TestBeginChangesNoBin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfN(rapid.Int64Range(0, 40*maxBins*sec), 2, 20).Draw(t, "times")
		slices.Sort(times)
		grew, wide := newSeries(t), newSeries(t)
		wide.Begin(model.Time(times[0]), model.Time(times[rapid.IntRange(0, len(times)-1).Draw(t, "known")]))
		for i, at := range times {
			for _, s := range []*Series{grew, wide} {
				s.CountStart(model.Time(at), int32(i+1))
				s.Observe(model.Time(at), State{BusyUnits: int64(i % 5), QueuedUnits: at % 7, QueuedJobs: int32(i % 3)})
			}
		}
		require.Equal(t, grew.Bins(), wide.Bins())
	})
}

func newSeries(t require.TestingT) *Series {
	s, err := NewSeries(Config{Units: machine})
	require.NoError(t, err)
	return s
}

func TestConfigIsChecked(t *testing.T) {
	part := func(from, to model.Time) *Span { return &Span{From: from, To: to} }
	for _, c := range []struct {
		cfg  Config
		want string // "" for a good one
	}{
		{Config{Units: 1}, ""},
		{Config{Units: math.MaxInt32}, ""},
		{Config{}, "cluster of 0 units"},
		{Config{Units: math.MaxInt32 + 1}, "at most 2147483647"},
		{Config{Units: 1, WarmupJobs: 1}, ""},
		{Config{Units: 1, Warmup: 1, Cooldown: 1}, ""},
		{Config{Units: 1, WarmupJobs: 1, Cooldown: 1}, ""},
		{Config{Units: 1, WarmupJobs: -1}, "must not be negative"},
		{Config{Units: 1, Warmup: -1}, "must not be negative"},
		{Config{Units: 1, Cooldown: -1}, "must not be negative"},
		{Config{Units: 1, WarmupJobs: 1, Warmup: 1}, "give one"},
		{Config{Units: 1, Measured: part(5, 6)}, ""},
		{Config{Units: 1, Measured: part(5, 5)}, "is empty"},
		{Config{Units: 1, Measured: part(5, 4)}, "is empty"},
		{Config{Units: 1, Measured: part(5, 6), WarmupJobs: 1}, "neither warm-up nor cool-down"},
		{Config{Units: 1, Measured: part(5, 6), Warmup: 1}, "neither warm-up nor cool-down"},
		{Config{Units: 1, Measured: part(5, 6), Cooldown: 1}, "neither warm-up nor cool-down"},
		{Config{Units: 1, Marks: []model.Time{1, 1, 2}}, ""},
		{Config{Units: 1, Marks: []model.Time{2, 1}}, "do not ascend"},
	} {
		_, err := NewSeries(c.cfg)
		if c.want == "" {
			require.NoError(t, err, "%+v", c.cfg)
			continue
		}
		require.ErrorContains(t, err, c.want, "%+v", c.cfg)
	}
}

// The steady window is known as soon as it has passed, also when nothing has changed since before it.
func TestSteadyOfAQuietSeries(t *testing.T) {
	second := model.Time(model.Second)
	s, err := NewSeries(Config{Units: machine, Warmup: 10 * model.Second, Cooldown: model.Second, LastSubmit: 25 * second})
	require.NoError(t, err)
	s.CountSubmit(0, 1)
	s.Observe(0, State{BusyUnits: 1})
	s.CountSubmit(20*second, 1)
	s.Observe(20*second, State{BusyUnits: 1})
	s.Observe(30*second, State{BusyUnits: 1})
	from, to, ok := s.Steady()
	require.True(t, ok)
	require.Equal(t, 10*second, from)
	require.Equal(t, 24*second, to)
}
