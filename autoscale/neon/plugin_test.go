package neon

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/autoscale"
)

// small is a plugin in units of 1 CPU and 1 byte, with nodes of a size.
func small(t require.TestingT, cfg PluginConfig, totals ...int64) *Plugin {
	cfg.Unit, cfg.Slot = autoscale.Resources{CPU: 1000, Memory: 1}, 1
	p, err := NewPlugin(cfg)
	require.NoError(t, err)
	for _, n := range totals {
		p.AddNode(res(n))
	}
	return p
}

// res is an amount of n CPUs and n bytes.
func res(n int64) autoscale.Resources { return autoscale.Resources{CPU: 1000 * n, Memory: n} }

// vm is a machine that uses an amount and may have up to most.
func vm(using, most int64) Pod { return Pod{Use: res(using), Min: res(1), Max: res(most), VM: true} }

func wanting(n int64, last *autoscale.Resources) AgentRequest {
	return AgentRequest{Protocol: 5, Unit: res(1), Want: res(n), Last: last}
}

// sums checks that each node has what its pods have.
func sums(t require.TestingT, p *Plugin) {
	for n, s := range p.Dump() {
		var cpu, memory Ledger
		for _, x := range s.Pods {
			for _, v := range []struct {
				l *Ledger
				s *Share
			}{{&cpu, &x.CPU}, {&memory, &x.Memory}} {
				v.l.Reserved += v.s.Reserved
				v.l.Buffer += v.s.Buffer
				v.l.Pressure += v.s.Pressure
				if x.Leaving {
					v.l.Accounted += v.s.Reserved + v.s.Pressure
				}
				require.True(t, v.s.Reserved >= 0 && v.s.Buffer >= 0 && v.s.Buffer <= v.s.Reserved && v.s.Pressure >= 0, "%+v", x)
			}
		}
		c, m := p.Node(n)
		cpu.Total, cpu.Watermark, memory.Total, memory.Watermark = c.Total, c.Watermark, m.Total, m.Watermark
		require.Equal(t, []Ledger{cpu, memory}, []Ledger{c, m})
		if c.Reserved-c.Buffer <= c.Total && m.Reserved-m.Buffer <= m.Total {
			require.NoError(t, p.Check(n))
		} else {
			require.ErrorContains(t, p.Check(n), "more than the")
		}
	}
}

// drawn are machines with agents that keep the protocol: the first message tells what is
// used, which is within the last permit, and later ones hold the permit that was given.
type drawn struct {
	p      *Plugin
	permit map[autoscale.Entity]autoscale.Resources
	first  map[autoscale.Entity]bool
	next   autoscale.Entity
}

func (d *drawn) step(t *rapid.T) {
	d.p.PreFilter()
	switch e := autoscale.Entity(rapid.IntRange(0, int(d.next)).Draw(t, "pod")); rapid.IntRange(0, 5).Draw(t, "op") {
	case 0:
		x := vm(rapid.Int64Range(1, 4).Draw(t, "using"), rapid.Int64Range(4, 12).Draw(t, "most"))
		x.VM = rapid.IntRange(0, 4).Draw(t, "vm") > 0
		x.Always = rapid.IntRange(0, 9).Draw(t, "always") == 0
		if n := rapid.IntRange(0, 1).Draw(t, "node"); d.p.Filter(n, x.Use) {
			require.NoError(t, d.p.Reserve(d.next, n, x, false))
			if x.VM {
				d.permit[d.next], d.first[d.next] = x.Use, true
			}
			d.next++
		}
	case 1:
		d.p.Delete(e)
		delete(d.permit, e)
	case 2:
		least := int64(1)
		if d.first[e] {
			least = d.permit[e].Memory // TestLoweredUnheard
		}
		d.p.Limits(e, res(1), res(rapid.Int64Range(least, 16).Draw(t, "limit")))
	default:
		last, ok := d.permit[e]
		if !ok {
			return
		}
		q := wanting(rapid.Int64Range(1, 12).Draw(t, "want"), &last)
		if d.first[e] {
			q.Want = res(rapid.Int64Range(1, last.Memory).Draw(t, "used"))
			delete(d.first, e)
		}
		q.Load, q.Measured = float64(rapid.IntRange(0, 9).Draw(t, "load")), rapid.Bool().Draw(t, "measured")
		a, err := d.p.Request(0, e, q)
		if err != nil {
			require.ErrorIs(t, err, ErrLeaving)
			return
		}
		require.False(t, anyLess(q.Want, a.Permit), "more than was asked for")
		require.True(t, a.Migrate || !anyLess(a.Permit, atMost(last, q.Want)), "less than it has")
		d.permit[e] = a.Permit
	}
}

