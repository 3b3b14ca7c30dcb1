package lattice

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/autoscale"
	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

func codedFacts(nodes, headroom int64, utilisation float64, queue int64) []autoscale.Fact {
	return []autoscale.Fact{
		{Kind: autoscale.FactCount, State: autoscale.Ready, N: nodes}, {Kind: autoscale.FactLimit, N: headroom},
		{Kind: autoscale.FactSample, Metric: Utilisation, Value: utilisation}, {Kind: autoscale.FactSample, Metric: QueueDepth, Value: float64(queue)},
	}
}

func TestCodedGuards(t *testing.T) {
	cases := []struct {
		nodes, headroom int64
		utilisation     float64
		queue           int64
		rule            autoscale.Rule
		guard           autoscale.Guard
		step            int64
	}{
		{4, autoscale.NoLimit, 0.8, 0, RuleUp, ok, 1},
		{4, autoscale.NoLimit, 0.79, 0, RuleInBand, ok, 0},
		{4, autoscale.NoLimit, 0.2, 0, RuleDown, ok, -1},
		{4, autoscale.NoLimit, 0.21, 0, RuleInBand, ok, 0},
		{4, autoscale.NoLimit, 0.1, 1, RuleUp, ok, 1}, // the queue alone
		{8, autoscale.NoLimit, 0.9, 0, RuleUp, autoscale.GuardMax, 0},
		{4, 0, 0.9, 0, RuleUp, autoscale.GuardQuota, 0},
		{4, 0, 0.1, 0, RuleDown, ok, -1},
		{2, autoscale.NoLimit, 0, 0, RuleDown, autoscale.GuardMin, 0},
		{1, autoscale.NoLimit, 0.5, 0, RuleInBand, ok, 0}, // below the minimum, and left there
		{9, autoscale.NoLimit, 0.5, 0, RuleInBand, ok, 0}, // above the maximum, likewise
	}
	for _, c := range cases {
		cfg := CodedDefaults()
		cfg.Min, cfg.Max = 2, 8
		p, err := NewCoded(cfg)
		require.NoError(t, err)
		p.Observe(0, codedFacts(c.nodes, c.headroom, c.utilisation, c.queue))
		d := p.Plan(0).Decisions[0]
		require.Equal(t, c.rule, d.Rule, "%+v", c)
		require.Equal(t, c.guard, d.Guard, "%+v", c)
		require.Equal(t, c.step != 0, d.Proposed(), "%+v", c)
		if c.step != 0 {
			require.Equal(t, c.step, d.Would.N)
		}
	}
}

// The decision starts the cooldown, whatever becomes of the proposal; at its end the next
// one may follow. Without a sample nothing is decided.
func TestCodedCooldown(t *testing.T) {
	p, err := NewCoded(CodedDefaults())
	require.NoError(t, err)
	p.Observe(0, codedFacts(4, autoscale.NoLimit, 0.9, 0))
	require.True(t, p.Plan(0).Decisions[0].Proposed())
	require.Equal(t, autoscale.GuardNoMetric, p.Plan(1).Decisions[0].Guard)
	end := model.Time(300 * model.Second)
	p.Observe(1, codedFacts(4, autoscale.NoLimit, 0.9, 0))
	require.Equal(t, autoscale.GuardCooldown, p.Plan(end - 1).Decisions[0].Guard)
	p.Observe(end, codedFacts(4, autoscale.NoLimit, 0.9, 0))
	require.True(t, p.Plan(end).Decisions[0].Proposed())
	for _, cfg := range []CodedConfig{{Min: 2, Max: 1}, {Min: -1}, {Cooldown: -1}, {Interval: -1}} {
		_, err = NewCoded(cfg)
		require.Error(t, err)
	}
	_, err = NewCoded(CodedConfig{Min: 2, Max: 2})
	require.NoError(t, err, "one size alone may be allowed")
}

