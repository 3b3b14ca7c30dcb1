package metric

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
	"orrery/sim/record/column"
)

const sec = int64(model.Second)

// job is a line of a hand-made schedule, in seconds; start < 0 means never.
type job struct {
	submit, start, end int64
	procs              int32
	user               int32
	state              model.JobState
}

// batch is a Scanner over hand-made jobs, in batches.
type batch struct{ column.Jobs }

func (b *batch) Scan(fn func(*column.Jobs) error) error {
	for i := 0; i < b.Len(); i += 1024 {
		c := b.Slice(i, min(i+1024, b.Len()))
		if err := fn(&c); err != nil {
			return err
		}
	}
	return nil
}

func jobsOf(list []job) *batch {
	b := &batch{}
	for i, j := range list {
		r := model.JobRecord{
			Job: model.JobID(i), ID: int64(i + 1), User: j.user, Submit: model.Time(j.submit * sec),
			Start: model.AbsentTime, End: model.Time(j.end * sec), Walltime: model.Forever, Procs: j.procs, State: j.state,
		}
		if j.start >= 0 {
			r.Start, r.Runtime, r.Attempts = model.Time(j.start*sec), model.Duration((j.end-j.start)*sec), 1
		}
		b.Append(&r)
	}
	return b
}

// replay drives a Series through a schedule the way the simulator does.
func replay(t require.TestingT, list []job, cfg Config) *Series {
	s, err := NewSeries(cfg)
	require.NoError(t, err)
	at := map[int64]bool{}
	for _, j := range list {
		at[j.submit], at[j.end] = true, true
		if j.start >= 0 {
			at[j.start] = true
		}
	}
	for _, now := range sorted(at) {
		var st State
		for _, j := range list {
			n, ran := model.Time(now*sec), j.start >= 0
			if j.submit == now {
				s.CountSubmit(n, 1)
			}
			if ran && j.start == now {
				s.CountStart(n, 1)
			}
			if ran && j.end == now && j.state != model.Running {
				s.CountEnd(n, 1)
			}
			if ran && j.start <= now && now < j.end {
				st.BusyUnits += int64(j.procs)
				st.RunningJobs++
			}
			if waits := j.submit <= now && (ran && now < j.start || !ran && now < j.end); waits {
				st.QueuedUnits += int64(j.procs)
				st.QueuedJobs++
				if st.MinQueuedUnits == 0 || j.procs < st.MinQueuedUnits {
					st.MinQueuedUnits = j.procs
				}
			}
		}
		s.Observe(model.Time(now*sec), st)
	}
	return s
}

func sorted(set map[int64]bool) []int64 {
	var out []int64
	for t := range set {
		i := len(out)
		out = append(out, t)
		for ; i > 0 && out[i-1] > t; i-- {
			out[i], out[i-1] = out[i-1], out[i]
		}
	}
	return out
}

// A cluster of 4 units; times in seconds:
//
//	units
//	  4 |AAAAAAAAAA CCCC
//	  3 |AAAAAAAAAA CCCC
//	  2 |BBBBB      CCCC
//	  1 |     DDDDD CCCC
//	    0    5    10  12  (C waits from 1 to 10, D from 2 to 5)
//
// E asks for 9 units and is refused at 3; F is withdrawn at 6.
var byHand = []job{
	{0, 0, 10, 2, 0, model.Completed},  // A: w 0, R 10, r 10
	{0, 0, 5, 1, 1, model.Completed},   // B: w 0, R 5, r 5
	{1, 10, 12, 4, 0, model.Timeout},   // C: w 9, R 11, r 2
	{2, 5, 10, 1, 1, model.Completed},  // D: w 3, R 8, r 5
	{3, -1, 3, 9, 2, model.Rejected},   // E
	{4, -1, 6, 1, -1, model.Cancelled}, // F
}

func TestByHand(t *testing.T) {
	tab, err := Compute(jobsOf(byHand), replay(t, byHand, Config{Units: 4}))
	require.NoError(t, err)
	require.Equal(t, Stable, tab.Verdict)
	want := map[string]float64{
		"jobs_submitted": 6, "jobs_completed": 3, "jobs_timeout": 1, "jobs_cancelled": 1, "jobs_rejected": 1, "jobs_unfinished": 0,
		"wait_mean": 3, "wait_sd": math.Sqrt((81+9)/4. - 9), "wait_max": 9,
		"wait_p50": 0, "wait_p90": 9, "wait_p95": 9, "wait_p99": 9, "waited_fraction": 0.5,
		"turnaround_mean": 34 / 4., "turnaround_p50": 8, "turnaround_p90": 11, "turnaround_p95": 11, "turnaround_p99": 11, "turnaround_max": 11,
		"slowdown_mean": (1 + 1 + 5.5 + 1.6) / 4, "slowdown_p50": 1, "slowdown_p95": 5.5, "slowdown_p99": 5.5, "slowdown_max": 5.5,
		"bounded_slowdown_mean": (1 + 1 + 1.1 + 1) / 4, "bounded_slowdown_p50": 1, "bounded_slowdown_p95": 1.1, "bounded_slowdown_p99": 1.1, "bounded_slowdown_max": 1.1,
		"per_processor_bounded_slowdown_mean": 1, "per_processor_bounded_slowdown_max": 1,
		// areas 20, 5, 8, 5
		"area_weighted_wait": (8*9 + 5*3) / 38., "area_weighted_response": (20*10 + 5*5 + 8*11 + 5*8) / 38.,
		"makespan": 12, "window_begin": 0, "window_length": 12, "throughput": 4 / 12. * 3600,
		"utilisation": 38 / 48.,
		// one unit idles from 0 to 10; the smallest waiting request is 4 from 1 to 2 and 1 from 2 to 6
		// (D until 5, F from 4 to 6)
		"loss_of_capacity":  4 / 48.,
		"queue_length_mean": (9 + 3 + 2) / 12., "queue_length_max": 3,
		"jain_wait":             (4.5 + 1.5) * (4.5 + 1.5) / (2 * (4.5*4.5 + 1.5*1.5)),
		"jain_bounded_slowdown": (1.05 + 1) * (1.05 + 1) / (2 * (1.05*1.05 + 1)),
	}
	for _, m := range tab.Metrics {
		if m.Window != All {
			continue
		}
		x, ok := want[m.Name]
		if !ok {
			require.Equal(t, "queue_growth", m.Name)
			require.Nil(t, m.Value)
			continue
		}
		require.NotNil(t, m.Value, m.Name)
		require.InDelta(t, x, *m.Value, 1e-6, m.Name)
		delete(want, m.Name)
	}
	require.Empty(t, want)
	m, _ := tab.Get("wait_mean", All)
	require.Equal(t, "without 2 jobs that never started", m.Note)
	require.EqualValues(t, 4, m.Count)
}

