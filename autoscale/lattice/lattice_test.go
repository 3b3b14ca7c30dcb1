package lattice

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/autoscale"
	"orrery/autoscale/internal/policytest"
	"orrery/scheduler/model"
)

func config() Config {
	c := Defaults()
	c.Min, c.Max, c.Target = 2, 6, 0.8
	return c
}

// loop drives a policy with a size that follows its proposals.
type loop struct{ policytest.Loop[*Policy] }

func newLoop(t require.TestingT, cfg Config, nodes int64) *loop {
	p, err := New(cfg)
	require.NoError(t, err)
	l := &loop{policytest.New(t, p, cfg.Interval, nodes)}
	l.Tell(autoscale.Fact{Kind: autoscale.FactSize, N: nodes})
	return l
}

// step gives the next evaluation its sample, nil for none, and answers what it decided.
func (l *loop) step(metric *float64) autoscale.Decision {
	f := autoscale.Fact{Kind: autoscale.FactSample, Entity: autoscale.Whole, At: l.Now, Missing: metric == nil}
	if metric != nil {
		f.Value = *metric
	}
	d := l.Step(f)
	require.Equal(l.T, l.Now, l.Last.Wake)
	return d
}

func value(v float64) *float64 { return &v }

// steps repeats a sample and answers the guards of the evaluations.
func (l *loop) steps(n int, metric *float64) []autoscale.Guard {
	var guards []autoscale.Guard
	for range n {
		guards = append(guards, l.step(metric).Guard)
	}
	return guards
}

const (
	ok   = autoscale.GuardNone
	wait = autoscale.GuardWindow
	cool = autoscale.GuardCooldown
	back = autoscale.GuardBackOff
)

// The documented reaction to a step: one node at 120, 300 and 480 s.
func TestStep(t *testing.T) {
	l := newLoop(t, config(), 2)
	require.Equal(t, []autoscale.Guard{wait, wait, ok, cool, cool, ok, cool, cool, ok}, l.steps(9, value(0.9)))
	require.EqualValues(t, 5, l.Size)
}

func TestEqualToTargetIsNeither(t *testing.T) {
	l := newLoop(t, config(), 4)
	for range 10 {
		require.Equal(t, RuleInBand, l.step(value(0.8)).Rule)
	}
	for range 10 {
		require.Equal(t, RuleInBand, l.step(value(0.4)).Rule)
	}
}

func TestBackOffAfterThreeRejections(t *testing.T) {
	l := newLoop(t, config(), 2)
	l.Answer = autoscale.Rejected
	require.Equal(t, []autoscale.Guard{wait, wait, ok, ok, ok, back, back, back, back, back, ok, ok, ok, back}, l.steps(14, value(0.9)))
	require.Equal(t, Counters{Rejections: 6, BackOffs: 2}, l.Policy.Counters())
	require.EqualValues(t, 2, l.Size)
}

func TestRejectionsInARowOnly(t *testing.T) {
	l := newLoop(t, config(), 2)
	l.Answer = autoscale.Rejected
	l.steps(4, value(0.9))
	l.step(value(0.8))
	require.Equal(t, []autoscale.Guard{wait, wait, ok, ok, ok, back}, l.steps(6, value(0.9)))
}

func TestNeverBlind(t *testing.T) {
	l := newLoop(t, config(), 4)
	l.steps(2, value(0.9))
	for i := range 4 {
		require.Equal(t, autoscale.GuardNoMetric, l.step(nil).Guard)
		require.Equal(t, i >= 2, l.Policy.Alerting())
	}
	require.Equal(t, Counters{QueryFailures: 4, Blind: 2}, l.Policy.Counters())
	require.Equal(t, []autoscale.Guard{wait, wait, ok}, l.steps(3, value(0.9)))
}

// A sample that is older than two minutes is none.
func TestStaleSample(t *testing.T) {
	l := newLoop(t, config(), 4)
	l.Tell(autoscale.Fact{Kind: autoscale.FactSample, Entity: autoscale.Whole, At: 0, Value: 0.9})
	require.Equal(t, wait, l.Policy.Plan(0).Decisions[0].Guard)
	require.Empty(t, l.Policy.Plan(model.Time(59*model.Second)).Decisions)
	require.Equal(t, wait, l.Policy.Plan(model.Time(model.Minute)).Decisions[0].Guard)
	require.Equal(t, ok, l.Policy.Plan(model.Time(2 * model.Minute)).Decisions[0].Guard)
	require.Equal(t, autoscale.GuardNoMetric, l.Policy.Plan(model.Time(3 * model.Minute)).Decisions[0].Guard)
}

