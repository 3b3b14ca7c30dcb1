package ascoded_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/ascoded"
	"orrery/scheduler/model"
	"orrery/scheduler/score"
)

// closeTo requires a figure printed to six places.
func closeTo(t testing.TB, want float64, got model.Fixed, about ...any) {
	t.Helper()
	require.InDelta(t, want, got.Float(), 6e-7, about...)
}

func TestWaitOf(t *testing.T) {
	for waited, want := range map[model.Duration]float64{
		0: 0, -model.Hour: 0, model.Second - 1: 0, 2*model.Second - 1: .000278, model.Hour: .693147, 24 * model.Hour: 3.218876,
		model.Forever: 21.664073, // 2^63 µs of 3.6e9 an hour: 63 ln 2 - ln 3.6e9
	} {
		closeTo(t, want, ascoded.WaitOf(waited, score.CurveOf(model.Hour)), waited.String())
	}
}

func TestConformanceOf(t *testing.T) {
	for _, c := range []struct {
		largest, nodes int32
		want           float64
	}{
		{0, 1, 0}, {5, 0, 1}, {1, 2, .5}, {128, 128, 1}, {1000, 1, 1000}, {256, 128, 2}, {2, 3, .666667}, {math.MaxInt32, 1, 1 << 20},
		{-1, 4, .5}, // not known
	} {
		closeTo(t, c.want, ascoded.ConformanceOf(c.largest, c.nodes), c)
	}
}

func TestCheckpointOf(t *testing.T) {
	closeTo(t, .166667, ascoded.CheckpointOf(model.CheckpointAuto))
	closeTo(t, .090909, ascoded.CheckpointOf(model.CheckpointManual))
	closeTo(t, 0, ascoded.CheckpointOf(model.CheckpointNone))
}

// f4 by the number of groups, memory one half: rows are groups, columns nodes.
func TestTopologyOf(t *testing.T) {
	columns := []int32{1, 2, 4, 5, 8, 10, 16, 17, 64, 65}
	for _, row := range []struct {
		groups int32
		want   [10]float64
	}{
		{0, [...]float64{.5, .5, .5, .5, .5, .5, .5, .5, .5, .5}},
		{1, [...]float64{.35, .15, .15, .15, .15, .15, .15, .15, .15, .15}},
		{2, [...]float64{.5, .5, .15, .15, .15, .15, .15, .15, .15, .15}},
		{4, [...]float64{.575, .675, .675, .5, .5, .325, .15, .15, .15, .15}},
		{8, [...]float64{.6125, .7625, .7625, .7625, .7625, .675, .675, .5875, .15, .15}},
		{16, [...]float64{.63125, .80625, .80625, .80625, .80625, .80625, .80625, .7625, .675, .63125}},
	} {
		for i, nodes := range columns {
			closeTo(t, row.want[i], ascoded.TopologyOf(nodes, row.groups, -1, true), "%d groups, %d nodes", row.groups, nodes)
			closeTo(t, row.want[i], ascoded.TopologyOf(nodes, row.groups, model.One/2, false), "%d groups, %d nodes", row.groups, nodes)
		}
	}
	// the memory part: a fifth better in one NUMA domain, and never above 1
	for _, c := range []struct {
		nodes  int32
		memory float64
		same   bool
		want   float64
	}{
		{1, 1, false, .925}, {1, .5, true, .645}, {1, .9, true, .925}, {8, 1, false, .65}, {8, .5, true, .53}, {8, 0, true, .35}, {0, 1, false, .925},
	} {
		closeTo(t, c.want, ascoded.TopologyOf(c.nodes, 4, model.FixedOf(c.memory), c.same), c)
	}
}

func TestBacklog(t *testing.T) {
	for _, c := range []struct {
		kind     model.Kind
		nodes    int32
		walltime model.Duration
		want     int64
	}{
		{model.Bounded, 8, model.Hour, 8},
		{model.Bounded, 8, 59 * model.Minute, 0},
		{model.Bounded, 8, 119 * model.Minute, 8},
		{model.Bounded, 2, model.Forever, 48},
		{model.Service, 3, model.Forever, 72},
		{model.Session, 1, 3 * model.Hour, 3},
		{model.Reactive, 4, model.Forever, 384},
	} {
		require.Equal(t, c.want, ascoded.BacklogHours(c.kind, c.nodes, c.walltime), c)
	}
	for _, c := range []struct {
		queued, running int64
		want            float64
	}{
		{0, 0, 0}, {1, 0, 1}, {5, 10, .5}, {10, 5, 1}, {-1, 5, 0}, {math.MaxInt64, 1, 1},
	} {
		closeTo(t, c.want, ascoded.BacklogOf(c.queued, c.running), c)
	}
}

// Whatever goes in, the factors keep their bounds.
func TestFactorsKeepTheirRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int32().Draw(t, "a"), rapid.Int32().Draw(t, "b")
		x, y := rapid.Int64().Draw(t, "x"), rapid.Int64().Draw(t, "y")
		for f, v := range []model.Fixed{ascoded.TopologyOf(a, b, model.Fixed(x), true), ascoded.BacklogOf(x, y)} {
			require.True(t, 0 <= v && v <= model.One, "%d: %s", f, v)
		}
		require.LessOrEqual(t, ascoded.ConformanceOf(a, b), 1<<20*model.One)
	})
}
