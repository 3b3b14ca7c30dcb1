package world

import (
	"math/big"
	"math/bits"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"orrery/hwmodel"
	_ "orrery/internal/fixedseed"
	"orrery/scheduler/model"
	"orrery/sim/world/translate"
	"orrery/traces"
)

// sends is a class of work.
type sends struct {
	share     model.Fixed
	bandwidth int64 // B/s of a GPU
}

// networked is a network of groups: the group of each node, the uplink of each group, and the
// class of the rows of each tenant.
type networked struct {
	groups  []int32
	uplinks []int64
	tenants []sends // bandwidth 0 is that nothing of it is known
}

// on puts the network under a site, and nothing else of its hardware.
func (n *networked) on(cfg SiteConfig) SiteConfig {
	m := &hwmodel.Model{Terms: 1 << hwmodel.ByContention, Uplinks: n.uplinks, NodeGroup: n.groups}
	for range n.groups {
		m.NodeGPU, m.NodeGPUs = append(m.NodeGPU, -1), append(m.NodeGPUs, 4)
	}
	h := &translate.Hardware{}
	for i, s := range n.tenants {
		m.Classes = append(m.Classes, hwmodel.Class{Network: hwmodel.Communication{Share: hwmodel.Factor{Low: s.share, Value: s.share, High: s.share}, Bandwidth: s.bandwidth}})
		h.Rules = append(h.Rules, translate.ClassRule{Class: int32(i) + 1, Columns: []translate.ColumnPattern{{Column: traces.TextTenant, Match: regexp.MustCompile("^" + cfg.Site.Tenants[i].Name + "$")}}})
	}
	cfg.Hardware, cfg.Rows.Hardware = m, h
	return cfg
}

// twoGroups is nodes 0 and 1 in one group, and 2 and 3 in another, with uplinks that 4 GPUs
// of ada fill. Three fifths of her steps wait for communication; of bob nothing is known.
func twoGroups() *networked {
	return &networked{groups: []int32{0, 0, 1, 1}, uplinks: []int64{400, 400}, tenants: []sends{{model.FixedOf(0.6), 100}, {}}}
}

func of(tenant string) func(*traces.Job) { return func(j *traces.Job) { j.Tenant = tenant } }

// on starts row i at an instant on some nodes.
func (s *single) on(now model.Time, i int, nodes uint64) {
	f := s.submit(i)
	require.Equal(s.t, model.FactAssigned, s.propose(now, model.Proposal{Ref: f.Ref, Job: f.Job, Placement: whole(nodes)}).Kind)
}

// until lets the world go on up to an instant.
func (s *single) until(t model.Time) {
	for s.Next() < t {
		s.Take(s.Next(), nil)
		s.Close()
	}
}

// toEnd lets the world go on until nothing is ahead, and says when jobs have ended by id.
func (s *single) toEnd() map[int64]model.Time {
	s.until(model.Never)
	ends := map[int64]model.Time{}
	for i := range s.sink.jobs {
		ends[s.sink.jobs[i].ID] = s.sink.jobs[i].End
	}
	return ends
}

