package vm

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/autoscale"
	"orrery/autoscale/neon"
	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
	"orrery/sim/service"
	"orrery/sim/service/demand"
)

// at is an instant in seconds.
func at(s float64) model.Time { return model.Time(math.Round(s * float64(model.Second))) }

// rates are a demand of CPUs from instants on, in seconds.
func rates(end float64, steps ...float64) *demand.Demand {
	d := &demand.Demand{End: at(end)}
	for i := 0; i < len(steps); i += 2 {
		d.Segments = append(d.Segments, demand.Segment{At: at(steps[i]), Rate: steps[i+1]})
	}
	return d
}

func sized(seconds float64, n int64) Size { return Size{at(seconds), units(n)} }

// An agent whose permit server is away keeps asking: at each tick, and when it wants another
// size 2 s until that times out and 3 s until it tries again. It does not grow; the first request behind the outage is answered.
func TestOutageInstants(t *testing.T) {
	c := host(64)
	c.Outages = []service.Span{{From: at(300), To: at(1200)}}
	first := map[autoscale.Guard]model.Time{}
	resized := model.Time(-1)
	c.Watch = func(now model.Time, _ int, d *autoscale.Decision, _ autoscale.Resources) {
		if _, known := first[d.Guard]; !known && d.Entity == neon.VM {
			first[d.Guard] = now
		}
		if resized < 0 && d.Entity == neon.VM && d.Proposed() {
			resized = now
		}
	}
	out, err := Run(c, []*demand.Demand{stepped(2)})
	require.NoError(t, err)
	require.EqualValues(t, 20+120, out.Unanswered, "reports at 300 s, 315 s … 585 s, then for more at 600 s, 605 s … 1195 s")
	require.Equal(t, at(600), first[neon.GuardPermit], "two CPUs call for 4 units, and the permit is for 1")
	require.Equal(t, at(1200.01), resized)
	require.Equal(t, []Size{sized(0, 1), sized(1200.51, 16)}, out.Sizes[:2], "the backlog of 10 min calls for all of them")
	require.Less(t, out.Granted, out.Wanted)
}

// The last permit is a bound and no mode: within it a machine shrinks, step by step, and
// grows again while the permit server is away.
func TestScalesWithinThePermit(t *testing.T) {
	c := host(64)
	c.Initial, c.Memory = units(4), Memory{PerCPU: 3 << 30}
	c.Outages = []service.Span{{From: at(500), To: at(900)}}
	out, err := Run(c, []*demand.Demand{rates(910, 0, 1, 600, 0.2, 800, 1)})
	require.NoError(t, err)
	// The load falls as 0.2 + 0.8 exp(-t/60) below 3.5, 2.5 and 1.5 units of 0.225 after 18.5,
	// 47.5 and 105.7 s, seen 5 s apart; the monitor takes 20 ms and a resize 0.5 s. Three GiB call
	// for four units at 800 s. What came before they were there keeps the load at 1.375, towards
	// which it has come to 1.15, 5.1 units of 0.225, when the request at 900 s is answered.
	require.Equal(t, []Size{sized(0, 4), sized(620.52, 3), sized(650.52, 2), sized(710.52, 1), sized(800.5, 4), sized(900.51, 5)}, out.Sizes)
	require.EqualValues(t, 8+36+4+6, out.Unanswered, "510 s … 615 s each 15 s, 620.52 s … 795.52 s each 5 s, 810.52 s … 855.52 s, and for 5 units 870 s … 895 s")
}

// A fresh agent has no permit: its first request tells what the machine has, the second one
// asks for more.
func TestAgentRestart(t *testing.T) {
	c := host(64)
	c.Memory = Memory{PerCPU: 3 << 30}
	c.Restarts = []service.Span{{From: at(300), To: at(331)}}
	out, err := Run(c, []*demand.Demand{rates(340, 0, 0.2, 332, 1)})
	require.NoError(t, err)
	// The first sample is that of 335 s, and the permit for one unit has come at 331.01 s.
	require.Equal(t, []Size{sized(0, 1), sized(335.51, 4)}, out.Sizes)
	require.EqualValues(t, 1, out.Restarts)

	c.Restarts = []service.Span{{From: at(300.001), To: at(300.002)}} // the report of 300 s is on its way
	out, err = Run(c, []*demand.Demand{rates(340, 0, 0.2)})
	require.NoError(t, err)
	require.EqualValues(t, 300/15+1+3, out.Requests, "0 s … 300 s, then 300.01 s, when that has ended, 315.01 s and 330.01 s")
}

// Five GiB in use call for seven units of one GiB, three quarters of which may be in use.
func TestMemoryDrives(t *testing.T) {
	c := host(64)
	c.Memory = Memory{Base: 5 << 30}
	out, err := Run(c, []*demand.Demand{rates(60, 0, 0.1)})
	require.NoError(t, err)
	require.Equal(t, []Size{sized(0, 1), sized(0.52, 7)}, out.Sizes, "a report and a request of 10 ms each, and a resize")
	require.InDelta(t, 0.52, out.Short, 1e-9)
	require.True(t, slices.ContainsFunc(out.Rules, func(r service.RuleCount) bool { return r.Rule == neon.RuleMemory && r.Proposed }))
	require.InDelta(t, 5.0/60, out.Needed, 1e-9, "units for a minute, in hours")
	require.InDelta(t, 4*0.52/3600, out.Lack, 1e-9)
	require.InDelta(t, 2*59.48/3600, out.Surplus, 1e-9)
	require.InDelta(t, 0.52/3600, out.Under, 1e-9)
	require.InDelta(t, 59.48/3600, out.Over, 1e-9)
	require.InDelta(t, (0.52+7*59.48)/3600, out.UnitHours, 1e-9)
	require.InDelta(t, 7.0/60, out.Wanted, 1e-9)
	require.InDelta(t, (0.02+7*59.98)/3600, out.Granted, 1e-9)
}

