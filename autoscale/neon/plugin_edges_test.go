package neon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/autoscale"
)

// Both resources must fit, and a node that is exactly full is not over its total.
func TestFits(t *testing.T) {
	l := Ledger{Total: 5}
	s := Share{Reserved: 5}
	require.False(t, l.Enter(&s))
	require.True(t, l.Enter(&Share{Reserved: 1}))
	cfg := PluginDefaults()
	cfg.RandomScore = true
	p := small(t, cfg, 10)
	require.False(t, p.Filter(0, autoscale.Resources{CPU: 10001}))
	require.False(t, p.Filter(0, autoscale.Resources{Memory: 11}))
	require.Zero(t, p.Score(0, res(10)), "full, and nothing to draw")
	c := cfg.Scoring
	require.Equal(t, []float64{0, 0, 0, 1}, []float64{c.Score(11, 10, 10), c.Score(0, 0, 10), c.Score(-1, 0, 10), c.Score(8, 10, 10)})
}

// What is checked of a request, each by itself.
func TestChecksOfRequests(t *testing.T) {
	p, err := NewPlugin(PluginDefaults())
	require.NoError(t, err)
	p.AddNode(autoscale.Resources{CPU: 8000, Memory: 32 << 30})
	require.NoError(t, p.Reserve(0, 0, Pod{Use: cu(4), Min: cu(1), Max: cu(8), VM: true, Always: true}, false))
	for _, c := range []struct {
		protocol int
		unit     autoscale.Resources
		want     error
	}{
		{3, cu(1), ErrUnit}, {3, cu(4), nil}, {4, cu(1), nil}, {5, cu(1), nil}, {5, autoscale.Resources{CPU: 250}, ErrUnit}, {5, autoscale.Resources{Memory: 1 << 30}, ErrUnit},
		{5, autoscale.Resources{CPU: 250, Memory: 1 << 29}, ErrUnit}, {5, autoscale.Resources{CPU: 1, Memory: 1 << 30}, nil},
	} {
		_, err := p.Request(0, 0, AgentRequest{Protocol: c.protocol, Unit: c.unit, Want: cu(4)})
		require.ErrorIs(t, err, c.want, "%+v", c)
	}
	a, err := p.Request(0, 0, AgentRequest{Protocol: 5, Unit: cu(1), Want: cu(4), Measured: true})
	require.NoError(t, err)
	require.True(t, a.Migrate)
	for _, want := range []autoscale.Resources{{CPU: 1000, Memory: 3 << 30}, {CPU: 750, Memory: 4 << 30}} {
		_, err = p.Request(0, 0, AgentRequest{Protocol: 5, Unit: cu(1), Want: want})
		require.ErrorIs(t, err, ErrLeaving)
	}
}

// New limits change nothing that is reserved for what leaves, is not scaled, or no machine.
func TestLimitsOfOthers(t *testing.T) {
	p := small(t, PluginDefaults(), 100)
	fixed, always := vm(3, 6), vm(3, 6)
	fixed.Fixed, always.Always = true, true
	require.NoError(t, p.Reserve(0, 0, fixed, false))
	require.NoError(t, p.Reserve(1, 0, Pod{Use: res(3)}, false))
	require.NoError(t, p.Reserve(2, 0, always, false))
	for range 2 {
		q := wanting(3, nil)
		q.Measured = true
		_, err := p.Request(0, 2, q)
		require.NoError(t, err)
	}
	for e := range autoscale.Entity(3) {
		p.Limits(e, res(1), res(9))
		cpu, _ := p.Node(0)
		require.Equal(t, []int64{9000, 0}, []int64{cpu.Reserved, cpu.Buffer}, "%d", e)
		require.Equal(t, res(9).CPU, p.pods[e].cpu.Max)
	}
}

