package service

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/autoscale"
	"orrery/autoscale/fixed"
	"orrery/scheduler/model"
	"orrery/sim/service/demand"
	"orrery/sim/service/queueing"
	"orrery/sim/stat"
	"orrery/tools/refdata"
)

// span is a deadline.
func span(d model.Duration) *model.Duration { return &d }

// plainQueue is a queue of so many replicas with one slot and exponential work.
func plainQueue(replicas int64, work model.Duration, seed uint64) Config {
	return Config{
		Slots: 1, Line: -1, Goal: Goal{Limit: model.Second, Share: 0.95}, Step: model.Minute,
		Supply: Supply{Start: replicas}, Scrape: Scrape{Interval: model.Minute},
		Draws: demand.Draws{Seed: seed, GapCV: 1, Default: demand.Request{Work: work, WorkCV: 1}},
	}
}

func still(t require.TestingT, n int64) autoscale.Policy {
	p, err := fixed.New(n)
	require.NoError(t, err)
	return p
}

func constant(rate float64, length model.Duration) *demand.Demand {
	return &demand.Demand{Segments: []demand.Segment{{Rate: rate}}, End: model.Time(length)}
}

func run(t require.TestingT, c Config, d *demand.Demand, p autoscale.Policy) *Outcome {
	s, err := New(c, d, p, nil)
	require.NoError(t, err)
	out, err := s.Run()
	require.NoError(t, err)
	return out
}

// The recorded cases of M/M/c: the mean wait of a million customers agrees within its 99 %
// interval, computed from batches of a twentieth of the run.
func TestAgreesWithTheFormula(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(refdata.Path(t, "conformance"), "model-queueing.json"))
	require.NoError(t, err)
	var file struct {
		Cases []struct {
			ID         string  `json:"id"`
			Lambda, Mu float64 `json:",omitempty"`
			Servers    int64
			MeanWait   float64  `json:"mean_wait"`
			Later      float64  `json:"p_wait_gt_1s"`
			SCV        *float64 `json:"scv_arrival"`
		}
	}
	require.NoError(t, json.Unmarshal(text, &file))
	if testing.Short() {
		t.Skip("six millions of customers")
	}
	const customers = 1e6
	for _, c := range file.Cases {
		if c.SCV != nil {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			const batches = 20
			length := model.Duration(customers * (batches + 1) / batches / c.Lambda * float64(model.Second))
			cfg := plainQueue(c.Servers, model.Duration(float64(model.Second)/c.Mu), 100)
			cfg.Step = length / (batches + 1)
			cfg.Scrape = Scrape{Interval: cfg.Step, Sources: []Source{{Series: Wait}}}
			r := &reader{}
			out := run(t, cfg, constant(c.Lambda, length+1), r)
			waits, later := r.utilisation[1:], []float64{} // the first batch begins with an empty queue
			for _, p := range out.Timeline[1 : batches+1] {
				later = append(later, p.Late/p.Arrived)
			}
			require.Len(t, waits, batches)
			within := func(name string, values []float64, want float64) {
				settings := stat.Defaults()
				settings.Confidence = 0.99
				i, err := settings.Independent(values)
				require.NoError(t, err)
				t.Logf("%s: formula %.6g, simulated %.6g [%.6g, %.6g]", name, want, i.Estimate, i.Low, i.High)
				require.True(t, i.Low <= want && want <= i.High, "%s: %v not in [%v, %v]", name, want, i.Low, i.High)
			}
			within("mean wait (s)", waits, c.MeanWait)
			within("P(wait > 1 s)", later, c.Later)
		})
	}
}

// reader is a policy that keeps its size and notes what it is told.
type reader struct {
	utilisation []float64
	sizes       []int64
	grow        int64 // at the tenth sample
	plan        autoscale.Plan
}

func (r *reader) Observe(_ model.Time, facts []autoscale.Fact) {
	for _, f := range facts {
		switch {
		case f.Kind == autoscale.FactSample && f.HasValue():
			r.utilisation = append(r.utilisation, f.Value)
		case f.Kind == autoscale.FactSize:
			r.sizes = append(r.sizes, f.N)
		}
	}
}

func (r *reader) Plan(model.Time) *autoscale.Plan {
	r.plan.Reset()
	if len(r.utilisation) == 10 && r.grow != 0 {
		r.plan.Proposals = append(r.plan.Proposals, autoscale.Proposal{Verb: autoscale.SetReplicas, Seq: 1, N: r.grow})
		r.grow = 0
	}
	return &r.plan
}

