package hwmodel_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/hwmodel"
	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

func known(v float64) hwmodel.Factor {
	f := model.FixedOf(v)
	return hwmodel.Factor{Low: f, Value: f, High: f}
}

// site is four nodes of two GPUs each: fast ones (model 0) in group 0, slow ones (model 1)
// in group 1, whose uplink carries half as much. Of class 1 everything is known, of class 2
// nothing.
//
//	group 0: fast fast   group 1: slow slow
func site() *hwmodel.Model {
	return &hwmodel.Model{
		GPUs: []hwmodel.GPU{{Name: "fast", Idle: watts(50, 50, 50), Held: watts(80, 90, 100)}, {Name: "slow", Idle: watts(20, 20, 20)}, {Name: "gone"}},
		Classes: []hwmodel.Class{{
			Name:       "train",
			Throughput: []hwmodel.Factor{known(2), known(1), known(0.5)},
			Steps: []hwmodel.Step{
				{Nodes: 1, Time: known(1)}, {Nodes: 1, PerNode: 2, Time: known(1.25)}, {Nodes: 2, Time: known(1.5)}, {Nodes: 2, Groups: 2, Time: known(2)},
			},
			Caps:    []hwmodel.CapStep{{Draw: model.One / 2, Throughput: 3 * model.One / 4}},
			Network: hwmodel.Communication{Share: known(0.5), Bandwidth: 10},
			Power:   []hwmodel.Watts{{Low: 300, Value: 400, High: 500}, {Low: 200, Value: 200, High: 200}},
		}, {Name: "other"}},
		Terms:   hwmodel.AllTerms,
		NodeGPU: []int32{0, 0, 1, 1}, NodeGPUs: []int32{2, 2, 2, 2}, NodeGroup: []int32{0, 0, 1, 1},
		Uplinks: []int64{100, 50},
	}
}

func watts(low, value, high int64) hwmodel.Power {
	return hwmodel.Power{Watts: hwmodel.Watts{Low: low, Value: value, High: high}, Known: true}
}

func on(m *hwmodel.Model, j *hwmodel.Job, nodes uint64) hwmodel.Where {
	var w hwmodel.Where
	m.Place(j, &model.Placement{Words: []model.NodeWord{{Mask: nodes}}}, &w)
	return w
}

func TestPlace(t *testing.T) {
	m := site()
	require.Equal(t, hwmodel.Where{Models: 1, Milli: 4000, Nodes: 2, Fullest: 2, Groups: 1, Linked: true,
		Idle: watts(200, 200, 200), Held: watts(320, 360, 400)}, on(m, &hwmodel.Job{}, 0b0011))
	mixed := on(m, &hwmodel.Job{Cards: 1, Class: 1}, 0b0110)
	require.Equal(t, hwmodel.Where{Models: 3, Milli: 2000, Nodes: 2, Fullest: 1, Groups: 2, Linked: true, Idle: watts(70, 70, 70),
		Held: hwmodel.Power{Watts: hwmodel.Watts{Low: 80, Value: 90, High: 100}}, Active: watts(500, 600, 700)}, mixed,
		"of whole nodes it uses what it asked for; what one of them draws held is not known")
	var w hwmodel.Where
	m.Place(&hwmodel.Job{}, &model.Placement{Shares: []model.NodeShare{{Node: 3, Units: 1, GPUs: 1}}}, &w)
	require.Equal(t, hwmodel.Where{Models: 2, Milli: 1000, Nodes: 1, Fullest: 1, Groups: 1, Linked: true, Idle: watts(20, 20, 20)}, w)
}

