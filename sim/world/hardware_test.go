package world

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/hwmodel"
	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
	"orrery/sim/world/internal/power"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// hardware is nodes of 4 GPUs that draw 100 W idle, of which each GPU 10 W; a GPU of class
// 1 draws 110 W at work and 30 W while it is held, and does three quarters of its work at
// half the draw. Steps on two nodes take twice as long.
func hardware(nodes int) *hwmodel.Model {
	exact := func(w int64) hwmodel.Watts { return hwmodel.Watts{Low: w, Value: w, High: w} }
	f := func(x model.Fixed) hwmodel.Factor { return hwmodel.Factor{Low: x, Value: x, High: x} }
	m := &hwmodel.Model{
		GPUs: []hwmodel.GPU{{Idle: hwmodel.Power{Watts: exact(10), Known: true}, Held: hwmodel.Power{Watts: exact(30), Known: true}}}, Terms: hwmodel.AllTerms,
		Classes: []hwmodel.Class{{
			Throughput: []hwmodel.Factor{f(model.One)}, Power: []hwmodel.Watts{exact(110)},
			Steps: []hwmodel.Step{{Nodes: 1, Time: f(model.One)}, {Nodes: 2, Time: f(2 * model.One)}},
			Caps:  []hwmodel.CapStep{{Draw: model.One / 2, Throughput: 3 * model.One / 4}},
		}},
	}
	for range nodes {
		m.NodeGPU, m.NodeGPUs, m.NodeGroup = append(m.NodeGPU, 0), append(m.NodeGPUs, 4), append(m.NodeGroup, 0)
	}
	return m
}

// modelled is a site with that hardware, all of whose rows are of class 1 and were recorded
// on one node each.
func modelled(nodes int, alter func(*SiteConfig)) SiteConfig {
	cfg := SiteConfig{Site: smallSite(nodes), Hardware: hardware(nodes)}
	cfg.Rows.Hardware = &translate.Hardware{Rules: []translate.ClassRule{{Class: 1}}, Default: 1}
	if alter != nil {
		alter(&cfg)
	}
	return cfg
}

// recordedOn says on how many nodes a row ran.
func recordedOn(b *traces.Batch, nodes ...int32) *traces.Batch {
	n := len(nodes)
	b.Past = &traces.Past{Name: make([]string, n), RanOn: make([]string, n), Nodes: nodes, GPUs: make([]int32, n)}
	for i := range nodes {
		b.Past.GPUs[i] = traces.Absent
	}
	return b
}

// TestPlacementCosts: a job of 10 s that was recorded on one node takes 20 s on two; what
// that cost is counted, and so is what is not known.
func TestPlacementCosts(t *testing.T) {
	p := play(t, modelled(2, nil), recordedOn(batchOf(row(1, 0, nodes(2)), row(2, 100*at)), 1, traces.Absent))
	require.Equal(t, 20*at, p.sink.jobs[0].End)
	require.Equal(t, 10*sec, p.sink.jobs[0].Runtime, "work at the speed of the record")
	require.Equal(t, 110*at, p.sink.jobs[1].End)
	c := p.world.Meter.Consequences
	gpu := int64(sec)
	require.Equal(t, (8*20+4*10)*gpu, c.GPUTime)
	require.Equal(t, c.GPUTime, c.Classed)
	require.Equal(t, 8*20*gpu, c.Modelled)
	require.Equal(t, [hwmodel.NumTerms]int64{hwmodel.ByPlacement: 4 * 10 * gpu}, c.Unknown, "the placement of the record of the second is not known")
	require.Equal(t, [hwmodel.NumTerms]int64{hwmodel.ByPlacement: 8 * 10 * gpu}, c.Lost)
	require.Equal(t, [model.PowerUnknown + 1]int64{model.PowerOfClass: (2*20 + 10) * gpu}, c.Sources)
}

// TestHeld: until its work begins a job draws what its GPUs draw held.
//
//	0        5         15
//	| starts | works   |
func TestHeld(t *testing.T) {
	p := play(t, modelled(1, func(c *SiteConfig) { c.StartDelay = 5 * sec }), recordedOn(batchOf(row(1, 0)), 1))
	require.Equal(t, 15*at, p.sink.jobs[0].End)
	want := int64(5*(100+4*20)+10*(100+4*100)) * 1000
	require.Equal(t, model.Energy{Low: want, Value: want, High: want}, p.sink.jobs[0].Energy)
	require.EqualValues(t, want/1000, p.joules)
}