// The loop is closed: twice the replicas have half the utilisation, exactly and as a fluid.
func TestTwiceTheSupplyHalvesTheUtilisation(t *testing.T) {
	for _, fluid := range []bool{false, true} {
		c := plainQueue(4, model.Second, 1)
		c.Fluid = fluid
		c.Scrape.Sources = []Source{{Series: Utilization}}
		c.Scrape.Interval, c.Draws.GapCV, c.Draws.Default.WorkCV = 10*model.Minute, 0.1, 0.1
		r := &reader{grow: 8}
		run(t, c, constant(3.2, 4*model.Hour), r)
		mean := func(v []float64) float64 { return stat.Mean(v) }
		before, after := mean(r.utilisation[1:10]), mean(r.utilisation[12:])
		require.InDelta(t, 0.8, before, 0.01)
		require.InDelta(t, before/2, after, 0.01)
		require.Equal(t, int64(8), r.sizes[len(r.sizes)-1])
	}
}

// Fluid and exact agree where both apply: many small requests, below and above capacity.
func TestFluidAndExactAgree(t *testing.T) {
	overload := &demand.Demand{Segments: []demand.Segment{
		{At: 0, Rate: 150}, {At: model.Time(10 * model.Minute), Rate: 260}, {At: model.Time(15 * model.Minute), Rate: 120},
	}, End: model.Time(model.Hour)}
	c := plainQueue(20, 100*model.Millisecond, 3)
	exact := run(t, c, overload, still(t, 20))
	c.Fluid = true
	flow := run(t, c, overload, still(t, 20))
	require.InEpsilon(t, exact.Requests, flow.Requests, 0.01)
	require.InEpsilon(t, exact.Late, flow.Late, 0.02)
	require.InEpsilon(t, exact.Busy, flow.Busy, 0.01)
	// How deep the overload goes varies by 4 % from seed to seed (one standard deviation).
	require.InEpsilon(t, float64(exact.Latency.Mean()), float64(flow.Latency.Mean()), 0.1)
	at95 := func(o *Outcome) float64 {
		d, known := o.Latency.Percentile(0.95)
		require.True(t, known)
		return float64(d)
	}
	require.InEpsilon(t, at95(exact), at95(flow), 0.1)
	require.Len(t, flow.Timeline, len(exact.Timeline))
	for i := range exact.Timeline {
		require.InDelta(t, exact.Timeline[i].Waiting, flow.Timeline[i].Waiting, 900, "%d", i)
		require.InDelta(t, exact.Timeline[i].Busy, flow.Timeline[i].Busy, 2, "%d", i)
	}
	// Below capacity without a backlog: the steady state of the formula.
	quiet := constant(180, model.Hour)
	c.Goal.Limit, c.Fluid = 50*model.Millisecond, false
	exact = run(t, c, quiet, still(t, 20))
	c.Fluid = true
	flow = run(t, c, quiet, still(t, 20))
	require.InDelta(t, exact.Missed(), flow.Missed(), 0.02)
	require.InEpsilon(t, float64(exact.Latency.Mean()), float64(flow.Latency.Mean()), 0.1)
}

// Rooms lose what Erlang's formula says, and exact and fluid lose alike when there are many.
func TestRooms(t *testing.T) {
	c := plainQueue(12, 10*model.Second, 5)
	c.Kind, c.Line = Rooms, 0
	out := run(t, c, constant(1, 100_000*model.Second), still(t, 12))
	require.InDelta(t, queueing.ErlangB(10, 12), out.Refused/out.Requests, 0.01)
	require.Equal(t, out.Lost(), out.Refused)

	c = plainQueue(1000, 5*model.Minute, 5)
	c.Kind, c.Line = Rooms, 0
	d := &demand.Demand{Segments: []demand.Segment{{Rate: 3}, {At: model.Time(model.Hour), Rate: 4.5}, {At: model.Time(2 * model.Hour), Rate: 2}}, End: model.Time(3 * model.Hour)}
	exact := run(t, c, d, still(t, 1000))
	c.Fluid = true
	flow := run(t, c, d, still(t, 1000))
	require.InEpsilon(t, exact.Busy, flow.Busy, 0.02)
	require.InEpsilon(t, exact.Refused, flow.Refused, 0.06)
}