// TestContentionByHand: what jobs lose to each other on the uplinks of their groups.
//
//	group 0: nodes 0, 1, 2   group 1: nodes 3, 4, 5
func TestContentionByHand(t *testing.T) {
	six := &networked{groups: []int32{0, 0, 0, 1, 1, 1}, uplinks: []int64{400, 400}, tenants: twoGroups().tenants}
	type start struct {
		at    model.Time // s
		nodes uint64
		row   traces.Job
	}
	work := func(id int64, s model.Duration) traces.Job {
		return row(id, 0, runs(s*sec), walltime(1000*sec), of("ada"))
	}
	for _, c := range []struct {
		name    string
		starts  []start
		ends    map[int64]float64 // s
		ignored map[int64]float64 // the same without contention, the wrong model
	}{
		{"two at 2:1", []start{{0, 0b001001, work(1, 10)}, {0, 0b010010, work(2, 10)}}, map[int64]float64{1: 16, 2: 16}, map[int64]float64{1: 10, 2: 10}},
		{
			"beside them a job in each group", []start{{0, 0b001001, work(1, 10)}, {0, 0b010010, work(2, 10)}, {0, 0b100, work(3, 10)}, {0, 0b100000, work(4, 10)}},
			map[int64]float64{1: 16, 2: 16, 3: 10, 4: 10}, map[int64]float64{1: 10, 2: 10, 3: 10, 4: 10},
		},
		{"one goes on at full speed behind the other", []start{{0, 0b001001, work(1, 10)}, {0, 0b010010, work(2, 20)}}, map[int64]float64{1: 16, 2: 26}, map[int64]float64{1: 10, 2: 20}},
		{"one comes later", []start{{0, 0b001001, work(1, 10)}, {4, 0b010010, work(2, 10)}}, map[int64]float64{1: 13.6, 2: 17.6}, map[int64]float64{1: 10, 2: 14}},
		{"three at 3:1", []start{{0, 0b001001, work(1, 10)}, {0, 0b010010, work(2, 10)}, {0, 0b100100, work(3, 10)}}, map[int64]float64{1: 22, 2: 22, 3: 22}, map[int64]float64{1: 10, 2: 10, 3: 10}},
		{"alone with more than its links carry, which its record had", []start{{0, 0b011011, work(1, 10)}}, map[int64]float64{1: 10}, map[int64]float64{1: 10}},
		{
			// Communication takes three times as long as on an empty network for the small one; for the
			// large one, which alone has to take turns with itself, 1.5 times: 22 and 13 s.
			"a large one and a small one", []start{{0, 0b011011, work(1, 13)}, {0, 0b100100, work(2, 13)}},
			map[int64]float64{1: 16.9, 2: 16.9 + (13 - 16.9/2.2)}, map[int64]float64{1: 13, 2: 13},
		},
		{"one of which nothing is known sends nothing", []start{{0, 0b001001, work(1, 10)}, {0, 0b010010, row(2, 0, walltime(1000*sec), of("bob"))}}, map[int64]float64{1: 10, 2: 10}, map[int64]float64{1: 10, 2: 10}},
	} {
		for _, ignored := range []bool{false, true} {
			var rows []traces.Job
			for _, b := range c.starts {
				nodes(int32(bits.OnesCount64(b.nodes)))(&b.row)
				b.row.Submit = b.at * at
				rows = append(rows, b.row)
			}
			s := newSingle(t, func(cfg *SiteConfig) {
				cfg.Site = smallSite(6)
				*cfg = six.on(*cfg)
				if ignored {
					cfg.Hardware.(*hwmodel.Model).Terms = 0
				}
			}, rows...)
			for i, b := range c.starts {
				s.until(b.at * at)
				s.on(b.at*at, i, b.nodes)
			}
			want := c.ends
			if ignored {
				want = c.ignored
			}
			got := s.toEnd()
			require.Len(t, got, len(want), c.name)
			for id, end := range want {
				require.InDelta(t, end*1e6, float64(got[id]), 0.5, "%s: job %d", c.name, id)
			}
			if n := s.hardware.network; n != nil {
				for g := range n.Uplinks {
					require.Zero(t, n.Uplinks[g].Load, "%s: group %d", c.name, g)
					require.Empty(t, n.Uplinks[g].Users, c.name)
				}
			}
		}
	}
}

// TestContentionIsCounted: what it costs, and where nothing is known of it.
func TestContentionIsCounted(t *testing.T) {
	s := newSingle(t, func(c *SiteConfig) { *c = twoGroups().on(*c) },
		row(1, 0, nodes(2), walltime(1000*sec), of("ada")), row(2, 0, nodes(2), walltime(1000*sec), of("ada")))
	s.on(0, 0, 0b0101)
	s.on(0, 1, 0b1010)
	s.toEnd()
	c, gpu := &s.Meter.Consequences, int64(sec)
	require.Equal(t, 2*8*16*gpu, c.GPUTime)
	require.Equal(t, c.GPUTime, c.Modelled)
	require.Equal(t, [hwmodel.NumTerms]int64{hwmodel.ByContention: 2 * 8 * 6 * gpu}, c.Lost)
	require.Zero(t, c.Unknown)

	s = newSingle(t, func(c *SiteConfig) { *c = twoGroups().on(*c) },
		row(1, 0, nodes(2), of("bob")), row(2, 0, of("bob")), row(3, 0))
	s.on(0, 0, 0b0101)
	s.on(0, 1, 0b0010)
	s.on(0, 2, 0b1000)
	s.toEnd()
	c = &s.Meter.Consequences
	require.Equal(t, 8*10*gpu, c.Unknown[hwmodel.ByContention], "a class that does not say what it sends; in one group it does not matter")
	require.Equal(t, 4*10*gpu, c.Modelled)
	require.Zero(t, c.Lost)
}

