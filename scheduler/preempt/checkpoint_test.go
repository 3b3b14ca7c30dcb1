package preempt

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

// seconds of GPU time, as Lattice's figures are given; a Fixed probability is
// off by less than 3e-10.
func seconds(x int64) float64 { return float64(x) / float64(model.Second) }

// Golden figures of Lattice's broker. It takes the memory of a node for its checkpoint, where
// Bytes are those on each of its four GPUs.
func TestGoldenDecisions(t *testing.T) {
	const h, m = model.Hour, model.Minute
	for _, c := range []struct {
		nodes          int32
		elapsed        model.Duration
		backlog        float64
		waiting        int32
		pFail          float64
		memory         int64 // GiB on each node of 4 GPUs
		cost, value    float64
		writeANewOne   bool
		valueTolerance float64
	}{
		{2, 2 * h, 0, 0, .001, 80, 147.2, 57.6, false, 1e-4},
		{2, 2 * h, 0, 0, .5, 80, 147.2, 28800, true, 0},
		{4, 2 * h, .9, 3, .01, 80, 550.4, 1668, true, 1e-4},
		{4, 2 * h, .8, 3, .01, 8, 55.04, 1644, true, 1e-4},
		{4, 30 * m, .1, 0, .001, 8, 55.04, 52.8, false, 1e-4},
		{4, 30 * m, .95, 3, .01, 8, 55.04, 816, true, 1e-4},
		{2, 10 * m, .5, 0, .001, 80, 147.2, 64.8, false, 1e-4},
		{1, 1 * h, 0, 0, .001, 80, 41.6, 14.4, false, 1e-4},
		{4, 15 * m, .6, 2, .01, 8, 55.04, 488, true, 1e-4},
		{4, 2 * h, .6, 2, .01, 8, 55.04, 1496, true, 1e-4},
		{4, 6 * h, .6, 2, .01, 8, 55.04, 3800, true, 1e-4},
	} {
		cfg := DefaultCheckpointConfig()
		d := Decision{Nodes: c.nodes, GPUs: 4, Bytes: c.memory * gib / 4, LastCheckpoint: model.AbsentTime,
			Waiting: c.waiting, Backlog: model.FixedOf(c.backlog), PFail: model.FixedOf(c.pFail)}
		now := model.Time(c.elapsed)
		require.InDelta(t, c.cost, seconds(cfg.Cost(&d)), 1e-6, "%+v", c)
		require.InDelta(t, c.value, seconds(cfg.Value(&d, now)), c.valueTolerance, "%+v", c)
		require.Equal(t, c.writeANewOne, cfg.Value(&d, now) > cfg.Cost(&d), "%+v", c)
		require.Equal(t, c.writeANewOne, cfg.Due(&d, PolicyOf(auto, false), now), "%+v", c)
	}
}

// With 80 GiB on each node and no pressure the break-even is 2400 s + 8000 s per
// node, so that from 3 nodes on the maximum interval of 6 h does all the work.
func TestBreakEven(t *testing.T) {
	cfg := DefaultCheckpointConfig()
	cfg.Bytes = 20 * gib                // on each of four GPUs
	cfg.PFail = model.FixedOf(.001) + 1 // above it rather than below
	for _, nodes := range []int32{1, 2, 64} {
		d := Decision{Nodes: nodes, GPUs: 4, LastCheckpoint: model.AbsentTime, PFail: -1}
		even := model.Time(2400*model.Second + model.Duration(nodes)*8000*model.Second)
		require.False(t, cfg.Value(&d, even-model.Time(model.Second)) > cfg.Cost(&d), nodes)
		require.True(t, cfg.Value(&d, even+model.Time(model.Second)) > cfg.Cost(&d), nodes)
	}
}

func TestDocumentedDecision(t *testing.T) {
	cfg := DefaultCheckpointConfig()
	d := Decision{Nodes: 2, GPUs: 4, LastCheckpoint: model.AbsentTime, PFail: -1, Class: 5, Waiting: 3, Backlog: model.One / 2}
	require.Equal(t, 64*model.Second, cfg.WriteTime(&d), "80 GiB on each of 8 GPUs")
	require.InDelta(t, 64+64*8+640*.02, seconds(cfg.Cost(&d)), 1e-5)
	now := model.Time(2 * model.Hour)
	require.InDelta(t, 7200*8*.001+3*100*.5+.5*2*60, seconds(cfg.Value(&d, now)), 1e-4)
	d.LastCheckpoint = model.Time(model.Hour)
	require.InDelta(t, 3600*8*.001+3*100*.5+.5*2*60, seconds(cfg.Value(&d, now)), 1e-4)
	d.Class = model.SensitiveClass
	require.InDelta(t, 3600*8*.001+.5*2*60, seconds(cfg.Value(&d, now)), 1e-4, "no job takes its nodes")
	cfg.Bandwidth = 0
	d.PFail = model.One
	require.EqualValues(t, math.MaxInt64, cfg.Cost(&d), "the storage is out")
	require.False(t, cfg.Due(&d, PolicyOf(auto, false), now))
}

func TestPolicyOf(t *testing.T) {
	const s, forever = model.Second, model.Forever
	for _, c := range []struct {
		checkpoint model.Checkpoint
		sensitive  bool
		want       Policy
	}{
		{auto, false, Policy{300 * s, 21_600 * s, 600 * s, 3, 300 * s}},
		{auto, true, Policy{600 * s, 3_600 * s, 900 * s, 3, 300 * s}},
		{manual, false, Policy{0, forever, 600 * s, 5, 300 * s}},
		{none, false, Policy{forever, forever, 0, 0, 0}},
	} {
		require.Equal(t, c.want, PolicyOf(c.checkpoint, c.sensitive))
	}
}