// Batches: one request at a time takes its iterations; many share the replica, whose
// throughput saturates while its utilisation is high long before.
func TestBatches(t *testing.T) {
	c := plainQueue(1, 0, 7)
	c.Kind = Inference
	c.Batch = Batch{Most: 32, Base: 20 * model.Millisecond, PerRequest: model.Millisecond, Chunk: 512, Occupancy: 0.3}
	c.Goal = Goal{Response: true, Limit: 10 * model.Second, Share: 0.95}
	c.Draws.Default = demand.Request{In: 1000, Out: 99}
	d := &demand.Demand{Singles: []demand.Single{{At: 0, N: 1}}, End: model.Time(model.Minute)}
	out := run(t, c, d, still(t, 1))
	require.Equal(t, 1.0, out.Served)
	require.Equal(t, 100*21*model.Millisecond, out.Latency.Most, "2 chunks and 98 more tokens")

	d.Singles[0].N = 10
	out = run(t, c, d, still(t, 1))
	require.Equal(t, 10.0, out.Served)
	require.Equal(t, 100*30*model.Millisecond, out.Latency.Most, "ten at a time")

	busy := constant(9, 20*model.Minute) // 900 iterations per second, at most 32/0.052 = 615
	out = run(t, c, busy, still(t, 1))
	require.InEpsilon(t, 32/0.052/100*1200, out.Served, 0.02, "saturated")
	c.Fluid = true
	flow := run(t, c, busy, still(t, 1))
	require.InEpsilon(t, out.Served, flow.Served, 0.02)
	c.Fluid = false
	half := constant(3, 20*model.Minute)
	exact := run(t, c, half, still(t, 1))
	c.Fluid = true
	flow = run(t, c, half, still(t, 1))
	require.InEpsilon(t, float64(exact.Latency.Mean()), float64(flow.Latency.Mean()), 0.1)
	require.InDelta(t, exact.Busy, flow.Busy, 0.05)
	require.Greater(t, flow.Busy*3, 0.9, "a third of the throughput is nine tenths of the utilisation")
}

// Random lines wait longer than two choices, and those longer than one line for all.
func TestBalancing(t *testing.T) {
	var waits []model.Duration
	for _, b := range []Balancing{OneLine, LeastLoaded, TwoChoices, Random} {
		c := plainQueue(10, model.Second, 11)
		c.Balancing = b
		out := run(t, c, constant(8.5, 5*model.Hour), still(t, 10))
		require.InEpsilon(t, out.Requests, out.Served, 0.01)
		waits = append(waits, out.Latency.Mean())
	}
	require.IsIncreasing(t, waits)
}

// What leaves a service is what entered it, whatever is drained, lost, refused or abandoned.
func TestNothingIsLostUncounted(t *testing.T) {
	for _, kind := range []Kind{Queue, Rooms, Inference} {
		for _, balancing := range []Balancing{OneLine, Random} {
			c := plainQueue(3, 20*model.Second, 13)
			c.Kind, c.Balancing, c.Line = kind, balancing, 10
			if kind == Queue {
				c.Patience = 30 * model.Second
			}
			c.Batch = Batch{Most: 4, Base: 100 * model.Millisecond, PerRequest: 10 * model.Millisecond, Chunk: 100, Occupancy: 0.5}
			c.Draws.Default.In, c.Draws.Default.Out = 300, 60
			c.Supply.Boot, c.Supply.BootCV, c.Supply.Drain, c.Supply.Warm, c.Supply.WarmRate = model.Minute, 0.5, span(15*model.Second), model.Minute, 0.5
			c.Faults = Faults{MTBF: 20 * model.Minute, Fail: 0.2, Slow: 0.2, SlowBy: 3, Error: 0.1, FailAfter: model.Minute}
			s, err := New(c, constant(0.3, 6*model.Hour), &swinging{}, nil)
			require.NoError(t, err)
			out, err := s.Run()
			require.NoError(t, err)
			require.Equal(t, out.Requests, out.Served+out.Lost()+s.flow.Inside, "%v %v", kind, balancing)
			require.Positive(t, out.Losses)
			require.Positive(t, out.FailedBoots)
			require.Positive(t, out.Errored)
			require.GreaterOrEqual(t, out.Held, out.Used)
			require.Equal(t, out.Held, out.Charged, "charged as held without a granularity")
			require.LessOrEqual(t, out.Busy, out.Held)
			require.False(t, math.IsNaN(out.Missed()))
		}
	}
}

// swinging goes from 1 to 6 replicas and back every few minutes.
type swinging struct {
	plan autoscale.Plan
	n    uint64
}

func (p *swinging) Observe(model.Time, []autoscale.Fact) {}
func (p *swinging) Plan(now model.Time) *autoscale.Plan {
	p.plan.Reset()
	if int64(now/model.Time(model.Minute))%4 == 0 {
		p.n++
		p.plan.Proposals = append(p.plan.Proposals, autoscale.Proposal{Verb: autoscale.SetReplicas, Seq: p.n, N: int64(1 + p.n%2*5)})
	}
	return &p.plan
}