// The books of a node are the sums of those of its pods, and with agents that keep the
// protocol there is never more in use than there is, also after a restart.
func TestBooksAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := PluginDefaults()
		cfg.AccountPressure = rapid.Bool().Draw(t, "account")
		cfg.EvenWatermark = rapid.Bool().Draw(t, "even")
		d := drawn{p: small(t, cfg, 20, 14), permit: map[autoscale.Entity]autoscale.Resources{}, first: map[autoscale.Entity]bool{}}
		for left := int64(20); left > 0 && rapid.IntRange(0, 3).Draw(t, "more") > 0; d.next++ { // found at the start
			permit := rapid.Int64Range(1, min(left, 8)).Draw(t, "permit")
			left -= permit
			x := vm(rapid.Int64Range(1, permit).Draw(t, "found"), 12)
			require.NoError(t, d.p.Reserve(d.next, 0, x, true))
			d.permit[d.next], d.first[d.next] = res(permit), true
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			d.step(t)
			sums(t, d.p)
			for n := range 2 {
				c, m := d.p.Node(n)
				require.True(t, c.Reserved-c.Buffer <= c.Total && m.Reserved-m.Buffer <= m.Total, "%+v %+v", c, m)
			}
		}
	})
}

// TestLoweredUnheard: a maximum that falls below what an agent holds that was not heard of
// yet frees room which is given away, and the node has more in use than there is. So it is
// in the original.
func TestLoweredUnheard(t *testing.T) {
	p := small(t, PluginDefaults(), 10)
	require.NoError(t, p.Reserve(0, 0, vm(1, 8), true))
	p.Limits(0, res(1), res(2))
	require.True(t, p.Filter(0, res(8)))
	require.NoError(t, p.Reserve(1, 0, vm(8, 8), false))
	holds := res(7)
	q := wanting(1, &holds)
	q.Want = holds
	a, err := p.Request(0, 0, q)
	require.NoError(t, err)
	require.Equal(t, holds, a.Permit)
	_, memory := p.Node(0)
	require.Equal(t, int64(15), memory.Reserved-memory.Buffer, "of 10")
}

func TestPlacement(t *testing.T) {
	p := small(t, PluginDefaults(), 10, 20)
	require.True(t, p.Filter(0, res(10)))
	require.False(t, p.Filter(0, res(11)))
	require.Equal(t, []int64{50, 25, 0, 50}, []int64{p.Score(0, res(8)), p.Score(0, res(0)), p.Score(0, res(11)), p.Score(1, res(18))})
	require.NoError(t, p.Reserve(3, 0, vm(8, 10), false))
	require.Error(t, p.Reserve(3, 1, vm(1, 2), false))
	require.NoError(t, p.Reserve(0, 0, vm(4, 4), false), "as coded it is put there all the same")
	c, _ := p.Node(0)
	require.Equal(t, Ledger{Total: 10000, Watermark: 9000, Reserved: 12000}, c)
	require.Equal(t, Counters{Filtered: 2, FilterDenied: 1, Reserved: 2, ReserveShould: 1}, p.Counters())
	p.PostFilter()
	require.EqualValues(t, 1, p.Counters().Failures)

	q := small(t, Documented(), 10)
	require.NoError(t, q.Reserve(0, 0, vm(8, 10), false))
	require.ErrorIs(t, q.Reserve(1, 0, vm(3, 4), false), errRefused)
	require.NoError(t, q.Reserve(2, 0, vm(3, 4), true), "what is there is there")
	sums(t, q)
}