func TestSteadyWindowByHand(t *testing.T) {
	// Warm-up of two jobs: the window is [1, 4], cut by 1 s of cool-down to [1, 3].
	for _, c := range []struct {
		cfg            Config
		length         float64
		jobs           float64
		busy, lost, qq float64 // integrals over the window
		qmax           float64
	}{
		{Config{Units: 4, WarmupJobs: 2}, 3, 4, 9, 2, 3 + 2, 2},
		{Config{Units: 4, Warmup: model.Second}, 3, 4, 9, 2, 3 + 2, 2},
		{Config{Units: 4, WarmupJobs: 2, Cooldown: model.Second, LastSubmit: model.Time(4 * sec)}, 2, 3, 6, 1, 2 + 1, 2},
		{Config{Units: 4}, 4, 6, 12, 2, 3 + 2, 2},
	} {
		tab, err := Compute(jobsOf(byHand), replay(t, byHand, c.cfg))
		require.NoError(t, err)
		for name, x := range map[string]float64{
			"window_length": c.length, "jobs_submitted": c.jobs,
			"utilisation": c.busy / 4 / c.length, "loss_of_capacity": c.lost / 4 / c.length,
			"queue_length_mean": c.qq / c.length, "queue_length_max": c.qmax,
		} {
			got, ok := tab.Value(name, Steady)
			require.True(t, ok, name)
			require.InDelta(t, x, got, 1e-9, "%s with %+v", name, c.cfg)
		}
	}
}

func TestUndefinedIsNullWithANote(t *testing.T) {
	never := []job{{5, -1, 5, 9, 0, model.Rejected}}
	for name, list := range map[string][]job{"no jobs": nil, "none started": never} {
		tab, err := Compute(jobsOf(list), replay(t, list, Config{Units: 4, WarmupJobs: 1}))
		require.NoError(t, err)
		require.Equal(t, Unknown, tab.Verdict)
		b, err := json.Marshal(tab)
		require.NoError(t, err, name)
		again, err := ParseTable(b)
		require.NoError(t, err)
		require.Equal(t, tab, again)
		for _, m := range tab.Metrics {
			if m.Value == nil {
				require.NotEmpty(t, m.Note, "%s: %s %s", name, m.Name, m.Window)
			}
		}
		x, ok := tab.Value("jobs_submitted", All)
		require.True(t, ok)
		require.EqualValues(t, len(list), x)
		_, ok = tab.Value("utilisation", All)
		require.False(t, ok)
	}
}

func TestImpossibleRowsAreRefused(t *testing.T) {
	b := jobsOf(byHand)
	b.Submit[3] = 7 * sec
	_, err := Compute(b, replay(t, byHand, Config{Units: 4}))
	require.ErrorContains(t, err, "job 3: submit")
}

// TestStretchingIsLoss: a job that its hardware slows does the same work in more time; its
// slowdowns grow with its turnaround, as if it had waited for as long.
func TestStretchingIsLoss(t *testing.T) {
	slowed := []job{{0, 0, 300, 2, 0, model.Completed}, {0, 100, 200, 2, 0, model.Completed}}
	waited := []job{{0, 200, 300, 2, 0, model.Completed}, {0, 100, 200, 2, 0, model.Completed}}
	cfg := Config{Units: 4}
	b := jobsOf(slowed)
	b.Runtime[0] = 100 * sec // of work, in 300 s
	stretched, err := Compute(b, replay(t, slowed, cfg))
	require.NoError(t, err)
	alike := compute(t, waited, cfg)
	for name, want := range map[string]float64{
		"slowdown_mean": 2.5, "slowdown_max": 3, "bounded_slowdown_mean": 2.5, "bounded_slowdown_p95": 3,
		"per_processor_bounded_slowdown_max": 1.5, "jain_bounded_slowdown": 1, "area_weighted_response": 250,
	} {
		got, ok := stretched.Value(name, All)
		require.True(t, ok, name)
		require.InDelta(t, want, got, 1e-6, name)
		if name == "jain_bounded_slowdown" {
			continue
		}
		same, _ := alike.Value(name, All)
		require.Equal(t, same, got, name)
	}
	wait, _ := stretched.Value("wait_mean", All)
	require.InDelta(t, 50, wait, 1e-9, "it did not wait")
}