// Bounds hold whatever value and cost say.
func TestDue(t *testing.T) {
	worth, worthless := Decision{PFail: model.One, Waiting: 100}, Decision{PFail: 0}
	for _, c := range []struct {
		checkpoint model.Checkpoint
		d          Decision
		since      model.Duration
		due        bool
	}{
		{auto, worth, 300*model.Second - 1, false},
		{auto, worth, 300 * model.Second, true},
		{auto, worthless, 6*model.Hour - 1, false},
		{auto, worthless, 6 * model.Hour, true},
		{manual, worth, 0, true},
		{manual, worthless, 100 * model.Day, false},
		{none, worth, 100 * model.Day, false},
		{none, worth, model.Forever, false},
	} {
		cfg := DefaultCheckpointConfig()
		require.Equal(t, c.due, cfg.Due(&c.d, PolicyOf(c.checkpoint, false), model.Time(c.since)), "%+v", c)
	}
}

func TestDueByInterval(t *testing.T) {
	cfg := DefaultCheckpointConfig()
	cfg.MTBF = 100 * model.Day
	d := Decision{Nodes: 100, GPUs: 4, Bytes: gib, LastCheckpoint: model.AbsentTime}
	// 40 s to write, a failure a day: 43.8 minutes, and 43.4.
	young, daly := model.Time(Young(40*model.Second, model.Day)), model.Time(Daly(40*model.Second, model.Day))
	require.Less(t, daly, young)
	p := PolicyOf(auto, false)
	cfg.Strategy = YoungInterval
	require.False(t, cfg.Due(&d, p, young-1))
	require.True(t, cfg.Due(&d, p, young))
	cfg.Strategy = DalyInterval
	require.False(t, cfg.Due(&d, p, daly-1))
	require.True(t, cfg.Due(&d, p, daly))
	cfg.MTBF = model.Forever
	require.False(t, cfg.Due(&d, p, model.Time(6*model.Hour-1)))
	require.True(t, cfg.Due(&d, p, model.Time(6*model.Hour)), "nodes that never fail are still bound by the policy")
}

// Lattice's code measures from the start, so that after 6 h the job is due at
// every evaluation. Here it is due 6 h after its last checkpoint.
func TestDefectD21DueForeverAfterSixHours(t *testing.T) {
	written := model.Time(6 * model.Hour)
	next := written.Add(30 * model.Second)
	d := Decision{Nodes: 4, GPUs: 4, LastCheckpoint: written, PFail: -1}
	cfg := DefaultCheckpointConfig()
	require.False(t, cfg.Due(&d, PolicyOf(auto, false), next))
	require.True(t, cfg.Due(&d, PolicyOf(auto, false), written.Add(6*model.Hour)))
	d.LastCheckpoint = model.AbsentTime
	require.True(t, cfg.Due(&d, PolicyOf(auto, false), next), "it never wrote one")
}

// Young and Daly against their formulas in floating point, from microseconds to
// years.
func TestIntervalsLikeFloat(t *testing.T) {
	span := rapid.Custom(func(t *rapid.T) model.Duration {
		unit := rapid.SampledFrom([]model.Duration{model.Microsecond, model.Millisecond, model.Second, model.Hour, model.Day})
		return unit.Draw(t, "unit") * model.Duration(rapid.IntRange(1, 1000).Draw(t, "units"))
	})
	rapid.Check(t, func(t *rapid.T) {
		write, mtbf := span.Draw(t, "write"), span.Draw(t, "mtbf")
		d, m := float64(write), float64(mtbf)
		young := math.Sqrt(2 * d * m)
		require.InDelta(t, young, float64(Young(write, mtbf)), 1+young*1e-15)
		daly := m
		if d < 2*m {
			daly = young*(1+math.Sqrt(d/(2*m))/3+d/(2*m)/9) - d
		}
		require.InDelta(t, daly, float64(Daly(write, mtbf)), 3+young*4e-15)
	})
	require.Equal(t, 2*model.Hour, Young(5*model.Minute, model.Day))
	require.InDelta(t, 7200-200+7200./(18*288), Daly(5*model.Minute, model.Day).Seconds(), 3e-6)
	require.Equal(t, model.Forever, Young(model.Second, model.Forever))
	require.Equal(t, model.Forever, Young(model.Forever, model.Second))
	require.Equal(t, model.Forever, Daly(model.Second, model.Forever))
	require.Equal(t, model.Second, Daly(model.Forever, model.Second))
	require.Equal(t, model.Second, Daly(2*model.Second, model.Second))
}

func TestNumbersLikeBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := rapid.Int64Range(0, math.MaxInt64).Draw(t, "a"), rapid.Int64Range(0, math.MaxInt64).Draw(t, "b"),
			rapid.Int64Range(1, math.MaxInt64).Draw(t, "c")
		most := big.NewInt(math.MaxInt64)
		cut := func(x *big.Int) int64 {
			if x.Cmp(most) > 0 {
				return math.MaxInt64
			}
			return x.Int64()
		}
		product := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		require.Equal(t, cut(new(big.Int).Div(product, big.NewInt(c))), scaled(a, b, c))
		require.Equal(t, cut(product), times(a, b))
		require.Equal(t, cut(new(big.Int).Add(big.NewInt(a), big.NewInt(b))), plus(a, b))
		require.Equal(t, new(big.Int).Sqrt(product).Uint64(), rootOfProduct(uint64(a), uint64(b)))
		require.Equal(t, uint64(a), rootOfProduct(uint64(a), uint64(a)))
	})
}