// Drawn scores lie between 1 and the score, and are the same for the same seed.
func TestRandomScore(t *testing.T) {
	cfg := PluginDefaults()
	cfg.RandomScore = true
	p, q := small(t, cfg, 10, 10), small(t, cfg, 10, 10)
	seen := make([]int, 101)
	for i := range 2000 {
		s := p.Score(i%2, res(8))
		require.Equal(t, s, q.Score(i%2, res(8)))
		seen[s]++
	}
	require.Zero(t, seen[0])
	for _, n := range seen[1:] {
		require.Positive(t, n)
	}
	require.Zero(t, p.Score(0, res(11)))
}

// A restart: all that may have been permitted is kept until the agents have reported.
func TestBuffer(t *testing.T) {
	p := small(t, PluginDefaults(), 10)
	for e := range autoscale.Entity(2) {
		require.NoError(t, p.Reserve(e, 0, vm(3, 6), true))
	}
	c, _ := p.Node(0)
	require.Equal(t, []int64{12000, 6000}, []int64{c.Reserved, c.Buffer})
	require.False(t, p.Filter(0, res(1)))
	p.Limits(0, res(1), res(2))
	c, _ = p.Node(0)
	require.Equal(t, []int64{9000, 3000}, []int64{c.Reserved, c.Buffer}, "no less than it uses")
	p.Limits(0, res(1), res(6))
	for e := range autoscale.Entity(2) {
		a, err := p.Request(0, e, wanting(3, nil))
		require.NoError(t, err)
		require.Equal(t, res(3), a.Permit)
	}
	c, _ = p.Node(0)
	require.Equal(t, []int64{6000, 0}, []int64{c.Reserved, c.Buffer})
	p.Limits(0, res(1), res(9))
	c, _ = p.Node(0)
	require.EqualValues(t, 6000, c.Reserved, "its agent has a permit")
	x := vm(3, 6)
	x.Fixed = true
	require.NoError(t, p.Reserve(2, 0, x, true))
	c, _ = p.Node(0)
	require.Equal(t, []int64{9000, 0}, []int64{c.Reserved, c.Buffer})
}

// Machines leave a node above its watermark, the one with the least to do first.
func TestMigration(t *testing.T) {
	p := small(t, PluginDefaults(), 10)
	for e := range autoscale.Entity(3) {
		require.NoError(t, p.Reserve(e, 0, vm(3, 8), false))
	}
	request := func(e autoscale.Entity, n int64, load float64) Answer {
		last := res(3)
		q := wanting(n, &last)
		q.Load, q.Measured = load, true
		a, err := p.Request(0, e, q)
		require.NoError(t, err)
		sums(t, p)
		return a
	}
	require.Equal(t, RuleRoom, request(0, 3, 2).Decision.Rule)
	require.Equal(t, RuleRoom, request(1, 3, 1).Decision.Rule, "exactly at the watermark, with nothing above it")
	require.Equal(t, RuleRoom, request(0, 4, 2).Decision.Rule)
	d := request(2, 3, 3).Decision
	require.Equal(t, autoscale.Decision{Rule: RuleTooFull, Guard: GuardFirst, Entity: 2, Would: autoscale.Proposal{Verb: autoscale.Migrate, Entity: 2}}, d)
	require.Equal(t, GuardNext, request(0, 4, 2).Decision.Guard)
	a := request(1, 5, 1)
	require.True(t, a.Migrate)
	require.Equal(t, res(3), a.Permit, "no more while it leaves")
	c, _ := p.Node(0)
	require.Equal(t, Ledger{Total: 10000, Watermark: 9000, Reserved: 10000, Accounted: 3000}, c)
	_, err := p.Request(0, 1, wanting(2, nil))
	require.ErrorIs(t, err, ErrLeaving)
	a = request(1, 3, 0)
	require.Equal(t, []any{res(3), false}, []any{a.Permit, a.Migrate})
	a = request(0, 5, 2)
	require.Equal(t, []any{RuleRoom, res(4)}, []any{a.Decision.Rule, a.Permit}, "what leaves relieves it")
	c, _ = p.Node(0)
	require.EqualValues(t, 1000, c.Pressure)
	p.Delete(1)
	sums(t, p)
	c, _ = p.Node(0)
	require.Equal(t, Ledger{Total: 10000, Watermark: 9000, Reserved: 7000, Pressure: 1000}, c)
	require.Equal(t, []int64{1, 1, 1}, []int64{p.Counters().Migrations, p.Counters().Departed, p.Counters().Refused})
}