// The same configuration gives the same outcome, and another seed another.
func TestDeterminism(t *testing.T) {
	c := plainQueue(3, 2*model.Second, 17)
	c.Supply.BootCV, c.Supply.Boot = 0.5, model.Minute
	d := constant(1.2, 3*model.Hour)
	require.Equal(t, run(t, c, d, &swinging{}), run(t, c, d, &swinging{}))
	other := c
	other.Draws.Seed = 18
	require.NotEqual(t, run(t, c, d, &swinging{}).Served, run(t, other, d, &swinging{}).Served)
}

// What still waits at the end is late where that is beyond the limit, in the step of its
// arrival, so that a policy does not gain from a backlog that it leaves behind. Exact and
// fluid agree.
func TestABacklogAtTheEndIsLate(t *testing.T) {
	const hour = 60 // steps
	queue := func() Config {
		c := plainQueue(0, 800*model.Millisecond, 3)
		c.Slots = 10
		return c
	}
	inference := func() Config {
		c := queue()
		c.Kind = Inference
		c.Batch = Batch{Most: 16, Base: 20 * model.Millisecond, PerRequest: model.Millisecond, Chunk: 512, Occupancy: 0.3}
		c.Draws.Default = demand.Request{In: 1000, Out: 34} // at most 12.7 per second
		return c
	}
	rooms := func() Config {
		c := queue()
		c.Kind = Rooms
		return c
	}
	for name, x := range map[string]struct {
		config       Config
		size         int64
		rate         float64
		missed, open float64 // shares
		known        bool    // the 95th percentile
	}{
		"no replica":          {queue(), 0, 10, 1, 1, false},
		"too few":             {queue(), 1, 20, 0.99, 0.375, false}, // serves 12.5 per second
		"no replica to infer": {inference(), 0, 10, 1, 1, false},
		"too few to infer":    {inference(), 1, 20, 0.99, 0.365, false},
		"no room":             {rooms(), 0, 10, 1, 1, false},
		"enough":              {queue(), 2, 20, 0, 0, true},
		"enough, by the answer": {func() Config {
			c := queue()
			c.Goal = Goal{Response: true, Limit: 8 * model.Second, Share: 0.95}
			return c
		}(), 2, 20, 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, fluid := range []bool{false, true} {
				if x.config.Fluid = fluid; fluid && x.config.Kind == Rooms {
					continue // they have no line there
				}
				out := run(t, x.config, constant(x.rate, model.Hour), still(t, x.size))
				require.InDelta(t, x.missed, out.Missed(), 0.015, "fluid %v", fluid)
				require.InDelta(t, x.open, out.Open/out.Requests, 0.015, "fluid %v", fluid)
				_, known := out.Latency.Percentile(0.95)
				require.Equal(t, x.known || x.size > 0 && fluid, known, "fluid %v", fluid)
				require.Len(t, out.Timeline, hour)
				bad, arrived, late := int64(0), 0.0, 0.0
				for _, p := range out.Timeline {
					require.LessOrEqual(t, p.Late+p.Lost, p.Arrived, "fluid %v at %v", fluid, p.At)
					if p.Late+p.Lost > p.Arrived*0.05 {
						bad++
					}
					arrived += p.Arrived
					late += p.Late
				}
				require.Equal(t, out.Requests, arrived)
				require.Equal(t, out.Late, late)
				require.Equal(t, out.Bad, bad)
				if x.missed == 1 && fluid {
					require.Equal(t, 1.0, out.Missed(), "to the last digit")
				}
			}
		})
	}
}

// A fluid judges what arrives in a step in that step, however long its rates stay the same,
// and tells of the waits as they are.
func TestAFluidJudgesStepByStep(t *testing.T) {
	c := plainQueue(10, model.Second, 1)
	c.Fluid = true
	c.Goal.Limit = 0
	c.Scrape.Sources = []Source{{Series: Wait}}
	r := &reader{}
	out := run(t, c, constant(9, model.Hour), r)
	q, err := queueing.Queue{Arrivals: 9, Service: 1, Servers: 10}.Steady()
	require.NoError(t, err)
	for _, p := range out.Timeline {
		require.InEpsilon(t, q.ErlangC, p.Late/p.Arrived, 1e-9, "at %v", p.At)
	}
	for _, w := range r.utilisation[1:] {
		require.InEpsilon(t, q.MeanWait, w, 1e-9)
	}
}