// A quarter of a GiB of the file cache is touched anew in each minute: t minutes of it, and
// what half a minute more adds, are to fit into three quarters of the memory.
func TestCacheDrives(t *testing.T) {
	c := host(64)
	c.Memory = Memory{Cache: 6 << 30, Touch: (1 << 30) / 30.0, Fill: 1 << 30}
	c.Agent.CacheMetrics = true
	out, err := Run(c, []*demand.Demand{rates(2400, 0, 0.125)})
	require.NoError(t, err)
	want := []Size{sized(0, 1)}
	// n units are called for when there are more than 0.75 (n-1) GiB, which is seen each 15 s:
	// at 0.25 (t + 0.375) for t of 2.75, 5.75 … minutes. Every other time a report is under way.
	for n := int64(2); n <= 9; n++ {
		want = append(want, sized(float64(3*n-4)*60+45+0.51+0.01*float64(1-n%2), n))
	}
	require.Equal(t, want, out.Sizes)
	c.Agent.CacheMetrics = false
	out, err = Run(c, []*demand.Demand{rates(2400, 0, 0.125)})
	require.NoError(t, err)
	require.Len(t, out.Sizes, 1, "without these metrics the cache calls for nothing")
}

// Machines of a fixed size have it for the whole run, and ask for nothing.
func TestFixed(t *testing.T) {
	c := host(24)
	c.Initial, c.Fixed, c.Step = units(8), true, 10*model.Minute
	c.Restarts = []service.Span{{From: at(300), To: at(331)}}
	out, err := Run(c, []*demand.Demand{stepped(2), stepped(1)})
	require.NoError(t, err)
	require.Zero(t, out.Requests+out.Resizes+out.Gaps+out.Restarts)
	require.InDelta(t, 2*8*50.0/60, out.UnitHours, 1e-9)
	require.InDelta(t, out.Wanted, out.Granted, 1e-9)
	require.Len(t, out.Timeline, 5)
	n := out.Timeline[1].Nodes[0]
	require.InDelta(t, 8+4+0.0, n.Needed, 1e-9)
	require.InDelta(t, 16, n.Has, 1e-9)
	require.InDelta(t, 16, n.Reserved, 1e-9)
	require.Zero(t, n.Logical, "the watermark is at 21.6 units")
}

// Whatever machines do, the sums of the nodes hold, migrations end, and what is granted is
// no more than what is wanted; twice the same run has the same outcome.
func TestSumsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string, low, high int) int { return rapid.IntRange(low, high).Draw(t, name) }
		c := host()
		for range number("nodes", 1, 3) {
			c.Nodes = append(c.Nodes, units(int64(number("units", 8, 30))))
		}
		c.Plugin.AccountPressure, c.Plugin.RefuseOver = rapid.Bool().Draw(t, "account"), rapid.Bool().Draw(t, "refuse")
		c.Plugin.EvenWatermark = rapid.Bool().Draw(t, "even")
		c.Pending, c.Step = model.Duration(number("pending", 0, 30))*model.Second, model.Minute
		c.ResizeFail, c.GapShare, c.Memory.Refuse = float64(number("fail", 0, 3))/10, float64(number("gaps", 0, 2))/10, float64(number("refuse", 0, 2))/4
		from := float64(number("from", 0, 900))
		c.Outages = []service.Span{{From: at(from), To: at(from + float64(number("outage", 1, 300)))}}
		c.Restarts = []service.Span{{From: at(from + 0.3), To: at(from + 0.3 + float64(number("restart", 1, 300)))}}
		c.Bandwidth = float64(int64(1) << number("bandwidth", 26, 32))
		var demands []*demand.Demand
		for range number("machines", 1, 6) {
			demands = append(demands, rates(1200, 0, float64(number("a", 1, 30))/10, 300, float64(number("b", 1, 40))/10, 800, float64(number("c", 1, 30))/10))
		}
		out, err := Run(c, demands)
		require.NoError(t, err)
		require.LessOrEqual(t, out.Granted, out.Wanted+1e-9)
		require.LessOrEqual(t, out.Moved+out.Stayed, out.Migrations)
		require.LessOrEqual(t, out.Partial+out.Denied+out.Unanswered, out.Requests)
		sum := Step{}
		for _, s := range out.Timeline {
			sum.Begun, sum.Moved, sum.Stayed = sum.Begun+s.Begun, sum.Moved+s.Moved, sum.Stayed+s.Stayed
			sum.Partial, sum.Unanswered = sum.Partial+s.Partial, sum.Unanswered+s.Unanswered
		}
		require.Equal(t, []int64{out.Migrations, out.Moved, out.Stayed, out.Partial, out.Unanswered}, []int64{sum.Begun, sum.Moved, sum.Stayed, sum.Partial, sum.Unanswered})
		again, err := Run(c, demands)
		require.NoError(t, err)
		require.Equal(t, out, again)
	})
}