// A request for as many units of each resource passes the check of units, and a permit for
// less than was asked for is counted.
func TestPartialPermitsAreCounted(t *testing.T) {
	cfg := PluginDefaults()
	cfg.CheckUnit, cfg.Migrate = true, false
	p := small(t, cfg, 10)
	require.NoError(t, p.Reserve(0, 0, vm(3, 20), false))
	a, err := p.Request(0, 0, wanting(4, nil))
	require.NoError(t, err)
	require.Equal(t, res(4), a.Permit)
	require.Zero(t, p.Counters().Partial)
	a, err = p.Request(0, 0, wanting(20, &a.Permit))
	require.NoError(t, err)
	require.Equal(t, res(10), a.Permit)
	require.EqualValues(t, 1, p.Counters().Partial)
}

// The score of a node that is exactly full is that of a full one, and at the peak it is 1
// whatever the slopes on both sides would come to.
func TestScoresAtTheEdges(t *testing.T) {
	c := Scoring{Empty: 0.5, Full: 0.25, Peak: 0.5}
	require.Equal(t, []float64{0.25, 0.625, 0.25, 0.5}, []float64{c.Score(8, 8, 8), c.Score(6, 8, 8), c.Score(1, 1, 1), c.Score(0, 1, 1)})
	for peak := range int64(8) {
		peak++
		c := Scoring{Empty: 0.1, Full: 0.1, Peak: float64(peak) / 10}
		require.EqualValues(t, 100, Percent(c.Score(peak, 10, 10)), "%+v", c)
	}
	p := small(t, PluginDefaults(), 10)
	require.Zero(t, p.Score(0, autoscale.Resources{CPU: 10001}))
	require.Zero(t, p.Score(0, autoscale.Resources{Memory: 11}))
}

// Machines are in the queue from the start, without a load, and other pods never are; an
// answer without a load changes none.
func TestQueueOfANode(t *testing.T) {
	request := func(p *Plugin, e autoscale.Entity, load float64, measured bool) Answer {
		q := wanting(5, nil)
		q.Load, q.Measured = load, measured
		a, err := p.Request(0, e, q)
		require.NoError(t, err)
		return a
	}
	p := small(t, PluginDefaults(), 10)
	require.NoError(t, p.Reserve(0, 0, Pod{Use: res(5)}, false))
	require.NoError(t, p.Reserve(1, 0, vm(5, 8), false))
	require.Equal(t, GuardFirst, request(p, 1, 0, false).Decision.Guard)
	require.True(t, request(p, 1, 0, false).Migrate, "the only machine, and without a load")

	p = small(t, PluginDefaults(), 10)
	require.NoError(t, p.Reserve(0, 0, vm(5, 8), false))
	require.NoError(t, p.Reserve(1, 0, vm(5, 8), false))
	require.Equal(t, GuardFirst, request(p, 0, 5, true).Decision.Guard)
	require.Equal(t, GuardFirst, request(p, 1, 0, false).Decision.Guard)
	require.Equal(t, GuardNext, request(p, 1, 0, false).Decision.Guard, "without a load it is the last")
	require.True(t, request(p, 0, 5, true).Migrate)
}

// What stays and is deleted has not departed, and what is leaving does not begin to leave anew.
func TestDepartures(t *testing.T) {
	p := small(t, PluginDefaults(), 10)
	always := vm(3, 8)
	always.Always = true
	require.NoError(t, p.Reserve(0, 0, always, false))
	require.NoError(t, p.Reserve(1, 0, vm(3, 8), false))
	q := wanting(3, nil)
	q.Measured = true
	_, err := p.Request(0, 0, q)
	require.NoError(t, err)
	a, err := p.Request(0, 0, q)
	require.NoError(t, err)
	require.True(t, a.Migrate)
	before, _ := p.Node(0)
	a, err = p.Request(0, 0, q)
	require.NoError(t, err)
	require.Equal(t, Answer{Permit: res(3)}, a)
	after, _ := p.Node(0)
	require.Equal(t, before, after)
	p.Delete(1)
	require.EqualValues(t, []int64{1, 0}, []int64{p.Counters().Migrations, p.Counters().Departed})
	p.Delete(0)
	require.EqualValues(t, 1, p.Counters().Departed)
}