// TestSpeed: each term alone, relative to the record.
func TestSpeed(t *testing.T) {
	m := site()
	one, free := model.One, hwmodel.Free()
	held := func(x model.Fixed) hwmodel.Limits { return hwmodel.Limits{Cap: x, Network: one} }
	busy := func(times model.Fixed) hwmodel.Limits { return hwmodel.Limits{Cap: one, Network: times} }
	packed := hwmodel.Where{Models: 1, Nodes: 1, Fullest: 1, Groups: 1}
	for _, c := range []struct {
		name     string
		class    int32
		recorded hwmodel.Where
		nodes    uint64
		cards    int32
		within   hwmodel.Limits
		by       [hwmodel.NumTerms]model.Fixed
		unknown  hwmodel.Terms
	}{
		{"as recorded", 1, packed, 0b0001, 1, free, [...]model.Fixed{one, one, one, one}, 0},
		{"as recorded, in no class", 0, packed, 0b0001, 1, free, [...]model.Fixed{one, one, one, one}, 1 << hwmodel.ByPlacement},
		{"a slower GPU", 1, packed, 0b0100, 1, free, [...]model.Fixed{one / 2, one, one, one}, 0},
		{"the slower of two counts", 1, hwmodel.Where{Models: 1, Nodes: 2, Fullest: 1, Groups: 2}, 0b0110, 1, free, [...]model.Fixed{one / 2, one, one, one}, 0},
		{"recorded on a third kind", 1, hwmodel.Where{Models: 4, Nodes: 1, Fullest: 1, Groups: 1}, 0b0001, 1, free, [...]model.Fixed{4 * one, one, one, one}, 0},
		{"in no class on another kind", 0, packed, 0b0100, 1, free, [...]model.Fixed{one, one, one, one}, 1<<hwmodel.ByType | 1<<hwmodel.ByPlacement},
		{"the kind of the record is not known", 1, hwmodel.Where{Nodes: 1, Fullest: 1, Groups: 1}, 0b0001, 1, free, [...]model.Fixed{one, one, one, one}, 1 << hwmodel.ByType},
		{"two nodes", 1, packed, 0b0011, 1, free, [...]model.Fixed{one, model.Ratio(2, 3), one, one}, 0},
		{"a fuller node", 1, packed, 0b0001, 2, free, [...]model.Fixed{one, model.Ratio(4, 5), one, one}, 0},
		{"two groups", 1, hwmodel.Where{Models: 3, Nodes: 2, Fullest: 1, Groups: 1}, 0b0110, 1, free, [...]model.Fixed{one, model.Ratio(3, 4), one, one}, 0},
		{"the placement of the record is not known", 1, hwmodel.Where{Models: 1}, 0b0001, 1, free, [...]model.Fixed{one, one, one, one}, 1 << hwmodel.ByPlacement},
		{"the groups of the record are not known", 1, hwmodel.Where{Models: 1, Nodes: 1, Fullest: 1}, 0b0001, 1, free, [...]model.Fixed{one, one, one, one}, 1 << hwmodel.ByPlacement},
		{"the GPUs on a node of the record are not known", 1, hwmodel.Where{Models: 1, Nodes: 1, Groups: 1}, 0b0001, 1, free, [...]model.Fixed{one, one, one, one}, 1 << hwmodel.ByPlacement},
		{"held to its table", 1, packed, 0b0001, 1, held(one / 2), [...]model.Fixed{one, one, one, 3 * one / 4}, 0},
		{"held between the table and 1", 1, packed, 0b0001, 1, held(3 * one / 4), [...]model.Fixed{one, one, one, 7 * one / 8}, 0},
		{"others on its links", 1, hwmodel.Where{Models: 3, Nodes: 2, Fullest: 1, Groups: 2}, 0b0110, 1, busy(3 * one), [...]model.Fixed{one, one, one / 2, one}, 0},
		{"others on its links, and the links", 1, hwmodel.Where{Models: 1, Nodes: 2, Fullest: 1, Groups: 1}, 0b0011, 1, busy(3 * one), [...]model.Fixed{one, one, one, one}, 0},
		{"others on links of which nothing is known", 2, hwmodel.Where{Models: 3, Nodes: 2, Fullest: 1, Groups: 2}, 0b0110, 1, busy(3 * one), [...]model.Fixed{one, one, one, one}, 1 << hwmodel.ByContention},
		{"held, and nothing is known", 2, packed, 0b0001, 1, held(one / 2), [...]model.Fixed{one, one, one, one}, 1 << hwmodel.ByCap},
	} {
		j := hwmodel.Job{Class: c.class, Cards: c.cards, Recorded: c.recorded}
		w := on(m, &j, c.nodes)
		s := m.Speed(&j, &w, c.within)
		require.Equal(t, c.by, s.By, c.name)
		require.Equal(t, c.unknown, s.Unknown, c.name)
		for term := range hwmodel.NumTerms {
			own := *m
			own.Terms = hwmodel.AllTerms &^ (1 << term)
			off := own.Speed(&j, &w, c.within)
			require.Equal(t, one, off.By[term], "%s: without %s", c.name, term)
			require.False(t, off.Unknown.Has(term), "%s: without %s", c.name, term)
		}
	}
}