func TestQuotaIsNoEvent(t *testing.T) {
	l := newLoop(t, config(), 2)
	l.Tell(autoscale.Fact{Kind: autoscale.FactLimit, N: 0})
	require.Equal(t, []autoscale.Guard{wait, wait, autoscale.GuardQuota, autoscale.GuardQuota}, l.steps(4, value(0.9)))
	l.Tell(autoscale.Fact{Kind: autoscale.FactLimit, N: 1})
	require.Equal(t, ok, l.step(value(0.9)).Guard)
}

func TestBounds(t *testing.T) {
	l := newLoop(t, config(), 6)
	require.Equal(t, []autoscale.Guard{wait, wait, autoscale.GuardMax}, l.steps(3, value(0.9)))
	l = newLoop(t, config(), 2)
	require.Equal(t, []autoscale.Guard{wait, wait, wait, wait, wait, autoscale.GuardMin}, l.steps(6, value(0.1)))
}

// Preemption withdraws what is in flight; on resume all begins anew but for the cooldown.
func TestSuspendedAndResumed(t *testing.T) {
	l := newLoop(t, config(), 3)
	l.Answer = 0 // no answer yet
	require.Equal(t, []autoscale.Guard{wait, wait, ok, autoscale.GuardInFlight}, l.steps(4, value(0.9)))
	l.Tell(autoscale.Fact{Kind: autoscale.FactSuspended}, autoscale.Fact{Kind: autoscale.FactSuspended})
	plan := l.Policy.Plan(l.Now)
	require.Equal(t, []autoscale.Proposal{{Verb: autoscale.Cancel, Seq: 1, Entity: autoscale.Whole}}, plan.Proposals)
	require.Equal(t, RuleCancel, plan.Decisions[0].Rule)
	require.Equal(t, autoscale.GuardSuspended, plan.Decisions[1].Guard)
	l.Now = l.Now.Add(model.Minute)
	require.Equal(t, []autoscale.Guard{autoscale.GuardSuspended}, l.steps(1, value(0.9)))
	l.Tell(autoscale.Fact{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Accepted, N: 1}, autoscale.Fact{Kind: autoscale.FactResumed, N: 2})
	l.Size, l.Answer = 2, autoscale.Accepted
	require.Equal(t, []autoscale.Guard{wait, wait, cool, ok}, l.steps(4, value(0.9)))
	require.EqualValues(t, 3, l.Size)
}

// A reclaim may pass below the minimum: replacements are proposed at once, from home.
func TestReclaimedBelowMin(t *testing.T) {
	l := newLoop(t, config(), 3)
	l.Tell(autoscale.Fact{Kind: autoscale.FactReclaimed, N: 2})
	l.Size = 1
	d := l.step(value(0.6))
	require.Equal(t, RuleReplace, d.Rule)
	require.Equal(t, autoscale.Proposal{Verb: autoscale.Scale, Seq: 1, N: 1, Entity: autoscale.Whole, Home: true}, d.Would)
	require.EqualValues(t, 2, l.Size)
	require.EqualValues(t, 1, l.Policy.Counters().BelowMin)
}

// A grant may be smaller than what was proposed, or nothing.
func TestPartialGrant(t *testing.T) {
	l := newLoop(t, config(), 4)
	l.Tell(autoscale.Fact{Kind: autoscale.FactReclaimed, N: 4})
	seq := l.Policy.Plan(0).Proposals[0]
	require.EqualValues(t, 2, seq.N)
	l.Tell(autoscale.Fact{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Accepted, N: 1})
	require.EqualValues(t, 1, l.Policy.nodes)
	l.Tell(autoscale.Fact{Kind: autoscale.FactSample, Entity: autoscale.Whole, At: model.Time(model.Minute), Value: 0.6})
	require.EqualValues(t, 1, l.Policy.Plan(model.Time(model.Minute)).Proposals[0].N)
	l.Tell(autoscale.Fact{Kind: autoscale.FactResult, Seq: 2, Outcome: autoscale.Accepted})
	require.EqualValues(t, 1, l.Policy.nodes)
}