// New bounds with the same maximum leave what is reserved as it is.
func TestSameMaximum(t *testing.T) {
	p := small(t, PluginDefaults(), 10)
	require.NoError(t, p.Reserve(0, 0, vm(3, 6), false))
	p.Limits(0, res(2), res(6))
	require.Equal(t, Share{Reserved: 3000, Min: 2000, Max: 6000}, p.Dump()[0].Pods[0].CPU)
}

// A queue orders machines whose load is not known by their numbers, whatever they are entered
// with; one that is entered again has its new load, and one that is removed is gone.
func TestQueue(t *testing.T) {
	var q Queue
	next := func() []any {
		e, load, has, ok := q.Next()
		return []any{e, load, has, ok}
	}
	require.Equal(t, []any{autoscale.Entity(0), 0.0, false, false}, next())
	q.Put(2, 1, false)
	q.Put(1, 7, false)
	require.Equal(t, []any{autoscale.Entity(1), 0.0, false, true}, next())
	q.Put(2, 9, true)
	require.Equal(t, []any{autoscale.Entity(2), 9.0, true, true}, next())
	q.Put(3, 8, true)
	q.Put(2, 7, true)
	require.Equal(t, []any{autoscale.Entity(2), 7.0, true, true}, next())
	for _, e := range []autoscale.Entity{2, 3, 1} {
		require.Equal(t, e, next()[0])
		q.Remove(e)
	}
	require.Equal(t, []any{autoscale.Entity(0), 0.0, false, false}, next())
}

// Machines leave one by one, and those that have left, or are about to, are no longer the next.
func TestNextToLeave(t *testing.T) {
	p := small(t, PluginDefaults(), 30)
	migrates := func(e autoscale.Entity) bool {
		q := wanting(1, nil)
		q.Load, q.Measured = float64(e), true
		a, err := p.Request(0, e, q)
		require.NoError(t, err)
		return a.Migrate
	}
	for e := range autoscale.Entity(31) {
		require.NoError(t, p.Reserve(e, 0, vm(1, 1), false))
	}
	for e := range autoscale.Entity(4) {
		require.False(t, migrates(e), "its first contact")
	}
	require.False(t, migrates(1))
	p.Delete(0)
	require.True(t, migrates(1))
	require.True(t, migrates(2))
	require.False(t, migrates(1), "it leaves already, and with less load than the next one")
	require.True(t, migrates(3))
	require.Equal(t, Counters{Reserved: 31, ReserveShould: 1, Requests: 9, Migrations: 3}, p.Counters())
}

// Nodes are numbered from 0, and pods that are looked at are counted.
func TestNumbersOfNodes(t *testing.T) {
	p := small(t, PluginDefaults())
	require.Equal(t, []int{0, 1}, []int{p.AddNode(res(1)), p.AddNode(res(1))})
	p.PreFilter()
	require.Equal(t, Counters{Attempts: 1}, p.Counters())
}

// A request is for as many units of CPU as of memory, whatever the size of the unit.
func TestUnitsOfRequests(t *testing.T) {
	cfg := PluginDefaults()
	cfg.CheckUnit = true
	p := small(t, cfg, 100)
	require.NoError(t, p.Reserve(0, 0, vm(4, 8), false))
	_, err := p.Request(0, 0, AgentRequest{Protocol: 5, Unit: res(2), Want: res(4)})
	require.NoError(t, err)
	_, err = p.Request(0, 0, AgentRequest{Protocol: 5, Unit: res(2), Want: autoscale.Resources{CPU: 4000, Memory: 6}})
	require.ErrorIs(t, err, ErrMultiple)
}
