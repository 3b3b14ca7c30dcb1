package join_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/capture"
	"orrery/capture/join"
	"orrery/scheduler/model"
	"orrery/traces"
)

// What is missing counts with the mean of what was measured, and neither as 0 W nor as 0 J: a GPU at 320 W for 30 s, of which two thirds
// lack a value, a row, or all power.
func TestWhatIsMissingIsNotZero(t *testing.T) {
	mode := capture.Record{Record: capture.RecordMode, Mode: "debug", Interval: model.Second}
	for _, c := range []struct {
		name string
		row  func(s int, t *traces.Telemetry) bool
		want traces.Opt[float64]
	}{
		{"all", func(int, *traces.Telemetry) bool { return true }, traces.Some(320.0)},
		{"power of a third", func(s int, t *traces.Telemetry) bool { t.Power.OK = s%3 == 0; return true }, traces.Some(320.0)},
		{"rows of a third", func(s int, t *traces.Telemetry) bool { return s < 5 || s >= 25 }, traces.Some(320.0)},
		{"rows of a third, and a counter", func(s int, t *traces.Telemetry) bool {
			t.Energy = traces.Some(int64(s) * 320_000)
			return s < 5 || s >= 25
		}, traces.Some(320.0)},
		{"the counter alone", func(s int, t *traces.Telemetry) bool {
			t.Energy, t.Power = traces.Some(int64(s)*320_000), traces.Opt[float64]{}
			return true
		}, traces.Some(320.0)},
		{"neither", func(s int, t *traces.Telemetry) bool { t.Power = traces.Opt[float64]{}; return true }, traces.Opt[float64]{}},
	} {
		j, err := join.New(day, jobs(traces.Job{ID: 1}), []traces.Event{mode.Event(day, "n1")})
		require.NoError(t, err)
		for s := range 30 {
			if row := seen(s, 0, 320, 1, of("1", 0)); c.row(s, row) {
				require.NoError(t, j.Row(row))
			}
		}
		got := j.Job(1, 0).GPUPower()
		require.Equal(t, c.want.OK, got.OK, c.name)
		require.InDelta(t, c.want.V, got.V, 1e-9, c.name)
		row := traces.Job{ID: 1, Power: traces.Some[int64](77)}
		require.NoError(t, j.Job(1, 0).Apply(&row))
		require.Equal(t, traces.Some[int64](77), row.Power, "what the log says of whole nodes stays where only GPUs were measured")
		if !c.want.OK {
			require.NotContains(t, row.Extra, "measured_gpu_power")
			require.Equal(t, join.Found{Jobs: 1, NoGPUPower: 1}, j.Found())
		}
	}
}

// node is a sample of a node as a whole.
func node(at int, name string, watts float64) *traces.Telemetry {
	return &traces.Telemetry{Node: name, Time: day.Add(model.Duration(at) * model.Second), Power: traces.Some(watts)}
}

// The column power is of whole nodes: all of the job, and each for it alone.
func TestPowerOfNodes(t *testing.T) {
	started := func(id int64, from, to int, nodes string) traces.Job {
		return traces.Job{ID: id, Start: traces.Some(second(from)), End: traces.Some(second(to)), RecordedNodes: nodes}
	}
	j, err := join.New(day, jobs(started(1, 0, 60, "n[1-2]"), started(2, 0, 60, "n3"), started(3, 30, 60, "n3"), started(4, 0, 60, "n[4-5]"), traces.Job{ID: 5}, traces.Job{ID: 6, NodesMin: traces.Some[int32](2)}), nil)
	require.NoError(t, err)
	for s := 0; s <= 60; s += 10 {
		for _, row := range []*traces.Telemetry{node(s, "n1", 1500), node(s, "n2", 900), node(s, "n3", 800), node(s, "n4", 700)} {
			require.NoError(t, j.Row(row))
		}
		for i, n := range []string{"n6", "n7"} {
			id := []string{"5", "6"}[i]
			gpu := seen(s, 0, 300, 1, of(id, 0))
			gpu.Node = n
			require.NoError(t, j.Row(node(s, n, 1200)))
			require.NoError(t, j.Row(gpu))
		}
	}
	power := func(id int64) traces.Opt[int64] {
		job := traces.Job{ID: id}
		if m := j.Job(id, 0); m != nil {
			require.NoError(t, m.Apply(&job))
		}
		return job.Power
	}
	require.Equal(t, traces.Some[int64](2400), power(1))
	require.False(t, power(2).OK, "another job was on its node")
	require.False(t, power(3).OK)
	require.False(t, power(4).OK, "nothing was measured of n5")
	require.Equal(t, traces.Some[int64](1200), power(5), "by its processes")
	require.False(t, power(6).OK, "it has two nodes, and one was measured")
	require.Equal(t, join.Found{Jobs: 5, NodePower: 2, GPUPower: 2}, j.Found())
}

// Rows of a node that say what its processors drew, and nothing of the whole, are no power of the node.
func TestProcessorsAreNotTheNode(t *testing.T) {
	j, err := join.New(day, jobs(traces.Job{ID: 1, Start: traces.Some(second(0)), End: traces.Some(second(60)), RecordedNodes: "n1"}), nil)
	require.NoError(t, err)
	for s := 0; s <= 60; s += 10 {
		require.NoError(t, j.Row(&traces.Telemetry{Node: "n1", Time: day.Add(model.Duration(s) * model.Second), CPUUtil: traces.Some(0.5), CPUEnergy: traces.Some(int64(s) * 200_000)}))
		gpu := seen(s, 0, 300, 1, of("1", 0))
		gpu.Node = "n1"
		require.NoError(t, j.Row(gpu))
	}
	require.False(t, j.Job(1, 0).NodePower().OK)
	job := traces.Job{ID: 1, Power: traces.Some[int64](77)}
	require.NoError(t, j.Job(1, 0).Apply(&job))
	require.Equal(t, traces.Some[int64](77), job.Power)
	require.InDelta(t, 300, j.Job(1, 0).GPUPower().V, 1)
}