// Only the result of what is in flight counts.
func TestOtherResults(t *testing.T) {
	l := newLoop(t, config(), 2)
	l.Tell(autoscale.Fact{Kind: autoscale.FactResult, Seq: 0, Outcome: autoscale.Rejected})
	l.Answer = 0
	l.steps(3, value(0.9))
	l.Tell(autoscale.Fact{Kind: autoscale.FactResult, Seq: 7, Outcome: autoscale.Rejected})
	require.Equal(t, autoscale.GuardInFlight, l.step(value(0.9)).Guard)
	l.Tell(autoscale.Fact{Kind: autoscale.FactResult, Seq: 1, Outcome: autoscale.Errored})
	require.Equal(t, ok, l.step(value(0.9)).Guard)
	require.Equal(t, Counters{}, l.Policy.Counters())
}

func TestOscillation(t *testing.T) {
	cfg := config()
	cfg.UpWindow, cfg.DownWindow, cfg.Cooldown = 0, 0, 0
	l := newLoop(t, cfg, 4)
	for i := range 8 {
		metric := value(map[bool]float64{true: 0.9, false: 0.1}[i%2 == 0])
		l.steps(2, metric) // one sample is no window
		require.Equal(t, int64(max(0, i-5)), l.Policy.Counters().Oscillations, "change %d", i)
	}
}

// Nodes that are known are drained by name: the youngest, or the one with least to do.
func TestLeaving(t *testing.T) {
	for by, want := range []autoscale.Entity{Newest: 9, LeastLoaded: 4} {
		cfg := config()
		cfg.Leaving, cfg.Aggregation = Leaving(by), Mean
		l := newLoop(t, cfg, 3)
		for i, e := range []autoscale.Entity{4, 9, 7} {
			l.Tell(autoscale.Fact{Kind: autoscale.FactEntity, Entity: e, State: autoscale.Ready, At: model.Time(min(i, 1))})
		}
		var d autoscale.Decision
		for range 6 {
			for i, e := range []autoscale.Entity{4, 9, 7} {
				l.Tell(autoscale.Fact{Kind: autoscale.FactSample, Entity: e, Value: 0.1 * float64(i+1), At: l.Now})
			}
			plan := l.Policy.Plan(l.Now)
			d = plan.Decisions[0]
			l.Now = l.Now.Add(model.Minute)
		}
		require.Equal(t, autoscale.Drain, d.Would.Verb)
		require.Equal(t, want, d.Would.Entity)
		l.Tell(autoscale.Fact{Kind: autoscale.FactResult, Seq: d.Would.Seq, Outcome: autoscale.Accepted})
		require.EqualValues(t, 2, l.Policy.nodes)
	}
}

// The metric of a utilisation is a mean over the nodes, that of a queue a sum. Nodes that
// have no sample yet, and those that drain, do not count.
func TestAggregation(t *testing.T) {
	for a, want := range []float64{Mean: 3, Sum: 6} {
		var s series
		for e := range autoscale.Entity(4) {
			s.observe(&autoscale.Fact{Kind: autoscale.FactEntity, Entity: e, State: autoscale.Ready})
		}
		s.observe(&autoscale.Fact{Kind: autoscale.FactSample, Entity: 0, Value: 2})
		s.observe(&autoscale.Fact{Kind: autoscale.FactSample, Entity: 1, Value: 4})
		s.observe(&autoscale.Fact{Kind: autoscale.FactSample, Entity: 2, Value: 100})
		s.observe(&autoscale.Fact{Kind: autoscale.FactEntity, Entity: 2, State: autoscale.Draining})
		s.observe(&autoscale.Fact{Kind: autoscale.FactEntity, Entity: 0, State: autoscale.Ready}) // again, and it keeps its sample
		s.observe(&autoscale.Fact{Kind: autoscale.FactEntity, Entity: 8, State: autoscale.Starting})
		s.observe(&autoscale.Fact{Kind: autoscale.FactSample, Entity: 8, Value: 100})
		got, ok := s.value(0, 1, Aggregation(a))
		require.True(t, ok)
		require.Equal(t, want, got)
		_, ok = s.value(2, 1, Aggregation(a))
		require.False(t, ok)
	}
}

