package join_test

import (
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/capture/join"
	"orrery/scheduler/model"
	"orrery/traces"
)

const day = model.Time(1_795_000_000_000_000)

func jobs(list ...traces.Job) iter.Seq2[*traces.Job, error] {
	return func(yield func(*traces.Job, error) bool) {
		for i := range list {
			if !yield(&list[i], nil) {
				return
			}
		}
	}
}

func second(n int) model.Time { return model.Time(model.Duration(n) * model.Second) }

func seen(at int, gpu int32, watts, util float64, procs ...capture.Process) *traces.Telemetry {
	return &traces.Telemetry{Node: "n1", GPU: traces.Some(gpu), Time: day.Add(model.Duration(at) * model.Second), Power: traces.Some(watts), SMUtil: traces.Some(util),
		SMActive: traces.Some(util / 2), Processes: capture.Encode(procs)}
}

func of(job string, bytes int64) capture.Process {
	zero := int64(0)
	return capture.Process{PID: 7, Job: job, Read: &bytes, Written: &zero}
}

// Two jobs on four GPUs for ten seconds, by hand: job 1 has GPU 0 alone and shares GPU 1 with job 2; GPU 2 names no process while two jobs are
// recorded on the node; GPU 3 is idle before any job has begun.
func TestJoin(t *testing.T) {
	records := capture.Record{Record: capture.RecordMode, Mode: "debug", Interval: model.Second}
	j, err := join.New(day, jobs(
		traces.Job{ID: 1, Start: traces.Some(second(10)), End: traces.Some(second(20)), RecordedNodes: "n[1-2]", Extra: `{"zone":"a"}`},
		traces.Job{ID: 2, Start: traces.Some(second(10)), Runtime: traces.Some(10 * model.Second), RecordedNodes: "n1"},
		traces.Job{ID: 3, Start: traces.Some(second(30)), RecordedNodes: "n1"},
	), []traces.Event{records.Event(day, "n1")})
	require.NoError(t, err)
	require.NoError(t, j.Row(seen(5, 3, 60, 0)))
	for s := 10; s < 20; s++ {
		bytes := int64((s - 9) * 1000)
		alone := seen(s, 0, 400, 1, of("1", bytes))
		alone.MemUsed = traces.Some(int64(1000 * (20 - s)))
		require.NoError(t, j.Row(alone))
		require.NoError(t, j.Row(seen(s, 1, 600, 0.5, of("1", bytes), capture.Process{PID: 8, Job: "2"}, capture.Process{PID: 9, Job: "77"})))
		require.NoError(t, j.Row(seen(s, 2, 100, 0)))
	}
	require.NoError(t, j.Row(seen(35, 0, 500, 0.25)))
	require.Equal(t, join.Found{Jobs: 3, GPUPower: 3}, j.Found())
	require.Equal(t, join.Account{Rows: 32, ByProcess: 10, Shared: 10, Ambiguous: 10, ByNode: 1, Idle: 1, UnknownJobs: 1, Seconds: 32, Between: 15}, j.Account)

	one := traces.Job{ID: 1, Extra: `{"zone":"a"}`}
	require.NoError(t, j.Job(1, 0).Apply(&one))
	require.False(t, one.Power.OK, "nothing was measured of the nodes as a whole")
	require.Equal(t, traces.Some(int64(1000)), one.IODemand) // 10,000 B in 10 s, one process on two GPUs
	require.Equal(t, `{"measured_gpu_memory":10000,"measured_gpu_power":700,"measured_gpu_seconds":15,"measured_shared":0.333333,"measured_sm_active":0.416667,"measured_sm_util":0.833333,"zone":"a"}`, one.Extra, "400 W, and half of 600 W; memory where it was alone")
	two := traces.Job{ID: 2}
	require.NoError(t, j.Job(2, 0).Apply(&two))
	require.Equal(t, traces.Some(300.0), j.Job(2, 0).GPUPower())
	require.False(t, two.IODemand.OK, "its process does not say")
	three := traces.Job{ID: 3}
	require.NoError(t, j.Job(3, 0).Apply(&three))
	require.Equal(t, traces.Some(500.0), j.Job(3, 0).GPUPower())
	require.Nil(t, j.Job(4, 0))
}

