package quota

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/model"
)

// attempt of tenant 0, which held its nodes for hours, from so many days on.
type attempt struct {
	day   float64
	hours float64
	nodes int32
	gpus  int32 // on each node
}

// charged is a ledger on day now, when these attempts, given in order, are over
// or run still. Its tenant has a budget of a thousand GPU and node hours.
func charged(cfg Config, now float64, attempts ...attempt) *Ledger {
	cfg.Nodes, cfg.GPUs = 100, 400
	cfg.Tenants = []model.Tenant{{Limits: model.Limits{GPUBudget: 1000 * hour, NodeBudget: 1000 * hour}}}
	ledger := New(&cfg)
	ledger.Accrue(0)
	end := at(now)
	for _, a := range attempts {
		c := ResourceUsage{QOS: -1, Partition: -1, Nodes: a.nodes, GPUs: a.nodes * a.gpus}
		from := at(a.day)
		ledger.Start(&c, from)
		if to := from.Add(model.Duration(a.hours * float64(hour))); to <= end {
			ledger.Stop(&c, to)
		}
	}
	ledger.Freeze(end)
	return ledger
}

func at(days float64) model.Time { return model.Time(days * float64(day)) }

// TestBudget has the known values of the ledger, and what it once got wrong.
func TestBudget(t *testing.T) {
	for _, c := range []struct {
		name     string
		now      float64
		attempts []attempt
		gpuHours float64 // ever
		fraction float64
	}{
		{"10 h on 4 nodes of 4", 10, []attempt{{0, 10, 4, 4}}, 160, .16},
		{"5 h so far on 2 nodes of 4", 5. / 24, []attempt{{0, 10, 2, 4}}, 40, .04},
		{"100 days ago and 10 days ago", 110, []attempt{{9, 125, 1, 4}, {99, 50, 1, 4}}, 700, .2},
		{"850 of 1000", 20, []attempt{{1, 85, 10, 1}}, 850, .85},
		{"1200 of 1000", 20, []attempt{{1, 75, 4, 4}}, 1200, 1.2},
		{"the worse of nodes and GPUs", 20, []attempt{{1, 50, 10, 0}}, 0, .5},
		{"all attempts of a job that was requeued", 1, []attempt{{0, 1, 2, 4}, {.1, 2, 2, 4}, {.2, 1, 2, 4}}, 32, .032},
		{"suspended between", 10, []attempt{{0, 1, 4, 4}, {5, 1, 4, 4}}, 32, .032},
		{"still running at the begin of the window", 100, []attempt{{0, 4000, 1, 4}}, 9600, 8.64},
		{"forgotten by the budget only", 200, []attempt{{0, 100, 4, 4}}, 1600, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			ledger := charged(Config{}, c.now, c.attempts...)
			_, gpu := ledger.Consumed(0, at(c.now))
			require.InDelta(t, c.gpuHours, gpu.Seconds()/3600, 1e-6)
			// A window of 90 days has buckets of 35 minutes, of which the oldest counts whole.
			require.InDelta(t, c.fraction, ledger.Standing(0).Budget.Float(), .00234)
		})
	}
}

// TestUsage: a tenant held half of the site for one hour and nothing for the
// next.
func TestUsage(t *testing.T) {
	half := attempt{0, 1, 50, 4}
	for _, c := range []struct {
		name string
		cfg  Config
		now  float64 // hours
		want float64
		util float64
	}{
		{"instantaneous, running", Config{}, .5, .5, .5},
		{"instantaneous, ended", Config{}, 2, 0, 0},
		{"rolling, running", Config{Usage: Rolling}, .5, .5, .5},
		{"rolling, ended", Config{Usage: Rolling}, 2, .25, 0},
		{"rolling, half left in the window", Config{Usage: Rolling, Window: hour}, 1.5, .25, 0},
		{"rolling, out of the window", Config{Usage: Rolling, Window: hour}, 2, 0, 0},
		{"decay, running", Config{Usage: Decay, HalfLife: hour}, .5, .5, .5},
		// A quarter of the weight lies in the hour before the last: (1/2) (1/2 - 1/4) / (1 - 1/4).
		{"decay, ended", Config{Usage: Decay, HalfLife: hour}, 2, .5 / 3, 0},
		{"decay, four hours ago", Config{Usage: Decay, HalfLife: hour}, 5, .5 / 31, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			ledger := charged(c.cfg, c.now/24, half)
			require.InDelta(t, c.want, ledger.Standing(0).Used.Float(), 1e-9)
			require.InDelta(t, c.util, ledger.Utilisation().Float(), 1e-9)
			require.Zero(t, ledger.Standing(-1).Used)
		})
	}
	require.Equal(t, "rolling", Rolling.String())
}