func TestConfig(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"max": func(c *Config) { c.Max = 1 }, "min": func(c *Config) { c.Min = -1 }, "target": func(c *Config) { c.Target = 0 },
		"threshold": func(c *Config) { c.DownThreshold = 1.1 }, "share": func(c *Config) { c.DownThreshold = -0.1 }, "window": func(c *Config) { c.UpWindow = -1 },
		"windows": func(c *Config) { c.DownWindow = -1 }, "cooldown": func(c *Config) { c.Cooldown = -1 }, "age": func(c *Config) { c.MaxAge = -1 },
		"interval": func(c *Config) { c.Interval = 0 },
	} {
		c := config()
		change(&c)
		_, err := New(c)
		require.ErrorContains(t, err, name)
	}
	c := config()
	c.Min = 0
	_, err := New(c)
	require.NoError(t, err, "none at all may be the least")
	c.DownThreshold = 1
	_, err = New(c)
	require.NoError(t, err, "the whole target is the largest threshold")
	c.Min, c.DownThreshold, c.MaxAge = c.Max, 0, 0
	_, err = New(c)
	require.NoError(t, err, "none may be given up, and a sample count at its instant only")
}

// naive makes the documented decisions from the whole past.
type naive struct {
	cfg      Config
	samples  []float64 // by evaluation
	missing  []bool
	grown    int // evaluation of the last growth, -1 for none
	shrunk   int // and of the last shrinking
	rejected int
	until    int // evaluation at which a back-off ends
}

// held is how many evaluations ago the condition began to hold without a break, -1 when
// it does not hold.
func (n *naive) held(cond func(float64) bool) int {
	first, at := -1, len(n.samples)-1
	for i := at; i >= 0; i-- {
		if n.cfg.ChangeRestartsWindows && i <= max(n.grown, n.shrunk) {
			break
		}
		if n.missing[i] && n.cfg.MissingKeepsWindows {
			continue
		}
		if n.missing[i] || !cond(n.samples[i]) {
			break
		}
		first = at - i
	}
	return first
}

func (n *naive) evaluate(nodes, headroom int64) (int64, autoscale.Guard) {
	at := len(n.samples) - 1
	up := n.held(func(v float64) bool { return v > n.cfg.Target })
	down := n.held(func(v float64) bool { return v < n.cfg.Target*n.cfg.DownThreshold })
	if !n.missing[at] && up < 0 {
		n.rejected = 0
	}
	span := func(evaluations int) model.Duration { return model.Duration(evaluations) * n.cfg.Interval }
	step, window, held := int64(1), n.cfg.UpWindow, up
	if up < 0 {
		step, window, held = -1, n.cfg.DownWindow, down
	}
	switch {
	case n.missing[at]:
		return 0, autoscale.GuardNoMetric
	case held < 0:
		return 0, autoscale.GuardNone
	case held == 0 || span(held) < window:
		return 0, autoscale.GuardWindow
	case n.cooling(at, step):
		return 0, autoscale.GuardCooldown
	case at < n.until:
		return 0, autoscale.GuardBackOff
	case step > 0 && nodes >= n.cfg.Max:
		return 0, autoscale.GuardMax
	case step < 0 && nodes <= n.cfg.Min:
		return 0, autoscale.GuardMin
	case step > 0 && headroom == 0:
		return 0, autoscale.GuardQuota
	}
	return step, autoscale.GuardNone
}

func (n *naive) cooling(at int, step int64) bool {
	last := max(n.grown, n.shrunk)
	if n.cfg.CooldownPerDirection {
		last = map[int64]int{1: n.grown, -1: n.shrunk}[step]
	}
	return last >= 0 && model.Duration(at-last)*n.cfg.Interval < n.cfg.Cooldown
}

func (n *naive) answered(step int64, accepted bool) {
	at := len(n.samples) - 1
	if accepted {
		n.rejected = 0
		if step > 0 {
			n.grown = at
		} else {
			n.shrunk = at
		}
		return
	}
	if n.rejected++; n.rejected == 3 {
		n.rejected = 0
		n.until = at + int((2*n.cfg.Cooldown+n.cfg.Interval-1)/n.cfg.Interval)
	}
}

