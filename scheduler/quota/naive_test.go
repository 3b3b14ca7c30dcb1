package quota

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
)

// span is a stretch of time in which a tenant held this much.
type span struct {
	tenant      model.TenantID
	from, to    model.Time
	nodes, gpus int64
}

// naive is the naive ledger: a list of all that was ever held, from which every
// figure is computed anew. Tenant -2 is the whole site.
type naive struct {
	cfg    Config
	bucket model.Duration
	keeps  int64
	spans  []span
}

// within is the time consumed in [from, to).
func (w *naive) within(t model.TenantID, from, to model.Time) (node, gpu int64) {
	for _, s := range w.spans {
		if s.tenant == t {
			d := max(0, int64(min(s.to, to)-max(s.from, from)))
			node, gpu = node+s.nodes*d, gpu+s.gpus*d
		}
	}
	return node, gpu
}

func floorTo(t model.Time, d model.Duration) model.Time {
	return model.Time(math.Floor(float64(t)/float64(d))) * model.Time(d)
}

// window begins with the oldest bucket that the window touches.
func (w *naive) window(t model.TenantID, now model.Time) (node, gpu int64) {
	return w.within(t, floorTo(now, w.bucket)-model.Time(w.keeps)*model.Time(w.bucket), now)
}

// decayed weighs every tick by its age in real numbers.
func (w *naive) decayed(t model.TenantID, now model.Time) float64 {
	var sum float64
	last := floorTo(now, w.cfg.Tick)
	first := now
	for _, s := range w.spans {
		first = min(first, s.from)
	}
	for from := floorTo(first, w.cfg.Tick); from < last; from += model.Time(w.cfg.Tick) {
		node, _ := w.within(t, from, from+model.Time(w.cfg.Tick))
		age := last - from - model.Time(w.cfg.Tick)
		sum += float64(node) * math.Exp2(-float64(age)/float64(w.cfg.HalfLife))
	}
	node, _ := w.within(t, last, now)
	return sum + float64(node)
}

func (w *naive) held(t model.TenantID, now model.Time) (nodes int64) {
	for _, s := range w.spans {
		if s.tenant == t && s.to == now {
			nodes += s.nodes
		}
	}
	return nodes
}

func (w *naive) usage(t model.TenantID, now model.Time) float64 {
	whole := float64(w.cfg.Nodes)
	switch w.cfg.Usage {
	case Rolling:
		if node, _ := w.window(-2, now); node > 0 {
			part, _ := w.window(t, now)
			return float64(part) / float64(node)
		}
	case Decay:
		if d := w.decayed(-2, now); d > 0 {
			return w.decayed(t, now) / d
		}
	}
	return float64(w.held(t, now)) / whole
}

// play is a run of random starts, ends, resizes and ticks on both ledgers.
type play struct {
	*rapid.T
	ledger *Ledger
	other  *Ledger // the same, accrued more often
	naive  naive
	now    model.Time
	claims []ResourceUsage
	open   []int // span of each claim
	// foreseen of tenants -1, 0, 1 and 2
	foreseen [4]foreseen
}

// foreseen is what Stays answered.
type foreseen struct {
	Steady
	least, most, used model.Fixed
}

func (p *play) both(f func(b *Ledger)) {
	f(p.ledger)
	f(p.other)
}

// pass lets time go on: what is open ends later.
func (p *play) pass(d model.Duration) {
	p.now = p.now.Add(d)
	for _, i := range p.open {
		p.naive.spans[i].to = p.now
	}
	p.naive.spans[0].to = p.now
}

func (p *play) record(c *ResourceUsage) int {
	p.naive.spans = append(p.naive.spans, span{c.Tenant, p.now, p.now, int64(c.Nodes), int64(c.GPUs)})
	return len(p.naive.spans) - 1
}

func (p *play) start() {
	c := ResourceUsage{
		Tenant: model.TenantID(rapid.IntRange(-1, 2).Draw(p.T, "tenant")), QOS: 0, Partition: -1,
		User: rapid.Int32Range(-1, 3).Draw(p.T, "user"), Nodes: rapid.Int32Range(0, 20).Draw(p.T, "nodes"),
	}
	c.GPUs = c.Nodes * rapid.Int32Range(0, 8).Draw(p.T, "gpus")
	p.both(func(b *Ledger) { b.Start(&c, p.now) })
	p.claims, p.open = append(p.claims, c), append(p.open, p.record(&c))
}

func (p *play) stop(i int) {
	p.both(func(b *Ledger) { b.Stop(&p.claims[i], p.now) })
	// A span of zero nodes marks the end, so that held finds only what is open.
	p.pass(0)
	if s := &p.naive.spans[p.open[i]]; s.to == p.now {
		p.naive.spans = append(p.naive.spans, span{s.tenant, p.now, p.now, -s.nodes, -s.gpus})
	}
	p.claims = append(p.claims[:i], p.claims[i+1:]...)
	p.open = append(p.open[:i], p.open[i+1:]...)
}

func (p *play) resize(i int) {
	was := p.claims[i]
	nodes := rapid.Int32Range(0, 20).Draw(p.T, "resized")
	p.other.Resize(&was, nodes, 2*nodes, 0, nil, p.now)
	p.ledger.Resize(&p.claims[i], nodes, 2*nodes, 0, nil, p.now)
	s := &p.naive.spans[p.open[i]]
	p.naive.spans = append(p.naive.spans, span{s.tenant, p.now, p.now, -s.nodes, -s.gpus})
	p.open[i] = p.record(&p.claims[i])
}