// TestFrozen: nothing that scores read changes between ticks.
func TestFrozen(t *testing.T) {
	ledger := limited()
	c := free(0, 10)
	ledger.Start(&c, 0)
	ledger.Accrue(model.Time(hour))
	require.Zero(t, ledger.Standing(0).Used)
	require.Zero(t, ledger.Utilisation())
	ledger.Freeze(model.Time(hour))
	require.Equal(t, model.Ratio(1, 10), ledger.Standing(0).Used)
	ledger.Stop(&c, model.Time(hour))
	require.Equal(t, model.Ratio(1, 10), ledger.Standing(0).Used)

	inFlight := free(1, 50)
	ledger.Reserve(&inFlight)
	ledger.Freeze(model.Time(2 * hour))
	require.Zero(t, ledger.Standing(1).Used, "a proposal holds nothing yet")
}

// TestSharedNodes: utilisation stays within the site, shares need not.
func TestSharedNodes(t *testing.T) {
	ledger := New(&Config{Nodes: 1, Tenants: make([]model.Tenant, 1)})
	for range 3 {
		c := free(0, 1)
		ledger.Start(&c, 0)
	}
	ledger.Freeze(0)
	require.Equal(t, model.One, ledger.Utilisation())
	require.Equal(t, 3*model.One, ledger.Standing(0).Used)
}

// TestNextTick: ticks are multiples since the epoch, of either sign.
func TestNextTick(t *testing.T) {
	ledger := New(&Config{Nodes: 1, Tick: 10})
	for now, want := range map[model.Time]model.Time{
		0: 10, 9: 10, 10: 20, 11: 20, -1: 0, -10: 0, -11: -10, model.Never: model.Never,
	} {
		require.Equal(t, want, ledger.NextTick(now), "after %d", int64(now))
	}
}

// TestBuckets: the history of a tenant is bounded whatever the window.
func TestBuckets(t *testing.T) {
	for _, c := range []struct {
		window, tick model.Duration
		keeps        int
		bucket       model.Duration
	}{
		{DefaultWindow, DefaultTick, 3703, 7 * DefaultTick},
		{day, DefaultTick, 288, DefaultTick},
		{4095 * DefaultTick, DefaultTick, 4095, DefaultTick},
		{4096 * DefaultTick, DefaultTick, 2048, 2 * DefaultTick},
		{hour, 7 * model.Minute, 9, 7 * model.Minute},
		{1, hour, 1, hour},
	} {
		k := newClock(&Config{Window: c.window, Tick: c.tick, HalfLife: hour})
		require.Equal(t, c.keeps, int(k.span/k.bucket))
		require.Equal(t, c.bucket, k.bucket)
	}
	ledger := New(&Config{Nodes: 10, Window: model.Forever, Tenants: []model.Tenant{{Limits: model.Limits{NodeBudget: 1000 * hour}}}})
	c := free(0, 1)
	ledger.Start(&c, 0)
	ledger.Freeze(at(20))
	require.InDelta(t, .48, ledger.Standing(0).Budget.Float(), 1e-9)

	ledger = New(&Config{Nodes: 10, Window: 20 * hour, Tick: hour, Tenants: make([]model.Tenant, 1)})
	for i := range 100_000 {
		ledger.Start(&c, model.Time(i)*model.Time(7*model.Minute))
		ledger.Stop(&c, model.Time(i)*model.Time(7*model.Minute)+1)
	}
	require.LessOrEqual(t, cap(ledger.tenants[0].turns), 2*2*22, "though it is not read")
}

// TestSaturates: even senseless numbers never make the ledger fall.
func TestSaturates(t *testing.T) {
	ledger := New(&Config{Nodes: 10, Tenants: make([]model.Tenant, 1)})
	c := ResourceUsage{QOS: -1, Partition: -1, Nodes: math.MaxInt32, GPUs: math.MaxInt32}
	ledger.Start(&c, 0)
	ledger.Accrue(at(40000))
	ledger.Stop(&c, at(60000))
	node, gpu := ledger.Consumed(0, at(60000))
	require.EqualValues(t, math.MaxInt64, node)
	require.EqualValues(t, math.MaxInt64, gpu)
}