// What a leaving machine had asked for is accounted for in the documented mode alone.
func TestAccountedFor(t *testing.T) {
	for cfg, want := range map[bool]int64{false: 6000, true: 10000} {
		c := PluginDefaults()
		c.AccountPressure = cfg
		p := small(t, c, 10)
		x := vm(6, 12)
		x.Always = true
		require.NoError(t, p.Reserve(0, 0, x, false))
		_, err := p.Request(0, 0, wanting(6, nil))
		require.NoError(t, err)
		q := wanting(10, nil)
		q.Measured = true
		a, err := p.Request(0, 0, q)
		require.NoError(t, err)
		require.Equal(t, []any{true, RuleAlways}, []any{a.Migrate, a.Decision.Rule})
		cpu, _ := p.Node(0)
		require.Equal(t, want, cpu.Accounted)
		sums(t, p)
		p.Delete(0)
		sums(t, p)
		cpu, _ = p.Node(0)
		require.Equal(t, Ledger{Total: 10000, Watermark: 9000}, cpu, "nothing of it is left")
	}
}

// A machine stays where migration is off, and where it is not scaled.
func TestStays(t *testing.T) {
	c := PluginDefaults()
	c.Migrate = false
	for _, cfg := range []PluginConfig{PluginDefaults(), c} {
		p := small(t, cfg, 10)
		x := vm(10, 12)
		x.Fixed = cfg.Migrate
		require.NoError(t, p.Reserve(0, 0, x, false))
		for range 2 {
			a, err := p.Request(0, 0, wanting(10, nil))
			require.NoError(t, err)
			require.False(t, a.Migrate)
			require.Equal(t, map[bool]autoscale.Guard{true: GuardFixed, false: GuardDisabled}[cfg.Migrate], a.Decision.Guard)
		}
	}
}

func TestTooFull(t *testing.T) {
	at := func(reserved, pressure, accounted, buffer int64) *Ledger {
		return &Ledger{Watermark: 8, Reserved: reserved, Pressure: pressure, Accounted: accounted, Buffer: buffer}
	}
	for _, c := range []struct {
		name        string
		cpu, memory *Ledger
		coded, even bool
	}{
		{"below both", at(8, 9, 0, 0), at(7, 9, 0, 0), false, false},
		{"memory at the watermark", at(8, 0, 0, 0), at(8, 1, 0, 0), true, false},
		{"memory at the watermark without pressure", at(8, 0, 0, 0), at(8, 0, 0, 0), false, false},
		{"above", at(9, 0, 0, 0), at(1, 0, 0, 0), true, true},
		{"accounted for", at(9, 0, 1, 0), at(1, 0, 0, 0), false, false},
		{"a buffer may be free", at(9, 0, 0, 1), at(1, 0, 0, 0), false, false},
		{"pressure beyond the room", at(9, 0, 1, 0), at(7, 2, 0, 0), true, true},
		{"pressure within the room", at(9, 0, 1, 0), at(7, 1, 0, 0), false, false},
	} {
		require.Equal(t, c.coded, TooFull(c.cpu, c.memory, false), c.name)
		require.Equal(t, c.even, TooFull(c.cpu, c.memory, true), c.name)
	}
}

// What is not a valid request is refused and changes nothing.
func TestRefusedRequests(t *testing.T) {
	cfg := PluginDefaults()
	cfg.CheckUnit = true
	p := small(t, cfg, 10)
	require.NoError(t, p.Reserve(0, 0, vm(3, 8), false))
	require.NoError(t, p.Reserve(1, 0, Pod{Use: res(1)}, false))
	before, _ := p.Node(0)
	with := func(f func(q *AgentRequest)) AgentRequest {
		q := wanting(4, nil)
		f(&q)
		return q
	}
	for _, c := range []struct {
		e    autoscale.Entity
		q    AgentRequest
		want error
	}{
		{0, with(func(q *AgentRequest) { q.Protocol = 2 }), ErrProtocol},
		{0, with(func(q *AgentRequest) { q.Protocol = 6 }), ErrProtocol},
		{0, with(func(q *AgentRequest) { q.Unit.CPU = 0 }), ErrUnit},
		{0, with(func(q *AgentRequest) { q.Protocol, q.Unit.CPU = 3, 250 }), ErrUnit},
		{0, with(func(q *AgentRequest) { q.Want.CPU = 4001 }), ErrMultiple},
		{0, with(func(q *AgentRequest) { q.Want.CPU = 5000 }), ErrMultiple},
		{1, wanting(1, nil), ErrUnknown},
		{7, wanting(1, nil), ErrUnknown},
	} {
		_, err := p.Request(0, c.e, c.q)
		require.ErrorIs(t, err, c.want)
	}
	after, _ := p.Node(0)
	require.Equal(t, before, after)
	require.EqualValues(t, 8, p.Counters().Refused)
	cfg.CheckUnit = false
	p = small(t, cfg, 10)
	require.NoError(t, p.Reserve(0, 0, vm(3, 8), false))
	_, err := p.Request(0, 0, with(func(q *AgentRequest) { q.Want.CPU = 4001 }))
	require.NoError(t, err, "as coded only the unit is looked at")
}