// TestCapSlows: two jobs of 500 W each under a cap of 800 W, and of 700 W from 8 s on. Their
// GPUs, which draw 440 W in all and 40 W of that idle, are held to 49/64 of it, at which 113/128
// of the work is done, and then to 42/64.
func TestCapSlows(t *testing.T) {
	rows := recordedOn(batchOf(row(1, 0, walltime(100*sec)), row(2, 0, walltime(100*sec))), 1, 1)
	p := play(t, modelled(2, func(c *SiteConfig) {
		c.Power = PowerConfig{Slow: true, Cap: 800}
		c.Changes = []translate.Change{{At: 8 * at, Kind: translate.PowerChange, Value: 700}}
	}), rows)
	// 8 s at 113/128 leave 47/16 s; at 42/64 of the draw 106/128 of the work is done.
	require.Equal(t, 8*at+model.Time(47*8*sec/106)+1, p.sink.jobs[0].End)
	require.Equal(t, p.sink.jobs[0].End, p.sink.jobs[1].End)
	require.Zero(t, p.world.Meter.Consequences.OverCap)
	require.Equal(t, model.One, p.world.feed.Throttle, "nothing is held back when nothing runs")
	require.Empty(t, p.world.feed.Flexible)

	deep := play(t, modelled(2, func(c *SiteConfig) { c.Power = PowerConfig{Slow: true, Cap: 300} }), recordedOn(batchOf(row(1, 0, walltime(100*sec)), row(2, 0, walltime(100*sec))), 1, 1))
	require.Equal(t, model.Time(40*sec/3), deep.sink.jobs[0].End, "no deeper than the table")
	require.NotZero(t, deep.world.Meter.Consequences.OverCap, "and above the cap, which is counted")
}

// TestCapIsKept: under any load the site draws no more than its cap while that can be kept
// within the tables, and as soon as it can everything runs free again.
func TestCapIsKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []traces.Job
		n := rapid.IntRange(1, 12).Draw(t, "jobs")
		past := make([]int32, n)
		for i := range n {
			begin := model.Time(rapid.Int64Range(0, 40).Draw(t, "submit")) * at
			if i > 0 {
				begin = max(begin, list[i-1].Submit)
			}
			list = append(list, row(int64(i+1), begin, runs(model.Duration(rapid.Int64Range(1, 20).Draw(t, "runtime"))*sec), walltime(1000*sec)))
			past[i] = 1
		}
		most := rapid.Int64Range(4*100+4*200, 4*500).Draw(t, "cap") // four nodes idle, and all GPUs at half their draw
		p := play(t, modelled(4, func(c *SiteConfig) { c.Power = PowerConfig{Slow: true, Cap: most} }), recordedOn(batchOf(list...), past...))
		require.Zero(t, p.world.Meter.Consequences.OverCap)
		require.Equal(t, model.One, p.world.feed.Throttle)
		require.EqualValues(t, 4*100, p.world.Meter.Draw.Value)
	})
}

// TestServicesAreInNoClass: no row tells of which class the job of a service is.
func TestServicesAreInNoClass(t *testing.T) {
	s := NewSite(modelled(1, nil), &keep{})
	var f model.Fact
	a := model.Allocation{Job: 7, ID: -1, NodesMin: 1, NodesMax: 1, Walltime: model.Forever, Kind: model.Reactive, Tenant: -1}
	require.Zero(t, s.SubmitService(0, &a, 100*at, func(*model.Allocation) model.Reason { return model.ReasonNone }, &f))
	require.Zero(t, s.jobs.At(f.Ref).hw)
}

// TestLimitAndCap: the limit of a GPU and the cap of the site are one cap, the lower of both.
func TestLimitAndCap(t *testing.T) {
	limited := func(most int64) *story {
		return play(t, modelled(1, func(c *SiteConfig) {
			c.Hardware.(*hwmodel.Model).GPUs[0].Limit = 66 // 0.6 of 110 W
			c.Power = PowerConfig{Slow: true, Cap: most}
		}), recordedOn(batchOf(row(1, 0, walltime(100*sec))), 1))
	}
	free, capped := limited(10_000), limited(100+440*3/4-40) // a cap above the limit
	require.Equal(t, free.sink.jobs[0].End, capped.sink.jobs[0].End)
	require.Equal(t, free.sink.jobs[0].Energy, capped.sink.jobs[0].Energy, "nothing is saved that costs no time")
	lower := limited(100 + 440/2 - 40)
	require.Equal(t, model.Time(40*sec/3), lower.sink.jobs[0].End, "at half the draw")
	require.Less(t, lower.sink.jobs[0].Energy.Value, free.sink.jobs[0].Energy.Value*lower.sink.jobs[0].End.Sub(0).Of(1)/free.sink.jobs[0].End.Sub(0).Of(1))
}

// TestCapWithoutRecord: a cap slows a job whose record is not known as well; it would save
// energy and cost no time else.
func TestCapWithoutRecord(t *testing.T) {
	p := play(t, modelled(1, func(c *SiteConfig) {
		c.Rows.Hardware.Default = 0
		c.Power = PowerConfig{Slow: true, Cap: 100 + 440/2 - 40}
	}), recordedOn(batchOf(row(1, 0, walltime(100*sec))), traces.Absent))
	require.Equal(t, model.Time(40*sec/3), p.sink.jobs[0].End, "three quarters of the speed at half the draw")
	require.EqualValues(t, 1, p.world.Meter.Unrated)
}