// tick compares all figures of the two ledgers. The ledger under test is read at every tick, the
// other one never, so that its figures are worked out late.
func (p *play) tick() {
	p.both(func(b *Ledger) { b.Accrue(p.now) })
	require.Equal(p, p.ledger, p.other, "reading changes nothing")
	p.both(func(b *Ledger) { b.Freeze(p.now) })
	var busy int64
	for t := model.TenantID(-1); t < 3; t++ {
		node, gpu := p.ledger.Consumed(t, p.now)
		wantNode, wantGPU := p.naive.within(t, math.MinInt64/2, math.MaxInt64/2)
		require.Equal(p, [2]int64{wantNode, wantGPU}, [2]int64{int64(node), int64(gpu)}, "consumed by %d", t)
		nodes, _ := p.ledger.InUse(t)
		require.Equal(p, p.naive.held(t, p.now), int64(nodes))
		require.InDelta(p, p.naive.usage(t, p.now), p.ledger.Standing(t).Used.Float(), 1e-7, "share of %d", t)
		winNode, winGPU := p.naive.window(t, p.now)
		l := p.ledger.Limits(t)
		want := max(ratio(winNode, int64(l.NodeBudget)), ratio(winGPU, int64(l.GPUBudget)))
		require.Equal(p, want, p.ledger.Standing(t).Budget, "budget of %d", t)
		busy += p.naive.held(t, p.now)
		p.foresee(t)
	}
	require.InDelta(p, min(1, float64(busy)/float64(p.naive.cfg.Nodes)), p.ledger.Utilisation().Float(), 1e-9)
	node, gpu := p.ledger.Capacity(p.now)
	wantNode, wantGPU := p.naive.within(-2, math.MinInt64/2, math.MaxInt64/2)
	require.Equal(p, [2]int64{wantNode, wantGPU}, [2]int64{int64(node), int64(gpu)})
}

// foresee holds what was foreseen of a tenant against its figures now, and foresees anew. Budgets are used up to any part, so that
// bounds are far and near.
func (p *play) foresee(t model.TenantID) {
	x, st := &p.foreseen[t+1], *p.ledger.Standing(t)
	if p.ledger.Holds(t, x.Steady) {
		require.GreaterOrEqual(p, st.Budget, x.least)
		require.LessOrEqual(p, st.Budget, x.most)
		require.Equal(p, x.used, st.Used)
		return
	}
	*x = foreseen{used: st.Used}
	x.least = st.Budget.Mul(model.Fixed(rapid.Int64Range(0, int64(model.One)).Draw(p.T, "least")))
	x.most = st.Budget + model.Fixed(rapid.Int64Range(0, int64(model.One)).Draw(p.T, "most"))
	x.Steady = p.ledger.Stays(t, x.least, x.most)
}

// TestAgainstNaive compares the ledger with the list of all attempts after every change.
// Ticks, windows and half-lives are short, so that runs cross many of them.
func TestAgainstNaive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := Config{
			Nodes: 50, GPUs: 200, Usage: Usage(rapid.IntRange(0, 2).Draw(rt, "usage")),
			Tick:     model.Second * model.Duration(rapid.IntRange(1, 9).Draw(rt, "tick")),
			Window:   model.Second * model.Duration(rapid.IntRange(1, 60).Draw(rt, "window")),
			HalfLife: model.Second * model.Duration(rapid.IntRange(1, 90).Draw(rt, "half-life")),
			QOS:      make([]model.QOS, 1),
			Tenants: []model.Tenant{
				{Limits: model.Limits{NodeBudget: 500 * model.Second}},
				{Limits: model.Limits{NodeBudget: 500 * model.Second, GPUBudget: 900 * model.Second}},
				{},
			},
		}
		if rapid.Bool().Draw(rt, "long") {
			cfg.Tick, cfg.Window = model.Second, (3*buckets-2)*model.Second
		}
		begin := model.Time(rapid.Int64Range(-5e7, 5e7).Draw(rt, "begin"))
		p := play{T: rt, ledger: New(&cfg), other: New(&cfg), now: begin}
		p.naive = naive{cfg: cfg, bucket: p.ledger.clock.bucket, keeps: int64(p.ledger.clock.span / p.ledger.clock.bucket)}
		p.record(&ResourceUsage{Tenant: -2, Nodes: cfg.Nodes, GPUs: int32(cfg.GPUs)})
		p.both(func(b *Ledger) { b.Accrue(begin) })
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			d := model.Duration(rapid.Int64Range(0, rapid.SampledFrom([]int64{1e6, 3e7}).Draw(rt, "pace")).Draw(rt, "later"))
			if rapid.Bool().Draw(rt, "on a tick") {
				d = p.ledger.NextTick(p.now.Add(d)).Sub(p.now)
			}
			p.pass(d)
			p.other.Accrue(p.now)
			switch k := rapid.IntRange(0, 5).Draw(rt, "what"); {
			case k == 0 && len(p.claims) > 0:
				p.resize(rapid.IntRange(0, len(p.claims)-1).Draw(rt, "which"))
			case k < 3 && len(p.claims) > 0:
				p.stop(rapid.IntRange(0, len(p.claims)-1).Draw(rt, "which"))
			case k < 5:
				p.start()
			}
			p.tick()
		}
	})
}

// Accrue charges all tenants up to now and changes no figure that scores read.
// How often it is called makes no difference.
func (b *Ledger) Accrue(now model.Time) {
	b.open(now)
	for i := range b.tenants {
		b.settle(i)
		b.clock.advance(&b.tenants[i], now)
	}
	b.clock.advance(&b.site, now)
}