func TestPluginConfigurations(t *testing.T) {
	for _, f := range []func(c *PluginConfig){
		func(c *PluginConfig) { c.CPUWatermark = 0 }, func(c *PluginConfig) { c.MemoryWatermark = 1.5 }, func(c *PluginConfig) { c.Scoring.Peak = 1 },
		func(c *PluginConfig) { c.Scoring.Empty = -1 }, func(c *PluginConfig) { c.Scoring.Full = 2 }, func(c *PluginConfig) { c.Slot = 0 }, func(c *PluginConfig) { c.Unit.CPU = 0 },
		func(c *PluginConfig) { c.Unit.Memory = 0 }, func(c *PluginConfig) { c.MemoryWatermark = 0 }, func(c *PluginConfig) { c.CPUWatermark = 1.5 }, func(c *PluginConfig) { c.Scoring.Peak = 0 },
		func(c *PluginConfig) { c.Scoring.Empty = 2 }, func(c *PluginConfig) { c.Scoring.Full = -1 },
	} {
		c := PluginDefaults()
		f(&c)
		_, err := NewPlugin(c)
		require.Error(t, err)
	}
	for _, c := range []PluginConfig{
		{CPUWatermark: 1, MemoryWatermark: 1, Scoring: Scoring{Empty: 1, Full: 1, Peak: 0.5}, Unit: autoscale.Resources{CPU: 1, Memory: 1}, Slot: 1},
		{CPUWatermark: 0.1, MemoryWatermark: 0.1, Scoring: Scoring{Peak: 0.5}, Unit: autoscale.Resources{CPU: 1, Memory: 1}, Slot: 1},
	} {
		_, err := NewPlugin(c)
		require.NoError(t, err, "the ends of the ranges are in them")
	}
}

// What holds where nothing is stated: the code of the original, and with all that its
// document says otherwise.
func TestPluginDefaults(t *testing.T) {
	c := PluginConfig{
		CPUWatermark: 0.9, MemoryWatermark: 0.9, Scoring: Scoring{Empty: 0.5, Full: 0, Peak: 0.8}, Unit: autoscale.Resources{CPU: 250, Memory: 1073741824}, Slot: 1073741824, Migrate: true,
	}
	require.Equal(t, c, PluginDefaults())
	c.AccountPressure, c.RefuseOver, c.EvenWatermark, c.CheckUnit = true, true, true, true
	require.Equal(t, c, Documented())
}

func BenchmarkRequest(b *testing.B) {
	p := small(b, PluginDefaults(), 100)
	require.NoError(b, p.Reserve(0, 0, vm(3, 8), false))
	last := res(3)
	b.ReportAllocs()
	for range b.N {
		_, _ = p.Request(0, 0, wanting(4, &last))
	}
}

// A request allocates nothing.
func TestRequestAllocations(t *testing.T) {
	p := small(t, PluginDefaults(), 10)
	for e := range autoscale.Entity(3) {
		require.NoError(t, p.Reserve(e, 0, vm(1, 8), false))
	}
	last, i := res(2), int64(0)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		i++
		q := wanting(1+i%2, &last)
		q.Load, q.Measured = float64(i%5), true
		_, _ = p.Request(0, autoscale.Entity(i%3), q)
	}))
}
