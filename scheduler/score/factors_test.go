package score

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

func fixed(x float64) model.Fixed { return model.FixedOf(x) }

func TestPriorityOf(t *testing.T) {
	for class, want := range map[int32]float64{-1: 0, 0: 0, 1: .1, 5: .5, 9: .9, 10: 1, 11: 1} {
		closeTo(t, want, PriorityOf(class), class)
	}
}

func TestFairShareOf(t *testing.T) {
	for _, c := range []struct{ share, usage, b, utilisation, want float64 }{
		{.3, .1, 0, .5, .666667},
		{.3, .3, .5, 0, .333333},
		{.3, .3, .5, .2, .272727},
		{.3, .3, .5, .4, .2},
		{.3, .3, .5, .8, 0},
		{.3, .3, 1.5, 0, .6},
		{.3, .45, 1.5, 0, .4},
		{0, .4, 0, .5, .5},
		{-1, 0, 1, 0, .5},
		{.3, .3, 0, 0, 0},
		{.3, 2, 0, 0, 0},
		{.3, 0, .5, .9, 1},
		{.3, .2, .5, .9, .333333}, // above 0.8 burst neither adds nor takes away
		{.3, .15, 1, 1, .5},
		{.3, -1, 0, 0, 1},
	} {
		share, usage, u := fixed(c.share), fixed(c.usage), fixed(c.utilisation)
		closeTo(t, c.want, FairShareOf(share, fixed(1+c.b), usage, u), "%v: the limit is what is allowed in all", c)
	}
	for burst, want := range map[float64]float64{0: 0, .5: 0, 1: 0, 1.5: .5, 2: 1} {
		closeTo(t, want, allowanceOf(fixed(burst)), burst)
	}
	closeTo(t, 1, FairShareOf(math.MaxInt64, math.MaxInt64, 0, 0), "saturates")
}

func TestTopologyOf(t *testing.T) {
	for _, c := range []struct {
		needed, groups int32
		want           float64
	}{
		{1, 0, .5}, {9, 0, .5},
		{1, 1, 0}, {2, 1, 0},
		{1, 2, .5}, {2, 2, 0},
		{0, 4, .75}, {1, 4, .75}, {2, 4, .5}, {3, 4, .25}, {4, 4, 0}, {5, 4, 0},
		{1, 40, .975}, {20, 40, .5},
		{1, 3, .666667}, {2, 3, .333333},
	} {
		closeTo(t, c.want, TopologyOf(c.needed, c.groups), c)
	}
}

func TestDataOf(t *testing.T) {
	for ready, want := range map[float64]float64{-1: .5, 0: 0, .7: .7, 1: 1, 1.5: 1} {
		closeTo(t, want, DataOf(fixed(ready)), ready)
	}
}

func TestBacklogOf(t *testing.T) {
	for _, c := range []struct {
		queued, running model.Duration
		want            float64
	}{
		{model.Hour, 0, 0}, {model.Hour, -1, 0}, {0, model.Hour, 0}, {-1, model.Hour, 0},
		{model.Minute, 2 * model.Minute, .5}, {model.Day, model.Day, 1}, {model.Day, 1, 1},
		{model.Forever, 1, 1}, {model.Forever, model.Forever, 1}, {1, model.Forever, 0},
		{20 * model.Minute, model.Hour, .333333},
	} {
		closeTo(t, c.want, BacklogOf(c.queued, c.running), c)
	}
}

func TestEnergyOf(t *testing.T) {
	for price, want := range map[float64]float64{-1: 1, 0: 1, .25: .75, .9: .1, 1: 0, 7: 0} {
		closeTo(t, want, EnergyOf(fixed(price)), price)
	}
}

func TestCheckpointOf(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		kind             model.Checkpoint
		bytes, bandwidth int64
		want             float64
	}{
		{model.CheckpointAuto, 0, 0, .166667}, {model.CheckpointAuto, 5, 0, .166667}, {model.CheckpointAuto, 0, 5, .166667},
		{model.CheckpointManual, 0, 0, .090909}, {model.CheckpointManual, -1, -1, .090909},
		{model.CheckpointNone, 0, 0, 0}, {model.CheckpointNone, 600 * gib, 10 * gib, 0},
		{model.CheckpointAuto, 600 * gib, 10 * gib, .5},   // one minute
		{model.CheckpointManual, 600 * gib, 10 * gib, .5}, // whatever writes it
		{model.CheckpointAuto, 1800 * gib, 10 * gib, .25},
		{model.CheckpointAuto, 10 * gib, 10 * gib, .983607}, // one second
		{model.CheckpointAuto, math.MaxInt64, 1, 0},
		{model.CheckpointAuto, 1, math.MaxInt64, 1},
		{model.CheckpointAuto, math.MaxInt64, math.MaxInt64, .5},
	} {
		closeTo(t, c.want, CheckpointOf(c.kind, c.bytes, c.bandwidth), c)
	}
}

func TestConformanceOf(t *testing.T) {
	for _, c := range []struct {
		largest, nodes int32
		want           float64
	}{
		{0, 1, 0}, {5, 0, 1}, {1, 2, .5}, {128, 128, 1}, {1000, 1, 1}, {256, 128, 1}, {2, 3, .666667}, {math.MaxInt32, 1, 1}, {-1, 4, 0},
	} {
		closeTo(t, c.want, ConformanceOf(c.largest, c.nodes), c)
	}
}

// Whatever goes in, the factors are from 0 to 1, better inputs never lower them, and
// that of the wait keeps its bound.
func TestFactorsKeepTheirRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int32()
		x := rapid.Custom(func(t *rapid.T) model.Fixed {
			return model.Fixed(rapid.Int64().Draw(t, "x") >> rapid.IntRange(0, 63).Draw(t, "shift"))
		})
		d := rapid.Map(x, func(x model.Fixed) model.Duration { return model.Duration(x) })
		kind := rapid.SampledFrom([]model.Checkpoint{model.CheckpointAuto, model.CheckpointManual, model.CheckpointNone}).Draw(t, "kind")
		a, b := n.Draw(t, "a"), n.Draw(t, "b")
		p, q, r, s := x.Draw(t, "p"), x.Draw(t, "q"), x.Draw(t, "r"), x.Draw(t, "s")
		for f, v := range []model.Fixed{
			PriorityOf(a), 0, FairShareOf(p, q, r, s), TopologyOf(a, b), DataOf(p), BacklogOf(d.Draw(t, "d"), d.Draw(t, "e")),
			EnergyOf(p), CheckpointOf(kind, int64(p), int64(q)), ConformanceOf(a, b),
			Penalty(p),
		} {
			require.True(t, 0 <= v && v <= model.One, "%d: %s", f, v)
		}
		require.Less(t, WaitOf(d.Draw(t, "waited"), d.Draw(t, "reference")), 45*model.One)
		require.LessOrEqual(t, TopologyOf(max(a, b), 40), TopologyOf(min(a, b), 40))
		require.LessOrEqual(t, ConformanceOf(min(a, b), 40), ConformanceOf(max(a, b), 40))
		require.LessOrEqual(t, FairShareOf(p, q, max(r, s), 0), FairShareOf(p, q, min(r, s), 0))
	})
}