// TestTakesItsPlace: a job that starts as another ends, and sends as much, is slowed as that
// was, though the loads of the links stay what they were.
func TestTakesItsPlace(t *testing.T) {
	s := newSingle(t, func(c *SiteConfig) { *c = twoGroups().on(*c) },
		row(1, 0, nodes(2), runs(10*sec), walltime(1000*sec), of("ada")), row(2, 0, nodes(2), runs(30*sec), walltime(1000*sec), of("ada")),
		row(3, 16*at, nodes(2), runs(10*sec), walltime(1000*sec), of("ada")))
	s.on(0, 0, 0b0101)
	s.on(0, 1, 0b1010)
	s.until(16 * at)
	s.Take(16*at, nil)
	s.on(16*at, 2, 0b0101)
	require.Equal(t, map[int64]model.Time{1: 16 * at, 2: 42 * at, 3: 32 * at}, s.toEnd())
}

// TestShrinks: a job that alone overloads its links shrinks to one that does not, and then into
// one group, beside another all the while. Both take 1.5 times as long to communicate at first,
// for the large one has to take turns with itself, and the small one three times; then twice.
//
//	job 1   nodes 0, 1, 3, 4    nodes 0, 3    node 0
//	job 2   nodes 2, 5
//	        0                 13            29      32
func TestShrinks(t *testing.T) {
	six := &networked{groups: []int32{0, 0, 0, 1, 1, 1}, uplinks: []int64{400, 400}, tenants: twoGroups().tenants}
	s := newSingle(t, func(c *SiteConfig) {
		c.Site = smallSite(6)
		*c = six.on(*c)
	}, row(1, 0, runs(23*sec), walltime(1000*sec), of("ada"), func(j *traces.Job) { j.Kind, j.NodesMax = "reactive", traces.Some[int32](4) }),
		row(2, 0, nodes(2), runs(1000*sec), walltime(10000*sec), of("ada")))
	f := s.submit(0)
	p := model.Proposal{Ref: f.Ref, Job: f.Job, Placement: whole(0b000001)}
	require.Equal(t, model.FactAssigned, s.propose(0, p).Kind)
	p.Kind, p.Placement = model.ProposeResize, whole(0b011011)
	require.Equal(t, model.FactResized, s.propose(0, p).Kind)
	s.on(0, 1, 0b100100)
	rates := func() [2]model.Fixed {
		s.Next()
		return [2]model.Fixed{s.jobs.At(0).work.Rate(), s.jobs.At(1).work.Rate()}
	}
	of := func(times float64) model.Fixed {
		return model.Ratio(int64(model.One), int64(model.One+model.FixedOf(0.6).Mul(model.FixedOf(times-1))))
	}
	require.Equal(t, [2]model.Fixed{of(1.5), of(3)}, rates())
	s.until(13 * at)
	p.Placement = whole(0b001001)
	require.Equal(t, model.FactResized, s.propose(13*at, p).Kind)
	require.Equal(t, [2]model.Fixed{of(2), of(2)}, rates())
	s.until(29 * at)
	p.Placement = whole(0b000001)
	require.Equal(t, model.FactResized, s.propose(29*at, p).Kind)
	require.Equal(t, [2]model.Fixed{model.One, model.One}, rates())
	require.Equal(t, 32*at, s.toEnd()[1])
}