// The policy decides as the naive one on any samples, quotas and verdicts, and keeps
// what every policy promises.
func TestAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := config()
		cfg.Interval = model.Duration(rapid.IntRange(20, 90).Draw(t, "interval")) * model.Second
		cfg.UpWindow = model.Duration(rapid.IntRange(0, 240).Draw(t, "up")) * model.Second
		cfg.DownWindow = model.Duration(rapid.IntRange(0, 400).Draw(t, "down")) * model.Second
		cfg.Cooldown = model.Duration(rapid.IntRange(0, 300).Draw(t, "cooldown")) * model.Second
		cfg.MissingKeepsWindows, cfg.ChangeRestartsWindows = rapid.Bool().Draw(t, "missing keeps"), rapid.Bool().Draw(t, "change restarts")
		cfg.CooldownPerDirection = rapid.Bool().Draw(t, "per direction")
		n := &naive{cfg: cfg, grown: -1, shrunk: -1}
		l := newLoop(t, cfg, rapid.Int64Range(cfg.Min, cfg.Max).Draw(t, "nodes"))
		level := 0.9
		for range rapid.IntRange(1, 120).Draw(t, "evaluations") {
			if rapid.IntRange(0, 7).Draw(t, "turn") == 0 {
				level = rapid.SampledFrom([]float64{0, 0.1, 0.39999, 0.4, 0.6, 0.8, 0.80001, 0.9}).Draw(t, "level")
			}
			metric, headroom := &level, rapid.SampledFrom([]int64{-1, -1, -1, 0, 1}).Draw(t, "headroom")
			if rapid.IntRange(0, 19).Draw(t, "gap") == 0 {
				metric = nil
			}
			l.Answer = rapid.SampledFrom([]autoscale.Outcome{autoscale.Accepted, autoscale.Rejected, autoscale.Rejected}).Draw(t, "verdict")
			l.Tell(autoscale.Fact{Kind: autoscale.FactLimit, N: headroom})
			before := l.Size
			n.samples, n.missing = append(n.samples, level), append(n.missing, metric == nil)
			step, guard := n.evaluate(before, headroom)
			d := l.step(metric)
			require.Equal(t, guard, d.Guard)
			require.Equal(t, step != 0, d.Proposed())
			if step != 0 {
				require.Equal(t, step, d.Would.N)
				n.answered(step, l.Answer == autoscale.Accepted)
			}
			require.GreaterOrEqual(t, l.Size, cfg.Min)
			require.LessOrEqual(t, l.Size, cfg.Max)
		}
	})
}

// A policy that is told of its nodes allocates nothing per evaluation.
func TestAllocations(t *testing.T) {
	l := newLoop(t, config(), 4)
	facts := []autoscale.Fact{{Kind: autoscale.FactLimit, N: 3}}
	for e := range autoscale.Entity(4) {
		l.Tell(autoscale.Fact{Kind: autoscale.FactEntity, Entity: e, State: autoscale.Ready})
		facts = append(facts, autoscale.Fact{Kind: autoscale.FactSample, Entity: e})
	}
	one := func() {
		for i := 1; i < len(facts); i++ {
			facts[i].At, facts[i].Value = l.Now, map[bool]float64{true: 0.9, false: 0.1}[l.Now/model.Time(20*model.Minute)%2 == 0]
		}
		l.Evaluate(facts)
	}
	for range 50 {
		one()
	}
	require.Zero(t, testing.AllocsPerRun(200, one))
}

func TestLending(t *testing.T) {
	l := Lending{Total: 11, Idle: 5, Share: 0.2, Lends: true, Borrows: true}
	require.Equal(t, []int64{1, 2, 0}, []int64{l.Grant(1), l.Grant(2), l.Grant(3)})
	l.Idle = 1
	require.Zero(t, l.Grant(2))
	l.Lends = false
	require.Zero(t, l.Grant(1))
	l.Lends, l.Borrows = true, false
	require.Zero(t, l.Grant(1))
	l.Borrows = true
	require.EqualValues(t, 1, l.Grant(1))
}

// One decision by a sample of the whole allocation.
func BenchmarkDecision(b *testing.B) {
	cfg := config()
	cfg.Min, cfg.Max, cfg.Interval = 4, 64, model.Second
	l := newLoop(b, cfg, 4)
	facts := []autoscale.Fact{{Kind: autoscale.FactSample, Entity: autoscale.Whole}}
	b.ReportAllocs()
	for i := range b.N {
		facts[0].At, facts[0].Value = l.Now, float64(i>>9%10)/10
		l.Evaluate(facts)
	}
}