// TestWhatCannotBeHeldBack: a job in no class, and one without GPUs, draw what they draw under
// any cap; that the cap was not known to cost them is counted for those with GPUs.
func TestWhatCannotBeHeldBack(t *testing.T) {
	for _, c := range []struct {
		name    string
		alter   func(*SiteConfig)
		unknown int64
	}{
		{"in no class", func(c *SiteConfig) { c.Rows.Hardware.Rules = nil }, 4 * 10 * int64(sec)},
		{"without GPUs", func(c *SiteConfig) {
			m := c.Hardware.(*hwmodel.Model)
			m.NodeGPU[0], m.NodeGPUs[0], c.Site.Nodes[0].GPUs = -1, 0, 0
		}, 0},
	} {
		p := play(t, modelled(1, func(s *SiteConfig) {
			c.alter(s)
			s.Power = PowerConfig{Slow: true, Cap: 150}
		}), recordedOn(batchOf(row(1, 0)), 1))
		require.Equal(t, 10*at, p.sink.jobs[0].End, c.name)
		require.EqualValues(t, 10*300, p.joules, "%s: by the kind of its node", c.name)
		require.EqualValues(t, 10*sec, p.world.Meter.Consequences.OverCap, c.name)
		require.Equal(t, c.unknown, p.world.Meter.Consequences.Unknown[hwmodel.ByCap], c.name)
		if c.unknown > 0 {
			require.Zero(t, p.world.Meter.Consequences.Modelled, c.name)
		}
	}
}

// TestHeldWhileItWrites: a job that is preempted before its work begins, or as it works, draws
// what its GPUs draw held while it writes its checkpoint.
func TestHeldWhileItWrites(t *testing.T) {
	p := play(t, modelled(1, func(c *SiteConfig) { c.StartDelay = 5 * sec }), recordedOn(batchOf(
		row(1, 0, manual, class(2)), row(2, 0, manual, class(8))), 1, 1), order{at: 2 * at, kind: model.ProposePreempt, id: 2, victim: 1})
	require.Equal(t, model.Suspended, p.sink.attempts[0].Outcome)
	require.Equal(t, 12*at, p.sink.attempts[0].End, "10 s of writing")
	for _, j := range p.sink.jobs {
		if j.ID == 1 {
			require.EqualValues(t, (12*180+5*180+10*500)*1000, j.Energy.Value, "held all the time, and then once more from its beginning")
		}
	}
}

// naiveThrottle is throttleFor by its definition: the largest step at which the sum over all
// jobs is no more than the cap.
func naiveThrottle(s *Site) model.Fixed {
	for k := int64(power.Steps); k > 1; k-- {
		x, drawn := model.Fixed(k)*(model.One/power.Steps), s.Meter.Draw.Value
		for ref := range model.Ref(s.jobs.Len()) {
			if l := s.jobs.At(ref); l.present && l.attempt != nil && l.rec.State == model.Running && l.draws.Works && l.draws.Least < model.One {
				drawn += l.draws.At(s.cfg.Hardware.Cap(&l.hw, &l.draws.Where, max(x, l.draws.Least))).Value - l.draws.Drawn.Value
			}
		}
		if drawn <= s.feed.Cap {
			return x
		}
	}
	return model.One / power.Steps
}

// TestThrottle: the sums by step say what all jobs, looked at one by one, come to.
func TestThrottle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows := []traces.Job{row(1, 0), row(2, 0), row(3, 0), row(4, 0)}
		for i := range rows {
			runs(model.Duration(rapid.Int64Range(1, 30).Draw(rt, "runtime")) * sec)(&rows[i])
			walltime(1000 * sec)(&rows[i])
		}
		most := rapid.Int64Range(400, 2000).Draw(rt, "cap")
		s := newSingle(t, func(c *SiteConfig) {
			own := modelled(4, nil)
			c.Hardware, c.Rows.Hardware = own.Hardware, own.Rows.Hardware
			c.Power = PowerConfig{Slow: true, Cap: most}
			c.StartDelay = model.Duration(rapid.Int64Range(0, 3).Draw(rt, "delay")) * sec
		}, rows...)
		recordedOn(s.rows, 1, 1, 1, 1)
		for i := range rows {
			f := s.submit(i)
			require.Equal(t, model.FactAssigned, s.propose(0, model.Proposal{Ref: f.Ref, Job: f.Job, Placement: whole(1 << i)}).Kind)
			require.Equal(t, naiveThrottle(s.Site), s.feed.Throttle)
		}
		for s.Next() != model.Never {
			s.Take(s.Next(), nil)
			s.Close()
			require.Equal(t, naiveThrottle(s.Site), s.feed.Throttle)
		}
		require.Zero(t, s.feed.Held)
	})
}

// TestDrawsNextToNothing: a row may say that its nodes drew less than nodes differ by when they
// are idle. The least that the job drew is then nothing.
func TestDrawsNextToNothing(t *testing.T) {
	p := play(t, SiteConfig{Site: smallSite(1), Power: PowerConfig{IdleBand: model.FixedOf(0.04), RowBand: model.FixedOf(0.1)}},
		batchOf(row(1, 0, func(j *traces.Job) { j.Power = traces.Some[int64](3) })))
	e := p.sink.jobs[0].Energy
	require.Zero(t, e.Low)
	require.EqualValues(t, 10*3*1000, e.Value)
	require.Greater(t, e.High, e.Value)
	require.Less(t, e.High, int64(10*10*1000))
}