// TestMovesBetweenGroups: a job is on the links of the nodes that it holds, and of no others,
// when it grows over two groups beside another and shrinks again.
//
//	job 1   nodes 0, 2
//	job 2   node 1    nodes 1, 3    node 1
//	        0      10            26      28
func TestMovesBetweenGroups(t *testing.T) {
	s := newSingle(t, func(c *SiteConfig) { *c = twoGroups().on(*c) },
		row(1, 0, nodes(2), runs(20*sec), walltime(1000*sec), of("ada")),
		row(2, 0, runs(22*sec), walltime(1000*sec), of("ada"), func(j *traces.Job) { j.Kind, j.NodesMax = "reactive", traces.Some[int32](2) }))
	s.on(0, 0, 0b0101)
	f := s.submit(1)
	p := model.Proposal{Ref: f.Ref, Job: f.Job, Placement: whole(0b0010)}
	require.Equal(t, model.FactAssigned, s.propose(0, p).Kind)
	p.Kind, p.Placement = model.ProposeResize, whole(0b1010)
	require.Equal(t, model.FactResized, s.propose(10*at, p).Kind)
	s.until(27 * at)
	p.Placement = whole(0b0010)
	require.Equal(t, model.FactResized, s.propose(27*at, p).Kind)
	require.Equal(t, map[int64]model.Time{1: 26 * at, 2: 28 * at}, s.toEnd())
	for _, up := range s.hardware.network.Uplinks {
		require.Zero(t, up.Load)
	}
}

// TestNeighbourOfNoTime: a neighbour that starts and ends at one instant slows no job, and so
// a job that ended at its walltime in the log does as it did then. Speeds that are set at each
// event rather than at the end of the instant fail this.
func TestNeighbourOfNoTime(t *testing.T) {
	s := newSingle(t, func(c *SiteConfig) { *c = twoGroups().on(*c) },
		row(1, 0, nodes(2), runs(50*sec), walltime(100*sec), timedOut, of("ada")), row(2, 0, nodes(2), runs(0), walltime(100*sec), of("ada")))
	s.on(0, 0, 0b0101)
	require.Equal(t, 50*at, s.Next())
	s.on(10*at, 1, 0b1010)
	require.Equal(t, map[int64]model.Time{1: 50 * at, 2: 10 * at}, s.toEnd())
}

// naive sets the speeds of all jobs anew after each instant, by exact fractions from what they
// hold, in a world that knows no network.
type naive struct {
	*networked
	set map[[2]int64]model.Fixed // by job and attempt
	met int                      // speeds below 1
}

// rounded is x as a Fixed, to the nearest.
func rounded(x *big.Rat) *big.Rat {
	n := new(big.Int).Lsh(x.Num(), model.FractionBits+1)
	n.Add(n, x.Denom())
	n.Div(n, new(big.Int).Lsh(x.Denom(), 1))
	return new(big.Rat).SetFrac(n, new(big.Int).Lsh(big.NewInt(1), model.FractionBits))
}

// sent is what a job sends out of each group, nil where that is nothing. known says that its
// factor is.
func (n *naive) sent(s *Site, ref model.Ref) (by map[int32]int64, known bool) {
	l := s.jobs.At(ref)
	cards := map[int32]int64{}
	for _, id := range appendNodes(nil, s.quorum.Held(ref), nil) {
		asked := int64(4)
		if l.alloc.Cards() > 0 {
			asked = min(asked, int64(l.alloc.Cards()))
		}
		cards[n.groups[id]] += asked
	}
	if len(cards) < 2 || l.alloc.Tenant < 0 || n.tenants[l.alloc.Tenant].bandwidth == 0 {
		return nil, false
	}
	by, known = map[int32]int64{}, true
	for g, k := range cards { //detlint:ordered each key has its own value
		if n.uplinks[g] == 0 {
			known = false
			continue
		}
		by[g] = k * n.tenants[l.alloc.Tenant].bandwidth
	}
	return by, known
}