// Means of windows count with their width, and the other rows of a window do not.
func TestJoinOfWindows(t *testing.T) {
	j, err := join.New(day, jobs(traces.Job{ID: 1}), nil)
	require.NoError(t, err)
	for _, stat := range traces.Stats {
		row := seen(0, 0, 300, 0.5, of("1", 0))
		row.Stat, row.Width = stat, traces.Some(30*model.Second)
		require.NoError(t, j.Row(row))
	}
	require.Equal(t, 30.0, j.Job(1, 0).GPUSeconds)
	require.Equal(t, 9000.0, j.Job(1, 0).Joules().V)
}

func TestJoinRefuses(t *testing.T) {
	_, err := join.New(day, jobs(traces.Job{ID: 1, Start: traces.Some(second(1)), RecordedNodes: "n[1-"}), nil)
	require.ErrorContains(t, err, "recorded_nodes")
	j, err := join.New(day, jobs(traces.Job{ID: 1}), nil)
	require.NoError(t, err)
	require.ErrorContains(t, j.Row(&traces.Telemetry{Node: "n1", Processes: "[1]"}), "processes")
}

// A job that was requeued has a row for each attempt: each gets what was measured while it ran. Processes may outlive it by a little, and an
// id that a job had long ago is not that job.
func TestJoinOfAttempts(t *testing.T) {
	mode := capture.Record{Record: capture.RecordMode, Mode: "debug", Interval: model.Second}
	j, err := join.New(day, jobs(
		traces.Job{ID: 1, Start: traces.Some(second(10)), End: traces.Some(second(20))},
		traces.Job{ID: 1, Start: traces.Some(second(100)), End: traces.Some(second(110))},
		traces.Job{ID: 2, Start: traces.Some(second(0)), End: traces.Some(second(5))},
		traces.Job{ID: 3},
	), []traces.Event{mode.Event(day, "n1")})
	require.NoError(t, err)
	for s := 10; s < 20; s++ {
		require.NoError(t, j.Row(seen(s, 0, 400, 1, of("1", int64(s-9)*100))))
	}
	for s := 100; s < 112; s++ { // two seconds longer than it is recorded
		require.NoError(t, j.Row(seen(s, 0, 200, 1, capture.Process{PID: 9, Job: "1"})))
	}
	require.NoError(t, j.Row(seen(200, 0, 900, 1, of("2", 5))))
	require.NoError(t, j.Row(seen(300, 0, 50, 1, of("3", 0))))
	require.Equal(t, int64(3), j.Found().Jobs)
	require.Equal(t, join.Account{Rows: 24, ByProcess: 23, Idle: 1, OtherTime: 1, Seconds: 24, Between: 80 + 88 + 99}, j.Account)
	require.Equal(t, []float64{4000, 2400, 50}, []float64{j.Job(1, 0).Joules().V, j.Job(1, 1).Joules().V, j.Job(3, 0).Joules().V})
	require.Equal(t, int64(1000), j.Job(1, 0).Bytes)
	require.False(t, j.Job(1, 1).BytesKnown)
	require.Nil(t, j.Job(2, 0))
	require.Nil(t, j.Job(1, 2))
}

// A window that began before its job and ended within it is of the job.
func TestJoinOfAWindowAcrossAStart(t *testing.T) {
	j, err := join.New(day, jobs(traces.Job{ID: 1, Start: traces.Some(second(20)), End: traces.Some(second(90))}, traces.Job{ID: 1, Start: traces.Some(second(91)), End: traces.Some(second(200))}), nil)
	require.NoError(t, err)
	for _, at := range []int{0, 90} {
		row := seen(at, 0, 300, 0.5, of("1", 0))
		row.Stat, row.Width = "mean", traces.Some(30*model.Second)
		require.NoError(t, j.Row(row))
	}
	require.Equal(t, 30.0, j.Job(1, 0).GPUSeconds)
	require.Equal(t, 30.0, j.Job(1, 1).GPUSeconds)
}