// TestCap: a cap lowers what is drawn where it is known what that costs, and nowhere else; the
// limit of a GPU and the cap of the site are one cap, the lower of both.
func TestCap(t *testing.T) {
	m, one := site(), model.One
	j := hwmodel.Job{Class: 1, Cards: 2}
	fast := on(m, &j, 0b0001)
	require.Equal(t, watts(600, 800, 1000), fast.Active)
	require.Equal(t, one/2, m.Cap(&j, &fast, one/2))
	require.Equal(t, one, m.Cap(&j, &fast, one/4), "deeper than the table: what it costs is not known")
	require.True(t, speedOf(m, &j, &fast, one/4).Unknown.Has(hwmodel.ByCap))
	m.GPUs[0].Limit = 300
	fast = on(m, &j, 0b0001)
	require.Equal(t, 3*one/4, m.Cap(&j, &fast, one), "the limit is three quarters of its draw")
	require.Equal(t, 7*one/8, speedOf(m, &j, &fast, one).By[hwmodel.ByCap])
	require.Equal(t, 3*one/4, m.Cap(&j, &fast, 7*one/8), "the lower of both, and not their product")
	require.Equal(t, one/2, m.Cap(&j, &fast, one/2))
	m.Terms = 0
	require.Equal(t, one, m.Cap(&j, &fast, one/2), "nothing is slowed, so nothing is saved")
	m.Terms = hwmodel.AllTerms
	j.Class = 0
	fast = on(m, &j, 0b0001)
	require.Equal(t, one, m.Cap(&j, &fast, one))
	require.True(t, speedOf(m, &j, &fast, one).Unknown.Has(hwmodel.ByCap), "a limit, and what the job draws is not known")
}

func speedOf(m *hwmodel.Model, j *hwmodel.Job, w *hwmodel.Where, x model.Fixed) hwmodel.Speed {
	return m.Speed(j, w, hwmodel.Limits{Cap: x, Network: model.One})
}

// TestSpread: values drawn from a range are the same wherever a job runs, lie within it, and
// have its quantiles.
func TestSpread(t *testing.T) {
	m := site()
	c := &m.Classes[0]
	c.Spread = true
	c.Steps[2].Time = hwmodel.Factor{Low: 1 * model.One, Value: 2 * model.One, High: 4 * model.One}
	below, n := map[model.Fixed]int{}, 20_000
	packed := hwmodel.Where{Models: 1, Nodes: 1, Fullest: 1, Groups: 1}
	for i := range n {
		j := hwmodel.Job{Key: model.JobID(i), Class: 1, Cards: 1, Recorded: packed}
		here, there := on(m, &j, 0b0011), on(m, &j, 0b1100)
		s, o := m.Speed(&j, &here, hwmodel.Free()), m.Speed(&j, &there, hwmodel.Free())
		require.Equal(t, s.By[hwmodel.ByPlacement], o.By[hwmodel.ByPlacement])
		for _, at := range []model.Fixed{model.One, 2 * model.One, 4 * model.One} {
			if time := model.Ratio(int64(model.One), int64(s.By[hwmodel.ByPlacement])); time <= at+2 {
				below[at]++
			}
		}
	}
	require.InDelta(t, 0.1, float64(below[model.One])/float64(n), 0.01)
	require.InDelta(t, 0.5, float64(below[2*model.One])/float64(n), 0.015)
	require.Equal(t, n, below[4*model.One])
}

// TestRecordedIsNeutral: the default answers 1 whatever is asked.
func TestRecordedIsNeutral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := hwmodel.Job{Class: rapid.Int32().Draw(t, "class"), Recorded: hwmodel.Where{Models: rapid.Uint64().Draw(t, "models")}}
		s := hwmodel.Recorded{}.Speed(&j, &hwmodel.Where{Nodes: rapid.Int32().Draw(t, "nodes")}, hwmodel.Limits{Cap: model.Fixed(rapid.Int64Range(1, int64(model.One)).Draw(t, "x")), Network: model.Fixed(rapid.Int64Range(int64(model.One), 9*int64(model.One)).Draw(t, "times"))})
		require.Equal(t, model.One, s.Rate())
		require.Zero(t, s.Unknown)
		require.Equal(t, model.One, hwmodel.Recorded{}.Least(&j))
	})
}