// times is by how much the most loaded of some groups is oversubscribed, at least 1.
func (n *naive) times(load, of map[int32]int64) *big.Rat {
	most := big.NewRat(1, 1)
	for g := range of { //detlint:ordered the greatest of them
		if x := rounded(big.NewRat(load[g], n.uplinks[g])); x.Cmp(most) > 0 {
			most = x
		}
	}
	return most
}

func (n *naive) after(p *story, now model.Time) {
	s := p.world
	if s.Next() <= now {
		return
	}
	load := map[int32]int64{}
	for ref := range model.Ref(s.jobs.Len()) {
		if l := s.jobs.At(ref); l.present && l.attempt != nil {
			by, _ := n.sent(s, ref)
			for g, b := range by { //detlint:ordered sums
				load[g] += b
			}
		}
	}
	one := big.NewRat(1, 1)
	for ref := range model.Ref(s.jobs.Len()) {
		l := s.jobs.At(ref)
		if !l.present || l.attempt == nil {
			continue
		}
		rate := model.One
		if by, known := n.sent(s, ref); known {
			more := rounded(new(big.Rat).Quo(n.times(load, by), n.times(by, by)))
			more.Sub(more, one)
			share := big.NewRat(int64(n.tenants[l.alloc.Tenant].share), int64(model.One))
			step := rounded(more.Mul(more, share))
			step.Add(step, one)
			of := rounded(step.Inv(step))
			rate = model.Fixed(new(big.Int).Div(new(big.Int).Lsh(of.Num(), model.FractionBits), of.Denom()).Int64())
		}
		key := [2]int64{int64(l.rec.Job), int64(l.rec.Attempts)}
		before, again := n.set[key]
		if !again {
			before = model.One
		}
		if n.set[key] = rate; rate != before {
			s.SetSpeed(now, ref, rate, model.One)
		}
		if rate < model.One {
			n.met++
		}
	}
}

// TestContentionAgainstNaive: whatever happens, jobs whose speeds follow the loads of their
// links start and end at the microsecond at which they do where all speeds are reckoned anew
// after each instant. Without contention, the wrong model, that fails.
func TestContentionAgainstNaive(t *testing.T) {
	slowed, differ := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		cfg, rows, orders := chaosOn(rt, rapid.IntRange(4, 12).Draw(rt, "nodes"))
		for i := range rows.NodesMin { // so that several run at a time
			rows.NodesMin[i] = min(rows.NodesMin[i], 3)
		}
		var scripted []order
		for _, o := range orders {
			if o.kind != setsSpeed {
				scripted = append(scripted, o)
			}
		}
		net := &networked{uplinks: make([]int64, 3)}
		for range len(cfg().Site.Nodes) {
			net.groups = append(net.groups, rapid.Int32Range(0, 2).Draw(rt, "group"))
		}
		for g := range net.uplinks {
			net.uplinks[g] = rapid.SampledFrom([]int64{0, 1, 30, 100, 100, 170, 170, 300, 1000}).Draw(rt, "uplink")
		}
		for range 2 {
			net.tenants = append(net.tenants, sends{model.Fixed(rapid.Int64Range(0, int64(model.One)).Draw(rt, "share")), rapid.SampledFrom([]int64{0, 7, 20, 50}).Draw(rt, "bandwidth")})
		}
		all := &naive{networked: net, set: map[[2]int64]model.Fixed{}}
		got, want, without := play(rt, net.on(cfg()), rows, scripted...), playWith(rt, cfg(), rows, all.after, scripted...), play(rt, cfg(), rows, scripted...)
		require.Equal(rt, want.log, got.log)
		require.Equal(rt, want.sink.jobs, got.sink.jobs)
		require.Equal(rt, want.sink.attempts, got.sink.attempts)
		require.Equal(rt, want.joules, got.joules)
		slowed += all.met
		if len(without.sink.jobs) != len(got.sink.jobs) {
			differ++
			return
		}
		for i := range got.sink.jobs {
			if got.sink.jobs[i] != without.sink.jobs[i] {
				differ++
				return
			}
		}
	})
	t.Logf("%d speeds below 1, %d worlds that differ from those without contention", slowed, differ)
	require.Positive(t, slowed)
	require.Positive(t, differ)
}
