package lattice

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/autoscale"
	"orrery/scheduler/model"
)

// An acceptance that grants nothing changes nothing, and starts no cooldown.
func TestNothingGranted(t *testing.T) {
	l := newLoop(t, config(), 2)
	l.Answer = 0
	require.Equal(t, []autoscale.Guard{wait, wait, ok}, l.steps(3, value(0.9)))
	l.Tell(autoscale.Fact{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Accepted})
	require.Equal(t, ok, l.step(value(0.9)).Guard)
	require.EqualValues(t, 2, l.Policy.nodes)
}

// A change waits for the last change in any direction, or per direction for the last one in
// its own.
func TestCooldowns(t *testing.T) {
	for _, c := range []struct {
		perDirection bool
		first, then  float64
		want         autoscale.Guard
	}{{false, 0.9, 0.1, cool}, {false, 0.1, 0.9, cool}, {true, 0.9, 0.1, ok}, {true, 0.1, 0.9, ok}, {true, 0.9, 0.9, cool}, {true, 0.1, 0.1, cool}} {
		cfg := config()
		cfg.UpWindow, cfg.DownWindow, cfg.CooldownPerDirection = 0, 0, c.perDirection
		l := newLoop(t, cfg, 4)
		require.Equal(t, []autoscale.Guard{wait, ok}, l.steps(2, value(c.first)), "%+v", c)
		require.Equal(t, c.want, l.steps(2, value(c.then))[1], "%+v", c)
	}
}

// The node that leaves: the last that was started, or the one with the smallest sample as far
// as there are samples; then the last one started; then the one with the highest number.
func TestWhichLeaves(t *testing.T) {
	at := func(e autoscale.Entity, started int) node { return node{entity: e, started: model.Time(started)} }
	load := func(n node, v float64) node { n.value, n.has = v, true; return n }
	for _, c := range []struct {
		name  string
		by    Leaving
		nodes []node
		want  autoscale.Entity
	}{
		{"started last", Newest, []node{at(4, 5), at(7, 1), at(9, 1)}, 4},
		{"the highest number of those", Newest, []node{at(4, 1), at(7, 5), at(9, 5)}, 9},
		{"whatever their loads", Newest, []node{load(at(4, 1), 1), load(at(7, 5), 2)}, 7},
		{"the least load", LeastLoaded, []node{load(at(4, 1), 1), load(at(7, 5), 2), load(at(9, 7), 3)}, 4},
		{"the least load is of one in between", LeastLoaded, []node{load(at(4, 1), 2), load(at(7, 5), 1), load(at(9, 7), 3)}, 7},
		{"as much load, started last", LeastLoaded, []node{load(at(4, 5), 1), load(at(7, 1), 1)}, 4},
		{"as much load, started together", LeastLoaded, []node{load(at(4, 1), 1), load(at(7, 1), 1)}, 7},
		{"the second without a sample", LeastLoaded, []node{load(at(4, 5), 1), at(7, 1)}, 4},
		{"the first without a sample", LeastLoaded, []node{at(4, 1), load(at(7, 5), 1)}, 7},
	} {
		got, ok := (&series{nodes: c.nodes}).leaving(c.by)
		require.True(t, ok)
		require.Equal(t, c.want, got, c.name)
	}
	e, ok := (&series{}).leaving(Newest)
	require.Equal(t, []any{autoscale.Entity(0), false}, []any{e, ok})
}

// A sample of exactly the age counts, of a node as of the whole.
func TestAgeOfSamples(t *testing.T) {
	const age = model.Minute
	for _, e := range []autoscale.Entity{0, autoscale.Whole} {
		var s series
		s.observe(&autoscale.Fact{Kind: autoscale.FactEntity, Entity: 0, State: autoscale.Ready})
		s.observe(&autoscale.Fact{Kind: autoscale.FactSample, Entity: e, Value: 3})
		v, ok := s.value(model.Time(age), age, Mean)
		require.Equal(t, []any{3.0, true}, []any{v, ok})
		v, ok = s.value(model.Time(age)+1, age, Mean)
		require.Equal(t, []any{0.0, false}, []any{v, ok})
	}
}

// A reclaim is a change: it starts the cooldown. One of no node is none.
func TestReclaimStartsTheCooldown(t *testing.T) {
	for n, want := range map[int64]autoscale.Guard{1: cool, 0: ok} {
		l := newLoop(t, config(), 5)
		l.steps(2, value(0.9))
		l.Tell(autoscale.Fact{Kind: autoscale.FactReclaimed, N: n})
		require.Equal(t, want, l.step(value(0.9)).Guard)
	}
}

// Rejections count in a row: an acceptance clears them, and so does a resume.
func TestRejectionsAreCleared(t *testing.T) {
	cfg := config()
	cfg.Cooldown = model.Minute
	l := newLoop(t, cfg, 2)
	l.steps(2, value(0.9))
	for _, o := range []autoscale.Outcome{autoscale.Rejected, autoscale.Rejected, autoscale.Accepted, autoscale.Rejected, autoscale.Rejected} {
		l.Answer = o
		require.Equal(t, ok, l.step(value(0.9)).Guard)
	}
	require.Equal(t, ok, l.step(value(0.9)).Guard, "the third in a row")
	require.Equal(t, back, l.step(value(0.9)).Guard)
	l.Tell(autoscale.Fact{Kind: autoscale.FactSuspended}, autoscale.Fact{Kind: autoscale.FactResumed, N: 2})
	require.Equal(t, []autoscale.Guard{wait, wait, ok, ok, ok, back}, l.steps(6, value(0.9)))
}

// After a resume the samples of before count no more, and misses are counted anew.
func TestResumedWithoutAPast(t *testing.T) {
	l := newLoop(t, config(), 2)
	l.steps(2, nil)
	l.Tell(autoscale.Fact{Kind: autoscale.FactSample, Entity: autoscale.Whole, At: l.Now, Value: 0.9}, autoscale.Fact{Kind: autoscale.FactSuspended}, autoscale.Fact{Kind: autoscale.FactResumed, N: 2})
	require.Equal(t, autoscale.GuardNoMetric, l.Policy.Plan(l.Now).Decisions[0].Guard)
	l.Now = l.Now.Add(model.Minute)
	l.step(nil)
	require.False(t, l.Policy.Alerting())
	l.step(nil)
	require.True(t, l.Policy.Alerting(), "the third since")
	l = newLoop(t, config(), 2)
	l.Tell(autoscale.Fact{Kind: autoscale.FactResumed, N: 1})
	require.Equal(t, ok, l.step(value(0.6)).Guard, "replaced at the first instant")
}