// With the fixes an acceptance starts the cooldown, and the interval is honoured.
func TestCodedFixes(t *testing.T) {
	cfg := CodedDefaults()
	cfg.CooldownOnSuccess, cfg.Interval = true, model.Minute
	p, err := NewCoded(cfg)
	require.NoError(t, err)
	at := func(minutes int) model.Time { return model.Time(model.Duration(minutes) * model.Minute) }
	for i, outcome := range []autoscale.Outcome{autoscale.Rejected, autoscale.Accepted} {
		p.Observe(at(i), codedFacts(4, autoscale.NoLimit, 0.9, 0))
		plan := p.Plan(at(i))
		seq := plan.Proposals[0].Seq
		require.Equal(t, at(i+1), plan.Wake)
		require.Empty(t, p.Plan(at(i+1)-1).Decisions)
		p.Observe(at(i), []autoscale.Fact{{Kind: autoscale.FactResult, Seq: 9, Outcome: autoscale.Accepted}, {Kind: autoscale.FactResult, Seq: seq, Outcome: outcome}})
	}
	for i := 2; i < 6; i++ {
		p.Observe(at(i), codedFacts(4, autoscale.NoLimit, 0.9, 0))
		require.Equal(t, autoscale.GuardCooldown, p.Plan(at(i)).Decisions[0].Guard)
	}
	p.Observe(at(6), codedFacts(4, autoscale.NoLimit, 0.9, 0))
	require.True(t, p.Plan(at(6)).Decisions[0].Proposed())
}

// Nodes in other states do not count, and a queue that is not known stays as it was.
func TestCodedObserves(t *testing.T) {
	p, err := NewCoded(CodedConfig{UpThreshold: 0.8, Max: 4})
	require.NoError(t, err)
	p.Observe(0, append(codedFacts(4, autoscale.NoLimit, 0.5, 3),
		autoscale.Fact{Kind: autoscale.FactCount, State: autoscale.Starting, N: 1},
		autoscale.Fact{Kind: autoscale.FactSize, State: autoscale.Ready, N: 1},
		autoscale.Fact{Kind: autoscale.FactSample, Metric: QueueDepth, Missing: true},
		autoscale.Fact{Kind: autoscale.FactSample, Metric: 2}))
	d := p.Plan(0).Decisions[0]
	require.Equal(t, []any{RuleUp, autoscale.GuardMax}, []any{d.Rule, d.Guard})
}

// The evaluator decides as the rule of the public sources, read as one expression.
func TestCodedAgainstRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := CodedConfig{UpThreshold: 0.7, DownThreshold: rapid.SampledFrom([]float64{0.3, 0.7, 0.9}).Draw(t, "down"), Cooldown: 100, Min: 2, Max: 5}
		p, err := NewCoded(cfg)
		require.NoError(t, err)
		last, now := model.Time(-1000), model.Time(0)
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			now = now.Add(model.Duration(rapid.IntRange(0, 60).Draw(t, "gap")))
			nodes := rapid.Int64Range(0, 7).Draw(t, "nodes")
			headroom := rapid.Int64Range(-1, 3).Draw(t, "headroom")
			u := rapid.SampledFrom([]float64{0, 0.3, 0.31, 0.5, 0.69, 0.7, 0.8, 1.5}).Draw(t, "utilisation")
			queue := rapid.SampledFrom([]int64{0, 0, 0, 2}).Draw(t, "queue")
			most := cfg.Max
			if headroom >= 0 {
				most = min(most, nodes+headroom)
			}
			want := int64(0)
			if now.Sub(last) >= cfg.Cooldown {
				switch {
				case (u >= cfg.UpThreshold || queue > 0) && nodes+1 <= most:
					want = 1
				case u <= cfg.DownThreshold && queue == 0 && nodes-1 >= cfg.Min:
					want = -1
				}
			}
			p.Observe(now, codedFacts(nodes, headroom, u, queue))
			got := int64(0)
			if plan := p.Plan(now); len(plan.Proposals) > 0 {
				got = plan.Proposals[0].N
			}
			require.Equal(t, want, got)
			if want != 0 {
				last = now
			}
		}
	})
}

func TestCodedAllocations(t *testing.T) {
	p, err := NewCoded(CodedDefaults())
	require.NoError(t, err)
	facts, now := codedFacts(4, autoscale.NoLimit, 0.9, 0), model.Time(0)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		p.Observe(now, facts)
		p.Plan(now)
		now = now.Add(model.Minute)
	}))
	require.Equal(t, CodedConfig{UpThreshold: 0.8, DownThreshold: 0.2, Cooldown: 5 * model.Minute, Min: 1, Max: math.MaxUint32}, p.cfg)
}

// Where the tenant and the bound leave as much, the bound is what is told.
func TestCodedGuardOfATie(t *testing.T) {
	cfg := CodedDefaults()
	cfg.Max = 4
	p, err := NewCoded(cfg)
	require.NoError(t, err)
	p.Observe(0, codedFacts(4, 0, 0.9, 0))
	require.Equal(t, autoscale.GuardMax, p.Plan(0).Decisions[0].Guard)
}