// TestCapsAreMonotonous: a lower cap never gives more, and the deepest of a table is what it
// says.
func TestCapsAreMonotonous(t *testing.T) {
	m := site()
	m.Classes[0].Caps = []hwmodel.CapStep{{Draw: model.One / 4, Throughput: model.One / 8}, {Draw: model.One / 2, Throughput: model.One / 2}, {Draw: 3 * model.One / 4, Throughput: 7 * model.One / 8}}
	j := hwmodel.Job{Class: 1, Cards: 1}
	w := on(m, &j, 1)
	last := model.Fixed(0)
	for x := model.One / 4; x <= model.One; x += model.One / 64 {
		f := m.Speed(&j, &w, hwmodel.Limits{Cap: x, Network: model.One}).By[hwmodel.ByCap]
		require.GreaterOrEqual(t, f, last)
		last = f
	}
	require.Equal(t, model.One, last)
	require.Equal(t, model.One/4, m.Least(&j))
}

// TestClocks: a lock of the clocks slows work and lowers its draw by the table of its card; under
// a cap besides, what leaves less counts. What a lock costs is never taken from another card.
func TestClocks(t *testing.T) {
	m, one := site(), model.One
	steps := []hwmodel.ClockStep{{Clock: one / 2, Throughput: 5 * one / 8, Power: 3 * one / 8}, {Clock: 3 * one / 4, Throughput: 7 * one / 8, Power: 5 * one / 8}}
	m.Classes[0].Clocks = [][]hwmodel.ClockStep{steps}
	j := hwmodel.Job{Class: 1, Cards: 2}
	for _, c := range []struct {
		name              string
		lock, cap         model.Fixed
		throughput, draws model.Fixed
		unknown           bool
	}{
		{"no lock", 0, one, one, one, false},
		{"the top clock", one, one, one, one, false},
		{"a step of the table", 3 * one / 4, one, 7 * one / 8, 5 * one / 8, false},
		{"between two steps", 5 * one / 8, one, 3 * one / 4, one / 2, false},
		{"between the last step and the top", 7 * one / 8, one, 15 * one / 16, 13 * one / 16, false},
		{"a cap that the lock keeps", 3 * one / 4, 7 * one / 8, 7 * one / 8, 5 * one / 8, false},
		{"a cap below what the lock leaves", 7 * one / 8, one / 2, 3 * one / 4, one / 2, false},
		{"below the table", one / 4, one, one, one, true},
		{"below the table, and a cap", one / 4, one / 2, 3 * one / 4, one / 2, true},
	} {
		m.GPUs[0].Clock = c.lock
		w := on(m, &j, 0b0001)
		s := speedOf(m, &j, &w, c.cap)
		require.Equal(t, c.throughput, s.By[hwmodel.ByCap], c.name)
		require.Equal(t, c.draws, m.Cap(&j, &w, c.cap), c.name)
		require.Equal(t, c.unknown, s.Unknown.Has(hwmodel.ByCap), c.name)
	}
	m.GPUs[0].Clock, m.GPUs[1].Clock = 3*one/4, 0
	mixed := on(m, &j, 0b0110)
	require.Equal(t, 7*one/8, speedOf(m, &j, &mixed, one).By[hwmodel.ByCap], "the slowest sets the pace")
	require.Equal(t, one, m.Cap(&j, &mixed, one), "and the other card draws on")
	m.GPUs[1].Clock = 3 * one / 4
	slow := on(m, &j, 0b1000)
	require.True(t, speedOf(m, &j, &slow, one).Unknown.Has(hwmodel.ByCap), "of this card the class says nothing")
	require.Equal(t, one, m.Cap(&j, &slow, one))
	m.Terms = 0
	fast := on(m, &j, 0b0001)
	require.Equal(t, one, m.Cap(&j, &fast, one), "nothing is slowed, so nothing is saved")
}
